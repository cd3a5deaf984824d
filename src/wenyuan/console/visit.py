"""One page request: session, sign-in, language, and calls of the HTTP API."""

from __future__ import annotations

import asyncio
import hashlib
import ipaddress
import json
import math
import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode, urlsplit

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive

from wenyuan.console.forms import read_form
from wenyuan.core.errors import TRANSLATABLE, received
from wenyuan.i18n import texts, translated
from wenyuan.runtime.local_time import zone_named
from wenyuan.server.buckets import Bucket
from wenyuan.server.problems import PROBLEM_JSON
from wenyuan.server.remote_callers import ELSEWHERE, is_elsewhere

if TYPE_CHECKING:
    from wenyuan.console import Site


# Sessions: a random id in a cookie refers to an API key, for as long as the server runs. And limits on sign-in
# attempts.


COOKIE = "wenyuan_session"
LASTS = 12 * 3600
"""Seconds after which a key has to be given again."""
_MOST = 1_000
_AT_ONCE = 5.0  # attempts to sign in that fail, before there is a wait
_EVERY = 10.0  # seconds of that wait


class Sessions:
    """API keys by session, and the rights of each. Session ids are stored hashed, so no cookie can be made from this
    content.

    The key counts only as long as the API accepts it: each call is made with it, so one that was revoked or has
    expired ends its sessions at once.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kept: OrderedDict[bytes, tuple[float, str, frozenset[str]]] = OrderedDict()

    def begin(self, token: str, rights: frozenset[str]) -> str:
        """A new session for a key with these rights; returns its id. Beyond a thousand, the oldest session ends."""
        session = secrets.token_urlsafe(32)
        self._kept[_digest(session)] = (self._clock() + LASTS, token, rights)
        while len(self._kept) > _MOST:
            self._kept.popitem(last=False)
        return session

    def held(self, session: str) -> tuple[str, frozenset[str]]:
        """The key of a session and its rights; ``""`` and none when the session does not exist or has ended."""
        until, token, rights = self._kept.get(_digest(session), (0.0, "", frozenset()))
        if until <= self._clock():
            self._kept.pop(_digest(session), None)
            return "", frozenset()
        return token, rights

    def end(self, session: str) -> None:
        """Sign out."""
        self._kept.pop(_digest(session), None)


class Attempts:
    """Limits failed sign-ins per address: a number at once, then one at intervals.

    Args:
        clock: Seconds that never go back.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kept: OrderedDict[str, Bucket] = OrderedDict()

    def begun(self, address: str) -> int:
        """Seconds until the address may try a key; 0 uses one attempt."""
        place, now = _place(address), self._clock()
        tried = self._kept.setdefault(place, Bucket(1 / _EVERY, now, _AT_ONCE))
        self._kept.move_to_end(place)
        while len(self._kept) > _MOST:
            self._kept.popitem(last=False)
        return math.ceil(tried.wait(now))

    def counted(self, address: str) -> None:
        """The key was valid: reset the address's attempts."""
        self._kept.pop(_place(address), None)


def _place(address: str) -> str:
    """The unit in which a visitor's address is counted: an IPv4 address, or an IPv6 network."""
    try:
        known = ipaddress.ip_address(address)
    except ValueError:
        return address
    return str(known) if known.version == 4 else str(ipaddress.ip_network((known, 64), strict=False))


def _digest(session: str) -> bytes:
    return hashlib.sha256(session.encode("utf-8", "replace")).digest()


# Calls of the HTTP API from within the process: the console's only way to the library.
#
# Each call goes through everything that a call from outside goes through, with the key of whoever is signed in: rights,
# limits, counting, audit. So no page can show or do what its reader could not ask for with curl.


_STATUS = "x-retrieval-status"


@dataclass(frozen=True, slots=True)
class Reply:
    """A response of the API."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def said(self) -> str:
        """``SUCCESS`` or ``FAILED`` where the response answers a question, else ``""``."""
        return self.headers.get(_STATUS, "")

    @property
    def value(self) -> Any:
        """The body as JSON; ValueError when it is none."""
        return json.loads(self.body)


class Refused(Exception):
    """The API responded with a problem document."""

    def __init__(self, reply: Reply) -> None:
        problem = reply.value
        detail = received(problem["detail"], problem.get(TRANSLATABLE))
        super().__init__(detail)
        self.status: int = problem["status"]
        self.code: str = problem["code"]
        self.detail: str = detail
        self.request_id: str = problem["request_id"]
        self.faults: Mapping[str, str] = {
            fault["path"]: received(fault["message"], fault.get(TRANSLATABLE)) for fault in problem["errors"]
        }


class Api:
    """Calls the server's own ASGI application directly, without a network.

    Args:
        app: The whole application, the layer that checks keys included.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def call(
        self,
        method: str,
        segments: Iterable[str],
        *,
        host: str,
        remote: bool = False,
        token: str = "",
        query: Mapping[str, object] | None = None,
        body: object = None,
        form: Request | None = None,
    ) -> Reply:
        """The response to one request.

        Args:
            segments: Of the path; one that is empty or has a slash in it leads nowhere, so that no id can name
                another route.
            host: What the caller's own request had as Host: the API refuses foreign ones.
            remote: Whether the caller is on another machine.
            token: The key to ask with; ``""`` for none.
            body: A JSON value; None for no body.
            form: A request whose body is handed on as it comes.

        Raises:
            Refused: a problem document. An answer that says FAILED is returned.
        """
        names = tuple(segments)
        if not all(names) or any("/" in name for name in names):
            raise Refused(_nowhere())
        content = b"" if body is None else json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        headers = [(b"host", host.encode("latin-1", "replace"))]
        if token:
            headers.append((b"authorization", f"Bearer {token}".encode("latin-1", "replace")))
        if body is not None:
            headers += [(b"content-type", b"application/json"), (b"content-length", str(len(content)).encode())]
        if form is not None:
            told = ("content-type", "content-length", "transfer-encoding")
            headers += [
                (name.encode(), form.headers[name].encode("latin-1")) for name in told if name in form.headers
            ]
        sent = content if form is None else form.receive
        reply = await self._asked(method, names, headers, query or {}, sent, remote=remote)
        if reply.headers.get("content-type") == PROBLEM_JSON:
            raise Refused(reply)
        return reply

    async def _asked(
        self,
        method: str,
        names: tuple[str, ...],
        headers: list[tuple[bytes, bytes]],
        query: Mapping[str, object],
        content: bytes | Receive,
        *,
        remote: bool,
    ) -> Reply:
        path = "/" + "/".join(names)
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": quote(path).encode(),
            "root_path": "",
            "query_string": urlencode({n: v for n, v in query.items() if v not in (None, "")}).encode(),
            "headers": headers,
            "client": None,
            ELSEWHERE: remote,
            "server": None,
        }
        parts: list[bytes] = []
        begun: dict[str, Any] = {}

        sent: list[Message] = [{"type": "http.request", "body": content, "more_body": False}]

        async def at_once() -> Message:
            if not sent:  # receive never reports a disconnect, since this call has no connection
                await asyncio.get_running_loop().create_future()
            return sent.pop()

        receive = at_once if isinstance(content, bytes) else content

        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                begun.update(message)
            else:
                parts.append(message.get("body", b""))

        await self._app(scope, receive, send)
        told = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in begun["headers"]}
        return Reply(begun["status"], told, b"".join(parts))


def _nowhere() -> Reply:
    problem = {
        "status": 404,
        "code": "not_found",
        "detail": "there is nothing at this path",
        "errors": [],
        "request_id": "",
    }
    return Reply(404, {}, json.dumps(problem).encode())


# One page request: its key, language and colour scheme, and calls of the API.


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


class Visit:
    """One request of a browser.

    Attributes:
        language: ``zh`` or ``en``: as chosen, else as the browser prefers.
        light: ``light``, ``dark`` or ``auto``.
        zone: The browser's time zone, as its script says; None for this machine's.
        token: The key of the session; ``""`` without one.
        rights: The rights of that key; empty without a session.
    """

    def __init__(self, request: Request, site: Site) -> None:
        self.request = request
        self.site = site
        chosen = request.cookies.get(LANGUAGE)
        self.language = chosen if chosen in ("zh", "en") else preferred(request.headers.get("accept-language", ""))
        light = request.cookies.get(LIGHT)
        self.light = light if light in ("light", "dark") else "auto"
        self.zone = zone_named(request.cookies.get(ZONE, ""))
        self.token, self.rights = site.sessions.held(request.cookies.get(COOKIE, ""))

    # -- asking the API ------------------------------------------------------------------------------------

    async def call(self, method: str, *segments: str, **asked: Any) -> Reply:
        """As `Api.call`, with the key of the session.

        Raises:
            Refused: a problem document.
        """
        host, remote = self.request.headers.get("host", ""), is_elsewhere(self.request.scope)
        return await self.site.api.call(method, segments, host=host, remote=remote, token=self.token, **asked)

    async def get(self, *segments: str, **query: object) -> Any:
        """The JSON body of a GET."""
        return (await self.call("GET", *segments, query=query)).value

    async def post(self, *segments: str, body: object) -> Any:
        """The JSON body of a POST; a FAILED body is returned too."""
        return (await self.call("POST", *segments, body=body)).value

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

    async def begin(self, asked: Coroutine[Any, Any, Reply], patience: float) -> None:
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

    def said(self, message: str, parts: object = None) -> str:
        """A message of the library in the visit's language.

        Args:
            parts: The member `TRANSLATABLE` beside it, if any.
        """
        return translated(received(message, parts), self.language)

    def page(self, template: str, status: int = 200, **values: Any) -> Response:
        """Render a template as a response."""
        body = self.site.templates.get_template(template).render(
            visit=self, status=status, t=self.text, term=self.term, said=self.said, **values
        )
        return HTMLResponse(body, status, HEADERS)

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
        return [name for name, right in self.site.menu.items() if not self.token or not right or right in self.rights]

    @property
    def area(self) -> str:
        """The console section of this page, by its path."""
        first = self.request.url.path.removeprefix("/console/").partition("/")[0]
        within = {"documents": "sources", "corrections": "sources", "quarantine": "health"}
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


# Signing in with a key and out again, and the choices that a browser keeps: language and light.


_A_YEAR = 365 * 24 * 3600
_SIGNING_MOST = 200  # characters of a key


async def sign_in(visit: Visit) -> Response:
    """The page that asks for a key."""
    return _asked(visit, checked_next(visit.request.query_params.get("next", "")))


async def signed_in(visit: Visit) -> Response:
    """Start a session for a key that the API accepts."""
    form = await read_form(visit.request)
    token, following = form["key"][:_SIGNING_MOST], checked_next(form["next"])
    address = visit.request.client.host if visit.request.client else ""
    if wait := visit.site.attempts.begun(address):
        refused = _asked(visit, following, visit.text("key_too_often", seconds=wait), 429)
        refused.headers["Retry-After"] = str(wait)
        return refused
    if not token or not await _counts(visit, token):
        return _asked(visit, following, visit.text("key_unknown"), 401)
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


def _asked(visit: Visit, following: str, fault: str = "", status: int = 200) -> Response:
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
