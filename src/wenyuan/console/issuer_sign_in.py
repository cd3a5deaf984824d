"""Signing in at the issuer: sending the browser there, and taking it back."""

from __future__ import annotations

from asyncio import to_thread
from collections.abc import Mapping
from urllib.parse import urlsplit

from starlette.responses import RedirectResponse, Response

from wenyuan.console.sign_in import begin_session, first_page, rights_found, sign_in_page
from wenyuan.console.visit import HEADERS, Page, Visit, checked_next
from wenyuan.core.errors import KnowledgeError
from wenyuan.issuer.login import BACK, LASTS
from wenyuan.issuer.tokens import TokenRefused

_COOKIE = "wenyuan_signing"
_PATH = "/console/sign-in"
_LONGEST = 5_000  # characters of what comes back with the browser, each


async def to_issuer(visit: Visit) -> Response:
    """Send the browser to the issuer."""
    issuer = visit.site.issuer
    following = checked_next(visit.request.query_params.get("next", ""))
    if issuer is None:
        return visit.page("problem.html", 404, why="no_page")
    try:
        address, browser = await issuer.pool.run(lambda: issuer.login.begin(following))
    except KnowledgeError as error:
        return sign_in_page(visit, following, visit.said(str(error)), 503)
    response = RedirectResponse(address, 303, HEADERS)
    response.set_cookie(
        _COOKIE, browser, max_age=LASTS, path=_PATH, secure=_secure(visit), httponly=True, samesite="lax"
    )
    return response


async def back_from_issuer(visit: Visit) -> Response:
    """Begin a session for whom the issuer has sent back."""
    issuer = visit.site.issuer
    if issuer is None:
        return visit.page("problem.html", 404, why="no_page")
    address = visit.request.client.host if visit.request.client else ""
    if wait := visit.site.attempts.begun(address):
        refused = sign_in_page(visit, "", visit.text("sign_in_too_often", seconds=wait), 429)
        refused.headers["Retry-After"] = str(wait)
        return refused
    response = await _taken_back(visit)
    response.delete_cookie(_COOKIE, path=_PATH)
    return response


async def _taken_back(visit: Visit) -> Response:
    issuer = visit.site.issuer
    assert issuer is not None
    pairs = visit.request.query_params.multi_items()
    answer, browser = dict(pairs), visit.request.cookies.get(_COOKIE, "")
    if len(answer) != len(pairs) or any(len(value) > _LONGEST for _, value in pairs):
        return sign_in_page(visit, "", visit.text("sign_in_broken"), 400)
    try:
        person, renewal, following = await issuer.pool.run(lambda: issuer.login.finish(answer, browser))
    except TokenRefused as refused:
        await to_thread(visit.site.sign_ins.refused, refused.reason, "issuer")
        return sign_in_page(visit, "", visit.said(refused.reason), 401)
    except KnowledgeError as error:
        return sign_in_page(visit, "", visit.said(str(error)), 503)
    visit.site.attempts.counted(visit.request.client.host if visit.request.client else "")
    visit.token = issuer.signed_in.begin(person, renewal)
    rights = await rights_found(visit)
    if not rights:
        issuer.signed_in.end(visit.token)
        visit.token = ""
        await to_thread(visit.site.sign_ins.refused, "no right is given to them", "issuer", person.person_id)
        return sign_in_page(visit, "", visit.text("sign_in_no_rights", name=person.name or person.subject), 403)
    try:
        await to_thread(visit.site.sign_ins.signed_in, person.person_id, "issuer")
    except KnowledgeError as error:
        issuer.signed_in.end(visit.token)
        visit.token = ""
        return sign_in_page(visit, "", visit.said(str(error)), 503)
    # A page that then goes on by itself, since a strict cookie is not sent to where another site's answer leads.
    response = visit.page("again.html", following=first_page(visit.site, following, rights))
    await begin_session(
        visit, response, visit.token, rights, name=person.name or person.subject,
        lasts=issuer.login.settings.session, secure=_secure(visit),
    )  # fmt: skip
    return response


def _secure(visit: Visit) -> bool:
    """Whether browsers reach this server by TLS, as the settings say."""
    issuer = visit.site.issuer
    return issuer is not None and urlsplit(issuer.login.settings.address).scheme == "https"


assert f"{_PATH}/back" == BACK
ISSUER_PAGES: Mapping[tuple[str, str], Page] = {
    ("GET", "sign-in/issuer"): to_issuer,
    ("GET", "sign-in/back"): back_from_issuer,
}
