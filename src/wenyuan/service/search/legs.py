"""The search legs: two over the library's own index (keyword and vector), those of external sources; query embedding."""

from __future__ import annotations

import hashlib
import json
import threading
import time
import unicodedata
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from wenyuan.core.addresses import is_script
from wenyuan.core.errors import EncoderTimeout, EncoderUnavailable, EngineTimeout, EngineUnavailable, KnowledgeError
from wenyuan.core.filters import Scope
from wenyuan.core.model import Passage, Source
from wenyuan.core.ports import Deadline, Encoder, Engine, Hit, Outside, OutsideHit
from wenyuan.core.scoring import CENTRE, CHINESE, checked_vectors, trust_factor
from wenyuan.core.scoring import shares as law_shares
from wenyuan.core.scoring.adapt import QueryMap
from wenyuan.core.scoring.fusion import Candidates, Reference, column
from wenyuan.core.scoring.probability import NEAR
from wenyuan.core.text import search_terms
from wenyuan.runtime import usable_cores
from wenyuan.service import LegReport
from wenyuan.service.search import AnalysedQuery, CollectionProfile
from wenyuan.service.search.candidates import Cutoff, LabelVectors, LawLookup, above, contenders
from wenyuan.service.search.common_vectors import Of, general_vectors
from wenyuan.service.search.execution import CacheCounts, FairSemaphore, Leg, LegExecutor, Legs
from wenyuan.service.search.general_texts import SCRIPTS

# The vectors of queries: made once for all legs of a request, and remembered where that is set.

_GENERAL: WeakKeyDictionary[Encoder, dict[tuple[Of, str], tuple[Any, Any]]] = WeakKeyDictionary()
"""Vectors of general texts and their mean, by encoder: the same for each of its retrievers, as replays make them."""


class QueryVectors:
    """Embeds queries and caches the last `size` of them (none by default).

    Several legs that need the vector of one query at the same time have it made once.
    """

    def __init__(self, encoder: Encoder, size: int = 0) -> None:
        self.encoder = encoder
        self._size = size
        self._known: OrderedDict[str, Any] = OrderedDict()
        self._making: dict[str, tuple[Future[Any], Deadline]] = {}
        self._lock = threading.Lock()
        self._general = _GENERAL.setdefault(encoder, {})
        self._asked = {"hits": 0, "misses": 0, "joined": 0}

    def counts(self) -> CacheCounts:
        """Cache statistics: remembered, computed, or shared with a concurrent computation."""
        with self._lock:
            held = sum(vector.nbytes for vector in self._known.values())
            return CacheCounts(**self._asked, values=len(self._known), bytes=held)

    def general(self, of: Of, script: str, deadline: Deadline) -> Any:
        """The vectors of general questions or passages in a script, (n, dim) float32."""
        return self._of_general(of, script, deadline)[0]

    def mean(self, of: Of, script: str, deadline: Deadline) -> Any:
        """Their mean, (dim,) float32; it is subtracted to centre vectors."""
        return self._of_general(of, script, deadline)[1]

    def _of_general(self, of: Of, script: str, deadline: Deadline) -> tuple[Any, Any]:
        known = self._general.get((of, script))
        if known is None:
            vectors = general_vectors(self.encoder, of, script, deadline)
            known = self._general[of, script] = vectors, vectors.mean(axis=0)
        return known

    def means(self, deadline: Deadline) -> None:
        """Embed what vectors are centred by, unless that is known; an encoder that none is shipped for takes a while.

        Raises:
            EncoderError: the texts cannot be embedded in time.
        """
        for script in SCRIPTS:
            self.mean("questions", script, deadline)
            self.mean("passages", script, deadline)

    def of(self, query: str, deadline: Deadline) -> tuple[Any, bool]:
        """The unit vector of a query, (dim,) float32, and whether it came from the cache; raises an `EncoderError`."""
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
_NEAREST = 10  # general passages
_MOST_LITERALS, _LITERAL_SHARE = 4, 0.5  # names that are looked for, and the share of the best score in their terms


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Aim:
    """The target of the vector search: the score of a passage is the cosine ``scale · (vector · passage) + offset``.

    Attributes:
        vector: ``(d,)`` float32, unit.
        asked: The query's own vector, as it was embedded.
    """

    vector: Any
    scale: float = 1.0
    offset: float = 0.0
    asked: Any = None

    def level(self, cosine: Any) -> Any:
        """Calibrate a cosine, or an array of cosines, to `vector`."""
        return self.scale * cosine + self.offset


def mapped(learned: QueryMap, aim: Aim) -> Aim:
    """The target after a learned query map."""
    return Aim(vector=learned.apply(aim.vector), scale=learned.scale, offset=learned.offset, asked=aim.asked)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LegRequest:
    """Input of the legs.

    Attributes:
        depth: How many passages each of them gives.
        cut: How much is asked for: then without those that cannot be in the answer; None: all that was found.
    """

    query: AnalysedQuery
    scope: Scope
    depth: int
    profile: CollectionProfile
    deadline: Deadline
    cut: Cutoff | None = None


class Found(NamedTuple):
    """Output of the legs.

    Attributes:
        aim: None without an encoder.
    """

    candidates: Candidates
    reports: list[LegReport]
    aim: Aim | None


@dataclass(frozen=True, slots=True)
class _Words:
    """Keyword scores of passages, each in the query wording that fits it best.

    Attributes:
        reworded: Which of the other wordings that is, counted from 1; not of those that its own words fit best.
        unseen: The highest score that a passage can have which the leg, asked for some, did not give.
        ms: How long the leg took.
    """

    scores: dict[int, float]
    reworded: dict[int, int]
    unseen: float = 0.0
    ms: float = 0.0


class _Near(NamedTuple):
    """Result of the vector leg: cosines to the target, time in ms, and whether the query vector was cached."""

    cosines: dict[int, float]
    aim: Aim
    ms: float
    remembered: bool


class OwnLegs:
    """Runs the keyword and vector legs in parallel and merges them into one candidate list, each candidate with both
    scores.

    Every candidate of one leg is scored by the other too, so that a score never depends on what else was found;
    but for those that cannot be in the answer, whatever the other leg says (see `candidates.contenders`).
    """

    def __init__(
        self,
        engine: Engine,
        vectors: QueryVectors | None,
        executor: LegExecutor,
        laws: LawLookup,
        labels: LabelVectors,
    ) -> None:
        self._engine = engine
        self._vectors = vectors
        self._laws, self._labels = laws, labels
        self._executor = executor
        here = engine.works_here and (vectors is None or getattr(vectors.encoder, "works_here", False))
        self._semaphore = FairSemaphore(usable_cores()) if here else None

    def query_vectors(self) -> CacheCounts | None:
        """Statistics of the query vector cache; None without an encoder."""
        return None if self._vectors is None else self._vectors.counts()

    def shares(self, candidates: Collection[int], law: float, deadline: Deadline) -> Mapping[int, float]:
        """The factors below 1 by which candidates of another statute are reduced, by passage id; `law`: see `Traits`."""
        return law_shares(self._laws.of(candidates, deadline), law) if law else {}

    def found(self, request: LegRequest) -> Found:
        """The best candidates of both legs, best first.

        Raises:
            KnowledgeError: a leg failed or did not answer in time.
        """
        if self._semaphore is None:
            return self._labelled(self._by_legs(self._executor, request), request)
        # More at once than there are cores hinder one another, at the interpreter's lock.
        if not self._semaphore.acquire(timeout=request.deadline.remaining()):
            raise EngineTimeout("too many requests were before this one", component="search")
        try:
            # Where all is computed here, to change threads four times would take longer than two legs at once save.
            found = self._executor.together(lambda legs: self._by_legs(legs, request), request.deadline)
            return self._labelled(found, request)
        finally:
            self._semaphore.release()

    def _labelled(self, found: Found, request: LegRequest) -> Found:
        """What was found, with the score of the label for passages whose label is nearer to the query than their text,
        in libraries where labels count. Only the best that count are looked at, the same however many are asked for.
        """
        every, aim = found.candidates, found.aim
        if aim is None or not request.profile.traits.labels:
            return found
        best = every.passage_ids[:NEAR][above(every.scores[:NEAR])].tolist()
        labels = self._labels.of(best, request.deadline)
        if not labels:
            return found
        cosines = dict(zip(labels, np.vecdot(np.stack(list(labels.values())), aim.vector).tolist(), strict=True))
        level = aim.level(column(cosines, every.passage_ids.tolist()))
        return found._replace(candidates=request.profile.fusion.labelled(every, level))

    def nearness(self, script: str, aim: Aim, passage: Passage, deadline: Deadline) -> float:
        """The centred cosine of a query and a passage, −1..1; see `core.scoring.answerable`.

        Args:
            script: Of the query; see `script_of`.

        Raises:
            KnowledgeError: the engine or the encoder failed.
        """
        assert self._vectors is not None
        common = self._vectors.mean("passages", "han" if passage.language == CHINESE else "latin", deadline)
        asked = aim.asked - self._vectors.mean("questions", script, deadline)
        length, level = float((asked @ asked) ** 0.5), float((common @ common) ** 0.5)
        number = passage.passage_id
        to = self._engine.cosines(asked / length, [number], deadline=deadline).get(number)
        if to is None:  # it has no vector
            return 0.0
        along = level * self._engine.cosines(common / level, [number], deadline=deadline).get(number, 0.0)
        apart = (1.0 - 2.0 * along + level * level) ** 0.5  # of the passage from what all have in common
        return float((to - common @ asked / length) / apart) if apart else 0.0

    def apart(self, aim: Aim, cosine: float, language: str, deadline: Deadline) -> float:
        """By how much the best cosine is larger than the mean of the largest `_NEAREST` to general passages.

        Args:
            cosine: Of the best passage, calibrated as the legs do it.
            language: Of that passage.

        Raises:
            KnowledgeError: the encoder failed.
        """
        assert self._vectors is not None
        script = "han" if language == CHINESE else "latin"
        kinds: tuple[Of, ...] = ("passages", "everyday")
        near = [self._vectors.general(of, script, deadline) @ aim.asked for of in kinds]
        nearest = np.sort(np.concatenate(near))[-_NEAREST:]
        return float(cosine - nearest.mean())

    def _by_legs(self, legs: Legs, request: LegRequest) -> Found:
        """Run both legs, and score each candidate of one leg in the other unless it cannot be in the answer.

        Args:
            legs: What runs them.
        """
        deadline, fusion, law = request.deadline, request.profile.fusion, request.profile.traits.law
        vectors = self._vectors
        second = None if vectors is None else legs.begin(partial(self._vector, vectors, request), "vector")
        first = legs.begin(lambda: self._keyword(request), "keyword")
        words = legs.outcome(first, "keyword leg", deadline)
        reports = [LegReport(name="keyword", state="ok", ms=words.ms, hits=len(words.scores))]
        if second is None:
            ids = list(words.scores)
            shares = column(self.shares(ids, law, deadline), ids, 1.0)
            found = fusion.candidates(
                np.array(ids, np.int64), column(words.scores, ids), None, shares, column(words.reworded, ids, 0.0)
            )
            return Found(found, reports, None)
        near = legs.outcome(second, "vector leg", deadline)
        aim = near.aim
        reports.append(
            LegReport(name="vector", state="ok", ms=near.ms, hits=len(near.cosines), remembered=near.remembered)
        )
        missing = [number for number in words.scores if number not in near.cosines]
        asked = legs.begin(lambda: self._engine.cosines(aim.vector, missing, deadline=deadline), "cosines")
        further = legs.outcome(asked, "vector leg", deadline)
        known = {**near.cosines, **further}
        ids = [*near.cosines, *missing]
        cosines, keyword = aim.level(column(known, ids)), column(words.scores, ids)
        shares = column(self.shares(ids, law, deadline), ids, 1.0)
        numbers = np.array(ids, np.int64)
        if request.cut is not None:
            may = contenders(keyword, cosines, words.unseen, fusion, request.cut, shares)
            numbers, keyword, cosines, shares = numbers[may], keyword[may], cosines[may], shares[may]
        ids, unknown = numbers.tolist(), np.isnan(keyword)
        rest = numbers[unknown].tolist()
        others = _best([self._keyword_scores(legs, said, rest, deadline) for said in request.query.wordings.each])
        keyword = np.where(unknown, column(others.scores, ids, 0.0), keyword)
        reworded = column({**words.reworded, **others.reworded}, ids, 0.0)
        return Found(fusion.candidates(numbers, keyword, cosines, shares, reworded), reports, aim)

    def aim(self, script: str, vector: Any, profile: CollectionProfile, deadline: Deadline) -> Aim:
        """The centred target of a query, with the learned query map applied if there is one.

        Passages that resemble any question stand too near to each of them: what a passage has in common with
        general questions is taken off its cosine, its mean over the collection is put back. Where the library has
        both languages, so is a part of what questions in the query's own language have in common and those in the
        other one do not: an answer in the other language is as near as one in its own.

        Args:
            script: Of the query; see `script_of`.
            vector: The query's, as it was embedded, (dim,) float32.
        """
        learned = None if profile.tuning is None else profile.tuning.map
        aim = Aim(vector=vector, asked=vector)
        if self._vectors is not None and (learned is None or learned.aimed):
            own = self._vectors.mean("questions", script, deadline)
            common = CENTRE * own
            if profile.traits.bridge:
                (other,) = (s for s in SCRIPTS if s != script)
                common = common + profile.traits.bridge * (own - self._vectors.mean("questions", other, deadline))
            moved = vector - common
            if length := float((moved @ moved) ** 0.5):
                # What is taken off is put back as it is over the whole collection, so that cosines keep their scale.
                offset = self._engine.mean_cosine(common)
                aim = Aim(vector=moved / length, scale=length, offset=offset, asked=vector)
        return aim if learned is None else mapped(learned, aim)

    def naming(self, reference: Reference, passages: Sequence[int], deadline: Deadline) -> Collection[int]:
        """Those of the passages that contain one of the identifiers (see `text.identifiers`), or may contain one of the
        literal names: most of its terms.
        """
        if not reference.literals:
            marks = ["#" + name for name in reference.named]
            return self._keyword_scores(self._executor, marks, passages, deadline).keys()
        found: set[int] = set()
        for name in reference.literals[:_MOST_LITERALS]:
            scores = self._keyword_scores(self._executor, search_terms(name), passages, deadline)
            least = _LITERAL_SHARE * max(scores.values(), default=0.0)
            found.update(number for number, score in scores.items() if score >= least)
        return found

    def _keyword(self, request: LegRequest) -> _Words:
        """Keyword search in every wording of the query; each hit is scored in all wordings."""
        begun, engine = time.perf_counter(), self._engine
        query, scope, depth, deadline = request.query.wordings, request.scope, request.depth, request.deadline
        results = [engine.keyword(words, scope=scope, limit=depth, deadline=deadline) for words in query.each]
        scores = [{hit.passage_id: hit.score for hit in result.hits} for result in results]
        if query.others:
            everyone = set().union(*scores)
            for words, known in zip(query.each, scores, strict=True):
                known.update(engine.keyword_scores(words, sorted(everyone - known.keys()), deadline=deadline))
        # The most that a passage can score which the leg, asked for `depth` of them, did not give.
        last = [result.hits[-1].score for result in results if len(result.hits) >= depth]
        unseen = (1.0 + _ROUNDING) * max(last, default=0.0)
        return replace(_best(scores), unseen=unseen, ms=(time.perf_counter() - begun) * 1e3)

    def _vector(self, vectors: QueryVectors, request: LegRequest) -> _Near:
        begun, query = time.perf_counter(), request.query
        vector, remembered = vectors.of(query.subject, request.deadline)
        aim = self.aim(query.script, vector, request.profile, request.deadline)
        result = self._engine.vector(aim.vector, scope=request.scope, limit=request.depth, deadline=request.deadline)
        cosines = {hit.passage_id: hit.parts["cosine"] for hit in result.hits}
        return _Near(cosines, aim, (time.perf_counter() - begun) * 1e3, remembered)

    def _keyword_scores(
        self, legs: Legs, words: list[str], passages: Sequence[int], deadline: Deadline
    ) -> Mapping[int, float]:
        """Keyword scores of passages that only the vector leg found."""
        engine = self._engine
        asked = legs.begin(lambda: engine.keyword_scores(words, passages, deadline=deadline), "keyword_scores")
        return legs.outcome(asked, "keyword leg", deadline)


def _best(scores: Sequence[Mapping[int, float]]) -> _Words:
    """The best score of each passage over several wordings; ties go to the first, the query as it was asked."""
    best, reworded = dict(scores[0]), {}
    for number, of_wording in enumerate(scores[1:], 1):
        for passage_id, score in of_wording.items():
            if score > best.get(passage_id, 0.0):
                best[passage_id], reworded[passage_id] = score, number
    return _Words(best, reworded)


# The legs that ask external sources, those of type ``api`` and ``vector_index``, while our own legs work.


Answered = tuple[Sequence[OutsideHit], float]


@dataclass(frozen=True, slots=True)
class Asked:
    """A pending query to one external source."""

    source: Source
    day: date
    answer: Leg[Answered]


class ExternalSearch:
    """Queries external sources.

    Args:
        open_source: Opens a source for asking; raises a `KnowledgeError` when it is described wrongly.
        executor: Runs these legs alone, and is closed with this: others that hang must not keep our own legs from running.
    """

    def __init__(
        self, open_source: Callable[[Source], Outside], vectors: QueryVectors | None, executor: LegExecutor
    ) -> None:
        self._open_source = open_source
        self._vectors = vectors
        self.executor = executor
        self._opened: dict[str, tuple[str, Outside]] = {}
        self._lock = threading.Lock()

    def ask(self, sources: Iterable[Source], query: str, limit: int, as_of: date, deadline: Deadline) -> list[Asked]:
        """Start the queries to all external sources of the request."""

        def call(source: Source) -> Answered:
            begun = time.perf_counter()
            outside = self._outside(source)
            vector = self._vectors.of(query, deadline)[0] if outside.needs_vector and self._vectors else None
            hits = outside.ask(query, vector=vector, limit=limit, as_of=as_of, deadline=deadline)
            return hits, (time.perf_counter() - begun) * 1e3

        return [Asked(s, as_of, self.executor.begin(lambda s=s: call(s), "outside", s.source_id)) for s in sources]  # type: ignore[misc]

    def _outside(self, source: Source) -> Outside:
        described = json.dumps([source.type, dict(source.settings)], sort_keys=True, default=str)
        with self._lock:
            known = self._opened.get(source.source_id)
            if known is None or known[0] != described:
                if known is not None:
                    known[1].close()
                known = self._opened[source.source_id] = (described, self._open_source(source))
            return known[1]

    def collect(
        self, asked: Sequence[Asked], deadline: Deadline
    ) -> tuple[list[tuple[Hit, Passage]], list[LegReport]]:
        """Collect the results. A failed source with ``required: false`` is reported; any other failure is raised."""
        found: list[tuple[Hit, Passage]] = []
        reports = []
        for question in asked:
            source = question.source
            name = f"source {source.source_id}"
            try:
                hits, ms = self.executor.outcome(question.answer, name, deadline)
            except KnowledgeError as error:
                if source.settings.get("required", True):
                    raise
                reports.append(LegReport(name=name, state="failed", ms=0.0, hits=0, error=str(error)))
                continue
            live = [hit for hit in hits if hit.in_force_on(question.day)]  # it may not have known of the day
            reports.append(LegReport(name=name, state="ok", ms=ms, hits=len(live), withheld=len(hits) - len(live)))
            found += [_entered(source, hit) for hit in live]
        return found, reports

    def close(self) -> None:
        self.executor.close()
        with self._lock:
            for _, outside in self._opened.values():
                outside.close()
            self._opened.clear()


def no_outside(source: Source) -> Outside:
    """The opener of libraries without external sources; raises EngineUnavailable."""
    raise EngineUnavailable("sources of this type cannot be asked here", component=f"source {source.source_id}")


def _entered(source: Source, hit: OutsideHit) -> tuple[Hit, Passage]:
    """An external hit as a passage. Its id is negative and stable, derived from source and key."""
    digest = hashlib.sha256(f"{source.source_id}\x00{hit.key}".encode()).digest()
    passage_id = -1 - int.from_bytes(digest[:6])
    passage = Passage(
        passage_id=passage_id,
        source_id=source.source_id,
        document_id=passage_id,
        uri=hit.uri,
        title=hit.title or source.title,
        headings=hit.headings,
        text=hit.content,
        sha256=hashlib.sha256(hit.content.encode()).hexdigest(),
        start=0,
        end=len(hit.content),
        language=source.language,
        trust=source.trust,
        domain=source.domain,
        collection=source.collection,
        copyright=source.copyright,
        effective_from=hit.effective_from or source.effective_from,
        effective_until=hit.effective_until or source.effective_until,
        facets=hit.facets,
    )
    if is_script(hit.uri):
        passage = unaddressed(passage)
    trust = trust_factor(source.trust)
    parts = {"outside": hit.score, "trust": trust}
    return Hit(passage_id=passage_id, score=min(1.0, hit.score * trust), parts=parts), passage


def unaddressed(passage: Passage) -> Passage:
    """An external passage without the address that its source gave; a stable name replaces it."""
    return replace(passage, uri=f"urn:wenyuan:{passage.source_id}:{-passage.passage_id}")
