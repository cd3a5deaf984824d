"""Slow, large, broken, many: the HTTP door as a peer on a network."""

from __future__ import annotations

import contextlib
import http.client
import json
import logging
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import pytest

from http_door import JSON, PATH, Answer, EchoService, ask, assert_problem, call, q, raw, serving
from patience import in_time
from wenyuan.server.strict_http import StrictProtocol
from wenyuan.settings import ServerSettings


@pytest.fixture
def run() -> Iterator[Callable[..., str]]:
    with contextlib.ExitStack() as stack:
        yield lambda *service, **options: stack.enter_context(serving(*service, **options))


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving() as address:
        yield address


def test_two_content_types_are_415(url):
    """A request with two Content-Type headers is ambiguous and refused."""
    head = b"POST /v1/retrieve_fragments HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 2\r\n"
    reply = raw(url, head + b"Content-Type: application/json\r\nContent-Type: text/plain\r\n\r\n{}")
    assert reply.startswith(b"HTTP/1.1 415 ")


def test_a_body_above_the_limit_is_413_and_the_client_gets_to_read_it(run):
    """Declared or chunked, a large body is refused, counted while it is read; one at the limit is served."""
    url = run(settings=ServerSettings(max_body=2000))
    fits = q() + b" " * (2000 - len(q()))
    assert call(url, body=fits).status == 200
    for size in (2001, 15_000, 1_000_000):
        assert_problem(call(url, body=b"[" * size), 413, "body_too_large")
    head = b"POST /v1/retrieve_fragments HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    chunk = b"3e8\r\n" + b"x" * 1000 + b"\r\n"
    body = chunk * 2 + b"1\r\nx\r\n0\r\n\r\n"
    chunked = head + b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n" + body
    assert raw(url, chunked).startswith(b"HTTP/1.1 413 ")


def test_a_client_that_asks_before_sending_is_not_told_to_go_on(url):
    """With Expect: 100-continue a body that is too large is refused before any of it is sent."""
    head = b"POST /v1/retrieve_fragments HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    reply = raw(url, head + b"Expect: 100-continue\r\nContent-Length: 5000000\r\n\r\n")
    assert reply.startswith(b"HTTP/1.1 413 ")
    assert b"100 Continue" not in reply


def test_a_refused_request_leaves_the_connection_usable(url):
    """After a 415 and a 404 with bodies, the same connection serves the next request."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
    with contextlib.closing(connection):
        statuses = []
        for path, headers in ((PATH, {"Content-Type": "text/plain"}), ("/nowhere", JSON), (PATH, JSON)):
            connection.request("POST", path, b" " * 200_000 + q(), headers)
            response = connection.getresponse()
            response.read()
            statuses.append(response.status)
    assert statuses == [415, 404, 200]


def test_a_body_that_does_not_arrive_is_408_while_others_are_served(run):
    """A slow body is cut off at the time limit, and does not hold up anybody else."""
    url = run(settings=ServerSettings(body_timeout=3.0, threads=1))
    head = b"POST /v1/retrieve_fragments HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    parts = urlsplit(url)
    with in_time(), contextlib.ExitStack() as stack:
        slow = [
            stack.enter_context(socket.create_connection((parts.hostname, parts.port), timeout=60)) for _ in range(20)
        ]
        for connection in slow:
            connection.sendall(head + b'Content-Length: 100\r\n\r\n{"query')
        assert ask(url).status == 200
        assert not select.select(slow, [], [], 0.0)[0]  # all of them are still waited for
        replies = [b"".join(iter(lambda c=connection: c.recv(65536), b"")) for connection in slow]
    assert all(reply.startswith(b"HTTP/1.1 408 ") for reply in replies)
    assert all(b"application/problem+json" in reply for reply in replies)


def test_a_head_that_does_not_arrive_closes_the_connection(url, monkeypatch):
    """A connection that sends no request, or half of a head, is closed after the time limit."""
    monkeypatch.setattr(StrictProtocol, "head_timeout", 0.3)
    assert ask(url).status == 200
    for beginning in (b"", b"POST /v1/retr", b"GET /livez HTTP/1.1\r\nHost: localhost\r\nX-Slow: "):
        with in_time(0.2):
            assert raw(url, beginning) == b""


def test_a_client_that_hangs_up_midway_harms_nobody(url, caplog):
    """A connection closed in the middle of a body leaves the server serving, and is no error of it."""
    caplog.set_level(logging.INFO)
    head = b"POST /v1/retrieve_fragments HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    for _ in range(5):
        raw(url, head + b'Content-Length: 1000\r\n\r\n{"query', finish=True)
    assert ask(url).status == 200
    assert sum("hung up" in message for message in caplog.messages) >= 5  # an earlier test's may come late
    assert all(record.levelno < logging.WARNING for record in caplog.records)


def test_answers_on_one_connection_do_not_wait_for_acknowledgements(url):
    """Requests one after the other on a kept connection take a few milliseconds, not the 40 of a delayed ACK."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
    seconds = []
    with contextlib.closing(connection):
        for _ in range(21):
            started = time.perf_counter()
            connection.request("POST", PATH, q(), JSON)
            assert connection.getresponse().read()
            seconds.append(time.perf_counter() - started)
    assert sorted(seconds)[10] < 0.03


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"hello\r\n\r\n",
        b"GET /livez HTTP/1.1\r\n\r\n",
        b"POST /v1/retrieve_fragments HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"POST /v1/retrieve_fragments HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
        b"GET /livez HTTP/1.1\r\nHost: localhost\r\nX-Long: " + b"x" * 200_000 + b"\r\n\r\n",
        b"POST /v1/retrieve_fragments HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
    ids=lambda b: repr(b[:40]),
)
def test_what_is_no_http_gets_a_problem_document_too(url, request_bytes):
    """Bytes that are no HTTP/1.1 request are answered with 400 in JSON, never in plain text."""
    head, _, body = raw(url, request_bytes).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert b"application/problem+json" in head
    assert json.loads(body)["code"] == "invalid_http"


@pytest.mark.parametrize(
    ("method", "path", "status", "allow"),
    [
        ("GET", PATH, 405, "OPTIONS, POST"),
        ("PUT", PATH, 405, "OPTIONS, POST"),
        ("DELETE", "/retrieve_fragments", 405, "OPTIONS, POST"),
        ("BREW", PATH, 405, "OPTIONS, POST"),
        ("POST", "/v1/sources", 405, "GET, HEAD, OPTIONS"),
        ("POST", "/livez", 405, "GET, HEAD, OPTIONS"),
        ("GET", "/", 404, None),
        ("GET", "/v1", 404, None),
        ("POST", PATH + "/", 404, None),
        ("GET", "/v1/sources/", 404, None),
        ("GET", "/%2e%2e/etc/passwd", 404, None),
        ("GET", "/%ff%fe%00", 404, None),
    ],
)
def test_an_unknown_path_or_method_is_a_problem(url, method, path, status, allow):
    """404 and 405 are problem documents, 405 names what is allowed, and nothing redirects."""
    answer = call(url, method, path)
    assert_problem(answer, status, {404: "not_found", 405: "method_not_allowed"}[status])
    allowed = answer.headers["Allow"]
    assert (allowed and ", ".join(sorted(allowed.split(", ")))) == allow


def test_many_requests_at_once_get_their_own_answers(url):
    """Parallel callers never see each other's answer."""
    wrong: list[object] = []

    def caller(name: int) -> None:
        for turn in range(15):
            query = f"第{name}人第{turn}问"
            answer = ask(url, query)
            if answer.status != 200 or answer.json["fragments"][0]["content"] != query:
                wrong.append(answer)

    threads = [threading.Thread(target=caller, args=(name,)) for name in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_more_than_may_wait_are_refused_at_once_and_probes_still_answer(run):
    """With all threads busy and the queue full: 503 with Retry-After; the probes answer; later all is well."""
    service = EchoService()
    url = run(service, settings=ServerSettings(threads=2, queue=3))
    answers: list[Answer] = []
    callers = [threading.Thread(target=lambda: answers.append(ask(url, "wait"))) for _ in range(9)]
    try:
        for caller in callers:
            caller.start()
        for _ in range(2):
            assert service.entered.acquire(timeout=60)
        limit = time.monotonic() + 60
        while len(answers) < 4 and time.monotonic() < limit:
            time.sleep(0.01)
        for refused in list(answers):
            assert_problem(refused, 503, "overloaded")
            assert int(refused.headers["Retry-After"]) >= 1
        assert len(answers) == 4
        assert call(url, "GET", "/livez").status == call(url, "GET", "/readyz").status == 200
    finally:
        service.gate.set()
        for caller in callers:
            caller.join()
    assert sorted(answer.status for answer in answers) == [200] * 5 + [503] * 4
    assert ask(url).status == 200
