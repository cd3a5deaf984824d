"""Gaps that are settled on the spot: by a written answer, a passage that has it, a synonym, or until a day."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from command_line import run
from governed_door import governed_server, key, send
from http_door import assert_problem
from wenyuan.core.access import Agent, DomainScope, Principal
from wenyuan.core.errors import Conflict, InvalidRequest, KnowledgeError, NotFound, NotPermitted
from wenyuan.core.gaps import GapClosing, digest_of
from wenyuan.core.model import Source
from wenyuan.core.ownership import owned_sources
from wenyuan.service.gaps.answers import GapAnswerRequest
from wenyuan.service.gaps.finder import SURE
from wenyuan.service.search.searcher import LOCAL, SearchRequest

LEAVE = "# 休假制度\n\n## 年假\n\n员工工作满一年后，每年享有五天带薪年假，未休完的年假可以顺延至次年三月底。\n"
CANTEEN = "食堂早上七点开门，晚上八点关门。"
ASKED = "食堂几点开门"
OWNER = frozenset({"retrieve", "search", "ingest", "registry"})


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Any]:
    """A library about leave, which Li answers for."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "leave.md").write_text(LEAVE, "utf-8")
    with wenyuan.create(tmp_path / "library", encoder={"kind": "hashing"}) as library:
        library.add(Source(source_id="rules", path=str(tmp_path / "docs"), owner="Li", trust=4))
        yield library


def asked(library: Any, *questions: str, agent: str | None = None) -> str:
    """Questions that were asked; the id of the gap of the last one."""
    for question in questions:
        library.find(SearchRequest(query=question, agent_id=agent))
    return digest_of(questions[-1])


def test_a_written_answer_answers_the_question(house: Any) -> None:
    """It becomes a document with its author, is found by whoever asks, closes the gap, and is kept as a golden question."""
    name = asked(house, ASKED)
    wanted = GapAnswerRequest(answer=CANTEEN, author="王芳", review_on=date.today() + timedelta(days=30))
    settled = house.gap_answers.answer(name, wanted)
    assert settled.gap.closing.source_id == settled.source_id == "answers"
    assert (
        CANTEEN in house.retrieve_fragments(wenyuan.RetrievalRequest(query=ASKED, max_results=3)).fragments[0].content
    )
    report = house.gaps.find()
    assert (report.gaps, [one.question for one in report.answered]) == ((), [ASKED])
    assert report.answered[0].closing == settled.gap.closing
    (golden,) = house.catalog.golden_questions()
    assert (golden.question, golden.answer, golden.origin) == (ASKED, settled.gap.closing.uri, "gap")
    (held,) = house.catalog.written_answers()
    assert (held.author, held.uri, held.review_on) == ("王芳", settled.uri, wanted.review_on)


@pytest.mark.parametrize(("score", "kept"), [(0.56, 0), (SURE, 1)])
def test_what_closed_by_itself_is_a_golden_question_where_it_is_sure(house: Any, score: float, kept: int) -> None:
    """An answer that just counts closes a gap, and does not say what is right: evaluations would be held against it."""
    name = asked(house, ASKED)
    (gap,) = house.gaps.find().gaps
    closing = GapClosing(
        digest=name, at=1.0, audit_id="a", source_id="rules", uri="file:///pay.md", title="Pay", score=score
    )
    house.gaps._keep([replace(gap, closing=closing)], LOCAL)
    assert [one.origin for one in house.catalog.golden_questions()] == ["closed"] * kept


def test_an_answer_lies_beside_the_source_that_it_is_about(house: Any, tmp_path: Path) -> None:
    """Its source has that one's domain, owner, sensitivity and trust; with another trust it is another source."""
    house.catalog.put_source(Source(source_id="rules", path=str(tmp_path / "docs"), owner="Li", trust=4, domain="hr",
                                    sensitivity="internal"))  # fmt: skip
    settled = house.gap_answers.answer(asked(house, ASKED), GapAnswerRequest(answer=CANTEEN, beside="rules"))
    made = house.catalog.source(settled.source_id)
    assert (made.source_id, made.domain, made.owner, made.sensitivity, made.trust) == (
        "answers-rules", "hr", "Li", "internal", 4
    )  # fmt: skip
    other = house.gap_answers.answer(
        asked(house, "宇航服在哪里领取"), GapAnswerRequest(answer="在一楼领取。", beside="rules", trust=2)
    )
    assert (other.source_id, house.catalog.source(other.source_id).trust) == ("answers-rules.trust2", 2)
    with pytest.raises(InvalidRequest):
        house.gap_answers.answer(asked(house, "quantum physics"), GapAnswerRequest(answer="No.", beside="nowhere"))
    assert house.gaps.gap(digest_of("quantum physics")).decision is None


def test_what_is_written_is_redacted_as_its_source_is(house: Any, tmp_path: Path) -> None:
    """A telephone number stands neither in the answer nor in what is kept of it."""
    house.catalog.put_source(
        Source(source_id="rules", path=str(tmp_path / "docs"), sensitivity="restricted", trust=4, owner="Li")
    )
    settled = house.gap_answers.answer(
        asked(house, ASKED), GapAnswerRequest(answer=f"{CANTEEN}电话 13812345678。", beside="rules")
    )
    found = house.retrieve_fragments(wenyuan.RetrievalRequest(query=ASKED, max_results=3))
    assert "食堂早上七点开门" in str(found) and "13812345678" not in str(found)
    assert settled.gap.closing is not None


def test_an_agent_that_does_not_read_the_source_is_not_answered(house: Any) -> None:
    """The gap stays open, and it is said why; beside a source of its domain it closes."""
    house.catalog.put_source(Source(source_id="office", domain="office"))
    house.catalog.put_agent(Agent(agent_id="desk", knowledge_scope=(DomainScope(domain="office"),)))
    name = asked(house, ASKED, agent="desk")
    settled = house.gap_answers.answer(name, GapAnswerRequest(answer=CANTEEN, beside="rules"))
    assert settled.gap.closing is None and "desk" in settled.why
    (gap,) = house.gaps.find().gaps
    assert (gap.state, gap.decision.state) == ("open", "answered")
    settled = house.gap_answers.answer(name, GapAnswerRequest(answer=CANTEEN, decided_at=gap.decision.at))
    assert (settled.source_id, settled.gap.closing.source_id) == ("answers-office", "answers-office")


def test_a_passage_that_has_it_is_found_by_the_question(house: Any) -> None:
    """The wordings of the gap lead to the passage from now on; one that is not there is refused, and the gap is as it was."""
    name = asked(house, "vacation entitlement")
    with pytest.raises(NotFound):
        house.gap_answers.point_out(name, "rules#99")
    assert house.gaps.gap(name).decision is None
    settled = house.gap_answers.point_out(name, "rules#1")
    assert settled.gap.closing.source_id == "rules"
    assert [one["questions"] for one in house.corrections()] == [["vacation entitlement"]]


def test_a_synonym_closes_what_was_asked_in_another_word(house: Any) -> None:
    """Their word and ours are synonyms for all questions; a word that nobody asked with is refused."""
    name = asked(house, "带薪假期有几天")
    with pytest.raises(InvalidRequest):
        house.gap_answers.add_synonym(name, "食堂", "餐厅")
    house.gap_answers.add_synonym(name, "带薪假期", "年假")
    assert [(one.term, one.synonym) for one in house.catalog.synonyms()] == [("带薪假期", "年假")]


@pytest.mark.parametrize(("term", "same"), [("停车费", "停车费"), ("ＷＦＨ", "WFH"), ("WFH", "wfh")])
def test_a_word_is_no_synonym_of_itself(house: Any, term: str, same: str) -> None:
    """Nor in another width or case; the gap is as it was."""
    name = asked(house, f"{term}由谁承担")
    with pytest.raises(InvalidRequest) as refused:
        house.gap_answers.add_synonym(name, term, same)
    assert [fault.path for fault in refused.value.faults] == ["synonym"]
    assert (house.gaps.gap(name).decision, house.catalog.synonyms()) == (None, ())


def test_who_did_not_close_a_gap_tries_again_and_another_is_told(house: Any) -> None:
    """A synonym that closes nothing does not keep its author from the next one; it keeps others, who have not seen it."""
    name = asked(house, "带薪假期有几天")
    assert house.gap_answers.add_synonym(name, "带薪假期", "宇航服").gap.closing is None
    with pytest.raises(Conflict, match="answered, by local"):
        house.gap_answers.add_synonym(name, "带薪假期", "年假", principal=Principal(key_id="wu"))
    house.gap_answers.add_synonym(name, "带薪假期", "年假")
    assert [one.synonym for one in house.catalog.synonyms()] == ["宇航服", "年假"]


def test_who_did_not_close_a_gap_may_decide_about_it(house: Any) -> None:
    """His own answer, after which the gap is open, is no decision that he has not seen; for another it is one."""
    name = asked(house, "带薪假期有几天")
    assert house.gap_answers.add_synonym(name, "带薪假期", "宇航服").gap.closing is None
    with pytest.raises(Conflict, match="answered, by local"):
        house.gaps.decide(name, "later", principal=Principal(key_id="wu"))
    assert house.gaps.decide(name, "out_of_scope", note="问行政").state == "out_of_scope"


def test_what_is_put_off_until_a_day_is_open_again_then(house: Any) -> None:
    """Until the day it is later, from the day on open, and a new decision then takes nobody's place."""
    name, tomorrow = asked(house, ASKED), date.today() + timedelta(days=1)
    house.gaps.decide(name, "later", until=tomorrow)
    assert house.gaps.gap(name).state == "later"
    then = house.gaps.__class__(
        catalog=house.catalog, recorder=house.recorder, encoder=house.encoder, recorded=house.gaps.recorded,
        clock=lambda: house.gaps.clock() + 86_400,
    )  # fmt: skip
    assert then.gap(name).state == "open"
    assert then.decide(name, "out_of_scope").state == "out_of_scope"
    for state, until in (("later", date.today()), ("out_of_scope", tomorrow + timedelta(days=1))):
        with pytest.raises(InvalidRequest):
            house.gaps.decide(name, state, until=until, again=True)


def test_of_two_who_answer_at_once_the_second_is_told(house: Any) -> None:
    """One answer is written; the other one is told who has answered, and so is who comes when the gap is closed."""
    name, start = asked(house, ASKED), threading.Barrier(2)

    def answer(author: str) -> str:
        start.wait()
        try:
            house.gap_answers.answer(
                name, GapAnswerRequest(answer=f"{CANTEEN}{author}"), principal=Principal(key_id=author)
            )
        except Conflict as error:
            return str(error)
        return ""

    with ThreadPoolExecutor(2) as pool:
        told = sorted(pool.map(answer, ("li", "wu")))
    assert told[0] == "" and "answered, by " in told[1]
    assert len(house.catalog.written_answers()) == 1
    with pytest.raises(Conflict, match="answered, by "):
        house.gap_answers.answer(name, GapAnswerRequest(answer=CANTEEN))


def test_an_answer_that_cannot_be_stored_leaves_the_gap_as_it_was(
    house: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that takes no file: the failure is raised, and nobody is told that the gap is answered."""

    def broken(*_: Any, **__: Any) -> Any:
        raise KnowledgeError("the disk is full")

    name = asked(house, ASKED)
    house.gaps.decide(name, "later", note="下周")
    monkeypatch.setattr(house.uploads.__class__, "upload", broken)
    with pytest.raises(KnowledgeError, match="disk"):
        house.gap_answers.answer(name, GapAnswerRequest(answer=CANTEEN, again=True))
    kept = house.gaps.gap(name).decision
    assert (kept.state, kept.note) == ("later", "下周")


def test_an_answer_is_shown_when_it_is_to_be_looked_at_again(house: Any) -> None:
    """From its day on it stands among the reviews; a day that is over is refused when it is written."""
    name = asked(house, ASKED)
    with pytest.raises(InvalidRequest):
        house.gap_answers.answer(name, GapAnswerRequest(answer=CANTEEN, review_on=date.today()))
    house.gap_answers.answer(name, GapAnswerRequest(answer=CANTEEN, review_on=date.today() + timedelta(days=1)))
    assert house.gaps.find().reviews == ()
    later = house.gaps.__class__(
        catalog=house.catalog, recorder=house.recorder, encoder=house.encoder, recorded=house.gaps.recorded,
        clock=lambda: house.gaps.clock() + 86_400,
    )  # fmt: skip
    assert [one.question for one in later.find().reviews] == [ASKED]


def test_an_owner_sees_what_concerns_his_sources_and_no_more(house: Any, tmp_path: Path) -> None:
    """What lies nearest his source, and what was asked of his sources alone; the failures are the auditor's."""
    (tmp_path / "menu.md").write_text("# 食堂\n\n食堂每天早上七点开门。\n", "utf-8")
    house.add(Source(source_id="office", path=str(tmp_path / "menu.md"), owner="wu, group:kitchen"))
    audit_id = house.search("年假有几天", sources=["rules"]).audit_id
    house.give_feedback(audit_id, bad=["1"])
    audit_id = house.search("食堂几点开门", sources=["office"]).audit_id
    house.give_feedback(audit_id, bad=["1"])
    asked(house, "宇航服在哪里领取")

    def seen(principal: Principal) -> set[str]:
        return {gap.question for gap in house.gaps.find(principal=principal).gaps}

    li = Principal(key_id="k-li", rights=OWNER, user="user:li")
    cook = Principal(key_id="k-cook", rights=OWNER, user="user:cook", groups=frozenset({"group:kitchen"}))
    assert seen(li) == {"年假有几天"}
    assert seen(cook) == {"食堂几点开门"}
    assert seen(Principal(key_id="k-none", rights=OWNER, user="user:nobody")) == set()
    assert len(seen(Principal(key_id="auditor", rights=frozenset({"audit"})))) == 3
    with pytest.raises(NotFound):
        house.gaps.decide(digest_of("食堂几点开门"), "later", principal=li)
    with pytest.raises(NotPermitted):
        house.gaps.find(principal=Principal(key_id="keeper", rights=OWNER))


def test_an_owner_is_told_by_his_name_alone() -> None:
    """Not by a name that begins like it, nor by an empty one; width and case make no difference."""
    sources = [Source(source_id="a", owner="ＬＩ；Wu"), Source(source_id="b", owner="liu"), Source(source_id="c")]
    for user, own in (("user:li", {"a"}), ("user:liu", {"b"}), ("user:wu", {"a"}), ("user:x", set())):
        assert owned_sources(Principal(key_id="k", rights=OWNER, user=user), sources) == own
    assert owned_sources(Principal(key_id="k", rights=OWNER), sources) is None


@pytest.mark.parametrize("wrong", [{"answer": " "}, {"answer": "x", "trust": 6}, {"answer": "x" * 20_001},
                                   {"answer": "x", "author": "a\nb"}])  # fmt: skip
def test_an_answer_that_is_none_is_refused(wrong: dict[str, Any]) -> None:
    """Blank, too long, of a trust that there is not, or by somebody whose name is no line."""
    with pytest.raises(InvalidRequest):
        GapAnswerRequest(**wrong)


def test_over_http_a_gap_is_answered_and_the_second_is_told(tmp_path: Path) -> None:
    """An answer, a passage and a synonym; a second answer is 409, unknown is 404, and an agent's key finds nothing."""
    with governed_server(tmp_path) as (url, library):
        operator = key(library, "audit", "search", "ingest", "registry")
        asking = key(library, "search")
        for question in ("食堂几点开门", "宇航服在哪里领取"):
            send(url, "POST", "/v1/search", {"query": question}, asking)
        name = digest_of("食堂几点开门")
        said = {"answer": CANTEEN, "review_on": "2099-01-01", "author": "Li"}
        told = send(url, "POST", f"/v1/gaps/{name}/answer", said, operator).json
        assert (told["closed"], told["gap"]["closing"]["source_id"]) == (True, told["source_id"])
        assert_problem(send(url, "POST", f"/v1/gaps/{name}/answer", said, operator), 409, "conflict")
        other = digest_of("宇航服在哪里领取")
        assert send(url, "POST", f"/v1/gaps/{other}/passage", {"ref": "wiki#3"}, operator).status == 200
        assert_problem(send(url, "POST", "/v1/gaps/unknown/answer", said, operator), 404, "not_found")
        assert_problem(
            send(url, "POST", f"/v1/gaps/{name}/answer", {"answer": CANTEEN, "review_on": "soon"}, operator),
            400, "invalid_request",
        )  # fmt: skip
        bound = key(library, "audit", "ingest", "registry", agent="support")
        assert_problem(send(url, "POST", f"/v1/gaps/{name}/answer", said, bound), 404, "not_found")
        listed = send(url, "GET", "/v1/gaps", None, operator).json
        assert "食堂几点开门" in [one["question"] for one in listed["answered"]]


def test_on_the_command_line_a_gap_is_answered(house: Any, tmp_path: Path) -> None:
    """In words and as JSON, with what answers it now; put off until a day; a day that is over is refused."""
    name, other = asked(house, ASKED), asked(house, "宇航服在哪里领取")
    house.close()
    at, real = ["--library", str(tmp_path / "library")], {"WENYUAN_ENCODER__KIND": "hashing"}
    told = run("gaps", "answer", name, CANTEEN, "--author", "Li", *at, "--lang", "zh", **real)
    assert "已写入 answers" in told.stdout and "现在能答好" in told.stdout
    assert ASKED in run("gaps", "list", *at, "--lang", "en", **real).stdout
    assert run("gaps", "decide", other, "--as", "later", "--until", "2001-01-01", *at, **real).exit_code == 2
    put_off = run("gaps", "decide", other, "--as", "later", "--until", "2099-01-01", *at, "--json", **real)
    assert json.loads(put_off.stdout)["gap"]["decision"]["until"] == "2099-01-01"


@pytest.mark.parametrize(
    ("question", "answer"),
    [("Où se trouve la cantine du personnel ?", "La cantine du personnel se trouve au premier étage."),
     ("社員食堂の営業時間は何時ですか", "社員食堂の営業時間は朝七時から夜八時までです。"),
     ("متى يفتح مطعم الموظفين؟", "يفتح مطعم الموظفين في السابعة صباحا.")],
)  # fmt: skip
def test_a_question_in_a_third_language_is_a_gap_and_can_be_answered(house: Any, question: str, answer: str) -> None:
    """Neither Chinese nor English: it is listed, answered and closed as others are."""
    settled = house.gap_answers.answer(asked(house, question), GapAnswerRequest(answer=answer))
    assert settled.gap.question == question and settled.gap.closing is not None
    assert house.gaps.find().gaps == ()


def test_kept_golden_questions_are_asked(house: Any, tmp_path: Path) -> None:
    """What gaps were answered with is evaluated like a table of questions; without any it is refused."""
    with pytest.raises(InvalidRequest):
        house.evaluate_kept()
    house.gap_answers.answer(asked(house, ASKED), GapAnswerRequest(answer=CANTEEN))
    whole = house.evaluate_kept()
    assert (whole.evaluation.questions, whole.evaluation.unknown, whole.evaluation.figures["hit@1"]) == (1, 0, 1.0)
    house.close()
    at, real = ["--library", str(tmp_path / "library")], {"WENYUAN_ENCODER__KIND": "hashing"}
    told = json.loads(run("eval", "--kept", *at, "--json", **real).stdout)
    assert told["evaluation"]["questions"] == 1
    assert run("eval", "--kept", "--runs", *at, **real).exit_code == 2
