"""The caller's side, against a real loopback server in each way of failing."""

from __future__ import annotations

import inspect
import json
import logging
import math
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broken import FailureIsPlainText, Reference, serving
from patience import in_time
from wenyuan.client import Client, InvalidRequest, NotPermitted, RetrievalFailed, caller
from wenyuan.client.replies import Reply, read_reply
from wenyuan.core.errors import Closed, ConfigError, Fault, KnowledgeError, Message
from wenyuan.i18n.translation import translated

FRAGMENT = {"source": "file:///制度.md#第十三条", "content": "第十三条", "retrieval_score": 0.9, "metadata": {"a": 1}}
SUCCESS = {"status": "SUCCESS", "fragments": [FRAGMENT]}
FAILED = {"status": "FAILED", "fragments": [], "error_message": "engine keyword: connection refused"}

Script = Callable[[socket.socket], None]


def reply(status: int, body: object = None, *headers: str, raw: bytes | None = None) -> bytes:
    content = json.dumps(body).encode() if raw is None else raw
    lines = [f"HTTP/1.1 {status} Reason", f"Content-Length: {len(content)}", "Connection: close", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + content


class Scripted:
    """Answers its connections in turn, the last script for all that follow; keeps what it was sent."""

    def __init__(self, scripts: tuple[bytes | Script, ...]) -> None:
        self.scripts = scripts
        self.requests: list[bytes] = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self) -> None:
        while True:
            connection, _ = self.listener.accept()
            with connection:
                connection.settimeout(5)
                received = b""
                while b"\r\n\r\n" not in received:
                    part = connection.recv(65536)
                    if not part:
                        return  # the closing connection
                    received += part
                head, _, body = received.partition(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
                while len(body) < length:
                    body += connection.recv(65536)
                self.requests.append(head + b"\r\n\r\n" + body)
                script = self.scripts[min(len(self.requests), len(self.scripts)) - 1]
                if isinstance(script, bytes):
                    connection.sendall(script)
                else:
                    script(connection)

    def close(self) -> None:
        socket.create_connection(self.listener.getsockname()).close()
        self.thread.join(5)
        self.listener.close()


@contextmanager
def scripted(*scripts: bytes | Script) -> Iterator[Scripted]:
    server = Scripted(scripts)
    try:
        yield server
    finally:
        server.close()


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long the client would have waited before each retry."""
    waited: list[float] = []
    monkeypatch.setattr(caller, "sleep", waited.append)
    return waited


def ask(server: Scripted, *, query: str = "连接池", max_results: int = 3, **options: Any) -> Any:
    with Client(server.url, **{"timeout": 5.0, "retries": 0} | options) as client:
        return client.retrieve_fragments(query, max_results=max_results, context={"task_id": "t-1"})


class TestAnswers:
    def test_success(self) -> None:
        """A successful answer becomes fragments, and the request is the contract's."""
        with scripted(reply(200, SUCCESS)) as server:
            (fragment,) = ask(server, key="k-123")
        assert fragment.source == FRAGMENT["source"]
        assert (fragment.content, fragment.retrieval_score, fragment.metadata) == ("第十三条", 0.9, {"a": 1})
        head, _, body = server.requests[0].partition(b"\r\n\r\n")
        assert head.startswith(b"POST /v1/retrieve_fragments HTTP/1.1")
        assert b"content-type: application/json" in head.lower()
        assert b"Bearer k-123" in head
        assert json.loads(body) == {"query": "连接池", "max_results": 3, "context": {"task_id": "t-1"}}

    def test_empty(self) -> None:
        """SUCCESS with nothing found is the one empty answer; null members stand for absent ones."""
        with scripted(reply(200, {"status": "SUCCESS", "fragments": [], "error_message": None})) as server:
            assert ask(server) == ()

    def test_null_metadata(self) -> None:
        """A fragment whose metadata is null or absent has none."""
        bare = {key: FRAGMENT[key] for key in ("source", "content", "retrieval_score")}
        with scripted(
            reply(200, {"status": "SUCCESS", "fragments": [FRAGMENT | {"metadata": None}, bare]})
        ) as server:
            assert [f.metadata for f in ask(server)] == [{}, {}]

    @pytest.mark.parametrize("status", [200, 500, 503, 404])
    def test_failed(self, status: int, waits: list[float]) -> None:
        """FAILED raises with the service's own reason, whatever the HTTP status, and is not asked again."""
        with scripted(reply(status, FAILED)) as server, pytest.raises(RetrievalFailed) as caught:
            ask(server, retries=3)
        assert caught.value.message == FAILED["error_message"]
        assert (len(server.requests), waits) == (1, [])

    @pytest.mark.parametrize("body", [{"status": "FAILED", "fragments": []}, {**FAILED, "error_message": " "}])
    def test_failed_without_reason(self, body: object) -> None:
        """FAILED without a reason is a failure all the same."""
        with scripted(reply(200, body)) as server, pytest.raises(RetrievalFailed, match="no reason"):
            ask(server)

    def test_failed_with_fragments(self) -> None:
        """Fragments beside FAILED are not used."""
        with scripted(reply(200, FAILED | {"fragments": [FRAGMENT]})) as server, pytest.raises(RetrievalFailed):
            ask(server)

    @pytest.mark.parametrize("status", [400, 413, 415, 422])
    def test_refused(self, status: int, waits: list[float]) -> None:
        """A refused request raises InvalidRequest with the service's faults, and is not asked again."""
        problem = {
            "code": "invalid_request",
            "detail": "context.as_of is no date",
            "errors": [{"path": "context.as_of", "message": "is no date"}, "odd", {"path": 1}],
        }
        with (
            scripted(reply(status, problem)) as server,
            pytest.raises(InvalidRequest, match=r"context\.as_of is no date") as caught,
        ):
            ask(server, retries=3)
        assert caught.value.faults == (Fault("context.as_of", "is no date"),)
        assert (len(server.requests), waits) == (1, [])

    @pytest.mark.parametrize(
        ("beside", "said"),
        [
            ({}, "请求被拒绝（HTTP 400）：没有来源 'p'"),
            (
                {"translatable": {"template": "there is no source {source}", "values": {"source": "'p'"}}},
                "请求被拒绝（HTTP 400）：没有来源 'p'",
            ),
            (
                {"translatable": {"template": "{x} of another", "values": {"x": "1"}}},
                "请求被拒绝（HTTP 400）：没有来源 'p'",
            ),
            ({"translatable": ["{x}"]}, "请求被拒绝（HTTP 400）：没有来源 'p'"),
        ],
        ids=["an older server", "a server of today", "parts of another text", "no parts"],
    )
    def test_a_refusal_can_be_said_in_chinese(self, beside: Mapping[str, Any], said: str) -> None:
        """With what the message is made of, and without; what is wrong there is left aside."""
        problem = {"detail": "there is no source 'p'", **beside}
        problem["errors"] = [{"path": "source_id", "message": problem["detail"], **beside}]
        with scripted(reply(400, problem)) as server, pytest.raises(InvalidRequest) as caught:
            ask(server)
        assert caught.value.message == "refused with HTTP 400: there is no source 'p'"
        assert translated(caught.value.message) == said
        assert caught.value.faults == (Fault("source_id", "there is no source 'p'"),)

    def test_a_failure_is_the_message_that_the_service_made(self) -> None:
        """With its template and values, whoever reads them; an older service gives its text."""
        beside = {"translatable": {"template": "{component}: {message}", "values": {"component": "engine keyword", "message": "connection refused"}}}  # fmt: skip
        for body, kind in ((FAILED | beside, Message), (FAILED, str), (FAILED | {"translatable": 1}, str)):
            with scripted(reply(200, body)) as server, pytest.raises(RetrievalFailed) as caught:
                ask(server)
            assert (caught.value.message, type(caught.value.message)) == (FAILED["error_message"], kind)

    def test_a_reason_without_end_is_cut(self, caplog: pytest.LogCaptureFixture) -> None:
        """Neither the log nor a terminal is filled by what a service says."""
        endless = FAILED | {"error_message": "x" * 100_000}
        with scripted(reply(200, endless)) as server, pytest.raises(RetrievalFailed) as caught:
            ask(server)
        assert caught.value.message.endswith("x…")
        assert max(len(caught.value.message), len(caplog.text)) < 20_000

    @pytest.mark.parametrize("status", [401, 403])
    def test_not_permitted(self, status: int) -> None:
        """401 and 403 raise NotPermitted, with the reason."""
        with (
            scripted(reply(status, {"title": "no such key"})) as server,
            pytest.raises(NotPermitted, match="no such key"),
        ):
            ask(server, retries=3)
        assert len(server.requests) == 1

    @pytest.mark.parametrize("status", [201, 204, 301, 302, 307, 308, 404, 405, 409, 500, 502, 504])
    @pytest.mark.parametrize("body", [b"", b"<html>", json.dumps(SUCCESS).encode()])
    def test_other_statuses(self, status: int, body: bytes, waits: list[float]) -> None:
        """Any other status is a failure, whatever its body says, and is not asked again."""
        content = b"" if status == 204 else body
        answer = reply(status, None, "Location: http://127.0.0.1:9/", raw=content)
        with scripted(answer) as server, pytest.raises(RetrievalFailed, match=str(status)):
            ask(server, retries=3)
        assert (len(server.requests), waits) == (1, [])

    @pytest.mark.parametrize(
        "body",
        [
            b"",
            b"null",
            b"[]",
            b"<html>",
            b"\xff\xfe",
            b'{"status": "SUCCESS", "fragments": [',
            b"[" * 5000 + b"]" * 5000,
            b'{"status": "SUCCESS", "status": "FAILED", "fragments": []}',
            b'{"status": "SUCCESS"}',
            b'{"fragments": []}',
            b'{"status": "success", "fragments": []}',
            b'{"status": "PARTIAL", "fragments": []}',
            b'{"status": "SUCCESS", "fragments": null}',
            b'{"status": "SUCCESS", "fragments": {}}',
            b'{"status": "SUCCESS", "fragments": [], "error_message": "one shard is down"}',
            b'{"status": "SUCCESS", "fragments": [null]}',
            b'{"status": "SUCCESS", "fragments": [[]], "x": NaN}',
            b'{"status": "SUCCESS", "fragments": [], "x": 1e400}',
        ],
    )
    def test_malformed(self, body: bytes) -> None:
        """What is no RetrievalResponse is a failure, never an empty answer."""
        with scripted(reply(200, raw=body)) as server, pytest.raises(RetrievalFailed, match="breaks the contract"):
            ask(server)

    @pytest.mark.parametrize(
        "change",
        [
            {"source": None},
            {"source": ""},
            {"source": 7},
            {"content": None},
            {"metadata": []},
            {"metadata": "x"},
            {"retrieval_score": None},
            {"retrieval_score": "0.9"},
            {"retrieval_score": True},
            {"retrieval_score": 1.7},
            {"retrieval_score": -0.1},
            {"retrieval_score": 10**400},
            {"retrieval_score": math.nan},
            {"retrieval_score": math.inf},
        ],
    )
    def test_malformed_fragment(self, change: dict[str, Any]) -> None:
        """One malformed fragment spoils the answer."""
        body = {"status": "SUCCESS", "fragments": [FRAGMENT, FRAGMENT | change]}
        with scripted(reply(200, body)) as server, pytest.raises(RetrievalFailed, match="breaks the contract"):
            ask(server)

    def test_unsorted(self) -> None:
        """Scores that rise are a failure."""
        body = {"status": "SUCCESS", "fragments": [FRAGMENT | {"retrieval_score": 0.1}, FRAGMENT]}
        with scripted(reply(200, body)) as server, pytest.raises(RetrievalFailed, match="not sorted"):
            ask(server)

    def test_too_many(self) -> None:
        """More fragments than were asked for are a failure."""
        with (
            scripted(reply(200, {"status": "SUCCESS", "fragments": [FRAGMENT] * 4})) as server,
            pytest.raises(RetrievalFailed, match="4 fragments where 3"),
        ):
            ask(server)

    @given(
        status=st.integers(100, 599),
        content=st.one_of(
            st.binary(max_size=60),
            st.recursive(
                st.one_of(st.none(), st.booleans(), st.floats(), st.text(max_size=5), st.sampled_from(["SUCCESS"])),
                lambda inner: st.one_of(
                    st.lists(inner, max_size=3),
                    st.dictionaries(st.sampled_from(["status", "fragments", "error_message", "errors"]), inner),
                ),
            ).map(lambda value: json.dumps(value).encode()),
        ),
    )
    @settings(max_examples=300)
    def test_no_reply_becomes_empty_by_accident(self, status: int, content: bytes) -> None:
        """Whatever comes, the outcome is fragments that were said to be all, or an exception of ours."""
        try:
            fragments = read_reply(Reply(status, content), max_results=10, component="x")
        except KnowledgeError:
            return
        body = json.loads(content)
        assert (status, body["status"], len(body["fragments"])) == (200, "SUCCESS", len(fragments))


def drop(connection: socket.socket) -> None:
    """End the connection without a word."""


def reset(connection: socket.socket) -> None:
    """End the connection with RST."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")


def half(connection: socket.socket) -> None:
    """Send half an answer, cut where the JSON text is whole so far."""
    connection.sendall(reply(200, SUCCESS)[:-10])


def silent(connection: socket.socket) -> None:
    """Say nothing until the caller has gone."""
    while connection.recv(65536):
        pass


def trickle(first: bytes, then: bytes) -> Script:
    """A little every 20 ms for ever, each in time for a reader who waits for the next of it only."""

    def script(connection: socket.socket) -> None:
        connection.sendall(first)
        try:
            while True:
                connection.sendall(then)
                time.sleep(0.02)
        except OSError:
            pass

    return script


SLOW: dict[str, Script] = {
    "silence": silent,
    "status line": trickle(b"HTTP/1.1 200 ", b"O"),
    "head": trickle(b"HTTP/1.1 200 OK\r\n", b"X: a\r\n"),
    "still at it": trickle(b"", b"HTTP/1.1 102 Processing\r\n\r\n"),
    "body": trickle(b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n", b" "),
    "chunks": trickle(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
}


class TestTransport:
    @pytest.mark.parametrize("fault", [drop, reset, half])
    def test_broken_connection(self, fault: Script, waits: list[float]) -> None:
        """A connection that breaks is tried again, and the answer of the second try counts."""
        with scripted(fault, reply(200, SUCCESS)) as server:
            assert len(ask(server, retries=1)) == 1
        assert len(server.requests) == 2
        assert len(waits) == 1

    @pytest.mark.parametrize("fault", [drop, reset, half])
    def test_broken_for_good(self, fault: Script, waits: list[float]) -> None:
        """When every try breaks, that is a failure; waits grow."""
        with scripted(fault) as server, pytest.raises(RetrievalFailed, match="no answer"):
            ask(server, retries=3)
        assert len(server.requests) == 4
        assert 0.05 <= waits[0] <= 0.1 < waits[2] <= 0.4

    def test_nobody_there(self, waits: list[float]) -> None:
        """A refused connection is tried again, then a failure with its cause."""
        with scripted(drop) as server:
            url = server.url
        with Client(url, retries=2) as client, pytest.raises(RetrievalFailed, match="no answer") as caught:
            client.retrieve_fragments("x")
        assert isinstance(caught.value.__cause__, httpx2.ConnectError)
        assert type(caught.value) is RetrievalFailed
        assert len(waits) == 2

    @pytest.mark.parametrize("raw", [b"SSH-2.0-OpenSSH\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"])
    def test_no_http(self, raw: bytes) -> None:
        """What is no HTTP is a failure."""
        with scripted(raw) as server, pytest.raises(RetrievalFailed, match="no answer"):
            ask(server)

    def test_broken_compression(self) -> None:
        """A body that does not decompress is a failure."""
        with (
            scripted(reply(200, None, "Content-Encoding: gzip", raw=b"not gzip")) as server,
            pytest.raises(RetrievalFailed, match="DecodingError"),
        ):
            ask(server)

    def test_too_large(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A reply beyond the limit is cut off as a failure."""
        monkeypatch.setattr(caller, "MAX_REPLY_BYTES", 20)
        with scripted(reply(200, SUCCESS)) as server, pytest.raises(RetrievalFailed, match="larger than 20"):
            ask(server)

    @pytest.mark.parametrize("proxied", [False, True])
    @pytest.mark.parametrize("slow", SLOW)
    def test_timeout(self, slow: str, proxied: bool, waits: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
        """A service, or a proxy, that is too slow or never ends is a failure in time, and is not asked again."""
        with scripted(SLOW[slow]) as server:
            if proxied:
                monkeypatch.setenv("HTTP_PROXY", server.url)
            with (
                in_time(0.29),
                Client("http://kb.example" if proxied else server.url, timeout=0.3, retries=5) as client,
                pytest.raises(RetrievalFailed, match=r"no whole answer within 0\.3 s"),
            ):
                client.retrieve_fragments("x")
        assert (len(server.requests), waits) == (1, [])

    def test_the_seconds_of_one_call(self) -> None:
        """A call that is given its own seconds ends after these, and says so."""
        with (
            scripted(silent) as server,
            Client(server.url) as client,
            pytest.raises(RetrievalFailed, match=r"no whole answer within 0\.3 s"),
        ):
            client.propose_rules("law", timeout=0.3)

    def test_every_exception_of_httpx2_is_translated(self) -> None:
        """Each exception class that httpx2 publishes, raised while asking, comes out as RetrievalFailed."""
        request = httpx2.Request("POST", "http://a/")
        classes = [c for _, c in inspect.getmembers(httpx2, inspect.isclass) if issubclass(c, Exception)]
        assert {"ConnectError", "StreamError", "InvalidURL", "SSEError"} <= {c.__name__ for c in classes}
        for error_class in classes:
            client = Client("http://127.0.0.1", retries=0, transport=Raising(_made(error_class, request)))
            with client, pytest.raises(RetrievalFailed) as caught:
                client.retrieve_fragments("x")
            assert isinstance(caught.value.__cause__, error_class), error_class


class Raising(httpx2.BaseTransport):
    def __init__(self, error: Exception) -> None:
        self.error = error

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        raise self.error


def _made(error_class: type[Exception], request: httpx2.Request) -> Exception:
    names = set(inspect.signature(error_class).parameters)
    if "response" in names:
        return error_class("why", request=request, response=httpx2.Response(500))  # type: ignore[call-arg]
    return error_class("why") if "message" in names or "args" in names else error_class()


class TestRetries:
    @pytest.mark.parametrize("status", [429, 503])
    def test_busy(self, status: int, waits: list[float]) -> None:
        """A busy service is asked again, after the seconds it names."""
        with scripted(reply(status, {}, "Retry-After: 2"), reply(200, SUCCESS)) as server:
            assert len(ask(server, retries=2)) == 1
        assert waits == [2.0]

    def test_date(self, waits: list[float]) -> None:
        """Retry-After may be a date, past or to come."""
        soon, past = (datetime.now(UTC) + timedelta(seconds=s) for s in (3, -60))
        with scripted(
            reply(503, {}, f"Retry-After: {format_datetime(soon, usegmt=True)}"),
            reply(503, {}, f"Retry-After: {format_datetime(past)}"),
            reply(200, SUCCESS),
        ) as server:
            assert len(ask(server, retries=2)) == 1
        assert 1 < waits[0] <= 3
        assert waits[1] == 0

    @pytest.mark.parametrize("header", ["soon", "-1", "1.5", "²", ""])
    def test_unreadable(self, header: str) -> None:
        """A Retry-After that cannot be read leaves the client's own wait."""
        assert caller._asked_to_wait(header, 0.07) == 0.07

    @pytest.mark.parametrize("status", [429, 503])
    def test_busy_for_good(self, status: int, waits: list[float]) -> None:
        """A service that stays busy is a failure that names the status."""
        with (
            scripted(reply(status, {"detail": "too many requests"})) as server,
            pytest.raises(RetrievalFailed, match=f"{status}: too many requests"),
        ):
            ask(server, retries=2)
        assert (len(server.requests), len(waits)) == (3, 2)

    def test_longer_than_the_deadline(self, waits: list[float]) -> None:
        """A wait that does not fit the deadline is not begun."""
        with (
            scripted(reply(503, {}, "Retry-After: 3600")) as server,
            pytest.raises(RetrievalFailed, match="503"),
        ):
            ask(server, retries=9)
        assert (len(server.requests), waits) == (1, [])


WRITING: dict[str, Callable[[Client], object]] = {
    "review_rules": lambda client: client.review_rules([1], "retire"),
    "propose_rules": lambda client: client.propose_rules("law"),
    "import_rules": lambda client: client.import_rules(pack="construction"),
    "feedback": lambda client: client.feedback("a", good=["policy#1"]),
    "upload": lambda client: client.upload("own", {"a.md": b"a"})["changed"],
    "correct": lambda client: client.correct("text", ref="own#1", text="a")["changed"],
}
DONE = {"status": "SUCCESS", "changed": 1, "source_id": "own", "files": [], "kept": {"policy#1": True}}


@pytest.mark.parametrize("writing", WRITING)
class TestWriting:
    @pytest.mark.parametrize("fault", [drop, reset, half, silent, SLOW["head"]])
    def test_not_twice(self, writing: str, fault: Script, waits: list[float]) -> None:
        """What may have been done is not asked for again when its answer is lost, and the failure says so."""
        with (
            scripted(fault, reply(200, DONE)) as server,
            Client(server.url, timeout=0.3, retries=2) as client,
            pytest.raises(RetrievalFailed, match="may have been done"),
        ):
            WRITING[writing](client)
        assert (len(server.requests), waits) == (1, [])

    @pytest.mark.parametrize("body", [{}, {"code": "shutting_down", "detail": "the server stops"}])
    def test_not_twice_where_a_server_ends(self, writing: str, body: dict[str, str], waits: list[float]) -> None:
        """A server that ends says 503 in the middle of what it does, which may be done all the same: it is not asked again."""
        with (
            scripted(reply(503, body), reply(200, DONE)) as server,
            Client(server.url, retries=2) as client,
            pytest.raises(RetrievalFailed, match=f"{body.get('detail', '503')}.*may have been done"),
        ):
            WRITING[writing](client)
        assert (len(server.requests), waits) == (1, [])

    @pytest.mark.parametrize(("status", "code"), [(429, "too_many_requests"), (503, "overloaded")])
    def test_busy(self, writing: str, status: int, code: str, waits: list[float]) -> None:
        """A service that says that it is busy has done nothing, so it is asked again."""
        with scripted(reply(status, {"code": code}), reply(200, DONE)) as server, Client(server.url) as client:
            assert WRITING[writing](client) in (1, DONE, DONE["kept"])
        assert (len(server.requests), len(waits)) == (2, 1)

    def test_nobody_there(self, writing: str, waits: list[float]) -> None:
        """Where nobody listens nothing can have been done: it is tried again, and no doubt is cast."""
        with scripted(drop) as server:
            url = server.url
        with Client(url, retries=2) as client, pytest.raises(RetrievalFailed, match="no answer") as caught:
            WRITING[writing](client)
        assert "may have been" not in caught.value.message
        assert len(waits) == 2


class TestRequests:
    @pytest.mark.parametrize(
        "arguments",
        [
            {"query": ""},
            {"query": "\u3000"},
            {"query": 3},
            {"query": "x", "max_results": 0},
            {"query": "x", "max_results": True},
            {"query": "x", "max_results": "3"},
            {"query": "x", "context": "y"},
            {"query": "x", "context": {"y": math.nan}},
            {"query": "x", "context": {"y": object()}},
            {"query": "\ud800"},
        ],
    )
    def test_malformed(self, arguments: dict[str, Any]) -> None:
        """A malformed request never leaves, and its faults are named."""
        with (
            scripted(reply(200, SUCCESS)) as server,
            Client(server.url) as client,
            pytest.raises(InvalidRequest) as caught,
        ):
            client.retrieve_fragments(**arguments)
        assert caught.value.faults
        assert server.requests == []

    @pytest.mark.parametrize(
        ("url", "options"),
        [
            ("", {}),
            ("localhost:80", {}),
            ("ftp://a", {}),
            ("http://", {}),
            ("http://a:b", {}),
            ("http://user:hunter2@a", {}),
            ("http://a", {"key": ""}),
            ("http://a", {"key": "a\r\nb: c"}),
            ("http://a", {"key": "密"}),
            ("http://a", {"timeout": 0}),
            ("http://a", {"timeout": math.nan}),
            ("http://a", {"timeout": math.inf}),
            ("http://a", {"retries": -1}),
        ],
    )
    def test_wrong_settings(self, url: str, options: dict[str, Any]) -> None:
        """What can never work is refused at once, without secrets in the message."""
        with pytest.raises(ConfigError) as caught:
            Client(url, **options)
        assert "hunter2" not in str(caught.value)
        assert not options.get("key") or options["key"] not in str(caught.value)

    def test_wrong_environment(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A proxy that cannot be used is a wrong setting."""
        monkeypatch.setenv("HTTP_PROXY", "gopher://proxy:70")
        with pytest.raises(ConfigError):
            Client("http://a.example")

    def test_closed(self) -> None:
        """A closed client fails; it does not answer with nothing."""
        with scripted(reply(200, SUCCESS)) as server:
            client = Client(server.url)
            client.close()
            with pytest.raises(RetrievalFailed, match="closed") as told:
                client.retrieve_fragments("x")
            assert isinstance(told.value, Closed)


class TestLog:
    def test_failure_is_logged_without_the_query(self, caplog: pytest.LogCaptureFixture) -> None:
        """A failure is one ERROR line with the reason, without the query even when the service repeats it."""
        body = FAILED | {"error_message": "cannot search for 张三的病历\nERROR: forged"}
        with (
            caplog.at_level(logging.DEBUG),
            scripted(reply(200, body)) as server,
            pytest.raises(RetrievalFailed),
        ):
            ask(server, query="张三的病历")
        (record,) = [r for r in caplog.records if r.name == "wenyuan.client"]
        assert record.levelno == logging.ERROR
        assert "cannot search for … ERROR: forged" in record.getMessage()
        assert all("张三" not in r.getMessage() for r in caplog.records)

    def test_success_is_not_logged(self, caplog: pytest.LogCaptureFixture) -> None:
        """A successful call writes no line of its own, and a refused one no error."""
        with scripted(reply(200, SUCCESS), reply(400, {})) as server:
            ask(server)
            with pytest.raises(InvalidRequest):
                ask(server)
        assert [r for r in caplog.records if r.name == "wenyuan.client"] == []


class TestWithService:
    def test_reference(self) -> None:
        """The client and a correct service understand each other, in eight threads too."""
        with serving(Reference()) as url, Client(url) as client, ThreadPoolExecutor(8) as pool:
            alone = client.retrieve_fragments("数据库连接池", max_results=5)
            assert len(alone) == 3
            assert client.retrieve_fragments("qxzvkj") == ()
            many = pool.map(lambda _: client.retrieve_fragments("数据库连接池", max_results=5), range(16))
            assert all(answer == alone for answer in many)

    def test_crash(self) -> None:
        """A service that crashes in plain text is a failure."""

        class Crashing(FailureIsPlainText):
            def answer(self, request, failing=False):
                return super().answer(request, True)

        with serving(Crashing()) as url, Client(url) as client, pytest.raises(RetrievalFailed, match="500"):
            client.retrieve_fragments("x")


def test_import_is_light() -> None:
    """Importing the client imports no other room and, until one is made, no HTTP library."""
    script = (
        "import sys, wenyuan.client\n"
        "rooms = {m.split('.')[1] for m in sys.modules if m.startswith('wenyuan.')}\n"
        "assert rooms == {'client', 'core'}, rooms\n"
        "assert not {'httpx2', 'numpy', 'pydantic', 'fastapi'} & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_failure_is_raised_and_not_printed_as_well() -> None:
    """A program that has set no logging up finds nothing on its standard error."""
    program = (
        "from wenyuan import Client, RetrievalFailed\n"
        "try:\n    Client('http://127.0.0.1:9', retries=0).retrieve_fragments('x')\n"
        "except RetrievalFailed:\n    print('raised')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("raised\n", "")
