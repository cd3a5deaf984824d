"""A library is asked questions whose answers are known: the figures, what is kept, and what became of it since."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

import wenyuan
from wenyuan.catalog import Catalog, format_upgrades
from wenyuan.catalog.schema import evaluations
from wenyuan.core.errors import EngineUnavailable, InvalidRequest, NotFound, RetrievalFailed
from wenyuan.core.evaluation_records import set_id_of
from wenyuan.core.learning_records import QuestionAddress
from wenyuan.service.learning import evaluation

TOPICS = (
    "客户投诉应在七个工作日内答复", "年假可以结转至次年三月", "会议室须提前一天预订", "报销单据须在月底前提交",
    "Visitors must wear a badge at all times", "Passwords expire after ninety days",
    "Invoices are paid within thirty days", "Remote work needs written approval",
)  # fmt: skip
ASKED = (
    "客户投诉几天答复", "年假结转到什么时候", "会议室怎么预订", "报销单据什么时候提交", "do visitors need a badge",
    "when do passwords expire", "when are invoices paid", "who approves remote work",
)  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    for number, text in enumerate(TOPICS):
        (tmp_path / "docs" / f"{number}.md").write_text(f"# 规定 {number}\n\n{text}。\n", "utf-8")
    return tmp_path


@pytest.fixture(params=["hashing", "none"])
def library(folder: Path, request: pytest.FixtureRequest) -> Iterator[Any]:
    with wenyuan.open(folder / "library", create=True, encoder={"kind": request.param}) as opened:
        opened.add(wenyuan.Source(source_id="house", path=str(folder / "docs")))
        yield opened


def golden(*, shift: int = 0) -> list[QuestionAddress]:
    return [
        QuestionAddress(question=text, answer=f"{(number + shift) % len(TOPICS)}.md", where=f"line {number + 2}")
        for number, text in enumerate(ASKED)
    ]


def test_what_a_step_raises_ends_it(library: Any) -> None:
    """Whoever follows an evaluation can stop it: their exception comes through as it is, and nothing is kept."""
    asked: list[int] = []

    def step(stage: str, done: int, _total: int) -> None:
        asked.extend([done] * (stage == "ask"))
        if len(asked) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        library.evaluate(golden(), name="golden.csv", step=step)
    assert asked == [1, 2]
    assert library.evaluations() == ()


def test_figures_say_how_well_it_answers(library: Any) -> None:
    """Right addresses make high figures, wrong ones low ones; each question is told with the rank of its answer."""
    steps: list[tuple[str, int, int]] = []
    good = library.evaluate(golden(), name="golden.csv", step=lambda *told: steps.append(told))
    figures = good.evaluation.figures
    assert figures["ndcg@10"] > 0.7
    assert figures["answered"] > 0.7
    assert 0.0 <= figures["refused"] <= 1.0
    assert figures["p95_ms"] >= figures["p50_ms"] > 0
    assert [one.question for one in good.asked] == list(ASKED)
    assert sum(one.rank == 1 for one in good.asked) / len(ASKED) == pytest.approx(figures["hit@1"])
    assert sum(one.ndcg for one in good.asked) / len(ASKED) == pytest.approx(figures["ndcg@10"], abs=1e-3)
    assert {stage for stage, _, _ in steps} == {"read", "ask", "nonsense"}
    assert ("ask", len(ASKED), len(ASKED)) in steps
    bad = library.evaluate(golden(shift=3), name="golden.csv").evaluation
    assert bad.figures["ndcg@10"] < figures["ndcg@10"] / 2
    assert sum(one.count for one in bad.bins) >= len(ASKED) * bad.figures["answered"]


def test_both_errors_are_told_of_questions_that_must_not_be_answered(library: Any) -> None:
    """How many of them were refused, and what was claimed for the others; other figures do not move, calibration does."""
    plain = library.evaluate(golden(), name="golden.csv").evaluation
    foreign = ["谁发明了蒸汽机", "which planet is the largest", ASKED[0] + "吗"]
    silent = [QuestionAddress(question=text, answer="", grade=0.0, where="line 20") for text in foreign]
    told = library.evaluate([*golden(), *silent], name="golden.csv").evaluation
    again = library.evaluate_again(told.evaluation_id).evaluation
    assert (again.questions, again.figures["no_answer"]) == (len(ASKED), 3.0)
    for one in (told, again):
        assert one.figures["no_answer_refused"] == pytest.approx(2 / 3, abs=1e-3)
        assert one.figures["no_answer_first"] > 0.1  # the third one is answered, and wrongly so
        assert {n: one.figures[n] for n in ("ndcg@10", "answered", "hit@1")} == {
            n: plain.figures[n] for n in ("ndcg@10", "answered", "hit@1")
        }
    assert sum(one.count for one in told.bins) > sum(one.count for one in plain.bins)
    assert "no_answer" not in plain.figures
    with pytest.raises(InvalidRequest, match="none in another"):
        library.evaluate([*golden(), QuestionAddress(question=ASKED[0], answer="", grade=0.0)], name="golden.csv")


def test_both_errors_are_told_by_question_and_of_what_people_look_at(library: Any) -> None:
    """Which question was refused though it is answered, and answered though it must not be; how sure, in first place and behind."""
    foreign = ["谁发明了蒸汽机", ASKED[0] + "吗"]
    silent = [QuestionAddress(question=text, answer="", grade=0.0) for text in foreign]
    whole = library.evaluate(
        [*golden(), *silent, QuestionAddress(question="木星有几颗卫星", answer="1.md")], name="golden.csv"
    )
    assert [one.question for one in whole.answered_in_vain] == foreign[1:]
    assert "木星有几颗卫星" in [one.question for one in whole.refused]
    assert whole.evaluation.figures["answer_refused"] == pytest.approx(len(whole.refused) / 9, abs=1e-3)
    first, behind = whole.evaluation.places["first"], whole.evaluation.places["next"]
    assert first.count == 8 - (len(whole.refused) - 1) + 1
    assert first.right == pytest.approx(sum(one.rank == 1 for one in whole.asked) / first.count, abs=1e-3)
    said = [one.score for one in (*whole.asked, *whole.in_vain) if one.score is not None]
    assert first.score == pytest.approx(sum(said) / len(said), abs=1e-3)
    assert behind.count <= 2 * first.count and 0.0 <= first.brier <= 1.0
    assert library.evaluation(whole.evaluation.evaluation_id) == whole
    assert [one.question for one in whole.asked] == [*ASKED, "木星有几颗卫星"]


def test_an_evaluation_of_a_former_version_is_still_read(library: Any) -> None:
    """One that was kept without places and without the questions that must not be answered has none of them."""
    whole = library.evaluate(golden(), name="golden.csv")
    with library.catalog.database.changing("a former version") as connection:
        row = connection.execute(sa.select(evaluations)).mappings().one()
        report = {name: value for name, value in row["report"].items() if name != "places"}
        asked = [{name: value for name, value in one.items() if name != "vain"} for one in row["asked"]]
        connection.execute(evaluations.update().values(report=report, asked=asked))
    read = library.evaluation(whole.evaluation.evaluation_id)
    assert (read.evaluation.places, read.in_vain, read.asked) == ({}, (), whole.asked)


def test_it_is_kept_with_its_questions(library: Any) -> None:
    """The list has it, newest first; whole, it is as it was told; audited; removed, its questions go with it."""
    first = library.evaluate(golden(), name="golden.csv")
    second = library.evaluate(golden(), name="golden.csv")
    listed = library.evaluations()
    assert [one.evaluation_id for one in listed] == [second.evaluation.evaluation_id, first.evaluation.evaluation_id]
    assert library.evaluations(before=second.evaluation.evaluation_id) == listed[1:]
    assert listed[1] == first.evaluation
    assert library.evaluation(listed[1].evaluation_id) == first
    assert library.catalog.golden_set(first.evaluation.set_id) == tuple(golden())
    record = library.audit.list(kind="evaluation")[0]
    assert record.record["object"] == str(second.evaluation.evaluation_id)
    library.remove_evaluation(first.evaluation.evaluation_id)
    assert library.catalog.golden_set(first.evaluation.set_id)
    library.remove_evaluation(second.evaluation.evaluation_id)
    with pytest.raises(NotFound):
        library.catalog.golden_set(first.evaluation.set_id)
    for gone in (library.evaluation, library.remove_evaluation, library.evaluate_again):
        with pytest.raises(NotFound, match="no evaluation 1"):
            gone(1)


def test_nothing_is_kept_where_that_was_not_wanted(library: Any) -> None:
    """With `keep` off the figures are told, and the library has no evaluation."""
    assert library.evaluate(golden(), name="x", keep=False).evaluation.evaluation_id == 0
    assert library.evaluations() == ()


def test_a_library_that_has_lost_documents_is_worse(library: Any, folder: Path) -> None:
    """The same questions again: those whose answer is gone count as not found, are counted, and the verdict is worse."""
    first = library.evaluate(golden(), name="golden.csv")
    for number in range(6):
        (folder / "docs" / f"{number}.md").unlink()
    library.ingest("house")
    again = library.evaluate_again(first.evaluation.evaluation_id)
    assert again.evaluation.name == "golden.csv"
    assert (first.evaluation.unknown, again.evaluation.unknown) == (0, 6)
    assert again.evaluation.examples[0] == ("0.md", "line 2")
    assert not again.asked[0].known
    change = library.compared(again, first)
    assert change.verdict == "worse"
    assert change.upper < 0
    assert library.compared(first, again).verdict == "better"


def test_other_questions_are_not_compared(library: Any) -> None:
    """Evaluations of different sets are refused, and so are sets without any address of the library."""
    first = library.evaluate(golden(), name="a")
    other = library.evaluate(golden()[:4], name="b")
    with pytest.raises(InvalidRequest, match="cannot be compared"):
        library.compared(other, first)
    with pytest.raises(InvalidRequest, match=r"none of 1 addresses .*nowhere\.md"):
        library.evaluate([QuestionAddress(question="客户投诉", answer="nowhere.md")], name="c")
    with pytest.raises(InvalidRequest, match="no question with an answer"):
        library.evaluate([QuestionAddress(question="客户投诉", answer="0.md", grade=0.0)], name="c")


def test_too_many_questions_are_refused(library: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody occupies a server for a day: more questions than the limit are refused before any is asked."""
    monkeypatch.setattr(evaluation, "MOST_QUESTIONS", 3)
    with pytest.raises(InvalidRequest, match="at most 3"):
        library.evaluate(golden(), name="x")


def test_a_question_that_is_too_long_is_refused_before_any_is_asked(library: Any) -> None:
    """It does not wait for its turn."""
    told: list[str] = []
    pairs = [*golden(), QuestionAddress(question="长" * 8001, answer="0.md")]
    with pytest.raises(InvalidRequest, match="has 8001 characters"):
        library.evaluate(pairs, name="x", step=lambda stage, *_: told.append(stage))
    assert "ask" not in told


def test_a_question_that_fails_ends_it(library: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure is no bad answer: nothing is kept, and the question is named."""

    def broken(*_: Any, **__: Any) -> Any:
        raise EngineUnavailable("disk gone", component="engine")

    monkeypatch.setattr(library.engine, "keyword", broken)
    with pytest.raises(RetrievalFailed, match=r"客户投诉几天答复.*disk gone"):
        library.evaluate(golden(), name="x")
    assert library.evaluations() == ()


def test_a_passage_can_be_the_answer(folder: Path) -> None:
    """Where a golden file names passages, only those count, each once; several of one answer are one."""
    text = "# 甲\n\n客户投诉应在七个工作日内答复。\n\n# 乙\n\n会议室须提前一天预订。\n"
    (folder / "docs" / "long.md").write_text(text, "utf-8")
    with wenyuan.open(folder / "library", create=True, encoder={"kind": "none"}) as library:
        library.add(wenyuan.Source(source_id="house", path=str(folder / "docs")))
        found = library.search("会议室 预订")
        uri = next(p.uri for p in found.passages.values() if "long.md" in p.uri and "会议室" in p.text)
        pairs = [QuestionAddress(question="会议室 预订", answer=uri)]
        asked = library.evaluate(pairs, name="x").asked[0]
        ranked = [found.passages[hit.passage_id].uri for hit in found.hits]
        assert asked.rank == ranked.index(uri) + 1


def test_a_set_is_known_by_its_questions_and_answers() -> None:
    """Order and lines do not matter, a question, an answer or a grade does."""
    pairs = golden()
    moved = [QuestionAddress(question=p.question, answer=p.answer, where="elsewhere") for p in reversed(pairs)]
    assert set_id_of(pairs) == set_id_of(moved)
    others = (golden(shift=1), pairs[1:], [*pairs[1:], QuestionAddress(question=ASKED[0], answer="0.md", grade=2.0)])
    assert len({set_id_of(one) for one in (pairs, *others)}) == 4


def test_an_older_library_gets_the_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A library of an older format has no evaluations yet, and can keep some."""
    with monkeypatch.context() as older:
        older.setattr(format_upgrades, "MIGRATIONS", format_upgrades.MIGRATIONS[:6])
        older.setattr(format_upgrades, "SCHEMA_VERSION", 6)
        Catalog.create(tmp_path / "library").close()
    with closing(Catalog.open(tmp_path / "library")) as catalog:
        assert catalog.evaluations() == ()
