"""An engine on PostgreSQL with pgvector: the index is on a server, the catalog may be elsewhere.

It has the same terms and the same scores as the other engines. Its tables (`tables`) carry the number of the last
change that they hold, in the transaction that wrote it; a query reads one state of all of them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from psycopg import Connection

from wenyuan.core.errors import EngineError, EngineTimeout, IndexMismatch
from wenyuan.core.filters import Scope
from wenyuan.core.messages import msg
from wenyuan.core.ports import ChangeFeed, Deadline, EngineStatus, Hit, IndexSpec, LegResult
from wenyuan.core.scoring import rescale
from wenyuan.core.scoring.vectors import Sums
from wenyuan.engines.postgres import search, writing
from wenyuan.engines.postgres.sessions import Condition, open_sessions, visible
from wenyuan.engines.postgres.tables import find_vector, make_tables, schema_name
from wenyuan.runtime import BoundedCalls, CallTimedOut, deadline_after
from wenyuan.runtime.postgres import Mode

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
            watermark = self._sessions.run(writing.stored_watermark, deadline)
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
            self._sessions.run(lambda connection: writing.check_same(connection, feed), _soon())
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
            return writing.step(connection, feed, target, self.schema, self._dimension)

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
            lambda connection: writing.settle(connection, self.schema, self._dimension),
            _unhurried(),
            mode=Mode.MAINTAIN,
            settings=_EVERYTHING,
        )
        self._unsettled = 0

    def purge(self, feed: ChangeFeed) -> None:
        """Delete the remains of removed passages: terms that no passage has, and dead rows in the tables' files."""
        self.sync(feed, deadline=_unhurried())
        self._sessions.run(
            lambda connection: writing.purge(connection, self.schema, self._dimension),
            _unhurried(),
            mode=Mode.MAINTAIN,
            settings=_EVERYTHING,
        )

    # -- answering ----------------------------------------------------------------------------------

    def keyword(self, terms: Sequence[str], *, scope: Scope, limit: int, deadline: Deadline) -> LegResult:
        condition = Condition(scope)
        found = self._sessions.run(
            lambda connection: search.best(connection, terms, condition, limit),
            deadline,
            settings={"wenyuan.sources": visible(scope), **_JOINED_BY_KEY},
        )
        return LegResult.ok([Hit(passage_id=i, score=score, parts={"keyword": score}) for i, score in found])

    def vector(self, vector: Any, *, scope: Scope, limit: int, deadline: Deadline) -> LegResult:
        condition, written = Condition(scope), self._written(vector)
        found = self._sessions.run(
            lambda connection: search.nearest(connection, written, condition, limit),
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
        self, terms: Sequence[str], passage_ids: Sequence[int], *, deadline: Deadline
    ) -> Mapping[int, float]:
        if not passage_ids:
            return {}
        return self._sessions.run(lambda connection: search.keyword_given(connection, terms, passage_ids), deadline)

    def cosines(self, vector: Any, passage_ids: Sequence[int], *, deadline: Deadline) -> Mapping[int, float]:
        written = self._written(vector)
        if not passage_ids:
            return {}
        return self._sessions.run(lambda connection: search.given(connection, written, passage_ids), deadline)

    def mean_cosine(self, vector: Any) -> float:
        self._written(vector)
        at, sums = self._sums
        if at != self._seen:
            at, sums = self._sessions.run(
                lambda connection: writing.stored_sums(connection, self._dimension), _soon()
            )
            self._sums = at, sums
        return sums.mean_cosine(vector)

    def information(self, terms: Sequence[str]) -> Mapping[str, float]:
        return self._sessions.run(lambda connection: search.Query.of(connection, terms).weights, _soon())

    def removed_share(self) -> float:
        return 0.0

    def status(self) -> EngineStatus:
        watermark, passages, vectors = self._sessions.run(
            lambda connection: writing.counted(connection, self._dimension), _soon(), settings=_EVERYTHING
        )
        return EngineStatus(name=self.name, watermark=watermark, passages=passages, vectors=vectors)

    def close(self) -> None:
        self._sessions.close()


def _soon() -> Deadline:
    return deadline_after(_PATIENCE)


def _unhurried() -> Deadline:
    return deadline_after(_A_DAY)
