"""The decision whether to answer a question at all: the probability that the searched scope holds an answer; see
`core.scoring.answerable`.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from heapq import nlargest
from typing import NamedTuple

from wenyuan.core.errors import NotPermitted, msg
from wenyuan.core.filters import Scope
from wenyuan.core.model import Passage
from wenyuan.core.ports import Deadline, Encoder, Engine
from wenyuan.core.scoring.answerable import (
    ABSTAIN,
    ALONE,
    FIRST,
    MEASURED_WITH,
    MODELS,
    WITHOUT_ITS_CODE,
    WITHOUT_ITS_NAME,
    WITHOUT_ITS_THINGS,
    Standing,
)
from wenyuan.core.scoring.content_words import Word, share_in, terms_for
from wenyuan.core.text.analysis import search_terms
from wenyuan.core.text.folding import fold
from wenyuan.core.text.literals import (
    CODED,
    bare_name,
    codes,
    literal_names,
    may_stand_in,
    parts_of,
    stands_in,
)
from wenyuan.core.text.named_days import NamedDay, named_days
from wenyuan.service.search.candidates import Ranked, why_empty
from wenyuan.service.search.change_cache import Record
from wenyuan.service.search.coverage import Coverage
from wenyuan.service.search.legs import LegOutput, OwnLegs
from wenyuan.service.search.nonsense import strange
from wenyuan.service.search.question import AnalysedQuery
from wenyuan.settings import SearchSettings

_CODE_HITS = 10  # passages in which a code or a thing is looked for that none of the first has
_MOSTLY = 0.5  # the share of what the question says that is missing at least where missing things are told


_BY_SETTING = (
    "there is hardly an answer in what was searched: probability {probability}, below the "
    "{least} that search.abstain={abstain} asks for; the nearest passage scores {score}"
)
_BY_REQUEST = (
    "there is hardly an answer in what was searched: probability {probability}, below the "
    "{least} that the request asks for (abstain={abstain}); the nearest passage scores {score}"
)


class Verdict(NamedTuple):
    """The decision whether to answer a question from its scope.

    Attributes:
        probability: That the scope holds an answer, 0..1; 0 where nothing was found.
        why: Why nothing is given; ``""`` where something may be.
        codes: Codes that the question names and that stand nowhere in the scope, as they were compared.
        things: The same of other things, which may be there under another name.
        most: What the probability is said to be at most for want of those, or where the first passage does not speak of a day that it names.
    """

    probability: float
    why: str
    codes: tuple[str, ...] = ()
    things: tuple[str, ...] = ()
    most: float = 1.0

    @property
    def missing(self) -> tuple[str, ...]:
        """Codes and things that stand nowhere in the scope."""
        return (*self.codes, *self.things)


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
        named = None if encoder is None else encoder.fingerprint
        self.measured = named is None or (named.id, named.quantisation) == MEASURED_WITH
        # An encoder whose cosines were not measured may call the right passage far away: what the words say is enough, too.
        usual = ("hybrid",) if self.measured else ("other", "keyword-only")
        self._models = [MODELS[mode] for mode in (("keyword-only",) if encoder is None else usual)]
        self._requested = False

    def at(self, strictness: str) -> Abstention:
        """The same at the strictness that a request names, which takes the place of both settings; ``""`` for the library's own."""
        if not strictness:
            return self
        other = copy(self)
        other._settings = self._settings.model_copy(update={"abstain": strictness, "floor": None})
        other.least, other._requested = ABSTAIN[strictness], True
        return other

    def check_narrower(self, strictness: str) -> None:
        """Check that a strictness is no laxer than the library's own.

        Raises:
            NotPermitted: it is, or it cannot be compared with `search.floor`.
        """
        if not strictness or (self.floor is None and ABSTAIN[strictness] >= ABSTAIN[self._settings.abstain]):
            return
        own = f"search.floor={self.floor}" if self.floor is not None else f"search.abstain={self._settings.abstain}"
        raise NotPermitted(
            msg("the library answers at {own}; who asks for an agent may only be stricter, not {abstain}", own=own, abstain=strictness)
        )  # fmt: skip

    @property
    def floor(self) -> float | None:
        """The least score of `search.floor`; None where probabilities decide."""
        return self._settings.floor

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
        lacking = _lacking(query, ranked, coverage)
        absent = self._absent(lacking, ranked, coverage, scope, deadline) if lacking else []
        days = _other_days(query, ranked, coverage)
        told = (*(word.shown for word in absent), *self._nowhere(days, coverage, scope, deadline))
        things = tuple(dict.fromkeys(told))
        nearest = max(ranked, key=lambda pair: pair[0].parts["fused"])[0].score
        if self._settings.floor is None and probability < self.least:
            if missing or not _any_stands([*names, *named], ranked):
                why = self._refusal(probability, nearest, (*missing, *things))
                return Verdict(probability, why, missing, things)
            probability = self.least  # it may be there and answer little
        most = min(_most(absent, coverage), WITHOUT_ITS_NAME if days else 1.0)
        return Verdict(min(probability, most), "", missing, things, most)

    def standing(
        self, query: AnalysedQuery, found: LegOutput, ranked: Ranked, coverage: Coverage, deadline: Deadline
    ) -> Standing:
        """The features of the best passages from which the probability is computed.

        Raises:
            KnowledgeError: the engine or the encoder failed.
        """
        hit, passage = max(ranked, key=lambda pair: pair[0].parts["fused"])
        first = nlargest(2, (hit.score for hit, _ in ranked))
        aim, whole = found.aim, _whole_passages(ranked, found)
        near = aim is not None and bool(whole)
        return Standing(
            keyword=hit.parts.get("keyword", 0.0),
            nearness=self._own.nearness(query.script, aim, passage, deadline) if near and aim else 0.0,
            apart=self._own.apart(aim, max(whole), passage.language, deadline) if near and aim else 0.0,
            margin=first[0] - first[1] if len(first) > 1 else ALONE,
            coverage=coverage.among([passage for _, passage in ranked[:FIRST]], passage.language),
            strange=strange(query.subject, self._encoder),
        )

    def _absent(
        self, words: Sequence[Word], ranked: Ranked, coverage: Coverage, scope: Scope, deadline: Deadline
    ) -> list[Word]:
        """Those content words that no passage of the scope has; see `core.scoring.content_words`."""
        open_ones = [
            (word, [hit.passage_id for hit in self._engine.keyword(terms, scope=scope, limit=_CODE_HITS, deadline=deadline).hits])
            for word, terms in ((word, terms_for(word.text)) for word in words)
        ]  # fmt: skip
        passages = {passage.passage_id: passage for _, passage in ranked}
        for count in (1, _CODE_HITS):  # mostly the best hit has it, and the others need not be read
            if unread := sorted({n for _, ids in open_ones for n in ids[:count]} - passages.keys()):
                passages |= self._record.passages(unread, deadline)
            open_ones = [
                (word, ids)
                for word, ids in open_ones
                if not any(
                    share_in(word.text, coverage.folded(passages[n])) == 1.0 for n in ids[:count] if n in passages
                )
            ]
        return [word for word, _ in open_ones]

    def _nowhere(
        self, days: Sequence[NamedDay], coverage: Coverage, scope: Scope, deadline: Deadline
    ) -> tuple[str, ...]:
        """Those days that no passage of the scope speaks of, as far as it is found by them."""
        found = []
        for day in days:
            terms = search_terms(day.shown)
            hits = self._engine.keyword(terms, scope=scope, limit=_CODE_HITS, deadline=deadline).hits
            passages = self._record.passages(sorted(hit.passage_id for hit in hits), deadline)
            if not any(day.is_meant_in(coverage.folded(passage)) for passage in passages.values()):
                found.append(day.shown)
        return tuple(found)

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
        template = _BY_REQUEST if self._requested else _BY_SETTING
        said = msg(
            template,
            probability=f"{probability:.3f}",
            least=f"{self.least:.2f}",
            abstain=abstain,
            score=f"{score:.3f}",
        )
        if missing:
            said = msg("nothing that was searched has {codes}; {said}", codes=", ".join(missing), said=said)
        return (
            said
            if ABSTAIN[abstain] <= ABSTAIN["lenient"]
            else msg("{said}; lenient asks for {lenient}", said=said, lenient=f"{ABSTAIN['lenient']:.2f}")
        )


def _lacking(query: AnalysedQuery, ranked: Ranked, coverage: Coverage) -> tuple[Word, ...]:
    """Things that the question names and that none of the first passages has, neither as a word that says nearly the same: all of
    them where they are half of what it says, else those that it writes as names.

    Things that have synonyms in the library, and questions whose best passage is in another language, are left out: they may be there
    in other words.
    """
    if coverage.of(ranked[0][1]) is None:
        return ()
    reworded = " ".join(fold(term) for other in query.wordings.others for term, _ in other.replaced)
    first = [coverage.folded(passage) for _, passage in ranked[:FIRST]]
    absent = [
        word
        for word in coverage.things
        if not any(share_in(word.text, text) for text in (reworded, *first))
        and not any(coverage.stands_as_neighbour(word.text, text) for text in first)
    ]
    if sum(word.says for word in absent) >= _MOSTLY * coverage.total:
        return tuple(absent)
    return tuple(word for word in absent if word.name)


def _other_days(query: AnalysedQuery, ranked: Ranked, coverage: Coverage) -> tuple[NamedDay, ...]:
    """Days and seasons that the question names and that the first passage does not speak of; see `core.text.named_days`."""
    days, (_, first) = named_days(query.text), ranked[0]
    if not days or coverage.of(first) is None:
        return ()
    text = coverage.folded(first)
    return tuple(day for day in days if not day.is_meant_in(text))


def _whole_passages(ranked: Ranked, found: LegOutput) -> list[float]:
    """Of each of the first passages with a vector, the mean of the cosines to its text and to its label; to its text if it has none."""
    near = [(hit.passage_id, hit.parts["cosine"]) for hit, _ in ranked[:FIRST] if "cosine" in hit.parts]
    return [0.5 * (cosine + found.labels.get(number, cosine)) for number, cosine in near]


def _most(absent: Sequence[Word], coverage: Coverage) -> float:
    """The most that the probability is said to be where things of a question stand nowhere in scope."""
    if any(word.name for word in absent):
        return WITHOUT_ITS_NAME
    return WITHOUT_ITS_THINGS if absent and len(absent) == len(coverage.things) else 1.0


def _any_stands(names: Sequence[str], ranked: Ranked) -> bool:
    """Whether one of the passages has one of the names letter by letter."""
    if not names:
        return False
    texts = [_text(passage) for _, passage in ranked]
    return any(stands_in(name, text) for text in texts for name in names)


def _text(passage: Passage) -> str:
    return "\n".join((passage.title, *passage.headings, passage.text))
