"""The last step before the cut: a reranker reads the best candidates with the query, where one is set up.

It judges what passages say, not where they stand: a query that names a place ("Article 13", GB 50300-2013) is left to
the search, which knows places exactly, and rules are never given to it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from wenyuan.core.errors import KnowledgeError
from wenyuan.core.model import Passage, as_written, embedded_text, heading_text
from wenyuan.core.ports import Deadline, Reranker
from wenyuan.core.scoring.blending import blended, checked_scores
from wenyuan.core.scoring.fusion import reference_of
from wenyuan.core.scoring.probability import raw_of
from wenyuan.core.text.leads import with_lead
from wenyuan.service.query import LegReport
from wenyuan.service.search.candidates import Ranked
from wenyuan.service.search.leg_execution import LegExecutor
from wenyuan.settings import RerankerSettings

_LEG = "reranker"
_MOST_CHARS = 8_000
"""Of one text: more than any model reads."""
_LEFT_OVER = 0.1
"""The share of a request's time that an optional reranker must leave, so that the answer is not late without it."""


@dataclass(frozen=True, slots=True)
class Reranking:
    """The library's reranker (or None), and the weight of its scores."""

    reranker: Reranker | None = None
    settings: RerankerSettings = field(default_factory=RerankerSettings)

    @property
    def fingerprint(self) -> str:
        """Changes whenever rankings could change; ``""`` without a reranker."""
        if self.reranker is None:
            return ""
        return f"{self.reranker.fingerprint}|{self.settings.top_n}|{','.join(map(str, self.settings.blend))}"

    def reach(self, limit: int) -> int:
        """How many candidates the reranker needs for an answer of `limit`."""
        return limit if self.reranker is None else max(limit, self.settings.top_n)

    def best(
        self, query: str, found: Ranked, limit: int, executor: LegExecutor, deadline: Deadline
    ) -> tuple[Ranked, list[LegReport]]:
        """The best `limit` candidates after reranking, and the leg report of the reranker.

        All that could be in the answer is reranked, so that scores with and without its word never compete.

        Raises:
            KnowledgeError: a required reranker failed.
        """
        found = ordered(found)
        if self.reranker is None:
            return found[:limit], []
        if why := _unasked(query, found):
            return found[:limit], [LegReport(name=_LEG, state="skipped", ms=0.0, hits=0, error=why)]
        head = found[: self.reach(limit)]
        begun = time.perf_counter()
        try:
            scores = self._scores(self.reranker, query, head, executor, deadline)
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

    def _scores(
        self, reranker: Reranker, query: str, head: Ranked, executor: LegExecutor, deadline: Deadline
    ) -> Sequence[float]:
        left = deadline.remaining() * (1.0 if self.settings.required else 1.0 - _LEFT_OVER)
        own = Deadline(deadline.clock() + min(left, self.settings.timeout), deadline.clock)
        texts = [_text(passage) for _, passage in head]
        asked = executor.begin(lambda: reranker.rerank(query, texts, deadline=own), _LEG)
        scores = executor.outcome(asked, _LEG, own)
        return checked_scores(scores, len(texts), _LEG, logits=False)


def ordered(found: Ranked) -> Ranked:
    """Sort by probability; ties by the score behind it."""
    return sorted(found, key=lambda pair: (-pair[0].score, -raw_of(pair[0]), pair[0].passage_id))


def _unasked(query: str, found: Ranked) -> str:
    """Why the reranker is not asked; ``""`` if it is."""
    if not found:
        return "nothing was found"
    reference = reference_of(query)
    exact = reference is not None and reference.named and not reference.doubtful
    return "the query names a place, which is looked up exactly" if exact else ""


def _text(passage: Passage) -> str:
    """The text given to the reranker, the same as is embedded: title, headings, the document's lead, text."""
    text = with_lead(passage.lead, passage.text)
    return as_written(embedded_text(heading_text(passage.title, passage.headings), text))[:_MOST_CHARS]
