"""How an engine on a server answers from one state of its index: what does not depend on which server it is.

A question is answered at one mark. If another change counts by its end, rows that it counted on may have been deleted
meanwhile, so it is asked again, at that one.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeVar, cast

import numpy as np

from wenyuan.core.errors import EngineError, IndexCorrupt, msg
from wenyuan.core.filters import Scope
from wenyuan.core.hidden_documents import HiddenDocuments
from wenyuan.core.ports import Deadline, EngineStatus, Hit, IndexSpec, LegResult
from wenyuan.core.scoring.formula import Array, rescale
from wenyuan.engines.following import PATIENCE, FollowingEngine
from wenyuan.engines.hidden_tally import HiddenTally
from wenyuan.engines.index_mark import Mark
from wenyuan.engines.term_statistics import QueryTerms
from wenyuan.runtime.deadlines import deadline_after

_ROUNDING = 1e-4
_PAUSE = 0.02  # seconds

T = TypeVar("T")
M = TypeVar("M", bound=Mark)
Scored = Sequence[tuple[int, float]]


class ServerEngine(FollowingEngine[M]):
    """An engine whose candidates a server proposes.

    Args:
        name, dimension, exclusive, max_lag: See `FollowingEngine`.
        spec: Of the index.
    """

    def __init__(
        self,
        name: str,
        dimension: int,
        spec: IndexSpec,
        *,
        exclusive: Callable[..., AbstractContextManager[None]],
        max_lag: float,
    ) -> None:
        super().__init__(name, dimension, exclusive=exclusive, max_lag=max_lag)
        self._scale = spec.encoder.scale if spec.encoder else (0.0, 1.0)
        self._settled_at = 0  # passages at the last checkpoint
        self._counted = -1  # the step of the last mark whose rows were all found to be there

    @abstractmethod
    def _terms(self, session: Any, terms: Sequence[str], mark: M, tally: HiddenTally | None) -> QueryTerms:
        """What terms are worth as of a mark; `tally` is of passages that are not counted."""

    @abstractmethod
    def _best(self, session: Any, query: QueryTerms, scope: Scope, limit: int, mark: M) -> Scored:
        """(passage, score) of the best rows within a scope, ties by id."""

    @abstractmethod
    def _nearest(self, session: Any, asked: Array, scope: Scope, limit: int, mark: M) -> Scored:
        """(passage, cosine) of the nearest rows within a scope, ties by id."""

    @abstractmethod
    def _scores_of(self, session: Any, query: QueryTerms, passage_ids: Sequence[int], mark: M) -> dict[int, float]:
        """Scores of given passages; those without any of the terms are absent."""

    @abstractmethod
    def _cosines_of(self, session: Any, asked: Array, passage_ids: Sequence[int], mark: M) -> dict[int, float]:
        """Cosines of given passages; those without a vector are absent."""

    @abstractmethod
    def _hidden_rows(self, session: Any, hidden: HiddenDocuments, mark: M) -> HiddenTally:
        """Counts of hidden passages."""

    @abstractmethod
    def _count(self, session: Any, mark: M, *, embedded: bool = False) -> int:
        """How many rows count at a mark; with `embedded`, of those that have a vector."""

    @property
    @abstractmethod
    def _rebuild(self) -> str:
        """What to do when the index was damaged."""

    def keyword(self, terms: Sequence[str], *, scope: Scope, limit: int, deadline: Deadline) -> LegResult:
        def work(session: Any, mark: M) -> Scored:
            query = self._terms(session, terms, mark, self._tally(session, scope.uncounted, mark))
            return self._whole(session, self._best(session, query, scope, limit, mark), limit, mark)

        found = self._read(work, deadline)
        return LegResult.ok([Hit(passage_id=i, score=score, parts={"keyword": score}) for i, score in found])

    def vector(self, vector: Any, *, scope: Scope, limit: int, deadline: Deadline) -> LegResult:
        asked = np.asarray(self._validated(vector), np.float32)

        def work(session: Any, mark: M) -> Scored:
            return self._whole(session, self._nearest(session, asked, scope, limit, mark), limit, mark)

        hits = []
        for passage, cosine in self._read(work, deadline):
            if not -1.0 - _ROUNDING <= cosine <= 1.0 + _ROUNDING:  # false for NaN too
                raise IndexCorrupt("gives a score that is no cosine", component=self._component)
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

        def work(session: Any, mark: M) -> dict[int, float]:
            query = self._terms(session, terms, mark, self._tally(session, uncounted, mark))
            return self._scores_of(session, query, passage_ids, mark)

        return self._read(work, deadline)

    def cosines(self, vector: Any, passage_ids: Sequence[int], *, deadline: Deadline) -> Mapping[int, float]:
        asked = np.asarray(self._validated(vector), np.float32)
        if not passage_ids:
            return {}
        return self._read(lambda session, mark: self._cosines_of(session, asked, passage_ids, mark), deadline)

    def mean_cosine(self, vector: Any, *, uncounted: HiddenDocuments | None = None) -> float:
        asked, mark = np.asarray(self._validated(vector), np.float64), self._mark
        if uncounted is None:
            return mark.sums.mean_cosine(asked)

        def work(session: Any, mark: M) -> float:
            tally, sums = self._hidden(session, uncounted, mark), mark.sums
            return tally.mean_cosine(asked, sums.sums.sum(axis=0), int(sums.counts.sum()))

        return self._read(work, deadline_after(PATIENCE))

    def chinese_share(self, *, uncounted: HiddenDocuments) -> float:
        def work(session: Any, mark: M) -> float:
            return self._hidden(session, uncounted, mark).chinese_share

        return self._read(work, deadline_after(PATIENCE))

    def information(self, terms: Sequence[str], *, uncounted: HiddenDocuments | None = None) -> Mapping[str, float]:
        def work(session: Any, mark: M) -> Mapping[str, float]:
            return self._terms(session, terms, mark, self._tally(session, uncounted, mark)).weights

        return self._read(work, deadline_after(PATIENCE))

    def status(self) -> EngineStatus:
        def work(session: Any, mark: M) -> tuple[int, int, int]:
            return mark.watermark, self._count(session, mark), self._count(session, mark, embedded=True)

        watermark, passages, vectors = self._read(work, deadline_after(PATIENCE))
        return EngineStatus(name=self.name, watermark=watermark, passages=passages, vectors=vectors)

    def _tally(self, session: Any, hidden: HiddenDocuments | None, mark: M) -> HiddenTally | None:
        """What there is of hidden documents, as of a mark."""
        return None if hidden is None else self._hidden(session, hidden, mark)

    def _hidden(self, session: Any, hidden: HiddenDocuments, mark: M) -> HiddenTally:
        return self._tallies.of(mark.step, hidden, lambda: self._hidden_rows(session, hidden, mark))

    def _read(self, work: Callable[[Any, M], T], deadline: Deadline) -> T:
        """What `work` finds at one mark: again, if another change counts by its end, or if it was read in several places."""

        def look(session: Any) -> T:
            mark = self._mark
            while True:
                try:
                    found, failed = work(session, mark), None
                except EngineError as error:  # rows that it counts on may have been deleted meanwhile
                    found, failed = None, error
                fresh = self._newest(session)
                if self._is_one_place(session) and fresh.same_state(mark):
                    if failed is not None:
                        raise failed
                    return cast("T", found)
                deadline.check(self._component)
                if fresh.is_before(mark):
                    self._go_elsewhere(session)
                else:
                    self._mark = mark = fresh

        return self._run(look, deadline)

    def _is_one_place(self, session: Any) -> bool:
        """Whether all that was read since this was asked came from one place, which knows one state."""
        return True

    def _go_elsewhere(self, session: Any) -> None:
        """Read in another place, since this one knows an earlier state alone."""
        time.sleep(_PAUSE)

    def _whole(self, session: Any, found: Scored, limit: int, mark: M) -> Scored:
        """What was found; once for each mark, a ranking may be short because little fits, not because rows are missing.

        Raises:
            IndexCorrupt: rows are missing.
        """
        if len(found) >= limit or self._counted == mark.step:
            return found
        passages = self._count(session, mark)
        if passages == mark.passages:
            self._counted = mark.step
        elif self._newest(session).same_state(mark):
            raise IndexCorrupt(
                msg("{passages} of {passages2} rows are there", passages=passages, passages2=mark.passages),
                component=self._component,
                hint=self._rebuild,
            )
        return found
