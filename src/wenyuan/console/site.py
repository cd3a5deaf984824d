"""The console's application: routing of pages, access, and error pages."""

from __future__ import annotations

import logging
from asyncio import to_thread
from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from wenyuan.console import answer as console_answer
from wenyuan.console import (
    audit,
    backups,
    conflicts,
    corrections,
    document_details,
    documents,
    documents_at_hand,
    erasures,
    evaluations,
    exports,
    feedback,
    gaps,
    golden_questions,
    health,
    impact,
    issuer_sign_in,
    model,
    overview,
    people,
    preview,
    quarantine,
    readers,
    rule_queue,
    rules,
    search,
    sign_in,
    sources,
    verify,
)
from wenyuan.console.api import Refused
from wenyuan.console.forms import BadForm
from wenyuan.console.sessions import COOKIE, SessionStore
from wenyuan.console.state import STATIC, ConsoleIssuer, ConsoleState, Marks, unmarked
from wenyuan.console.visit import HEADERS, Page, Visit
from wenyuan.server.path_routes import Answer, routes_of
from wenyuan.server.sign_ins import SignIns

_log = logging.getLogger("wenyuan.console")
_AREAS = (
    sign_in.PAGES,
    issuer_sign_in.ISSUER_PAGES,
    search.PAGES,
    console_answer.ANSWER_PAGES,
    verify.VERIFY_PAGES,
    sources.PAGES,
    documents.PAGES,
    documents_at_hand.PAGES,
    document_details.PAGES,
    preview.PAGES,
    readers.PAGES,
    corrections.CORRECTION_PAGES,
    rule_queue.REVIEW_PAGES,
    rules.PAGES,
    audit.AUDIT_PAGES,
    evaluations.EVALUATION_PAGES,
    exports.PAGES,
    feedback.PAGES,
    people.PEOPLE_PAGES,
    quarantine.PAGES,
    backups.PAGES,
    erasures.PAGES,
    gaps.PAGES,
    golden_questions.PAGES,
    impact.PAGES,
    conflicts.PAGES,
    health.PAGES,
    model.PAGES,
    overview.PAGES,
)
_PAGES: Mapping[tuple[str, str], Page] = {where: page for area in _AREAS for where, page in area.items()}


def with_console(
    app: ASGIApp,
    marks: Marks = unmarked,
    issuer: ConsoleIssuer | None = None,
    sign_ins: SignIns | None = None,
    store: SessionStore | None = None,
) -> ASGIApp:
    """The server's application with the console in front of it, at ``/`` and below ``/console``.

    Args:
        app: Receives all other requests, and the console's own calls.
        marks: Finds words of a query in a text: text, query → spans.
        issuer: By what people sign in besides keys.
        sign_ins: Writes down who signs in; None: nobody does.
        store: Where sessions are kept that count at other servers, too; None: they count here.
    """
    console = _console(ConsoleState(app, marks, issuer, sign_ins, store))

    async def front(scope: Scope, receive: Receive, send: Send) -> None:
        ours = scope["type"] == "http" and (scope["path"] == "/" or f"{scope['path']}/".startswith("/console/"))
        await (console if ours else app)(scope, receive, send)

    return front


def _console(site: ConsoleState) -> ASGIApp:
    pages: dict[tuple[str, str], Answer] = {("GET", path): _home for path in ("/", "/console")}
    pages["GET", "/console/static/{mark}/{name}"] = _static(site)
    pages |= {(method, f"/console/{path}"): _visited(site, page) for (method, path), page in _PAGES.items()}
    app = Starlette(
        routes=routes_of(pages, _no_method(site)), exception_handlers={HTTPException: _nothing_here(site)}
    )
    app.router.redirect_slashes = False
    return app


async def _home(_request: Request) -> Response:
    return RedirectResponse("/console/", 307, HEADERS)


def _static(site: ConsoleState) -> Answer:
    async def serve(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in STATIC:
            raise HTTPException(404)
        kept = "public, max-age=31536000, immutable" if request.path_params["mark"] == site.mark else "no-store"
        return Response(site.static[name], headers={**HEADERS, "Cache-Control": kept}, media_type=STATIC[name])

    return serve


def _nothing_here(site: ConsoleState) -> Callable[[Request, Exception], Response]:
    async def answer(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        return Visit(request, site).page("problem.html", status, why="no_page")

    return answer  # type: ignore[return-value]


def _no_method(site: ConsoleState) -> Callable[[Request, Mapping[str, str]], Awaitable[Response]]:
    async def answer(request: Request, allow: Mapping[str, str]) -> Response:
        page = Visit(request, site).page("problem.html", 405, why="no_page")
        page.headers.update(allow)
        return page

    return answer


def _visited(site: ConsoleState, page: Page) -> Answer:
    async def answer(request: Request) -> Response:
        if site.sessions.is_shared:
            await to_thread(site.sessions.look_up, request.cookies.get(COOKIE, ""))
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
