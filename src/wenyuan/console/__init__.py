"""The console: web pages for people, in front of the HTTP API. Every page uses only calls of that API."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, select_autoescape
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from wenyuan.console import documents, health, quarantine, rules, search, sources
from wenyuan.console import visit as signing
from wenyuan.console.forms import FILTERS, BadForm
from wenyuan.console.visit import COOKIE, HEADERS, Api, Attempts, Page, Refused, Reply, Sessions, Visit
from wenyuan.core.errors import Counted
from wenyuan.i18n import texts
from wenyuan.server.handling import Answer, routes_of

__all__ = ["with_console"]


# The console's application: routing of pages, access, and error pages.

_log = logging.getLogger("wenyuan.console")
_STATIC = {
    "console.css": "text/css; charset=utf-8",
    "documents.js": "text/javascript; charset=utf-8",
    "console.js": "text/javascript; charset=utf-8",
    "htmx.min.js": "text/javascript; charset=utf-8",
    "seal.svg": "image/svg+xml",
}
_MENU: Mapping[str, str] = {
    "search": "search", "answer": "search", "context": "search", "verify": "search", "sources": "registry", "rules": "registry", "review": "registry",
    "audit": "audit", "evaluation": "registry", "people": "registry", "health": "",
}  # fmt: skip
"""The parts of the console, and which right each asks for first; ``""`` for none."""
_AREAS = (
    signing.PAGES,
    search.PAGES,
    search.ANSWER_PAGES,
    search.VERIFY_PAGES,
    sources.PAGES,
    documents.PAGES,
    documents.CORRECTION_PAGES,
    rules.REVIEW_PAGES,
    rules.PAGES,
    health.AUDIT_PAGES,
    health.EVALUATION_PAGES,
    sources.PEOPLE_PAGES,
    quarantine.PAGES,
    health.PAGES,
)
_PAGES: Mapping[tuple[str, str], Page] = {where: page for area in _AREAS for where, page in area.items()}


Marks = Callable[[str, str], Sequence[tuple[int, int]]]


def _unmarked(_text: str, _query: str) -> Sequence[tuple[int, int]]:
    return ()


@cache
def _templates() -> Environment:
    """All page templates, compiled at start instead of on the first visit; shared by all sites of a process."""
    made = Environment(
        loader=PackageLoader(__package__),
        autoescape=select_autoescape(default=True),
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(FILTERS)
    for name in made.list_templates():
        made.get_template(name)
    return made


class Site:
    """State shared by all visits."""

    def __init__(self, app: ASGIApp, marks: Marks = _unmarked) -> None:
        self.api = Api(app)
        self.sessions, self.attempts = Sessions(), Attempts()
        self.marks = marks
        self.menu = _MENU
        self.under_way: set[asyncio.Task[Reply]] = set()
        self.static = {name: (files(__package__) / "static" / name).read_bytes() for name in _STATIC}
        self.mark = sha256(b"".join(self.static.values())).hexdigest()[:10]
        self.templates = _templates()

    def came_to_an_end(self, task: asyncio.Task[Reply]) -> None:
        """Callback for a finished background call; its result is stored by the API."""
        self.under_way.discard(task)
        if not task.cancelled() and (error := task.exception()):
            _log.warning("a call that was left to run failed: %s", error)

    def text(self, language: str, key: str, **values: object) -> str:
        """A text of the console; KeyError for an unknown key."""
        said = texts("console", language)[key]
        return said.format(**{name: Counted(value) for name, value in values.items()}) if values else said


def with_console(app: ASGIApp, marks: Marks = _unmarked) -> ASGIApp:
    """The server's application with the console in front of it, at ``/`` and below ``/console``.

    Args:
        app: Receives all other requests, and the console's own calls.
        marks: Finds words of a query in a text: text, query → spans.
    """
    console = _console(Site(app, marks))

    async def front(scope: Scope, receive: Receive, send: Send) -> None:
        ours = scope["type"] == "http" and (scope["path"] == "/" or f"{scope['path']}/".startswith("/console/"))
        await (console if ours else app)(scope, receive, send)

    return front


def _console(site: Site) -> ASGIApp:
    pages: dict[tuple[str, str], Answer] = {("GET", path): _home for path in ("/", "/console", "/console/")}
    pages["GET", "/console/static/{mark}/{name}"] = _static(site)
    pages |= {(method, f"/console/{path}"): _visited(site, page) for (method, path), page in _PAGES.items()}
    app = Starlette(
        routes=routes_of(pages, _no_method(site)), exception_handlers={HTTPException: _nothing_here(site)}
    )
    app.router.redirect_slashes = False
    return app


async def _home(_request: Request) -> Response:
    return RedirectResponse("/console/search", 307, HEADERS)


def _static(site: Site) -> Answer:
    async def serve(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in _STATIC:
            raise HTTPException(404)
        kept = "public, max-age=31536000, immutable" if request.path_params["mark"] == site.mark else "no-store"
        return Response(site.static[name], headers={**HEADERS, "Cache-Control": kept}, media_type=_STATIC[name])

    return serve


def _nothing_here(site: Site) -> Callable[[Request, Exception], Response]:
    async def answer(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        return Visit(request, site).page("problem.html", status, why="no_page")

    return answer  # type: ignore[return-value]


def _no_method(site: Site) -> Callable[[Request, Mapping[str, str]], Awaitable[Response]]:
    async def answer(request: Request, allow: Mapping[str, str]) -> Response:
        page = Visit(request, site).page("problem.html", 405, why="no_page")
        page.headers.update(allow)
        return page

    return answer


def _visited(site: Site, page: Page) -> Answer:
    async def answer(request: Request) -> Response:
        visit = Visit(request, site)
        try:
            return await page(visit)
        except BadForm as error:
            return visit.page("problem.html", error.status, why=error.why)
        except Refused as refused:
            return _refused(visit, refused)
        except Exception:
            _log.exception("page failed: %s", request.url.path)
            return visit.page("problem.html", 500, why="page_failed")

    return answer


def _refused(visit: Visit, refused: Refused) -> Response:
    if refused.status == 401:
        return _to_sign_in(visit)
    return visit.page("problem.html", refused.status, why="", refused=refused)


def _to_sign_in(visit: Visit) -> Response:
    """Redirect to sign-in and back. A request that comes from another site first reloads once, to send the session
    cookie.

    A strict cookie is not sent when another site's link is followed, so that nobody is signed in by a link; a page
    that then reloads itself is asked for by this site.
    """
    request = visit.request
    if request.method == "GET" and request.headers.get("sec-fetch-site") == "cross-site":
        return visit.page("again.html")
    here = visit.here if request.method == "GET" else "/console/search"
    response = visit.see(f"/console/sign-in?next={quote(here, safe='/')}")
    if request.headers.get("hx-request"):
        response = Response(status_code=200, headers={**HEADERS, "HX-Redirect": response.headers["location"]})
    if request.cookies.get(COOKIE):
        response.delete_cookie(COOKIE, path="/console")
    return response
