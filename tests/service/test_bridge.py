"""A library of both languages: an answer in the other language is as near as one in the query's own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wenyuan
from wenyuan.core.ports import Deadline
from wenyuan.core.scoring.formula import BRIDGE, Traits
from wenyuan.service.search.query_vectors import QueryVectors

NEVER = Deadline(1e12, lambda: 0.0)
ENGLISH = [
    ("pumps", "The bearing of the pump is greased every six weeks by the night shift. The date is noted in the log."),
    (
        "boilers",
        "The safety valve of the boiler is tested once a year. An inspector of the district is present then.",
    ),
    ("leave", "Employees have twenty-five days of holiday a year. Unused days expire at the end of March."),
    ("travel", "Trips by train are booked in second class. A taxi is paid for only after ten in the evening."),
    ("visitors", "Visitors sign the book at the gate and wear a badge. Whoever invited them fetches them there."),
    ("keys", "Lost keys are reported to the caretaker on the same day. The lock is then replaced within a week."),
]
CHINESE = [
    ("消防", "灭火器每月由安全员检查一次压力。检查结果要当天登记在消防台账上。"),
    ("食堂", "食堂每天中午十一点半开始供应午餐。员工凭工卡就餐，访客需要购买餐券。"),
    ("宿舍", "宿舍晚上十一点以后不得喧哗吵闹。违反规定的住户会收到书面警告。"),
    ("采购", "金额超过五万元的采购必须公开招标。评标小组由五名以上的专家组成。"),
    ("车辆", "公务车辆使用之前需要部门负责人批准。行驶里程和加油费用每周汇总一次。"),
    ("档案", "合同原件保存在二楼的档案室里面。借阅合同需要登记并在三天之内归还。"),
]


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[wenyuan.Library]:
    folder: Path = tmp_path_factory.mktemp("texts")
    for n in range(6):
        for name, text in ENGLISH + CHINESE:
            (folder / f"{name}-{n}.md").write_text(f"# {name} {n}\n\n{text} {n}{n}\n", "utf-8")
    with wenyuan.open(
        tmp_path_factory.mktemp("library"), create=True, search={"deadline": 60, "floor": 0.0}
    ) as library:
        library.add(wenyuan.Source(source_id="texts", path=str(folder)))
        yield library


def traits(library: wenyuan.Library) -> Traits:
    return Traits.of(library.catalog.value("floor")["hybrid"]["latin"])


def test_measured(mixed: wenyuan.Library) -> None:
    """A library with passages in both languages is measured to be one."""
    assert traits(mixed).bridge == BRIDGE


def test_one_language_needs_none(mixed: wenyuan.Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all passages are in one language, nothing is moved towards the other."""
    english = [p for p in mixed.catalog.some_passages(1_000) if p.language == "en"]
    monkeypatch.setattr(mixed.catalog, "some_passages", lambda count: english)
    assert mixed.collection_under({})["hybrid"]["latin"]["bridge"] == 0.0


QUESTIONS = (
    ("How often is the pressure of the fire extinguishers checked?", "消防"),
    ("How many days may a contract be borrowed?", "档案"),
    ("水泵的轴承多久加一次润滑油？", "pumps"),
    ("没休完的假什么时候作废？", "leave"),
)


@contextmanager
def bridged(library: wenyuan.Library, bridge: float) -> Iterator[None]:
    before = library.catalog.value("floor")
    moved = before | {"hybrid": {k: v | {"bridge": bridge} for k, v in before["hybrid"].items()}}
    library.catalog.set_value("floor", moved)
    try:
        yield
    finally:
        library.catalog.set_value("floor", before)


def ahead(library: wenyuan.Library, question: str, name: str) -> float:
    """How far the best passage of that name is before the best other one."""
    answer = library.search(question, limit=50)
    scores: dict[bool, list[float]] = {True: [], False: []}
    for hit in answer.hits:
        scores[answer.passages[hit.passage_id].title.startswith(name)].append(hit.score)
    return max(scores[True], default=0.0) - max(scores[False])


@pytest.mark.parametrize(("question", "name"), QUESTIONS)
def test_answer_in_the_other_language(mixed: wenyuan.Library, question: str, name: str) -> None:
    """What answers a question comes first though it is in the other language, and by more than it would."""
    with_it = ahead(mixed, question, name)
    with bridged(mixed, 0.0):
        without = ahead(mixed, question, name)
    assert with_it > 0
    assert with_it > without + 0.01


def test_without_it_the_own_language_comes_first(mixed: wenyuan.Library) -> None:
    """What is merely in the question's own language would be before some of the answers."""
    with bridged(mixed, 0.0):
        assert min(ahead(mixed, question, name) for question, name in QUESTIONS) < 0


def cosines(library: wenyuan.Library, question: str, bridge: float) -> dict[int, float]:
    with bridged(library, bridge):
        return {h.passage_id: h.parts["cosine"] for h in library.search(question, limit=50).hits}


def test_cosines_by_definition(mixed: wenyuan.Library) -> None:
    """What is taken off a cosine is the bridge's share of how much nearer the passage is to questions of one language."""
    assert mixed.encoder is not None
    question = "When is the bearing of the pump greased?"
    rows: dict[int, Any] = {
        c.passage_id: c.row.vector for c in mixed.catalog.changes(0, mixed.catalog.seq()) if c.row is not None
    }
    vectors = QueryVectors(mixed.encoder)
    axis = vectors.mean("questions", "latin", NEVER) - vectors.mean("questions", "han", NEVER)
    mean = np.mean(list(rows.values()), axis=0)
    without, with_it = cosines(mixed, question, 0.0), cosines(mixed, question, BRIDGE)
    common = without.keys() & with_it.keys()
    assert common
    for passage in common:
        expected = without[passage] - BRIDGE * float((rows[passage] - mean) @ axis)
        assert with_it[passage] == pytest.approx(expected, abs=1e-5)
