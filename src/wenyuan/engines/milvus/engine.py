"""An engine on Milvus: the index is on a server or a cluster, the catalog elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TypeVar

import numpy as np

from wenyuan.core.errors import (
    ConfigError,
    EngineUnavailable,
    IndexCorrupt,
    msg,
)
from wenyuan.core.filters import Scope
from wenyuan.core.hidden_documents import HiddenDocuments
from wenyuan.core.ports import ChangeFeed, Deadline, IndexSpec
from wenyuan.core.scoring.formula import Array
from wenyuan.engines.following import A_DAY, MAX_LAG, TIME_TO_BUILD
from wenyuan.engines.hidden_tally import HiddenTally
from wenyuan.engines.index_mark import Mark
from wenyuan.engines.milvus import hidden_rows, search
from wenyuan.engines.milvus.collections import (
    MOST_DIMENSIONS,
    CollectionNames,
    check_server,
    find,
    make,
    newest,
)
from wenyuan.engines.milvus.expressions import condition, there
from wenyuan.engines.milvus.sessions import MilvusSessions, ServerAddress, Session
from wenyuan.engines.milvus.term_weights import query_terms
from wenyuan.engines.milvus.writes import advance, renew
from wenyuan.engines.server_engine import Scored, ServerEngine
from wenyuan.engines.term_statistics import QueryTerms
from wenyuan.runtime.deadlines import deadline_after

_TO_OPEN = 60.0  # making and loading collections takes its time
_SETTLE_AFTER = 2_000  # passages after which a checkpoint is worth its while
_WIDTH = 200
"""``ef`` of an HNSW index, at least."""

T = TypeVar("T")


class MilvusEngine(ServerEngine[Mark]):
    """An engine in collections of its own.

    Args:
        place: Where the server is.
        spec: Analyser and encoder; each gets its own collections, so that a change builds a new index beside the old
            one.
        library_id: Whose index this is.
        exclusive: Gives the lock of indexes on servers; only its holder writes.
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
        super().__init__("milvus", self._names.vectors, spec, exclusive=exclusive, max_lag=max_lag)
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
                hint=self._rebuild,
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

    # Answering: see `engines.server_engine`.

    def _terms(self, session: Session, terms: Sequence[str], mark: Mark, tally: HiddenTally | None) -> QueryTerms:
        return query_terms(session, self._names, terms, mark, tally)

    def _best(self, session: Session, query: QueryTerms, scope: Scope, limit: int, mark: Mark) -> Scored:
        return search.best(session, self._names, query, condition(scope, mark), limit)

    def _nearest(self, session: Session, asked: Array, scope: Scope, limit: int, mark: Mark) -> Scored:
        where = f"{condition(scope, mark)} and embedded == true"
        width = {"ef": max(_WIDTH, 2 * limit)}
        found = session.nearest(
            self._names.passages,
            "vector",
            asked.tolist(),
            where=where,
            limit=limit,
            fields=["passage_id"],
            search=width,
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
        pairs = [(int(row["passage_id"]), cosine) for cosine, row in found]
        return sorted(pairs, key=lambda pair: (-pair[1], pair[0]))

    def _scores_of(
        self, session: Session, query: QueryTerms, passage_ids: Sequence[int], mark: Mark
    ) -> dict[int, float]:
        return search.scores_of(session, self._names, query, passage_ids, there(mark))

    def _cosines_of(self, session: Session, asked: Array, passage_ids: Sequence[int], mark: Mark) -> dict[int, float]:
        where = f"{there(mark)} and embedded == true"
        rows = session.named(self._names.passages, "passage_id", passage_ids, ["passage_id", "vector"], where=where)
        return {int(row["passage_id"]): float(np.asarray(row["vector"], np.float32) @ asked) for row in rows}

    def _hidden_rows(self, session: Session, hidden: HiddenDocuments, mark: Mark) -> HiddenTally:
        return hidden_rows.tally(session, self._names, hidden, mark)

    def _count(self, session: Session, mark: Mark, *, embedded: bool = False) -> int:
        return session.count(self._names.passages, there(mark) + (" and embedded == true" if embedded else ""))

    @property
    def _rebuild(self) -> str:
        return msg("drop the collections {base}_…; they are built again from the catalog", base=self._names.base)

    def close(self) -> None:
        self._sessions.close()


def _within(seconds: float) -> Deadline:
    return deadline_after(seconds)
