"""Signing in with a key and out again, and the choices that a browser keeps: language and light."""

from __future__ import annotations

from asyncio import to_thread
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.responses import Response

from wenyuan.console.api import Refused
from wenyuan.console.forms import read_form
from wenyuan.console.sessions import COOKIE, LASTS
from wenyuan.console.visit import LANGUAGE, LIGHT, Page, Visit, checked_next
from wenyuan.core.access import ON_BEHALF_OF, Principal
from wenyuan.core.errors import KnowledgeError
from wenyuan.core.person import Person
from wenyuan.issuer.console_sessions import is_session

if TYPE_CHECKING:
    from wenyuan.console.state import ConsoleState

_A_YEAR = 365 * 24 * 3600
LOCAL = Principal().key_id
_SIGNING_MOST = 200  # characters of a key


async def sign_in(visit: Visit) -> Response:
    """The page that asks for a key, or leads to the issuer."""
    return sign_in_page(visit, checked_next(visit.request.query_params.get("next", "")))


async def signed_in(visit: Visit) -> Response:
    """Start a session for a key that the API accepts."""
    form = await read_form(visit.request)
    if not visit.site.takes_keys:
        await to_thread(visit.site.sign_ins.refused, "keys do not sign in here", "key")
        return sign_in_page(visit, checked_next(form["next"]), visit.text("sign_in_no_keys"), 403)
    token, following = form["key"][:_SIGNING_MOST], checked_next(form["next"])
    address = visit.request.client.host if visit.request.client else ""
    if wait := visit.site.attempts.begun(address):
        refused = sign_in_page(visit, following, visit.text("key_too_often", seconds=wait), 429)
        refused.headers["Retry-After"] = str(wait)
        return refused
    if not token or not await _counts(visit, token):
        await to_thread(visit.site.sign_ins.refused, "no key that counts", "key")
        return sign_in_page(visit, following, visit.text("key_unknown"), 401)
    visit.site.attempts.counted(address)
    rights = await rights_found(visit)
    try:
        await to_thread(visit.site.sign_ins.signed_in, _key_id(token), "key")
    except KnowledgeError as error:
        visit.token = ""
        return sign_in_page(visit, following, visit.said(str(error)), 503)
    response = visit.see(first_page(visit.site, following, rights))
    await begin_session(visit, response, token, rights)
    return response


def first_page(site: ConsoleState, following: str, rights: frozenset[str]) -> str:
    """The page to show after signing in: the one that was asked for, unless it is search, and searching is not allowed."""
    if following != "/console/search" or "search" in rights:
        return following
    return "/console/" + next(name for name, needed in site.menu.items() if needed & rights or not needed)


async def begin_session(
    visit: Visit,
    response: Response,
    token: str,
    rights: frozenset[str],
    *,
    name: str = "",
    lasts: float = LASTS,
    secure: bool = False,
) -> None:
    """Set the browser's session cookie for a credential, replacing its former session.

    Args:
        name: Of whoever has signed in.
        lasts: Seconds.
        secure: Whether the cookie is for TLS alone, besides where the browser says that it came by it.
    """
    await _end_session(visit)
    by_tls = secure or urlsplit(visit.request.headers.get("origin", "")).scheme == "https"
    session = visit.site.sessions.begin(token, rights, name, lasts)
    await to_thread(visit.site.sessions.share, session)
    response.set_cookie(
        COOKIE, session, max_age=int(lasts), path="/console", secure=by_tls,
        httponly=True, samesite="strict",
    )  # fmt: skip


async def _end_session(visit: Visit) -> Person | None:
    """End the browser's session, and the credential that was made for it; whom the issuer had told, where it was one of theirs."""
    cookie, person = visit.request.cookies.get(COOKIE, ""), None
    if visit.site.issuer is not None:
        person = visit.site.issuer.signed_in.end(visit.site.sessions.held(cookie).token)
    visit.site.sessions.end(cookie)
    await to_thread(visit.site.sessions.end_everywhere, cookie)
    return person


def _key_id(token: str) -> str:
    """Of a key that the API has accepted; ``local`` where it needs none."""
    return token.split("_")[1] if token.startswith("wy_") else LOCAL


async def sign_out(visit: Visit) -> Response:
    """End the session and delete its cookie; whom the issuer had told is shown how to sign out there, too."""
    await read_form(visit.request)
    issuer = visit.site.issuer
    there = issuer.login.sign_out_address() if issuer is not None and is_session(visit.token) else ""
    person = await _end_session(visit)
    if person is not None:
        await to_thread(visit.site.sign_ins.signed_out, person.person_id, "issuer")
    elif visit.token and not is_session(visit.token):
        await to_thread(visit.site.sign_ins.signed_out, _key_id(visit.token), "key")
    visit.token = ""
    response = visit.page("signed_out.html", there=there) if there else visit.see("/console/sign-in")
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


def sign_in_page(visit: Visit, following: str, fault: str = "", status: int = 200) -> Response:
    """The page where one signs in, with what was wrong."""
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
    "ingest": ("GET", ("v1", "corrections"), None),
    "admin": ("GET", ("v1", "keys"), None),
    "search": ("POST", ("v1", "search"), {}),  # no search: the right is looked at first, then the body is refused
}


async def rights_found(visit: Visit) -> frozenset[str]:
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
    if "search" in found:
        try:
            await visit.call("POST", "v1", "search", body={}, on_behalf_of="user:nobody")
        except Refused as refused:
            found |= {ON_BEHALF_OF} if refused.status == 400 else set()
    return frozenset(found)


PAGES: Mapping[tuple[str, str], Page] = {
    ("GET", "sign-in"): sign_in,
    ("POST", "sign-in"): signed_in,
    ("POST", "sign-out"): sign_out,
    ("POST", "choose"): choose,
}
