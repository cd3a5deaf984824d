"""Where traces of retrievals go: nowhere, unless OpenTelemetry is switched on (`traces_otel`).

The rooms below know this module only; without the setting nothing of OpenTelemetry is loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from typing import Protocol, TypeVar

from wenyuan.service.answer import Answer, Query

__all__ = ["INCOMING", "NO_TRACES", "LegTrace", "Traces"]

T = TypeVar("T")

INCOMING: ContextVar[Mapping[str, str] | None] = ContextVar("wenyuan_trace", default=None)
"""``traceparent`` and ``tracestate`` of the request being answered, as a door received them (W3C Trace Context)."""


class LegTrace(Protocol):
    """One leg under way."""

    def run(self, call: Callable[[], T]) -> T:
        """The call's result; what it asks elsewhere belongs to this leg."""
        ...

    def end(self, state: str, hits: int | None = None) -> None:
        """How it went: ``ok``, ``failed``, ``timeout``; of several words the first counts."""
        ...


class Traces(Protocol):
    """Makes a trace of each retrieval, with a part for each leg."""

    def retrieval(self, query: Query) -> AbstractContextManager[Callable[[Answer], Answer]]:
        """While a `Query` is answered; the function takes the `Answer`, and gives it back. What is raised inside is its failure."""
        ...

    def leg(self, leg: str, source: str) -> LegTrace: ...

    def carried(self) -> Mapping[str, str]:
        """Headers by which another service goes on with this trace."""
        ...


class _Nothing:
    """Nobody wants to know."""

    def retrieval(self, _query: Query) -> AbstractContextManager[Callable[[Answer], Answer]]:
        return _QUIET

    def leg(self, _leg: str, _source: str) -> LegTrace:
        return self

    def carried(self) -> Mapping[str, str]:
        return {}

    def run(self, call: Callable[[], T]) -> T:
        return call()

    def end(self, state: str, hits: int | None = None) -> None: ...


def _unheard(answer: Answer) -> Answer:
    return answer


_QUIET = nullcontext(_unheard)
NO_TRACES = _Nothing()
