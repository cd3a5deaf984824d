"""Packs of strangers: what they unpack to is counted before a library reads them."""

from __future__ import annotations

import io
import tracemalloc
import zlib

import pytest

from git_packs import BLOB, blob, delta, head, pack
from wenyuan.connectors.packs import MOST_DEPTH, check_pack
from wenyuan.core.errors import DocumentRejected


def checked(file: io.BytesIO, *, objects: int = 100_000, largest: int = 10**8, total: int = 10**9) -> int:
    """How many times the limit of time was looked at."""
    looks = 0

    def look() -> None:
        nonlocal looks
        looks += 1

    check_pack(file, objects=objects, largest=largest, total=total, check=look)
    return looks


def test_a_sound_pack_passes() -> None:
    """Blobs of any size, empty ones and deltas upon them."""
    base = blob(b"leave " * 100)
    copies = delta(len(base), 600, 606, bytes([0x80 | 0x30, 600 & 255, 600 >> 8, 6]) + b"leave ")
    assert checked(pack(base, copies, blob(b""), blob(bytes(range(256)) * 1_000))) >= 4


def test_a_blob_of_zeros_is_refused_unread() -> None:
    """Of 1.5 GB that take 1.5 MB nothing is unpacked: the size stands before it."""
    bomb = head(BLOB, 1_500_000_000) + zlib.compress(bytes(1_000_000))
    with pytest.raises(DocumentRejected, match="more than 100,000,000 bytes"):
        checked(pack(bomb))
    with pytest.raises(DocumentRejected, match="unpacks to more than 100 times"):
        checked(pack(blob(bytes(60_000_000))))


def test_a_blob_that_says_less_than_it_is_is_refused() -> None:
    """It is unpacked to no more than it says, and is no sound pack."""
    bomb = pack(blob(bytes(80_000_000), size=1_000))
    tracemalloc.start()
    try:
        with pytest.raises(DocumentRejected, match="no sound pack"):
            checked(bomb)
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


def test_many_blobs_of_zeros_are_refused_together() -> None:
    """Each is small enough; all together are not."""
    with pytest.raises(DocumentRejected, match="unpacks to too much"):
        checked(pack(*[blob(bytes(1_000_000))] * 100), total=50_000_000)


@pytest.mark.parametrize(
    ("result", "orders", "told"),
    [
        (2_000_000_000, b"\x80" * 30_000, "more than 100,000,000 bytes"),
        (600, b"\x80" * 30_000, "no sound pack"),
        (600, b"\xff", "no sound pack"),
    ],
    ids=["says what it makes", "makes more than it says", "ends within a copy"],
)
def test_a_delta_that_copies_its_base_without_end_is_refused(result: int, orders: bytes, told: str) -> None:
    """A few bytes copy 64 KB each; what they make is counted without making it."""
    base = blob(b"leave " * 100)
    with pytest.raises(DocumentRejected, match=told):
        checked(pack(base, delta(len(base), 600, result, orders)))


def test_deltas_upon_deltas_end() -> None:
    """A chain of them costs its length for each of them."""
    base = blob(b"x")
    step = delta(0, 1, 1, b"\x01x")
    chain = [delta(len(base), 1, 1, b"\x01x"), *[delta(len(step), 1, 1, b"\x01x")] * (MOST_DEPTH - 1)]
    assert checked(pack(base, *chain)) > MOST_DEPTH
    with pytest.raises(DocumentRejected, match="made of more than 4,095 others"):
        checked(pack(base, *chain, chain[-1]))


def test_more_objects_than_files_are_refused_unread() -> None:
    """The number stands at the beginning."""
    with pytest.raises(DocumentRejected, match="more than 1,000 objects"):
        checked(pack(count=2_000_000_000), objects=1_000)


@pytest.mark.parametrize("content", [b"", b"PACK", b"no pack, but as long as one", pack(count=3).getvalue()])
def test_what_is_no_pack_is_refused(content: bytes) -> None:
    """Nothing at all, a piece, something else, fewer objects than said."""
    with pytest.raises(DocumentRejected, match="no sound pack"):
        checked(io.BytesIO(content))


@pytest.mark.parametrize("times", [1_000, 2_000, 4_000])
def test_the_work_grows_with_the_pack(times: int) -> None:
    """Twice the objects are twice the looks."""
    assert 2 * times <= checked(pack(*[blob(b"a")] * times)) <= 2.01 * times
