"""The only reader of the owner's texts."""

from __future__ import annotations

import os
from pathlib import Path

import psutil
import pytest

from compiler.request import (
    ChannelId,
    ImpName,
    Place,
    RunScope,
    SourceSnapshot,
    TextSource,
    UnreadableSource,
)
from compiler.templates import ENGINE_PREAMBLE
from sessions.limits import EngineSettings
from sessions.sources import MAX_BYTES, Sources, engine_identity

ENGINE = engine_identity(EngineSettings(), version="1.6.0")
EMBER = ImpName("ember")


class Home:
    """A home to write texts into and read snapshots from."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.sources = Sources(path)

    def write(self, relative: str, data: bytes | str) -> Path:
        file = self.path / relative
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data.encode() if isinstance(data, str) else data)
        return file

    async def read(self, *, imp: str = EMBER, scope: RunScope | None = None) -> SourceSnapshot:
        return await self.sources.read_start(ImpName(imp), scope or place(), ENGINE)


def place(channel: str | None = "discord:100", parent: str | None = None) -> RunScope:
    return RunScope(
        provider="discord",
        place=Place.GROUP if parent is None else Place.THREAD,
        channel_id=None if channel is None else ChannelId(channel),
        parent_channel_id=None if parent is None else ChannelId(parent),
    )


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path)
    made.write("imps/ember/identity.md", "You are Ember.")
    return made


async def test_an_identity_is_read_with_its_path(home: Home) -> None:
    """CC "Identity": the trace names the file."""
    snapshot = await home.read()
    assert snapshot.identity == TextSource(source="imps/ember/identity.md", text="You are Ember.")
    assert snapshot.engine == ENGINE
    assert snapshot.purpose is None


async def test_the_legacy_name_is_used_when_there_is_no_other(home: Home) -> None:
    """CC "Identity": charter.md remains during migration, and the trace tells which was used."""
    home.write("imps/cinder/charter.md", "You are Cinder.")
    found = (await home.read(imp="cinder")).identity
    assert found == TextSource(source="imps/cinder/charter.md", text="You are Cinder.")
    home.write("imps/cinder/identity.md", "You are the new Cinder.")
    found = (await home.read(imp="cinder")).identity
    assert found == TextSource(source="imps/cinder/identity.md", text="You are the new Cinder.")


async def test_an_unreadable_identity_has_no_second_choice(home: Home) -> None:
    """Fail closed: the legacy file does not stand in for a broken one."""
    home.write("imps/cinder/charter.md", "You are Cinder.")
    home.write("imps/cinder/identity.md", b"\xff\xfe broken")
    found = (await home.read(imp="cinder")).identity
    assert found == UnreadableSource(source="imps/cinder/identity.md", reason="not UTF-8")


async def test_a_named_imp_without_an_identity_is_unreadable(home: Home) -> None:
    """CC "Failure behavior": missing, with or without a directory."""
    expected = UnreadableSource(source="imps/cinder/identity.md", reason="missing")
    assert (await home.read(imp="cinder")).identity == expected
    (home.path / "imps" / "cinder").mkdir()
    assert (await home.read(imp="cinder")).identity == expected


async def test_an_empty_identity_is_none(home: Home) -> None:
    """An imp without a word of its own is refused, and its legacy file does not stand in."""
    home.write("imps/cinder/charter.md", "You are Cinder.")
    home.write("imps/cinder/identity.md", " \n\t")
    found = (await home.read(imp="cinder")).identity
    assert found == UnreadableSource(source="imps/cinder/identity.md", reason="empty")


async def test_adhoc_needs_no_identity(home: Home) -> None:
    """CC "Identity": an absent identity is allowed for adhoc."""
    assert (await home.read(imp="adhoc")).identity is None
    home.write("imps/adhoc/identity.md", "Somebody.")
    assert isinstance((await home.read(imp="adhoc")).identity, TextSource)


@pytest.mark.parametrize(
    "imp", ["", ".", "..", "../../etc", "a/b", "/etc", "a\x00b", "é", "a" * 65]
)
async def test_a_name_of_an_imp_is_no_path(home: Home, imp: str) -> None:
    """A name that could lead elsewhere reads nothing."""
    found = (await home.read(imp=imp)).identity
    assert found == UnreadableSource(source="imps/", reason="not a name of an imp")


async def test_purpose_is_chosen_by_the_trusted_channel(home: Home) -> None:
    """CC "Purpose": and a thread shares its parent's."""
    home.write("channels/100/purpose.md", "Tea.")
    home.write("channels/200/purpose.md", "Coffee.")
    tea = TextSource(source="channels/100/purpose.md", text="Tea.")
    assert (await home.read()).purpose == tea
    assert (await home.read(scope=place("discord:300", "discord:100"))).purpose == tea
    assert (await home.read(scope=place("discord:300"))).purpose is None
    assert (await home.read(scope=place(None))).purpose is None


@pytest.mark.parametrize(
    "channel", ["discord:../100", "100", "discord:1 ", "other:100", "discord:"]
)
async def test_a_channel_id_is_no_path(home: Home, channel: str) -> None:
    """Only digits after the platform's name choose a folder."""
    home.write("channels/100/purpose.md", "Tea.")
    assert (await home.read(scope=place(channel))).purpose is None


async def test_a_blank_purpose_is_none(home: Home) -> None:
    """CC "Purpose": present when non-empty."""
    home.write("channels/100/purpose.md", " \n\t\n")
    assert (await home.read()).purpose is None


async def test_an_unreadable_purpose_fails(home: Home) -> None:
    """What is there must be readable; it is not left out silently."""
    home.write("channels/100/purpose.md", b"\xc3\x28")
    assert isinstance((await home.read()).purpose, UnreadableSource)


async def test_links_do_not_lead_out_of_the_home(
    home: Home, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A link inside the home works; one to elsewhere, or to nothing, is refused."""
    outside = tmp_path_factory.mktemp("outside") / "secret.md"
    outside.write_text("secret")
    folder = home.path / "imps" / "linked"
    folder.mkdir()
    link = folder / "identity.md"
    link.symlink_to(outside)
    leads_out = UnreadableSource(source="imps/linked/identity.md", reason="leads out of the home")
    assert (await home.read(imp="linked")).identity == leads_out
    link.unlink()
    link.symlink_to(home.path / "imps" / "ember" / "identity.md")
    inside = TextSource(source="imps/linked/identity.md", text="You are Ember.")
    assert (await home.read(imp="linked")).identity == inside
    link.unlink()
    link.symlink_to("nowhere")
    broken = UnreadableSource(source="imps/linked/identity.md", reason="broken link")
    assert (await home.read(imp="linked")).identity == broken


async def test_a_linked_folder_does_not_lead_out_either(
    home: Home, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The whole way is looked at, not its last step."""
    outside = tmp_path_factory.mktemp("outside")
    (outside / "identity.md").write_text("secret")
    (home.path / "imps" / "linked").symlink_to(outside)
    assert isinstance((await home.read(imp="linked")).identity, UnreadableSource)


async def test_what_is_no_file_is_refused(home: Home) -> None:
    """A folder or a pipe in its place; a pipe does not hold up the reader."""
    (home.path / "imps" / "folder" / "identity.md").mkdir(parents=True)
    found = (await home.read(imp="folder")).identity
    assert found == UnreadableSource(source="imps/folder/identity.md", reason="not a file")
    (home.path / "imps" / "pipe").mkdir()
    os.mkfifo(home.path / "imps" / "pipe" / "identity.md")
    found = (await home.read(imp="pipe")).identity
    assert found == UnreadableSource(source="imps/pipe/identity.md", reason="not a file")


async def test_an_absurd_file_is_not_read(home: Home) -> None:
    """Its size is looked at first."""
    file = home.write("imps/huge/identity.md", "")
    os.truncate(file, MAX_BYTES + 1)
    found = (await home.read(imp="huge")).identity
    assert isinstance(found, UnreadableSource)
    assert "larger" in found.reason


async def test_unchanged_files_are_not_read_again(home: Home) -> None:
    """The very same text comes back until the file changes, though the path stays."""
    home.sources = Sources(home.path, now_ns=lambda: 2**62)
    first = (await home.read()).identity
    assert (await home.read()).identity is first
    file = home.write("imps/ember/identity.md", "You are Amber.")
    os.utime(file, ns=(0, 0))  # a fast machine may write twice within one tick
    found = (await home.read()).identity
    assert isinstance(found, TextSource)
    assert found.text == "You are Amber."


async def test_a_file_changed_just_now_is_read_again(home: Home) -> None:
    """Two changes within one tick of the file system's clock look alike."""
    changed_ns = (home.path / "imps/ember/identity.md").stat().st_ctime_ns
    home.sources = Sources(home.path, now_ns=lambda: changed_ns + 1)
    first = (await home.read()).identity
    second = (await home.read()).identity
    assert first == second
    assert first is not second


async def test_memory_of_files_is_bounded(home: Home) -> None:
    """A home with very many imps does not fill the host."""
    home.sources = Sources(home.path, now_ns=lambda: 2**62)
    for number in range(600):
        home.write(f"imps/i{number}/identity.md", "x")
        home.sources._identity(ImpName(f"i{number}"))
    assert len(home.sources._cache) == 512


async def test_no_descriptor_is_left_open(home: Home) -> None:
    """Also where the reading was refused."""
    (home.path / "imps" / "folder" / "identity.md").mkdir(parents=True)
    me = psutil.Process()
    before = me.num_fds()
    for _ in range(5):
        await home.read(imp="folder")
        await home.read()
    assert me.num_fds() <= before


async def test_bytes_are_kept(home: Home) -> None:
    """Line ends and odd characters are the compiler's business."""
    text = "a\r\nb\u2028c\ufeff\x00"
    home.write("imps/ember/identity.md", text)
    found = (await home.read()).identity
    assert found == TextSource(source="imps/ember/identity.md", text=text)


def test_the_engine_is_named_for_the_route_key() -> None:
    """Model family, version, preamble; no tools."""
    settings = EngineSettings(provider="p", model="m", preamble="pi", traffic_shard="s")
    identity = engine_identity(settings, version="1.6.0")
    assert (identity.engine, identity.engine_version, identity.model) == ("pi", "1.6.0", "p/m")
    assert (identity.preamble, identity.tools, identity.traffic_shard) == ("pi", (), "s")
    assert ENGINE.preamble == ENGINE_PREAMBLE
