"""The HTTP door over real loopback connections, with a small real service behind it."""

from __future__ import annotations

import contextlib
import http.client
import json
import logging
import math
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wenyuan.core.errors import CatalogBusy, ConfigError, EngineUnavailable, Fault, InvalidRequest, NotPermitted
from wenyuan.core.model import Fragment, RetrievalRequest, RetrievalResponse
from wenyuan.server.app import create_app
from wenyuan.server.problem import Problem
from wenyuan.server.protocol import StrictProtocol
from wenyuan.server.run import serve, start_in_thread
from wenyuan.server.seams import ServerSettings, open_to_all

PATH = "/v1/retrieve_fragments"
JSON = {"Content-Type": "application/json"}


@dataclass
class Ready:
    ready: bool = True
    parts: Mapping[str, Mapping[str, object]] = field(
        default_factory=lambda: {"catalog": {"state": "ok", "detail": "", "passages": 3}}
    )


class EchoService:
    """Answers a query with itself; some queries make it fail in a certain way."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.entered = threading.Semaphore(0)
        self.broken = threading.local()

    def retrieve_fragments(self, request: RetrievalRequest) -> RetrievalResponse:
        if getattr(self.broken, "part", ""):
            return RetrievalResponse(status="FAILED", error_message=f"{self.broken.part} is down")
        match request.query:
            case "nothing":
                return RetrievalResponse(status="SUCCESS")
            case "failed":
                return RetrievalResponse(status="FAILED", error_message="数据库连接失败")
            case "bug":
                raise RuntimeError("password=hunter2 in /srv/secret.py")
            case "late KnowledgeError":
                raise EngineUnavailable("the index is gone", component="engine local")
            case "invalid":
                raise InvalidRequest("no such day", faults=(Fault("context.as_of", "no such day"),))
            case "forbidden":
                raise NotPermitted("not yours")
            case "wait":
                self.entered.release()
                assert self.gate.wait(20)
        metadata = {"context": request.context, "odd": math.nan if request.query == "nan" else 1.5}
        return RetrievalResponse(
            status="SUCCESS",
            fragments=(Fragment(source="urn:q", content=request.query, retrieval_score=0.5, metadata=metadata),),
        )

    def readiness(self) -> Ready:
        return Ready()

    def list_sources(self) -> list[dict[str, object]]:
        return [{"source_id": "规范", "trust": 5}]

    @contextlib.contextmanager
    def fault(self, name: str) -> Iterator[None]:
        self.broken.part = name
        try:
            yield
        finally:
            self.broken.part = ""


@dataclass
class Answer:
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)


def call(
    url: str, method: str = "POST", path: str = PATH, body: object = None, headers: Mapping[str, str] = JSON
) -> Answer:
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=20)
    with contextlib.closing(connection):
        payload = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        connection.request(method, path, payload, dict(headers))
        response = connection.getresponse()
        return Answer(response.status, response.headers, response.read())


def ask(url: str, query: str = "如何设置断路器?", **extra: object) -> Answer:
    return call(url, body={"query": query, "max_results": 3, **extra})


def raw(url: str, request: bytes, *, finish: bool = False) -> bytes:
    """Everything the server says to these bytes until it closes the connection."""
    parts = urlsplit(url)
    with socket.create_connection((parts.hostname, parts.port), timeout=20) as connection:
        connection.sendall(request)
        if finish:
            connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(65536), b""))


def assert_problem(answer: Answer, status: int, code: str) -> dict:
    assert answer.status == status, answer.body
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cache-Control"] == "no-store"
    problem = answer.json
    assert set(problem) == {"type", "title", "status", "code", "detail", "errors", "request_id"}
    assert (problem["status"], problem["code"]) == (status, code)
    assert problem["detail"]
    assert problem["request_id"] == answer.headers["X-Request-Id"]
    assert "fragments" not in problem
    return problem


@pytest.fixture
def run() -> Iterator[Callable[..., str]]:
    stops: list[Callable[[], None]] = []

    def start(service: object = None, **options: object) -> str:
        url, stop = start_in_thread(create_app(service or EchoService(), **options))
        stops.append(stop)
        return url

    yield start
    for stop in stops:
        stop()


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    address, stop = start_in_thread(create_app(EchoService()))
    yield address
    stop()


@pytest.mark.parametrize("path", [PATH, "/retrieve_fragments"])
def test_a_valid_request_is_answered_in_the_contracts_shape(url, path):
    """SUCCESS carries exactly status and fragments, on both paths, with the service's headers."""
    context = {"task_id": "t-1", "source_document_uri": "file:///规范.md", "自定义": [1, {"深": True}]}
    answer = call(url, path=path, body={"query": "高处作业", "max_results": 1, "context": context})
    assert answer.status == 200
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.headers["X-Retrieval-Status"] == "SUCCESS"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.json == {
        "status": "SUCCESS",
        "fragments": [
            {
                "source": "urn:q",
                "content": "高处作业",
                "retrieval_score": 0.5,
                "metadata": {"context": context, "odd": 1.5},
            }
        ],
    }


def test_nothing_found_is_success_with_an_empty_array(url):
    """An empty result is SUCCESS and has no error message."""
    assert ask(url, "nothing").json == {"status": "SUCCESS", "fragments": []}


def test_a_failure_is_failed_with_its_reason(url, run):
    """FAILED says why, has no fragments, and its HTTP status is 200 or the one configured."""
    strict = run(settings=ServerSettings(failed_http_status=503))
    for address, status in ((url, 200), (strict, 503)):
        answer = ask(address, "failed")
        assert answer.status == status
        assert answer.headers["X-Retrieval-Status"] == "FAILED"
        assert answer.json == {"status": "FAILED", "fragments": [], "error_message": "数据库连接失败"}
    assert ask(strict, "nothing").status == 200


@pytest.mark.parametrize("query", ["bug", "nan", "late KnowledgeError"])
def test_an_unexpected_exception_is_failed_and_keeps_internals_inside(url, query):
    """Whatever goes wrong after a valid request is FAILED, named by request id, without particulars."""
    answer = ask(url, query)
    assert (answer.status, answer.headers["X-Retrieval-Status"]) == (200, "FAILED")
    body = answer.json
    assert (body["status"], body["fragments"]) == ("FAILED", [])
    assert answer.headers["X-Request-Id"] in body["error_message"]
    assert not any(word in body["error_message"] for word in ("hunter2", "secret", "RuntimeError", "nan"))
    assert ("the index is gone" in body["error_message"]) == (query == "late KnowledgeError")


def test_what_the_service_refuses_is_a_problem(url):
    """InvalidRequest of the service is 400 with its faults, NotPermitted is 403."""
    problem = assert_problem(ask(url, "invalid"), 400, "invalid_request")
    assert problem["errors"] == [{"path": "context.as_of", "message": "no such day"}]
    assert_problem(ask(url, "forbidden"), 403, "not_permitted")


def q(**members: object) -> bytes:
    return json.dumps({"query": "x", "max_results": 1, **members}).encode()


MALFORMED = [
    b"",
    b" ",
    b"null",
    b"true",
    b"3",
    b'"query"',
    b"[]",
    b"{}",
    b"{",
    b"}",
    b'{"query"}',
    b'{"query":"x"}',
    b'{"max_results":3}',
    b'{"query":"x","max_results":3',
    b'{"query":"x","max_results":3}}',
    b'{"query":"x","max_results":3,}',
    b'{"query":"x" "max_results":3}',
    b"{'query':'x','max_results':3}",
    b'{query:"x",max_results:3}',
    b'{"query":"x","max_results":03}',
    b'{"query":"x","max_results":+3}',
    b'{"query":"x","max_results":3.}',
    b'{"query":"x","max_results":3.0}',
    b'{"query":"x","max_results":3e0}',
    b'{"query":"x","max_results":0x3}',
    b'{"query":"x","max_results":NaN}',
    b'{"query":"x","max_results":Infinity}',
    b'{"query":"x","max_results":1e400}',
    b'{"query":"x","max_results":9007199254740993}',
    b'{"query":"x","max_results":' + b"9" * 5000 + b"}",
    b'{"query":"x","max_results":1,"max_results":1}',
    b'{"query":"x","query":"y","max_results":1}',
    b'{"query":"\\ud800","max_results":1}',
    b'{"query":"\\udc00\\ud800","max_results":1}',
    b'{"query":"\\u0000","max_results":1}',
    b'{"query":"a\x00b","max_results":1}',
    b'{"query":"a\nb","max_results":1}',
    b'{"query":"\\x41","max_results":1}',
    b'{"query":"\xff\xfe","max_results":1}',
    b'{"query":"\xed\xa0\x80","max_results":1}',
    b'\xef\xbb\xbf{"query":"x","max_results":1}',
    '{"query":"x","max_results":1}'.encode("utf-16"),
    '{"query":"规范","max_results":1}'.encode("gbk"),
    '{"query"："x"，"max_results"：1}'.encode(),
    '{"query":"x","max_results":１}'.encode(),
    b"query=x&max_results=1",
    b"<query>x</query>",
    b"[" * 500 + b"]" * 500,
    b"[" * 100_000,
    b'{"query":' * 50_000,
    b'{"query":"x","max_results":1,"context":' + b'{"a":' * 40 + b"1" + b"}" * 41,
    q(max_results="1"),
    q(max_results="one"),
    q(max_results="３"),
    q(max_results=True),
    q(max_results=None),
    q(max_results=[1]),
    q(max_results=0),
    q(max_results=-1),
    q(max_results=101),
    q(max_results=10**9),
    q(query=""),
    q(query="  \t"),
    q(query="　"),
    q(query=7),
    q(query=None),
    q(query=["x"]),
    q(query={"text": "x"}),
    q(query="规" * 8001),
    q(context="x"),
    q(context=[]),
    q(context=1),
    q(context={"task_id": 1}),
    q(context={"task_id": ["x"]}),
    q(context={"source_document_uri": {}}),
    q(context={"as_of": "2024-02-30"}),
    q(context={"as_of": 20240520}),
    q(context={f"k{i}": i for i in range(1000)}),
    q(context={"a": "x" * 20_000}),
    q(context={"a": [[[[[[[[[[]]]]]]]]]]}),
    q(contxt={}),
    q(Query="x"),
    q(top_k=3),
    q(**{"": 1}),
    q(__proto__={}),
]


@pytest.mark.parametrize("body", MALFORMED, ids=lambda body: repr(body[:32]))
def test_a_malformed_body_is_a_structured_400(url, body):
    """Each of many malformed bodies gets 400, a problem document and at least one located fault."""
    problem = assert_problem(call(url, body=body), 400, "invalid_request")
    assert problem["errors"]
    assert all(set(error) == {"path", "message"} and error["message"] for error in problem["errors"])


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Content-Type": ""},
        {"Content-Type": "text/plain"},
        {"Content-Type": "text/json"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Content-Type": "multipart/form-data; boundary=x"},
        {"Content-Type": "application/jsonp"},
        {"Content-Type": "application/problem+json"},
        {"Content-Type": "application/json; charset=gbk"},
        {"Content-Type": 'application/json; charset="utf-16"'},
        {"Content-Type": "application/json, application/json"},
        {**JSON, "Content-Encoding": "gzip"},
        {**JSON, "Content-Encoding": "br, identity"},
    ],
    ids=str,
)
def test_another_media_type_or_coding_is_415(url, headers):
    """Anything but plain JSON in UTF-8 is refused before the body is looked at."""
    coded = "Content-Encoding" in headers
    code = "unsupported_content_encoding" if coded else "unsupported_media_type"
    for body in (q(), b"\x1f\x8b not json", b""):
        assert_problem(call(url, body=body, headers=headers), 415, code)


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Type": "application/json; charset=utf-8"},
        {"Content-Type": 'Application/JSON;charset="UTF-8"'},
        {"content-type": "application/json;charset=utf8", "Content-Encoding": "identity"},
    ],
    ids=str,
)
def test_utf_8_may_be_named(url, headers):
    """A charset parameter that says UTF-8, and the identity coding, change nothing."""
    assert call(url, body=q(), headers=headers).status == 200


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
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=20)
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
    url = run(settings=ServerSettings(body_timeout=0.4, threads=1))
    head = b"POST /v1/retrieve_fragments HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    parts = urlsplit(url)
    started = time.monotonic()
    with contextlib.ExitStack() as stack:
        slow = [
            stack.enter_context(socket.create_connection((parts.hostname, parts.port), timeout=20)) for _ in range(20)
        ]
        for connection in slow:
            connection.sendall(head + b'Content-Length: 100\r\n\r\n{"query')
        assert ask(url).status == 200
        assert time.monotonic() - started < 0.4
        replies = [b"".join(iter(lambda c=connection: c.recv(65536), b"")) for connection in slow]
    assert all(reply.startswith(b"HTTP/1.1 408 ") for reply in replies)
    assert all(b"application/problem+json" in reply for reply in replies)
    assert time.monotonic() - started < 5


def test_a_head_that_does_not_arrive_closes_the_connection(url, monkeypatch):
    """A connection that sends no request, or half of a head, is closed after the time limit."""
    monkeypatch.setattr(StrictProtocol, "head_timeout", 0.3)
    assert ask(url).status == 200
    for beginning in (b"", b"POST /v1/retr", b"GET /livez HTTP/1.1\r\nHost: localhost\r\nX-Slow: "):
        started = time.monotonic()
        assert raw(url, beginning) == b""
        assert 0.2 < time.monotonic() - started < 5


def test_a_client_that_hangs_up_midway_harms_nobody(url, caplog):
    """A connection closed in the middle of a body leaves the server serving, and is no error of it."""
    caplog.set_level(logging.INFO)
    head = b"POST /v1/retrieve_fragments HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    for _ in range(5):
        raw(url, head + b'Content-Length: 1000\r\n\r\n{"query', finish=True)
    assert ask(url).status == 200
    assert sum("hung up" in message for message in caplog.messages) == 5
    assert all(record.levelno < logging.WARNING for record in caplog.records)


def test_answers_on_one_connection_do_not_wait_for_acknowledgements(url):
    """Requests one after the other on a kept connection take a few milliseconds, not the 40 of a delayed ACK."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=20)
    seconds = []
    with contextlib.closing(connection):
        for _ in range(21):
            started = time.perf_counter()
            connection.request("POST", PATH, q(), JSON)
            assert connection.getresponse().read()
            seconds.append(time.perf_counter() - started)
    assert sorted(seconds)[10] < 0.03


def test_a_request_that_outlives_the_grace_is_told_that_the_server_stops():
    """When draining takes too long the open request still gets a problem document."""
    service = EchoService()
    url, stop = start_in_thread(create_app(service), grace=1)
    answers: list[Answer] = []
    caller = threading.Thread(target=lambda: answers.append(ask(url, "wait")))
    caller.start()
    assert service.entered.acquire(timeout=10)
    try:
        stop()
        caller.join(10)
    finally:
        service.gate.set()
    assert_problem(answers[0], 503, "shutting_down")


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
        ("GET", PATH, 405, "POST"),
        ("PUT", PATH, 405, "POST"),
        ("DELETE", "/retrieve_fragments", 405, "POST"),
        ("OPTIONS", PATH, 405, "POST"),
        ("BREW", PATH, 405, "POST"),
        ("POST", "/v1/sources", 405, "GET, HEAD"),
        ("POST", "/livez", 405, "GET, HEAD"),
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
    url = run(service, settings=ServerSettings(threads=2, queue_limit=3))
    answers: list[Answer] = []
    callers = [threading.Thread(target=lambda: answers.append(ask(url, "wait"))) for _ in range(9)]
    try:
        for caller in callers:
            caller.start()
        for _ in range(2):
            assert service.entered.acquire(timeout=10)
        limit = time.monotonic() + 10
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


def test_callers_are_asked_for_before_anything_else(run):
    """The authentication seam refuses before path, type or body are looked at; probes need no principal."""
    seen: list[str | None] = []

    def authenticate(headers: Mapping[str, str]) -> object:
        seen.append(headers.get("authorization"))
        if headers.get("authorization") is None:
            raise Problem.unauthenticated("an API key is needed")
        if headers["authorization"] != "Bearer 钥".encode().decode("latin-1"):
            raise NotPermitted("this key may not")
        return "caller"

    url = run(authenticate=authenticate)
    for path in (PATH, "/nowhere", "/v1/sources"):
        answer = call(url, path=path, body=b"{{{", headers={"Content-Type": "text/plain"})
        assert_problem(answer, 401, "unauthenticated")
        assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert_problem(call(url, body=q(), headers={**JSON, "Authorization": "Bearer x"}), 403, "not_permitted")
    assert call(url, body=q(), headers={**JSON, "Authorization": "Bearer 钥".encode()}).status == 200
    for probe in ("/livez", "/readyz", "/openapi.json"):
        assert call(url, "GET", probe).status == 200
    assert len(seen) == 5


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "8.8.8.8:80", "[::2]", "[", "@@"])
def test_a_foreign_host_name_is_refused_on_loopback(url, host):
    """A web page that points its own name at this machine cannot read answers."""
    assert_problem(call(url, body=q(), headers={**JSON, "Host": host}), 403, "not_permitted")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8765", "127.0.0.1", "127.8.9.1:1", "[::1]:80"])
def test_a_loopback_host_name_is_served(url, host):
    """Every spelling of this machine is fine."""
    assert call(url, body=q(), headers={**JSON, "Host": host}).status == 200


def test_the_fault_switch_works_only_where_it_was_given(url, run):
    """The fault header makes a real failure with the switch, and means nothing without it."""
    service = EchoService()
    headers = {**JSON, "X-Wenyuan-Fault": "engine"}
    with_switch = run(service, fault=service.fault)
    assert call(with_switch, body=q(), headers=headers).json == {
        "status": "FAILED",
        "fragments": [],
        "error_message": "engine is down",
    }
    assert ask(with_switch).json["status"] == "SUCCESS"
    assert call(url, body=q(), headers=headers).json["status"] == "SUCCESS"


def test_an_unknown_fault_is_refused(run):
    """A switch that does not know a name says so with 400."""

    def fault(name: str) -> contextlib.AbstractContextManager[None]:
        raise InvalidRequest("no such fault", faults=(Fault("X-Wenyuan-Fault", "is unknown"),))

    url = run(fault=fault)
    assert_problem(call(url, body=q(), headers={**JSON, "X-Wenyuan-Fault": "moon"}), 400, "invalid_request")


class Broken(EchoService):
    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    def list_sources(self) -> list[dict[str, object]]:
        raise self.error

    def readiness(self) -> Ready:
        raise self.error


def test_no_exception_leaves_as_plain_text(run, caplog):
    """An unforeseen exception is a 500 problem without particulars, and the log has it by request id."""
    url = run(Broken(RuntimeError("password=hunter2")))
    answer = call(url, "GET", "/v1/sources")
    problem = assert_problem(answer, 500, "internal_error")
    assert "hunter2" not in answer.body.decode()
    record = next(r for r in caplog.records if r.levelno == logging.ERROR)
    assert problem["request_id"] in record.getMessage()
    assert "hunter2" in str(record.exc_info[1])


def test_a_known_failure_elsewhere_is_503_with_its_code(run):
    """Outside of the contract's own route a KnowledgeError is 503, with code and reason."""
    url = run(Broken(CatalogBusy("another process is writing", component="catalog")))
    problem = assert_problem(call(url, "GET", "/v1/sources"), 503, "catalog_busy")
    assert problem["detail"] == "catalog: another process is writing"


def test_sources_are_listed(url):
    """GET /v1/sources gives what the service lists."""
    assert call(url, "GET", "/v1/sources").json == {"sources": [{"source_id": "规范", "trust": 5}]}


def test_readiness_is_200_or_503_with_its_parts(url, run):
    """Ready is 200, not ready and not knowing are 503; the parts are told each time."""

    class Warming(EchoService):
        def readiness(self) -> Ready:
            return Ready(False, {"engine": {"state": "failed", "detail": "索引重建中"}})

    assert (call(url, "GET", "/readyz").status, call(url, "GET", "/livez").status) == (200, 200)
    assert call(url, "GET", "/readyz").json["parts"]["catalog"]["passages"] == 3
    warming = call(run(Warming()), "GET", "/readyz")
    assert (warming.status, warming.json["ready"]) == (503, False)
    assert warming.json["parts"]["engine"] == {"state": "failed", "detail": "索引重建中"}
    broken = call(run(Broken(RuntimeError("hunter2"))), "GET", "/readyz")
    assert (broken.status, broken.json["parts"]["service"]["state"]) == (503, "failed")
    assert "hunter2" not in broken.body.decode()


def test_a_request_id_is_taken_over_or_made(url):
    """A tidy X-Request-Id comes back; anything else is replaced."""
    headers = {**JSON, "X-Request-Id": "trace-42_A"}
    assert call(url, body=q(), headers=headers).headers["X-Request-Id"] == "trace-42_A"
    made = set()
    for wrong in ("", "a b", "x" * 65, "<script>", "é"):
        headers["X-Request-Id"] = wrong
        made.add(call(url, body=q(), headers=headers).headers["X-Request-Id"])
    assert len(made) == 5
    assert all(len(identifier) == 32 for identifier in made)


def test_the_log_holds_no_query_and_no_content(url, caplog):
    """At INFO a request leaves method, path, status, time and id: nothing that a person asked."""
    caplog.set_level(logging.INFO)
    marked = {**JSON, "X-Request-Id": "log-test"}
    call(url, body=q(query="甲方的秘密", context={"task_id": "秘密任务"}), headers=marked)
    call(url, "GET", "/%E7%A7%98%E5%AF%86?q=%E7%A7%98", headers=marked)
    call(url, body='{"query":"秘密",,}'.encode(), headers=marked)
    limit = time.monotonic() + 10  # a line is written after its answer is sent
    while len(lines := [line for line in caplog.messages if "log-test" in line]) < 3:
        assert time.monotonic() < limit
        time.sleep(0.01)
    assert "POST /v1/retrieve_fragments 200" in lines[0]
    assert not any(word in caplog.text for word in ("秘密", "%E7", "task_id"))


nasty = st.text(max_size=60) | st.sampled_from(
    [
        "全角ＡＢＣ　１２３",
        "繁體中文與简体混排 mixed",
        "𠮷野家㊀Ⅻ①",
        "\u202e反向\u200b零宽\ufeff",
        "'; DROP TABLE passages;--",
        "${jndi:ldap://x}",
        "../../etc/passwd",
        "%s%n{0}",
        "\x1b[31m",
        "👩‍👩‍👧‍👦",
        "e\u0301",
        "<script>alert(1)</script>",
        "\r\nSet-Cookie: a=b",
        "\x85\x1f",
    ]
)


@settings(max_examples=150, deadline=None)
@given(nasty, st.booleans())
def test_nasty_strings_come_back_equal_or_are_refused(url, string, ascii_only):
    """Any text as query and as context is echoed unchanged with 200, or is a 400: never a 5xx."""
    payload = {"query": string, "max_results": 1, "context": {string: string}}
    body = json.dumps(payload, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    answer = call(url, body=body)
    surrogate = any("\ud800" <= character <= "\udfff" for character in string)
    if surrogate or "\0" in string or not string.strip():
        assert_problem(answer, 400, "invalid_request")
    elif string in ("nothing", "failed", "bug", "nan", "invalid", "forbidden", "wait"):
        assert answer.status in (200, 400, 403)
    else:
        assert answer.status == 200
        fragment = answer.json["fragments"][0]
        assert fragment["content"] == string
        assert fragment["metadata"]["context"] == {string: string}


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "kb.example", "127.0.0.1.example", ""])
def test_listening_beyond_this_machine_is_refused(host):
    """Another address than loopback needs to be allowed, and the reason is told."""
    with pytest.raises(ConfigError, match="API keys"):
        serve(EchoService(), host=host, port=0)


def test_a_taken_port_is_a_config_error(url):
    """A port in use is told as such, before anything runs."""
    port = urlsplit(url).port
    with pytest.raises(ConfigError, match=f"port {port}"):
        serve(EchoService(), port=port)
    with pytest.raises(ConfigError, match=f"port {port}"):
        start_in_thread(create_app(EchoService()), port=port)


@pytest.mark.parametrize(
    "wrong",
    [{"threads": 0}, {"queue_limit": -1}, {"max_body": 0}, {"body_timeout": math.nan}, {"failed_http_status": 404}],
    ids=str,
)
def test_senseless_settings_are_refused(wrong):
    """A setting that cannot work is a ConfigError."""
    with pytest.raises(ConfigError):
        ServerSettings(**wrong)


SERVE = """
import sys, time
from test_server import EchoService
from wenyuan.server.run import serve

class Slow(EchoService):
    def retrieve_fragments(self, request):
        print("entered", flush=True)
        time.sleep(0.5)
        return super().retrieve_fragments(request)

serve(Slow(), host=sys.argv[1], port=0, allow_remote=True, on_listening=lambda url: print(url, flush=True))
print("returned", flush=True)
"""


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_drains_and_the_process_exits_with_0(stop):
    """Upon SIGTERM or SIGINT the open request is answered whole, and the exit code is 0."""
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    with subprocess.Popen(
        [sys.executable, "-c", SERVE, "127.0.0.1"],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            url = process.stdout.readline().strip()
            answers: list[Answer] = []
            caller = threading.Thread(target=lambda: answers.append(ask(url)))
            caller.start()
            assert process.stdout.readline() == "entered\n"
            process.send_signal(stop)
            caller.join(20)
            rest, errors = process.communicate(timeout=20)
        finally:
            process.kill()
    assert [answer.status for answer in answers] == [200]
    assert (process.returncode, rest, errors) == (0, "returned\n", "")


def test_a_remote_server_answers_to_any_host_name():
    """With open_to_all, which serve takes when remote access is allowed, the host name does not matter."""
    assert open_to_all({"host": "kb.example"}) == "anonymous"


def test_the_settings_come_without_the_web_framework():
    """Importing the seams loads neither framework nor server, so a command line can do it always."""
    code = "import sys, wenyuan.server.seams; print({'starlette', 'uvicorn', 'pydantic'} & set(sys.modules))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
