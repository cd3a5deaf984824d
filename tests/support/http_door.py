"""A small service behind a real server, and a client that hides nothing: for the tests of the HTTP door."""

from __future__ import annotations

import contextlib
import http.client
import json
import math
import socket
import subprocess
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from wenyuan.core.errors import EngineUnavailable, Fault, InvalidRequest, Message, NotPermitted, received
from wenyuan.core.model import Fragment, RetrievalRequest, RetrievalResponse
from wenyuan.server.app import create_app
from wenyuan.server.running import start_in_thread

PATH = "/v1/retrieve_fragments"
JSON = {"Content-Type": "application/json"}


def url_of(process: subprocess.Popen[str]) -> str:
    """Where a ``wenyuan serve --json`` listens, as soon as it does."""
    assert process.stdout is not None
    said = ""
    for line in process.stdout:
        said += line
        if line == "}\n":
            break
    return str(json.loads(said)["url"])


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
                assert self.gate.wait(60)
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
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
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
    with socket.create_connection((parts.hostname, parts.port), timeout=60) as connection:
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
    assert set(problem) - {"translatable"} == {"type", "title", "status", "code", "detail", "errors", "request_id"}
    for text, beside in [(problem["detail"], problem), *((fault["message"], fault) for fault in problem["errors"])]:
        assert isinstance(received(text, beside.get("translatable")), Message) == ("translatable" in beside)
    assert (problem["status"], problem["code"]) == (status, code)
    assert problem["detail"]
    assert problem["request_id"] == answer.headers["X-Request-Id"]
    assert "fragments" not in problem
    return problem


def q(**members: object) -> bytes:
    return json.dumps({"query": "x", "max_results": 1, **members}).encode()


class Broken(EchoService):
    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    def list_sources(self) -> list[dict[str, object]]:
        raise self.error

    def readiness(self) -> Ready:
        raise self.error


@contextlib.contextmanager
def serving(service: object = None, **options: object) -> Iterator[str]:
    """The URL of a server for the service, for as long as the context lasts."""
    url, stop = start_in_thread(create_app(service or EchoService(), **options))
    try:
        yield url
    finally:
        stop()
