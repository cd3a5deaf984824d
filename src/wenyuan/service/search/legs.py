"""The search legs of a request, with tuning, query vectors and synonym wordings."""

from __future__ import annotations

import threading
import time
import unicodedata
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from wenyuan.core.errors import EncoderTimeout, EncoderUnavailable, EngineTimeout
from wenyuan.core.filters import Scope
from wenyuan.core.model import Passage
from wenyuan.core.ports import Deadline, Encoder, Engine, Hit, LegResult
from wenyuan.core.records import KeptTuning
from wenyuan.core.scoring import CENTRE, PLAIN, VECTOR_WEIGHT, Traits
from wenyuan.core.scoring import shares as law_shares
from wenyuan.core.scoring.adapt import QueryMap, Tuning
from wenyuan.core.scoring.fusion import Fusion
from wenyuan.core.scoring.probability import NEAR
from wenyuan.core.scoring.vectors import CHINESE, checked_vectors
from wenyuan.core.text.synonyms import SynonymTable, Wordings
from wenyuan.runtime import usable_cores
from wenyuan.service.answer import LegReport
from wenyuan.service.search import Record
from wenyuan.service.search.cache import CacheCounts
from wenyuan.service.search.candidates import Belongings, Cut, LabelVectors, above, contenders
from wenyuan.service.search.general import GENERAL, PASSAGES, SCRIPTS, script_of
from wenyuan.service.search.threads import Crew, Leg, Legs, Places
from wenyuan.settings import SearchSettings

# Which tuning counts for a request: the one of the change that is searched, if it fits the encoder.


def fits(tuning: Tuning | KeptTuning, encoder: Encoder | None) -> bool:
    """Whether a tuning was learned with this encoder; another's vectors lie elsewhere."""
    return encoder is not None and tuning.encoder in ("", encoder.fingerprint.key)


class Tuned:
    """The tunings of a record, read anew after every change of the catalog."""

    def __init__(self, record: Record, encoder: Encoder | None) -> None:
        self._record = record
        self._encoder = encoder
        self._lock = threading.Lock()
        self._at: tuple[int, Tuning | None] | None = None

    def at(self, change: int, deadline: Deadline | None = None) -> Tuning | None:
        """The tuning that counts at a change; None without one, or when it is of another encoder.

        Raises:
            IndexCorrupt: its map is damaged: an answer without it would be another answer.
        """
        if self._encoder is None:
            return None
        with self._lock:
            if self._at is None or self._at[0] != change:
                found = self._record.tuning_at(change, deadline)
                usable = found is not None and fits(found, self._encoder)
                self._at = (change, found if usable else None)
            return self._at[1]


# The vectors of queries: made once for all legs of a request, and remembered where that is set.


class QueryVectors:
    """Embeds queries, and remembers the last `size` of them (none by default).

    Several legs that need the vector of one query at the same time have it made once.
    """

    def __init__(self, encoder: Encoder, size: int = 0) -> None:
        self.encoder = encoder
        self._size = size
        self._known: OrderedDict[str, Any] = OrderedDict()
        self._making: dict[str, tuple[Future[Any], Deadline]] = {}
        self._lock = threading.Lock()
        self._means: dict[tuple[str, ...], Any] = {}
        self._asked = {"hits": 0, "misses": 0, "joined": 0}

    def counts(self) -> CacheCounts:
        """How often a vector was remembered, made, or being made for another leg; and what is held."""
        with self._lock:
            held = sum(vector.nbytes for vector in self._known.values())
            return CacheCounts(**self._asked, values=len(self._known), bytes=held)

    def general(self, script: str, deadline: Deadline) -> Any:
        """The mean vector of general questions in a script, (dim,) float32: what all questions have in common."""
        return self._mean(GENERAL[script], lambda texts: self.encoder.encode_queries(texts, deadline=deadline))

    def passages(self, script: str, deadline: Deadline) -> Any:
        """The mean vector of passages about everything in a script, (dim,) float32: what all passages have in common."""
        deadline.check("encoder")
        return self._mean(PASSAGES[script], self.encoder.encode_passages)

    def _mean(self, texts: tuple[str, ...], embed: Callable[[Sequence[str]], Any]) -> Any:
        if texts not in self._means:
            vectors = checked_vectors(embed(texts), len(texts), self.encoder.fingerprint.dimension, "encoder")
            self._means[texts] = vectors.mean(axis=0)
        return self._means[texts]

    def of(self, query: str, deadline: Deadline) -> Any:
        """The query's unit vector, (dim,) float32; raises an `EncoderError`."""
        return self.recalled(query, deadline)[0]

    def recalled(self, query: str, deadline: Deadline) -> tuple[Any, bool]:
        """The query's unit vector, and whether it was remembered; raises an `EncoderError`."""
        text = unicodedata.normalize("NFKC", query.strip())
        while True:
            with self._lock:
                if text in self._known:
                    self._asked["hits"] += 1
                    self._known.move_to_end(text)
                    return self._known[text], True
                mine = text not in self._making
                self._asked["misses" if mine else "joined"] += 1
                making, makers = self._making.setdefault(text, (Future(), deadline))
            if mine:
                self._make(text, making, deadline)
            try:
                return making.result(deadline.remaining()), False
            except EncoderTimeout:
                # Whoever makes it may have had less time: who joined fails at no deadline but its own.
                if mine or makers.remaining() > 0 or not deadline.remaining():
                    raise
            except TimeoutError as error:
                deadline.check("encoder")
                raise EncoderUnavailable("the query was not embedded in time", component="encoder") from error

    def _make(self, text: str, making: Future[Any], deadline: Deadline) -> None:
        try:
            answered = self.encoder.encode_queries([text], deadline=deadline)
            vector = checked_vectors(answered, 1, self.encoder.fingerprint.dimension, "encoder")[0]
        except BaseException as error:
            with self._lock:
                del self._making[text]
            making.set_exception(error)
            return
        with self._lock:
            del self._making[text]
            self._known[text] = vector
            while len(self._known) > self._size:
                self._known.popitem(last=False)
        making.set_result(vector)


# The legs of a request: the two halves of our own index.


_ROUNDING = 1e-6
"""An engine adds up the same score in another order when it is asked for given passages."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Aim:
    """What the vector leg looks for: a passage's cosine is ``scale · (vector · passage) + offset``.

    Attributes:
        vector: ``(d,)`` float32, unit.
        asked: The query's own vector, as it was embedded.
    """

    vector: Any
    scale: float = 1.0
    offset: float = 0.0
    asked: Any = None

    def level(self, cosine: Any) -> Any:
        """The cosine that counts, or an array of them, of the cosine to `vector`."""
        return self.scale * cosine + self.offset


def mapped(learned: QueryMap, aim: Aim) -> Aim:
    """Where a map sends it."""
    return Aim(vector=learned.apply(aim.vector), scale=learned.scale, offset=learned.offset, asked=aim.asked)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """All that either leg found, each with both scores; `cosines`, `aim`: None without an encoder.

    Attributes:
        shares: What articles keep of their scores for their laws, where that is not all.
        reworded: Whose keyword scores are of another wording of the query; see `_Words`.
        seen: How many passages there are in scope, as far as the legs were asked for them.
    """

    keyword: Mapping[int, float]
    cosines: Mapping[int, float] | None
    aim: Aim | None
    reports: list[LegReport]
    seen: int
    shares: Mapping[int, float] = field(default_factory=dict)
    reworded: Mapping[int, int] = field(default_factory=dict)


class Candidates(NamedTuple):
    """All that either leg found, best first, and what tells how well the best of it stands; see `Found`."""

    hits: list[Hit]
    reports: list[LegReport]
    aim: Aim | None
    seen: int


@dataclass(frozen=True, slots=True)
class _Words:
    """What passages score in the wording of a query that fits each of them best.

    Attributes:
        reworded: Which of the other wordings that is, counted from 1; not of those that its own words fit best.
        unseen: The highest score that a passage can have which the leg, asked for some, did not give.
    """

    scores: dict[int, float]
    reworded: dict[int, int]
    unseen: float = 0.0


class OwnLegs:
    """keyword ∥ vector → one list of candidates, each with both scores.

    Every candidate of one leg is scored by the other too, so that a score never depends on what else was found;
    but for those that cannot be in the answer, whatever the other leg says (see `candidates.contenders`).
    """

    def __init__(
        self,
        engine: Engine,
        vectors: QueryVectors | None,
        settings: SearchSettings,
        crew: Crew,
        belongings: Belongings,
        labels: LabelVectors,
    ) -> None:
        self._engine = engine
        self._vectors = vectors
        self._belongings, self._labels = belongings, labels
        self._weight = settings.vector_weight
        self._crew = crew
        here = engine.works_here and (vectors is None or getattr(vectors.encoder, "works_here", False))
        self._places = Places(usable_cores()) if here else None

    @contextmanager
    def _placed(self, deadline: Deadline) -> Iterator[None]:
        """Wait for a place among those that are computing, where computing is all that there is to do.

        More at once than there are cores hinder one another, at the interpreter's lock.

        Raises:
            EngineTimeout: there was none before the deadline.
        """
        if self._places is None:
            yield
            return
        if not self._places.acquire(timeout=deadline.remaining()):
            raise EngineTimeout("too many requests were before this one", component="search")
        try:
            yield
        finally:
            self._places.release()

    def embedding(self, text: str, deadline: Deadline) -> Callable[[], Any] | None:
        """Gives the vector of a query's text when it is called; None without an encoder."""
        vectors = self._vectors
        return None if vectors is None else lambda: vectors.of(text, deadline)

    def query_vectors(self) -> CacheCounts | None:
        """How query vectors were come by; None without an encoder."""
        return None if self._vectors is None else self._vectors.counts()

    def weight(self, tuning: Tuning | None) -> float:
        """Of the vector leg: what was learned, else what is set, else the one for all collections."""
        if tuning is not None:
            return tuning.weight
        return VECTOR_WEIGHT if self._weight is None else self._weight

    def shares(self, candidates: Collection[int], law: float, deadline: Deadline) -> Mapping[int, float]:
        """What candidates keep of their scores for their laws, where that is not all; `law`: see `Traits`."""
        return law_shares(self._belongings.of(candidates, deadline), law) if law else {}

    def candidates(
        self,
        query: Wordings,
        scope: Scope,
        depth: int,
        deadline: Deadline,
        tuning: Tuning | None = None,
        traits: Traits = PLAIN,
        wanted: Cut | None = None,
    ) -> Candidates:
        """All that either leg found among its best `depth`, best first.

        Args:
            tuning: What was learned from judged questions; it moves the query's vector and sets the weight.
            traits: What was measured of the collection.
            wanted: How much is asked for: then without those that cannot be in the answer.

        Raises:
            KnowledgeError: a leg failed or did not answer in time.
        """
        with self._placed(deadline):

            def found_by(legs: Legs) -> Found:
                return self.found(query, scope, depth, deadline, tuning, traits, wanted, legs)

            # Where all is computed here, to change threads four times would take longer than two legs at once save.
            found = found_by(self._crew) if self._places is None else self._crew.together(found_by, deadline)
            hits = self._fusion(tuning).hits(found.keyword, found.cosines, found.shares)
            if traits.labels and found.aim is not None:
                hits = self._labelled(hits, found.aim, tuning, deadline)
        return Candidates(_marked(hits, found.reworded), found.reports, found.aim, found.seen)

    def _labelled(self, hits: list[Hit], aim: Aim, tuning: Tuning | None, deadline: Deadline) -> list[Hit]:
        """The hits; of the best ones that count (the same however many are asked for) those lifted whose label is nearer."""
        best = above(hits[:NEAR])
        if not best:
            return hits
        cosines = self._labels.cosines(aim.vector, [hit.passage_id for hit in best], deadline)
        return self._fusion(tuning).labelled(hits, {i: aim.level(cosine) for i, cosine in cosines.items()})

    def _fusion(self, tuning: Tuning | None) -> Fusion:
        scale = self._vectors.encoder.fingerprint.scale if self._vectors is not None else (0.0, 1.0)
        return Fusion(weight=self.weight(tuning), scale=scale)

    def nearness(self, query: str, aim: Aim, passage: Passage, deadline: Deadline) -> float:
        """The cosine of a query to a passage, −1..1, each less what all of its kind have in common; see `core.scoring.probability`.

        Raises:
            KnowledgeError: the engine or the encoder failed.
        """
        assert self._vectors is not None
        common = self._vectors.passages("han" if passage.language == CHINESE else "latin", deadline)
        asked = aim.asked - self._vectors.general(script_of(query), deadline)
        length, level = float((asked @ asked) ** 0.5), float((common @ common) ** 0.5)
        number = passage.passage_id
        to = self._engine.cosines(asked / length, [number], deadline=deadline).get(number)
        if to is None:  # it has no vector
            return 0.0
        along = level * self._engine.cosines(common / level, [number], deadline=deadline).get(number, 0.0)
        apart = (1.0 - 2.0 * along + level * level) ** 0.5  # of the passage from what all have in common
        return float((to - common @ asked / length) / apart) if apart else 0.0

    def found(
        self,
        query: Wordings,
        scope: Scope,
        depth: int,
        deadline: Deadline,
        tuning: Tuning | None,
        traits: Traits,
        wanted: Cut | None = None,
        legs: Legs | None = None,
    ) -> Found:
        """The scores that `candidates` are made of; arguments and errors as there.

        Args:
            legs: What runs them; each in a thread of its own unless told otherwise.
        """
        legs = self._crew if legs is None else legs
        second: Leg[tuple[LegResult, Aim, float, bool]] | None = None
        if self._vectors is not None:
            meant = partial(self._vector, self._vectors, query.text, scope, depth, deadline, tuning, traits)
            second = legs.begin(meant, "vector")
        first = legs.begin(lambda: self._keyword(query, scope, depth, deadline), "keyword")
        worded, ms = legs.outcome(first, "keyword leg", deadline)
        keyword, reworded = worded.scores, worded.reworded
        reports = [LegReport(name="keyword", state="ok", ms=ms, hits=len(keyword))]
        if second is None:
            shares = self.shares(keyword, traits.law, deadline)
            seen = len(keyword)
            return Found(
                keyword=keyword, cosines=None, aim=None, reports=reports, shares=shares, reworded=reworded, seen=seen
            )
        by_vector, aim, ms, remembered = legs.outcome(second, "vector leg", deadline)
        cosines = {hit.passage_id: aim.level(hit.parts["cosine"]) for hit in by_vector.hits}
        reports.append(LegReport(name="vector", state="ok", ms=ms, hits=len(cosines), remembered=remembered))
        cosines |= self._cosines(legs, aim, [i for i in keyword if i not in cosines], deadline)
        shares = self.shares(keyword.keys() | cosines.keys(), traits.law, deadline)
        if wanted is not None:
            chosen = contenders(keyword, cosines, worded.unseen, self._fusion(tuning), wanted, shares)
            keyword = {i: score for i, score in keyword.items() if i in chosen}
            cosines = {i: cosine for i, cosine in cosines.items() if i in chosen}
        others = self._worded(legs, query, [i for i in cosines if i not in keyword], deadline)
        return Found(
            keyword=keyword | others.scores, cosines=cosines, aim=aim, reports=reports, shares=shares,
            reworded=reworded | others.reworded, seen=len(by_vector.hits),
        )  # fmt: skip

    def aim(self, query: str, vector: Any, tuning: Tuning | None, traits: Traits, deadline: Deadline) -> Aim:
        """Away from what all questions have in common, and from there where a learned map sends the query.

        Passages that resemble any question stand too near to each of them: what a passage has in common with
        general questions is taken off its cosine, its mean over the collection is put back. Where the library has
        both languages, so is a part of what questions in the query's own language have in common and those in the
        other one do not: an answer in the other language is as near as one in its own.

        Args:
            vector: The query's, as it was embedded.
        """
        learned = None if tuning is None else tuning.map
        if learned is None:
            return self._centred(query, vector, traits, deadline)
        return mapped(
            learned,
            self._centred(query, vector, traits, deadline) if learned.aimed else Aim(vector=vector, asked=vector),
        )

    def _centred(self, query: str, vector: Any, traits: Traits, deadline: Deadline) -> Aim:
        if self._vectors is None:
            return Aim(vector=vector, asked=vector)
        script = script_of(query)
        own = self._vectors.general(script, deadline)
        common = CENTRE * own
        if traits.bridge:
            (other,) = (s for s in SCRIPTS if s != script)
            common = common + traits.bridge * (own - self._vectors.general(other, deadline))
        moved = vector - common
        length = float((moved @ moved) ** 0.5)
        if not length:
            return Aim(vector=vector, asked=vector)
        # What is taken off is put back as it is over the whole collection, so that cosines keep their scale.
        return Aim(vector=moved / length, scale=length, offset=self._engine.mean_cosine(common), asked=vector)

    def naming(self, named: Sequence[str], hits: Sequence[Hit], deadline: Deadline) -> Collection[int]:
        """The passages among the hits that have one of these identifiers (see `text.identifiers`) anywhere."""
        marks = ["#" + name for name in named]
        return self._keyword_scores(self._crew, marks, [hit.passage_id for hit in hits], deadline).keys()

    def _keyword(self, query: Wordings, scope: Scope, depth: int, deadline: Deadline) -> tuple[_Words, float]:
        """What was found in any wording, each scored in all of them, and in how many ms."""
        begun, engine = time.perf_counter(), self._engine
        results = [engine.keyword(words, scope=scope, limit=depth, deadline=deadline) for words in query.each]
        scores = [{hit.passage_id: hit.score for hit in result.hits} for result in results]
        if query.others:
            everyone = set().union(*scores)
            for words, known in zip(query.each, scores, strict=True):
                known.update(engine.keyword_scores(words, sorted(everyone - known.keys()), deadline=deadline))
        unseen = max(_most_unseen(result, depth) for result in results)
        return _best(scores, unseen), (time.perf_counter() - begun) * 1e3

    def _vector(
        self,
        vectors: QueryVectors,
        query: str,
        scope: Scope,
        depth: int,
        deadline: Deadline,
        tuning: Tuning | None,
        traits: Traits,
    ) -> tuple[LegResult, Aim, float, bool]:
        """What was found, for what, in how many ms; and whether the query's vector was remembered."""
        begun = time.perf_counter()
        vector, remembered = vectors.recalled(query, deadline)
        aim = self.aim(query, vector, tuning, traits, deadline)
        result = self._engine.vector(aim.vector, scope=scope, limit=depth, deadline=deadline)
        return result, aim, (time.perf_counter() - begun) * 1e3, remembered

    def _cosines(self, legs: Legs, aim: Aim, passages: Sequence[int], deadline: Deadline) -> Mapping[int, float]:
        """The cosines of what only the keyword leg found."""
        asked = legs.begin(lambda: self._engine.cosines(aim.vector, passages, deadline=deadline), "cosines")
        found = legs.outcome(asked, "vector leg", deadline)
        return {i: aim.level(cosine) for i, cosine in found.items()}

    def _keyword_scores(
        self, legs: Legs, words: list[str], passages: Sequence[int], deadline: Deadline
    ) -> Mapping[int, float]:
        """The keyword scores of what only the vector leg found."""
        engine = self._engine
        asked = legs.begin(lambda: engine.keyword_scores(words, passages, deadline=deadline), "keyword_scores")
        return legs.outcome(asked, "keyword leg", deadline)

    def _worded(self, legs: Legs, query: Wordings, passages: Sequence[int], deadline: Deadline) -> _Words:
        """The keyword scores of what only the vector leg found, in any wording."""
        return _best([self._keyword_scores(legs, words, passages, deadline) for words in query.each])


def _best(scores: Sequence[Mapping[int, float]], unseen: float = 0.0) -> _Words:
    """The best score of each passage in several wordings; the first is the query's own, which wins where scores are equal."""
    best, reworded = dict(scores[0]), {}
    for number, of_wording in enumerate(scores[1:], 1):
        for passage_id, score in of_wording.items():
            if score > best.get(passage_id, 0.0):
                best[passage_id], reworded[passage_id] = score, number
    return _Words(best, reworded, unseen)


def _marked(hits: list[Hit], reworded: Mapping[int, int]) -> list[Hit]:
    """The hits; those that another wording fits best with its number (part ``wording``)."""
    if not reworded:
        return hits
    return [
        hit._replace(parts={**hit.parts, "wording": float(reworded[hit.passage_id])})
        if hit.passage_id in reworded
        else hit
        for hit in hits
    ]


def _most_unseen(by_keyword: LegResult, depth: int) -> float:
    """The highest keyword score that a passage can have which the leg, asked for `depth`, did not give."""
    return (1.0 + _ROUNDING) * by_keyword.hits[-1].score if len(by_keyword.hits) >= depth else 0.0


# In which wordings a question is asked: its own, and those that the library's synonyms give it.


class Worder:
    """The synonyms of a record. They are asked for at every change of the catalog, and read anew only when they are others."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._lock = threading.Lock()
        self._change = -1
        self._version = 0
        self._table = SynonymTable()

    def wordings(self, text: str, change: int, deadline: Deadline | None = None) -> Wordings:
        """The wordings of a question, by the synonyms that count at a change."""
        return self._at(change, deadline).wordings(text)

    def _at(self, change: int, deadline: Deadline | None) -> SynonymTable:
        with self._lock:
            if self._change != change:
                version = self._record.synonyms_version(change, deadline)
                if version != self._version:
                    self._table = SynonymTable(self._record.synonyms_at(change, deadline))
                    self._version = version
                self._change = change
            return self._table
