"""An engine on an OpenSearch cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TypeVar

from wenyuan.core.errors import ConfigError, IndexCorrupt, msg
from wenyuan.core.filters import Scope
from wenyuan.core.hidden_documents import HiddenDocuments
from wenyuan.core.ports import ChangeFeed, Deadline, IndexSpec
from wenyuan.core.scoring.formula import Array
from wenyuan.engines.following import A_DAY, MAX_LAG
from wenyuan.engines.hidden_tally import HiddenTally
from wenyuan.engines.opensearch import hidden_rows
from wenyuan.engines.opensearch.candidates import best_by_terms, cosines_of, nearest, scores_by_terms
from wenyuan.engines.opensearch.conditions import EMBEDDED, there
from wenyuan.engines.opensearch.indices import MOST_DIMENSIONS, IndexNames, IndexShape, check_cluster, find, make
from wenyuan.engines.opensearch.marks import ClusterMark, newest
from wenyuan.engines.opensearch.sessions import ClusterAddress, ClusterSession, ClusterSessions
from wenyuan.engines.opensearch.term_numbers import query_terms
from wenyuan.engines.opensearch.writes import advance, renew
from wenyuan.engines.server_engine import Scored, ServerEngine
from wenyuan.engines.term_statistics import QueryTerms
from wenyuan.runtime.deadlines import deadline_after

_TO_OPEN = 60.0  # seconds; making indices takes its time
_SETTLE_AFTER = 2_000  # passages after which a checkpoint is worth its while

T = TypeVar("T")


class OpenSearchEngine(ServerEngine[ClusterMark]):
    """An engine in indices of its own.

    Args:
        place: Where the cluster is.
        spec: Analyser and encoder; each gets its own indices, so that a change builds a new index beside the old one.
        library_id: Whose index this is.
        exclusive: Gives the lock of indexes on servers; only its holder writes.
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
        super().__init__("opensearch", self._names.vectors, spec, exclusive=exclusive, max_lag=max_lag)
        self._shape = shape or IndexShape()
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

    # Answering: see `engines.server_engine`.

    def _terms(
        self, session: ClusterSession, terms: Sequence[str], mark: ClusterMark, tally: HiddenTally | None
    ) -> QueryTerms:
        return query_terms(session, self._names, terms, mark, tally)

    def _best(
        self, session: ClusterSession, query: QueryTerms, scope: Scope, limit: int, mark: ClusterMark
    ) -> Scored:
        return best_by_terms(session, self._names, query, scope, limit, mark)

    def _nearest(self, session: ClusterSession, asked: Array, scope: Scope, limit: int, mark: ClusterMark) -> Scored:
        return nearest(session, self._names, asked, scope, limit, mark, quantised=self._shape.quantised)

    def _scores_of(
        self, session: ClusterSession, query: QueryTerms, passage_ids: Sequence[int], mark: ClusterMark
    ) -> dict[int, float]:
        return scores_by_terms(session, self._names, query, passage_ids, mark)

    def _cosines_of(
        self, session: ClusterSession, asked: Array, passage_ids: Sequence[int], mark: ClusterMark
    ) -> dict[int, float]:
        return cosines_of(session, self._names, asked, passage_ids, mark)

    def _hidden_rows(self, session: ClusterSession, hidden: HiddenDocuments, mark: ClusterMark) -> HiddenTally:
        return hidden_rows.tally(session, self._names, hidden, mark)

    def _count(self, session: ClusterSession, mark: ClusterMark, *, embedded: bool = False) -> int:
        return session.count(self._names.passages(mark), there(mark, *([EMBEDDED] if embedded else [])))

    def _is_one_place(self, session: ClusterSession) -> bool:
        return session.is_one_node()

    def _go_elsewhere(self, session: ClusterSession) -> None:
        super()._go_elsewhere(session)
        session.take_another_node()

    def close(self) -> None:
        self._sessions.close()
