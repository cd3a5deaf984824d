"""The vector scan: what is newest is compared row by row, and what is saved has its codes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wenyuan.core.ports import Deadline
from wenyuan.engines.local import vectors as scans
from wenyuan.engines.local.vectors import EXACT_ROWS, VectorScan, as_vectors

DIMENSION = 16
NEWEST = 700


class Row:
    def __init__(self, vector: Any) -> None:
        self.vector = vector


@pytest.fixture(scope="module")
def rows() -> tuple[Any, Any]:
    """Unit rows in pairs of equal ones, every ninth without a vector; and their checksums."""
    draw = np.random.default_rng(8)
    some = draw.normal(size=((EXACT_ROWS + NEWEST) // 2 + 1, DIMENSION)).astype(np.float32)
    some /= np.linalg.norm(some, axis=1, keepdims=True)
    given = [Row(None if n % 9 == 0 else some[n // 2]) for n in range(EXACT_ROWS + NEWEST + 1)]
    vectors, crcs = as_vectors(given, DIMENSION)
    return vectors, np.array(crcs)


def grown(vectors: Any) -> VectorScan:
    """A scan of which the last rows have no codes."""
    scan = VectorScan(DIMENSION)
    scan.extend(vectors[: EXACT_ROWS + 1])
    scan.extend(vectors[EXACT_ROWS + 1 :])
    return scan


def asked(scan: VectorScan, query: Any, mask: Any, crcs: Any, limit: int) -> tuple[list[int], Any]:
    numbers, cosines = scan.search(query, mask, crcs, limit, Deadline(60.0, lambda: 0.0))
    return numbers.tolist(), cosines


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("saved", [False, True])
def test_newest_rows_are_found_as_others_are(
    rows: tuple[Any, Any], masked: bool, saved: bool, tmp_path: Path
) -> None:
    """Rows with and without codes are ranked together, by their cosines alone, with and without a mask."""
    vectors, crcs = rows
    scan = grown(vectors)
    assert len(scan) - scan._coded == NEWEST
    if saved:
        scan.save(tmp_path / "rows.f32", tmp_path / "codes.faiss", append=False)
        assert scan._coded == len(scan)
    mask = np.arange(len(vectors)) % 50 != 1 if masked else None
    allowed = (crcs != 0) & (True if mask is None else mask)
    for number in (EXACT_ROWS + 200, EXACT_ROWS + 451, 40):
        cosines = np.where(allowed, vectors @ vectors[number], -2.0)
        numbers, found = asked(scan, vectors[number], mask, crcs, 3)
        assert found == pytest.approx(np.sort(cosines)[::-1][:3], abs=1e-6)
        assert number in numbers and allowed[numbers].all()


def test_a_limit_only_cuts(rows: tuple[Any, Any]) -> None:
    """The first of many are the first of a few, though most have a twin with the same cosine."""
    vectors, crcs = rows
    scan = VectorScan(DIMENSION)
    scan.extend(vectors[:400])
    every, _ = asked(scan, vectors[5], None, crcs[:400], 400)
    assert len(every) == int((crcs[:400] != 0).sum())
    for limit in (1, 2, 3, 50, 99, 355):
        assert asked(scan, vectors[5], None, crcs[:400], limit)[0] == every[:limit]


def test_codes_are_learned_anew_only_when_rows_have_become_many_more(
    rows: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """However few of the rows are learned from, a scan that grows by steps does not code all of them at each step."""
    monkeypatch.setattr(scans, "_TRAIN_ROWS", 100)
    learned: list[int] = []
    encode_all = VectorScan._encode_all

    def counted(scan: VectorScan) -> Any:
        learned.append(len(scan))
        return encode_all(scan)

    monkeypatch.setattr(VectorScan, "_encode_all", counted)
    scan, step = VectorScan(DIMENSION), rows[0][: EXACT_ROWS + 1]
    for _ in range(10):
        scan.extend(step)
    assert learned == [len(step), 9 * len(step)]
    assert scan._coded == len(scan)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("limit", [1, 30, 5_000])
def test_cores_that_share_a_scan_find_what_one_finds(
    rows: tuple[Any, Any], masked: bool, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In three parts or whole: the same candidates, with and without a mask that leaves a part nothing."""
    vectors, _ = rows
    codes = grown(vectors)._codes
    assert codes is not None
    mask = np.arange(len(vectors)) > 2_000 if masked else None
    whole = [codes.search(query, mask, limit) for query in vectors[:20]]
    monkeypatch.setattr(scans, "_cores", lambda: 3)
    monkeypatch.setattr(scans, "_ROWS_TO_SHARE", 700)
    parts: list[tuple[int, int]] = []
    part = type(codes)._part

    def counted(self: Any, query: Any, packed: Any, limit: int, first: int, last: int) -> Any:
        parts.append((first, last))
        return part(self, query, packed, limit, first, last)

    monkeypatch.setattr(type(codes), "_part", counted)
    for query, expected in zip(vectors[:20], whole, strict=True):
        found = codes.search(query, mask, limit)
        assert len(found) == len(expected)
        assert (
            len(set(found.tolist()) ^ set(expected.tolist())) <= 2
        )  # rows come in pairs of equal ones: one may stand for the other
    assert len(parts) == 60
