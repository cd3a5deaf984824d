"""Reports that are made in the background: how far they are, their answers in pages, and what ends them."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from patience import HANGS
from wenyuan.core.errors import CatalogBusy, KnowledgeError, NotFound
from wenyuan.core.impact import ImpactedAnswer, ImpactReport
from wenyuan.service.impact.task import MOST_RUNNING, ImpactReports


class Slow:
    """What rests on something, which takes until it is allowed to end; it asks three questions again."""

    def __init__(self, answers: int = 0) -> None:
        self.go, self.begun = threading.Event(), threading.Event()
        self.answers = answers

    def of(self, target: str, *, days: float, seconds: float, progress: Any) -> ImpactReport:
        if target == "nowhere":
            raise NotFound("there is no such thing")
        progress(1, 3)
        self.begun.set()
        assert self.go.wait(HANGS)
        progress(3, 3)
        told = tuple(
            ImpactedAnswer(audit_id=f"a-{n}", at=0.0, count=1, question=str(n), agent="", task="", outcome="same")
            for n in range(self.answers)
        )
        return ImpactReport(
            target=target, answers=self.answers, resting=self.answers, same=self.answers, differs=0, unknown=0, left=0,
            agents={}, tasks={}, rules=(), examples=told, since=0.0, complete=True,
        )  # fmt: skip


def reports(slow: Slow) -> ImpactReports:
    return ImpactReports(slow)  # type: ignore[arg-type]


def test_who_asks_need_not_wait() -> None:
    """It is under way, and says how far it is; then it is there."""
    slow = Slow()
    made = reports(slow)
    begun = made.begin("x", days=1, seconds=1, wait=0)
    assert slow.begun.wait(HANGS)
    now = made.state(begun.report_id)
    assert (now.running, now.asked, now.total, now.report) == (True, 1, 3, None)
    slow.go.set()
    assert made.begin("y", days=1, seconds=1, wait=HANGS).report is not None
    done = made.state(begun.report_id, wait=HANGS)
    assert (done.running, done.asked, done.failure) == (False, 3, "")
    assert done.report is not None and done.report.target == "x"


def test_answers_are_read_in_pages() -> None:
    """Each once, in their order, until there are no more."""
    slow = Slow(answers=120)
    slow.go.set()
    done = reports(slow).begin("x", days=1, seconds=1, wait=HANGS)
    seen: list[str] = []
    after: int | None = 0
    while after is not None:
        page = done.described(after, 50)
        seen += [one["question"] for one in page["report"]["examples"]]
        after = page["next"]
    assert seen == [str(n) for n in range(120)]


def test_what_fails_says_why() -> None:
    """To who waits as an error, and to who looks later as its reason."""
    made = reports(Slow())
    with pytest.raises(NotFound):
        made.begin("nowhere", days=1, seconds=1, wait=HANGS)
    with pytest.raises(NotFound):
        made.state("none")


def test_not_more_are_made_than_the_machine_bears() -> None:
    """Further ones are refused until one has ended."""
    slow = Slow()
    made = reports(slow)
    for _ in range(MOST_RUNNING):
        made.begin("x", days=1, seconds=1, wait=0)
    with pytest.raises(CatalogBusy):
        made.begin("x", days=1, seconds=1, wait=0)
    slow.go.set()
    made.stop()
    assert issubclass(CatalogBusy, KnowledgeError)


def test_closing_ends_what_is_being_made() -> None:
    """After the question that it is at; it says that it was not finished."""
    slow = Slow()
    made = reports(slow)
    begun = made.begin("x", days=1, seconds=1, wait=0)
    assert slow.begun.wait(HANGS)
    closing = threading.Thread(target=made.stop)
    closing.start()
    slow.go.set()
    closing.join(HANGS)
    assert made.state(begun.report_id).failure in ("", "the library was closed")
    assert not made.state(begun.report_id).running
