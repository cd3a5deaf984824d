"""Whether a question is answered at all: how likely its scope holds an answer, and what is too little."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wenyuan
from wenyuan.core.filters import parse_filter
from wenyuan.core.scoring.answerable import ABSTAIN, MODELS, Model, Standing
from wenyuan.encoders.checking import HashingEncoder
from wenyuan.service.search.candidates import above, why_empty
from wenyuan.service.search.nonsense import junk_queries, strange

HANDBOOK = {
    "leave": "Employees have twenty-five days of paid holiday a year. Days that are not used expire at the end of March.",
    "travel": "Trips by train are booked in second class. A taxi is paid for only after ten in the evening.",
    "sickness": "Whoever is ill tells the team before nine o'clock, and sends a doctor's certificate on the third day.",
    "expenses": "Receipts are handed in within thirty days of the purchase. Meals are refunded up to forty euros a day.",
    "请假": "员工请事假应当提前三个工作日提出申请，由部门负责人批准。病假超过两天的，须提交医院证明。",
    "报销": "差旅费应当在返回后十个工作日内报销。住宿费标准为每晚五百元，超出部分由个人承担。",
}


@pytest.fixture(scope="module")
def handbook(tmp_path_factory: pytest.TempPathFactory) -> Iterator[wenyuan.Library]:
    folder = tmp_path_factory.mktemp("handbook")
    with wenyuan.open(folder / "library", create=True, search={"deadline": 60}) as library:
        for name, text in HANDBOOK.items():
            (folder / name).mkdir()
            (folder / name / f"{name}.md").write_text(f"# {name}\n\n{text}\n", "utf-8")
            library.add(wenyuan.Source(source_id=f"s{len(library.catalog.sources())}", path=str(folder / name)))
        yield library


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("How many days of holiday do I get?", "leave"), ("When do unused days expire?", "leave"),
        ("May I take a taxi at eleven at night?", "travel"), ("whom do I tell that i am ill", "sickness"),
        ("请事假要提前几天", "请假"), ("住酒店一晚上能报多少钱", "报销"), ("請事假要提前幾天", "请假"), ("住宿费标准", "报销"),
    ],
)  # fmt: skip
def test_what_is_there_is_answered(handbook: wenyuan.Library, question: str, title: str) -> None:
    """At the usual setting, in the whole library and in the one source that has it."""
    answer = handbook.search(question, limit=3)
    first = answer.passages[answer.hits[0].passage_id]
    assert first.title == title
    assert answer.answerable is not None and answer.answerable > ABSTAIN["normal"]
    alone = handbook.search(question, limit=3, sources=[first.source_id])
    assert alone.hits and alone.answerable is not None and alone.answerable > ABSTAIN["normal"]
    assert alone.hits[0].parts["answerable"] == alone.answerable


FOREIGN = (
    "What is the capital of France?", "What does the fox say?", "How do I renew my passport?", "price of gold today?",
    "谁是美国的第一任总统", "怎样养好金鱼", "黄金今天多少钱一克", "公司股票代码是多少",
)  # fmt: skip


def test_what_is_not_there_is_refused(handbook: wenyuan.Library) -> None:
    """Of unrelated questions nine in ten get nothing, within one source, too, and none gets anything as if it were sure.
    The reason says how to ask otherwise.
    """
    answers = [handbook.search(question, sources=only) for question in FOREIGN for only in (None, ["s0"], ["s4"])]
    refused = [answer for answer in answers if not answer.hits]
    assert len(refused) >= 0.9 * len(answers)
    assert max((hit.score for answer in answers for hit in answer.hits), default=0.0) < 0.8
    for answer in refused:
        assert answer.answerable is not None
        assert f"probability {answer.answerable:.3f}" in answer.reason
        assert "lenient" in answer.reason and "nearest passage scores" in answer.reason


@pytest.mark.parametrize("script", ["han", "latin"])
def test_nonsense_is_refused(handbook: wenyuan.Library, script: str) -> None:
    """Hardly any is answered even where six passages are all there is, and none as if it were sure."""
    first = [
        max((hit.score for hit in handbook.search(query, limit=1).hits), default=0.0)
        for query in junk_queries(script)
    ]
    assert sum(map(bool, first)) <= 0.05 * len(first)
    assert max(first) <= 0.5


def test_each_setting_has_its_effect(handbook: wenyuan.Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the strictest answers all others answer, and the same question is answered or not by the setting alone."""
    assert 0.0 == ABSTAIN["off"] < ABSTAIN["lenient"] < ABSTAIN["normal"] < ABSTAIN["strict"]
    abstention = handbook._retriever._abstention
    settings = abstention._settings
    for doubtful in (0.05, 0.3, 0.5):
        logit = {0.05: -2.944, 0.3: -0.847, 0.5: 0.0}[doubtful]
        monkeypatch.setattr(abstention, "_models", [Model(keyword=0.0, strange=0.0, intercept=logit)])
        answered = []
        for abstain in ABSTAIN:
            monkeypatch.setattr(abstention, "_settings", settings.model_copy(update={"abstain": abstain}))
            monkeypatch.setattr(abstention, "least", ABSTAIN[abstain])
            answered.append(bool(handbook.search("How many days of holiday?", limit=1).hits))
        assert answered == [doubtful > least for least in ABSTAIN.values()]


def test_it_is_there_from_the_first_passage_on(tmp_path: Path) -> None:
    """A library with one passage refuses what that does not answer; nothing was measured, and nothing needs to be."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "leave.md").write_text(f"# Leave\n\n{HANDBOOK['leave']}\n", "utf-8")
    with wenyuan.open(tmp_path / "library", create=True, search={"deadline": 60}) as library:
        library.add(wenyuan.Source(source_id="docs", path=str(tmp_path / "docs")))
        library.catalog.set_value("floor", None)
        assert library.search("How many days of holiday do I get?").hits
        for foreign in ("What is the capital of France?", "黄金今天多少钱一克"):
            assert max((hit.score for hit in library.search(foreign).hits), default=0.0) <= 0.25


def test_trust_does_not_change_what_is_likely(handbook: wenyuan.Library) -> None:
    """It orders what is as good as equal: 1 % of a probability a step."""
    source = handbook.catalog.source("s0")
    likely = {}
    for trust in (2, 4, 5):
        handbook.add(replace(source, trust=trust))
        (first, *_) = handbook.search("When do unused days expire?", limit=1).hits
        likely[trust] = first.score
        assert first.score == pytest.approx(first.parts["answerable"] * first.parts["match"] * (0.97 + 0.01 * trust))
    handbook.add(source)
    assert likely[2] < likely[4] < likely[5] < 1.05 * likely[2]


def test_the_filter_is_the_scope(handbook: wenyuan.Library) -> None:
    """By a filter as by its source: the question is answered where its answer is; where it is not, nothing is as good as sure."""
    question = "When do I see a doctor if I am ill?"
    for title, there in (("sickness", True), ("travel", False), ("报销", False)):
        source = next(p.source_id for p in handbook.catalog.some_passages(10) if p.title == title)
        answer = handbook.search(question, filter=parse_filter({"source_id": source}))
        assert (max((hit.score for hit in answer.hits), default=0.0) > 0.5) is there
        assert answer.answerable is not None and (answer.answerable < ABSTAIN["normal"]) is not there


@pytest.mark.parametrize("question", ["How many days of holiday do I get?", "住酒店一晚上能报多少钱"])
def test_a_passage_is_compared_whole(
    handbook: wenyuan.Library, monkeypatch: pytest.MonkeyPatch, question: str
) -> None:
    """How far it stands apart from general passages goes by the mean of the cosines to its text and to what it is called."""
    abstention = handbook._retriever._abstention
    standing, told = abstention.standing, []

    def noted(query: Any, found: Any, ranked: Any, *rest: Any) -> Standing:
        told.append((standing(query, found, ranked, *rest), found, ranked))
        return told[-1][0]

    monkeypatch.setattr(abstention, "standing", noted)
    handbook.search(question, limit=3)
    ((found_standing, found, ranked),) = told
    labels = handbook._retriever.labels([hit.passage_id for hit, _ in ranked])
    level = {number: float(found.aim.level(vector @ found.aim.vector)) for number, vector in labels.items()}
    assert level and {number: found.labels[number] for number in level} == pytest.approx(level, abs=1e-5)
    means = [0.5 * (hit.parts["cosine"] + level[hit.passage_id]) for hit, _ in ranked]
    general = handbook._retriever._own.apart(found.aim, 0.0, ranked[0][1].language, handbook._retriever.limit())
    assert found_standing.apart == pytest.approx(max(means) + general, abs=1e-5)


def test_the_model() -> None:
    """Nearer, more of the words, further before the next is likelier; a query that looks like no text less; bounds hold."""
    model = MODELS["hybrid"]
    plain = Standing(keyword=0.3, nearness=0.2, apart=0.0, margin=0.05, coverage=0.3)
    chance = model.probability(plain)
    assert 0.0 < chance < 1.0
    for better in ({"nearness": 0.3}, {"apart": 0.05}, {"margin": 0.1}, {"coverage": 0.5}):
        assert model.probability(replace(plain, **better)) > chance
    assert model.probability(replace(plain, strange=True)) < chance
    words = MODELS["keyword-only"]
    assert (
        words.probability(Standing(keyword=0.9)) > 0.9 > ABSTAIN["lenient"] > words.probability(Standing(keyword=0.0))
    )


def test_what_scores_much_less_than_the_best_goes() -> None:
    """Four tenths of it stay, and what reaches a floor that is set; below the floor is nothing, but for the place that was named."""
    scores = np.array([0.6, 0.25, 0.23])
    assert above(scores).tolist() == [True, True, False]
    assert above(scores, 0.22).all()
    assert not above(scores, 0.7).any()
    assert not above(np.zeros(0), 0.0).any() and not above(np.zeros(1)).any()
    named = above(np.append(scores, 0.1), named=np.array([False, False, False, True]))
    assert named.tolist() == [True, True, False, True]
    assert "below the floor 0.700" in why_empty(0.6, 0.7)


def test_a_library_gives_nothing_for_one_character_over_and_over(tmp_path: Path) -> None:
    """哈哈 is in the passage and found; a run of it is not."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "mirrors.md").write_text("# 哈哈镜\n\n哈哈镜在二楼，游客哈哈大笑。\n", "utf-8")
    with wenyuan.open(tmp_path / "library", create=True, search={"deadline": 60}) as library:
        library.add(wenyuan.Source(source_id="park", path=str(tmp_path / "docs")))
        assert [len(library.search(query).hits) for query in ("哈哈镜", "哈哈镜在几楼", "呵呵呵呵呵呵")] == [1, 1, 0]


class Suspicious:
    """Calls everything unlikely."""

    def unlikely(self, text: str) -> bool:
        return True


@pytest.mark.parametrize(
    ("query", "encoder", "expected"),
    [
        ("了了了了了", None, True), ("aaaa", HashingEncoder(), True), ("哈 哈 哈 哈", None, True), ("aaa", None, False),
        ("asdf asdf asdf asdf", None, True), ("测试测试测试测试测", None, True), ("bye bye", None, False), ("谢谢谢谢您", None, False),
        ("的x我kq人ts中l", None, True), ("A股和B股的区别是什么", None, False), ("生成 SDK 开源 SDK 生成器", None, False),
        ("K8s 里的 C++ 服务怎么用 GPU", None, False), ("GB 50300 与 GB/T 50326 的关系", None, False),
        ("谢谢", None, False), ("投诉多久响应", HashingEncoder(), False), ("投诉多久响应", Suspicious(), True), ("", None, False),
    ],
)  # fmt: skip
def test_strange(query: str, encoder: Any, expected: bool) -> None:
    """One thing over and over, and letters that take turns, look strange to everybody; else an encoder is asked that can tell."""
    assert strange(query, encoder) is expected
