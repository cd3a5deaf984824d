"""The vector scan: what is newest is compared row by row, and what is saved has its codes."""

from __future__ import annotations

import zlib
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine_laws import EARLIER_CODES, earlier_codes
from wenyuan.core.errors import IndexCorrupt
from wenyuan.core.ports import Deadline
from wenyuan.engines.local import vectors as scans
from wenyuan.engines.local.quantisation import QuantizedVectors
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


def test_what_was_scored_is_checked_and_read_once(rows: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """A search reads each candidate once, checks the rows that it gives, and notices one that is not as it was."""
    vectors, crcs = rows
    scan, read = VectorScan(DIMENSION), list[int]()
    scan.extend(vectors[:2_000])
    real = VectorScan.rows

    def noting(self: VectorScan, numbers: Any) -> Any:
        read.extend(numbers.tolist())
        return real(self, numbers)

    monkeypatch.setattr(VectorScan, "rows", noting)
    numbers, _ = asked(scan, vectors[40], None, crcs[:2_000], 20)
    assert len(numbers) == 20
    assert sorted(read) == np.flatnonzero(crcs[:2_000]).tolist()
    wrong = crcs[:2_000].copy()
    wrong[numbers[-1]] ^= 1
    with pytest.raises(IndexCorrupt, match=f"row {numbers[-1]} "):
        asked(scan, vectors[40], None, wrong, 20)


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


@cache
def coded(dimension: int) -> tuple[Any, QuantizedVectors]:
    """5,000 rows of topics and their codes; to learn these takes most of the time."""
    draw = np.random.default_rng(dimension)
    topics = draw.normal(size=(100, dimension))
    rows = (1.0 + topics[draw.integers(0, 100, 5_000)] + draw.normal(size=(5_000, dimension))).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    codes = QuantizedVectors.trained(rows, len(rows))
    codes.add(rows)
    return rows, codes


@pytest.mark.parametrize("dimension", [5, 384, 768])
@pytest.mark.parametrize("every", [1, 2, 7])
def test_codes_tell_what_is_nearest(dimension: int, every: int) -> None:
    """Of 5,000 rows of topics, 200 candidates hold the ten nearest of those that a mask leaves, and no other row."""
    rows, codes = coded(dimension)
    mask = np.arange(len(rows)) % every == 0
    held = 0
    for query in rows[:40]:
        found = codes.search(query, None if every == 1 else mask, 200)
        assert len(found) == len(set(found.tolist())) == 200 and mask[found].all()
        nearest = np.argsort(-np.where(mask, rows @ query, -2.0))[:10]
        held += len(set(nearest.tolist()) & set(found.tolist()))
    assert held >= 0.995 * 400


def test_rows_that_are_all_alike_can_be_coded() -> None:
    """A library of one text many times, or of texts without any word the encoder knows."""
    rows = np.tile(np.eye(1, DIMENSION, dtype=np.float32), (EXACT_ROWS + 10, 1))
    scan = VectorScan(DIMENSION)
    scan.extend(rows)
    numbers, cosines = asked(scan, rows[0], None, np.ones(len(rows), int) * zlib.crc32(rows[0]), 5)
    assert len(set(numbers)) == 5
    assert cosines == pytest.approx(1.0)


def test_rows_that_few_others_are_like_are_found() -> None:
    """Rows far off along what all have in common, and rows without a vector, among those that codes are learned from."""
    draw = np.random.default_rng(3)
    rows = (3.0 + draw.normal(size=(5_000, DIMENSION))).astype(np.float32)
    rows[::500] -= 6.0
    rows[1::500] = draw.normal(size=(10, DIMENSION))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    rows[2::10] = 0.0
    codes = QuantizedVectors.trained(rows, len(rows))
    codes.add(rows)
    for number in (0, 500, 1, 501, 3, 4_999):
        assert number in codes.search(rows[number], None, 50)


def test_codes_are_read_as_often_as_one_likes(rows: tuple[Any, Any]) -> None:
    """Of what is read, each owns what it holds: whoever else reads, grows or is done with it does not matter."""
    given = rows[0][: EXACT_ROWS + 1]
    first = QuantizedVectors.trained(given, len(given))
    first.add(given)
    raw, wanted = first.write(), first.search(given[7], None, 20).tolist()
    for _ in range(60):
        codes = QuantizedVectors.read(raw)
        assert codes is not None and len(codes) == len(given)
        codes.shared = True
        more = codes.grown(given[:10])
        assert len(more) == len(given) + 10 and len(codes) == len(given)
        del codes
        assert more.search(given[7], np.arange(len(more)) < len(given), 20).tolist() == wanted
    assert QuantizedVectors.read(raw).write() == raw  # type: ignore[union-attr]


@pytest.mark.parametrize("kind", EARLIER_CODES)
def test_codes_of_another_kind_are_made_anew(rows: tuple[Any, Any], tmp_path: Path, kind: str) -> None:
    """As an earlier version wrote them, checksum and all: the rows are coded again, and found as before."""
    given, crcs = rows
    vectors, codes = tmp_path / "rows.f32", tmp_path / "codes.faiss"
    scan = grown(given)
    scan.save(vectors, codes, append=False)
    codes.write_bytes(earlier_codes(given, kind))
    none = np.zeros(len(scan), bool)
    loaded = VectorScan.load(DIMENSION, vectors, codes, zlib.crc32(codes.read_bytes()), None, none)
    assert loaded.recoded and loaded._coded == len(scan)
    for number in (5, EXACT_ROWS + 200):
        _, found = asked(loaded, given[number], None, crcs, 5)
        assert found == pytest.approx(asked(scan, given[number], None, crcs, 5)[1], abs=1e-6)
    vectors, codes = tmp_path / "new.f32", tmp_path / "new.faiss"  # what is mapped is never written over
    crc = loaded.save(vectors, codes, append=False)
    again = VectorScan.load(DIMENSION, vectors, codes, crc, None, none)
    assert not again.recoded
