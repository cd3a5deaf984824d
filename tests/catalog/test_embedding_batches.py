"""The queue of batches: each is one worker's at a time, a late answer is refused, and what fails three times is set apart."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from catalog_parts import BOTH, again
from wenyuan.catalog import Catalog, embedding_batches
from wenyuan.core.embedding_batches import OUTAGES, PROGRAM, TRIES, EmbeddingBatch, WorkerState, is_older
from wenyuan.core.errors import CatalogBusy, CatalogVersion
from wenyuan.core.model import Source

ENCODER = "e|8"
LEASE = 60.0


def batch(number: int = 0, source: str = "s1") -> EmbeddingBatch:
    return EmbeddingBatch(
        source_id=source, batch_key=f"key{number}", encoder=ENCODER, texts=(f"词 {number}", "label"), counted=1
    )


def worker(name: str = "w", program: str = PROGRAM) -> WorkerState:
    return WorkerState(
        name=name, program=program, encoder=ENCODER, jobs=2, seconds=0, silent=0, batches=3, passages=40, rate=1.5, reason=""
    )  # fmt: skip


@pytest.fixture
def other(catalog: Catalog) -> Iterator[Catalog]:
    """The same catalog, as another process has it open."""
    opened = Catalog.open(again(catalog.database.place))
    yield opened
    opened.close()


def taken(catalog: Catalog, name: str = "w", lease: float = LEASE) -> EmbeddingBatch:
    found = catalog.take_batch(name, ENCODER, lease)
    assert found is not None
    return found


@BOTH
def test_a_batch_comes_back_with_its_texts_and_its_vectors(catalog: Catalog) -> None:
    """What is put is leased whole, and what is given for it can be read; then it is gone at once."""
    catalog.put_batch(batch())
    found = taken(catalog)
    assert (found.texts, found.counted, found.source_id) == (("词 0", "label"), 1, "s1")
    assert found.token
    assert catalog.give_vectors(found, b"abcd")
    outcome = catalog.batch_outcome("s1", "key0")
    assert outcome is not None
    assert (outcome.state, outcome.vectors) == ("ready", b"abcd")
    catalog.remove_batches("s1", ["key0"])
    assert catalog.batch_outcome("s1", "key0") is None


@BOTH
def test_of_many_workers_each_batch_is_one_workers(catalog: Catalog, other: Catalog) -> None:
    """Eight threads on two connections lease forty batches: none twice, none left."""
    for number in range(40):
        catalog.put_batch(batch(number))
    begin = threading.Barrier(8)

    def take(which: int) -> list[str]:
        begin.wait()
        found = []
        while (one := (catalog, other)[which % 2].take_batch(f"w{which}", ENCODER, LEASE)) is not None:
            found.append(one.batch_key)
        return found

    with ThreadPoolExecutor(8) as pool:
        keys = [key for each in pool.map(take, range(8)) for key in each]
    assert sorted(keys) == sorted(f"key{number}" for number in range(40))


@BOTH
def test_the_oldest_is_taken_first(catalog: Catalog) -> None:
    """Batches are leased in the order in which they were put."""
    for number in (3, 1, 2):
        catalog.put_batch(batch(number))
    assert [taken(catalog).batch_key for _ in range(3)] == ["key3", "key1", "key2"]


@BOTH
def test_a_late_answer_is_refused(catalog: Catalog) -> None:
    """A lease that ran out while its holder lives on: the batch is another's, and the holder's vectors are not taken."""
    catalog.put_batch(batch())
    late = taken(catalog, "slow", lease=-1.0)
    second = taken(catalog, "quick")
    assert second.token != late.token
    assert not catalog.renew_lease(late, LEASE)
    assert not catalog.give_vectors(late, b"late")
    assert not catalog.give_back(late, code="x", reason="late")
    assert catalog.give_vectors(second, b"good")
    assert not catalog.give_vectors(late, b"late")
    outcome = catalog.batch_outcome("s1", "key0")
    assert outcome is not None
    assert outcome.vectors == b"good"


@BOTH
def test_a_batch_that_was_put_anew_is_not_the_former_one(catalog: Catalog) -> None:
    """Who leased a batch that was removed and put again gives vectors for nothing."""
    catalog.put_batch(batch())
    late = taken(catalog)
    catalog.remove_batches("s1")
    catalog.put_batch(batch())
    taken(catalog, "quick")
    assert not catalog.give_vectors(late, b"late")


@BOTH
def test_what_is_renewed_is_not_another_s(catalog: Catalog) -> None:
    """A lease that was extended in time is kept."""
    catalog.put_batch(batch())
    own = taken(catalog, lease=0.5)
    assert catalog.renew_lease(own, LEASE)
    assert catalog.take_batch("other", ENCODER, LEASE) is None
    assert catalog.give_vectors(own, b"good")


@BOTH
def test_three_failures_are_enough(catalog: Catalog) -> None:
    """A batch that fails waits for another try, and after the third it has failed, with the last reason."""
    catalog.put_batch(batch())
    for left in reversed(range(TRIES)):
        assert catalog.give_back(taken(catalog), code="vector_rejected", reason=f"zero, {left} left")
    assert catalog.take_batch("w", ENCODER, LEASE) is None
    outcome = catalog.batch_outcome("s1", "key0")
    assert outcome is not None
    assert (outcome.state, outcome.code, outcome.reason) == ("failed", "vector_rejected", "zero, 0 left")
    catalog.put_batch(batch())
    assert catalog.take_batch("w", ENCODER, LEASE) is None, (
        "the next run divides it, and does not begin to count anew"
    )


@BOTH
def test_workers_that_end_count_as_tries(catalog: Catalog) -> None:
    """Texts that end their worker are tried three times, too."""
    catalog.put_batch(batch())
    for _ in range(TRIES):
        taken(catalog, lease=-1.0)
    assert catalog.take_batch("w", ENCODER, LEASE) is None
    outcome = catalog.batch_outcome("s1", "key0")
    assert outcome is not None
    assert (outcome.state, outcome.code) == ("failed", "worker_ended")


@BOTH
def test_who_is_asked_to_stop_has_not_failed(catalog: Catalog) -> None:
    """A batch that is given back by a worker that stops waits as before, however often."""
    catalog.put_batch(batch())
    for _ in range(TRIES + OUTAGES):
        assert catalog.give_back(taken(catalog))
    assert taken(catalog)


@BOTH
def test_an_encoder_that_is_away_is_no_fault_of_the_texts(catalog: Catalog) -> None:
    """Outages are counted apart; a batch that failed by them waits again when it is put again."""
    catalog.put_batch(batch())
    for _ in range(OUTAGES):
        assert catalog.give_back(taken(catalog), code="encoder_unavailable", reason="away", outage=True)
    outcome = catalog.batch_outcome("s1", "key0")
    assert outcome is not None
    assert (outcome.state, outcome.code) == ("failed", "encoder_unavailable")
    catalog.put_batch(batch())
    assert taken(catalog)


@BOTH
def test_another_encoder_s_batches_are_left_alone(catalog: Catalog) -> None:
    """A worker with another model leases nothing."""
    catalog.put_batch(batch())
    assert catalog.take_batch("w", "another|8", LEASE) is None
    assert taken(catalog)


@BOTH
def test_an_older_program_is_refused_by_name(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    """The refusal names the worker, its version, the source and the version that is needed; the batch stays."""
    catalog.put_batch(batch())
    with monkeypatch.context() as older:
        older.setattr("wenyuan.catalog.embedding_batches.PROGRAM", "0.0.9+1")
        with pytest.raises(
            CatalogVersion, match=r"worker old is of version 0\.0\.9\+1.*'s1'.*" + PROGRAM.replace("+", r"\+")
        ):
            catalog.take_batch("old", ENCODER, LEASE)
    assert taken(catalog)


@pytest.mark.parametrize(
    ("one", "other", "older"),
    [
        ("0.1.0+1", "0.1.0+1", False),
        ("0.1.0+1", "0.2.0+1", True),
        ("0.9.0+1", "0.10.0+1", True),
        ("1.0.0+2", "1.0.0+1", False),
        ("1.0.0+1", "1.0.0+2", True),
        ("", "0.1.0+1", True),
    ],
)
def test_versions_are_compared_by_their_numbers(one: str, other: str, *, older: bool) -> None:
    """Ten is more than nine, and of one version the form of batches decides."""
    assert is_older(one, other) is older


@BOTH
def test_workers_are_listed_until_they_end(catalog: Catalog, other: Catalog) -> None:
    """What one says of itself all others see; who ended, or gave no sign for a minute, is not at work."""
    catalog.note_worker(worker("a"))
    catalog.note_worker(replace(worker("b"), rate=2.5))
    assert [(one.name, one.jobs, one.rate, one.program) for one in other.workers()] == [
        ("a", 2, 1.5, PROGRAM),
        ("b", 2, 2.5, PROGRAM),
    ]
    catalog.remove_worker("a")
    assert [one.name for one in other.workers()] == ["b"]


# who may write


def _commits(catalog: Catalog) -> Any:
    return catalog.record_failure("s1", "file:///x", "unreadable", "why")


@BOTH
def test_two_masters_are_one(catalog: Catalog, other: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who lost the lock of a source without knowing it is refused at its next commit, by the name of the one that has it."""
    monkeypatch.setattr(type(other.database.place), "held_source", _unlocked)
    with catalog.taking_in("s1"):
        _commits(catalog)

        def begin() -> None:
            with other.taking_in("s1"):
                _commits(other)

        beginning = threading.Thread(target=begin)
        beginning.start()
        beginning.join()
        before = catalog.seq()
        with pytest.raises(CatalogBusy, match=r"'s1' is taken in by .* now, which began later"):
            _commits(catalog)
        assert catalog.seq() == before
    _commits(catalog)  # outside of a run there is nothing to lose


@BOTH
def test_a_source_removed_under_its_run(catalog: Catalog, other: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that goes on after its source was removed writes nothing of it, even when the source is there again."""
    monkeypatch.setattr(type(other.database.place), "held_source", _unlocked)
    with catalog.taking_in("s1"):
        catalog.put_batch(batch())

        def remove() -> None:
            other.remove_source("s1")
            other.put_source(Source(source_id="s1", path="/elsewhere"))

        removing = threading.Thread(target=remove)
        removing.start()
        removing.join()
        assert other.batch_outcome("s1", "key0") is None, "its texts are gone with it"
        with pytest.raises(CatalogBusy, match=r"'s1' was removed while it was taken in"):
            _commits(catalog)


def _unlocked(*_: Any, **__: Any) -> Any:
    """The lock of a place whose connection was lost: everybody gets it."""
    from contextlib import nullcontext

    return nullcontext()


@BOTH
def test_a_lease_made_before_the_clock_was_set_back_ends(
    catalog: Catalog, other: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lease and a sign of life that lie hours ahead are of a clock that was wrong: the batch is somebody else's at once."""
    now = [1_000_000.0]
    monkeypatch.setattr(embedding_batches, "clock", lambda _: now[0])
    catalog.put_batch(batch())
    former = taken(catalog, "elsewhere")
    catalog.note_worker(worker("elsewhere"))
    now[0] -= 10_800.0
    assert catalog.workers() == ()
    mine = taken(other, "second")
    assert mine.token != former.token
    assert not catalog.give_vectors(former, b"late")
    assert other.give_vectors(mine, b"vectors")


@BOTH
def test_what_a_worker_failed_at_is_for_another(catalog: Catalog, other: Catalog) -> None:
    """While others are at work it is not leased again by who failed at it last; alone, it is."""
    catalog.put_batch(batch())
    assert catalog.give_back(taken(catalog, "broken"), code="vector_rejected", reason="NaN")
    assert catalog.take_batch("broken", ENCODER, LEASE, others=True) is None
    found = other.take_batch("sound", ENCODER, LEASE, others=True)
    assert found is not None
    assert other.give_back(found, code="vector_rejected", reason="NaN")
    assert catalog.take_batch("sound", ENCODER, LEASE, others=True) is None
    assert catalog.take_batch("sound", ENCODER, LEASE) is not None
