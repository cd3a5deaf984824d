"""The legs of a request: the two halves of our own index."""

from __future__ import annotations

import threading
import time
import unicodedata
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from wenyuan.core.adapt import QueryMap, Tuning
from wenyuan.core.cores import usable_cores
from wenyuan.core.errors import EncoderTimeout, EncoderUnavailable, EngineTimeout
from wenyuan.core.filters import Scope
from wenyuan.core.fuse import Fusion
from wenyuan.core.ports import Deadline, Encoder, Engine
from wenyuan.core.ranking import Hit, LegResult
from wenyuan.core.score import PLAIN, Traits
from wenyuan.core.vectors import checked_vectors
from wenyuan.service.answer import LegReport
from wenyuan.service.cache import CacheCounts
from wenyuan.service.candidates import Cut, contenders
from wenyuan.service.crew import Crew, Leg, Legs
from wenyuan.service.laws import Laws
from wenyuan.service.places import Places
from wenyuan.service.probes import GENERAL, SCRIPTS, script_of
from wenyuan.settings import SearchSettings

__all__ = ["Aim", "Found", "OwnLegs", "QueryVectors"]

_ROUNDING = 1e-6
"""An engine adds up the same score in another order when it is asked for given passages."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Aim:
    """What the vector leg looks for: a passage's cosine is ``scale · (vector · passage) + offset``.

    Attributes:
        vector: ``(d,)`` float32, unit.
        unbridged: As it would be were the library of one language; None where it is no other. How far a passage stands
            out is told by it: nonsense has no language that could be taken off.
    """

    vector: Any
    scale: float = 1.0
    offset: float = 0.0
    unbridged: Aim | None = None

    def level(self, cosine: Any) -> Any:
        """The cosine that counts, or an array of them, of the cosine to `vector`."""
        return self.scale * cosine + self.offset


def mapped(learned: QueryMap, aim: Aim) -> Aim:
    """Where a map sends it."""
    unbridged = None if aim.unbridged is None else mapped(learned, aim.unbridged)
    return Aim(vector=learned.apply(aim.vector), scale=learned.scale, offset=learned.offset, unbridged=unbridged)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """All that either leg found, each with both scores; `cosines`, `aim`: None without an encoder.

    Attributes:
        plain: The cosines that evidence is made of.
        shares: What articles keep of their scores for their laws, where that is not all.
    """

    keyword: Mapping[int, float]
    cosines: Mapping[int, float] | None
    plain: Mapping[int, float] | None = None
    mean: float
    aim: Aim | None
    reports: list[LegReport]
    shares: Mapping[int, float] = field(default_factory=dict)


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
        self._general: dict[str, Any] = {}
        self._asked = {"hits": 0, "misses": 0, "joined": 0}

    def counts(self) -> CacheCounts:
        """How often a vector was remembered, made, or being made for another leg; and what is held."""
        with self._lock:
            held = sum(vector.nbytes for vector in self._known.values())
            return CacheCounts(**self._asked, values=len(self._known), bytes=held)

    def general(self, script: str, deadline: Deadline) -> Any:
        """The mean vector of general questions in a script, (dim,) float32: what all questions have in common."""
        if script not in self._general:
            asked = GENERAL[script]
            answered = self.encoder.encode_queries(asked, deadline=deadline)
            vectors = checked_vectors(answered, len(asked), self.encoder.fingerprint.dimension, "encoder")
            self._general[script] = vectors.mean(axis=0)
        return self._general[script]

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


class OwnLegs:
    """keyword ∥ vector → one list of candidates, each with both scores.

    Every candidate of one leg is scored by the other too, so that a score never depends on what else was found;
    but for those that cannot be in the answer, whatever the other leg says (see `candidates.contenders`).
    """

    def __init__(
        self, engine: Engine, vectors: QueryVectors | None, settings: SearchSettings, crew: Crew, laws: Laws
    ) -> None:
        self._engine = engine
        self._vectors = vectors
        self._laws = laws
        self._weight = settings.vector_weight
        self._crew = crew
        parts = [engine] if vectors is None else [engine, vectors.encoder]
        here = all(getattr(part, "works_here", False) for part in parts)
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

    def weight(self, tuning: Tuning | None, traits: Traits) -> float:
        """Of the vector leg: what was learned, else what is set, else what was measured."""
        if tuning is not None:
            return tuning.weight
        return traits.weight if self._weight is None else self._weight

    def shares(self, candidates: Collection[int], law: float, deadline: Deadline) -> Mapping[int, float]:
        """What candidates keep of their scores for their laws, where that is not all; `law`: see `Traits`."""
        return self._laws.shares(candidates, law, deadline) if law else {}

    def candidates(
        self,
        query: str,
        words: list[str],
        scope: Scope,
        depth: int,
        deadline: Deadline,
        tuning: Tuning | None = None,
        traits: Traits = PLAIN,
        wanted: Cut | None = None,
    ) -> tuple[list[Hit], list[LegReport]]:
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
                return self.found(query, words, scope, depth, deadline, tuning, traits, wanted, legs)

            # Where all is computed here, to change threads four times would take longer than two legs at once save.
            found = found_by(self._crew) if self._places is None else self._crew.together(found_by, deadline)
            hits = self._fusion(tuning, traits, found.mean).hits(
                found.keyword, found.cosines, found.plain, found.shares
            )
        return hits, found.reports

    def _fusion(self, tuning: Tuning | None, traits: Traits, mean: float) -> Fusion:
        scale = self._vectors.encoder.fingerprint.scale if self._vectors is not None else (0.0, 1.0)
        return Fusion(weight=self.weight(tuning, traits), scale=scale, mean=mean, lifted=bool(traits.centre))

    def found(  # noqa: PLR0913, PLR0917  (as `candidates`, and what runs the legs)
        self,
        query: str,
        words: list[str],
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
            vectors = self._vectors

            def by_meaning() -> tuple[LegResult, Aim, float, bool]:
                begun = time.perf_counter()
                vector, remembered = vectors.recalled(query, deadline)
                aim = self.aim(query, vector, tuning, traits, deadline)
                result = self._engine.vector(aim.vector, scope=scope, limit=depth, deadline=deadline)
                return result, aim, (time.perf_counter() - begun) * 1e3, remembered

            second = legs.begin(by_meaning, "vector")
        first = legs.begin(lambda: self._keyword(words, scope, depth, deadline), "keyword")
        by_keyword, ms = legs.outcome(first, "keyword leg", deadline)
        keyword = {hit.passage_id: hit.score for hit in by_keyword.hits}
        reports = [LegReport(name="keyword", state="ok", ms=ms, hits=len(keyword))]
        if second is None:
            shares = self.shares(keyword, traits.law, deadline)
            return Found(keyword=keyword, cosines=None, mean=0.0, aim=None, reports=reports, shares=shares)
        by_vector, aim, ms, remembered = legs.outcome(second, "vector leg", deadline)
        cosines = {hit.passage_id: aim.level(hit.parts["cosine"]) for hit in by_vector.hits}
        reports.append(LegReport(name="vector", state="ok", ms=ms, hits=len(cosines), remembered=remembered))
        cosines |= self._cosines(legs, aim, [i for i in keyword if i not in cosines], deadline)
        plain = cosines if aim.unbridged is None else self._cosines(legs, aim.unbridged, list(cosines), deadline)
        mean = aim.level(self._engine.mean_cosine(aim.vector))
        shares = self.shares(keyword.keys() | cosines.keys(), traits.law, deadline)
        if wanted is not None:
            ceiling = (1.0 + _ROUNDING) * by_keyword.hits[-1].score if len(keyword) >= depth else 0.0
            chosen = contenders(keyword, cosines, ceiling, self._fusion(tuning, traits, mean), wanted, plain, shares)
            keyword = {i: score for i, score in keyword.items() if i in chosen}
            cosines = {i: cosine for i, cosine in cosines.items() if i in chosen}
        keyword |= self._keyword_scores(legs, words, [i for i in cosines if i not in keyword], deadline)
        return Found(
            keyword=keyword, cosines=cosines, plain=plain, mean=mean, aim=aim, reports=reports, shares=shares
        )

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
            learned, self._centred(query, vector, traits, deadline) if learned.aimed else Aim(vector=vector)
        )

    def _centred(self, query: str, vector: Any, traits: Traits, deadline: Deadline) -> Aim:
        if self._vectors is None or not traits.centre:
            return Aim(vector=vector)
        script = script_of(query)
        own = self._vectors.general(script, deadline)
        moved = self._moved(vector, traits.centre * own)
        if not traits.bridge:
            return moved
        (other,) = (s for s in SCRIPTS if s != script)
        language = traits.bridge * (own - self._vectors.general(other, deadline))
        return replace(self._moved(vector, traits.centre * own + language), unbridged=moved)

    def _moved(self, vector: Any, common: Any) -> Aim:
        """`vector` without what it has in common; what that is of the whole collection is put back."""
        moved = vector - common
        length = float((moved @ moved) ** 0.5)
        if not length:
            return Aim(vector=vector)
        return Aim(vector=moved / length, scale=length, offset=self._engine.mean_cosine(common))

    def naming(self, named: Sequence[str], hits: Sequence[Hit], deadline: Deadline) -> Collection[int]:
        """The passages among the hits that have one of these identifiers (see `text.identifiers`) anywhere."""
        marks = ["#" + name for name in named]
        return self._keyword_scores(self._crew, marks, [hit.passage_id for hit in hits], deadline).keys()

    def _keyword(self, words: list[str], scope: Scope, depth: int, deadline: Deadline) -> tuple[LegResult, float]:
        begun = time.perf_counter()
        result = self._engine.keyword(words, scope=scope, limit=depth, deadline=deadline)
        return result, (time.perf_counter() - begun) * 1e3

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
