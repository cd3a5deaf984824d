"""The index as a whole: following the catalog step by step, counts and sums, statistics, the graph, forgetting."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np
from psycopg import Connection
from psycopg.sql import SQL, Identifier

from wenyuan.core.errors import EngineError, EngineTimeout, IndexMismatch, msg
from wenyuan.core.filters import Scope
from wenyuan.core.hidden_documents import HiddenDocuments
from wenyuan.core.ports import ChangeFeed, Deadline, EngineStatus, Hit, IndexSpec, LegResult
from wenyuan.core.scoring.formula import rescale
from wenyuan.core.scoring.vector_sums import Sums
from wenyuan.engines.hidden_tally import HiddenTallies, HiddenTally
from wenyuan.engines.postgres import hidden_rows, search, vector_search
from wenyuan.engines.postgres.conditions import SqlCondition, visible
from wenyuan.engines.postgres.postings import sweep
from wenyuan.engines.postgres.rows import Applied
from wenyuan.engines.postgres.sessions import open_sessions
from wenyuan.engines.postgres.tables import LOCK, find_vector, make_tables, schema_name
from wenyuan.engines.postgres.vector_search import EXACT_ROWS, GRAPH_DIMENSIONS, MAKE_GRAPH
from wenyuan.runtime.bounded_calls import BoundedCalls, CallTimedOut
from wenyuan.runtime.deadlines import deadline_after
from wenyuan.runtime.postgres_sessions import Mode

_STEP = 64  # changes of the catalog in one transaction
_DEAD = 10  # one removed passage for so many that are there is enough to take their postings out
_GRAPH_ROW = 400  # bytes of memory for a row of the graph, beside its vector
_MOST_MEMORY = 4_096  # MB for making the graph; what does not fit makes it slower, not worse

_ANOTHER = "the catalog was restored or copied, and has changed since: drop the index's schema, wenyuan_…"

_TABLES = ("passages", "words", "vocabulary", "postings", "segments", "dead", "vectors")
_LOCK_GRAPH = "SELECT pg_catalog.pg_try_advisory_lock(pg_catalog.hashtextextended(%s, 1))"
_UPKEEP_COUNTED = "SELECT watermark, (SELECT count(*) FROM passages), (SELECT count(*) FROM {}) FROM state"


def stored_watermark(connection: Connection[Any]) -> int:
    """The last change of the catalog that the index holds."""
    row = connection.execute("SELECT watermark FROM state").fetchone()
    return 0 if row is None else int(row[0])


def step(connection: Connection[Any], feed: ChangeFeed, target: int, schema: str, dimension: int) -> int | None:
    """Apply some changes, in the caller's transaction.

    Returns:
        The change that the index then holds; None while another process is writing.
    """
    locked = connection.execute(LOCK.format(kind="try_"), {"schema": schema}).fetchone()
    if locked is None or not locked[0]:
        return None
    after = stored_watermark(connection)
    if after >= target:
        return after
    check_same(connection, feed)
    upto = min(target, after + _STEP)
    changes = feed.changes(after, upto, vectors=dimension > 0)
    Applied(connection, dimension, stored_sums(connection, dimension)[1]).take(changes, upto, feed.stamp(upto))
    return upto


def check_same(connection: Connection[Any], feed: ChangeFeed) -> None:
    """IndexMismatch when the index follows another history of changes, which only happens to be as long."""
    row = connection.execute("SELECT watermark, stamp FROM state").fetchone()
    if row is not None and row[0] and row[1] != feed.stamp(row[0]):
        raise IndexMismatch(
            msg("its change {row} is not the catalog's", row=row[0]), component="engine postgres", hint=_ANOTHER
        )


def stored_sums(connection: Connection[Any], dimension: int) -> tuple[int, Sums]:
    """The change that the index holds, and the sums of its vectors then."""
    row = connection.execute("SELECT watermark, total, chinese, vectors FROM state").fetchone()
    if row is None or not row[1]:
        return (0 if row is None else int(row[0])), Sums.empty(dimension)
    at, total, chinese, vectors = row
    held = np.frombuffer(total, dtype="<f8").reshape(2, dimension).copy()
    return int(at), Sums(held, np.array([vectors - chinese, chinese], np.int64))


def counted(connection: Connection[Any], dimension: int) -> tuple[int, int, int]:
    """The last change, and the numbers of passages and vectors: counted, so that what was lost is seen."""
    vectors = "vectors" if dimension else "passages WHERE false"
    row = connection.execute(_UPKEEP_COUNTED.format(vectors)).fetchone()
    return (int(row[0]), int(row[1]), int(row[2])) if row is not None else (0, 0, 0)


def settle(connection: Connection[Any], schema: str, dimension: int) -> None:
    """Statistics for the planner, tidy postings, and the graph if there are rows enough. Outside of transactions."""
    dead, live = connection.execute("SELECT (SELECT count(*) FROM dead), passages FROM state").fetchone() or (0, 0)
    if dead > live // _DEAD:
        _sweep(connection, schema)
    for table in _tables(dimension):
        connection.execute(SQL("ANALYZE {}").format(Identifier(table)))
    connection.execute("VACUUM postings")  # rows that were merged into others make room for the next
    if not 0 < dimension <= GRAPH_DIMENSIONS:
        return
    alone = connection.execute(_LOCK_GRAPH, (schema,)).fetchone()
    graph, vectors = connection.execute("SELECT graph, vectors FROM state").fetchone() or (True, 0)
    if graph or vectors <= EXACT_ROWS or alone is None or not alone[0]:
        return
    megabytes = min(_MOST_MEMORY, vectors * (4 * dimension + _GRAPH_ROW) // 1_000_000 + 64)
    connection.execute("SELECT set_config('maintenance_work_mem', %s, false)", (f"{megabytes}MB",))
    connection.execute("DROP INDEX IF EXISTS vectors_graph")  # of an attempt that was cut off
    connection.execute(MAKE_GRAPH)
    connection.execute("UPDATE state SET graph = true")


def purge(connection: Connection[Any], schema: str, dimension: int) -> None:
    """Delete what no passage needs, and free the rows that were removed. Outside of transactions."""
    _sweep(connection, schema)
    for table in _tables(dimension):
        connection.execute(SQL("VACUUM (INDEX_CLEANUP ON) {}").format(Identifier(table)))


def _sweep(connection: Connection[Any], schema: str) -> None:
    with connection.transaction():
        connection.execute(LOCK.format(kind=""), {"schema": schema})  # a writer may be about to use such a term
        sweep(connection)
        connection.execute("DELETE FROM vocabulary WHERE passages <= 0")


def _tables(dimension: int) -> tuple[str, ...]:
    return _TABLES if dimension else _TABLES[:-1]


MAX_LAG = 3_600.0
"""Seconds for which whoever else is writing may keep answers behind before that is an error."""
_PATIENCE = 10.0  # seconds for what has no deadline of its own: opening, status, information
_TIME_TO_BUILD = 300.0  # seconds that a caller must be willing to wait
_A_DAY = 86_400.0
_BRIEFLY = 0.1  # seconds to wait for a thread that brings the index up to date: mostly it is done by then
_WAITS = 0.5  # of a request's time, for the index; then it is answered from what is there
_EVERYTHING = {"wenyuan.sources": "*"}
_JOINED_BY_KEY = {
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "max_parallel_workers_per_gather": "0",
    "jit": "off",
}
"""For keyword search, whose statements say themselves where to begin; to start workers or compile takes longer."""


T = TypeVar("T")


class PostgresEngine:
    """An engine in a schema of its own.

    Args:
        dsn: The connection string; never shown.
        spec: Analyser and encoder; each gets its own schema, so that a change builds a new index beside the old one.
        library_id: Whose index this is.
        prefix: How the schema's name begins.
        sessions: How many connections at most.
        max_lag: See `MAX_LAG`.

    Raises:
        ConfigError: the connection string, the server or the extension is not what is needed.
        IndexMismatch: the schema belongs to something else.
        EngineUnavailable, EngineTimeout: the server cannot be asked.
    """

    name = "postgres"
    works_here = False

    def __init__(
        self,
        dsn: str,
        spec: IndexSpec,
        *,
        library_id: str,
        prefix: str = "wenyuan",
        sessions: int = 16,
        max_lag: float = MAX_LAG,
    ) -> None:
        self._spec = spec
        self._dimension = spec.encoder.dimension if spec.encoder else 0
        self._scale = spec.encoder.scale if spec.encoder else (0.0, 1.0)
        self._max_lag = max_lag
        self.schema = schema_name(prefix, library_id, spec)
        self._sessions = open_sessions(dsn, sessions)
        self._writing = threading.Lock()
        self._builder = BoundedCalls(1, "wenyuan-postgres-index")
        self._unsettled = 0
        self._seen = 0
        self._same = False
        self._empty = False  # whether the catalog was, when the index was asked last
        self._tallies = HiddenTallies()
        self._sums: tuple[int, Sums] = (-1, Sums.empty(self._dimension))  # as of which change
        try:
            self._open(library_id)
        except BaseException:
            self._sessions.close()
            raise

    def _open(self, library_id: str) -> None:
        component = self._sessions.component

        def prepare(connection: Connection[Any]) -> str:
            space = find_vector(connection, self._dimension, component) if self._dimension else "public"
            make_tables(connection, self.schema, library_id, self._spec, space, component)
            return space

        space = self._sessions.run(prepare, _soon(), mode=Mode.WRITE)
        path = ", ".join('"' + name.replace('"', '""') + '"' for name in dict.fromkeys((self.schema, space)))
        self._sessions.settings["search_path"] = path

    # -- following the catalog ------------------------------------------------------------------------

    def sync(self, feed: ChangeFeed, *, deadline: Deadline) -> int:
        target, hurried = feed.seq(), deadline.remaining() < _TIME_TO_BUILD
        while True:
            watermark = self._sessions.run(stored_watermark, deadline)
            self._seen = watermark
            if watermark >= target:
                self._empty = target == 0
                return self._not_ahead(feed, watermark)
            # Then it can answer queries; an index under construction counts as empty.
            lagging = hurried and (watermark > 0 or self._empty) and feed.lag(watermark) <= self._max_lag
            if not self._caught_up(feed, target, deadline, hurried=hurried, lagging=lagging):
                if lagging:
                    return watermark  # it is being brought up to date; what is here is one state of the catalog
                time.sleep(_BRIEFLY)

    def _not_ahead(self, feed: ChangeFeed, watermark: int) -> int:
        if watermark and not self._same:  # once is enough: later changes are checked as they are applied
            self._sessions.run(lambda connection: check_same(connection, feed), _soon())
            self._same = True
        end = feed.seq()  # read again: another thread may have applied a later change
        if watermark > end:
            raise IndexMismatch(
                msg("the index holds change {watermark}, the catalog ends at {end}", watermark=watermark, end=end),
                component=self._sessions.component,
                hint=msg(
                    "the catalog was replaced by an older one: DROP SCHEMA {schema} CASCADE", schema=self.schema
                ),
            )
        return watermark

    def _caught_up(self, feed: ChangeFeed, target: int, deadline: Deadline, *, hurried: bool, lagging: bool) -> bool:
        """Apply changes, in a thread that continues when the caller cannot wait; False while another process writes,
        or when an earlier state (`lagging`) is preferred to waiting.
        """
        patience = _BRIEFLY if hurried else deadline.remaining()
        if not self._writing.acquire(timeout=min(patience, deadline.remaining())):
            return False

        def work() -> bool:
            try:
                return self._advance(feed, target)
            finally:
                self._writing.release()

        try:
            return self._builder.run(work, deadline.remaining() * (_WAITS if lagging else 1.0))
        except CallTimedOut as error:
            if lagging:
                return False
            raise EngineTimeout(
                "the index is still being brought up to date", component=self._sessions.component
            ) from error

    def _advance(self, feed: ChangeFeed, target: int) -> bool:
        def work(connection: Connection[Any]) -> int | None:
            return step(connection, feed, target, self.schema, self._dimension)

        at: int | None = 0
        while at is not None and at < target:
            at = self._sessions.run(work, _unhurried(), mode=Mode.WRITE, settings=_EVERYTHING)
            self._unsettled += 1
        return at is not None

    def checkpoint(self, *, always: bool = False) -> None:
        """After many changes: tell the planner what the tables hold, and make the graph once it is worth it."""
        if not (always or self._unsettled):
            return
        self._sessions.run(
            lambda connection: settle(connection, self.schema, self._dimension),
            _unhurried(),
            mode=Mode.MAINTAIN,
            settings=_EVERYTHING,
        )
        self._unsettled = 0

    def purge(self, feed: ChangeFeed) -> None:
        """Delete the remains of removed passages: terms that no passage has, and dead rows in the tables' files."""
        self.sync(feed, deadline=_unhurried())
        self._sessions.run(
            lambda connection: purge(connection, self.schema, self._dimension),
            _unhurried(),
            mode=Mode.MAINTAIN,
            settings=_EVERYTHING,
        )

    # -- answering ----------------------------------------------------------------------------------

    def keyword(self, terms: Sequence[str], *, scope: Scope, limit: int, deadline: Deadline) -> LegResult:
        condition = SqlCondition(scope)
        found = self._counted(
            lambda connection, tally: search.best(connection, terms, condition, limit, tally),
            scope.uncounted,
            deadline,
            settings={"wenyuan.sources": visible(scope), **_JOINED_BY_KEY},
        )
        return LegResult.ok([Hit(passage_id=i, score=score, parts={"keyword": score}) for i, score in found])

    def vector(self, vector: Any, *, scope: Scope, limit: int, deadline: Deadline) -> LegResult:
        condition, written = SqlCondition(scope), self._written(vector)
        found = self._sessions.run(
            lambda connection: vector_search.nearest(connection, written, condition, limit),
            deadline,
            settings={"wenyuan.sources": visible(scope)},
        )
        hits = []
        for passage_id, cosine in found:
            score = float(rescale(cosine, self._scale))
            hits.append(Hit(passage_id=passage_id, score=score, parts={"vector": score, "cosine": cosine}))
        return LegResult.ok(hits)

    def _written(self, vector: Any) -> str:
        if not self._dimension:
            raise EngineError("this index was built without an encoder", component="engine postgres/vector")
        if len(vector) != self._dimension:
            raise EngineError(
                msg(
                    "the query has {count} dimensions, the index {dimension}",
                    count=len(vector),
                    dimension=self._dimension,
                ),
                component="engine postgres/vector",
            )
        return "[" + ",".join(map(repr, np.asarray(vector, dtype=np.float32).tolist())) + "]"

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
        return self._counted(
            lambda connection, tally: search.keyword_given(connection, terms, passage_ids, tally), uncounted, deadline
        )

    def cosines(self, vector: Any, passage_ids: Sequence[int], *, deadline: Deadline) -> Mapping[int, float]:
        written = self._written(vector)
        if not passage_ids:
            return {}
        return self._sessions.run(
            lambda connection: vector_search.cosines_of(connection, written, passage_ids), deadline
        )

    def mean_cosine(self, vector: Any, *, uncounted: HiddenDocuments | None = None) -> float:
        self._written(vector)
        if uncounted is not None:
            return self._mean_in_sight(vector, uncounted)
        at, sums = self._sums
        if at != self._seen:
            at, sums = self._sessions.run(lambda connection: stored_sums(connection, self._dimension), _soon())
            self._sums = at, sums
        return sums.mean_cosine(vector)

    def _mean_in_sight(self, vector: Any, uncounted: HiddenDocuments) -> float:
        def mean(connection: Connection[Any], tally: HiddenTally | None) -> float:
            at, sums = stored_sums(connection, self._dimension)
            if tally is None or tally.at != at:
                raise search.IndexMoved
            return tally.mean_cosine(vector, sums.sums.sum(axis=0), int(sums.counts.sum()))

        return self._counted(mean, uncounted, _soon())

    def chinese_share(self, *, uncounted: HiddenDocuments) -> float:
        return self._tally(uncounted, _soon()).chinese_share

    def _tally(self, hidden: HiddenDocuments, deadline: Deadline) -> HiddenTally:
        """What there is of hidden documents, as of the change that the index holds."""

        def read() -> HiddenTally:
            return self._sessions.run(
                lambda connection: hidden_rows.tally(connection, hidden, self._dimension),
                deadline,
                settings=_EVERYTHING,
            )

        return self._tallies.of(self._seen, hidden, read)

    def _counted(
        self,
        work: Callable[..., T],
        uncounted: HiddenDocuments | None,
        deadline: Deadline,
        settings: Mapping[str, str] | None = None,
    ) -> T:
        """What `work(connection, tally=…)` finds without counting hidden documents: again, if the index was brought further
        meanwhile.
        """
        while True:
            tally = None if uncounted is None else self._tally(uncounted, deadline)
            try:
                return self._sessions.run(partial(work, tally=tally), deadline, settings=settings)
            except search.IndexMoved:
                self._seen = self._sessions.run(stored_watermark, deadline)

    def information(self, terms: Sequence[str], *, uncounted: HiddenDocuments | None = None) -> Mapping[str, float]:
        return self._counted(
            lambda connection, tally: search.PostgresQueryTerms.of(connection, terms, tally).weights,
            uncounted,
            _soon(),
        )

    def removed_share(self) -> float:
        return 0.0

    def status(self) -> EngineStatus:
        watermark, passages, vectors = self._sessions.run(
            lambda connection: counted(connection, self._dimension), _soon(), settings=_EVERYTHING
        )
        return EngineStatus(name=self.name, watermark=watermark, passages=passages, vectors=vectors)

    def close(self) -> None:
        self._sessions.close()


def _soon() -> Deadline:
    return deadline_after(_PATIENCE)


def _unhurried() -> Deadline:
    return deadline_after(_A_DAY)
