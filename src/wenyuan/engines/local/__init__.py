"""The default engine: tantivy for keywords, an exact-recall scan for vectors, both derived from the catalog.

Both halves answer at one watermark: the last change of the catalog that they hold. `sync` replays what is
missing; if it cannot, that is an `EngineError`, never a shorter answer. Files that were lost or damaged are
rebuilt from the catalog when the engine is opened.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import logging
import secrets
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
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
)
from wenyuan.core.filters import Scope
from wenyuan.core.ports import Change, ChangeFeed, Deadline, EngineStatus, IndexSpec
from wenyuan.core.ranking import Hit, LegResult
from wenyuan.core.score import rescale
from wenyuan.core.sums import CHINESE
from wenyuan.engines.local.columns import Columns
from wenyuan.engines.local.keyword import KeywordIndex
from wenyuan.engines.local.vectors import VectorScan, as_vectors

__all__ = ["LocalEngine"]

log = logging.getLogger(__name__)

MAX_LAG = 3_600.0
"""Seconds for which whoever else is writing, a process or a thread, may keep answers behind before that is an error."""
_BRIEFLY = 0.1  # seconds to wait for a thread that brings the index up to date: mostly it is done by then
_SAVE_AFTER = 2_000  # changes after which the row files are worth writing again
_APPLY_BATCH = 2_000
_TIME_TO_REBUILD = 300.0  # seconds that a caller must be willing to wait
_PATIENCE = 600.0  # seconds for another process to be done with the files
_REMOVED_SHARE = 0.25  # of the rows: above, the removed ones distort what terms are worth


@dataclass(frozen=True, slots=True)
class _View:
    """What queries read: one state of both halves, replaced as a whole."""

    searcher: Any
    columns: Columns
    scan: VectorScan | None
    watermark: int


class LocalEngine:
    """An engine in a folder.

    Args:
        folder: Its own; made when missing.
        spec: Analyser and encoder; each gets a folder of its own inside, so that changing one builds anew
            beside the old.
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
        self._unsaved = 0
        try:
            self._load_twice()
        except IndexCorrupt as error:
            self._start_anew(error)
        if self._scan is not None and self._scan.recoded:
            self._saved, self._unsaved = 0, 1
            self._keep("codes of an earlier version were made anew")

    def _keep(self, what: str) -> None:
        """Write what was made anew, so that the next start has it; who cannot write now makes it each time."""
        try:
            self.checkpoint(always=True, wait=_BRIEFLY)
        except KnowledgeError as error:  # a folder that cannot be written, say: what is in memory is right
            log.warning("%s, and not kept: %s", what, error)

    def _load_twice(self) -> None:
        """Another process may replace the row files while they are being read; then the new ones are there."""
        try:
            self._load()
        except IndexCorrupt:
            self._load()

    def _start_anew(self, error: IndexCorrupt) -> None:
        """Throw the files away; the next `sync` replays the catalog from its beginning."""
        log.warning("%s; rebuilding from the catalog", error)
        with self._exclusive():
            shutil.rmtree(self._folder, ignore_errors=True)
            self._load()

    # -- following the catalog ------------------------------------------------------------------------

    def _load(self) -> None:
        self._keyword = KeywordIndex(self._folder / "keyword", self._spec.key)
        self._keyword.probe()
        manifest = self._folder / "rows.json"
        columns, scan, watermark = Columns(), self._empty_scan(), 0
        if manifest.exists():
            try:
                state = json.loads(manifest.read_text("utf-8"))
                columns = Columns.load(self._folder / state["columns"], state["columns_crc"])
                watermark = state["seq"]
                if scan is not None:
                    scan = VectorScan.load(
                        self._dimension, self._folder / state["vectors"], self._folder / state["codes"],
                        state["codes_crc"], state.get("sums"), columns.chinese,
                    )  # fmt: skip
            except (OSError, ValueError, KeyError, TypeError) as error:
                raise IndexCorrupt(f"{manifest.name}: {error}", component="engine local") from error
        if watermark > self._keyword.watermark:
            raise IndexCorrupt("the vector rows are ahead of the keyword index", component="engine local")
        self._columns, self._scan, self._saved = columns, scan, watermark
        self._whole = False
        self._set_view(watermark)

    def _empty_scan(self) -> VectorScan | None:
        return VectorScan(self._dimension) if self._dimension else None

    def _set_view(self, watermark: int) -> None:
        self._whole = self._whole or watermark > 0
        self._view = _View(
            searcher=self._keyword.searcher,
            columns=self._columns.frozen(),
            scan=self._scan.frozen() if self._scan is not None else None,
            watermark=watermark,
        )

    def sync(self, feed: ChangeFeed, *, deadline: Deadline) -> int:
        target = feed.seq()
        if self._view.watermark == target:
            self._whole = True
            return target
        if deadline.remaining() < _TIME_TO_REBUILD:
            return self._follow(feed, target, deadline)
        # In the order of `checkpoint`. Whoever ingests into a library in a folder has this lock already.
        with self._exclusive(wait=min(deadline.remaining(), _PATIENCE)):
            return self._follow(feed, target, deadline)

    def _follow(self, feed: ChangeFeed, target: int, deadline: Deadline) -> int:
        if not self._may_catch_up(feed, deadline):
            return self._view.watermark
        try:
            self._catch_up(feed, target)
            if deadline.remaining() >= _TIME_TO_REBUILD and self._keyword.removed_share() > _REMOVED_SHARE:
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
        """Take the lock; False when another thread has it and a request can be answered from what is here.

        A view is one state of both halves, which that thread leaves alone; what the record has removed since is
        left out where answers are checked against it, and what is new comes when that thread is done.
        """
        if deadline.remaining() < _TIME_TO_REBUILD:
            if self._lock.acquire(timeout=min(_BRIEFLY, deadline.remaining())):
                return True
            if self._may_lag(feed, self._view.watermark):
                return False
        if not self._lock.acquire(timeout=deadline.remaining()):
            raise EngineTimeout("another thread is still bringing the index up to date", component="engine local")
        return True

    def _may_lag(self, feed: ChangeFeed, watermark: int) -> bool:
        """Whether questions may be answered as of a change that others have moved on from: never from files that are
        only being built, which hold nothing.
        """
        return self._whole and feed.lag(watermark) <= self._max_lag

    def _catch_up(self, feed: ChangeFeed, target: int) -> int:
        if self._view.watermark > target:
            target = feed.seq()  # anew: another thread may have followed a later change
        if self._view.watermark > target:
            raise IndexMismatch(
                f"the index holds change {self._view.watermark}, the catalog ends at {target}",
                component="engine local",
                hint="the catalog was replaced by an older one: remove the library's index folder",
            )
        self._keyword.reload()
        reached = max(self._view.watermark, self._keyword.watermark)
        if self._keyword.watermark < target:
            try:
                with self._exclusive(wait=0.05):
                    self._keyword.reload()
                    self._apply(feed, target)
                return target
            except CatalogBusy as error:
                if next(feed.changes(reached, target, vectors=False), None) is None:  # there is nothing to index
                    reached = target
                elif not self._may_lag(feed, reached):
                    raise IndexMismatch(
                        f"behind the catalog ({reached} of {target}), and {error.message}", component="engine local"
                    ) from error
        # Somebody else writes, or has written: follow to where the keyword index stands.
        self._apply_rows(feed.changes(self._view.watermark, reached), reached)
        return reached

    def _apply(self, feed: ChangeFeed, target: int) -> None:
        """Replay changes into both halves: the keyword index commits first, the rows follow."""
        after = min(self._keyword.watermark, self._view.watermark)
        changes = feed.changes(after, target, vectors=self._scan is not None)
        first = next(changes, None)
        if first is None:  # only the registry has changed
            self._keyword.mark(target)
        else:
            self._write(itertools.chain([first], changes), target)
        self._set_view(target)

    def purge(self, feed: ChangeFeed) -> None:
        """Write all files anew: of what was removed, no term, vector or value is left in them.

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
            self._write(feed.changes(0, target, vectors=self._scan is not None), target, anew=True)
        except BaseException:
            self._columns, self._scan = old
            raise
        self._saved, self._unsaved = 0, max(1, self._unsaved)
        self._set_view(target)

    def _write(self, changes: Iterator[Change], target: int, *, anew: bool = False) -> None:
        indexed = 0 if anew else self._keyword.watermark
        with self._keyword.writing(target) as writer:
            if anew:
                self._keyword.clear(writer)
            for batch in _batched(changes):
                news = [change for change in batch if change.seq > indexed]
                if indexed and news:  # also what is added: a run that died may have left it here
                    self._keyword.remove(writer, [change.passage_id for change in news])
                self._keyword.put(writer, [change.row for change in news if change.row is not None])
                self._take_rows(batch)

    def _apply_rows(self, changes: Iterator[Change], target: int) -> None:
        for batch in _batched(changes):
            self._take_rows(batch)
        self._set_view(target)

    def _take_rows(self, batch: Sequence[Change]) -> None:
        self._columns.remove([c.passage_id for c in batch if c.row is None])
        rows = [c.row for c in batch if c.row is not None]
        if rows:
            crcs = [0] * len(rows)
            if self._scan is not None:
                vectors, crcs = as_vectors(rows, self._dimension)
                self._scan.extend(vectors, np.array([row.language == CHINESE for row in rows]))
            self._columns.append(rows, crcs)
        self._unsaved += len(batch)

    def checkpoint(self, *, always: bool = False, wait: float = 10.0) -> None:
        """Write the row files, if enough has changed, so that the next start has little to replay."""
        # In this order: who ingests holds the first, and waits for the second.
        with self._exclusive(wait=wait), self._lock:
            if self._unsaved == 0 or not (always or self._unsaved >= _SAVE_AFTER):
                return
            manifest = self._folder / "rows.json"
            # Rows never stand ahead of the keyword index; the view may, by changes that hold no row.
            seq = min(self._view.watermark, self._keyword.watermark)
            try:
                disk = json.loads(manifest.read_text("utf-8")) if manifest.exists() else {"seq": 0}
                if disk["seq"] < seq or (disk["seq"] == seq and not self._saved):
                    # Rows are appended in place only to the file that this process has read or written itself.
                    self._write_rows(manifest, seq, str(disk["vectors"]) if 0 < self._saved == disk["seq"] else "")
            except (OSError, ValueError, KeyError, TypeError) as error:
                raise EngineUnavailable(f"cannot write the row files: {error}", component="engine local") from error
            self._unsaved = 0

    def _write_rows(self, manifest: Path, seq: int, append_to: str) -> None:
        tag = f"{seq}-{secrets.token_hex(4)}"  # a file that another process has mapped is never written over
        vectors, append = append_to or f"vectors-{tag}.f32", bool(append_to)
        names = {"columns": f"columns-{tag}.npz", "codes": f"codes-{tag}.faiss", "vectors": vectors}
        state: dict[str, Any] = {"seq": seq, **names, "codes_crc": 0}
        state["columns_crc"] = self._columns.save(self._folder / names["columns"])
        if self._scan is not None:
            codes = self._folder / names["codes"]
            state["codes_crc"] = self._scan.save(self._folder / vectors, codes, append=append)
            state["sums"] = self._scan.sums.written()
        part = manifest.with_suffix(".part")
        part.write_text(json.dumps(state), "utf-8")
        part.replace(manifest)
        for pattern in ("columns-*.npz", "codes-*.faiss", "vectors-*.f32"):
            for old in self._folder.glob(pattern):
                if old.name not in names.values():
                    old.unlink(missing_ok=True)  # processes that have it mapped keep it
        self._saved = seq
        self._set_view(self._view.watermark)

    # -- answering ----------------------------------------------------------------------------------

    def keyword(self, terms: Sequence[str], *, scope: Scope, limit: int, deadline: Deadline) -> LegResult:
        view = self._view
        found = self._keyword.search(view.searcher, terms, limit, self._keyword.restriction(scope, view.columns))
        deadline.check("engine local/keyword")
        return LegResult.ok([Hit(i, s, parts={"keyword": s}) for i, s in found])

    def vector(self, vector: Any, *, scope: Scope, limit: int, deadline: Deadline) -> LegResult:
        view = self._view
        scan = self._vectors(view)
        mask = view.columns.mask(scope)
        numbers, cosines = scan.search(vector, mask, view.columns.crcs, limit, deadline)
        ids = view.columns.passage_ids[numbers].tolist()
        hits = []
        for passage_id, cosine in zip(ids, cosines.tolist(), strict=True):
            score = rescale(cosine, self._scale)
            hits.append(Hit(passage_id, score, parts={"vector": score, "cosine": cosine}))
        return LegResult.ok(hits)

    def _vectors(self, view: _View) -> VectorScan:
        if view.scan is None:
            raise EngineError("this index was built without an encoder", component="engine local/vector")
        return view.scan

    def keyword_scores(
        self, terms: Sequence[str], passage_ids: Sequence[int], *, deadline: Deadline
    ) -> Mapping[int, float]:
        if not passage_ids:
            return {}
        found = self._keyword.search(self._view.searcher, terms, len(passage_ids), self._keyword.among(passage_ids))
        deadline.check("engine local/keyword")
        return dict(found)

    def cosines(self, vector: Any, passage_ids: Sequence[int], *, deadline: Deadline) -> Mapping[int, float]:
        view = self._view
        scan = self._vectors(view)
        numbers = view.columns.rows_of(passage_ids)
        numbers = numbers[view.columns.crcs[numbers] != 0]
        if not len(numbers):
            return {}
        cosines = np.vecdot(scan.checked_rows(numbers, view.columns.crcs), vector)
        deadline.check("engine local/vector")
        return dict(zip(view.columns.passage_ids[numbers].tolist(), cosines.tolist(), strict=True))

    def mean_cosine(self, vector: Any, *, chinese: bool | None = None) -> float:
        return self._vectors(self._view).sums.mean_cosine(vector, chinese)

    def information(self, terms: Sequence[str]) -> Mapping[str, float]:
        return self._keyword.information(self._view.searcher, terms)

    def status(self) -> EngineStatus:
        view = self._view
        alive = view.columns.alive
        return EngineStatus(
            name=self.name,
            watermark=view.watermark,
            passages=int(np.count_nonzero(alive)),
            vectors=int(np.count_nonzero(alive & (view.columns.crcs != 0))),
        )

    def close(self) -> None:
        if self._unsaved >= _SAVE_AFTER:  # who only asks has replayed them, too, and who asks next would again
            self._keep("the row files were behind")
        self._set_view(self._view.watermark)


def _generation(spec: IndexSpec) -> str:
    return hashlib.sha256(spec.key.encode()).hexdigest()[:16]


def _batched(changes: Iterator[Change]) -> Iterator[tuple[Change, ...]]:
    while batch := tuple(itertools.islice(changes, _APPLY_BATCH)):
        yield batch
