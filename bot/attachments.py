"""Words and pictures in attached files: fetched from Discord alone, within bounds, never executed.

Only Discord's own file hosts are asked, and the host of the API that the owner set; redirects are
not followed. A file that is too large, neither of both, or not to be had stays what ``bot.ingress``
made of it: one line that describes it.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator, Iterable
from dataclasses import replace
from typing import Final
from urllib.parse import urlsplit

import aiohttp
import discord
import structlog

from bot import ingress
from bot.images import looks_like_one, prepare
from bot.logs import describe
from bot.text_files import decode, may_be_text
from compiler.request import MessagePart, PartKind
from config.settings import DISCORD_API
from sessions.inbound import InboundMessage
from sessions.limits import FileSettings
from sessions.pictures import Picture

HOSTS: Final = frozenset({"cdn.discordapp.com", "media.discordapp.net"})
CHUNK_BYTES: Final = 65_536
_OK = 200
_PICTURES: Final = re.compile(r"\.(png|jpe?g|webp|gif)$", re.IGNORECASE)
_log = structlog.get_logger(__name__)


async def with_files(
    inbound: InboundMessage,
    message: discord.Message,
    *,
    files: FileSettings,
    api: str,
    sees: bool = False,
) -> InboundMessage:
    """Add what a message's files hold: words behind its other parts, and pictures.

    ``sees`` tells whether the model takes pictures. Never raises for a file: what cannot be read
    is told by the parts that are there already.
    """
    shows = sees and files.images
    wanted = [each for each in _attachments(message) if _limit_of(each, files, shows=shows)]
    if not wanted:
        return inbound
    read = inbound.message
    parts: list[MessagePart] = []
    pictures: list[Picture] = []
    try:
        async with (
            asyncio.timeout(files.seconds),
            aiohttp.ClientSession(auto_decompress=True) as session,
        ):
            left = files.max_chars
            chosen = [(each, _limit_of(each, files, shows=shows)) for each in wanted]
            async for attachment, data in _fetch(session, chosen[: files.max_count], api):
                picture = await _shown(attachment, data, files) if shows else None
                if picture is not None:
                    pictures.append(picture)
                    parts.append(_seen(picture))
                    continue
                if not _may_hold_words(attachment, files):
                    continue
                part = _part(attachment, data, limit_chars=left)
                if part is not None:
                    parts.append(part)
                    left = max(0, left - len(part.text))
    except TimeoutError as error:
        _log.warning("files.unread", message_id=read.message_id, **describe(error))
    _log.info("files.read", message_id=read.message_id, wanted=len(wanted), read=len(parts))
    return replace(
        inbound,
        message=replace(read, parts=(*read.parts, *parts)),
        pictures=(*inbound.pictures, *pictures),
    )


def _attachments(message: discord.Message) -> Iterable[discord.Attachment]:
    yield from message.attachments
    for snapshot in message.message_snapshots:
        yield from snapshot.attachments


def _limit_of(attachment: discord.Attachment, files: FileSettings, *, shows: bool) -> int:
    """Give how many bytes of a file may be fetched; 0 if it is not worth it."""
    if _may_hold_words(attachment, files):
        return files.max_bytes
    fits = 0 < attachment.size <= files.max_image_bytes
    kind = attachment.content_type or ""
    may_be_one = kind.startswith("image/") or _PICTURES.search(attachment.filename) is not None
    return files.max_image_bytes if shows and fits and may_be_one else 0


def _may_hold_words(attachment: discord.Attachment, files: FileSettings) -> bool:
    return (
        0 < attachment.size <= files.max_bytes
        and not attachment.is_voice_message()
        and may_be_text(attachment.filename, attachment.content_type)
    )


async def _fetch(
    session: aiohttp.ClientSession,
    wanted: list[tuple[discord.Attachment, int]],
    api: str,
) -> AsyncIterator[tuple[discord.Attachment, bytes]]:
    for attachment, limit_bytes in wanted:
        if not is_ours(attachment.url, api=api):
            _log.warning("files.foreign_host", attachment_id=attachment.id)
            continue
        try:
            async with session.get(attachment.url, allow_redirects=False) as response:
                if response.status != _OK:
                    _log.info("files.refused", attachment_id=attachment.id, status=response.status)
                    continue
                data = await _bounded(response, limit_bytes)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            if isinstance(error, TimeoutError):
                raise  # there is no time left for those behind it either
            _log.warning("files.unread", attachment_id=attachment.id, **describe(error))
            continue
        if data is not None:
            yield attachment, data


async def _bounded(response: aiohttp.ClientResponse, limit_bytes: int) -> bytes | None:
    """Read a body; None if it is longer than its message said it would be."""
    data = bytearray()
    async for chunk in response.content.iter_chunked(CHUNK_BYTES):
        data += chunk
        if len(data) > limit_bytes:
            return None
    return bytes(data)


def is_ours(url: str, *, api: str) -> bool:
    """Tell whether an address is one of Discord's file hosts, or of the API that was set."""
    try:
        address, own = urlsplit(url), urlsplit(api)
        same = (address.scheme, address.hostname, address.port) == (
            own.scheme,
            own.hostname,
            own.port,
        )
        standard = address.scheme == "https" and address.port in {None, 443}
    except ValueError:
        return False
    if address.username is not None:
        return False
    return (standard and address.hostname in HOSTS) or (api != DISCORD_API and same)


async def _shown(
    attachment: discord.Attachment, data: bytes, files: FileSettings
) -> Picture | None:
    """Make a picture of a file, judged by its bytes; beside the loop, for it may take a while."""
    if not looks_like_one(data):
        return None
    name = ingress.file_name(attachment.filename)
    return await asyncio.to_thread(prepare, data, max_side=files.max_image_side, name=name)


def _seen(picture: Picture) -> MessagePart:
    """Tell which picture is shown, by what it is and its hash."""
    size = f"{picture.width}x{picture.height} pixels, {len(picture.data)} bytes"
    return MessagePart(
        kind=PartKind.IMAGE,
        text=f"shown with this message: {picture.media_type}, {size}",
        name=picture.name,
        sha256=picture.sha256,
    )


def _part(attachment: discord.Attachment, data: bytes, *, limit_chars: int) -> MessagePart | None:
    text = decode(data)
    if text is None:
        return None
    part = MessagePart(
        kind=PartKind.FILE,
        text=text[:limit_chars],
        name=ingress.file_name(attachment.filename),
    )
    if len(text) <= limit_chars:
        return part
    whole = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return replace(part, total_chars=len(text), sha256=whole)
