"""The decision whether to answer a question at all: the probability that the searched scope holds an answer; see
`core.scoring.answerable`.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from heapq import nlargest
from typing import NamedTuple

from wenyuan.core.errors import msg
from wenyuan.core.filters import Scope
from wenyuan.core.model import Passage
from wenyuan.core.ports import Deadline, Encoder, Engine
from wenyuan.core.scoring.answerable import (
    ABSTAIN,
    ACROSS,
    ALONE,
    FIRST,
    MEASURED_WITH,
    MODELS,
    WITHOUT_ITS_CODE,
    Standing,
)
from wenyuan.core.scoring.vector_sums import CHINESE
from wenyuan.core.scoring.word_frequencies import weights
from wenyuan.core.text.analysis import fold, search_terms
from wenyuan.core.text.literals import CODED, bare_name, codes, literal_names, may_stand_in, parts_of, stands_in
from wenyuan.service.search.candidates import Ranked, why_empty
from wenyuan.service.search.change_cache import Record
from wenyuan.service.search.legs import LegOutput, OwnLegs
from wenyuan.service.search.nonsense import strange
from wenyuan.service.search.question import AnalysedQuery
from wenyuan.settings import SearchSettings

_TITLED, _LEAST = 0.7, 0.15
_CODE_HITS = 10  # passages in which a code is looked for that none of the first has


class Coverage:
    """How much of what a question says its passages say, by words that are rare in general text.

    Args:
        terms: Of the question, as it is written.
        script: Of the question, ``han`` or ``latin``.
    """

    def __init__(self, terms: Sequence[str], script: str) -> None:
        self._script = script
        self._weights = weights(terms)
        self._shares: dict[str, float] = {}
        self._all = sum(self._weights.values())

    def among(self, passages: Sequence[Passage], language: str) -> float:
        """The largest share of what the question's words say that one of the passages has, 0..1.

        Args:
            language: Of the best passage; `ACROSS` where it is not the question's.
        """
        if (language == CHINESE) != (self._script == "han"):
            return ACROSS
        return max(self._share("\n".join((one.title, *one.headings, one.lead, one.text))) for one in passages)

    def group(self, passage: Passage) -> Hashable:
        """The title and headings of a passage, if they alone have most of what it has of the question; else None.

        Passages of one such group, as the answers under a question of a FAQ, are no rivals of each other; the rows of a table are.
        """
        if passage.cell:
            return None
        heading = (passage.title, *passage.headings)
        share = self._share("\n".join(heading))
        if share <= _LEAST or share < _TITLED * self._share("\n".join((*heading, passage.lead, passage.text))):
            return None
        return heading

    def _share(self, text: str) -> float:
        if text not in self._shares:
            folded = fold(text)
            said = sum(weight for term, weight in self._weights.items() if term in folded)
            self._shares[text] = said / (self._all or 1.0)
        return self._shares[text]


class Verdict(NamedTuple):
    """The decision whether to answer a question from its scope.

    Attributes:
        probability: That the scope holds an answer, 0..1; 0 where nothing was found.
        why: Why nothing is given; ``""`` where something may be.
        missing: Codes that the question names and that stand nowhere in the scope, as they were compared.
    """

    probability: float
    why: str
    missing: tuple[str, ...] = ()


class Abstention:
    """Estimates the probability that the scope holds an answer, and decides when it is too low to give any.

    Args:
        encoder: None in a library without vectors.

    Attributes:
        least: The threshold: a score if `search.floor` is set, otherwise a probability that there is an answer.
        measured: Whether the probability model was fitted with the library's encoder, or for keyword-only libraries.
    """

    def __init__(
        self, own: OwnLegs, engine: Engine, record: Record, encoder: Encoder | None, settings: SearchSettings
    ) -> None:
        self._own, self._engine, self._record = own, engine, record
        self._encoder, self._settings = encoder, settings
        self.least = ABSTAIN[settings.abstain] if settings.floor is None else settings.floor
        self.measured = encoder is None or encoder.fingerprint.id == MEASURED_WITH
        # An encoder whose cosines were not measured may call the right passage far away: what the words say is enough, too.
        usual = ("hybrid",) if self.measured else ("other", "keyword-only")
        self._models = [MODELS[mode] for mode in (("keyword-only",) if encoder is None else usual)]

    def verdict(
        self,
        query: AnalysedQuery,
        found: LegOutput,
        ranked: Ranked,
        coverage: Coverage,
        scope: Scope,
        deadline: Deadline,
    ) -> Verdict:
        """Decide for a question, from the best candidates that were found.

        Args:
            ranked: By score, the best first.

        Raises:
            KnowledgeError: the engine or the encoder failed.
        """
        if not ranked:
            best = float(found.candidates.scores.max(initial=0.0))
            return Verdict(0.0, why_empty(best, self._settings.floor or 0.0))
        names, named = literal_names(query.text), codes(query.text)
        missing = tuple(code for code in named if not self._may_stand(code, ranked, scope, deadline))
        if not missing and any(hit.parts.get("identifier", 0.0) > 0.0 for hit, _ in ranked):
            return Verdict(1.0, "")  # the place that the question names is there
        whole = bare_name(query.subject)
        if whole and CODED.search(whole) and _any_stands([whole], ranked):
            return Verdict(1.0, "", missing)
        standing = self.standing(query, found, ranked, coverage, deadline)
        probability = max(model.probability(standing) for model in self._models)
        if missing:
            probability = min(probability, WITHOUT_ITS_CODE)
        if self._settings.floor is not None or probability >= self.least:
            return Verdict(probability, "", missing)
        if not missing and _any_stands([*names, *named], ranked):  # it may be there and answer little
            return Verdict(self.least, "")
        nearest = max(ranked, key=lambda pair: pair[0].parts["fused"])[0].score
        return Verdict(probability, self._refusal(probability, nearest, missing), missing)

    def standing(
        self, query: AnalysedQuery, found: LegOutput, ranked: Ranked, coverage: Coverage, deadline: Deadline
    ) -> Standing:
        """The features of the best passages from which the probability is computed.

        Raises:
            KnowledgeError: the engine or the encoder failed.
        """
        hit, passage = max(ranked, key=lambda pair: pair[0].parts["fused"])
        first = nlargest(2, (hit.score for hit, _ in ranked))
        aim, cosines = found.aim, [hit.parts["cosine"] for hit, _ in ranked[:FIRST] if "cosine" in hit.parts]
        near = aim is not None and bool(cosines)
        return Standing(
            keyword=hit.parts.get("keyword", 0.0),
            nearness=self._own.nearness(query.script, aim, passage, deadline) if near and aim else 0.0,
            apart=self._own.apart(aim, max(cosines), passage.language, deadline) if near and aim else 0.0,
            margin=first[0] - first[1] if len(first) > 1 else ALONE,
            coverage=coverage.among([passage for _, passage in ranked[:FIRST]], passage.language),
            strange=strange(query.subject, self._encoder),
        )

    def _may_stand(self, code: str, ranked: Ranked, scope: Scope, deadline: Deadline) -> bool:
        """Whether a passage of the scope has a code, however it is joined."""
        if any(may_stand_in(code, _text(passage)) for _, passage in ranked):
            return True
        hits: set[int] = set()
        for words in (code, " ".join(parts_of(code))):
            result = self._engine.keyword(search_terms(words), scope=scope, limit=_CODE_HITS, deadline=deadline)
            hits.update(hit.passage_id for hit in result.hits)
        passages = self._record.passages(sorted(hits), deadline)
        return any(may_stand_in(code, _text(passage)) for passage in passages.values())

    def _refusal(self, probability: float, score: float, missing: Sequence[str]) -> str:
        abstain = self._settings.abstain
        said = msg(
            "there is hardly an answer in what was searched: probability {probability}, below the "
            "{least} that search.abstain={abstain} asks for; the nearest passage scores {score}",
            probability=f"{probability:.3f}",
            least=f"{self.least:.2f}",
            abstain=abstain,
            score=f"{score:.3f}",
        )
        if missing:
            said = msg("nothing that was searched has {codes}; {said}", codes=", ".join(missing), said=said)
        return (
            said
            if abstain == "lenient"
            else msg("{said}; lenient asks for {lenient}", said=said, lenient=f"{ABSTAIN['lenient']:.2f}")
        )


def groups(ranked: Ranked, coverage: Coverage) -> Mapping[int, Hashable]:
    """The group of each of the first passages that has one, by passage id; see `Coverage.group`."""
    found = {passage.passage_id: coverage.group(passage) for _, passage in ranked[:FIRST]}
    return {number: group for number, group in found.items() if group is not None}


def _any_stands(names: Sequence[str], ranked: Ranked) -> bool:
    """Whether one of the passages has one of the names letter by letter."""
    if not names:
        return False
    texts = [_text(passage) for _, passage in ranked]
    return any(stands_in(name, text) for text in texts for name in names)


def _text(passage: Passage) -> str:
    return "\n".join((passage.title, *passage.headings, passage.text))
