"""What of a passage is given: its own words at their place in the document, or a summary in other words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from wenyuan.core.model import ORIGIN_PRIORITY, Passage
from wenyuan.core.text.boundaries import Span, clauses, sentences, trimmed
from wenyuan.core.text.folding import fold
from wenyuan.core.text.injection import visible
from wenyuan.core.text.summaries import merged

Place = tuple[Any, ...]
_ELISION = re.compile(r"\s*…+\s*")
_MARK = r"[\s,.:;!?'\"“”‘’()\[\]{}、。《》【】「」|#`…·*_]"
# Left out of comparison, but not between digits: 3.5 is not 35.
_MARKS = re.compile(rf"(?:(?<![0-9]){_MARK}|{_MARK}(?![0-9]))+")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredPassage:
    """A passage on its way into a context.

    Attributes:
        score: 0..1.
        summary: Of the passage; ``""`` gives its whole text. A summary that is not made of the passage's own words,
            such as a language model's, is returned unchanged and flagged ``generated``.
        answers: Whether a rule answers what was asked for; False: passages do instead of it. None: nothing says so.
    """

    passage: Passage
    score: float
    origin: str = "vector"
    summary: str = ""
    answers: bool | None = None

    def __post_init__(self) -> None:
        if not 0.0 <= self.score <= 1.0:  # false for NaN too
            raise ValueError(f"score {self.score!r} is not in 0..1")
        if self.origin not in ORIGIN_PRIORITY:
            raise ValueError(f"there is no origin {self.origin!r}")


def size(spans: Iterable[Span]) -> int:
    """Characters in spans that do not overlap."""
    return sum(b - a for a, b in spans)


def without(spans: Iterable[Span], taken: Iterable[Span]) -> list[Span]:
    """What is left of spans outside others."""
    left = list(spans)
    for c, d in taken:
        left = [part for a, b in left for part in ((a, min(b, c)), (max(a, d), b)) if part[0] < part[1]]
    return left


@dataclass(frozen=True, slots=True, eq=False)
class ExcerptCandidate:
    """A passage with what would be given of it.

    Attributes:
        text: What the spans are of, beginning at offset `start`: the passage, or a summary in other words.
        spans: Offsets of what would be given, in order.
        key: Equal for passages that say the same.
        located: Whether offsets count in the document's text, so that passages can touch.
        generated: The text is a summary in other words.
    """

    item: ScoredPassage
    text: str
    start: int
    spans: tuple[Span, ...]
    key: str
    located: bool
    generated: bool

    @classmethod
    def of(cls, item: ScoredPassage) -> ExcerptCandidate:
        """The candidate that an item makes."""
        passage = item.passage
        own = _pieces(item.summary, passage.text) if item.summary else _all(passage.text)
        generated = item.summary != "" and not own
        located = not generated and passage.end - passage.start == len(passage.text)
        start = passage.start if located else 0
        text = item.summary if generated else passage.text
        spans = tuple((start + a, start + b) for a, b in (_all(text) if generated else own))
        return cls(item, text, start, spans, compared(passage.text) or passage.text, located, generated)

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def order(self) -> tuple[Any, ...]:
        """Among equals: rules first, then trust, then whatever settles it."""
        item, passage = self.item, self.item.passage
        return (ORIGIN_PRIORITY[item.origin], -passage.trust, -item.score, passage.ref, passage.uri, item.summary)

    @property
    def place(self) -> Place:
        """Origin and document: where passages must be together to touch."""
        passage = self.item.passage
        if self.located:
            return (self.item.origin, passage.source_id, passage.document_id)
        return (self.item.origin, passage.ref, passage.uri)

    def tidy(self, spans: Iterable[Span]) -> tuple[Span, ...]:
        """The spans without white space at their ends, those of white space left out."""
        cut = (trimmed(self.text, a - self.start, b - self.start) for a, b in spans)
        return tuple((self.start + a, self.start + b) for a, b in cut if a < b)

    def shortened(self, spans: Sequence[Span], room: int) -> tuple[Span, ...]:
        """The beginning of the spans, no more than `room` characters, up to the end of a sentence.

        Where not even the first sentence has room, up to the end of one of its clauses.
        """
        kept: list[Span] = []
        for start, end in spans:
            if end - start > room:
                reached = [b for b in self._stops(start, end, bool(kept)) if b - start <= room]
                kept += [(start, max(reached))] if reached else []
                break
            kept.append((start, end))
            room -= end - start
        return tuple(kept)

    def _stops(self, start: int, end: int, whole: bool) -> list[int]:
        """Ends of sentences in a span; unless `whole`, also of the clauses of the first."""
        found = sentences(self.text, start - self.start, end - self.start)
        parts = [] if whole else clauses(self.text, *found[0])[:-1]
        return [self.start + b for _, b in (*parts, *found)]


def document_key(passage: Passage) -> str:
    """The document that a passage is of, as copyright counts it: its URI without a fragment."""
    return passage.uri.partition("#")[0]


def _all(text: str) -> tuple[Span, ...]:
    span = trimmed(text, 0, len(text))
    return (span,) if span[0] < span[1] else ()


def _pieces(summary: str, text: str) -> tuple[Span, ...]:
    """Spans of the summary's pieces in the passage, in order; () if it has other words."""
    spans: list[Span] = []
    at = 0
    for piece in (p for p in _ELISION.split(summary.strip()) if p):
        start = text.find(piece, at)
        if start < 0:
            return ()
        at = start + len(piece)
        if spans and _ELISION.fullmatch(text, spans[-1][1], start):
            spans[-1] = (spans[-1][0], at)  # the passage's own mark, not one of the summary
        else:
            spans.append((start, at))
    return merged(text, spans)


@lru_cache(maxsize=1_024)
def compared(text: str, between: str = "") -> str:
    """What texts that say the same have in common: marks and white space do not count, numbers and signs do.

    Args:
        between: Stands where there were marks or white space.
    """
    return _MARKS.sub(between, fold(visible(text)))
