"""The reranker behind HTTP, in every dialect, against a real server on this machine that misbehaves on demand."""

from __future__ import annotations

import socket
import time
import traceback
from collections.abc import Iterator

import pytest

from rerank_server import KEY, Server, overlap, serving
from wenyuan.core.errors import ConfigError, RerankerError, RerankerTimeout, RerankerUnavailable, ScoresRejected
from wenyuan.core.ports import Deadline, Reranker
from wenyuan.core.scoring.blending import probability
from wenyuan.encoders.http import Dialect, HttpReranker
from wenyuan.runtime import json_endpoint

DIALECTS: tuple[Dialect, ...] = ("jina", "cohere", "tei")
QUERY = "年假 leave"
TEXTS = ["年假为五天", "annual leave", "扭矩扳手", "年假 leave 可以结转"]


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with serving() as server:
        yield server


@pytest.fixture
def server(running: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    running.fault, running.favourite, running.seen = "", "", []
    monkeypatch.setattr(json_endpoint, "_BACKOFF", 0.01)
    return running


def soon(seconds: float = 20.0) -> Deadline:
    return Deadline(time.monotonic() + seconds, time.monotonic)


def opened(server: Server, dialect: Dialect, **more: object) -> HttpReranker:
    return HttpReranker(server.url, dialect, "bge-reranker", key=KEY, **{"timeout": 10, **more})  # type: ignore[arg-type]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_scores_come_back_in_the_order_of_the_texts(server: Server, dialect: Dialect) -> None:
    """The server sorts by relevance; indexes say whose score it is. Batches are joined."""
    made = opened(server, dialect, batch=3)
    assert made.rerank(QUERY, TEXTS, deadline=soon()) == pytest.approx([overlap(QUERY, text) for text in TEXTS])
    assert len(server.seen) == 2
    assert made.rerank(QUERY, [], deadline=soon()) == []
    assert isinstance(made, Reranker)
    made.close()


def test_each_dialect_says_what_its_protocol_wants(server: Server) -> None:
    """Path, key and body are those of Jina, of Cohere and of TEI."""
    for dialect in DIALECTS:
        made = opened(server, dialect)
        made.rerank("q", ["a", "b"], deadline=soon())
        made.close()
    named = {"model": "bge-reranker", "query": "q", "documents": ["a", "b"], "top_n": 2}
    assert server.seen == [
        ("/v1/rerank", f"Bearer {KEY}", named | {"return_documents": False}),
        ("/v2/rerank", f"Bearer {KEY}", named),
        ("/rerank", f"Bearer {KEY}", {"query": "q", "texts": ["a", "b"], "raw_scores": False, "truncate": True}),
    ]


@pytest.mark.parametrize(("given", "asked"), [("/v1", "/v1/rerank"), ("/x/rerank/", "/x/rerank")])
def test_the_url_may_name_the_api_or_the_endpoint(server: Server, given: str, asked: str) -> None:
    """What the URL says of the path is kept."""
    made = HttpReranker(server.url + given, "cohere", "m")
    made.rerank("q", ["a"], deadline=soon())
    made.close()
    assert [path for path, _, _ in server.seen] == [asked]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_logits_become_probabilities(server: Server, dialect: Dialect) -> None:
    """A server that gives logits is told by a setting, and its numbers become 0..1 by the sigmoid."""
    server.fault = "" if dialect == "tei" else "logits"
    made = opened(server, dialect, logits=True)
    expected = [probability(8 * overlap(QUERY, text) - 4) for text in TEXTS]
    assert made.rerank(QUERY, TEXTS, deadline=soon()) == pytest.approx(expected)
    assert made.fingerprint != opened(server, dialect).fingerprint
    made.close()


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    ("fault", "kind", "says"),
    [
        ("too few", ScoresRejected, "4 texts went in, 3 scores came out"),
        ("too many", ScoresRejected, "4 texts went in, 5 scores came out"),
        ("twice", ScoresRejected, "not 0 to 3"),
        ("unknown", ScoresRejected, "not 0 to 3"),
        ("negative", ScoresRejected, "not 0 to 3"),
        ("bool", ScoresRejected, "not 0 to 3"),
        ("nan", ScoresRejected, "NaN or infinite"),
        ("infinity", ScoresRejected, "NaN or infinite"),
        ("huge", ScoresRejected, "NaN or infinite|not JSON"),
        ("null", ScoresRejected, "no number"),
        ("text", ScoresRejected, "no number"),
        ("no score", ScoresRejected, "no number"),
        ("above one", ScoresRejected, "1.5, which is not in 0..1"),
        ("logits", ScoresRejected, "not in 0..1"),
        ("no objects", RerankerUnavailable, "no list of scores"),
        ("no list", RerankerUnavailable, "no list of scores"),
        ("html", RerankerUnavailable, "not JSON"),
        ("deep", RerankerUnavailable, "not JSON"),
        ("redirect", RerankerUnavailable, "redirect .HTTP 307., which is refused"),
        ("500", RerankerUnavailable, "HTTP 500"),
        ("503", RerankerUnavailable, "HTTP 503"),
        ("401", RerankerUnavailable, "HTTP 401"),
    ],
)
def test_a_wrong_answer_is_an_error_that_names_who_and_what(
    server: Server, dialect: Dialect, fault: str, kind: type[RerankerError], says: str
) -> None:
    """Every fault raises, names model, host and port, and never shows the key, not even in its causes."""
    server.fault = fault
    made = opened(server, dialect)
    with pytest.raises(kind, match=says) as caught:
        made.rerank(QUERY, TEXTS, deadline=soon())
    made.close()
    assert str(caught.value).startswith(f"reranker bge-reranker at 127.0.0.1:{server.server_port}: ")
    assert KEY not in "".join(traceback.format_exception(caught.value))


def test_the_other_dialect_is_found_out(server: Server) -> None:
    """A list where an object was expected is a failure whose hint names the setting."""
    made = HttpReranker(f"{server.url}/rerank", "jina", "m")
    server.fault = "no list"
    with pytest.raises(RerankerUnavailable) as caught:
        made.rerank("q", ["a"], deadline=soon())
    made.close()
    assert "reranker.dialect" in caught.value.hint


def test_a_slow_server_times_out(server: Server) -> None:
    """The deadline of the request and the reranker's own time both end the wait."""
    server.fault = "slow"
    made = opened(server, "tei")
    with pytest.raises(RerankerTimeout):
        made.rerank("q", ["a"], deadline=soon(0.1))
    made.close()
    made = opened(server, "tei", timeout=0.1)
    with pytest.raises(RerankerTimeout):
        made.rerank("q", ["a"], deadline=soon())
    made.close()


def test_a_deadline_that_has_passed_asks_nobody(server: Server) -> None:
    """No request is sent when there is no time for it."""
    made = opened(server, "jina")
    with pytest.raises(RerankerTimeout):
        made.rerank("q", ["late"], deadline=Deadline(at=1.0, clock=lambda: 2.0))
    made.close()
    assert server.seen == []


def test_nobody_listens() -> None:
    """A refused connection says so, with the address and a hint."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        made = HttpReranker(f"http://127.0.0.1:{port}", "tei", "")
        with pytest.raises(RerankerUnavailable, match=f"reranker at 127.0.0.1:{port}: cannot be reached") as caught:
            made.rerank("q", ["a"], deadline=soon())
        made.close()
    assert "running" in caught.value.hint


def test_an_answer_too_large_is_cut_off(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server cannot fill the memory."""
    monkeypatch.setattr(json_endpoint, "_MOST_BYTES", 20)
    made = opened(server, "jina")
    with pytest.raises(RerankerUnavailable, match="too large"):
        made.rerank(QUERY, TEXTS, deadline=soon())
    made.close()


@pytest.mark.parametrize("url", ["", "localhost:8000", "ftp://h", "http://user:pass@h", "http://h:x"])
def test_a_url_that_cannot_be_used_is_refused(url: str) -> None:
    """Only http and https with a host and without a password are addresses of a reranker."""
    with pytest.raises(ConfigError, match="the reranker's URL") as caught:
        HttpReranker(url, "tei", "")
    assert "pass@" not in str(caught.value)


def test_a_model_must_be_named_where_the_dialect_wants_one() -> None:
    """TEI serves one model; the others are asked for one by name."""
    for dialect in ("jina", "cohere"):
        with pytest.raises(ConfigError, match=r"reranker\.model"):
            HttpReranker("http://h", dialect, "")
    with pytest.raises(ConfigError, match="key"):
        HttpReranker("http://h", "tei", "", key="a b")
