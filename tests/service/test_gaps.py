"""Questions that were not answered well: found in the audit, grouped, decided about, and closed by a better library."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from command_line import run
from governed_door import governed_server, key, send
from http_door import assert_problem
from wenyuan.core.access import Agent, DomainScope, Principal
from wenyuan.core.errors import Conflict, InvalidRequest, KnowledgeError, NotFound
from wenyuan.core.gaps import digest_of
from wenyuan.core.model import Source
from wenyuan.service.gaps.grouping import groups_of
from wenyuan.service.search.searcher import SearchRequest

LEAVE = "# 休假制度\n\n## 年假\n\n员工工作满一年后，每年享有五天带薪年假，未休完的年假可以顺延至次年三月底。\n"
CANTEEN = "# 食堂管理\n\n## 开放时间\n\n公司食堂早餐七点开放，午餐十一点半开放，晚餐五点半开放，周末不开放。\n"


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Any]:
    """A library about leave."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "leave.md").write_text(LEAVE, "utf-8")
    with wenyuan.create(tmp_path / "library") as library:
        library.add(Source(source_id="rules", path=str(tmp_path / "docs")))
        yield library


def asked(library: Any, *questions: str, agent: str | None = None) -> None:
    for question in questions:
        library.find(SearchRequest(query=question, agent_id=agent))


def open_questions(library: Any, **how: Any) -> list[str]:
    return [gap.question for gap in library.gaps.find(**how).gaps if gap.state == "open"]


def test_what_is_answered_is_no_gap_and_what_is_not_is_one(house: Any) -> None:
    """An answered question is counted and not listed; one on what the library does not hold is."""
    asked(house, "年假有几天", "量子纠缠的贝尔不等式怎么证明")
    report = house.gaps.find()
    assert [gap.question for gap in report.gaps] == ["量子纠缠的贝尔不等式怎么证明"]
    assert (report.questions, report.closed, report.complete, report.failed) == (2, 0, True, ())


def test_questions_of_one_meaning_are_one_gap(house: Any) -> None:
    """Other words, width, case and end marks: one gap, whose question is what was asked most."""
    asked(house, "食堂几点开门", "食堂几点开门？", "公司食堂几点营业", "宇航服在哪里领取")
    gaps = house.gaps.find().gaps
    assert [(gap.count, gap.question) for gap in gaps] == [(3, "食堂几点开门？"), (1, "宇航服在哪里领取")]
    assert set(gaps[0].wordings) == {"食堂几点开门？", "公司食堂几点营业"}


def test_different_codes_are_different_gaps() -> None:
    """Equal vectors do not unite questions that name different codes."""
    import numpy as np

    texts = ["kiosk shows E-34", "kiosk shows E-75", "the kiosk says E-34"]
    assert groups_of(texts, np.ones((3, 1))) == [0, 1, 0]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("when does the north gate open", "when does the south gate open", "when does the northern gate open"),
        ("北门几点开放", "南门几点开放", "北侧门几点开放"),
        ("is there training on Monday", "is there training on Fridays", "is there training on Mondays"),
        ("before the audit, what is filed", "after the audit, what is filed", "prior to the audit, what is filed"),
        ("how do I enable the sensor", "how do I disable the sensor", "how is the sensor enabled, enables"),
        ("入口的闸机坏了", "出口处的闸机坏了", "入口闸机坏了"),
    ],
)
def test_words_that_exclude_one_another_are_different_gaps(one: str, other: str, same: str) -> None:
    """Equal vectors do not unite north and south, before and after; other forms of one word are united."""
    import numpy as np

    assert groups_of([one, other, same], np.ones((3, 1))) == [0, 1, 0]


@pytest.mark.parametrize(
    "texts",
    [("north gate hours", "北门开放时间"), ("北京办公室地址", "东京办公室地址"), ("西门子售后", "西门子维修")],
)
def test_what_excludes_nothing_is_united(texts: tuple[str, str]) -> None:
    """One direction in two languages is one; a name of a town or a firm says none, and who says none excludes none."""
    import numpy as np

    assert groups_of(texts, np.ones((2, 1))) == [0, 0]
    assert groups_of(["opening hours of the pool", "hours of the pool"], np.ones((2, 1))) == [0, 0]


def test_a_question_of_chosen_sources_is_asked_of_them_again(house: Any, tmp_path: Path) -> None:
    """What another source says closes no gap of a question that was asked of chosen sources, and their own does."""
    house.search("食堂几点开门", sources=["rules"])
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "canteen.md").write_text(CANTEEN, "utf-8")
    house.add(Source(source_id="other", path=str(tmp_path / "other")))
    assert house.gaps.ask_again() == ()
    assert open_questions(house) == ["食堂几点开门"]
    (tmp_path / "docs" / "canteen.md").write_text(CANTEEN.replace("公司", "本公司"), "utf-8")
    house.add(Source(source_id="rules", path=str(tmp_path / "docs")))
    assert [gap.question for gap in house.gaps.ask_again()] == ["食堂几点开门"]


def test_without_vectors_common_words_unite() -> None:
    """A library without an encoder groups by words."""
    assert groups_of(["parking permit price", "price of a parking permit", "lost badge"], None) == [0, 0, 1]


def test_a_question_called_wrong_is_a_gap_however_probable(house: Any) -> None:
    """Feedback decides: wrong makes a gap; right and wrong parts do not."""
    audit_id = house.search("年假有几天").audit_id
    house.give_feedback(audit_id, bad=["1"])
    (gap,) = house.gaps.find().gaps
    assert (gap.question, dict(gap.reasons)) == ("年假有几天", {"marked_bad": 1})


def test_a_question_asked_again_in_other_words_is_a_gap(house: Any) -> None:
    """The same caller asks for the same thing in other words: the first answer did not do."""
    asked(house, "年假有几天", "每年的年假一共有几天")
    found = {gap.question: dict(gap.reasons) for gap in house.gaps.find().gaps}
    assert found == {"年假有几天": {"asked_again": 1}}


def test_a_failure_is_told_apart_and_is_no_gap(house: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """FAILED is listed with its reason, never as something that the library does not know."""
    from wenyuan.core.errors import EngineTimeout

    def broken(*_: Any, **__: Any) -> Any:
        raise EngineTimeout("too slow")

    with monkeypatch.context() as broken_engine:
        broken_engine.setattr(house.engine, "keyword", broken)
        with pytest.raises(KnowledgeError):
            asked(house, "年假有几天")
    report = house.gaps.find()
    assert report.gaps == ()
    assert [(one.text, one.code) for one in report.failed] == [("年假有几天", "engine_timeout")]


def test_a_decision_holds_for_all_wordings_and_can_be_taken_back(house: Any) -> None:
    """Out of scope: no wording is open, nor is a new one of the same meaning; open takes it back."""
    asked(house, "食堂几点开门", "公司食堂几点营业")
    (gap,) = house.gaps.find().gaps
    decided = house.gaps.decide(digest_of("公司食堂几点营业"), "out_of_scope", note="问行政")
    assert (decided.state, decided.decision.note, decided.decision.actor) == ("out_of_scope", "问行政", "local")
    asked(house, "食堂什么时候开门")
    assert open_questions(house) == []
    house.gaps.decide(gap.gap_id, "open")
    assert len(open_questions(house)) == 1


def test_a_decision_takes_no_others_place_unseen(house: Any) -> None:
    """Who has not seen the decision that there is is told of it, by whom and when; who has, or says so, decides."""
    asked(house, "食堂几点开门")
    name = digest_of("食堂几点开门")
    first = house.gaps.decide(name, "out_of_scope", note="问行政", principal=Principal(key_id="li"))
    with pytest.raises(Conflict, match="out_of_scope, by li, at 20"):
        house.gaps.decide(name, "later", principal=Principal(key_id="wu"))
    assert house.gaps.gap(name).decision == first.decision
    assert house.gaps.decide(name, "out_of_scope", note="问行政").decision.actor == "local", (
        "the same may be said twice"
    )
    with pytest.raises(Conflict):
        house.gaps.decide(name, "later", decided_at=first.decision.at)
    seen = house.gaps.gap(name).decision.at
    later = house.gaps.decide(name, "later", decided_at=seen)
    assert house.gaps.decide(name, "out_of_scope", again=True).decision.state == "out_of_scope"
    with pytest.raises(Conflict):
        house.gaps.decide(name, "open", decided_at=later.decision.at)
    house.gaps.decide(name, "open")
    with pytest.raises(Conflict, match="taken back"):
        house.gaps.decide(name, "later", decided_at=later.decision.at)


def test_two_who_decide_at_once(house: Any) -> None:
    """Of many who decide at the same time without having seen each other, one does and the others are told."""
    asked(house, "食堂几点开门")
    name, start = digest_of("食堂几点开门"), threading.Barrier(6)

    def decide(number: int) -> str:
        start.wait()
        try:
            house.gaps.decide(name, "later", note=str(number))
        except Conflict:
            return ""
        return str(number)

    with ThreadPoolExecutor(6) as pool:
        (won,) = filter(None, pool.map(decide, range(6)))
    assert house.gaps.gap(name).decision.note == won


def test_a_decision_is_audited_without_the_question(house: Any) -> None:
    """The record says what was decided about which digest; the words stay where they can be erased."""
    asked(house, "食堂几点开门")
    house.gaps.decide(digest_of("食堂几点开门"), "later", note="下周")
    (record,) = house.audit.list(kind="gap")
    assert record.record["object"] == digest_of("食堂几点开门")
    assert "食堂" not in json.dumps(record.record, ensure_ascii=False)


def test_a_better_library_closes_gaps_when_they_are_asked_again(house: Any, tmp_path: Path) -> None:
    """A document comes, the gap is asked again and closed; another one stays."""
    asked(house, "食堂早餐几点开放", "宇航服在哪里领取")
    assert house.gaps.ask_again() == ()
    (tmp_path / "docs" / "canteen.md").write_text(CANTEEN, "utf-8")
    house.ingest("rules")
    closed = house.gaps.ask_again()
    assert [gap.question for gap in closed] == ["食堂早餐几点开放"]
    assert open_questions(house) == ["宇航服在哪里领取"]
    assert house.gaps.find().closed == 1


def test_each_agents_gaps_are_its_own(house: Any) -> None:
    """The same question may be answered for one agent and not for another; both can be asked for."""
    house.catalog.put_agent(Agent(agent_id="hr", knowledge_scope=(DomainScope(domain="rules"),)))
    house.catalog.put_source(Source(source_id="empty"))
    house.catalog.put_agent(Agent(agent_id="shop", knowledge_scope=(DomainScope(domain="empty"),)))
    asked(house, "年假有几天", agent="hr")
    asked(house, "年假有几天", agent="shop")
    (gap,) = house.gaps.find().gaps
    assert gap.agents == ("shop",)
    assert house.gaps.find(agent="hr").gaps == ()


def test_old_questions_are_left_out(house: Any) -> None:
    """Only the days asked for count."""
    asked(house, "食堂几点开门")
    assert len(open_questions(house, days=1)) == 1
    later = house.gaps.__class__(
        catalog=house.catalog, recorder=house.recorder, encoder=house.encoder, recorded=None,
        clock=lambda: time.time() + 3 * 86_400,
    )  # fmt: skip
    assert later.find(days=1).gaps == ()
    assert len(later.find(days=7).gaps) == 1


def test_what_cannot_be_known_is_refused(house: Any, tmp_path: Path) -> None:
    """Days that are none, states that are none, gaps that are none; and an audit that is off."""
    for days in (0, -1, float("nan"), float("inf")):
        with pytest.raises(InvalidRequest):
            house.gaps.find(days=days)
    asked(house, "食堂几点开门")
    with pytest.raises(InvalidRequest):
        house.gaps.decide(digest_of("食堂几点开门"), "solved")
    with pytest.raises(NotFound):
        house.gaps.decide("0" * 16, "later")
    with (
        wenyuan.create(tmp_path / "silent", audit={"enabled": False}) as silent,
        pytest.raises(KnowledgeError, match="audit"),
    ):
        silent.gaps.find()


def test_over_http_operators_see_gaps_and_agents_do_not(tmp_path: Path) -> None:
    """An operator lists, decides and asks again; an agent's key is refused, whatever its rights; unknown is 404."""
    with governed_server(tmp_path) as (url, library):
        operator = key(library, "audit", "search", "retrieve")
        found = send(url, "POST", "/v1/retrieve_fragments", {"query": "客户投诉", "max_results": 5}, operator).json
        wrong = {"audit_id": found["fragments"][0]["metadata"]["audit_id"], "bad": ["1"]}
        send(url, "POST", "/v1/feedback", wrong, operator)
        listed = send(url, "GET", "/v1/gaps?days=1", None, operator)
        (gap,) = listed.json["gaps"]
        assert (gap["question"], gap["state"], gap["reasons"]) == ("客户投诉", "open", {"marked_bad": 1})
        said = {"state": "out_of_scope", "note": "not ours"}
        assert send(url, "POST", f"/v1/gaps/{gap['gap_id']}", said, operator).json["state"] == "out_of_scope"
        assert send(url, "GET", "/v1/gaps?state=open", None, operator).json["gaps"] == []
        assert send(url, "POST", "/v1/gaps/ask", {}, operator).json == {"closed": []}
        assert_problem(send(url, "POST", "/v1/gaps/unknown", said, operator), 404, "not_found")
        assert_problem(send(url, "GET", "/v1/gaps?days=0", None, operator), 400, "invalid_request")
        bound = key(library, "audit", "search", agent="support")
        assert_problem(send(url, "GET", "/v1/gaps", None, bound), 403, "not_permitted")


def test_on_the_command_line_gaps_are_listed_shown_decided_and_asked(house: Any, tmp_path: Path) -> None:
    """Each command, in JSON and in words, in both languages."""
    asked(house, "食堂几点开门", "公司食堂几点营业")
    house.close()
    at = ["--library", str(tmp_path / "library")]
    real = {"WENYUAN_ENCODER__KIND": "builtin"}
    listed = json.loads(run("gaps", "list", *at, "--json", **real).stdout)
    (gap,) = listed["gaps"]
    assert gap["count"] == 2
    assert "没有答好" in run("gaps", "list", *at, "--lang", "zh", **real).stdout
    assert "食堂" in run("gaps", "show", gap["gap_id"], *at, "--lang", "en", **real).stdout
    assert json.loads(run("gaps", "ask", *at, "--json", **real).stdout)["closed"] == []
    assert (
        "out of scope"
        in run("gaps", "decide", gap["gap_id"], "--as", "out_of_scope", *at, "--lang", "en", **real).stdout
    )
    assert json.loads(run("gaps", "list", *at, "--json", **real).stdout)["gaps"] == []
    assert run("gaps", "show", "unknown", *at, **real).exit_code != 0


def test_asking_again_does_not_count_as_asked(house: Any) -> None:
    """However often a gap is asked again or shown, it was asked as often as people did."""
    asked(house, "食堂几点开门")
    for _ in range(2):
        house.gaps.ask_again()
    (gap,) = house.gaps.find().gaps
    house.gaps.nearest(gap)
    report = house.gaps.find()
    assert (report.gaps[0].count, report.questions) == (1, 1)
    (record,) = house.audit.list(kind="gap", limit=1)
    assert record.record["action"] == "asked"


def test_the_same_answer_again_does_not_close_what_was_called_wrong(house: Any) -> None:
    """Only another answer closes a gap that its caller's word had opened."""
    house.give_feedback(house.search("年假有几天").audit_id, bad=["1"])
    assert house.gaps.ask_again() == ()
    assert open_questions(house) == ["年假有几天"]


def test_a_page_that_is_shown_again_does_not_close_what_was_called_wrong_on_it(house: Any) -> None:
    """The same answer to the same caller says nothing new; that he calls it right does, and so does another answer."""
    house.give_feedback(house.search("年假有几天").audit_id, bad=["1"])
    asked(house, "年假有几天", "年假有几天")
    (gap,) = house.gaps.find().gaps
    assert (gap.question, dict(gap.reasons)) == ("年假有几天", {"marked_bad": 1})
    house.give_feedback(house.search("年假有几天").audit_id, good=["1"])
    assert open_questions(house) == []


def test_a_gap_stays_open_for_whom_the_answer_is_hidden(tmp_path: Path) -> None:
    """It is asked with the eyes of whoever asked: what an administrator or a colleague may read closes nobody else's gap."""
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "leave.md").write_text(LEAVE, "utf-8")
    with wenyuan.create(tmp_path / "library") as library:
        library.add(Source(source_id="docs", path=str(docs)))
        rights = frozenset({"search"})
        outsider, insider = (Principal(key_id=f"k{n}", user=f"user:{n}", rights=rights) for n in "ab")
        for who in (outsider, insider):
            library.find(SearchRequest(query="食堂早餐几点开放"), who)
        (docs / "canteen.md").write_text(CANTEEN, "utf-8")
        (docs / ".readers.yaml").write_text("readers: [everyone]\n", "utf-8")
        library.ingest("docs")
        number = next(one["document_id"] for one in library.list_documents().documents if "canteen" in one["uri"])
        library.set_readers(number, {"readers": ["user:b"]})
        library.gaps.ask_again()
        (gap,) = library.gaps.find().gaps
        assert gap.count == 1
        assert library.find(SearchRequest(query="食堂早餐几点开放"), insider).passages
        assert len(library.gaps.find().gaps) == 1


def test_marks_alone_are_questions_of_their_own() -> None:
    """A question of nothing but marks is not the empty question."""
    assert len({digest_of("。。。？？"), digest_of("!!"), digest_of("")}) == 3


def test_what_is_not_kept_whole_is_not_asked_again(tmp_path: Path) -> None:
    """Of a question that is not kept there is a masked beginning only: asking that would be another question."""
    with wenyuan.create(tmp_path / "library", audit={"keep_queries": False}) as library:
        (tmp_path / "canteen.md").write_text(LEAVE, "utf-8")
        library.add(Source(source_id="docs", path=str(tmp_path / "canteen.md")))
        asked(library, "食堂早餐几点开放")
        (tmp_path / "canteen.md").write_text(CANTEEN, "utf-8")
        library.ingest("docs")
        assert library.gaps.ask_again() == ()
        assert len(library.gaps.find().gaps) == 1


def test_it_is_asked_again_within_the_trust_of_then(house: Any, tmp_path: Path) -> None:
    """Who asked for trust 3 is not answered by what has trust 2."""
    house.find(SearchRequest(query="食堂早餐几点开放", min_trust=3))
    (tmp_path / "canteen.md").write_text(CANTEEN, "utf-8")
    house.add(Source(source_id="rumours", path=str(tmp_path / "canteen.md"), trust=2))
    assert house.gaps.ask_again() == ()
    house.add(Source(source_id="rules2", path=str(tmp_path / "canteen.md"), trust=5))
    assert [gap.question for gap in house.gaps.ask_again()] == ["食堂早餐几点开放"]
