"""Rows of the default engine: which passage lies where, and how few are copied when one is added."""

from __future__ import annotations

import time
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wenyuan.core.model import FOREVER, IndexRow
from wenyuan.core.ports import Deadline
from wenyuan.engines.local.columns import Columns
from wenyuan.engines.local.vectors import EXACT_ROWS, VectorScan

DIMENSION = 32


def row(passage_id: int) -> IndexRow:
    return IndexRow(
        passage_id=passage_id, source_id="s", document_id=1, heading_text="", text="", language="", collection="",
        facets={}, valid_from=0, valid_until=FOREVER,
    )  # fmt: skip


batches = st.lists(
    st.tuples(st.lists(st.integers(1, 40), unique=True, max_size=8), st.lists(st.integers(1, 45), max_size=6)),
    max_size=6,
)


@settings(deadline=None)
@given(batches)
def test_rows_are_found_in_whatever_order_they_came(steps: list[tuple[list[int], list[int]]]) -> None:
    """Whatever is added, replaced and removed, a live passage is found at its last row, any other nowhere."""
    columns, expected, size = Columns(), dict[int, int](), 0
    for added, removed in steps:
        if added:
            columns.append([row(i) for i in added], [1] * len(added), [3] * len(added))
        expected.update({i: size + n for n, i in enumerate(added)})
        size += len(added)
        columns.remove(removed)
        expected = {i: at for i, at in expected.items() if i not in removed}
        everything = list(range(50))
        for one in (columns, columns.frozen()):
            rows = one.rows_of(everything)
            assert dict(zip(one.passage_ids[rows].tolist(), rows.tolist(), strict=True)) == expected


@settings(deadline=None)
@given(st.lists(st.integers(1, 60), unique=True, min_size=1, max_size=30), st.integers(1, 60))
def test_rows_are_found_after_loading(tmp_path_factory: object, ids: list[int], removed: int) -> None:
    """Columns that were saved and loaded find the same rows."""
    columns = Columns()
    columns.append([row(i) for i in ids], [1] * len(ids), [3] * len(ids))
    columns.remove([removed])
    path = Path(tmp_path_factory.mktemp("rows")) / "columns.npz"  # type: ignore[attr-defined]
    loaded = Columns.load(path, columns.save(path))
    everything = list(range(70))
    assert loaded.rows_of(everything).tolist() == columns.rows_of(everything).tolist()


def test_a_frozen_view_does_not_see_later_rows() -> None:
    """A view taken before a passage was replaced finds neither the new row nor a row that is another's."""
    columns = Columns()
    columns.append([row(i) for i in (1, 2, 3)], [1] * 3, [3] * 3)
    view = columns.frozen()
    columns.append([row(2)], [1], [3])
    assert columns.rows_of([1, 2, 3]).tolist() == [0, 3, 2]
    assert view.rows_of([1, 3]).tolist() == [0, 2]


def unit_rows(count: int, seed: int, spread: np.ndarray | float = 1.0) -> np.ndarray:
    rows = (np.random.default_rng(seed).standard_normal((count, DIMENSION)) * spread).astype(np.float32)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def soon() -> Deadline:
    return Deadline(time.monotonic() + 60, time.monotonic)


def test_newest_rows_are_found_before_they_have_codes(tmp_path: Path) -> None:
    """A row added to a coded scan is found at once, under a filter, and after saving and loading, without new codes."""
    held = unit_rows(EXACT_ROWS + 2_000, 1)
    scan = VectorScan(DIMENSION)
    scan.extend(held)
    codes = scan._codes
    new = unit_rows(3, 2)
    scan.extend(new, np.ones(3, bool))
    chinese = np.arange(len(scan)) >= len(held)
    assert scan._codes is codes
    checked = scan.save(tmp_path / "v.f32", tmp_path / "c.faiss", append=False)
    files, sums = (tmp_path / "v.f32", tmp_path / "c.faiss", checked), scan.sums.written()
    loaded = VectorScan.load(DIMENSION, *files, sums, chinese)
    read = VectorScan.load(DIMENSION, *files, None, chinese)
    crcs = np.array([zlib.crc32(r) for r in (*held, *new)])
    even = np.arange(len(scan)) % 2 == (len(held) + 1) % 2
    for one in (scan, loaded, read, scan.frozen()):
        for mask in (None, even | True, even):
            found, cosines = one.search(new[1], mask, crcs, 5, soon())
            assert found[0] == len(held) + 1
            assert cosines[0] > 0.999
        mean = float((np.concatenate([held, new]) @ new[0]).mean())
        assert one.sums.mean_cosine(new[0]) == pytest.approx(mean, abs=1e-6)


def test_axes_that_differ_in_weight_cost_no_recall() -> None:
    """Vectors whose energy lies in a few axes are found as well as others are: codes are taken after a turn."""
    spread = np.exp(-np.arange(DIMENSION) / 4)
    held, asked = unit_rows(40_000, 3, spread), unit_rows(40, 4, spread)
    scan = VectorScan(DIMENSION)
    scan.extend(held)
    assert scan._codes is not None
    hit = 0
    for query in asked:
        truth = set(np.argsort(-(held @ query))[:10].tolist())
        hit += len(truth & set(scan._codes.search(query, None, 1_000).tolist()))
    assert hit / 400 >= 0.9
