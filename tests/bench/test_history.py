"""The comparison of answers with a history of changes: what it lets pass, and what it finds."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "bench"))  # behind: it has modules of the names of tests/support

from history import Answered, History, common, gone_back, unexplained

DOCUMENT = ("document", "s", 1)
KEY, SCOPE = ("key", "k"), ("scope", "a")


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, which tests set."""
    held = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: held[0])
    return held


@pytest.fixture
def history(now: list[float]) -> History:
    """A key and a scope since the beginning; a document whose second version came between 10 and 12, and whose end began at 20."""
    made = History()
    made.begin({KEY: True, SCOPE: ("s",), DOCUMENT: 1})
    made.acknowledged([KEY, SCOPE, DOCUMENT])
    now[0] = 10.0
    made.begin({DOCUMENT: 2})
    now[0] = 12.0
    made.acknowledged([DOCUMENT])
    now[0] = 20.0
    made.begin({DOCUMENT: None})
    return made


def asked(
    begun: float, ended: float, version: int | None, *, refused: bool = False, stale_by: float = 0.0
) -> Answered:
    documents = {} if refused else {("s", 1): version}
    return Answered(
        begun=begun, ended=ended, server=0, key=KEY, scope=SCOPE, refused=refused, documents=documents, stale_by=stale_by
    )  # fmt: skip


@pytest.mark.parametrize(
    ("begun", "ended", "version", "explained"),
    [
        (1, 2, 1, True), (1, 2, 2, False), (1, 2, None, False), (9, 11, 2, True), (11, 13, 1, True),
        (13, 14, 1, False), (13, 14, 2, True), (21, 22, 2, True), (21, 22, None, True), (21, 22, 1, False),
    ],
)  # fmt: skip
def test_an_answer_is_explained_by_a_moment(
    history: History, begun: float, ended: float, version: int | None, *, explained: bool
) -> None:
    """While a change is under way both states count, after it the new one alone; what was cut off may be either."""
    assert (unexplained(history, asked(begun, ended, version)) == "") == explained


def test_what_is_behind_and_says_so(history: History) -> None:
    """A document that is missing right after its change passes where the answer says how far it is behind."""
    assert unexplained(history, asked(13, 14, None))
    assert not unexplained(history, asked(13, 14, None, stale_by=1.5))
    assert unexplained(history, asked(17, 18, None, stale_by=1.5))


def test_rights_count_at_once(history: History, now: list[float]) -> None:
    """A key that was revoked, and a source that was taken out of the scope, are found in any later answer."""
    now[0] = 14.0
    history.begin({KEY: False, SCOPE: ("other",)})
    now[0] = 15.0
    history.acknowledged([KEY, SCOPE])
    assert not unexplained(history, asked(14, 16, 2))
    assert not unexplained(history, asked(16, 17, None, refused=True))
    assert "key" in unexplained(history, asked(16, 17, 2))
    assert "key" in unexplained(history, asked(3, 4, None, refused=True))


def test_all_of_an_answer_is_of_one_moment(history: History, now: list[float]) -> None:
    """An older version beside a later one of another document, which were never there at once, is found."""
    other = ("document", "s", 2)
    now[0] = 15.0
    history.begin({other: 7})
    now[0] = 16.0
    history.acknowledged([other])
    both = Answered(begun=9, ended=17, server=0, key=KEY, scope=SCOPE, documents={("s", 1): 1, ("s", 2): 7})
    assert unexplained(history, both)


def test_nobody_goes_back() -> None:
    """A question that begins when another has ended does not get an older version."""
    assert not gone_back([asked(1, 2, 1), asked(3, 4, 2), asked(3.5, 5, 2)])
    assert not gone_back([asked(1, 4, 2), asked(3, 5, 1)])
    assert gone_back([asked(1, 2, 2), asked(3, 4, 1)]) == ["('s', 1): version 1 after 2"]


def test_times_that_are_common() -> None:
    """Spans that meet are one."""
    assert common([(0, 5), (4, 9)], [(1, 2), (3, 8)]) == [(1, 2), (3, 8)]
    assert common([(0, 1)], [(2, 3)]) == []
