"""What was read of the audit for one look at the gaps is kept for the next, and never says anything else than a fresh look."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wenyuan
from wenyuan.core.access import Agent, DomainScope, Principal
from wenyuan.core.model import Source
from wenyuan.service.gaps import remembered_questions
from wenyuan.service.gaps.grouped_questions import GroupedQuestions
from wenyuan.service.gaps.remembered_questions import RememberedQuestions
from wenyuan.service.search.searcher import SearchRequest

LEAVE = "# 休假制度\n\n员工工作满一年后，每年享有五天带薪年假。\n"


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Any]:
    """A library about leave, asked by an agent."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "leave.md").write_text(LEAVE, "utf-8")
    with wenyuan.create(tmp_path / "library") as library:
        library.add(Source(source_id="rules", path=str(tmp_path / "docs")))
        library.catalog.put_agent(Agent(agent_id="desk", knowledge_scope=(DomainScope(domain="rules"),)))
        yield library


def fresh(library: Any) -> Any:
    """What somebody finds who has never looked."""
    return library.gaps.__class__(
        catalog=library.catalog, recorder=library.recorder, encoder=library.encoder, recorded=library.gaps.recorded
    ).find()


def test_a_second_look_says_what_a_first_one_says(house: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """After each question, an answered one, one asked again in other words, a bad mark and a failure of nobody's: the same."""
    monkeypatch.setattr(remembered_questions, "_OPEN", 2)  # so that questions are settled after a few
    for number, text in enumerate(
        [
            "食堂几点开门",
            "食堂几点开",
            "年假有几天",
            "宇航服在哪里领",
            "年假多少天",
            "宇航服在哪领取",
            "车位怎么申请",
            "食堂几点开门",
        ]
    ):
        found = house.find(
            SearchRequest(query=text, agent_id="desk" if number % 2 else None), Principal(key_id=f"k{number % 3}")
        )
        if number == 4 and found.passages:
            house.give_feedback(next(iter(found.audit_ids)), bad=["1"])
        assert house.gaps.find().gaps == fresh(house).gaps
    assert house.gaps.find().questions == 8


def test_what_is_erased_is_not_remembered(house: Any) -> None:
    """A query that is erased between two looks is shown as the audit has it now, by its masked beginning."""
    text = "员工食堂的电话是不是13812345678，几点开门，周末开不开，外来的客人能不能进去吃饭，饭卡丢了去哪里补办呢，急等回复谢谢"
    house.find(SearchRequest(query=text))
    (gap,) = house.gaps.find().gaps
    assert "13812345678" not in gap.question and "饭卡丢了" in gap.question
    house.audit.erase_queries(audit_ids=gap.audit_ids)
    (gap,) = house.gaps.find().gaps
    assert "13812345678" not in gap.question and gap.question == fresh(house).gaps[0].question
    assert house.gaps.ask_again() == (), "nobody knows the question any more"


def test_what_expired_is_not_remembered(house: Any) -> None:
    """Records that retention cut off are gone from the next look."""
    house.find(SearchRequest(query="食堂几点开门"))
    house.find(SearchRequest(query="车位怎么申请"))
    first, second = sorted(house.gaps.find().gaps, key=lambda gap: gap.first_at)
    assert (first.question, second.question) == ("食堂几点开门", "车位怎么申请")
    house.audit.expire(second.first_at, early=True)
    assert [gap.question for gap in house.gaps.find().gaps] == ["车位怎么申请"]


def test_only_the_newest_are_held(house: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many there are, no more are held than is said, and the report says since when it has read."""
    monkeypatch.setattr(remembered_questions, "_OPEN", 2)
    memory = RememberedQuestions(10)
    for number in range(12):
        house.find(SearchRequest(query=f"食堂几点开门{number}"))
    first = memory.read(house.audit, 0.0)
    assert (len(first.questions), first.complete) == (10, False)
    assert first.since == first.questions[0].at
    for number in range(12, 30):
        house.find(SearchRequest(query=f"食堂几点开门{number}"))
        later = memory.read(house.audit, 0.0)
    assert len(later.questions) <= 15 and later.questions[-1].text == "食堂几点开门29"
    assert (later.complete, later.since) == (False, later.questions[0].at)
    assert memory.read(house.audit, later.questions[3].at).complete


def test_a_longer_time_is_read_anew(house: Any) -> None:
    """Who asks for more days than before gets them, and the shorter time again what is in it."""
    house.audit.clock = lambda: time.time() - 10 * 86_400.0
    house.find(SearchRequest(query="食堂几点开门"))
    house.audit.flush()
    house.audit.clock = time.time
    house.find(SearchRequest(query="车位怎么申请"))
    seen = [{gap.question for gap in house.gaps.find(days=days).gaps} for days in (5, 20, 5)]
    assert seen == [{"车位怎么申请"}, {"食堂几点开门", "车位怎么申请"}, {"车位怎么申请"}]


def test_new_questions_alone_are_compared() -> None:
    """Vectors are made of what is new; where too many have gathered, of the newest anew."""
    made: list[list[str]] = []

    def vectors(texts: Any) -> Any:
        made.append(list(texts))
        return np.eye(26, dtype=np.float32)[[ord(text[0]) - ord("a") for text in texts]]

    groups = GroupedQuestions(3)
    first = groups.numbers({"1": "a", "2": "b"}, vectors)
    then = groups.numbers({"1": "a", "2": "b", "3": "aa"}, vectors)
    assert (then["1"], then["2"], then["3"]) == (first["1"], first["2"], first["1"])
    assert made == [["a", "b"], ["aa"]]
    many = groups.numbers({str(at): text for at, text in enumerate(["a", "b", "aa", "d", "e", "f", "g"], 1)}, vectors)
    assert made[-1] == ["e", "f", "g"] and len(set(many.values())) == 6


def test_a_list_is_cut_and_counted(house: Any) -> None:
    """As many gaps as are wanted, those asked most first, in the state that is wanted; all are counted."""
    for text in ("食堂几点开门", "食堂几点开门", "车位怎么申请", "宇航服在哪里领"):
        house.find(SearchRequest(query=text))
    found = house.gaps.find(limit=1)
    assert ([gap.question for gap in found.gaps], found.total) == (["食堂几点开门"], 3)
    house.gaps.decide(found.gaps[0].gap_id, "out_of_scope")
    found = house.gaps.find(state="open", limit=1)
    assert (len(found.gaps), found.total, found.gaps[0].state) == (1, 2, "open")
