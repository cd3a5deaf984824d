"""Where requests come from: pages of other sites change nothing at any door, and no strange name is this machine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wenyuan
from console_door import served
from governed_door import BODIES, RIGHT_OF, at, fill, key
from http_door import JSON, PATH, assert_problem, call, raw
from wenyuan.server.request_origin import host_of, is_loopback, names_loopback
from wenyuan.settings import ServerSettings

UNSAFE = sorted((method, path) for method, path in RIGHT_OF if method != "GET")
FOREIGN: tuple[dict[str, str], ...] = (
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://127.0.0.1.evil.example"},
    {"Origin": "http://127.0.0.1:1@evil.example"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "cross-site", "Origin": "OWN"},
)
"""What a browser says of a request that a page of another site makes it send; OWN: the server's own origin."""


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Any]]:
    """A server that needs no keys, with the console, and its library."""
    folder = tmp_path_factory.mktemp("opened")
    options: dict[str, Any] = {"encoder": {"kind": "none"}, "cache": {"seconds": 0}}
    with wenyuan.open(folder / "library", create=True, **options) as library:
        fill(library, folder / "docs")
        with served(library) as url:
            yield url, library


def changes(library: Any) -> Any:
    return (
        library.catalog.seq(),
        library.catalog.keys(),
        library.catalog.agents(),
        len(library.audit.list(limit=1000)),
    )


@pytest.mark.parametrize("keyed", [False, True], ids=["open", "keyed"])
@pytest.mark.parametrize("said", FOREIGN, ids=str)
@pytest.mark.parametrize("body", [None, "own"], ids=["no body", "body"])
def test_a_page_of_another_site_does_nothing_at_any_door(
    opened: tuple[str, Any], keyed: bool, said: dict[str, str], body: str | None
) -> None:
    """With and without a key, with and without a body: 403 in the words of the door, and nothing has changed."""
    url, library = opened
    headers = {name: url if value == "OWN" else value for name, value in said.items()}
    if keyed:  # of another library's server: whoever calls is asked for after where they call from
        headers["Authorization"] = f"Bearer wy_00000000_{'a' * 43}"
    before = changes(library)
    for method, path in UNSAFE:
        if path == "/mcp" and said.get("Origin") == "OWN":
            continue  # which is open to pages of this machine
        given = json.dumps(BODIES.get(path, {})).encode() if body else None
        answer = call(url, method, at(path), given, {**(JSON if body else {}), **headers})
        assert answer.status == 403, (method, path, answer.body)
        if not path.startswith(("/retrieval", "/v1/vector_stores")):
            assert "server.allowed_origins" in assert_problem(answer, 403, "not_permitted")["detail"]
    assert changes(library) == before


def test_the_two_requests_that_needed_no_body_are_refused(opened: tuple[str, Any]) -> None:
    """A refresh and a verification of the audit are what a form of another site could ask for."""
    url, _ = opened
    for path in ("/v1/sources/wiki/refresh", "/v1/audit/verify"):
        assert call(url, "POST", path, None, {"Origin": "https://evil.example"}).status == 403
        assert call(url, "POST", path, None, {}).status == 200


@pytest.mark.parametrize(
    "said", [{}, {"Origin": "OWN"}, {"Sec-Fetch-Site": "same-origin", "Origin": "OWN"}, {"Sec-Fetch-Site": "none"},
             {"Sec-Fetch-Site": "same-origin", "Origin": "https://wenyuan.example"}, {"Sec-Fetch-Mode": "cors"}],
)  # fmt: skip
def test_programs_and_our_own_pages_are_served(opened: tuple[str, Any], said: dict[str, str]) -> None:
    """Without these headers, from our own pages, and from them behind a proxy that gives another ``Host``."""
    url, _ = opened
    headers = {name: url if value == "OWN" else value for name, value in said.items()}
    asked = {"query": "客户投诉", "max_results": 1}
    assert call(url, "POST", PATH, asked, {**JSON, **headers}).json["status"] == "SUCCESS"
    assert call(url, "POST", "/v1/sources/wiki/refresh", None, headers).status == 200


def test_reading_is_for_every_page(opened: tuple[str, Any]) -> None:
    """What only reads is answered: without leave to read it, a browser shows the page nothing."""
    for said in FOREIGN:
        answer = call(opened[0], "GET", "/v1/sources", None, {n: v for n, v in said.items() if v != "OWN"})
        assert answer.status == 200
        assert not {name for name in answer.headers if name.lower().startswith("access-control")}


def test_other_sites_can_be_let_in(tmp_path: Path) -> None:
    """By their origin, to the letter, in the settings, at every door."""
    site = "https://chat.example"
    made = wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"})
    with made as library, served(library, allowed_origins=(site,)) as url:
        for origin, status in ((site, 200), (f"{site}:444", 403), ("http://chat.example", 403)):
            for more in ({}, {"Sec-Fetch-Site": "cross-site"}):
                headers = {"Origin": origin, **more}
                assert call(url, "POST", "/v1/audit/verify", None, headers).status == status


def test_a_key_is_not_tried_for_a_page_of_another_site(tmp_path: Path) -> None:
    """A key that counts does not help a page that should not have it."""
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"}) as library:
        token = key(library, "admin")
        with served(library, needs_keys=True) as url:
            headers = {"Authorization": f"Bearer {token}"}
            assert call(url, "POST", "/v1/audit/verify", None, headers).status == 200
            foreign = {**headers, "Origin": "https://evil.example"}
            assert call(url, "POST", "/v1/audit/verify", None, foreign).status == 403


# -- names of hosts ----------------------------------------------------------------------------------------------
STRANGE = (
    "evil@127.0.0.1", "[::1].evil", "127.0.0.1:8765.evil.com", "127.0.0.1.evil.com", "evil@localhost:8765",
    "localhost.evil.com", "localhost:80@evil.com", "127.0.0.1/evil.com", "127.0.0.1?evil", "127.0.0.1#evil",
    "127.0.0.1\\evil", "[::1]evil", "[::1]:80.evil", "[::1", "::1]", "::1", "[::1%25eth0]", "[127.0.0.1]", "127.0.0.1:80:80",
    "127.0.0.1:8a", "127.0.0.1 evil", "127.0.0.1,evil", "localhost,evil.com", "127.1", "0x7f.0.0.1", "2130706433",
    "017700000001", "0.0.0.0", "localhost.", "xn--lcalhost-n2a", "127.0.0.1:123456", "@127.0.0.1", ":80",
)  # fmt: skip
"""What is no name of this machine; a lenient reader takes some of it for one."""


@pytest.mark.parametrize("host", STRANGE)
def test_what_only_looks_like_loopback_is_refused(opened: tuple[str, Any], host: str) -> None:
    """The host is read strictly: nothing before it, nothing after it but a port."""
    assert not names_loopback(host)
    for method, path in (("GET", "/v1/sources"), ("POST", "/v1/audit/verify"), ("DELETE", "/v1/sources/wiki")):
        said = raw(opened[0], f"{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        assert said.startswith((b"HTTP/1.1 403 ", b"HTTP/1.1 400 ")), said[:200]
    page = raw(opened[0], f"GET /console/sources HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
    assert page.startswith((b"HTTP/1.1 403 ", b"HTTP/1.1 400 ")), page[:200]


@pytest.mark.parametrize(
    "host", ["localhost", "LocalHost:1", "127.0.0.1:", "127.255.0.9:65535", "[::1]", "[0:0::1]:80"]
)
def test_every_way_to_write_loopback_is_served(opened: tuple[str, Any], host: str) -> None:
    """Names and addresses that stand for this machine, with a port and without."""
    assert names_loopback(host)
    assert call(opened[0], "GET", "/v1/sources", None, {"Host": host}).status == 200


@given(st.text("[]:@.%#/?\\127locahst evil-_", max_size=30))
def test_what_is_read_as_a_host_is_all_of_it(authority: str) -> None:
    """Whatever is written: the host that is read from it, and a port, are all there is."""
    host = host_of(authority)
    rest = authority.removeprefix(f"[{host}]" if ":" in host else host) if host else ""
    assert not host or rest == "" or (rest[0] == ":" and (rest[1:] == "" or rest[1:].isdecimal()))
    assert names_loopback(authority) == is_loopback(host)


# -- reading from another site's page (CORS) ---------------------------------------------------------------------
SITE = "https://chat.example"
ASKS = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type"}


def leave(answer: Any) -> dict[str, str]:
    """What an answer says of who may read it."""
    return {
        name.lower(): value for name, value in answer.headers.items() if name.lower().startswith("access-control")
    }


@pytest.fixture(scope="module")
def let_in(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """A server that needs keys and lets one site's pages in, and a key."""
    folder = tmp_path_factory.mktemp("let_in")
    with wenyuan.open(folder / "library", create=True, encoder={"kind": "none"}) as library:
        token = key(library, "retrieve", "search")
        with served(library, needs_keys=True, allowed_origins=(SITE,)) as url:
            yield url, token


def test_a_page_that_is_let_in_may_read_answers_and_refusals(let_in: tuple[str, str]) -> None:
    """Its origin alone is named, no cookie is let in, and a refusal can be read, too."""
    url, token = let_in
    asked = {"query": "x", "max_results": 1}
    for authorization, status in ((f"Bearer {token}", 200), ("Bearer wrong", 401)):
        answer = call(url, "POST", PATH, asked, {**JSON, "Origin": SITE, "Authorization": authorization})
        assert answer.status == status
        told = leave(answer)
        assert told["access-control-allow-origin"] == SITE
        assert "X-Request-Id" in told["access-control-expose-headers"]
        assert "access-control-allow-credentials" not in told
        assert answer.headers["Vary"] == "Origin"


def test_a_browser_may_ask_first_without_a_key(let_in: tuple[str, str]) -> None:
    """What it would send is let in; a name that is none is not given back."""
    url, _ = let_in
    told = call(url, "OPTIONS", PATH, None, {"Origin": SITE, **ASKS})
    assert told.status == 204
    assert leave(told)["access-control-allow-headers"] == "authorization,content-type"
    assert "POST" in leave(told)["access-control-allow-methods"]
    odd = call(url, "OPTIONS", PATH, None, {"Origin": SITE, **ASKS, "Access-Control-Request-Headers": "a b;c"})
    assert "access-control-allow-headers" not in leave(odd)


@pytest.mark.parametrize("origin", [f"{SITE}:444", "http://chat.example", "https://chat.example.evil", "null", None])
def test_nobody_else_may_read(let_in: tuple[str, str], origin: str | None) -> None:
    """Neither a first question nor an answer is for them; without a key such a question is refused as before."""
    url, token = let_in
    headers = {} if origin is None else {"Origin": origin}
    first = call(url, "OPTIONS", PATH, None, {**headers, **ASKS})
    assert (first.status, leave(first)) == (401, {})
    assert leave(call(url, "GET", "/v1/sources", None, {**headers, "Authorization": f"Bearer {token}"})) == {}


@pytest.mark.parametrize(
    "origin", ["*", "https://*.example", "https://chat.example/", "HTTPS://chat.example", "null", ""]
)
def test_an_origin_that_no_browser_says_is_refused(origin: str) -> None:
    """A pattern, a slash behind it or a capital letter would never be met, and look as if it were."""
    with pytest.raises(ValueError, match="an origin is"):
        ServerSettings(allowed_origins=(origin,))
