"""The encoder behind HTTP, against a real server on this machine that misbehaves on demand."""

from __future__ import annotations

import socket
import threading
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx2
import numpy as np
import pytest

from embedding_server import KEY, MODEL, Server
from listening import listening
from patience import HANGS, in_time
from wenyuan.core.errors import ConfigError, EncoderError, EncoderTimeout, EncoderUnavailable, VectorRejected
from wenyuan.core.ports import Deadline, Encoder
from wenyuan.encoders import request_pace
from wenyuan.encoders.http import HttpEncoder, open_http
from wenyuan.runtime import json_endpoint


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    server = Server()
    with listening(server):
        yield server


@pytest.fixture
def server(running: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    running.fault, running.faults, running.seen = "", [], []
    monkeypatch.setattr(json_endpoint, "_BACKOFF", 0.01)
    return running


@pytest.fixture
def encoder(server: Server) -> Iterator[HttpEncoder]:
    made = open_http(server.url, "bge-m3", key=KEY, dimension=16, query_prefix="问：", batch=4, timeout=5)
    yield made
    made.close()


TEXTS = [f"第{i}条 clause {i}" for i in range(10)]


# --- what is right ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["", "shuffled"])
def test_vectors_come_back_in_the_order_of_their_texts(server: Server, encoder: HttpEncoder, fault: str) -> None:
    """Indexes, not places, say which vector belongs to which text; batches are joined; progress adds up."""
    server.fault = fault
    told: list[int] = []
    assert np.allclose(encoder.encode_passages(TEXTS, progress=told.append), MODEL.encode_passages(TEXTS), atol=1e-6)
    assert told == [4, 4, 2]
    assert [len(body["input"]) for _, _, body in server.seen] == [4, 4, 2]


def test_a_request_says_what_the_protocol_wants(server: Server, encoder: HttpEncoder) -> None:
    """The path, the key as a bearer token, the model, and the query's prefix are sent."""
    encoder.encode_queries(["报销"])
    assert server.seen == [
        (
            "/v1/embeddings",
            f"Bearer {KEY}",
            {"model": "bge-m3", "input": ["问：报销"], "encoding_format": "float"},
        )
    ]
    assert isinstance(encoder, Encoder)
    assert encoder.encode_queries([]).shape == (0, 16)
    assert len(server.seen) == 1


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ("", "/v1/embeddings"),
        ("/", "/v1/embeddings"),
        ("/v1", "/v1/embeddings"),
        ("/api/paas/v4/", "/api/paas/v4/embeddings"),
        ("/x/embeddings", "/x/embeddings"),
    ],
)
def test_the_url_may_name_server_api_or_endpoint(server: Server, given: str, asked: str) -> None:
    """All three usual ways to write the address lead to the endpoint; the dimension is measured there."""
    made = open_http(server.url + given, "m")
    made.close()
    assert made.fingerprint.dimension == 16
    assert [(path, key) for path, key, _ in server.seen] == [(asked, "")]


def test_another_dimension_is_another_fingerprint(server: Server) -> None:
    """The measured dimension, the model and the prefixes stand in the fingerprint."""
    made = open_http(server.url, "m", query_prefix="q ", passage_prefix="p ", scale=(0.2, 0.9))
    made.close()
    assert made.fingerprint.key == "m||16|q |p ||"
    assert made.fingerprint.scale == (0.2, 0.9)


# --- what is wrong ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "kind", "says"),
    [
        ("nan", VectorRejected, "NaN"),
        ("infinity", VectorRejected, "infinity"),
        ("null", VectorRejected, "not numbers"),
        ("string", VectorRejected, "not numbers|different lengths"),
        ("base64", VectorRejected, "not numbers|different lengths"),
        ("zero", VectorRejected, "is zero"),
        ("constant", VectorRejected, "same vector"),
        ("wrong dimension", VectorRejected, "7 dimensions, expected 16"),
        ("too few", VectorRejected, "4 texts went in, 3 vectors came out"),
        ("too many", VectorRejected, "4 texts went in, 5 vectors came out"),
        ("same index", VectorRejected, "not 0 to 3"),
        ("no index", VectorRejected, "not 0 to 3"),
        ("bool index", VectorRejected, "not 0 to 3"),
        ("data is no list", EncoderUnavailable, "no list of embeddings"),
        ("entries are no objects", EncoderUnavailable, "no list of embeddings"),
        ("list", EncoderUnavailable, "no list of embeddings"),
        ("html", EncoderUnavailable, "not JSON"),
        ("deep", EncoderUnavailable, "not JSON"),
        ("redirect", EncoderUnavailable, "redirect .HTTP 307., which is refused"),
        ("500", EncoderUnavailable, "HTTP 500"),
        ("503", EncoderUnavailable, "HTTP 503"),
        ("429", EncoderUnavailable, "HTTP 429"),
        ("401", EncoderUnavailable, "HTTP 401"),
        ("404", EncoderUnavailable, "HTTP 404"),
        ("204", EncoderUnavailable, "HTTP 204"),
        ("retry later", EncoderUnavailable, "HTTP 429"),
        ("cut", EncoderUnavailable, "RemoteProtocolError"),
        ("hang up", EncoderUnavailable, "connection failed"),
    ],
)
def test_a_wrong_answer_is_an_error_that_names_who_and_what(
    server: Server, encoder: HttpEncoder, fault: str, kind: type[EncoderError], says: str
) -> None:
    """Every fault raises, names model, host and port, and never shows the key, not even in its causes."""
    server.fault = fault
    with pytest.raises(kind, match=says) as caught:
        encoder.encode_passages(TEXTS)
    assert str(caught.value).startswith(f"encoder bge-m3 at 127.0.0.1:{server.server_port}: ")
    assert KEY not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("fault", ["nan", "html", "500", "constant", "too few", "string"])
def test_a_server_that_answers_badly_cannot_be_measured(server: Server, fault: str) -> None:
    """Opening without a known dimension fails when the server's answer cannot be trusted."""
    server.fault = fault
    with pytest.raises(EncoderError):
        open_http(server.url, "m")


@pytest.mark.parametrize("fault", ["slow", "drip", "drip head", "still at it"])
@pytest.mark.parametrize("limit", ["timeout", "deadline"])
def test_a_slow_server_times_out(server: Server, fault: str, limit: str) -> None:
    """An answer that comes late, or head or body bit by bit for ever, is cut off by the timeout and by the deadline."""
    server.fault = fault
    made = open_http(server.url, "m", dimension=16, timeout=0.15 if limit == "timeout" else 60)
    deadline = Deadline(at=time.monotonic() + 0.15, clock=time.monotonic) if limit == "deadline" else None
    with in_time(), pytest.raises(EncoderTimeout, match=f"127.0.0.1:{server.server_port}"):
        made.encode_queries(["报销"], deadline=deadline)
    made.close()


def test_a_deadline_that_has_passed_asks_nobody(server: Server, encoder: HttpEncoder) -> None:
    """No request is sent when there is no time for it."""
    with pytest.raises(EncoderTimeout):
        encoder.encode_queries(["late"], deadline=Deadline(at=1.0, clock=lambda: 2.0))
    assert server.seen == []


def test_nobody_listens(server: Server) -> None:
    """A refused connection says so, with the address and a hint."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        made = open_http(f"http://127.0.0.1:{port}", "m", dimension=16)
        with pytest.raises(EncoderUnavailable, match=f"127.0.0.1:{port}: cannot be reached") as caught:
            made.encode_queries(["报销"])
        made.close()
    assert "running" in caught.value.hint


# --- trying again -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["429", "503", "hang up", "cut"])
def test_what_may_pass_is_tried_again(server: Server, encoder: HttpEncoder, fault: str) -> None:
    """Two failures that may pass are followed by a third attempt that counts."""
    server.faults = [fault, fault]
    assert encoder.encode_queries(["报销"]).shape == (1, 16)
    assert len(server.seen) == 3


@pytest.mark.parametrize(
    ("fault", "attempts"), [("503", 3), ("hang up", 3), ("500", 1), ("401", 1), ("nan", 1), ("retry later", 1)]
)
def test_attempts_are_bounded(server: Server, encoder: HttpEncoder, fault: str, attempts: int) -> None:
    """What may pass is tried three times, what will not only once; an hour's wait is not waited for."""
    server.fault = fault
    with pytest.raises(EncoderError):
        encoder.encode_queries(["报销"])
    assert len(server.seen) == attempts


def test_the_deadline_leaves_no_room_for_another_attempt(
    server: Server, encoder: HttpEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the pause would outlast the deadline, the failure is raised at once."""
    monkeypatch.setattr(json_endpoint, "_BACKOFF", HANGS)
    server.fault = "503"
    deadline = Deadline(at=time.monotonic() + HANGS / 2, clock=time.monotonic)
    with in_time(), pytest.raises(EncoderUnavailable, match="HTTP 503"):
        encoder.encode_queries(["报销"], deadline=deadline)
    assert len(server.seen) == 1


# --- as much as it takes -------------------------------------------------------------------------------------------


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_pace, "_FIRST_PAUSE", 0.01)


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("fault", ["429", "503", "413"])
def test_who_is_refused_asks_for_less(server: Server, encoder: HttpEncoder, fault: str) -> None:
    """A refusal halves the batch; every text has its vector all the same, in order."""
    server.faults = [fault, fault]
    found = encoder.encode_passages(TEXTS)
    assert np.allclose(found, MODEL.encode_passages(TEXTS), atol=1e-6)
    assert [len(body["input"]) for _, _, body in server.seen] == [4, 2, *[1] * 8, 2], (
        "after eight answers the batch grows"
    )


@pytest.mark.usefixtures("patient")
def test_a_batch_grows_again(server: Server, encoder: HttpEncoder) -> None:
    """After some answers in a row the batch grows, up to what was set."""
    server.faults = ["503"]
    texts = [f"text {number}" for number in range(60)]
    encoder.encode_passages(texts)
    sizes = [len(body["input"]) for _, _, body in server.seen]
    assert sizes[:2] == [4, 2]
    assert max(sizes[2:]) == 4


@pytest.mark.usefixtures("patient")
def test_refusals_are_bounded(server: Server, encoder: HttpEncoder) -> None:
    """A server that only refuses is an error at last, with its status; one text that is too large is so at once."""
    server.fault = "503"
    with pytest.raises(EncoderUnavailable, match="HTTP 503"):
        encoder.encode_passages(TEXTS)
    assert len(server.seen) < 12
    server.fault, server.seen = "413", []
    with pytest.raises(EncoderUnavailable, match="HTTP 413"):
        encoder.encode_passages(TEXTS[:1])
    assert len(server.seen) == 2


@pytest.mark.usefixtures("patient")
def test_requests_at_once_are_bounded(server: Server) -> None:
    """Of eight threads no more than two ask at the same time."""
    pace = request_pace.RequestPace(8, 2)
    most, now, lock = 0, 0, threading.Lock()

    def ask(_: int) -> None:
        nonlocal most, now
        with pace.request():
            with lock:
                now += 1
                most = max(most, now)
            time.sleep(0.01)
            with lock:
                now -= 1

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(ask, range(24)))
    assert most == 2


# --- the driver ---------------------------------------------------------------------------------------------------

REQUEST = httpx2.Request("POST", "http://h/v1/embeddings", headers={"Authorization": f"Bearer {KEY}"})
EXCEPTIONS = sorted(
    {
        thing
        for thing in vars(httpx2).values()
        if isinstance(thing, type) and issubclass(thing, Exception) and not issubclass(thing, Warning)
    },
    key=lambda kind: kind.__name__,
)


def made_of(kind: type[Exception]) -> Exception:
    if kind is httpx2.HTTPStatusError:
        return kind(KEY, request=REQUEST, response=httpx2.Response(500, request=REQUEST))  # type: ignore[call-arg]
    try:
        return kind(KEY)
    except TypeError:
        return kind()


@pytest.mark.parametrize("kind", EXCEPTIONS)
def test_every_exception_of_the_driver_is_translated(kind: type[Exception], monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever class of httpx2 the transport raises, the caller gets an encoder's error without the key in it."""
    monkeypatch.setattr(json_endpoint, "_BACKOFF", 0.0)

    def fail(_: httpx2.Request) -> httpx2.Response:
        raise made_of(kind)

    made = open_http("http://h", "m", key=KEY, dimension=16, transport=httpx2.MockTransport(fail))
    with pytest.raises(EncoderError, match="encoder m at h:80") as caught:
        made.encode_queries(["报销"])
    made.close()
    assert isinstance(caught.value, EncoderTimeout) == issubclass(kind, httpx2.TimeoutException)
    assert isinstance(caught.value.__cause__, kind)
    assert KEY not in str(caught.value)


def test_the_driver_s_exceptions_were_found() -> None:
    """The enumeration above holds the driver's whole tree."""
    assert {httpx2.ConnectTimeout, httpx2.InvalidURL, httpx2.StreamError, httpx2.CookieConflict} < set(EXCEPTIONS)
    assert len(EXCEPTIONS) >= 28


# --- settings -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url", ["", "localhost:8000", "ftp://h", "http://", "http://user:pass@h", "file:///etc/passwd", "http://h:x"]
)
def test_a_url_that_cannot_be_used_is_refused(url: str) -> None:
    """Only http and https with a host and without a password are addresses of an encoder."""
    with pytest.raises(ConfigError, match="URL") as caught:
        open_http(url, "m", dimension=16)
    assert "pass@" not in str(caught.value)


@pytest.mark.parametrize("key", ["sk\n123", "密钥", "a b", " sk"])
def test_a_key_that_cannot_be_a_header_is_refused_unseen(key: str) -> None:
    """A key with white space or other letters would be quoted by the driver, so it never gets there."""
    with pytest.raises(ConfigError, match="key") as caught:
        open_http("http://h", "m", key=key, dimension=16)
    assert key not in str(caught.value)


def test_an_answer_too_large_is_cut_off(
    server: Server, encoder: HttpEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server cannot fill the memory."""
    monkeypatch.setattr(json_endpoint, "_MOST_BYTES", 100)
    with pytest.raises(EncoderUnavailable, match="too large"):
        encoder.encode_queries(["报销"])
