"""Redaction of questions: what is asked is redacted before it is recorded, as documents are before they are stored."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from wenyuan.core.errors import KnowledgeError
from wenyuan.core.model import Source
from wenyuan.core.ports import Deadline
from wenyuan.core.redact import LEVELS, Level, Redaction
from wenyuan.service.redaction import Redactor

__all__ = ["UNREADABLE", "Questions"]

UNREADABLE = "unreadable"
"""Counted in the place of kinds: the question could not be redacted."""

_PATIENCE = 1.0  # seconds: a catalog that hangs is no reason to keep who asked waiting for a record

log = logging.getLogger(__name__)


class Questions:
    """Redacts questions as strictly as the strictest source of the library demands, and at least as a setting says.

    Args:
        redacting: What is taken out of a source's documents; questions are redacted as those of one would be.
        sources: Reads the registry.
        least: The least strict level, or ``none``: questions are kept as they were asked.
    """

    def __init__(
        self, redacting: Callable[[Source], Redactor], sources: Callable[[Deadline], Iterable[Source]], least: str
    ) -> None:
        self.redacting = redacting
        self._sources = sources
        self._least = least
        self._known: tuple[int, Redaction] | None = None

    def text(self, text: str) -> str:
        """A question that is kept, or shown in a trace; ``""`` for one that cannot be redacted."""
        return str(self.kept({"query": text})[0]["query"])

    def kept(self, request: Mapping[str, Any], change: int = 0) -> tuple[Mapping[str, Any], Mapping[str, int]]:
        """A request of `audit.request_of` as it is kept, and how many values of each kind were taken out.

        Args:
            change: Of the catalog, when it is known: the registry is read once for each.

        A request that cannot be redacted is kept without its words, as `UNREADABLE` tells.
        """
        if self._least == "none":
            return request, {}
        counts: Counter[str] = Counter()
        try:
            return _redacted(request, self._redaction(change), counts), dict(counts)
        except Exception:
            log.exception("a question could not be redacted: it is not kept")
            return {**request, **dict.fromkeys(_WORDS, ""), "filter": None, "parameters": {}}, {UNREADABLE: 1}

    def _redaction(self, change: int) -> Redaction:
        if self._known is None or change == 0 or self._known[0] != change:
            self._known = (
                change,
                self.redacting(Source(source_id="questions", sensitivity=self._level())).redaction,
            )
        return self._known[1]

    def _level(self) -> Level:
        """The strictest level of all sources; the strictest there is where the registry cannot be read."""
        least: Level = next(level for level in LEVELS if level == self._least)
        soon = Deadline(time.monotonic() + _PATIENCE, time.monotonic)
        try:
            return max((least, *(source.sensitivity for source in self._sources(soon))), key=LEVELS.index)
        except KnowledgeError:
            return LEVELS[-1]


_WORDS = ("query", "engineering_type", "task_id", "source_document_uri")


def _redacted(request: Mapping[str, Any], redaction: Redaction, counts: Counter[str]) -> dict[str, Any]:
    def words(text: str) -> str:
        found = redaction.text(text)
        counts.update(found.counts)
        return found.text

    clean = {name: words(value) if name in _WORDS[:3] and value else value for name, value in request.items()}
    if uri := request.get("source_document_uri"):
        clean["source_document_uri"] = redaction.uri(uri)
        counts.update({"address": 1} if clean["source_document_uri"] != uri else {})
    if request.get("processes"):
        clean["processes"] = [words(each) for each in request["processes"]]
    for name in ("filter", "parameters"):
        if request.get(name):
            clean[name] = _values("", request[name], redaction, counts)
    return clean


def _values(name: str, value: Any, redaction: Redaction, counts: Counter[str]) -> Any:
    """The values of a filter or of parameters; each is read with its name, which may be the cue."""
    if isinstance(value, Mapping):
        inner = {"ge", "le"} >= set(value)
        return {key: _values(name if inner else key, item, redaction, counts) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_values(name, item, redaction, counts) for item in value]
    return value if value is None else redaction.facet(name, value, counts)
