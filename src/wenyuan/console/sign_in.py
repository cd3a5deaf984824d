"""Signing in with a key and out again, and the choices that a browser keeps: language and light."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from starlette.responses import Response

from wenyuan.console.api import Refused
from wenyuan.console.forms import read_form
from wenyuan.console.sessions import COOKIE, LASTS
from wenyuan.console.visit import LANGUAGE, LIGHT, Page, Visit, checked_next

_A_YEAR = 365 * 24 * 3600
_SIGNING_MOST = 200  # characters of a key


async def sign_in(visit: Visit) -> Response:
    """The page that asks for a key."""
    return _sign_in_page(visit, checked_next(visit.request.query_params.get("next", "")))


async def signed_in(visit: Visit) -> Response:
    """Start a session for a key that the API accepts."""
    form = await read_form(visit.request)
    token, following = form["key"][:_SIGNING_MOST], checked_next(form["next"])
    address = visit.request.client.host if visit.request.client else ""
    if wait := visit.site.attempts.begun(address):
        refused = _sign_in_page(visit, following, visit.text("key_too_often", seconds=wait), 429)
        refused.headers["Retry-After"] = str(wait)
        return refused
    if not token or not await _counts(visit, token):
        return _sign_in_page(visit, following, visit.text("key_unknown"), 401)
    visit.site.attempts.counted(address)
    rights = await _rights(visit)
    if following == "/console/search" and "search" not in rights:
        following = "/console/" + next(
            name for name, right in visit.site.menu.items() if right in rights or not right
        )
    response = visit.see(following)
    begin_session(visit, response, token, rights)
    return response


def begin_session(visit: Visit, response: Response, token: str, rights: frozenset[str]) -> None:
    """Set the browser's session cookie for a key, replacing its former session."""
    visit.site.sessions.end(visit.request.cookies.get(COOKIE, ""))
    secure = urlsplit(visit.request.headers.get("origin", "")).scheme == "https"
    response.set_cookie(
        COOKIE, visit.site.sessions.begin(token, rights), max_age=LASTS, path="/console", secure=secure,
        httponly=True, samesite="strict",
    )  # fmt: skip


async def sign_out(visit: Visit) -> Response:
    """End the session and delete its cookie."""
    await read_form(visit.request)
    visit.site.sessions.end(visit.request.cookies.get(COOKIE, ""))
    response = visit.see("/console/sign-in")
    response.delete_cookie(COOKIE, path="/console")
    return response


async def choose(visit: Visit) -> Response:
    """Set language or colour scheme."""
    form = await read_form(visit.request)
    response = visit.see(checked_next(form["next"]))
    for name, value, known in (
        (LANGUAGE, form["language"], ("zh", "en")),
        (LIGHT, form["light"], ("light", "dark", "auto")),
    ):
        if value in known:
            response.set_cookie(name, value, max_age=_A_YEAR, path="/console", httponly=True, samesite="lax")
    return response


def _sign_in_page(visit: Visit, following: str, fault: str = "", status: int = 200) -> Response:
    return visit.page("sign_in.html", status, following=following, fault=fault)


async def _counts(visit: Visit, token: str) -> bool:
    """Whether the API accepts a key at all, whatever its rights."""
    visit.token = token
    try:
        await visit.call("GET", "v1", "sources")
    except Refused as refused:
        if refused.status == 401:
            visit.token = ""
            return False
        if refused.status != 403:
            raise
    return True


_TRIED: Mapping[str, tuple[str, tuple[str, ...], object]] = {
    "registry": ("GET", ("v1", "agents"), None),
    "audit": ("GET", ("v1", "audit"), None),
    "search": ("POST", ("v1", "search"), {}),  # no search: the right is looked at first, then the body is refused
}


async def _rights(visit: Visit) -> frozenset[str]:
    """The rights of the session's key that pages depend on, found by asking the API."""
    found = set()
    for right, (method, segments, body) in _TRIED.items():
        try:
            await visit.call(method, *segments, body=body)
        except Refused as refused:
            if refused.status == 403:
                continue
            if refused.status != 400:
                raise
        found.add(right)
    return frozenset(found)


PAGES: Mapping[tuple[str, str], Page] = {
    ("GET", "sign-in"): sign_in,
    ("POST", "sign-in"): signed_in,
    ("POST", "sign-out"): sign_out,
    ("POST", "choose"): choose,
}
