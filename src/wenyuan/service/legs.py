"""The legs of a request: the two halves of our own index, each in a thread of its own."""

from __future__ import annotations

import threading
import time
import unicodedata
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from wenyuan.core.adapt import Tuning
from wenyuan.core.errors import EncoderUnavailable
from wenyuan.core.filters import Scope
from wenyuan.core.fuse import fused
from wenyuan.core.ports import Deadline, Encoder, Engine
from wenyuan.core.ranking import Hit, LegResult
from wenyuan.core.vectors import checked_vectors
from wenyuan.service.crew import Crew, Leg
from wenyuan.settings import SearchSettings

__all__ = ["LegReport", "OwnLegs", "QueryVectors"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LegReport:
    """How one leg did: state ``ok``, ``failed`` or ``skipped`` (with why), time in ms, number of hits.

    Attributes:
        withheld: Hits of a source elsewhere that are not in force on the day, and so are not among `hits`.
    """

    name: str
    state: str
    ms: float
    hits: int
    error: str = ""
    withheld: int = 0


class QueryVectors:
    """Embeds queries, and remembers the last `size` of them (none by default).

    Several legs that need the vector of one query at the same time have it made once.
    """

    def __init__(self, encoder: Encoder, size: int = 0) -> None:
        self.encoder = encoder
        self._size = size
        self._known: OrderedDict[str, Any] = OrderedDict()
        self._making: dict[str, Future[Any]] = {}
        self._lock = threading.Lock()

    def of(self, query: str, deadline: Deadline) -> Any:
        """The query's unit vector, (dim,) float32; raises an `EncoderError`."""
        text = unicodedata.normalize("NFKC", query.strip())
        with self._lock:
            if text in self._known:
                self._known.move_to_end(text)
                return self._known[text]
            mine = text not in self._making
            making = self._making.setdefault(text, Future())
        if mine:
            self._make(text, making, deadline)
        try:
            return making.result(max(0.0, deadline.at - deadline.clock()))
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

    Every candidate of one leg is scored by the other too, so that a score never depends on what else was found.
    """

    def __init__(self, engine: Engine, vectors: QueryVectors | None, settings: SearchSettings, crew: Crew) -> None:
        self._engine = engine
        self._vectors = vectors
        self._weight = settings.vector_weight
        self._crew = crew

    def embedding(self, text: str, deadline: Deadline) -> Callable[[], Any] | None:
        """Gives the vector of a query's text when it is called; None without an encoder."""
        vectors = self._vectors
        return None if vectors is None else lambda: vectors.of(text, deadline)

    def weight(self, tuning: Tuning | None) -> float:
        """Of the vector leg."""
        return self._weight if tuning is None else tuning.weight

    def candidates(
        self,
        query: str,
        words: list[str],
        scope: Scope,
        depth: int,
        deadline: Deadline,
        tuning: Tuning | None = None,
    ) -> tuple[list[Hit], list[LegReport]]:
        """All that either leg found among its best `depth`, best first.

        Args:
            tuning: What was learned from judged questions; it moves the query's vector and sets the weight.

        Raises:
            KnowledgeError: a leg failed or did not answer in time.
        """
        second: Leg[tuple[LegResult, Any, float]] | None = None
        if self._vectors is not None:
            vectors = self._vectors
            second = self._crew.begin(lambda: self._vector(vectors, query, scope, depth, deadline, tuning), "vector")
        first = self._crew.begin(lambda: self._keyword(words, scope, depth, deadline), "keyword")
        by_keyword, ms = self._crew.outcome(first, "keyword leg", deadline)
        found = {hit.passage_id: hit.score for hit in by_keyword.hits}
        reports = [LegReport(name="keyword", state="ok", ms=ms, hits=len(found))]
        if second is None or self._vectors is None:
            return fused(found, None, weight=self._weight, scale=(0.0, 1.0)), reports
        by_vector, vector, ms = self._crew.outcome(second, "vector leg", deadline)
        cosines = {hit.passage_id: hit.parts["cosine"] for hit in by_vector.hits}
        reports.append(LegReport(name="vector", state="ok", ms=ms, hits=len(cosines)))
        scale = self._vectors.encoder.fingerprint.scale
        more_words, more_cosines = self._complete(words, vector, found, cosines, deadline)
        cosines = {**cosines, **more_cosines}
        mean = self._engine.mean_cosine(vector)
        if tuning is not None and tuning.map is not None:
            cosines = {i: tuning.map.level(cosine) for i, cosine in cosines.items()}
            mean = tuning.map.level(mean)
        weight = self.weight(tuning)
        return fused({**found, **more_words}, cosines, weight=weight, scale=scale, mean=mean), reports

    def _keyword(self, words: list[str], scope: Scope, depth: int, deadline: Deadline) -> tuple[LegResult, float]:
        begun = time.perf_counter()
        result = self._engine.keyword(words, scope=scope, limit=depth, deadline=deadline)
        return result, (time.perf_counter() - begun) * 1e3

    def _vector(
        self,
        vectors: QueryVectors,
        query: str,
        scope: Scope,
        depth: int,
        deadline: Deadline,
        tuning: Tuning | None,
    ) -> tuple[LegResult, Any, float]:
        begun = time.perf_counter()
        vector = vectors.of(query, deadline)
        if tuning is not None and tuning.map is not None:
            vector = tuning.map.apply(vector)
        result = self._engine.vector(vector, scope=scope, limit=depth, deadline=deadline)
        return result, vector, (time.perf_counter() - begun) * 1e3

    def _complete(
        self,
        words: list[str],
        vector: Any,
        keyword: Mapping[int, float],
        cosines: Mapping[int, float],
        deadline: Deadline,
    ) -> tuple[Mapping[int, float], Mapping[int, float]]:
        """The scores of what only the other leg found."""
        unseen_words = [i for i in cosines if i not in keyword]
        unseen_vectors = [i for i in keyword if i not in cosines]
        crew, engine = self._crew, self._engine
        first = crew.begin(lambda: engine.keyword_scores(words, unseen_words, deadline=deadline), "keyword_scores")
        second = crew.begin(lambda: engine.cosines(vector, unseen_vectors, deadline=deadline), "cosines")
        return crew.outcome(first, "keyword leg", deadline), crew.outcome(second, "vector leg", deadline)
