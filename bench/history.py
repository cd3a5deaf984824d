"""What several servers on one record may answer at any moment: a history of changes, and every answer that it must explain.

A history is a list of operations on objects (a document, an agent's scope, a key), each with the times between which it
took effect. An answer is explained if at some moment between its beginning and its end all that it says was so. What an
operation left behind that was cut off is not known until the next one of its object is through.
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

FOREVER = float("inf")
Span = tuple[float, float]
_ROUNDED = 0.2  # seconds by which `stale_by` is rounded, and a change was known before its end


@dataclass(slots=True)
class Operation:
    """A change of one object. `ended` is when it was acknowledged; forever, if it was cut off."""

    value: Any
    begun: float
    ended: float = FOREVER


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """An answer as it was given.

    Attributes:
        key: By whose key it was asked; `refused`: that it does not count (any more).
        scope: Of which object the caller's sources are.
        documents: By document that could be seen, its version; None: it was not among what was given.
        sources: Those of which something was given.
        stale_by: Seconds that it says it is behind.
        server: Which one was asked.
    """

    begun: float
    ended: float
    server: int
    key: Hashable
    scope: Hashable
    refused: bool = False
    documents: Mapping[tuple[str, int], int | None] = field(default_factory=dict)
    stale_by: float = 0.0
    how: str = ""


class History:
    """Operations by object. Thread-safe; the operations of one object follow one another."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: dict[Hashable, list[Operation]] = defaultdict(list)
        self._spans: dict[Hashable, tuple[tuple[int, int], list[tuple[Any, Span]]]] = {}

    def begin(self, values: Mapping[Hashable, Any]) -> None:
        """From now on the objects may be so; until `acknowledged`, they may be as before, too."""
        begun = time.monotonic()
        with self._lock:
            for name, value in values.items():
                self._held[name].append(Operation(value, begun))

    def acknowledged(self, names: Iterable[Hashable]) -> None:
        """The objects are as was last said of them, and no longer as before."""
        now = time.monotonic()
        with self._lock:
            for name in names:
                if self._held[name] and self._held[name][-1].ended == FOREVER:
                    self._held[name][-1].ended = now

    def settled(self, names: Iterable[Hashable]) -> bool:
        """Whether it is known of all objects how they are."""
        with self._lock:
            return all(not self._held[name] or self._held[name][-1].ended < FOREVER for name in names)

    def spans(self, name: Hashable) -> list[tuple[Any, Span]]:
        """The values of an object, each with the time in which it may have been so; both ends grow."""
        with self._lock:
            held = list(self._held[name])
            key = len(held), sum(one.ended < FOREVER for one in held)
            if name in self._spans and self._spans[name][0] == key:
                return self._spans[name][1]
        found, end = list[tuple[Any, Span]](), FOREVER
        for one in reversed(held):  # a value may be there until the next one that was acknowledged
            found.append((one.value, (one.begun, end)))
            end = min(end, one.ended)
        found.append((None, (0.0, end)))
        found.reverse()
        self._spans[name] = key, found
        return found

    def within(self, name: Hashable, begun: float, ended: float) -> list[tuple[Any, Span]]:
        """Those of the values that may have been so between two times."""
        spans = self.spans(name)
        first = bisect_left(spans, begun, key=lambda one: one[1][1])
        last = bisect_right(spans, ended, key=lambda one: one[1][0])
        return [(value, (max(a, begun), min(b, ended))) for value, (a, b) in spans[first:last]]


def common(first: Iterable[Span], second: Iterable[Span]) -> list[Span]:
    """The times that lie in one span of each."""
    others = list(second)
    found = [(max(a, c), min(b, d)) for a, b in first for c, d in others]
    merged = list[Span]()
    for begun, ended in sorted(one for one in found if one[0] <= one[1]):
        if merged and begun <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], ended)
        else:
            merged.append((begun, ended))
    return merged


def unexplained(history: History, answer: Answered) -> str:
    """Why no moment between its beginning and its end explains an answer; "" where one does."""

    taken = [value for value, _ in history.within(answer.key, answer.begun, answer.ended)]
    if all(bool(value) == answer.refused for value in taken):
        return f"the key {answer.key} was {'refused' if answer.refused else 'taken'}, and was not so at any moment"
    scopes = list(dict.fromkeys(value for value, _ in history.within(answer.scope, answer.begun, answer.ended)))
    faults = [_apart(history, answer, scope) for scope in scopes]
    return (
        ""
        if "" in faults
        else f"{answer.how} by {answer.scope}, behind by {answer.stale_by} s: {'; or '.join(faults)}"
    )


def _apart(history: History, answer: Answered, scope: Any) -> str:
    """Why no moment explains the documents of an answer to somebody with this scope; "" where one does.

    What somebody may read is looked up when a question begins, and its documents are of one moment after that.
    """
    moments = [(answer.begun, answer.ended)]
    for (source, number), version in answer.documents.items():
        name, inside = ("document", source, number), source in (scope or ())
        values = history.within(name, answer.begun, answer.ended)
        seen = [span for value, span in values if value == version] if inside or version is None else []
        early = answer.begun - answer.stale_by - _ROUNDED
        if version is None and (
            not inside or (answer.stale_by and len(history.within(name, early, answer.ended)) > 1)
        ):
            continue
        if answer.stale_by and seen:  # it says that domains it asked may be of several states
            continue
        moments = common(moments, seen)
        if not moments:
            told = "nothing" if version is None else f"version {version}"
            beside = sum(one is not None for one in answer.documents.values())
            return f"with {scope}, {told} of {source}/{number} beside {beside} documents, of {[value for value, _ in values]}"
    return ""


def gone_back(answers: Iterable[Answered]) -> list[str]:
    """Documents of which a question got an older version than a question before it that had ended when it began."""
    by_document: dict[tuple[str, int], list[tuple[float, float, int]]] = defaultdict(list)
    for answer in answers:
        for name, version in answer.documents.items():
            if version is not None:
                by_document[name].append((answer.begun, answer.ended, version))
    wrong = []
    for name, reads in by_document.items():
        ends, newest, at = sorted(reads, key=lambda read: read[1]), 0, 0
        for begun, _, version in sorted(reads):
            while at < len(ends) and ends[at][1] < begun:
                newest, at = max(newest, ends[at][2]), at + 1
            if version < newest:
                wrong.append(f"{name}: version {version} after {newest}")
    return wrong
