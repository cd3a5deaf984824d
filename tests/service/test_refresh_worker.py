"""Refreshing sources: when they are due, what is written down, and several workers at one library."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wenyuan
from wenyuan.core.cycles import parse_cycle
from wenyuan.core.errors import CatalogBusy, CatalogUnavailable, EngineUnavailable, NotPermitted
from wenyuan.core.model import Source
from wenyuan.core.sources import SourceState
from wenyuan.runtime.processes import has_ended, own_name
from wenyuan.service.operations.freshness import describe_state, due_at, next_due, stale_since
from wenyuan.service.operations.refresh import RefreshOutcome, Worker, retry_delay

DAY = 86_400.0


class Clock:
    """A clock that is put forward by hand; the catalog's own runs in real time, so it only ever runs ahead."""

    def __init__(self) -> None:
        self.now = float(int(time.time()))  # whole seconds: sums are exact

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    for name in ("a", "b", "c"):
        (folder / f"{name}.md").write_text(f"# Part {name}\n\nText of {name}.\n")
    return folder


@pytest.fixture
def worker(library: Any, clock: Clock, docs: Path) -> Worker:
    """A worker at a library whose source ``docs`` is refreshed every day."""
    library.catalog.put_source(Source(source_id="docs", path=str(docs), refresh_cycle="daily"))
    return Worker(library, clock=clock)


def state(library: Any, source_id: str = "docs") -> SourceState:
    found: SourceState = library.catalog.source_states()[source_id]
    return found


def due(worker: Worker) -> list[str]:
    return [source.source_id for source in worker.due()]


# -- when -------------------------------------------------------------------------------------------------


def test_a_new_source_with_a_cycle_is_due_at_once(library: Any, worker: Worker, docs: Path) -> None:
    """A source that was never read is due; one that is never refreshed, and one that is retired, is not."""
    library.catalog.put_source(Source(source_id="still", path=str(docs)))
    library.catalog.put_source(Source(source_id="old", path=str(docs), refresh_cycle="daily", status="retired"))
    assert due(worker) == ["docs"]


def test_a_refreshed_source_is_due_by_its_cycle(library: Any, worker: Worker, clock: Clock) -> None:
    """After a success the next refresh is a day later, not before; what did not change is not read again."""
    begun = clock.now
    (outcome,) = worker.run_once()
    assert outcome.report
    assert (outcome.report.added, outcome.failure, outcome.next_refresh) == (3, "", begun + DAY)
    assert replace(state(library), next_refresh=None) == SourceState(source_id="docs", last_success=begun)
    clock.now = begun + DAY - 1
    assert worker.run_once() == []
    clock.now = begun + DAY
    (again,) = worker.run_once()
    assert again.report
    assert (again.report.unchanged, again.report.embedded) == (3, 0)


def test_only_what_changed_is_read_and_embedded(worker: Worker, clock: Clock, docs: Path) -> None:
    """Of three documents one changed and one went: one is embedded, one retired."""
    worker.run_once()
    (docs / "a.md").write_text("# Part a\n\nAnother text.\n")
    (docs / "b.md").unlink()
    clock.now += DAY
    report = worker.run_once()[0].report
    assert report
    assert (report.changed, report.embedded, report.retired, report.unchanged) == (1, 1, 1, 1)


def test_a_cron_line_means_the_local_time(
    library: Any, worker: Worker, clock: Clock, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``30 2 * * *`` comes up at half past two of this machine's clock."""
    monkeypatch.setenv("TZ", "Asia/Shanghai")
    time.tzset()
    try:
        library.catalog.put_source(Source(source_id="docs", path=str(docs), refresh_cycle="30 2 * * *"))
        upcoming = worker.refresh("docs").next_refresh
    finally:
        monkeypatch.undo()
        time.tzset()
    assert upcoming
    assert datetime.fromtimestamp(upcoming, UTC).strftime("%H:%M") == "18:30"
    assert 0 < upcoming - clock.now <= DAY


@pytest.mark.parametrize(
    ("cycle", "last", "then"),
    [
        ("30 2 * * *", "2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"),
        ("0 12 * * 1-5", "2026-10-23T12:00:00+02:00", "2026-10-26T12:00:00+01:00"),
        ("0 12 * * 1-5", "2026-03-27T12:00:00+01:00", "2026-03-30T12:00:00+02:00"),
        (
            "30 2 * * *",
            "2026-03-28T02:30:00+01:00",
            "2026-03-29T03:00:00+02:00",
        ),  # half past two is left out that day
        ("0 * * * *", "2026-10-25T02:00:00+02:00", "2026-10-25T02:00:00+01:00"),
        ("daily", "2026-03-28T12:00:00+01:00", "2026-03-29T12:00:00+02:00"),
        ("monthly", "2026-03-01T12:00:00+01:00", "2026-04-01T12:00:00+02:00"),
        ("PT24H", "2026-03-28T12:00:00+01:00", "2026-03-29T13:00:00+02:00"),
    ],
)
def test_the_hour_changes(monkeypatch: pytest.MonkeyPatch, cycle: str, last: str, then: str) -> None:
    """What comes up at twelve comes up at twelve after the clocks were changed, too, by this machine's zone."""
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    try:
        upcoming = next_due(parse_cycle(cycle), datetime.fromisoformat(last).timestamp())
    finally:
        monkeypatch.undo()
        time.tzset()
    assert upcoming == datetime.fromisoformat(then).timestamp()


def test_another_cycle_counts_at_once(library: Any, worker: Worker, clock: Clock, docs: Path) -> None:
    """A source whose cycle was a day and is an hour now is due an hour after its last success."""
    worker.run_once()
    library.catalog.put_source(Source(source_id="docs", path=str(docs), refresh_cycle="PT1H"))
    clock.now += 3_599
    assert due(worker) == []
    clock.now += 1
    assert due(worker) == ["docs"]
    library.catalog.put_source(Source(source_id="docs", path=str(docs), refresh_cycle="从不"))
    assert due(worker) == []


def test_the_longest_overdue_is_first(library: Any, worker: Worker, clock: Clock, docs: Path) -> None:
    """New sources come before all, then those that wait the longest."""
    worker.run_once()
    clock.now += 60
    library.catalog.put_source(Source(source_id="a_later", path=str(docs), refresh_cycle="daily"))
    worker.run_once()
    library.catalog.put_source(Source(source_id="new", path=str(docs), refresh_cycle="daily"))
    clock.now += 2 * DAY
    assert due(worker) == ["new", "docs", "a_later"]


# -- failures ---------------------------------------------------------------------------------------------


def test_a_failure_is_written_down_and_tried_again(library: Any, worker: Worker, clock: Clock, docs: Path) -> None:
    """A folder that is gone is a failure with its reason; it is tried again later and later; success ends it."""
    worker.run_once()
    begun = clock.now
    docs.rename(docs.with_name("moved"))
    clock.now += DAY
    waits = []
    for count in (1, 2, 3):
        (outcome,) = worker.run_once()
        assert "there is no file or folder" in outcome.failure
        found = state(library)
        assert (found.failures, found.failure, found.last_failure) == (count, outcome.failure, clock.now)
        assert found.last_success == begun
        assert found.next_refresh
        assert found.next_refresh == outcome.next_refresh
        waits.append(found.next_refresh - clock.now)
        clock.now = found.next_refresh - 1
        assert due(worker) == []
        clock.now += 1
    assert 45 <= waits[0] <= 60
    assert 90 <= waits[1] <= 120
    assert 180 <= waits[2] <= 240
    docs.with_name("moved").rename(docs)
    (outcome,) = worker.run_once()
    found = state(library)
    assert (outcome.failure, found.failure, found.failures, found.last_success) == ("", "", 0, clock.now)


@given(st.text(max_size=20), st.integers(1, 10_000))
def test_the_delay_grows_to_a_bound(source_id: str, failures: int) -> None:
    """Each delay is from 45 seconds to 6 hours, the same every time, and at least 1.5 times the one before."""
    delay = retry_delay(source_id, failures)
    assert 45 <= delay <= 6 * 3_600
    assert delay == retry_delay(source_id, failures)
    if failures < 8:
        assert retry_delay(source_id, failures + 1) >= 1.5 * delay


def test_sources_that_failed_together_are_not_tried_together() -> None:
    """The delays of ten sources differ."""
    assert len({retry_delay(f"source{n}", 1) for n in range(10)}) == 10


def test_one_failure_keeps_no_other_source_from_it(library: Any, worker: Worker, tmp_path: Path) -> None:
    """A source that fails comes first; the others are refreshed all the same."""
    library.catalog.put_source(Source(source_id="a_gone", path=str(tmp_path / "gone"), refresh_cycle="daily"))
    told: list[RefreshOutcome] = []
    outcomes = worker.run_once(tell=told.append)
    assert [(o.source_id, bool(o.failure)) for o in outcomes] == [("a_gone", True), ("docs", False)]
    assert told == outcomes


def test_a_source_of_which_nothing_can_be_read_failed(library: Any, worker: Worker, docs: Path, clock: Clock) -> None:
    """All documents broken is a failure; one that is still readable makes it a success with failed documents."""
    for name in ("a", "b", "c"):
        (docs / f"{name}.md").write_text(" \n")
    assert "nothing could be taken in" in worker.run_once()[0].failure
    (docs / "a.md").write_text("# Again\n\nReadable.\n")
    outcome = worker.refresh("docs")
    assert outcome.failure == ""
    assert outcome.report
    assert len(outcome.report.failed) == 2


def test_what_is_held_back_is_said(worker: Worker, clock: Clock, docs: Path, caplog: Any) -> None:
    """Documents that stay since they may be in a file that failed are counted and logged, with the file."""
    (docs / "faq.jsonl").write_text('{"url": "http://x/1", "text": "Torque."}\n')
    worker.run_once()
    (docs / "faq.jsonl").write_text("")
    (docs / "a.md").unlink()
    clock.now += DAY
    (outcome,) = worker.run_once()
    assert outcome.report
    assert (outcome.failure, outcome.report.retired, outcome.report.held_back) == ("", 1, 1)
    assert "1 documents were not met and are held back" in caplog.text
    assert "faq.jsonl" in caplog.text


def test_an_error_that_nobody_expected_is_a_failure_too(library: Any, worker: Worker, caplog: Any) -> None:
    """A crash inside is recorded by its type and logged with its traceback; the claim is let go."""

    def crash(_: Any) -> None:
        raise ZeroDivisionError("secret")

    with caplog.at_level(logging.ERROR):
        outcome = worker.refresh("docs", crash)
    assert outcome.failure == "internal error: ZeroDivisionError"
    assert "ZeroDivisionError" in caplog.text
    assert (state(library).failures, state(library).claimed_by) == (1, "")


def test_a_cycle_that_says_nothing_is_a_failure(library: Any, worker: Worker, clock: Clock, docs: Path) -> None:
    """A source whose stored cycle cannot be understood is reported, not passed over; not at every look."""
    library.catalog.put_source(Source(source_id="docs", path=str(docs), refresh_cycle="dialy"))
    (outcome,) = worker.run_once()
    assert "did you mean 'daily'?" in outcome.failure
    assert worker.run_once() == []
    described = describe_state(state(library), library.catalog.source("docs"), clock.now)
    assert described["reason"] == outcome.failure
    assert describe_state(None, library.catalog.source("docs"), 0.0)["reason"]


# -- sources that are searched elsewhere --------------------------------------------------------------------


def test_an_outside_source_is_asked_not_taken_in(library: Any, clock: Clock) -> None:
    """Refreshing an api source asks it whether it answers, and writes down what came of that."""
    library.catalog.put_source(Source(source_id="far", type="api", refresh_cycle="PT1H", path="/"))
    asked = []
    worker = Worker(library, clock=clock, ask=lambda source: asked.append(source.source_id))
    (outcome,) = worker.run_once()
    assert (asked, outcome.failure, outcome.report) == (["far"], "", None)
    assert outcome.next_refresh == clock.now + 3_600
    assert library.catalog.counts()["documents"] == 0

    def silent(source: Source) -> None:
        raise EngineUnavailable("it did not answer", component=f"source {source.source_id}")

    assert Worker(library, clock=clock, ask=silent).refresh("far").failure == "source far: it did not answer"
    assert state(library, "far").failures == 1


def test_an_outside_source_that_cannot_be_reached_is_a_failure(library: Any, clock: Clock) -> None:
    """Without another way to ask, a question goes to that source; nobody there is a failure."""
    library.catalog.put_source(
        Source(source_id="far", type="api", refresh_cycle="PT1H", settings={"url": "http://127.0.0.1:9/"})
    )
    (outcome,) = Worker(library, clock=clock).run_once()
    assert "far" in outcome.failure
    library.catalog.put_source(Source(source_id="far", type="api", refresh_cycle="PT1H", status="draft"))
    clock.now += DAY
    assert Worker(library, clock=clock).due() == ()


# -- how a source is doing --------------------------------------------------------------------------------


def test_stale_means_overdue() -> None:
    """What is held is stale from the moment at which it should have been read again."""
    daily, never = parse_cycle("daily"), parse_cycle("never")
    fresh = SourceState(source_id="a", last_success=1_000_000.0)
    assert stale_since(fresh, daily, 1_000_000.0 + DAY) is None
    assert stale_since(fresh, daily, 1_000_000.0 + DAY + 1) == 1_000_000.0 + DAY
    assert stale_since(replace(fresh, failures=3, next_refresh=9e9), daily, 3e6) == 1_000_000.0 + DAY
    assert stale_since(fresh, never, 9e9) is None
    assert stale_since(None, daily, 9e9) is None
    assert stale_since(SourceState(source_id="a", last_failure=5.0, failures=1), daily, 9e9) == 5.0


@pytest.mark.parametrize("fails", [False, True])
def test_what_a_wrong_clock_wrote(library: Any, worker: Worker, clock: Clock, docs: Path, fails: bool) -> None:
    """A refresh that was made a year ahead is made again at once, and until then it is stale; minutes ahead is no fault."""
    daily, right = parse_cycle("daily"), clock.now
    clock.now += 365 * DAY
    texts = {file: file.read_text() for file in docs.iterdir()}
    for file in texts if fails else ():
        file.write_text(" \n")
    (outcome,) = worker.run_once()
    assert bool(outcome.failure) == fails
    clock.now = right
    for file, text in texts.items():
        file.write_text(text)
    assert due(worker) == ["docs"]
    assert fails or stale_since(state(library), daily, right) == right
    assert [again.failure for again in worker.run_once()] == [""]
    assert (state(library).last_success, due(worker)) == (right, [])
    assert stale_since(state(library), daily, right) is None
    near = SourceState(source_id="a", last_success=right + 60)
    assert (stale_since(near, daily, right), due_at(near, daily, right)) == (None, right + 60 + DAY)


@given(st.floats(0, 4e9), st.sampled_from(["hourly", "P1W", "monthly", "0 3 * * 1"]), st.floats(0, 4e7))
def test_what_is_stale_is_due_or_waits_to_be_tried_again(success: float, cycle: str, later: float) -> None:
    """A source without failures is stale exactly when it was due before now."""
    found, now = SourceState(source_id="a", last_success=success), success + later
    at = due_at(found, parse_cycle(cycle), now)
    assert at is not None
    assert at > success
    assert (stale_since(found, parse_cycle(cycle), now) is not None) == (at < now)


def test_a_state_is_described_in_iso(library: Any, worker: Worker, clock: Clock) -> None:
    """Moments are ISO 8601 in UTC; what is new is due now; a source at work names its worker."""
    source = library.catalog.source("docs")
    clock.now = datetime(2046, 5, 1, 12, tzinfo=UTC).timestamp()
    assert describe_state(None, source, clock.now) == {
        "last_success": None, "last_failure": None, "reason": "", "failures_in_a_row": 0,
        "next_refresh": "2046-05-01T12:00:00+00:00", "stale_since": None, "refreshing": "",
    }  # fmt: skip
    worker.run_once()
    later = clock.now + 2 * DAY
    described = describe_state(state(library), source, later)
    assert described["last_success"] == "2046-05-01T12:00:00+00:00"
    assert described["next_refresh"] == described["stale_since"] == "2046-05-02T12:00:00+00:00"
    library.catalog.claim_source("docs", "w7", later + 10)
    assert describe_state(state(library), source, later)["refreshing"] == "w7"
    assert describe_state(state(library), source, later + 11)["refreshing"] == ""
    never = replace(source, refresh_cycle="never")
    assert describe_state(state(library), never, later)["next_refresh"] is None


# -- claims -----------------------------------------------------------------------------------------------


def test_a_claimed_source_is_left_to_its_worker(library: Any, worker: Worker, clock: Clock) -> None:
    """While another worker has a source it is not due, and asking for it by name says who is at it."""
    assert library.catalog.claim_source("docs", "other", clock.now + 60)
    assert due(worker) == []
    assert worker.run_once() == []
    with pytest.raises(CatalogBusy, match="is being refreshed by other"):
        worker.refresh("docs")
    worker.record("docs", clock.now)
    assert state(library) == SourceState(source_id="docs", claimed_by="other", claimed_until=clock.now + 60)


def test_a_claim_that_ran_out_counts_no_more(library: Any, worker: Worker, clock: Clock) -> None:
    """What a dead worker claimed is due again when its claim has run out."""
    library.catalog.claim_source("docs", "dead", clock.now - 1)
    assert [outcome.source_id for outcome in worker.run_once()] == ["docs"]
    assert state(library).claimed_by == ""


@pytest.mark.parametrize("ahead", [3600, 365 * DAY])
def test_a_claim_of_a_wrong_clock_counts_no_more(library: Any, worker: Worker, clock: Clock, ahead: float) -> None:
    """A worker whose clock ran ahead and that died with a claim keeps nobody from the source until that moment comes."""
    assert library.catalog.claim_source("docs", "dead", clock.now + ahead)
    described = describe_state(state(library), library.catalog.source("docs"), clock.now)
    assert (due(worker), described["refreshing"]) == (["docs"], "")
    assert [outcome.failure for outcome in worker.run_once()] == [""]
    assert library.catalog.claim_source("docs", "dead", clock.now + ahead)
    assert not worker.refresh("docs").failure


def test_what_was_done_in_the_meantime_is_not_done_again(library: Any, worker: Worker, clock: Clock) -> None:
    """A worker that saw a source due, and gets it only after another has refreshed it, leaves it."""
    other = Worker(library, clock=clock)
    seen = worker.due()
    other.run_once()
    worker.due = lambda: seen  # type: ignore[method-assign]
    assert worker.run_once() == []
    assert state(library).claimed_by == ""


def test_a_claim_is_renewed_while_work_goes_on(library: Any, worker: Worker, clock: Clock) -> None:
    """Each sign of progress after a third of the lease puts the end of the claim off."""
    until = []

    def slow(_: Any) -> None:
        clock.now += 200
        until.append(state(library).claimed_until)

    begun = clock.now
    worker.refresh("docs", slow)
    assert until[0] == begun + 300
    assert all(late is not None and late > begun + 300 for late in until[1:])
    assert until == sorted(until, key=lambda at: at or 0.0)
    assert len(set(until)) == len(until) > 3


def test_a_claim_that_was_taken_over_ends_the_work(library: Any, worker: Worker, clock: Clock) -> None:
    """A worker that finds its source with another stops, and does not overwrite what that one writes."""
    theirs = SourceState(source_id="docs", claimed_by="other", claimed_until=clock.now + 500)

    def stolen(_: Any) -> None:
        library.catalog.put_source_state(theirs)
        clock.now += 200

    with pytest.raises(CatalogBusy, match="taken over"):
        worker.refresh("docs", stolen)
    assert state(library) == theirs


def test_what_is_with_another_at_the_end_is_left_to_that_one(library: Any, worker: Worker, clock: Clock) -> None:
    """A worker that finishes after its source went to another, or was removed, writes nothing of it."""
    theirs = SourceState(source_id="docs", claimed_by="other", claimed_until=clock.now + 500)
    assert worker.refresh("docs", lambda _: library.catalog.put_source_state(theirs)).next_refresh is None
    assert state(library) == theirs


def test_an_unfinished_refresh_stays_due(library: Any, worker: Worker) -> None:
    """Interrupted by Ctrl-C, nothing is written down and the claim is let go."""

    def interrupt(_: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        worker.refresh("docs", interrupt)
    assert state(library) == SourceState(source_id="docs")
    assert due(worker) == ["docs"]


class After(threading.Event):
    """An event that is set when it has been looked at some times."""

    def __init__(self, looks: int) -> None:
        super().__init__()
        self.looks = looks

    def is_set(self) -> bool:
        self.looks -= 1
        return self.looks < 0


def test_a_stop_ends_after_the_document_at_hand(library: Any, worker: Worker) -> None:
    """Asked to stop in the middle of a source, a worker lets go of it; it stays due, and nothing failed."""
    assert worker.run_once(After(3)) == []
    assert state(library) == SourceState(source_id="docs")
    assert worker.run_once(After(0)) == []
    assert [outcome.failure for outcome in worker.run_once(After(100))] == [""]


def test_a_source_that_was_removed_meanwhile_is_no_failure(library: Any, worker: Worker) -> None:
    """Between the look and the work a source may be removed; the others go on."""
    seen = worker.due()
    library.remove("docs")
    worker.due = lambda: seen  # type: ignore[method-assign]
    assert worker.run_once() == []
    with pytest.raises(NotPermitted):
        worker.refresh("docs")


def test_a_refresh_by_hand_is_written_down(library: Any, worker: Worker, clock: Clock) -> None:
    """What was taken in without a worker can be recorded: then it is not due."""
    library.ingest("docs")
    worker.record("docs", clock.now)
    assert (state(library).last_success, due(worker)) == (clock.now, [])
    worker.record("docs", clock.now, "the disk is gone")
    assert (state(library).failure, state(library).failures) == ("the disk is gone", 1)


# -- a worker that goes on ----------------------------------------------------------------------------------


def test_a_worker_goes_on_until_it_is_stopped(library: Any, worker: Worker, clock: Clock) -> None:
    """It refreshes what is due at each look, and ends soon after it was asked to."""
    stop = threading.Event()
    seen: list[RefreshOutcome] = []

    def tell(outcome: RefreshOutcome) -> None:
        seen.append(outcome)
        clock.now += DAY
        if len(seen) == 3:
            stop.set()

    thread = threading.Thread(target=worker.run_forever, args=(stop, 0.01, tell))
    thread.start()
    thread.join(60)
    assert not thread.is_alive()
    assert [outcome.source_id for outcome in seen] == ["docs"] * 3


def test_a_worker_outlives_a_catalog_that_fails(worker: Worker, caplog: Any) -> None:
    """When the catalog cannot be read a look fails; that is logged, and the next look works."""
    stop = threading.Event()
    looks = []
    real = worker.due

    def failing() -> tuple[Source, ...]:
        looks.append(1)
        if len(looks) == 1:
            raise CatalogUnavailable("disk I/O error", component="catalog")
        return real()

    worker.due = failing  # type: ignore[method-assign]
    worker.run_forever(stop, 0.01, lambda _: stop.set())
    assert len(looks) == 2
    assert "disk I/O error" in caplog.text


# -- several processes --------------------------------------------------------------------------------------

CHILD = """
import os, sys, time
import wenyuan
from wenyuan.service.operations.refresh import Worker

folder, log, mode = sys.argv[1:]
out = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

def note(what, source):
    os.write(out, f"{what} {source} {os.getpid()}\\n".encode())

with wenyuan.open(folder, encoder={"kind": "hashing"}) as library:
    worker = Worker(library, lease=300 if mode == "hang" else 1.5)
    take_in = library.ingest
    def ingest(source_id, progress=None):
        note("begin", source_id)
        def slow(at):
            progress(at)
            time.sleep(0.01)
            if mode == "hang":
                print("hanging", flush=True)
                time.sleep(600)
        report = take_in(source_id, slow)
        note("end", source_id)
        return report
    library.ingest = ingest
    print("ready", flush=True)
    sys.stdin.readline()
    until = time.monotonic() + 60
    while worker.due() and time.monotonic() < until:
        worker.run_once()
        time.sleep(0.02)
"""


def child(folder: Path, log: Path, mode: str = "run") -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(folder), str(log), mode],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.fixture
def shared(tmp_path: Path, docs: Path) -> Iterator[Path]:
    """A library with four sources that are all due."""
    folder = tmp_path / "shared"
    with wenyuan.open(folder, create=True, encoder={"kind": "hashing"}) as library:
        for number in range(4):
            library.catalog.put_source(Source(source_id=f"s{number}", path=str(docs), refresh_cycle="daily"))
    yield folder


@pytest.mark.slow
@pytest.mark.integration
def test_two_processes_never_do_one_job_twice(shared: Path, tmp_path: Path) -> None:
    """Of two processes that look at the same time, each source is refreshed by exactly one, once."""
    log = tmp_path / "log"
    both = [child(shared, log) for _ in range(2)]
    for process in both:
        assert process.stdin
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in both:
        process.communicate(timeout=60)
        assert process.returncode == 0
    lines = [line.split() for line in log.read_text().splitlines()]
    assert sorted(source for what, source, _ in lines if what == "begin") == [f"s{n}" for n in range(4)]
    assert sorted(source for what, source, _ in lines if what == "end") == [f"s{n}" for n in range(4)]
    with wenyuan.open(shared, encoder={"kind": "hashing"}) as library:
        states = library.catalog.source_states()  # type: ignore[attr-defined]
        assert all(s.last_success and not s.claimed_by and not s.failure for s in states.values())
        assert library.catalog.counts()["documents"] == 12


@pytest.mark.slow
@pytest.mark.integration
def test_the_work_of_a_killed_worker_is_taken_over(shared: Path, tmp_path: Path) -> None:
    """A worker that dies with a claim keeps nobody of its machine from its source, however long it had claimed it for."""
    process = child(shared, tmp_path / "log", "hang")
    with process:
        assert process.stdin
        assert process.stdout
        process.stdin.write("go\n")
        process.stdin.flush()
        assert process.stdout.readline() == "hanging\n"
        with wenyuan.open(shared, encoder={"kind": "hashing"}) as library:
            assert "s0" not in due(Worker(library))
        os.kill(process.pid, signal.SIGKILL)
    with wenyuan.open(shared, encoder={"kind": "hashing"}) as library:
        worker = Worker(library)
        assert "s0" in due(worker)
        outcomes = worker.run_once()
        assert {outcome.source_id for outcome in outcomes} == {f"s{n}" for n in range(4)}
        assert not any(outcome.failure for outcome in outcomes)


@pytest.mark.parametrize("lock", ["writer.lock", "commit.lock"])
def test_a_library_that_is_being_written_is_left_for_later(
    library: Any, worker: Worker, lock: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While another process takes a source in, or writes, nothing is refreshed, and nothing counts as failed."""
    from wenyuan.catalog.locks import WriterLock

    held = library.catalog.database.place.held_source
    monkeypatch.setattr(library.catalog, "taking_in", lambda source_id: held(source_id, wait=0.1))
    with WriterLock(library.folder / lock).held():
        assert worker.run_once() == []
    assert [(one.failures, one.claimed_by) for one in library.catalog.source_states().values()] in ([], [(0, "")])
    assert [outcome.failure for outcome in worker.run_once()] == [""]


def test_an_interrupt_before_the_work_begins_leaves_no_claim(library: Any, worker: Worker) -> None:
    """Ctrl-C that comes when a source is claimed and its reading has not begun lets go of it."""

    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    worker._work = interrupted  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        worker.refresh("docs")
    assert state(library).claimed_by == ""


def test_what_is_told_of_another_process() -> None:
    """A name tells of its process that it has ended, also as a zombie and when its number was given again; never of another machine's."""
    mine = own_name(1)
    host, pid, begun, number = mine.rsplit("-", 3)
    assert not has_ended(mine)
    assert has_ended(f"{host}-{pid}-9{begun}-{number}")
    assert not has_ended(f"elsewhere-{pid}-9{begun}-{number}")
    assert not has_ended(f"{host}-{pid}-9{begun}7-{number}")  # in another container
    for name in ("", "w7", "a-b-c", f"{host}-x-{begun}-1", f"{host}-{pid}-7f00"):
        assert not has_ended(name)
    code = "from wenyuan.runtime.processes import own_name; print(own_name(2), flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout
        name = child.stdout.readline().strip()
        assert not has_ended(name)
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert has_ended(name)  # nobody has asked how it ended
    assert has_ended(name)


def test_the_names_of_workers_differ(library: Any) -> None:
    """Two workers of one process claim in different names."""
    first, second = Worker(library), Worker(library)
    assert first.name != second.name
    assert str(os.getpid()) in first.name


def test_a_day_is_a_day_in_utc_terms() -> None:
    """`due_at` of a daily cycle is 24 hours after the success where the clocks are not changed."""
    success = datetime(2046, 1, 5, 3, tzinfo=UTC)
    found = SourceState(source_id="a", last_success=success.timestamp())
    assert due_at(found, parse_cycle("P1D"), success.timestamp()) == (success + timedelta(days=1)).timestamp()
