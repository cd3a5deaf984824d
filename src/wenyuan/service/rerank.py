"""The last step before the cut: a reranker reads the best candidates with the query, where one is set up.

It judges what passages say, not where they stand: a query that names a place ("Article 13", GB 50300-2013) is left to
the search, which knows places exactly, and rules are never given to it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from wenyuan.core.calibrate import raw_of
from wenyuan.core.errors import KnowledgeError
from wenyuan.core.lead import with_lead
from wenyuan.core.model import Passage, embedded_text, heading_text
from wenyuan.core.ports import Deadline, Reranker
from wenyuan.core.ranking import Hit
from wenyuan.core.reference import reference_of
from wenyuan.core.rerank import blended, checked_scores
from wenyuan.service.answer import LegReport
from wenyuan.service.crew import Crew
from wenyuan.settings import RerankerSettings

__all__ = ["Reranking", "ordered"]

Found = list[tuple[Hit, Passage]]

_LEG = "reranker"
_MOST_CHARS = 8_000
"""Of one text: more than any model reads."""
_LEFT_OVER = 0.1
"""The share of a request's time that an optional reranker must leave, so that the answer is not late without it."""


@dataclass(frozen=True, slots=True)
class Reranking:
    """Which reranker a library has (None: none), and how far it counts."""

    reranker: Reranker | None = None
    settings: RerankerSettings = field(default_factory=RerankerSettings)

    @property
    def fingerprint(self) -> str:
        """Differs whenever answers would; ``""`` without a reranker."""
        if self.reranker is None:
            return ""
        return f"{self.reranker.fingerprint}|{self.settings.top_n}|{','.join(map(str, self.settings.blend))}"

    def reach(self, limit: int) -> int:
        """How many candidates must be at hand for an answer of `limit`."""
        return limit if self.reranker is None else max(limit, self.settings.top_n)

    def best(
        self, query: str, found: Found, limit: int, crew: Crew, deadline: Deadline
    ) -> tuple[Found, list[LegReport]]:
        """The best `limit` of what was found, and how the reranker did.

        All that could be in the answer is reranked, so that scores with and without its word never compete.

        Raises:
            KnowledgeError: a required reranker failed.
        """
        found = ordered(found)
        if self.reranker is None:
            return found[:limit], []
        if why := _needless(query, found):
            return found[:limit], [LegReport(name=_LEG, state="skipped", ms=0.0, hits=0, error=why)]
        head = found[: self.reach(limit)]
        begun = time.perf_counter()
        try:
            scores = self._scores(self.reranker, query, head, crew, deadline)
        except KnowledgeError as error:
            if self.settings.required:
                raise
            ms = (time.perf_counter() - begun) * 1e3
            return found[:limit], [LegReport(name=_LEG, state="failed", ms=ms, hits=0, error=str(error))]
        shares = self.settings.blend
        mixed = [
            (blended(hit, place, score, shares), passage)
            for place, ((hit, passage), score) in enumerate(zip(head, scores, strict=True), 1)
        ]
        ms = (time.perf_counter() - begun) * 1e3
        return ordered(mixed)[:limit], [LegReport(name=_LEG, state="ok", ms=ms, hits=len(mixed))]

    def _scores(self, reranker: Reranker, query: str, head: Found, crew: Crew, deadline: Deadline) -> Sequence[float]:
        left = deadline.remaining() * (1.0 if self.settings.required else 1.0 - _LEFT_OVER)
        own = Deadline(deadline.clock() + min(left, self.settings.timeout), deadline.clock)
        texts = [_text(passage) for _, passage in head]
        asked = crew.begin(lambda: reranker.rerank(query, texts, deadline=own), _LEG)
        scores = crew.outcome(asked, _LEG, own)
        return checked_scores(scores, len(texts), _LEG, logits=False)


def ordered(found: Found) -> Found:
    """By score; where probabilities are the same, by what is behind them."""
    return sorted(found, key=lambda pair: (-pair[0].score, -raw_of(pair[0]), pair[0].passage_id))


def _needless(query: str, found: Found) -> str:
    """Why a reranker has nothing to say; ``""`` when it has."""
    if not found:
        return "nothing was found"
    reference = reference_of(query)
    return "the query names a place, which is looked up exactly" if reference and not reference.doubtful else ""


def _text(passage: Passage) -> str:
    """What is embedded is judged, too: title, headings, the document's lead and text."""
    text = with_lead(passage.lead, passage.text)
    return embedded_text(heading_text(passage.title, passage.headings), text)[:_MOST_CHARS]
