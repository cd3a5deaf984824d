"""OpenTelemetry spans of retrievals: what they say, whose they are, and that they are not there unless asked for."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

import wenyuan
from doors import broken, foreign_library, served
from http_door import JSON, call
from listening import listening
from mcp_clients import calling, over_http
from wenyuan import RetrievalRequest
from wenyuan.core.errors import EngineError

QUERIES = ("客户投诉多久响应", "database connection pool")
TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    """What a provider of this process has been given; no other test sees it."""
    kept = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    yield kept
    provider.shutdown()


@pytest.fixture
def library(tmp_path: Path, spans: InMemorySpanExporter) -> Iterator[Any]:
    with foreign_library(tmp_path, tracing={"enabled": True}) as found:
        assert spans.get_finished_spans() == ()  # what a library measures of itself is nobody's request
        yield found


def told(spans: InMemorySpanExporter) -> tuple[ReadableSpan, dict[str, ReadableSpan]]:
    """The one retrieval, and its legs by name."""
    found = spans.get_finished_spans()
    (retrieval,) = (span for span in found if span.name.startswith("retrieval "))
    legs = {span.name: span for span in found if span is not retrieval}
    assert all(span.parent.span_id == retrieval.context.span_id for span in legs.values())
    return retrieval, legs


@pytest.mark.parametrize("query", QUERIES)
def test_a_retrieval_is_a_span_with_its_legs(library: Any, spans: InMemorySpanExporter, query: str) -> None:
    """The names are those of the conventions; legs say state and hits, and lie within; no text of anybody is in them."""
    fragments = library.retrieve_fragments(RetrievalRequest(query=query, max_results=3)).fragments
    retrieval, legs = told(spans)
    name = library.catalog.library_id()
    assert retrieval.name == f"retrieval {name}"
    assert retrieval.kind is SpanKind.CLIENT
    assert dict(retrieval.attributes) == {
        "gen_ai.operation.name": "retrieval", "gen_ai.provider.name": "wenyuan", "gen_ai.data_source.id": name,
        "gen_ai.request.top_k": 3.0, "wenyuan.mode": "hybrid", "wenyuan.hits": len(fragments),
        "wenyuan.generation": library.catalog.seq(), "wenyuan.degraded": (),
    }  # fmt: skip
    assert {"leg keyword", "leg vector"} <= legs.keys()
    for leg in legs.values():
        assert leg.attributes["wenyuan.state"] == "ok"
        assert retrieval.start_time <= leg.start_time <= leg.end_time <= retrieval.end_time
    assert legs["leg keyword"].attributes["wenyuan.hits"] > 0
    everything = json.dumps([span.to_json() for span in (retrieval, *legs.values())], ensure_ascii=False)
    assert not any(text in everything for text in (query, fragments[0].content[:12], "policy.md"))


def test_legs_that_share_a_thread_are_legs_of_the_retrieval(tmp_path: Path, spans: InMemorySpanExporter) -> None:
    """Where all is computed in this process, the call that runs the legs in sequence is no leg, nor above them."""
    with foreign_library(tmp_path, tracing={"enabled": True}, encoder={"kind": "none"}) as library:
        library.search(QUERIES[1], limit=2)
    _, legs = told(spans)
    assert "leg keyword" in legs
    assert all(leg.attributes["wenyuan.leg"] for leg in legs.values())


def test_content_only_where_it_is_asked_for(tmp_path: Path, spans: InMemorySpanExporter) -> None:
    """With the setting the span has the query, and address and score of what was found."""
    with foreign_library(tmp_path, tracing={"enabled": True, "content": True}) as library:
        hits = library.search(QUERIES[0], limit=2)
    retrieval, _ = told(spans)
    assert retrieval.attributes["gen_ai.retrieval.query.text"] == QUERIES[0]
    documents = json.loads(str(retrieval.attributes["gen_ai.retrieval.documents"]))
    assert documents == [{"id": hits.passages[h.passage_id].ref, "score": h.score} for h in hits.hits]


def test_a_failure_is_an_error_of_the_span(library: Any, spans: InMemorySpanExporter) -> None:
    """Its kind is told, not its words, which may quote the question; the answer is FAILED all the same."""
    with broken(library):
        assert library.retrieve_fragments(RetrievalRequest(query=QUERIES[0], max_results=3)).status == "FAILED"
    retrieval, _ = told(spans)
    assert retrieval.status.status_code is StatusCode.ERROR
    assert (retrieval.status.description, retrieval.events) == (None, ())
    assert retrieval.attributes["error.type"] == "engine_unavailable"


def test_a_leg_that_fails_says_so(library: Any, spans: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch) -> None:
    """One leg is an error, the other is not."""

    def lost(*_: Any, **__: Any) -> Any:
        raise EngineError("lost", component="engine")

    monkeypatch.setattr(library.engine, "keyword", lost)
    assert library.retrieve_fragments(RetrievalRequest(query=QUERIES[0], max_results=3)).status == "FAILED"
    leg = told(spans)[1]["leg keyword"]
    assert (leg.attributes["wenyuan.state"], leg.status.status_code) == ("failed", StatusCode.ERROR)


@pytest.mark.parametrize("door", ["rest", "search", "dify", "stores", "mcp"])
def test_the_trace_of_the_caller_goes_on(library: Any, spans: InMemorySpanExporter, door: str) -> None:
    """By every door the retrieval is below the caller's span; one that is no such header begins a trace of its own."""
    bodies = {
        "rest": ("/v1/retrieve_fragments", {"query": QUERIES[0], "max_results": 3}),
        "search": ("/v1/search", {"query": QUERIES[0]}),
        "dify": ("/retrieval", {"knowledge_id": "all", "query": QUERIES[0],
                                "retrieval_setting": {"top_k": 3, "score_threshold": 0.0}}),
        "stores": ("/v1/vector_stores/all/search", {"query": QUERIES[0]}),
    }  # fmt: skip
    with served(library) as url:
        for header, expected in ((f"00-{TRACE}-{PARENT}-01", PARENT), ("00-nonsense", None)):
            spans.clear()
            if door == "mcp":
                over_http(url, calling("retrieve_fragments", query=QUERIES[0], max_results=3), traceparent=header)
            else:
                path, body = bodies[door]
                assert call(url, "POST", path, body, {**JSON, "traceparent": header}).status == 200
            retrieval, _ = told(spans)
            assert (retrieval.parent and f"{retrieval.parent.span_id:016x}") == expected
            if expected:
                assert f"{retrieval.context.trace_id:032x}" == TRACE


def test_the_trace_goes_on_elsewhere(library: Any, spans: InMemorySpanExporter) -> None:
    """A source of type api is told of the trace, as part of the leg that asks it."""
    heard: list[str] = []

    class Elsewhere(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            heard.append(self.headers.get("traceparent", ""))
            body = b'{"status": "SUCCESS", "fragments": []}'
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None: ...

    with listening(ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere)) as url:
        settings = {"url": f"{url}/", "allow_private": True}
        library.catalog.put_source(wenyuan.Source(source_id="elsewhere", type="api", settings=settings))
        library.search(QUERIES[0])
    retrieval, legs = told(spans)
    leg = legs["leg outside"]
    assert [one[:-3] for one in heard] == [f"00-{retrieval.context.trace_id:032x}-{leg.context.span_id:016x}"]
    assert leg.attributes["gen_ai.data_source.id"] == "elsewhere"


def test_off_by_default(tmp_path: Path, spans: InMemorySpanExporter) -> None:
    """Without the setting there is no span, and nothing of OpenTelemetry is loaded."""
    with foreign_library(tmp_path) as library:
        library.search(QUERIES[0])
    assert spans.get_finished_spans() == ()
    code = (
        "import sys, wenyuan\n"
        f"with wenyuan.open({str(tmp_path / 'library')!r}, encoder={{'kind': 'hashing'}}) as library:\n"
        "    assert library.search('customer complaint').hits\n"
        "print([name for name in sys.modules if name.startswith('opentelemetry')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_it_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Switched on where the package is not installed, the library is not opened."""
    wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "hashing"}).close()
    monkeypatch.setitem(sys.modules, "wenyuan.service.search.traces_otel", None)
    with pytest.raises(wenyuan.KnowledgeError, match="needs OpenTelemetry"):
        wenyuan.open(tmp_path / "library", encoder={"kind": "hashing"}, tracing={"enabled": True})
