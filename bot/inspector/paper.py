"""How pages are written: templates that escape everything, the page's own files, its cookies."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from aiohttp import web
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from bot.inspector import views, words
from bot.inspector.doors import Doors
from bot.inspector.guard import FORM_TOKEN
from bot.names import Names
from bot.runs.diff_text import plan_lines

HERE: Final = Path(__file__).parent
THEMES: Final = ("auto", "light", "dark")
_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cookies:
    """Names of the page's cookies; other servers on this machine see them as well."""

    session: str
    theme: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnFile:
    """One of the page's own files. ``tag`` names its content to the browser."""

    body: bytes
    content_type: str
    tag: str


class Paper:
    """Writes pages; what they say comes in as values."""

    def __init__(self, *, names: Names, doors: Doors, cookies: Cookies) -> None:
        self._doors = doors
        self._cookies = cookies
        self._templates = _environment(names)
        self._files: Mapping[str, OwnFile] = {}

    def prepare(self) -> None:
        """Read templates and files, which takes longer than to write a page by them; blocks."""
        for name in self._templates.list_templates():
            self._templates.get_template(name)
        self._files = _own_files()

    def own_file(self, name: str) -> OwnFile | None:
        """Give one of the page's own files: what is not among them has no address."""
        return self._files.get(name)

    def plain(self, status: int, title: str, sentence: str) -> web.Response:
        """Write a page that says one sentence, to whoever asks."""
        return self._write(
            "plain.html", status=status, theme="auto", title=title, sentence=sentence
        )

    async def page(
        self,
        request: web.Request,
        template: str,
        *,
        status: int = 200,
        **values: Any,  # noqa: ANN401  (what the template names)
    ) -> web.Response:
        """Write a page for the session that asks."""
        theme = request.cookies.get(self._cookies.theme, "auto")
        session = self._doors.session(request.cookies.get(self._cookies.session, ""))
        given = {
            "theme": theme if theme in THEMES else "auto",
            "themes": THEMES,
            "token": session.form_token if session else "",
            "token_name": FORM_TOKEN,
            "back": request.path_qs if request.method == "GET" else "/",
            "follow": "",
            **values,
        }
        # A long run takes its time to be written; no turn waits for that.
        return await asyncio.to_thread(self._write, template, status=status, **given)

    def _write(self, template: str, *, status: int, **values: Any) -> web.Response:  # noqa: ANN401
        html = self._templates.get_template(template).render(values)
        body = html.encode("utf-8", "replace")
        return web.Response(status=status, body=body, content_type="text/html", charset="utf-8")


def _environment(names: Names) -> Environment:
    """Set the templates up: everything is escaped, and a value that is missing is a fault."""
    environment = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "number": words.number,
        "money": words.money,
        "share": words.share,
        "duration": words.duration,
        "moment": words.moment,
        "clock": words.clock,
        "short": words.short,
        "bare": words.bare,
        "visible": words.visible,
        "plain": words.plain,
    }
    environment.globals |= {
        "plural": words.plural,
        "channel_name": names.channel,
        "person_name": names.person,
        "AUTHORITIES": views.AUTHORITIES,
        "CLASSES": views.CLASSES,
        "STEPS": views.STEPS,
        "outcome_of": views.outcome_of,
        "plan_lines": plan_lines,
    }
    return environment


def _own_files() -> dict[str, OwnFile]:
    found: dict[str, OwnFile] = {}
    for path in sorted((HERE / "static").iterdir()):
        if path.suffix in _TYPES:
            body = path.read_bytes()
            tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
            found[path.name] = OwnFile(body=body, content_type=_TYPES[path.suffix], tag=tag)
    return found
