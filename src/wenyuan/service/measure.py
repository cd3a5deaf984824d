"""What is measured of a library without judgments: how its legs are weighed, and how well nonsense scores in it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date

import numpy as np

from wenyuan.core.adapt import Tuning
from wenyuan.core.filters import Scope
from wenyuan.core.laws import LAW
from wenyuan.core.model import Passage, embedded_text
from wenyuan.core.ports import Deadline, Encoder, Engine
from wenyuan.core.score import Traits, rescale
from wenyuan.core.synonyms import Wordings
from wenyuan.core.text import OWN, passage_terms, query_terms, search_terms
from wenyuan.core.vectors import checked_vectors
from wenyuan.service.cloze import (
    LEAST_CLOZES,
    Cloze,
    Rivals,
    clozes,
    found_by_weight,
    keyword_of,
    leaning,
    weight_across,
    weight_of,
)
from wenyuan.service.legs import OwnLegs
from wenyuan.service.probes import FLOOR_SHARE, NEARLY, SCRIPTS, STRANGE, junk_queries, percentile
from wenyuan.service.record import Record

__all__ = ["BRIDGE", "CENTRE", "MEASURE", "TRAITS", "Measurer"]

TRAITS = ("weight", "centre", "bridge", "apart", "found")
"""What `Measurer.traits` measures, by name."""

MEASURE = 7
"""Version of what a `Measurer` measures, and how: a library that was measured by another one is measured anew."""

CENTRE = 0.5
"""How far queries are moved away from general questions. All the way loses as much as it gains."""

BRIDGE = 0.3
"""How far queries are moved away from their own language in a library of both. More of it gains where an answer is there
in one language only, and loses where it is there in both and one's own was meant: docs/explanation/scoring.md."""
_BOTH = 0.05  # share of the passages that the rarer language must have
# An encoder that counts for less here says nothing about questions in general, and makes nothing stand out; nor can
# sentences say anything of a collection where hardly one of them finds its passage.
_TRUSTED_WEIGHT, _TRUSTED_FOUND = 0.4, 0.2
_FIRST_ARTICLES = tuple(f"{OWN}article:{number}" for number in range(1, 6))  # every law has some of them
_NO_HURRY = 60.0  # seconds: measuring is nobody's request


class Measurer:
    """Asks a library questions of its own.

    Args:
        encoder: None: keyword-only; then there is nothing to weigh.
        depth: Candidates of each leg.
    """

    def __init__(self, record: Record, engine: Engine, own: OwnLegs, encoder: Encoder | None, depth: int) -> None:
        self._record = record
        self._engine = engine
        self._own = own
        self._encoder = encoder
        self._depth = depth

    def traits(self, passages: Sequence[Passage]) -> Mapping[str, float]:
        """What is named in `TRAITS`; ``found`` is how often a sentence finds its passage (nDCG@10).

        Empty where there are too few sentences to say anything.

        Args:
            passages: A sample; of them, the first `cloze.CLOZES` with a sentence that can be asked for are used.
        """
        asked = clozes(passages)
        if self._encoder is None or len(asked) < LEAST_CLOZES:
            return {}
        vectors = checked_vectors(
            self._encoder.encode_passages([embedded_text(c.heading, c.rest) for c in asked]),
            len(asked),
            self._encoder.fingerprint.dimension,
            "encoder",
        )
        lengths = [len(passage_terms(c.heading, f"{c.sentence} {c.rest}")) for c in asked]
        average = sum(lengths) / len(lengths)
        scope = self._scope()
        found = found_by_weight([self._rivals(c, v, average, scope) for c, v in zip(asked, vectors, strict=True)])
        trusted = leaning(found) >= _TRUSTED_WEIGHT and found.max() >= _TRUSTED_FOUND
        across = trusted and _both(passages)
        return {
            "weight": weight_across(weight_of(found)) if across else weight_of(found),
            "centre": CENTRE if trusted else 0.0,
            "bridge": BRIDGE if across else 0.0,
            "apart": float(across),
            "found": round(float(found.max()), 3),
        }

    def _rivals(self, cloze: Cloze, vector: np.ndarray, average: float, scope: Scope) -> Rivals:
        assert self._encoder is not None
        words = query_terms(cloze.sentence)  # pairs would say more of the sentence's neighbours than questions' do
        found = self._own.found(
            Wordings(cloze.sentence, words), scope, self._depth, _unhurried(), None, Traits(centre=CENTRE)
        )
        assert found.aim is not None and found.cosines is not None
        scale = self._encoder.fingerprint.scale
        others = [i for i in found.keyword.keys() | found.cosines.keys() if i != cloze.passage_id]
        return Rivals(
            keyword=keyword_of(cloze, self._engine.information(words), average),
            vector=rescale(found.aim.level(float(vector @ found.aim.vector)), scale),
            keywords=np.array([found.keyword.get(i, 0.0) for i in others]),
            vectors=np.array([rescale(c, scale) if (c := found.cosines.get(i)) is not None else 0.0 for i in others]),
        )

    def floors(self, tuning: Tuning | None, traits: Mapping[str, float]) -> Mapping[str, Mapping[str, float]]:
        """What nonsense reaches under a tuning, adopted or not, by script; with the traits of the library.

        Among them ``law``, for `Traits.of`: where there are no articles, candidates need not be looked up for theirs.
        """
        measured, scope = {}, self._scope()
        law = LAW if self._engine.information(_FIRST_ARTICLES) else 0.0
        for script in SCRIPTS:
            plain = replace(Traits.of(traits), law=0.0)  # nonsense is about no law
            asked = (self._best(text, scope, tuning, plain) for text in junk_queries(script))
            scores, lifts = zip(*asked, strict=True)
            low = percentile(scores, FLOOR_SHARE["score"])
            measured[script] = {
                "score": low,
                "most": low + NEARLY * (max(scores) - low),
                "lift": percentile(lifts, FLOOR_SHARE["lift"]),
                "strange": STRANGE,
                "law": law,
                **traits,
            }
        return measured

    def _best(self, text: str, scope: Scope, tuning: Tuning | None, traits: Traits) -> tuple[float, float]:
        """The best evidence, and the best across languages, that any passage of the library has, without floor or adjustment."""
        hits, _ = self._own.candidates(
            Wordings(text, search_terms(text)), scope, self._depth, _unhurried(), tuning, traits
        )
        best = max((h.parts.get("evidence", h.score) for h in hits), default=0.0)
        return best, max((h.parts.get("evidence", h.parts.get("lift", 0.0)) for h in hits), default=0.0)

    def _scope(self) -> Scope:
        own = [s.source_id for s in self._record.sources(_unhurried()) if s.type == "static_doc"]
        return Scope(sources=frozenset(own), as_of=date.today())


def _both(passages: Sequence[Passage]) -> bool:
    """Whether both languages are there."""
    chinese = sum(passage.language == "zh" for passage in passages)
    return min(chinese, len(passages) - chinese) >= _BOTH * len(passages)


def _unhurried() -> Deadline:
    return Deadline(time.monotonic() + _NO_HURRY, time.monotonic)
