"""Traces of the legs of a search, for whoever listens."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Protocol, TypeVar

from wenyuan.service.query import Query, SearchAnswer

# Traces of retrievals, where OpenTelemetry is switched on (`service.search.traces_otel`); elsewhere there are none.
#
# Without the setting nothing of OpenTelemetry is loaded.


T = TypeVar("T")

INCOMING: ContextVar[Mapping[str, str] | None] = ContextVar("wenyuan_trace", default=None)
"""``traceparent`` and ``tracestate`` of the request being answered, as a door received them (W3C Trace Context)."""


class LegTrace(Protocol):
    """The trace of a running leg."""

    def run(self, call: Callable[[], T]) -> T:
        """Call a function within this leg's span and return its result; outgoing requests belong to that span."""
        ...

    def end(self, state: str, result: object = None) -> None:
        """End the leg's span with its state (``ok``, ``failed``, ``timeout``) and what it found; the first call counts."""
        ...


class Traces(Protocol):
    """Creates a trace per retrieval, with a child span per leg."""

    def retrieval(self, query: Query) -> AbstractContextManager[Callable[[SearchAnswer], SearchAnswer]]:
        """A context for answering a `Query`. It yields a function that records the `SearchAnswer` and returns it; an
        exception marks the trace as failed.
        """
        ...

    def leg(self, leg: str, source: str) -> LegTrace | None:
        """The trace of a leg; None outside of a retrieval."""
        ...

    def after(self, leg: str) -> LegTrace:
        """The trace of a leg that follows the last retrieval of this thread, and belongs to it."""
        ...

    def carried(self) -> Mapping[str, str]:
        """HTTP headers that propagate the trace to another service."""
        ...
