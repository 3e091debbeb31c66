"""What people read about their notes. Pure: values in, lines out.

The text of a note is shown as text: what Discord would read as a mark is escaped and what nobody
sees is left out, so no note can ping, link, or show itself as something else.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Final

import discord

from compiler.audience import MemoryScope
from sessions.memory.results import (
    Changed,
    CleanupCode,
    CleanupStatus,
    ConsentState,
    Erased,
    Forgotten,
    Kept,
    NoteState,
    NoteView,
    Remembered,
)
from sessions.store.consent import ConsentLevel, Purpose

LINE_CHARS: Final = 160
"""Of a note's text in a list; the whole of it is what ``/memory show`` is for."""
CHOICE_CHARS: Final = 100
"""Discord's longest choice."""
NAMED_IDS: Final = 5
"""Ids in one sentence; more are counted."""
ONLY_YOU: Final = "Only you see this. `/memory forget` makes a note go for good."
NOTHING: Final = "I remember nothing about you."
NOT_YOURS: Final = "Only the person whom this note is about can decide that."
NOTHING_HERE: Final = "I keep no note of yours that was made from this."
ASK: Final = "I would like to remember something that was said about {person}. {person}, may I?"
KEPT_BY_CLICK: Final = "May I remember this? Yes, it is kept."
REFUSED_BY_CLICK: Final = "May I remember this? No, it is not kept."
ALREADY_DECIDED: Final = "That was decided before."
FORGET_ALL: Final = (
    "Shall I forget **all** that I remember of you, here and in every other place? This cannot be "
    "undone."
)
FORGET_LOST: Final = (
    "Shall I give up **everybody's** notes that cannot be opened, for their keys are lost? If there"
    " is a copy of the key store, bring it back instead. This cannot be undone."
)
NOTHING_LOST: Final = "All notes can be opened."
LOST_ADVICE: Final = "If it is lost for good, an owner gives the notes up: /memory forget note:lost"
KEPT_ALL: Final = "Nothing was forgotten."
TRACES_STAY: Final = (
    "My owner's exact records of what I was given in earlier answers hold it until they are "
    "deleted; I do not read them."
)
_LIVING: Final = frozenset({NoteState.INFERRED, NoteState.CONFIRMED, NoteState.WAITING})
_UNFINISHED: Final = {
    CleanupCode.KEYS_UNAVAILABLE: "the key store cannot be reached",
    CleanupCode.LOG_BUSY: "a database log is still in use",
    CleanupCode.SESSION_RUNNING: "an answer is still being written in a session that had read it",
    CleanupCode.FILES_REMAIN: "files of an ended session could not be deleted",
    CleanupCode.STORE_UNAVAILABLE: "the database cannot be reached",
}
_CONSENT: Final = {
    (ConsentLevel.ON, True): "In direct messages I keep notes about you.",
    (ConsentLevel.ASK, True): "In direct messages I ask you before a note about you counts.",
    (ConsentLevel.OFF, True): "In direct messages I keep no notes about you and use none.",
    (ConsentLevel.ON, False): "In this channel I keep notes about you without asking.",
    (ConsentLevel.ASK, False): "In this channel I ask you before a note about you counts.",
    (ConsentLevel.OFF, False): "In this channel I keep no notes about you and use none.",
}
_SHARED: Final = "My notes from our direct messages may be used in this channel, where others read."
_NOT_SHARED: Final = "My notes from our direct messages are used there alone, not in this channel."
_NEVER_SHARED: Final = "What you allow to be shared is said in a channel, for that channel."


def plain(text: str, limit_chars: int | None = None) -> str:
    """Make one harmless line of a text, with its end left out where it is too long."""
    line = _visible(text)
    if limit_chars is not None and len(line) > limit_chars:
        line = line[: limit_chars - 1] + "…"
    return discord.utils.escape_mentions(discord.utils.escape_markdown(line))


def place_of(note: NoteView) -> str:
    """Say where a note is used."""
    match note.scope:
        case MemoryScope.USER:
            return "in our direct messages"
        case MemoryScope.CHANNEL:
            return f"in {mention_of(note.channel_id)}"
        case _:
            return "everywhere"


def mention_of(channel_id: str | None) -> str:
    """Name a channel by its mark."""
    return f"<#{(channel_id or '').rpartition(':')[2]}>"


def person_of(user_id: str | None) -> str:
    """Name a person by the mark; whoever posts it sees to it that it pings nobody."""
    return f"<@{(user_id or '').rpartition(':')[2]}>"


def is_living(note: NoteView) -> bool:
    """Tell whether a note stands or waits."""
    return note.state in _LIVING


def state_of(note: NoteView) -> str:
    """Say how a note stands, with the day where one belongs to it."""
    if note.state is NoteState.FORGOTTEN:
        return f"forgotten on {note.forgotten_on}"
    if note.state is NoteState.REPLACED and note.replaced_by:
        return f"replaced by `{note.replaced_by}`"
    return note.state.value


def line_of(note: NoteView, *, with_person: bool = False) -> str:
    """Describe a note in one line."""
    facts = [state_of(note), place_of(note)]
    if with_person and note.about is not None:
        facts.insert(0, f"about {person_of(note.about)}")
    facts += ["pinned"] if note.pinned else []
    facts += [f"until {note.expires_on}"] if note.expires_on else []
    text = f"{plain(note.text, LINE_CHARS)} · " if note.text else ""
    return f"`{note.short_id}` {text}{', '.join(facts)}"


def list_text(own: Sequence[NoteView], here: Sequence[NoteView], *, ended: bool) -> str:
    """Tell what is remembered of a person, and of the channel in which he asks."""
    shown = [note for note in own if ended or is_living(note)]
    lines = [f"**About you** ({len(shown)})", *map(line_of, shown)] if shown else [NOTHING]
    hidden = len(own) - len(shown)
    if hidden:
        lines.append(f"{hidden} more ended; `/memory list` with `ended` shows when.")
    if here:
        lines += ["", f"**About this channel** ({len(here)})", *map(line_of, here)]
    return "\n".join([*lines, "", ONLY_YOU])


def inspect_text(notes: Sequence[NoteView], unreadable: int) -> str:
    """Tell the owner what is remembered of somebody."""
    lines = [line_of(note, with_person=True) for note in notes] or ["There are no notes."]
    if unreadable:
        lines.append(f"{unreadable} cannot be opened: look at the key store. {LOST_ADVICE}")
    return "\n".join(lines)


def detail_text(note: NoteView, versions: Sequence[NoteView]) -> str:
    """Tell all about one note, its earlier and later versions included."""
    rows = [
        ("state", state_of(note).replace("`", "")),
        ("written", note.recorded_on),
        ("until", note.expires_on),
        ("pinned", "yes" if note.pinned else ""),
        ("imp", note.imp),
    ]
    table = "\n".join(f"{name:<9}{value}" for name, value in rows if value)
    counts = "would be used" if note.state is NoteState.WAITING else "is used"
    if not is_living(note):
        counts = "was used"
    lines = [f"`{note.short_id}` {counts} {place_of(note)}.", f"```\n{table}\n```"]
    if note.text:
        lines.append(f"> {plain(note.text)}")
    if len(versions) > 1:
        lines += ["**Its versions, the oldest first**", *map(line_of, versions)]
    return "\n".join(lines)


def remembered_text(result: Remembered | Changed) -> str:
    """Tell what became of a note that was to be written or changed."""
    if not isinstance(result, Kept):
        return result.sentence
    note = result.note
    if note.state is NoteState.WAITING:
        return f"`{note.short_id}` waits for {person_of(note.about)} to agree."
    told = "I knew that already:" if result.known else "Remembered:"
    replaced = f" It replaces {_ids(result.replaced)}." if result.replaced else ""
    where = f"It is used {place_of(note)}.{replaced}"
    return f"{told} `{note.short_id}` {plain(note.text, LINE_CHARS)}\n{where}"


def forgotten_text(result: Erased) -> str:
    """Tell that something is gone, how that was done, and honestly what is left."""
    if not isinstance(result, Forgotten):
        return result.sentence
    proof = result.proof
    lines = [
        f"Forgotten: {_ids(result.short_ids)}. The text and its key are destroyed.",
        f"Copies emptied in my history: {proof.history_copies}.",
        f"Sessions ended that had read it: {proof.sessions_ended}.",
    ]
    if proof.status is CleanupStatus.PARTIAL:
        reasons = "; ".join(_UNFINISHED[code] for code in proof.errors)
        lines.append(f"Nothing of it is used any more, but not all is done: {reasons}. I go on.")
    if proof.traces_kept:
        lines.append(TRACES_STAY)
    return "\n".join(lines)


def given_up_text(notes: int) -> str:
    """Tell the owner how many notes were given up."""
    if not notes:
        return NOTHING_LOST
    return f"Given up: {notes} notes. If memory was locked, restart me: a new key store begins."


def consent_text(state: ConsentState) -> str:
    """Tell what a person allows in a place."""
    in_dm = state.channel_id is None
    if state.purpose is Purpose.SHARE:
        if in_dm:
            return _NEVER_SHARED
        told = _SHARED if state.level is ConsentLevel.ON else _NOT_SHARED
    else:
        told = _CONSENT[state.level, in_dm]
    if state.until:
        told += f" This ends by itself on {state.until[:16].replace('T', ' ')} UTC."
    elif state.is_default:
        told += " You have not chosen anything else."
    return told


def choice_label(note: NoteView) -> str:
    """Label a note for a choice: not markdown, so nothing is escaped."""
    label = f"{note.short_id} · {_visible(note.text) or state_of(note).replace('`', '')}"
    return label if len(label) <= CHOICE_CHARS else label[: CHOICE_CHARS - 1] + "…"


def _visible(text: str) -> str:
    """Make one line of a text, without what only changes how the rest is shown."""
    kinds = ((each, unicodedata.category(each)) for each in text)
    seen = (" " if kind == "Cc" else each for each, kind in kinds if kind not in {"Cf", "Cs"})
    return " ".join("".join(seen).split())


def _ids(short_ids: Sequence[str]) -> str:
    if len(short_ids) > NAMED_IDS:
        return f"{len(short_ids)} notes"
    return ", ".join(f"`{each}`" for each in short_ids)
