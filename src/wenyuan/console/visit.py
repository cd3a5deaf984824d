"""One page request: its key, language and colour scheme, and calls of the API."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from wenyuan.console.api import ApiReply, Refused
from wenyuan.console.field_labels import label_of
from wenyuan.console.sessions import COOKIE
from wenyuan.core.errors import received
from wenyuan.i18n.translation import texts, translated
from wenyuan.packs.shipped import titled
from wenyuan.runtime.local_time import zone_named
from wenyuan.server.remote_callers import is_elsewhere

if TYPE_CHECKING:
    from wenyuan.console.state import ConsoleState


LANGUAGE, LIGHT, ZONE = "wenyuan_lang", "wenyuan_light", "wenyuan_zone"
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""What every page says to the browser: nothing from elsewhere, nothing inline, in no frame, kept nowhere."""
_ACCEPTED = re.compile(r"\s*([a-zA-Z]+)[a-zA-Z0-9-]*\s*(?:;\s*q=([0-9.]+))?")

_PERSON = re.compile(r"person-[0-9a-f]{20}")
_LOCAL = "local"  # who works on this machine without a key
_KEY = re.compile(r"[0-9a-f]{8}")
_ASKED = 200  # names that are asked for at once


class Visit:
    """One request of a browser.

    Attributes:
        language: ``zh`` or ``en``: as chosen, else as the browser prefers.
        light: ``light``, ``dark`` or ``auto``.
        zone: The browser's time zone, as its script says; None for this machine's.
        token: The credential of the session; ``""`` without one.
        rights: The rights of that credential; empty without a session.
        name: Whom the issuer has told; "" for a key.
    """

    def __init__(self, request: Request, site: ConsoleState) -> None:
        self.request = request
        self.site = site
        chosen = request.cookies.get(LANGUAGE)
        self.language = chosen if chosen in ("zh", "en") else preferred(request.headers.get("accept-language", ""))
        light = request.cookies.get(LIGHT)
        self.light = light if light in ("light", "dark") else "auto"
        self.zone = zone_named(request.cookies.get(ZONE, ""))
        session = site.sessions.held(request.cookies.get(COOKIE, ""))
        self._names: dict[str, str] = {}
        self._titles: dict[str, str] = {}
        self.token, self.rights, self.name = session.token, session.rights, session.name

    # -- asking the API ------------------------------------------------------------------------------------

    async def call(self, method: str, *segments: str, **asked: Any) -> ApiReply:
        """As `Api.call`, with the key of the session.

        Raises:
            Refused: a problem document.
        """
        host, remote = self.request.headers.get("host", ""), is_elsewhere(self.request.scope)
        return await self.site.api.call(method, segments, host=host, remote=remote, token=self.token, **asked)

    async def get(self, *segments: str, **query: object) -> Any:
        """The JSON body of a GET."""
        return (await self.call("GET", *segments, query=query)).value

    async def post(self, *segments: str, body: object, on_behalf_of: str = "") -> Any:
        """The JSON body of a POST; a FAILED body is returned too."""
        return (await self.call("POST", *segments, body=body, on_behalf_of=on_behalf_of)).value

    async def glance(self, *segments: str, **query: object) -> Any | None:
        """As `get`; None where the key lacks the right or the server lacks the route, so that the page omits that
        part.
        """
        try:
            return await self.get(*segments, **query)
        except Refused as refused:
            if refused.status in (403, 404):
                return None
            raise

    async def begin(self, asked: Coroutine[Any, Any, ApiReply], patience: float) -> None:
        """Start a call that may take long. An error within `patience` seconds is raised, a later one logged.

        Raises:
            Refused: a problem document came within the seconds.
        """
        task = asyncio.create_task(asked)
        done, _ = await asyncio.wait({task}, timeout=patience)
        if done:
            task.result()
            return
        self.site.under_way.add(task)
        task.add_done_callback(self.site.came_to_an_end)

    # -- answering the browser -----------------------------------------------------------------------------

    def text(self, key: str, **values: object) -> str:
        """A message of the console in the visit's language."""
        return self.site.text(self.language, key, **values)

    def term(self, area: str, name: str) -> str:
        """Label of an API name such as a state or a kind of record; the name itself if unknown."""
        key = f"{area}_{name}"
        return self.text(key) if key in texts("console", self.language) else name

    def field(self, path: str) -> str:
        """What the forms call the field of the API that a fault is at; ``""`` where no form has it."""
        key, number = label_of(path)
        if not key:
            return ""
        return self.text("field_entry", label=self.text(key), number=number) if number else self.text(key)

    def said(self, message: str, parts: object = None) -> str:
        """A message of the library in the visit's language.

        Args:
            parts: The member `TRANSLATABLE` beside it, if any.
        """
        return translated(received(message, parts), self.language)

    async def learn_names(self, *actors: object) -> None:
        """Ask what people and keys are called, of whom a page will say `who`; where the session may not know that, they keep their
        ids.
        """
        if any(isinstance(actor, str) and _KEY.fullmatch(actor) for actor in actors):
            keys = await self.glance("v1", "keys")
            self._names |= {one["key_id"]: one["name"] for one in (keys or {"keys": ()})["keys"] if one["name"]}
        ids = sorted({one for actor in actors if isinstance(actor, str) for one in _PERSON.findall(actor)})
        for part in (ids[start : start + _ASKED] for start in range(0, len(ids), _ASKED)):
            found = await self.glance("v1", "people", ids=",".join(part))
            self._names |= {
                one["person_id"]: one["name"] for one in (found or {"people": ()})["people"] if one["name"]
            }

    async def learn_titles(self) -> Any | None:
        """The sources, whose titles a page will say by `source`; None where the key may not list them."""
        found = await self.glance("v1", "sources")
        self._titles = {
            one["source_id"]: one["title"] for one in (found or {"sources": ()})["sources"] if one["title"]
        }
        return found

    def source(self, source_id: str) -> str:
        """A source by its title, where that was learned and it has one."""
        return self._titles.get(source_id, source_id)

    def who(self, actor: str | None) -> str:
        """An actor by name, where that was learned; else as records name them."""
        if actor == _LOCAL:
            return self.text("actor_local")
        if actor in self._names:
            return self._names[actor]
        return _PERSON.sub(lambda found: self._names.get(found[0], found[0]), actor or "")

    def page(self, template: str, status: int = 200, **values: Any) -> Response:
        """Render a template as a response."""
        body = self.site.templates.get_template(template).render(
            visit=self,
            status=status,
            t=self.text,
            term=self.term,
            said=self.said,
            pack_title=self.pack_title,
            **values,
        )
        return HTMLResponse(body, status, HEADERS)

    def pack_title(self, name: str) -> str:
        """A pack of rules as people read it."""
        return titled(name, self.language)

    def see(self, path: str) -> Response:
        """Redirect to another page after a change."""
        return RedirectResponse(path, 303, HEADERS)

    @staticmethod
    def address(path: str, **query: object) -> str:
        """A path with the non-empty query parameters."""
        given = urlencode({name: value for name, value in query.items() if value not in (None, "")})
        return f"{path}?{given}" if given else path

    @property
    def menu(self) -> list[str]:
        """The console sections accessible to the session's key."""
        return [
            name for name, rights in self.site.menu.items() if not self.token or not rights or rights & self.rights
        ]

    @property
    def area(self) -> str:
        """The console section of this page, by its path."""
        first = self.request.url.path.removeprefix("/console/").partition("/")[0]
        within = {"corrections": "documents", "quarantine": "health", "backups": "health", "erasures": "health"}
        return within.get(first, first)

    @property
    def here_or_search(self) -> str:
        """The address to return to after a choice: this page, or search if this page answers a form."""
        return self.here if self.request.method == "GET" else "/console/search"

    @property
    def here(self) -> str:
        """Path and query of this page."""
        url = self.request.url
        return f"{url.path}?{url.query}" if url.query else url.path


Page = Callable[[Visit], Awaitable[Response]]


def preferred(accepted: str) -> str:
    """``zh`` or ``en``, whichever an Accept-Language header ranks higher; ``en`` when it has neither."""
    ranks: dict[str, float] = {}
    for part in accepted[:1_000].split(","):
        found = _ACCEPTED.fullmatch(part)
        if found and found[1].lower() in ("zh", "en"):
            ranks.setdefault(found[1].lower(), _quality(found[2]))
    return "zh" if ranks.get("zh", 0.0) > ranks.get("en", 0.0) else "en"


def _quality(written: str | None) -> float:
    try:
        return float(written) if written is not None else 1.0
    except ValueError:
        return 0.0


def checked_next(path: str) -> str:
    """The page to show after sign-in: always one of the console, whatever the parameter says."""
    return (
        path
        if re.fullmatch(r"/console/[^\\\x00-\x20]*", path) and "//" not in path.partition("?")[0]
        else "/console/search"
    )
