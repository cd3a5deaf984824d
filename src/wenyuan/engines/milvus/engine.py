"""An engine on Milvus: the index is on a server or a cluster, the catalog elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeVar

import numpy as np

from wenyuan.core.errors import (
    ConfigError,
    EngineUnavailable,
    IndexCorrupt,
    msg,
)
from wenyuan.core.filters import Scope
from wenyuan.core.hidden_documents import HiddenDocuments
from wenyuan.core.ports import ChangeFeed, Deadline, EngineStatus, Hit, IndexSpec, LegResult
from wenyuan.core.scoring.formula import rescale
from wenyuan.engines.following import A_DAY, MAX_LAG, PATIENCE, TIME_TO_BUILD, FollowingEngine
from wenyuan.engines.hidden_tally import HiddenTally
from wenyuan.engines.index_mark import Mark
from wenyuan.engines.milvus import hidden_rows
from wenyuan.engines.milvus import search as keyword
from wenyuan.engines.milvus.collections import (
    MOST_DIMENSIONS,
    CollectionNames,
    check_server,
    find,
    make,
    newest,
)
from wenyuan.engines.milvus.expressions import condition
from wenyuan.engines.milvus.sessions import MilvusSessions, ServerAddress, Session
from wenyuan.engines.milvus.term_weights import query_terms
from wenyuan.engines.milvus.writes import advance, renew
from wenyuan.runtime.deadlines import deadline_after

_TO_OPEN = 60.0  # making and loading collections takes its time
_SETTLE_AFTER = 2_000  # passages after which a checkpoint is worth its while
_ROUNDING = 1e-4
_WIDTH = 200
"""``ef`` of an HNSW index, at least."""

T = TypeVar("T")


class MilvusEngine(FollowingEngine[Mark]):
    """An engine in collections of its own.

    Args:
        place: Where the server is.
        spec: Analyser and encoder; each gets its own collections, so that a change builds a new index beside the old
            one.
        library_id: Whose index this is.
        exclusive: Gives the library's writer lock; only its holder writes.
        prefix: How the collections' names begin.
        index: The index type of vectors, when they are made: ``FLAT`` compares every row.
        max_lag: See `MAX_LAG`.

    Raises:
        ConfigError: the address or the server is not what is needed, or the driver is not installed.
        IndexMismatch: the collections belong to something else.
        EngineUnavailable, EngineTimeout: the server cannot be asked.
    """

    def __init__(
        self,
        place: ServerAddress,
        spec: IndexSpec,
        *,
        library_id: str,
        exclusive: Callable[..., AbstractContextManager[None]],
        prefix: str = "wenyuan",
        index: str = "FLAT",
        max_lag: float = MAX_LAG,
    ) -> None:
        self._sessions = MilvusSessions(place)
        self._names = CollectionNames.of(prefix, library_id, spec)
        if self._names.vectors > MOST_DIMENSIONS:
            raise ConfigError(
                msg(
                    "vectors have {vectors} dimensions; Milvus takes {most_dimensions}",
                    vectors=self._names.vectors,
                    most_dimensions=MOST_DIMENSIONS,
                ),
                component=self._sessions.component,
                hint="choose an encoder of fewer dimensions, or another engine",
            )
        super().__init__("milvus", self._names.vectors, exclusive=exclusive, max_lag=max_lag)
        self._scale = spec.encoder.scale if spec.encoder else (0.0, 1.0)
        self._settled_at = 0
        self._counted = -1  # the step of the last mark whose rows were all found to be there
        try:
            self._mark = self._open(index)
        except BaseException:
            self._sessions.close()
            raise

    def _open(self, index: str) -> Mark:
        def look(session: Session) -> Mark | None:
            check_server(session)
            return find(session, self._names)

        found = self._sessions.run(look, _within(_TO_OPEN))
        if found is None:
            with self._exclusive():
                found = self._sessions.run(lambda session: make(session, self._names, index), _within(_TO_OPEN))
        self._sessions.collections = (self._names.passages, self._names.words, self._names.marks)
        return found

    def _run(self, work: Callable[[Session], T], deadline: Deadline) -> T:
        return self._sessions.run(work, deadline)

    def _advance(self, session: Session, feed: ChangeFeed, target: int) -> Mark:
        return advance(session, self._names, feed, target, self._newest(session))

    @property
    def _older(self) -> str:
        return msg("the catalog was replaced by an older one: drop the collections {base}_…", base=self._names.base)

    @property
    def _copied(self) -> str:
        return self._names.copied

    def _newest(self, session: Session) -> Mark:
        found = newest(session, self._names.marks)
        if found is None:
            raise IndexCorrupt(
                "its marks are gone",
                component=session.component,
                hint=msg(
                    "drop the collections {base}_…; they are built again from the catalog", base=self._names.base
                ),
            )
        return found

    def checkpoint(self, *, always: bool = False) -> None:
        """After many changes: have segments sealed and indexed, and rows weighed anew where passages have grown."""
        if not always and abs(self._mark.passages - self._settled_at) < _SETTLE_AFTER:
            return

        def work(session: Session) -> Mark:
            mark = renew(session, self._names, self._newest(session))
            for name in (self._names.passages, self._names.words):
                session.client.flush(name, timeout=TIME_TO_BUILD)
            return mark

        with self._exclusive():
            self._mark = self._sessions.run(work, _within(A_DAY))
        self._settled_at = self._mark.passages

    def purge(self, feed: ChangeFeed) -> None:
        """Forget what was removed: terms that no passage holds any more, and deleted rows in segments.

        The server removes their files when its own time for that has passed (``dataCoord.gc.dropTolerance``).
        """
        self.sync(feed, deadline=_within(A_DAY))

        def work(session: Session) -> None:
            session.drop_where(self._names.words, "held <= 0")
            for name in (self._names.passages, self._names.words):
                session.client.flush(name, timeout=TIME_TO_BUILD)
                session.client.compact(name, timeout=TIME_TO_BUILD)

        with self._exclusive():
            self._sessions.run(work, _within(A_DAY))

    # -- answering ----------------------------------------------------------------------------------

    def keyword(self, terms: Sequence[str], *, scope: Scope, limit: int, deadline: Deadline) -> LegResult:
        def work(session: Session, mark: Mark) -> list[tuple[int, float]]:
            where = condition(scope, mark.watermark)
            found = keyword.best(
                session, self._names, terms, where, limit, mark, self._tally(session, scope.uncounted, mark)
            )
            if len(found) < limit:
                self._check_all_there(session, mark)
            return found

        found = self._read(work, deadline)
        return LegResult.ok([Hit(passage_id=i, score=score, parts={"keyword": score}) for i, score in found])

    def vector(self, vector: Any, *, scope: Scope, limit: int, deadline: Deadline) -> LegResult:
        asked = self._validated(vector)

        def work(session: Session, mark: Mark) -> list[tuple[float, Mapping[str, Any]]]:
            where = f"{condition(scope, mark.watermark)} and embedded == true"
            search = {"ef": max(_WIDTH, 2 * limit)}
            found = session.nearest(
                self._names.passages, "vector", asked, where=where, limit=limit, fields=["passage_id"], search=search
            )
            if len(found) < limit and len(found) < (matching := session.count(self._names.passages, where)):
                raise EngineUnavailable(
                    msg(
                        "gave {count} of {matching} matching rows: a part of it does not answer",
                        count=len(found),
                        matching=matching,
                    ),
                    component=session.component,
                )
            return found

        hits = []
        for cosine, row in self._read(work, deadline):
            if not -1.0 - _ROUNDING <= cosine <= 1.0 + _ROUNDING:  # false for NaN too
                raise IndexCorrupt("gives a score that is no cosine", component=self._sessions.component)
            score = float(rescale(cosine, self._scale))
            hits.append(Hit(passage_id=row["passage_id"], score=score, parts={"vector": score, "cosine": cosine}))
        return LegResult.ok(sorted(hits, key=lambda hit: (-hit.parts["cosine"], hit.passage_id)))

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

        def work(session: Session, mark: Mark) -> dict[int, float]:
            tally = self._tally(session, uncounted, mark)
            return keyword.scores_of(session, self._names, terms, passage_ids, mark, tally)

        return self._read(work, deadline)

    def cosines(self, vector: Any, passage_ids: Sequence[int], *, deadline: Deadline) -> Mapping[int, float]:
        asked = np.asarray(self._validated(vector), np.float32)
        if not passage_ids:
            return {}

        def work(session: Session, mark: Mark) -> dict[int, float]:
            fields = ["passage_id", "seq", "embedded", "vector"]
            rows = session.named(self._names.passages, "passage_id", passage_ids, fields)
            there = [row for row in rows if row["embedded"] and row["seq"] <= mark.watermark]
            return {row["passage_id"]: float(np.asarray(row["vector"], np.float32) @ asked) for row in there}

        return self._read(work, deadline)

    def mean_cosine(self, vector: Any, *, uncounted: HiddenDocuments | None = None) -> float:
        asked, mark = np.asarray(self._validated(vector), np.float64), self._mark
        if uncounted is None:
            return mark.sums.mean_cosine(asked)

        def work(session: Session, mark: Mark) -> float:
            tally, sums = self._hidden(session, uncounted, mark), mark.sums
            return tally.mean_cosine(asked, sums.sums.sum(axis=0), int(sums.counts.sum()))

        return self._read(work, _within(PATIENCE))

    def chinese_share(self, *, uncounted: HiddenDocuments) -> float:
        return self._read(
            lambda session, mark: self._hidden(session, uncounted, mark).chinese_share, _within(PATIENCE)
        )

    def _tally(self, session: Session, hidden: HiddenDocuments | None, mark: Mark) -> HiddenTally | None:
        """What there is of hidden documents, as of a mark."""
        return None if hidden is None else self._hidden(session, hidden, mark)

    def _hidden(self, session: Session, hidden: HiddenDocuments, mark: Mark) -> HiddenTally:
        return self._tallies.of(mark.step, hidden, lambda: hidden_rows.tally(session, self._names, hidden, mark))

    def information(self, terms: Sequence[str], *, uncounted: HiddenDocuments | None = None) -> Mapping[str, float]:
        def work(session: Session, mark: Mark) -> Mapping[str, float]:
            tally = self._tally(session, uncounted, mark)
            return query_terms(session, self._names, terms, mark, tally).weights

        return self._read(work, _within(PATIENCE))

    def status(self) -> EngineStatus:
        def work(session: Session, mark: Mark) -> tuple[int, int, int]:
            there = f"seq <= {mark.watermark}"
            passages = session.count(self._names.passages, there)
            vectors = session.count(self._names.passages, f"{there} and embedded == true")
            return mark.watermark, passages, vectors

        watermark, passages, vectors = self._read(work, _within(PATIENCE))
        return EngineStatus(name=self.name, watermark=watermark, passages=passages, vectors=vectors)

    def close(self) -> None:
        self._sessions.close()

    def _read(self, work: Callable[[Session, Mark], T], deadline: Deadline) -> T:
        """What `work` finds at one mark: again, if rows that counted then were deleted while it looked."""

        def look(session: Session) -> T:
            mark = self._mark
            while True:
                found, fresh = work(session, mark), self._newest(session)
                if fresh.step >= mark.step and fresh.swept <= mark.watermark:
                    return found
                self._mark = mark = fresh

        return self._sessions.run(look, deadline)

    def _check_all_there(self, session: Session, mark: Mark) -> None:
        """Once for each mark: a ranking may be short because little fits, not because rows are missing."""
        if self._counted == mark.step or mark.swept != mark.watermark:
            return
        passages = session.count(self._names.passages, f"seq <= {mark.watermark}")
        if passages == mark.passages:
            self._counted = mark.step
        elif self._newest(session).step == mark.step:
            raise IndexCorrupt(
                msg("{passages} of {passages2} rows are there", passages=passages, passages2=mark.passages),
                component=session.component,
                hint=msg(
                    "drop the collections {base}_…; they are built again from the catalog", base=self._names.base
                ),
            )


def _within(seconds: float) -> Deadline:
    return deadline_after(seconds)
