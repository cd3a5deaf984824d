"""An engine on an OpenSearch cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeVar, cast

import numpy as np

from wenyuan.core.errors import ConfigError, EngineError, IndexCorrupt, msg
from wenyuan.core.filters import Scope
from wenyuan.core.hidden_documents import HiddenDocuments
from wenyuan.core.ports import ChangeFeed, Deadline, EngineStatus, Hit, IndexSpec, LegResult
from wenyuan.core.scoring.formula import rescale
from wenyuan.engines.following import A_DAY, MAX_LAG, PATIENCE, FollowingEngine
from wenyuan.engines.hidden_tally import HiddenTally
from wenyuan.engines.opensearch import hidden_rows
from wenyuan.engines.opensearch.candidates import best_by_terms, cosines_of, nearest, scores_by_terms
from wenyuan.engines.opensearch.conditions import there
from wenyuan.engines.opensearch.indices import MOST_DIMENSIONS, IndexNames, IndexShape, check_cluster, find, make
from wenyuan.engines.opensearch.marks import ClusterMark, newest
from wenyuan.engines.opensearch.sessions import ClusterAddress, ClusterSession, ClusterSessions
from wenyuan.engines.opensearch.term_numbers import query_terms
from wenyuan.engines.opensearch.writes import advance, renew
from wenyuan.runtime.deadlines import deadline_after

_TO_OPEN = 60.0  # seconds; making indices takes its time
_SETTLE_AFTER = 2_000  # passages after which a checkpoint is worth its while

T = TypeVar("T")


class OpenSearchEngine(FollowingEngine[ClusterMark]):
    """An engine in indices of its own.

    Args:
        place: Where the cluster is.
        spec: Analyser and encoder; each gets its own indices, so that a change builds a new index beside the old one.
        library_id: Whose index this is.
        exclusive: Gives the library's writer lock; only its holder writes.
        prefix: How the indices' names begin.
        shape: How they are laid out when they are made.
        max_lag: See `engines.following`.

    Raises:
        ConfigError: an address or the cluster is not what is needed, or the driver is not installed.
        IndexMismatch: the indices belong to something else, or were changed by hand.
        EngineUnavailable, EngineTimeout: the cluster cannot be asked.
    """

    def __init__(
        self,
        place: ClusterAddress,
        spec: IndexSpec,
        *,
        library_id: str,
        exclusive: Callable[..., AbstractContextManager[None]],
        prefix: str = "wenyuan",
        shape: IndexShape | None = None,
        max_lag: float = MAX_LAG,
    ) -> None:
        self._names = IndexNames.of(prefix, library_id, spec)
        self._sessions = ClusterSessions(place)
        if self._names.vectors > MOST_DIMENSIONS:
            raise ConfigError(
                msg(
                    "vectors have {vectors} dimensions; OpenSearch takes {most_dimensions}",
                    vectors=self._names.vectors,
                    most_dimensions=MOST_DIMENSIONS,
                ),
                component=self._sessions.component,
                hint="choose an encoder of fewer dimensions, or another engine",
            )
        super().__init__("opensearch", self._names.vectors, exclusive=exclusive, max_lag=max_lag)
        self._shape = shape or IndexShape()
        self._scale = spec.encoder.scale if spec.encoder else (0.0, 1.0)
        self._settled_at = 0
        self._counted = -1  # the step of the last mark whose rows were all found to be there
        try:
            self._mark = self._open()
        except BaseException:
            self._sessions.close()
            raise

    def _open(self) -> ClusterMark:
        def look(session: ClusterSession) -> ClusterMark | None:
            check_cluster(session)
            return find(session, self._names)

        found = self._sessions.run(look, deadline_after(_TO_OPEN))
        if found is None:
            with self._exclusive():
                found = self._sessions.run(
                    lambda session: make(session, self._names, self._shape), deadline_after(_TO_OPEN)
                )
        return found

    # Following the catalog: see `engines.following`.

    def _run(self, work: Callable[[ClusterSession], T], deadline: Deadline) -> T:
        return self._sessions.run(work, deadline)

    def sync(self, feed: ChangeFeed, *, deadline: Deadline) -> int:
        if self._sessions.lost:  # somebody has deleted an index: it is built again
            self._mark = self._open()
            self._same = self._sessions.lost = False
        return super().sync(feed, deadline=deadline)

    def _advance(self, session: ClusterSession, feed: ChangeFeed, target: int) -> ClusterMark:
        return advance(session, self._names, feed, target, self._newest(session), self._copied)

    @property
    def _older(self) -> str:
        return msg("the catalog was replaced by an older one: delete the indices {base}_*", base=self._names.base)

    @property
    def _copied(self) -> str:
        return msg(
            "the catalog was restored or copied, and has changed since: delete the indices {base}_*",
            base=self._names.base,
        )

    @property
    def _rebuild(self) -> str:
        return msg("delete the indices {base}_*; they are built again from the catalog", base=self._names.base)

    def _newest(self, session: ClusterSession) -> ClusterMark:
        found = newest(session, self._names.marks)
        if found is None:
            raise IndexCorrupt("its mark is gone", component=session.component, hint=self._rebuild)
        return found

    def checkpoint(self, *, always: bool = False) -> None:
        """After many changes: have segments written to disk, and rows weighed anew where passages have grown."""
        if not always and abs(self._mark.passages - self._settled_at) < _SETTLE_AFTER:
            return

        def work(session: ClusterSession) -> ClusterMark:
            mark = renew(session, self._names, self._newest(session))
            session.change("POST", f"/{self._names.passages(mark)}/_flush")
            return mark

        with self._exclusive():
            self._mark = self._sessions.run(work, deadline_after(A_DAY))
        self._settled_at = self._mark.passages

    def purge(self, feed: ChangeFeed) -> None:
        """Forget what was removed: terms that no passage holds any more, and deleted rows in segments.

        The cluster keeps deleted rows for copies that may have to catch up (``index.soft_deletes.retention_lease``).
        """
        self.sync(feed, deadline=deadline_after(A_DAY))

        def work(session: ClusterSession) -> None:
            mark = self._newest(session)
            passages, words = self._names.passages(mark), self._names.words(mark)
            session.refresh(words)
            session.drop_where(f"{words}_w", {"range": {"held": {"lte": 0}}})
            for name in (passages, words):
                session.change("POST", f"/{name}/_forcemerge", only_expunge_deletes="true")
                session.change("POST", f"/{name}/_flush")

        with self._exclusive():
            self._sessions.run(work, deadline_after(A_DAY))

    # Answering.

    def keyword(self, terms: Sequence[str], *, scope: Scope, limit: int, deadline: Deadline) -> LegResult:
        def work(session: ClusterSession, mark: ClusterMark) -> list[tuple[int, float]]:
            query = query_terms(session, self._names, terms, mark, self._tally(session, scope.uncounted, mark))
            found = best_by_terms(session, self._names, query, scope, limit, mark)
            if len(found) < limit:
                self._check_all_there(session, mark)
            return found

        found = self._read(work, deadline)
        return LegResult.ok([Hit(passage_id=i, score=score, parts={"keyword": score}) for i, score in found])

    def vector(self, vector: Any, *, scope: Scope, limit: int, deadline: Deadline) -> LegResult:
        asked = np.asarray(self._validated(vector), np.float32)

        def work(session: ClusterSession, mark: ClusterMark) -> list[tuple[int, float]]:
            found = nearest(session, self._names, asked, scope, limit, mark, quantised=self._shape.quantised)
            if len(found) < limit:
                self._check_all_there(session, mark)
            return found

        hits = []
        for passage, cosine in self._read(work, deadline):
            score = float(rescale(cosine, self._scale))
            hits.append(Hit(passage_id=passage, score=score, parts={"vector": score, "cosine": cosine}))
        return LegResult.ok(hits)

    def keyword_scores(
        self,
        terms: Sequence[str],
        passage_ids: Sequence[int],
        *,
        deadline: Deadline,
        uncounted: HiddenDocuments | None = None,
    ) -> Mapping[int, float]:
        if not passage_ids:
            return {}

        def work(session: ClusterSession, mark: ClusterMark) -> dict[int, float]:
            query = query_terms(session, self._names, terms, mark, self._tally(session, uncounted, mark))
            return scores_by_terms(session, self._names, query, passage_ids, mark)

        return self._read(work, deadline)

    def cosines(self, vector: Any, passage_ids: Sequence[int], *, deadline: Deadline) -> Mapping[int, float]:
        asked = np.asarray(self._validated(vector), np.float32)
        if not passage_ids:
            return {}
        return self._read(lambda session, mark: cosines_of(session, self._names, asked, passage_ids, mark), deadline)

    def mean_cosine(self, vector: Any, *, uncounted: HiddenDocuments | None = None) -> float:
        asked, mark = np.asarray(self._validated(vector), np.float64), self._mark
        if uncounted is None:
            return mark.sums.mean_cosine(asked)

        def work(session: ClusterSession, mark: ClusterMark) -> float:
            tally, sums = self._hidden(session, uncounted, mark), mark.sums
            return tally.mean_cosine(asked, sums.sums.sum(axis=0), int(sums.counts.sum()))

        return self._read(work, deadline_after(PATIENCE))

    def chinese_share(self, *, uncounted: HiddenDocuments) -> float:
        return self._read(
            lambda session, mark: self._hidden(session, uncounted, mark).chinese_share, deadline_after(PATIENCE)
        )

    def information(self, terms: Sequence[str], *, uncounted: HiddenDocuments | None = None) -> Mapping[str, float]:
        def work(session: ClusterSession, mark: ClusterMark) -> Mapping[str, float]:
            tally = self._tally(session, uncounted, mark)
            return query_terms(session, self._names, terms, mark, tally).weights

        return self._read(work, deadline_after(PATIENCE))

    def status(self) -> EngineStatus:
        def work(session: ClusterSession, mark: ClusterMark) -> tuple[int, int, int]:
            index = self._names.passages(mark)
            vectors = session.count(index, there(mark, {"term": {"embedded": True}}))
            return mark.watermark, session.count(index, there(mark)), vectors

        watermark, passages, vectors = self._read(work, deadline_after(PATIENCE))
        return EngineStatus(name=self.name, watermark=watermark, passages=passages, vectors=vectors)

    def close(self) -> None:
        self._sessions.close()

    def _tally(
        self, session: ClusterSession, hidden: HiddenDocuments | None, mark: ClusterMark
    ) -> HiddenTally | None:
        """What there is of hidden documents, as of a mark."""
        return None if hidden is None else self._hidden(session, hidden, mark)

    def _hidden(self, session: ClusterSession, hidden: HiddenDocuments, mark: ClusterMark) -> HiddenTally:
        return self._tallies.of(mark.step, hidden, lambda: hidden_rows.tally(session, self._names, hidden, mark))

    def _read(self, work: Callable[[ClusterSession, ClusterMark], T], deadline: Deadline) -> T:
        """What `work` finds at one mark: again, if another change counts by its end."""

        def look(session: ClusterSession) -> T:
            mark = self._mark
            while True:
                try:
                    found, failed = work(session, mark), None
                except EngineError as error:  # rows that it counts on may have been deleted meanwhile
                    found, failed = None, error
                fresh = self._newest(session)
                if (fresh.made, fresh.watermark) == (mark.made, mark.watermark):
                    if failed is not None:
                        raise failed
                    return cast("T", found)
                deadline.check(self._component)
                self._mark = mark = fresh

        return self._sessions.run(look, deadline)

    def _check_all_there(self, session: ClusterSession, mark: ClusterMark) -> None:
        """Once for each mark: a ranking may be short because little fits, not because rows are missing."""
        if self._counted == mark.step:
            return
        passages = session.count(self._names.passages(mark), there(mark))
        if passages == mark.passages:
            self._counted = mark.step
        elif self._newest(session).watermark == mark.watermark:
            raise IndexCorrupt(
                msg("{passages} of {passages2} rows are there", passages=passages, passages2=mark.passages),
                component=session.component,
                hint=self._rebuild,
            )
