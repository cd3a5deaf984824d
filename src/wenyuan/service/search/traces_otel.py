"""Traces as OpenTelemetry spans, by the GenAI semantic conventions for retrieval.

Of the conventions (status: Development) the state of mid 2026 is kept to, which builds on the semantic conventions
1.41.1: https://github.com/open-telemetry/semantic-conventions-genai, section "Retrievals". What they have no name for
begins with ``wenyuan.``. Only the API is needed here: the operator configures where spans are sent.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from opentelemetry import context, trace
from opentelemetry.trace import Span, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from wenyuan.core.errors import KnowledgeError
from wenyuan.service.query import Query, SearchAnswer
from wenyuan.service.search.traces import INCOMING, LegTrace

T = TypeVar("T")
_CARRIER = TraceContextTextMapPropagator()
_WITHIN = context.create_key("wenyuan-retrieval")
"""Set while a retrieval of ours is traced: what a library asks of its own index besides is nobody's request."""

_LAST: ContextVar[context.Context | None] = ContextVar("wenyuan_last_retrieval", default=None)
"""The last retrieval of this thread, though it has ended: whom a judge is asked for."""


class OtelTraces:
    """OpenTelemetry traces: one span per retrieval, below the caller's span, and a child span per leg.

    Args:
        library_id: What the library is called: the data source.
        content: Whether spans hold the query's text, and ids and scores of what was found.
        shown: What the text is shown as: redacted.
        provider: Where spans go; None for the process's own.
    """

    def __init__(
        self, library_id: str, *, content: bool, shown: Callable[[str], str] = str,
        provider: trace.TracerProvider | None = None,
    ) -> None:  # fmt: skip
        self._library_id = library_id
        self._content = content
        self._shown = shown
        self._tracer = trace.get_tracer("wenyuan", tracer_provider=provider)

    @contextmanager
    def retrieval(self, query: Query) -> Iterator[Callable[[SearchAnswer], SearchAnswer]]:
        """See `Traces.retrieval`."""
        above = context.get_current()
        if not trace.get_current_span(above).get_span_context().is_valid:
            above = _CARRIER.extract(dict(INCOMING.get() or {}), above)
        asked: dict[str, str | float] = {
            "gen_ai.operation.name": "retrieval",
            "gen_ai.provider.name": "wenyuan",
            "gen_ai.data_source.id": self._library_id,
            "gen_ai.request.top_k": float(query.limit),
        }
        if self._content:
            asked["gen_ai.retrieval.query.text"] = self._shown(query.text)
        with self._tracer.start_as_current_span(
            f"retrieval {self._library_id}", above, SpanKind.CLIENT, asked,
            record_exception=False, set_status_on_exception=False,
        ) as span:  # fmt: skip
            within = context.attach(context.set_value(_WITHIN, True))
            try:
                yield lambda answer: self._answered(span, answer)
            except BaseException as error:
                code = error.code if isinstance(error, KnowledgeError) else type(error).__qualname__
                span.set_attribute("error.type", code)
                span.set_status(Status(StatusCode.ERROR))  # a message may quote the question
                raise
            finally:
                context.detach(within)
                _LAST.set(trace.set_span_in_context(span))

    def _answered(self, span: Span, answer: SearchAnswer) -> SearchAnswer:
        span.set_attributes(
            {
                "wenyuan.mode": answer.mode,
                "wenyuan.hits": len(answer.hits),
                "wenyuan.generation": answer.generation,
                "wenyuan.degraded": answer.degraded,
            }
        )
        if self._content:
            found = [{"id": answer.passages[hit.passage_id].ref, "score": hit.score} for hit in answer.hits]
            span.set_attribute("gen_ai.retrieval.documents", json.dumps(found, ensure_ascii=False))
        return answer

    def leg(self, leg: str, source: str) -> LegTrace | None:
        """See `Traces.leg`."""
        if not context.get_value(_WITHIN):
            return None
        told = {"wenyuan.leg": leg, **({"gen_ai.data_source.id": source} if source else {})}
        return _LegSpan(self._tracer.start_span(f"leg {leg}", attributes=told))

    def after(self, leg: str) -> LegTrace:
        """See `Traces.after`."""
        return _LegSpan(self._tracer.start_span(f"leg {leg}", _LAST.get(), attributes={"wenyuan.leg": leg}))

    def carried(self) -> Mapping[str, str]:
        """See `Traces.carried`."""
        headers: dict[str, str] = {}
        _CARRIER.inject(headers)
        return headers


class _LegSpan:
    """The span of one leg; it ends when the leg ends, or when the request gives it up."""

    def __init__(self, span: Span) -> None:
        self._span = span
        self._done = 0

    def run(self, call: Callable[[], T]) -> T:
        with trace.use_span(self._span, record_exception=False, set_status_on_exception=False):
            try:
                return call()
            finally:
                self._done = time.time_ns()

    def end(self, state: str, result: object = None) -> None:
        if not self._span.is_recording():
            return
        self._span.set_attribute("wenyuan.state", state)
        if (hits := _size(result)) is not None:
            self._span.set_attribute("wenyuan.hits", hits)
        if state != "ok":
            self._span.set_attribute("error.type", state)
            self._span.set_status(Status(StatusCode.ERROR))
        self._span.end(self._done or None)


def _size(result: Any) -> int | None:
    """Number of hits of a leg's result, if it has any."""
    found: Any = result[0] if isinstance(result, tuple) and result else result
    found = getattr(found, "hits", getattr(found, "found", getattr(found, "scores", found)))
    return len(found) if hasattr(found, "__len__") else None
