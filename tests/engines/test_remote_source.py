"""A source of type api, against servers on this machine that misbehave on demand, and against hostile addresses."""

from __future__ import annotations

import hashlib
import inspect
import json
import socket
import ssl
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from ipaddress import ip_address
from typing import Any

import httpcore2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patience import HANGS, in_time
from scripted_server import FRAGMENT, JSON, SUCCESS, Script, Scripted, reply, scripted
from wenyuan.core.errors import (
    ConfigError,
    EngineError,
    EngineTimeout,
    EngineUnavailable,
    InvalidRequest,
    KnowledgeError,
)
from wenyuan.core.model import Source
from wenyuan.core.ports import Deadline, OutsideHit, until
from wenyuan.engines.external.contract_source import RemoteService, open_remote
from wenyuan.engines.external.question_path import VIA, refused_way, via_header
from wenyuan.runtime import guarded_http
from wenyuan.runtime.bounded_calls import BoundedCalls, CallTimedOut
from wenyuan.runtime.guarded_http import GuardedBackend, refusal
from wenyuan.runtime.responses import CORE_FAILURES, no_answer

KEY = "sk-Geheim-0815"
QUERY = "机密问题 ＡＢＣ: who is 張三?"
TODAY = date(2026, 6, 1)


def source(url: str, **changes: Any) -> Source:
    return Source(source_id="partner", type="api", settings={"url": url, "allow_private": True, **changes})


@contextmanager
def opened(server: Scripted, **options: Any) -> Iterator[RemoteService]:
    changes = {name: options.pop(name) for name in ("key_env", "timeout") if name in options}
    made = open_remote(source(f"http://127.0.0.1:{server.port}", **changes), **options)
    try:
        yield made
    finally:
        made.close()


def asked(made: RemoteService, *, limit: int = 3, seconds: float = 10.0, query: str = QUERY) -> list[OutsideHit]:
    deadline = Deadline(time.monotonic() + seconds, time.monotonic)
    return list(made.ask(query, vector=None, limit=limit, as_of=TODAY, deadline=deadline))


def ask(server: Scripted, **options: Any) -> list[OutsideHit]:
    how = {name: options.pop(name) for name in ("limit", "seconds") if name in options}
    with opened(server, **options) as made:
        return asked(made, **how)


# --- what is right ------------------------------------------------------------------------------------------------


def test_a_question_is_the_contracts_and_its_answer_becomes_hits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Query, number and day are sent with the key; address, text, score, title, headings and facets come back."""
    monkeypatch.setenv("WENYUAN_PARTNER_KEY", KEY)
    with scripted(reply(200, SUCCESS)) as server:
        (hit,) = ask(server, key_env="WENYUAN_PARTNER_KEY", library_id="lib-1")
    head, _, body = server.requests[0].partition(b"\r\n\r\n")
    assert head.startswith(b"POST /v1/retrieve_fragments HTTP/1.1\r\n")
    assert f"Host: 127.0.0.1:{server.port}\r\n".encode() in head
    assert f"Authorization: Bearer {KEY}\r\n".encode() in head
    assert b"\r\nX-Wenyuan-Via: lib-1" in head
    assert json.loads(body) == {"query": QUERY, "max_results": 3, "context": {"as_of": "2026-06-01"}}
    assert hit == OutsideHit(
        key=hashlib.sha256(f"{FRAGMENT['source']}\0{FRAGMENT['content']}".encode()).hexdigest()[:24],
        uri=str(FRAGMENT["source"]),
        content=str(FRAGMENT["content"]),
        score=0.9,
        title="财务制度",
        headings=("第三章", "第十三条"),
        facets={"year": 2024},
    )


def test_nothing_found_is_empty() -> None:
    """SUCCESS without fragments is the one empty answer."""
    with scripted(reply(200, {"status": "SUCCESS", "fragments": []})) as server:
        assert ask(server) == []


@pytest.mark.parametrize(
    ("metadata", "title", "headings", "facets"),
    [
        (None, "", (), {}),
        ({"title": 7, "headings": ["甲", "", "B"], "heading": "x"}, "", ("甲", "B"), {}),
        ({"headings": [1]}, "", (), {}),
        ({"heading": ""}, "", (), {}),
        ({"facets": {"部门": "财务", "n": 1, "deep": {}}, "other": 1}, "", (), {"部门": "财务", "n": 1}),
        ({"facets": "x", "degraded": True}, "", (), {"degraded": True}),
        ({"trust": 5, "priority": 1, "origin": "kg_rule", "copyright": "none"}, "", (), {}),
    ],
)
def test_metadata_is_taken_where_it_is_what_it_should_be(
    metadata: Any, title: str, headings: tuple[str, ...], facets: dict[str, Any]
) -> None:
    """Odd metadata is left out; trust, priority and copyright are not the other side's to say."""
    with scripted(reply(200, {"status": "SUCCESS", "fragments": [FRAGMENT | {"metadata": metadata}]})) as server:
        (hit,) = ask(server)
    assert (hit.title, hit.headings, dict(hit.facets)) == (title, headings, facets)


def test_a_passage_given_twice_counts_once_with_its_best_score() -> None:
    """The same text at the same address is one hit, where it stood first; keys are the same at every call."""
    fragments = [FRAGMENT, FRAGMENT | {"content": "b", "retrieval_score": 0.5}, FRAGMENT | {"retrieval_score": 0.1}]
    with scripted(reply(200, {"status": "SUCCESS", "fragments": fragments})) as server:
        hits = ask(server)
        assert [h.key for h in ask(server)] == [h.key for h in hits]
    assert [h.score for h in hits] == [0.9, 0.5]


def test_connections_are_kept_and_made_again_when_lost() -> None:
    """Two questions share a connection; one that was closed meanwhile is made again, and the question is answered."""

    def last(connection: socket.socket) -> None:
        connection.sendall(reply(200, SUCCESS))

    with scripted(reply(200, SUCCESS), last, reply(200, SUCCESS)) as server, opened(server) as made:
        assert [len(asked(made)) for _ in range(3)] == [1, 1, 1]
    assert server.connections == 2


def test_no_more_is_asked_for_than_the_contract_allows() -> None:
    """A limit above 100 is asked as 100."""
    with scripted(reply(200, SUCCESS)) as server:
        ask(server, limit=5000)
    assert json.loads(server.requests[0].partition(b"\r\n\r\n")[2])["max_results"] == 100


@pytest.mark.parametrize(
    ("given", "target"),
    [
        ("", "/v1/retrieve_fragments"),
        ("/", "/v1/retrieve_fragments"),
        ("/知识/搜索?租户=甲&a=b%20c", "/%E7%9F%A5%E8%AF%86/%E6%90%9C%E7%B4%A2?%E7%A7%9F%E6%88%B7=%E7%94%B2&a=b%20c"),
        ("/api/retrieve_fragments/", "/api/retrieve_fragments/"),
    ],
)
def test_the_path_is_asked_as_given(given: str, target: str) -> None:
    """A path and a query in Chinese are percent-encoded; without a path the contract's is asked."""
    with scripted(reply(200, SUCCESS)) as server:
        made = open_remote(source(f"http://127.0.0.1:{server.port}{given}"))
        asked(made)
        made.close()
    assert server.requests[0].startswith(f"POST {target} HTTP/1.1".encode())


@pytest.mark.parametrize(
    ("url", "name", "host"),
    [
        ("https://知识.例子/v1", "xn--k7y073b.xn--fsqu00a:443", b"xn--k7y073b.xn--fsqu00a"),
        ("https://KB.Example:8443/v1", "kb.example:8443", b"kb.example"),
        ("http://[2001:DB8::1]/v1", "[2001:db8::1]:80", b"2001:db8::1"),
    ],
)
def test_hosts_of_any_script_have_one_ascii_name(url: str, name: str, host: bytes) -> None:
    """A Chinese host is asked in its IDNA form, an IPv6 address without brackets."""
    made = open_remote(source(url))
    assert made.component == f"source partner at {name}"
    assert made._url.host == host
    made.close()


# --- what is wrong ------------------------------------------------------------------------------------------------


def drop(connection: socket.socket) -> None:
    """End the connection without a word."""


def half(connection: socket.socket) -> None:
    connection.sendall(reply(200, SUCCESS)[:-10])


def endless(connection: socket.socket) -> None:
    connection.sendall(f"HTTP/1.1 200 OK\r\n{JSON}\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
    while True:
        connection.sendall(b"10000\r\n" + b" " * 0x10000 + b"\r\n")


ECHO = f"your key is {KEY}, you asked: {QUERY}"
TWICE = json.dumps(SUCCESS).encode()[:-1] + b', "status": "SUCCESS"}'


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (reply(200, {"status": "FAILED", "fragments": [], "error_message": ECHO}), "answered FAILED"),
        (reply(503, {"status": "FAILED", "fragments": [], "error_message": ECHO}), "HTTP 503"),
        (reply(400, {"detail": ECHO}), "HTTP 400"),
        (reply(401, {"detail": ECHO}), "HTTP 401"),
        (reply(500, raw=ECHO.encode()), "HTTP 500"),
        (reply(204, raw=b""), "HTTP 204"),
        (reply(301, None, "Location: http://127.0.0.1:9/"), "redirect .HTTP 301., which is refused"),
        (reply(307, SUCCESS, "Location: /v2", JSON), "redirect .HTTP 307., which is refused"),
        (reply(200, None, "Content-Type: text/html", raw=b"<html>"), "not JSON by its own account"),
        (reply(200, SUCCESS, "Content-Type: text/html"), "not JSON by its own account"),
        (reply(200, SUCCESS, "Content-Type: application/json; charset=gbk"), "not JSON by its own account"),
        (reply(200, SUCCESS, "X-Nothing: 1"), "not JSON by its own account"),
        (reply(200, SUCCESS, JSON, "Content-Type: text/html"), "not JSON by its own account"),
        (reply(200, SUCCESS, JSON, "Content-Encoding: gzip"), "compressed"),
        (reply(200, raw=b"<html>"), "breaks the contract"),
        (reply(200, raw=b""), "breaks the contract"),
        (reply(200, raw=b"[]"), "breaks the contract"),
        (reply(200, raw=b"\xff{}"), "breaks the contract"),
        (reply(200, raw=b"[" * 100_000), "breaks the contract"),
        (reply(200, raw=TWICE), "breaks the contract: the body has a member twice"),
        (reply(200, {"status": ECHO, "fragments": []}), "breaks the contract: status is neither"),
        (reply(200, {"status": "SUCCESS"}), "breaks the contract"),
        (reply(200, {"status": "SUCCESS", "fragments": [], "x": float("nan")}), "breaks the contract"),
        (reply(200, {"status": "SUCCESS", "fragments": [], "x": "\ud800"}), "breaks the contract"),
        (reply(200, SUCCESS | {"error_message": ECHO}), "breaks the contract"),
        (reply(200, {"status": "SUCCESS", "fragments": [FRAGMENT] * 4}), "4 fragments where 3"),
        (reply(200, SUCCESS, JSON, "X-Wenyuan-Via: lib-1,lib-2,lib-1"), "in a circle: lib-1 → lib-2 → lib-1"),
        (reply(503, None, "X-Wenyuan-Via: lib-1,b,c,d,e"), "has passed 4 libraries and goes no further"),
        (drop, "connection failed .RemoteProtocolError."),
        (half, "connection failed .RemoteProtocolError."),
        (lambda c: c.sendall(b"nonsense\r\n\r\n"), "connection failed .RemoteProtocolError."),
        (endless, "larger than 4194304 bytes"),
        (reply(200, raw=b'{"a": "' + b"x" * (5 << 20) + b'"}'), "larger than 4194304 bytes"),
    ],
)
def test_a_wrong_answer_is_an_error_that_names_who_and_what(
    answer: bytes | Script, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every fault raises, names source, host and port, and shows neither key nor question, not even in its causes."""
    monkeypatch.setenv("WENYUAN_PARTNER_KEY", KEY)
    with scripted(answer) as server, pytest.raises(EngineUnavailable, match=says) as caught:
        ask(server, key_env="WENYUAN_PARTNER_KEY", library_id="lib-1")
    assert str(caught.value).startswith(f"source partner at 127.0.0.1:{server.port}: ")
    shown = "".join(traceback.format_exception(caught.value))
    assert KEY not in shown
    assert QUERY not in shown


@pytest.mark.parametrize(
    "change",
    [
        {"source": None},
        {"source": ""},
        {"content": 7},
        {"metadata": []},
        {"retrieval_score": "0.9"},
        {"retrieval_score": True},
        {"retrieval_score": 1.01},
        {"retrieval_score": -0.1},
        {"retrieval_score": float("nan")},
        {"retrieval_score": float("inf")},
        {"retrieval_score": 0.95},
        {"content": "\ud800"},
        {"metadata": {"a": "\udfff"}},
    ],
)
def test_one_malformed_fragment_spoils_the_answer(change: dict[str, Any]) -> None:
    """A fragment of a wrong type, a score outside 0..1 or rising, or half a character fails the question."""
    body = {"status": "SUCCESS", "fragments": [FRAGMENT, FRAGMENT | change]}
    with scripted(reply(200, body)) as server, pytest.raises(EngineUnavailable, match="breaks the contract"):
        ask(server)


@settings(max_examples=150)
@given(
    status=st.sampled_from([200, 200, 200, 204, 302, 400, 500]),
    content=st.one_of(
        st.binary(max_size=60),
        st.recursive(
            st.one_of(st.none(), st.booleans(), st.floats(), st.text(max_size=5), st.sampled_from(["SUCCESS"])),
            lambda inner: st.one_of(
                st.lists(inner, max_size=3),
                st.dictionaries(st.sampled_from(["status", "fragments", "error_message"]), inner),
            ),
        ).map(lambda value: json.dumps(value).encode()),
    ),
)
def test_no_answer_becomes_empty_by_accident(status: int, content: bytes) -> None:
    """Whatever comes, it is hits that were said to be all, or an exception of ours."""
    made = open_remote(source("http://kb.example"), transport=httpcore2.MockBackend([reply(status, raw=content)]))
    try:
        hits = asked(made)
    except EngineError:
        return
    finally:
        made.close()
    body = json.loads(content)
    assert (status, body["status"], len(body["fragments"])) == (200, "SUCCESS", len(hits))


def test_nobody_listens() -> None:
    """A refused connection says so, with the address and a hint."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        made = open_remote(source(f"http://127.0.0.1:{port}"))
        with pytest.raises(
            EngineUnavailable, match=f"source partner at 127.0.0.1:{port}: cannot be reached"
        ) as caught:
            asked(made)
        made.close()
    assert "running" in caught.value.hint


def test_a_server_without_tls_is_no_secure_connection() -> None:
    """An https source whose server speaks plain HTTP is unavailable for that reason."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def plain() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(reply(400, {}))

        thread = threading.Thread(target=plain, daemon=True)
        thread.start()
        made = open_remote(source(f"https://127.0.0.1:{listener.getsockname()[1]}"))
        with pytest.raises(EngineUnavailable, match="no secure connection"):
            asked(made)
        made.close()
        thread.join(5)


def test_certificates_are_checked() -> None:
    """An https source must show a certificate for its host."""
    made = open_remote(source("https://kb.example"))
    context = made._pool._ssl_context
    assert context is not None
    assert context.check_hostname
    assert context.verify_mode == ssl.CERT_REQUIRED
    made.close()


def test_a_closed_source_answers_nothing() -> None:
    """After closing, a question fails."""
    with scripted(reply(200, SUCCESS)) as server, opened(server) as made:
        made.close()
        with pytest.raises(EngineUnavailable, match="is closed"):
            asked(made)
    assert server.requests == []


# --- time ---------------------------------------------------------------------------------------------------------


def silent(connection: socket.socket) -> None:
    connection.settimeout(5)
    while connection.recv(65536):
        pass


def trickle(first: bytes) -> Script:
    """A byte every 10 ms, each in time for a reader who waits for the next byte only."""

    def script(connection: socket.socket) -> None:
        connection.sendall(first)
        while True:
            connection.sendall(b"x")
            time.sleep(0.01)

    return script


SLOW: dict[str, Script] = {
    "silence": silent,
    "head": trickle(b"HTTP/1.1 200 OK\r\nX-Long: "),
    "body": trickle(f"HTTP/1.1 200 OK\r\n{JSON}\r\nContent-Length: 99999\r\n\r\n".encode()),
    "chunks": trickle(f"HTTP/1.1 200 OK\r\n{JSON}\r\nTransfer-Encoding: chunked\r\n\r\nfffff\r\n".encode()),
}


@pytest.mark.parametrize("limit", ["deadline", "timeout"])
@pytest.mark.parametrize("slow", SLOW)
def test_the_deadline_is_kept_whatever_the_server_does(slow: str, limit: str) -> None:
    """Silence, and head, body or chunks byte by byte: all end at the deadline or the source's timeout."""
    with (
        scripted(SLOW[slow]) as server,
        opened(server, timeout=0.3 if limit == "timeout" else 60.0) as made,
        in_time(0.29),
        pytest.raises(EngineTimeout, match=f"source partner at 127.0.0.1:{server.port}"),
    ):
        asked(made, seconds=0.3 if limit == "deadline" else 60.0)


def test_tls_that_comes_byte_by_byte_ends_at_the_deadline() -> None:
    """A handshake that never ends costs no more than the deadline."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        made = open_remote(source(f"https://127.0.0.1:{listener.getsockname()[1]}"))
        with in_time(0.29), pytest.raises(EngineTimeout):
            asked(made, seconds=0.3)
        made.close()


def test_a_deadline_that_has_passed_asks_nobody() -> None:
    """No connection is made when there is no time for it."""
    with scripted(reply(200, SUCCESS)) as server, opened(server) as made, pytest.raises(EngineTimeout):
        made.ask(QUERY, limit=1, as_of=TODAY, deadline=Deadline(1.0, lambda: 2.0))
    assert server.connections == 0


def test_a_name_server_that_does_not_answer_times_out() -> None:
    """A look-up that hangs costs no more than the deadline, and those that hang do not pile up."""
    freed = threading.Event()
    running: list[str] = []

    def hang(host: str, port: int) -> list[str]:
        running.append(host)
        freed.wait(HANGS)
        return ["127.0.0.1"]

    made = open_remote(source("http://kb.example"), transport=GuardedBackend("source partner", look_up=hang))
    for _ in range(7):
        with in_time(0.09), pytest.raises(EngineTimeout):
            asked(made, seconds=0.1)
    freed.set()
    made.close()
    assert len(running) == 4


def test_nothing_is_begun_after_the_deadline() -> None:
    """On a guarded connection each step that is taken too late is a time-out of its kind, whatever is to be read."""
    guard = GuardedBackend("x", look_up=lambda *_: ["8.8.8.8"], connect=lambda *_: httpcore2.MockStream([b"late"]))
    stream = guard.connect_tcp("kb.example", 80, 5.0)
    with until(Deadline(1.0, lambda: 2.0)):
        with pytest.raises(httpcore2.ConnectTimeout):
            guard.connect_tcp("kb.example", 80, 5.0)
        with pytest.raises(httpcore2.WriteTimeout):
            stream.write(b"x", 5.0)
        with pytest.raises(httpcore2.ReadTimeout):
            stream.read(4, 5.0)
    assert stream.read(4, 5.0) == b"late"


def test_an_errand_brings_back_what_it_met() -> None:
    """A result, and any exception, even a TimeoutError of the call itself, come back as they are."""
    errands = BoundedCalls(1, "test")

    def stumble() -> None:
        raise TimeoutError("of its own")

    assert errands.run(lambda: 7, 5.0) == 7
    with pytest.raises(TimeoutError, match="of its own"):
        errands.run(stumble, 5.0)
    with pytest.raises(CallTimedOut):
        errands.run(lambda: time.sleep(0.2), 0.01)


def test_an_address_that_is_silent_leaves_time_for_the_next() -> None:
    """Of two addresses the first may use half of the time; the second answers."""
    tried: list[tuple[str, float]] = []

    def connect(address: str, port: int, seconds: float) -> httpcore2.NetworkStream:
        tried.append((address, seconds))
        if address == "2606:4700::1":
            raise httpcore2.ConnectTimeout
        return httpcore2.MockStream([reply(200, SUCCESS)])

    guard = GuardedBackend("x", look_up=lambda host, port: ["2606:4700::1", "93.184.216.34"], connect=connect)
    made = open_remote(source("http://kb.example"), transport=guard)
    assert len(asked(made, seconds=4.0)) == 1
    made.close()
    assert [address for address, _ in tried] == ["2606:4700::1", "93.184.216.34"]
    assert tried[0][1] <= 2.0 < tried[1][1] <= 4.0


# --- addresses ----------------------------------------------------------------------------------------------------

HOSTILE = [
    "http://127.0.0.1/",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0x7f.0.0.1/",
    "http://0177.0.0.1/",
    "http://017700000001/",
    "http://127.1/",
    "http://127.0.1/",
    "http://0/",
    "http://0.0.0.0/",
    "http://[::]/",
    "http://[::1]/",
    "http://[0:0:0:0:0:0:0:1]/",
    "http://[::ffff:7f00:1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::127.0.0.1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[64:ff9b::169.254.169.254]/",
    "http://[64:ff9b:1::7f00:1]/",
    "http://[2002:7f00:1::]/",
    "http://[2001:0:7f00:1::]/",
    "http://[fe80::1]/",
    "http://[fe80::1%25lo]/",
    "http://[fc00::1]/",
    "http://[fec0::1]/",
    "http://[fd00:ec2::254]/",
    "http://[ff02::1]/",
    "http://127。0。0。1/",
    "http://１２７．０．０．１/",
    "http://①②⑦.0.0.1/",
    "http://169.254.169.254/latest/meta-data",
    "http://169.254.43518/",
    "http://0xa9fea9fe/",
    "http://100.100.100.200/",
    "http://168.63.129.16/",
    "http://192.0.0.192/",
    "http://10.0.0.1/",
    "http://172.31.255.255/",
    "http://192.168.1.1/",
    "http://100.64.0.1/",
    "http://224.0.0.1/",
    "http://255.255.255.255/",
    "http://198.18.0.1/",
    "http://localhost/",
    "http://LOCALHOST./",
    "http://LocalTest.me/",
    "http://rebind.example/",
    "http://mixed.example/",
    "http://good.example@127.0.0.1/",
    "http://127.0.0.1\\@good.example/",
    "http://good.example\\.127.0.0.1/",
    "http://127.0.0.1#@good.example/",
    "http://good.example:80@127.0.0.1/",
    "http://127.0.0.1%2f@good.example/",
    "http://127.0.0.1 .good.example/",
    "http://good.example\t.127.0.0.1/",
    "http://good.example\r\nHost: 127.0.0.1/",
    "http://%31%32%37.0.0.1/",
    "http:127.0.0.1/",
    "http:///127.0.0.1/",
    "//127.0.0.1/",
    "file:///etc/passwd",
    "gopher://127.0.0.1:6379/_x",
    "ftp://127.0.0.1/",
    "unix:///var/run/docker.sock",
    "http+unix://%2Fvar%2Frun%2Fdocker.sock/",
    "http://[::1/",
    "http://[::1]x/",
    "http://127.0.0.1:99999/",
]
NAMES = {
    "localtest.me": ["127.0.0.1"],
    "rebind.example": ["169.254.169.254"],
    "mixed.example": ["93.184.216.34", "10.0.0.1"],
    "good.example": ["93.184.216.34"],
}


def resolved(host: str, port: int) -> list[str]:
    """Numbers as this machine's resolver reads them; names as the table says, without asking anybody."""
    if host in NAMES:
        return NAMES[host]
    if host.rstrip(".") != "localhost":
        socket.getaddrinfo(host, port, flags=socket.AI_NUMERICHOST)  # fails for a name: nobody is asked
    return guarded_http._looked_up(host, port)


@pytest.mark.parametrize("url", HOSTILE)
def test_no_form_of_an_inner_address_is_connected_to(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """However an inner address is written, opening or asking fails, and no socket is connected to anything."""
    connected: list[object] = []
    monkeypatch.setattr(socket.socket, "connect", lambda _self, address: connected.append(address))
    guard = GuardedBackend("source partner", look_up=resolved)
    with pytest.raises((ConfigError, EngineUnavailable)) as caught:
        asked(open_remote(source(url), transport=guard))
    assert str(caught.value).startswith("source partner")
    assert connected == []


@pytest.mark.parametrize("url", ["http://127.0.0.1/", "http://localhost/", "http://[::1]/", "http://192.168.1.1/"])
def test_a_private_address_is_refused_with_a_way_out(url: str) -> None:
    """Without the operator's word a private address is refused; the hint names the setting."""
    made = open_remote(Source(source_id="partner", type="api", settings={"url": url}))
    with pytest.raises(EngineUnavailable, match="leads to a private address, which is refused") as caught:
        asked(made)
    assert "allow_private" in caught.value.hint
    made.close()


def test_what_is_checked_is_what_is_connected_to() -> None:
    """A name that resolves to another address at each look is looked up once, and that answer is connected to."""
    answers = iter([["93.184.216.34"], ["127.0.0.1"]])
    connected: list[str] = []

    def connect(address: str, port: int, seconds: float) -> httpcore2.NetworkStream:
        connected.append(address)
        return httpcore2.MockStream([reply(200, SUCCESS)])

    guard = GuardedBackend("source partner", look_up=lambda host, port: next(answers), connect=connect)
    made = open_remote(source("http://rebind.example"), transport=guard)
    assert len(asked(made)) == 1
    made.close()
    assert connected == ["93.184.216.34"]


def test_a_redirect_to_an_inner_address_is_not_followed() -> None:
    """The only connection is the first."""
    with scripted(reply(200, SUCCESS)) as inner:
        location = f"Location: http://127.0.0.1:{inner.port}/"
        with scripted(reply(302, None, location)) as server, pytest.raises(EngineUnavailable, match="redirect"):
            ask(server)
    assert inner.connections == 0


def test_no_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy would connect for us, unguarded; the environment's is ignored."""
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with scripted(reply(200, SUCCESS)) as server:
        assert len(ask(server)) == 1


def test_a_name_without_addresses_is_unavailable() -> None:
    """A look-up that finds nothing is told as that."""
    made = open_remote(source("http://kb.example"), transport=GuardedBackend("source partner", look_up=lambda *_: []))
    with pytest.raises(EngineUnavailable, match="no address"):
        asked(made)
    made.close()


@pytest.mark.parametrize("host", ["", "..", "a" * 64 + ".example", "nobody.invalid"])
def test_a_name_that_is_not_known_is_unavailable(host: str) -> None:
    """A look-up that fails is told as that."""

    def look_up(host: str, port: int) -> list[str]:
        raise UnicodeError if "." not in host else socket.gaierror

    with pytest.raises(KnowledgeError, match=r"is not known|no name and no address|name a host"):
        asked(open_remote(source(f"http://{host}/"), transport=GuardedBackend("source partner", look_up=look_up)))


@pytest.mark.parametrize(
    ("address", "private", "public"),
    [
        ("8.8.8.8", "", ""),
        ("2606:4700:4700::1111", "", ""),
        ("64:ff9b::808:808", "", ""),
        ("::ffff:8.8.8.8", "", ""),
        ("127.0.0.1", "", "private"),
        ("::ffff:127.0.0.1", "", "private"),
        ("10.1.2.3", "", "private"),
        ("::1", "", "private"),
        ("fd12::1", "", "private"),
        ("169.254.169.254", "no source", "no source"),
        ("::ffff:169.254.169.254", "no source", "no source"),
        ("64:ff9b::a9fe:a9fe", "no source", "no source"),
        ("100.100.100.200", "no source", "no source"),
        ("fd00:ec2::254", "no source", "no source"),
        ("0.0.0.0", "no source", "no source"),
        ("fe80::1%lo", "no source", "no source"),
        ("2002:7f00:1::", "public net", "public net"),
        ("::127.0.0.1", "public net", "public net"),
        ("203.0.113.7", "public net", "public net"),
        ("localhost", "no IP", "no IP"),
    ],
)
def test_addresses_are_judged_as_what_they_lead_to(address: str, private: str, public: str) -> None:
    """Private ones are the operator's decision; metadata, link-local and tunnelled ones are nobody's."""
    for why, says in ((refusal(address, allow_private=True), private), (refusal(address), public)):
        assert (says in why) if says else why == ""


@given(st.ip_addresses(v=4))
def test_an_ipv4_address_is_judged_the_same_inside_ipv6(address: Any) -> None:
    """Mapped and NAT64 forms of an address are judged as the address itself; only public ones pass."""
    why = refusal(str(address))
    assert why == refusal(f"::ffff:{address}") == refusal(str(ip_address("64:ff9b::") + int(address)))
    assert why or address.is_global


# --- going round in circles ---------------------------------------------------------------------------------------


def test_a_question_carries_the_way_it_has_come() -> None:
    """Our id is added to the libraries that the question has passed."""
    with scripted(reply(200, SUCCESS)) as server:
        ask(server, library_id="lib-3", passed=lambda: "lib-1, lib-2")
    assert b"\r\nX-Wenyuan-Via: lib-1,lib-2,lib-3" in server.requests[0]


def test_a_question_that_has_come_round_is_not_asked_again() -> None:
    """When our id is in the way already, nobody is asked."""
    with (
        scripted(reply(200, SUCCESS)) as server,
        pytest.raises(EngineUnavailable, match="in a circle: lib-1 → lib-2 → lib-1"),
    ):
        ask(server, library_id="lib-1", passed=lambda: "lib-1,lib-2")
    assert server.requests == []


@pytest.mark.parametrize("received", ["lib-1\r\nX: 1", "甲", "a b", "a;b", "x" * 65])
def test_a_way_that_is_none_is_refused(received: str) -> None:
    """What is no list of ids is a malformed request."""
    with pytest.raises(InvalidRequest, match=VIA):
        via_header("lib-1", received)


def test_a_way_has_an_end() -> None:
    """After four libraries a question goes no further; blanks and empty entries do not count."""
    assert via_header("me", " a ,, b ") == "a,b,me"
    assert via_header("d", "a,b,c") == "a,b,c,d"
    with pytest.raises(EngineUnavailable, match="4 libraries"):
        via_header("me", "a,b,c,d")


@pytest.mark.parametrize("way", ["", "lib-1", "lib-2,lib-1", "lib-1,张三,lib-1", "lib-1,b,c,d,e,f,g"])
def test_a_way_that_is_not_ours_is_not_believed(way: str) -> None:
    """What an answer says of its way counts only when it goes on from what was sent, in ids, and not for ever."""
    assert refused_way("lib-1", way) == ""
    assert refused_way("lib-1", "lib-1, b ,lib-1") == "lib-1,b,lib-1"


# --- settings and translation -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"url": ...}, "url: Field required"),
        ({"url": 7}, "url: "),
        ({"url": "kb.example"}, "must begin with http"),
        ({"url": "https://u:Geheim@kb.example"}, "name the key's environment variable"),
        ({"key_env": "sk-Geheim"}, "key_env: "),
        ({"key_env": "WENYUAN_NOT_SET"}, "variable WENYUAN_NOT_SET is not set"),
        ({"key": "sk-Geheim"}, "key: there is no such setting; did you mean 'key_env'"),
        ({"timeout": -1}, "timeout: "),
        ({"timeout": "5"}, "timeout: "),
        ({"allow_privat": True}, "did you mean 'allow_private'"),
        ({"allow_private": "yes"}, "allow_private: "),
    ],
)
def test_wrong_settings_are_refused_when_opening(changes: dict[str, Any], says: str) -> None:
    """Each is a ConfigError that names source and setting, and never shows a value."""
    given = {name: value for name, value in {"url": "https://kb.example", **changes}.items() if value is not ...}
    with pytest.raises(ConfigError, match=says) as caught:
        open_remote(Source(source_id="partner", type="api", settings=given))
    assert str(caught.value).startswith("source partner: ")
    assert "Geheim" not in "".join(traceback.format_exception(caught.value))


def test_a_key_that_no_header_can_hold_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key with a line break or Chinese in it is a ConfigError that does not show it."""
    monkeypatch.setenv("WENYUAN_PARTNER_KEY", "sk\r\nX-Evil: 密钥")
    with pytest.raises(ConfigError, match="printable ASCII") as caught:
        open_remote(source("https://kb.example", key_env="WENYUAN_PARTNER_KEY"))
    assert "Evil" not in str(caught.value)


def test_every_exception_of_the_http_library_is_translated() -> None:
    """Each of httpcore2's exceptions is caught and becomes one of ours, without its text."""
    kinds = [k for k in vars(httpcore2).values() if inspect.isclass(k) and issubclass(k, Exception)]
    assert len(kinds) >= 15
    assert [k.__name__ for k in kinds if not issubclass(k, CORE_FAILURES)] == []
    for kind in kinds:
        failure = no_answer(kind(ECHO), "source partner", EngineUnavailable, EngineTimeout, "service")
        assert isinstance(failure, EngineTimeout if "Time" in kind.__name__ else EngineUnavailable)
        assert KEY not in str(failure)
