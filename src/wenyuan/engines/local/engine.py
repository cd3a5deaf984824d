"""The default engine: tantivy for keywords, and a quantised vector scan with exact rescoring."""

from __future__ import annotations

import hashlib
import itertools
import logging
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from wenyuan.core.errors import (
    CatalogBusy,
    EngineError,
    EngineTimeout,
    EngineUnavailable,
    IndexCorrupt,
    IndexMismatch,
    KnowledgeError,
    msg,
)
from wenyuan.core.filters import Scope
from wenyuan.core.hidden_documents import HiddenDocuments
from wenyuan.core.ports import Change, ChangeFeed, Deadline, EngineStatus, Hit, IndexSpec, LegResult
from wenyuan.core.scoring.bodies import passage_bodies
from wenyuan.core.scoring.formula import rescale
from wenyuan.core.scoring.vector_sums import CHINESE
from wenyuan.engines.local.columns import Columns
from wenyuan.engines.local.keyword import KeywordIndex
from wenyuan.engines.local.row_files import RowFiles
from wenyuan.engines.local.sight import SightStatistics
from wenyuan.engines.local.vectors import VectorScan, as_vectors
from wenyuan.runtime.deadlines import deadline_after

log = logging.getLogger(__name__)

MAX_LAG = 3_600.0
"""Seconds for which whoever else is writing, a process or a thread, may keep answers behind before that is an error."""
_BRIEFLY = 0.1  # seconds to wait for a thread that brings the index up to date: mostly it is done by then
_SAVE_AFTER = 2_000  # changes after which the row files are worth writing again
_APPLY_BATCH = 2_000  # changes that are applied together
_APPLY_CHARACTERS = 200_000  # or those with so much text
_TIME_TO_REBUILD = 300.0  # seconds that a caller must be willing to wait
_PATIENCE = 600.0  # seconds for another process to be done with the files
_LOOK = 0.5  # seconds between two checks of the files
_REMOVED_SHARE = 0.25  # of the rows: above, the removed ones distort what terms are worth


@dataclass(frozen=True, slots=True)
class _View:
    """An immutable state of both index halves, which queries read; it is replaced as a whole.

    Attributes:
        passage_ids, crcs: Of all rows, (n,); 0 is the checksum of a row without a vector.
        removed: How many of the rows in the files are removed ones, 0..1.
    """

    searcher: Any
    removed: float
    columns: Columns
    sight: SightStatistics
    passage_ids: np.ndarray[Any, Any]
    crcs: np.ndarray[Any, Any]
    scan: VectorScan | None
    watermark: int
    stamp: str


class LocalEngine:
    """An engine with index files in a folder.

    Args:
        folder: Its own; made when missing.
        spec: Analyser and encoder; each gets its own folder inside, so that a change builds a new index beside the
            old one.
        exclusive: Gives the lock of the folder; only its holder writes index files.
        max_lag: See `MAX_LAG`.
    """

    name = "local"
    works_here = True

    def __init__(
        self,
        folder: Path,
        spec: IndexSpec,
        *,
        exclusive: Callable[..., AbstractContextManager[None]],
        max_lag: float = MAX_LAG,
    ) -> None:
        self._max_lag = max_lag
        self._spec = spec
        self._dimension = spec.encoder.dimension if spec.encoder else 0
        self._scale = spec.encoder.scale if spec.encoder else (0.0, 1.0)
        self._exclusive = exclusive
        self._folder = folder / _generation(spec)
        self._lock = threading.Lock()
        self._sight: SightStatistics | None = None
        self._files = RowFiles(self._folder, self._dimension)
        self._unsaved = 0
        self._look_at = 0.0
        try:
            self._load_twice()
        except IndexCorrupt as error:
            self._start_anew(error)
        if self._scan is not None and self._scan.recoded:
            self._saved, self._unsaved = 0, 1
            self._keep("codes of an earlier version were made anew")
        elif self._scan is not None and self._moved:
            self._find_again(self._scan)

    def _keep(self, what: str) -> None:
        """Save rebuilt files for the next start; without write access they are rebuilt at each start."""
        try:
            self.checkpoint(always=True, wait=_BRIEFLY)
        except KnowledgeError as error:  # a folder that cannot be written, say: what is in memory is right
            log.warning("%s, and not kept: %s", what, error)

    def _find_again(self, scan: VectorScan) -> None:
        """Record that the vectors of a copied library were verified; without write access they are verified at each
        start.
        """
        try:
            with self._exclusive(wait=_BRIEFLY):
                self._files.found_again(scan)
        except (KnowledgeError, OSError, ValueError) as error:
            log.info("the vectors will be compared again at the next start: %s", error)

    def _load_twice(self) -> None:
        """Load the row files, a second time if another process replaced them meanwhile."""
        try:
            self._load()
        except IndexCorrupt:
            self._load()

    def _start_anew(self, error: IndexCorrupt) -> None:
        """Delete the files; the next `sync` replays the catalog from its beginning."""
        log.warning("%s; rebuilding from the catalog", error)
        with self._exclusive():
            shutil.rmtree(self._folder, ignore_errors=True)
            self._load()

    # -- following the catalog ------------------------------------------------------------------------

    def _load(self) -> None:
        self._belongs = False  # to the catalog: that is seen when it is first followed
        self._keyword = KeywordIndex(self._folder / "keyword", self._spec.key)
        rows = self._files.read()
        if rows.seq > self._keyword.watermark:
            raise IndexCorrupt("the vector rows are ahead of the keyword index", component="engine local")
        self._files.hold(rows)
        self._columns, self._scan, self._saved, self._moved = rows.columns, rows.scan, rows.seq, rows.moved
        self._whole = False
        self._set_view(rows.seq, rows.stamp)

    def _empty_scan(self) -> VectorScan | None:
        return VectorScan(self._dimension) if self._dimension else None

    def _set_view(self, watermark: int, stamp: str) -> None:
        searcher, columns = self._keyword.searcher, self._columns.frozen()
        if self._sight is None or not self._sight.of(searcher, columns):
            self._sight = SightStatistics(self._keyword, searcher, columns)
        self._view = _View(
            searcher=searcher,
            removed=self._keyword.removed_share(searcher),
            columns=columns,
            sight=self._sight,
            passage_ids=columns.passage_ids,
            crcs=columns.crcs,
            scan=self._scan.frozen() if self._scan is not None else None,
            watermark=watermark,
            stamp=stamp,
        )

    def sync(self, feed: ChangeFeed, *, deadline: Deadline) -> int:
        target = feed.seq()
        if deadline.remaining() >= _TIME_TO_REBUILD:
            self._look(feed)
        if self._view.watermark == target and self._belongs:
            self._whole = True
            return target
        if deadline.remaining() < _TIME_TO_REBUILD:
            return self._follow(feed, target, deadline)
        # In the same order as `checkpoint`. An ingest into a library in a folder holds this lock already.
        with self._exclusive(wait=min(deadline.remaining(), _PATIENCE)):
            return self._follow(feed, target, deadline)

    def _follow(self, feed: ChangeFeed, target: int, deadline: Deadline) -> int:
        if not self._may_catch_up(feed, deadline):
            return self._view.watermark
        try:
            self._catch_up(feed, target)
            if (
                deadline.remaining() >= _TIME_TO_REBUILD
                and self._keyword.removed_share(self._keyword.searcher) > _REMOVED_SHARE
            ):
                with self._exclusive():
                    self._write_anew(feed, target)
            return self._view.watermark
        except IndexCorrupt as error:
            if deadline.remaining() < _TIME_TO_REBUILD:
                raise  # a request cannot wait for it; the next start or ingest mends it
            self._start_anew(error)
            return self._catch_up(feed, target)
        finally:
            self._lock.release()

    def _may_catch_up(self, feed: ChangeFeed, deadline: Deadline) -> bool:
        """Take the write lock; False if another thread holds it and the request can be answered from the current
        view.

        A view is one state of both halves, which that thread leaves alone; what the record has removed since is
        left out where answers are checked against it, and what is new comes when that thread is done.
        """
        if deadline.remaining() < _TIME_TO_REBUILD:
            if self._lock.acquire(timeout=min(_BRIEFLY, deadline.remaining())):
                return True
            if self._belongs and self._may_lag(feed, self._view.watermark):
                return False
        if not self._lock.acquire(timeout=deadline.remaining()):
            raise EngineTimeout("another thread is still bringing the index up to date", component="engine local")
        return True

    def _may_lag(self, feed: ChangeFeed, watermark: int) -> bool:
        """Whether queries may be answered from a view behind the catalog; never from an index that is still being
        built.
        """
        return (self._whole or watermark > 0) and feed.lag(watermark) <= self._max_lag

    def _catch_up(self, feed: ChangeFeed, target: int) -> int:
        if self._view.watermark > target:
            target = feed.seq()  # read again: another thread may have applied a later change
        if self._view.watermark > target:
            raise IndexMismatch(
                msg(
                    "the index holds change {watermark}, the catalog ends at {target}",
                    watermark=self._view.watermark,
                    target=target,
                ),
                component="engine local",
                hint="the catalog was replaced by an older one: remove the library's index folder",
            )
        self._check_belongs(feed)
        self._measure(feed)
        self._keyword.reload(partial(_check_same, feed))
        reached = max(self._view.watermark, self._keyword.watermark)
        if self._keyword.watermark < target:
            try:
                with self._exclusive(wait=0.05):
                    self._keyword.reload(partial(_check_same, feed))
                    self._apply(feed, target)
                return target
            except CatalogBusy as error:
                if next(feed.changes(reached, target, vectors=False), None) is None:  # there is nothing to index
                    reached = target
                elif not self._may_lag(feed, reached):
                    raise IndexMismatch(
                        msg(
                            "behind the catalog ({reached} of {target}), and {message}",
                            reached=reached,
                            target=target,
                            message=error.message,
                        ),
                        component="engine local",
                    ) from error
        # Another process writes, or has written: apply changes up to the keyword index's.
        self._apply_rows(feed.changes(self._view.watermark, reached), reached, feed.stamp(reached))
        return reached

    def _apply(self, feed: ChangeFeed, target: int) -> None:
        """Apply changes to both halves: the keyword index commits first, the rows follow."""
        after = min(self._keyword.watermark, self._view.watermark)
        changes = feed.changes(after, target, vectors=self._scan is not None)
        first = next(changes, None)
        if first is None:  # only the registry has changed
            self._keyword.mark(target, feed.stamp(target))
        else:
            self._write(itertools.chain([first], changes), target, feed.stamp(target))
        self._set_view(target, self._keyword.stamp)

    def _check_belongs(self, feed: ChangeFeed) -> None:
        """Check once after loading: IndexMismatch if the files follow another catalog, IndexCorrupt if some of them
        do.
        """
        if self._belongs:
            return
        halves = (self._keyword.watermark, self._keyword.stamp), (self._view.watermark, self._view.stamp)
        held = [(seq, stamp) for seq, stamp in halves if seq]
        foreign = [seq for seq, stamp in held if feed.stamp(seq) != stamp]
        if foreign and len(foreign) < len(held):
            raise IndexCorrupt("some of its files are another library's", component="engine local")
        for seq, stamp in held:
            _check_same(feed, seq, stamp)
        self._belongs = True

    def _measure(self, feed: ChangeFeed) -> None:
        """Find out how long rows are that an earlier version wrote."""
        if self._columns.measured:
            return
        for batch in _batched(feed.changes(0, self._view.watermark, vectors=False)):
            bodies = _bodies(batch)
            self._columns.measure(list(bodies), [_length(body) for body in bodies.values()])
        self._saved, self._unsaved = 0, max(1, self._unsaved)
        self._set_view(self._view.watermark, self._view.stamp)

    # -- files that somebody else has changed ----------------------------------------------------------

    def look(self, feed: ChangeFeed) -> None:
        """Check, at most twice a second, whether the files changed; repair or rebuild them if so.

        Raises:
            EngineError: they cannot be mended.
        """
        if self._belongs:
            self._look(feed)
        else:
            self.sync(feed, deadline=deadline_after(_PATIENCE))

    def _look(self, feed: ChangeFeed) -> None:
        if not self._belongs or time.monotonic() < self._look_at:
            return
        self._look_at = time.monotonic() + _LOOK
        if not (self._keyword.changed() or self._files.changed()):
            return
        try:
            with self._exclusive(wait=_BRIEFLY), self._lock:
                self._mend(feed)
        except CatalogBusy:
            return  # the writer changes files; other changes are seen at the next check

    def _mend(self, feed: ChangeFeed) -> None:
        """Apply another process's changes, and rewrite damaged files from memory."""
        try:
            self._keyword.reload(partial(_check_same, feed))
        except (IndexCorrupt, IndexMismatch) as error:
            log.warning("while the index was open, somebody changed its files: %s", error)
        if restored := self._keyword.restore():
            log.warning("restored, as they were not what was written: %s", ", ".join(restored))
        if not self._files.changed():
            return
        try:
            rows = self._files.read()
            _check_same(feed, rows.seq, rows.stamp)
            if rows.seq or not self._saved:
                self._files.hold(rows)
                return
        except (IndexCorrupt, IndexMismatch) as error:
            log.warning("while the index was open, somebody changed its files: %s", error)
        if self._scan is not None and not self._scan.intact(self._columns.crcs):
            self._read_anew(feed)
        self._write_rows(*self._saveable())
        log.warning("the row files were written anew")

    def _read_anew(self, feed: ChangeFeed) -> None:
        """All rows from the catalog, up to the change of the keyword index."""
        old = self._columns, self._scan
        self._columns, self._scan = Columns(), self._empty_scan()
        try:
            changes = feed.changes(0, self._view.watermark, vectors=self._scan is not None)
            self._apply_rows(changes, self._view.watermark, self._view.stamp)
        except BaseException:
            self._columns, self._scan = old
            raise

    def purge(self, feed: ChangeFeed) -> None:
        """Rewrite all files, so that no term, vector or value of removed passages is left in them.

        The time is that of indexing the library (not of embedding it). Answers go on from the old files.
        """
        with self._exclusive():
            with self._lock:
                self._write_anew(feed, feed.seq())
            self.checkpoint(always=True)

    def _write_anew(self, feed: ChangeFeed, target: int) -> None:
        old = self._columns, self._scan
        self._columns, self._scan = Columns(), self._empty_scan()
        try:
            changes = feed.changes(0, target, vectors=self._scan is not None)
            self._write(changes, target, feed.stamp(target), anew=True)
        except BaseException:
            self._columns, self._scan = old
            raise
        self._saved, self._unsaved = 0, max(1, self._unsaved)
        self._set_view(target, self._keyword.stamp)

    def _write(self, changes: Iterator[Change], target: int, stamp: str, *, anew: bool = False) -> None:
        indexed = 0 if anew else self._keyword.watermark
        with self._keyword.writing(target, stamp) as writer:
            if anew:
                self._keyword.clear(writer)
            for batch in _batched(changes):
                news = [change for change in batch if change.seq > indexed]
                if indexed and news:  # also what is added: a run that died may have left it here
                    self._keyword.remove(writer, [change.passage_id for change in news])
                bodies = _bodies(batch)
                rows = [change.row for change in news if change.row is not None]
                self._keyword.put(writer, rows, [bodies[row.passage_id] for row in rows])
                self._take_rows(batch, bodies)

    def _apply_rows(self, changes: Iterator[Change], target: int, stamp: str) -> None:
        for batch in _batched(changes):
            self._take_rows(batch, _bodies(batch))
        self._set_view(target, stamp)

    def _take_rows(self, batch: Sequence[Change], bodies: Mapping[int, str]) -> None:
        self._columns.remove([c.passage_id for c in batch if c.row is None])
        rows = [c.row for c in batch if c.row is not None]
        if rows:
            crcs = [0] * len(rows)
            if self._scan is not None:
                vectors, crcs = as_vectors(rows, self._dimension)
                self._scan.extend(vectors, np.array([row.language == CHINESE for row in rows]))
            self._columns.append(rows, crcs, [_length(bodies[row.passage_id]) for row in rows])
        self._unsaved += len(batch)

    def checkpoint(self, *, always: bool = False, wait: float = 10.0) -> None:
        """Save the row files if enough has changed, so that the next start has little to replay."""
        # In this order: who ingests holds the first, and waits for the second.
        with self._exclusive(wait=wait), self._lock:
            if self._unsaved == 0 or not (always or self._unsaved >= _SAVE_AFTER):
                return
            seq, stamp = self._saveable()
            try:
                saved, vectors = self._files.on_disk()
                if saved < seq or (saved == seq and not self._saved):
                    # Rows are appended in place only to the file that this process has read or written itself.
                    own = 0 < self._saved == saved and not self._files.changed()
                    self._write_rows(seq, stamp, vectors if own else "")
            except (OSError, ValueError) as error:
                raise EngineUnavailable(
                    msg("cannot write the row files: {error}", error=error), component="engine local"
                ) from error
            self._unsaved = 0

    def _saveable(self) -> tuple[int, str]:
        """The change and stamp under which rows are saved: never ahead of the keyword index."""
        return min((self._view.watermark, self._view.stamp), (self._keyword.watermark, self._keyword.stamp))

    def _write_rows(self, seq: int, stamp: str, append_to: str = "") -> None:
        self._files.write(self._columns, self._scan, seq, stamp, append_to)
        self._saved = seq
        self._set_view(self._view.watermark, self._view.stamp)

    # -- answering ----------------------------------------------------------------------------------

    def keyword(self, terms: Sequence[str], *, scope: Scope, limit: int, deadline: Deadline) -> LegResult:
        view = self._view
        if scope.uncounted is not None:
            found = view.sight.best(terms, scope.uncounted, view.columns.mask(scope), limit)
        else:
            found = self._keyword.search_within(view.searcher, terms, limit, scope, view.columns)
        deadline.check("engine local/keyword")
        return LegResult.ok([Hit(i, s, parts={"keyword": s}) for i, s in found])

    def vector(self, vector: Any, *, scope: Scope, limit: int, deadline: Deadline) -> LegResult:
        view = self._view
        scan = self._vectors(view)
        mask = view.columns.mask(scope)
        numbers, cosines = scan.search(vector, mask, view.crcs, limit, deadline)
        ids, exact = view.passage_ids[numbers], cosines.astype(np.float64)
        found = zip(ids.tolist(), rescale(exact, self._scale).tolist(), exact.tolist(), strict=True)
        return LegResult.ok([Hit(i, score, parts={"vector": score, "cosine": cosine}) for i, score, cosine in found])

    def _vectors(self, view: _View) -> VectorScan:
        if view.scan is None:
            raise EngineError("this index was built without an encoder", component="engine local/vector")
        return view.scan

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
        view, keyword = self._view, self._keyword
        if uncounted is not None:
            scores = view.sight.scores(terms, passage_ids, uncounted)
        else:
            scores = dict(keyword.search(view.searcher, terms, len(passage_ids), keyword.among(passage_ids)))
        deadline.check("engine local/keyword")
        return scores

    def cosines(self, vector: Any, passage_ids: Sequence[int], *, deadline: Deadline) -> Mapping[int, float]:
        view = self._view
        scan = self._vectors(view)
        numbers = view.columns.rows_of(passage_ids)
        numbers = numbers[view.crcs[numbers] != 0]
        if not len(numbers):
            return {}
        cosines = np.vecdot(scan.checked_rows(numbers, view.crcs), vector)
        deadline.check("engine local/vector")
        return dict(zip(view.passage_ids[numbers].tolist(), cosines.tolist(), strict=True))

    def mean_cosine(self, vector: Any, *, uncounted: HiddenDocuments | None = None) -> float:
        view = self._view
        scan = self._vectors(view)
        if uncounted is not None:
            return view.sight.mean_cosine(vector, scan, view.crcs, uncounted)
        return scan.sums.mean_cosine(vector)

    def chinese_share(self, *, uncounted: HiddenDocuments) -> float:
        return self._view.sight.chinese_share(uncounted)

    def information(self, terms: Sequence[str], *, uncounted: HiddenDocuments | None = None) -> Mapping[str, float]:
        if uncounted is not None:
            return self._view.sight.information(terms, uncounted)
        return self._keyword.information(self._view.searcher, terms)

    def removed_share(self) -> float:
        return self._view.removed

    def status(self) -> EngineStatus:
        view = self._view
        alive = view.columns.alive
        return EngineStatus(
            name=self.name,
            watermark=view.watermark,
            passages=int(np.count_nonzero(alive)),
            vectors=int(np.count_nonzero(alive & (view.crcs != 0))),
        )

    def close(self) -> None:
        if self._unsaved >= _SAVE_AFTER:  # readers have replayed them, too, and the next reader would again
            self._keep("the row files were behind")
        self._set_view(self._view.watermark, self._view.stamp)


def _check_same(feed: ChangeFeed, seq: int, stamp: str) -> None:
    """IndexMismatch if change `seq` of the index has another stamp than the catalog's."""
    if seq and feed.stamp(seq) != stamp:
        raise IndexMismatch(
            msg(
                "its change {seq} ({stamp}) is not the catalog's ({feed}): the index or the catalog is "
                "another library's, or an older one",
                seq=seq,
                stamp=stamp,
                feed=feed.stamp(seq) or "which has none",
            ),
            component="engine local",
            hint="if the catalog is the right one, remove the library's index folder: it is built anew",
        )


def _generation(spec: IndexSpec) -> str:
    return hashlib.sha256(spec.key.encode()).hexdigest()[:16]


def _bodies(batch: Sequence[Change]) -> Mapping[int, str]:
    """The terms of the rows that are added, by passage."""
    rows = [change.row for change in batch if change.row is not None]
    bodies = passage_bodies([(row.heading_text, row.text) for row in rows])
    return {row.passage_id: body for row, body in zip(rows, bodies, strict=True)}


def _length(body: str) -> int:
    """How many terms there are."""
    return body.count(" ") + (not body.endswith(" ")) if body else 0


def _batched(changes: Iterator[Change]) -> Iterator[list[Change]]:
    """Changes in parts of bounded length and text: to make the terms of a text takes fifty times its space."""
    batch: list[Change] = []
    size = 0
    for change in changes:
        batch.append(change)
        size += 0 if change.row is None else len(change.row.text)
        if len(batch) == _APPLY_BATCH or size >= _APPLY_CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
