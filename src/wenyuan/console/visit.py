"""One visit of a page: who asks, in which language and light, and what the API says to them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from wenyuan.console.api import Refused, Reply
from wenyuan.console.messages import MESSAGES
from wenyuan.console.sessions import COOKIE

if TYPE_CHECKING:
    from wenyuan.console.front import Site

__all__ = ["HEADERS", "LANGUAGE", "LIGHT", "Page", "Visit"]

LANGUAGE, LIGHT = "wenyuan_lang", "wenyuan_light"
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


class Visit:
    """A request of a browser.

    Attributes:
        language: ``zh`` or ``en``: as chosen, else as the browser prefers.
        light: ``light``, ``dark`` or ``auto``.
        token: The key of whoever is signed in; ``""`` when nobody is.
        rights: What that key may do; nothing is said of it where nobody is signed in.
    """

    def __init__(self, request: Request, site: Site) -> None:
        self.request = request
        self.site = site
        chosen = request.cookies.get(LANGUAGE)
        self.language = chosen if chosen in ("zh", "en") else preferred(request.headers.get("accept-language", ""))
        light = request.cookies.get(LIGHT)
        self.light = light if light in ("light", "dark") else "auto"
        self.token, self.rights = site.sessions.held(request.cookies.get(COOKIE, ""))

    # -- asking the API ------------------------------------------------------------------------------------

    async def call(self, method: str, *segments: str, **asked: Any) -> Reply:
        """As `Api.call`, with the key of whoever is signed in.

        Raises:
            Refused: a problem document.
        """
        host = self.request.headers.get("host", "")
        return await self.site.api.call(method, segments, host=host, token=self.token, **asked)

    async def get(self, *segments: str, **query: object) -> Any:
        """What a GET answers, as JSON."""
        return (await self.call("GET", *segments, query=query)).value

    async def post(self, *segments: str, body: object) -> Any:
        """What a POST answers, as JSON; an answer that says FAILED is one."""
        return (await self.call("POST", *segments, body=body)).value

    async def glance(self, *segments: str, **query: object) -> Any | None:
        """As `get`; None where the key has not the right, or the server has no such thing: the page does without."""
        try:
            return await self.get(*segments, **query)
        except Refused as refused:
            if refused.status in (403, 404):
                return None
            raise

    async def begin(self, asked: Coroutine[Any, Any, Reply], patience: float) -> None:
        """Start a call that may take long; what goes wrong within some seconds is raised, the rest is logged.

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
        """What a name of the API is called, such as a state or a kind of record; one that is not known, itself."""
        key = f"{area}_{name}"
        return self.text(key) if key in MESSAGES else name

    def said(self, message: str) -> str:
        """What the library itself said, in the visit's language."""
        return self.site.words.translated(message) if self.language == "zh" else message

    def cause(self, name: str) -> str:
        """Why a replay differs, in the visit's language."""
        return self.site.words.cause(name) if self.language == "zh" else name

    def page(self, template: str, status: int = 200, **values: Any) -> Response:
        """A page."""
        body = self.site.templates.get_template(template).render(
            visit=self, status=status, t=self.text, term=self.term, said=self.said, cause=self.cause, **values
        )
        return HTMLResponse(body, status, HEADERS)

    def see(self, path: str) -> Response:
        """To another page, after something was done."""
        return RedirectResponse(path, 303, HEADERS)

    @property
    def menu(self) -> list[str]:
        """The parts of the console that lead somewhere for whoever is signed in."""
        return [name for name, right in self.site.menu.items() if not self.token or not right or right in self.rights]

    @property
    def area(self) -> str:
        """The part of the console that this page belongs to: the first step of its path."""
        return self.request.url.path.removeprefix("/console/").partition("/")[0]

    @property
    def here_or_search(self) -> str:
        """Where a choice leads back to: here, unless this page is the answer to a form."""
        return self.here if self.request.method == "GET" else "/console/search"

    @property
    def here(self) -> str:
        """The path of this page with its query: what a link to it is."""
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
    """Where to go on after signing in: a page of the console, whatever was asked for."""
    return (
        path
        if re.fullmatch(r"/console/[^\\\x00-\x20]*", path) and "//" not in path.partition("?")[0]
        else "/console/search"
    )
