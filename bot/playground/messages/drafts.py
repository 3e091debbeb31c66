"""A message that someone is about to send, and what Discord refuses of its contents; pure."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from bot.playground.entities import Message, MessageFlag, Payload, Upload
from bot.playground.errors import one_field, refusal
from bot.playground.messages.checks import check_components, check_embeds
from bot.playground.world import payloads
from bot.playground.world.bodies import CONTENT_LIMIT_CHARS, Reference

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bot.playground.world.bodies import AllowedMentions
    from bot.playground.world.state import World

FILE_LIMIT_BYTES = 10 * 1024 * 1024
"""What a bot may upload."""
PERSON_FILE_LIMIT_BYTES = 500 * 1024 * 1024
"""What a paying person may upload: far more than a bot should fetch unseen."""
FILES_LIMIT = 10
_CARRIES_CONTENT = frozenset({"poll", "sticker_items", "message_snapshots"})
"""Fields of ``extra`` that make a message without text more than empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A message that someone is about to send. ``type`` None means default or reply."""

    content: str = ""
    embeds: Sequence[Payload] = ()
    components: Sequence[Payload] = ()
    uploads: Sequence[Upload] = ()
    nonce: str | None = None
    enforce_nonce: bool = False
    tts: bool = False
    flags: int = 0
    reference: Reference | None = None
    allowed_mentions: AllowedMentions | None = None
    type: int | None = None
    interaction_id: int | None = None
    only_for: int | None = None
    file_limit_bytes: int = FILE_LIMIT_BYTES
    extra: Payload = field(default_factory=dict)


def check_draft(draft: Draft, *, has_files: bool = False) -> None:
    """Refuse what Discord would not post: empty, too long, bad embeds or components, big files."""
    if len(draft.content) > CONTENT_LIMIT_CHARS:
        raise one_field(
            ("content",),
            "BASE_TYPE_MAX_LENGTH",
            f"Must be {CONTENT_LIMIT_CHARS} or fewer in length.",
        )
    if draft.flags & MessageFlag.COMPONENTS_V2 and (draft.content or draft.embeds):
        raise one_field(
            ("content",),
            "MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2",
            "The 'content' field cannot be used when using MessageFlags.IS_COMPONENTS_V2",
        )
    check_embeds(draft.embeds)
    check_components(draft.components, draft.flags)
    if len(draft.uploads) > FILES_LIMIT:
        raise one_field(
            ("attachments",), "BASE_TYPE_BAD_LENGTH", "Must be between 0 and 10 in length."
        )
    if any(len(upload.data) > draft.file_limit_bytes for upload in draft.uploads):
        raise refusal(40005)
    empty = not draft.content.strip() and not (
        draft.embeds
        or draft.components
        or draft.uploads
        or has_files
        or _CARRIES_CONTENT.intersection(draft.extra)
    )
    if empty and not draft.flags & MessageFlag.LOADING:
        raise refusal(50006)


def as_ephemeral(draft: Draft, reader_id: int) -> Draft:
    """Return a draft that one person alone will see."""
    return replace(draft, only_for=reader_id, flags=draft.flags | MessageFlag.EPHEMERAL)


def as_forward(world: World, original: Message, draft: Draft) -> Draft:
    """Return a draft that forwards a message: a snapshot of it, without its author."""
    shown = ("type", "content", "embeds", "attachments", "timestamp", "edited_timestamp", "flags")
    full = payloads.message(world, original)
    snapshot = {key: full[key] for key in shown} | {"mentions": [], "mention_roles": []}
    reference: Payload = {
        "type": 1,
        "message_id": str(original.id),
        "channel_id": str(original.channel_id),
    }
    guild_id = world.channels[original.channel_id].guild_id
    if guild_id is not None:
        reference["guild_id"] = str(guild_id)
    more = {"message_snapshots": [{"message": snapshot}], "message_reference": reference}
    return Draft(
        content=draft.content,
        flags=draft.flags | (1 << 14),
        nonce=draft.nonce,
        enforce_nonce=draft.enforce_nonce,
        extra=draft.extra | more,
    )
