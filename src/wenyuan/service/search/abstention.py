"""Abstention: the probability that the searched scope holds an answer; see `core.scoring.probability`."""

from __future__ import annotations

from typing import NamedTuple

from wenyuan.core.messages import msg
from wenyuan.core.model import Passage
from wenyuan.core.ports import Deadline, Encoder, Hit
from wenyuan.core.scoring.probability import ABSTAIN, MEASURED_WITH, MODELS, Standing
from wenyuan.service.search.analysis import AnalysedQuery, strange
from wenyuan.service.search.candidates import why_empty
from wenyuan.service.search.legs import Found, OwnLegs
from wenyuan.settings import SearchSettings

Ranked = list[tuple[Hit, Passage]]
"""Candidates with their passages."""


class Verdict(NamedTuple):
    """The decision whether to answer a question from its scope.

    Attributes:
        probability: That the scope holds an answer, 0..1; 0 where nothing was found.
        why: Why nothing is given; ``""`` where something may be.
    """

    probability: float
    why: str


class Abstention:
    """Estimates the probability that the scope holds an answer, and decides when it is too low to give any.

    Args:
        encoder: None in a library without vectors.

    Attributes:
        least: The threshold: a score if `search.floor` is set, otherwise a probability that there is an answer.
        measured: Whether the probability model was fitted with the library's encoder, or for keyword-only libraries.
    """

    def __init__(self, own: OwnLegs, encoder: Encoder | None, settings: SearchSettings) -> None:
        self._own, self._encoder, self._settings = own, encoder, settings
        self.least = ABSTAIN[settings.abstain] if settings.floor is None else settings.floor
        self.measured = encoder is None or encoder.fingerprint.id == MEASURED_WITH
        # An encoder whose cosines were not measured may call the right passage far away: what the words say is enough, too.
        self._models = [MODELS["hybrid"]] if encoder is not None else []
        if encoder is None or not self.measured:
            self._models.append(MODELS["keyword-only"])

    def verdict(self, query: AnalysedQuery, found: Found, ranked: Ranked, deadline: Deadline) -> Verdict:
        """Decide for a question, from the best candidates that were found.

        Raises:
            KnowledgeError: the engine or the encoder failed.
        """
        if not ranked:
            best = float(found.candidates.scores.max(initial=0.0))
            return Verdict(0.0, why_empty(best, self._settings.floor or 0.0))
        if any(hit.parts.get("identifier", 0.0) > 0.0 for hit, _ in ranked):
            return Verdict(1.0, "")  # the place that the question names is there
        standing = self.standing(query, found, ranked, deadline)
        probability = max(model.probability(standing) for model in self._models)
        if self._settings.floor is not None or probability >= self.least:
            return Verdict(probability, "")
        nearest = max(ranked, key=lambda pair: pair[0].parts["fused"])[0].score
        return Verdict(probability, _refusal(probability, self.least, nearest, self._settings.abstain))

    def standing(self, query: AnalysedQuery, found: Found, ranked: Ranked, deadline: Deadline) -> Standing:
        """The features of the best passage from which the probability is computed.

        Raises:
            KnowledgeError: the engine or the encoder failed.
        """
        hit, passage = max(ranked, key=lambda pair: pair[0].parts["fused"])
        aim = found.aim
        return Standing(
            keyword=hit.parts.get("keyword", 0.0),
            nearness=0.0 if aim is None else self._own.nearness(query.script, aim, passage, deadline),
            passages=found.seen,
            across=(passage.language == "zh") != (query.script == "han"),
            strange=strange(query.text, self._encoder),
        )


def _refusal(probability: float, least: float, score: float, abstain: str) -> str:
    said = msg(
        "there is hardly an answer in what was searched: probability {probability}, below the "
        "{least} that search.abstain={abstain} asks for; the nearest passage scores {score}",
        probability=f"{probability:.3f}",
        least=f"{least:.2f}",
        abstain=abstain,
        score=f"{score:.3f}",
    )
    return (
        said
        if abstain == "lenient"
        else msg("{said}; lenient asks for {lenient}", said=said, lenient=f"{ABSTAIN['lenient']:.2f}")
    )
