"""Redaction of questions: what is asked is redacted before it is recorded, as documents are before they are stored."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from wenyuan.core.errors import KnowledgeError, LlmUnavailable
from wenyuan.core.model import Source
from wenyuan.core.ports import Deadline
from wenyuan.core.redaction.policy import KINDS, LEVELS, Level
from wenyuan.core.redaction.redact import Redaction
from wenyuan.runtime.deadlines import deadline_after
from wenyuan.runtime.shortage import is_shortage
from wenyuan.service.ingest.redaction import Redactor
from wenyuan.service.search.change_cache import PerChange

UNREADABLE = "unreadable"
"""Counted in the place of kinds: the question could not be redacted."""

_PATIENCE = 1.0  # seconds: a catalog that hangs is no reason to keep who asked waiting for a record

log = logging.getLogger(__name__)


class Questions:
    """Redacts questions by the strictest source's level, and at least by the configured one.

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
        self._redactions = PerChange(self._now)

    def text(self, text: str, change: int = 0) -> str:
        """A redacted question for storage or traces; ``""`` for one that cannot be redacted. `change`: see `kept`."""
        return str(self.kept({"query": text}, change)[0]["query"])

    def sent(self, text: str, change: int = 0) -> str:
        """A question as a language model is told it: redacted as it is kept.

        Raises:
            LlmUnavailable: it cannot be redacted.
        """
        told, found = self.kept({"query": text}, change)
        if UNREADABLE in found:
            raise LlmUnavailable("not asked: the question could not be redacted", component="llm")
        return str(told["query"])

    def kept(self, request: Mapping[str, Any], change: int = 0) -> tuple[Mapping[str, Any], Mapping[str, int]]:
        """A redacted request of `audit.request_entry.request_of`, and the number of redacted values by kind.

        Args:
            change: Of the catalog, when it is known: the registry is read once for each.

        A request that cannot be redacted is kept without its words, as `UNREADABLE` tells.
        """
        if self._least == "none" and not self.redacting(Source(source_id="questions")).erased:
            return request, {}
        counts: Counter[str] = Counter()
        try:
            return _redacted(request, self._redaction(change), counts), dict(counts)
        except Exception as error:
            # Where handles run out there are many of these, and none is a fault of the program.
            log.error(
                "a question could not be redacted: it is not kept", exc_info=None if is_shortage(error) else error
            )
            told = {**request, **dict.fromkeys(_WORDS, ""), "filter": None, "parameters": {}}
            return {**told, **({"wordings": []} if "wordings" in told else {})}, {UNREADABLE: 1}

    def _redaction(self, change: int) -> Redaction:
        return self._redactions.at(change) if change else self._now()

    def _now(self, _change: int = 0, _deadline: Deadline | None = None) -> Redaction:
        if self._least == "none":  # but for what was erased at somebody's request
            keep = {"redaction": {"actions": dict.fromkeys(KINDS, "keep")}}
            return self.redacting(Source(source_id="questions", settings=keep)).redaction
        return self.redacting(Source(source_id="questions", sensitivity=self._level())).redaction

    def _level(self) -> Level:
        """The strictest level of all sources; the strictest possible where the registry cannot be read."""
        least: Level = next(level for level in LEVELS if level == self._least)
        soon = deadline_after(_PATIENCE)
        try:
            return max((least, *(source.sensitivity for source in self._sources(soon))), key=LEVELS.index)
        except KnowledgeError:
            return LEVELS[-1]


_WORDS = ("query", "engineering_type", "task_id", "follow_up", "source_document_uri")


def _redacted(request: Mapping[str, Any], redaction: Redaction, counts: Counter[str]) -> dict[str, Any]:
    clean = dict(request)
    for name in _WORDS[:-1]:
        if request.get(name):
            told = redaction.text(request[name])
            clean[name] = told.text
            counts.update(told.counts)
    if uri := request.get("source_document_uri"):
        clean["source_document_uri"] = redaction.uri(uri)
        counts.update({"address": 1} if clean["source_document_uri"] != uri else {})
    for name in ("processes", "rewritten"):
        if request.get(name):
            each = [redaction.text(text) for text in request[name]]
            clean[name] = [one.text for one in each]
            for one in each:
                counts.update(one.counts)
    if request.get("wordings"):
        clean["wordings"] = [[redaction.text(pair).text for pair in pairs] for pairs in request["wordings"]]
    for name in ("filter", "parameters"):
        if request.get(name):
            clean[name] = _values("", request[name], redaction, counts)
    return clean


def _values(name: str, value: Any, redaction: Redaction, counts: Counter[str]) -> Any:
    """Redact the values in a filter or in parameters; a value's name may indicate that it is personal."""
    if isinstance(value, Mapping):
        inner = {"ge", "le"} >= set(value)
        return {key: _values(name if inner else key, item, redaction, counts) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_values(name, item, redaction, counts) for item in value]
    return value if value is None else redaction.facet(name, value, counts)
