"""Statements that contradict one another: found after a change, decided about, told to readers, withheld."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from command_line import run
from governed_door import governed_server, key, send
from http_door import assert_problem
from wenyuan.core.access import Principal
from wenyuan.core.claims import Claim
from wenyuan.core.errors import Conflict, InvalidRequest, NotFound
from wenyuan.core.model import RetrievalRequest, Source
from wenyuan.core.principals import Sight, reading_as
from wenyuan.mcp.tools import _block
from wenyuan.service.conflicts import finder
from wenyuan.service.document_details import DetailsRequest
from wenyuan.service.search.searcher import SearchRequest
from wenyuan.service.verification import VerifyRequest, as_data

ENCODER = {"WENYUAN_ENCODER__KIND": "builtin"}
POLICY = "# 客户服务制度\n\n## 投诉\n\n客户投诉应当在 24 小时内回复客户并登记。\n\n## 退款\n\n退款申请由客服主管审核，审核通过后原路退回。\n"
QUESTIONS = "# 新员工问答\n\n## 投诉怎么办\n\n客户投诉应当在 48 小时内回复客户并登记。\n"


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Any]:
    """A library of two sources, the second of which is trusted less."""
    for name, text in (("policies", POLICY), ("faq", QUESTIONS)):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.md").write_text(text, "utf-8")
    with wenyuan.create(tmp_path / "library") as library:
        library.add(Source(source_id="policies", path=str(tmp_path / "policies"), trust=5))
        library.add(Source(source_id="faq", path=str(tmp_path / "faq"), trust=2))
        yield library


def told(library: Any, question: str = "客户投诉多久回复") -> dict[str, Any]:
    """The conflicts of each source's fragments."""
    found = library.retrieve_fragments(RetrievalRequest(query=question, max_results=10)).fragments
    assert found
    return {one.metadata["source_id"]: one.metadata["conflicts"] for one in found if "conflicts" in one.metadata}


def contents(library: Any) -> list[str]:
    return [
        one.content
        for one in library.retrieve_fragments(RetrievalRequest(query="客户投诉多久回复", max_results=10)).fragments
    ]


def test_a_conflict_is_found_with_both_statements_and_which_one_holds(house: Any) -> None:
    """By trust; what was compared is not compared again, and nothing is kept of a passage that went."""
    assert house.conflicts.behind()
    update = house.conflicts.find()
    assert update.conflicts == 1 and update.passages > 1 and not house.conflicts.behind()
    assert house.conflicts.find().passages == 0
    (one,) = house.conflicts.listed()
    assert {one.first.quote, one.second.quote} == {
        "客户投诉应当在 24 小时内回复客户并登记。", "客户投诉应当在 48 小时内回复客户并登记。"
    }  # fmt: skip
    holds, why = one.verdict
    assert (getattr(one, holds).passage.source_id, why, one.kind) == ("policies", "trust", "number_changed")
    house.remove("faq")
    assert house.conflicts.listed() == () and house.conflicts.find().conflicts == 0


def test_of_a_whole_library_only_statements_in_the_words_of_another_are_searched(
    house: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is found is the same as when each statement is searched, as of few passages."""
    (tmp_path / "policies" / "invoices.md").write_text("# 发票\n\n发票应当在 10 天内开具并寄给客户。\n", "utf-8")
    house.ingest("policies")
    house.conflicts.find(anew=True)
    found = [one.conflict_id for one in house.conflicts.listed()]
    searched: list[Any] = []
    keyword = type(house.conflicts.engine).keyword
    monkeypatch.setattr(
        type(house.conflicts.engine),
        "keyword",
        lambda engine, words, **rest: searched.append(words) or keyword(engine, words, **rest),
    )
    house.conflicts.find(anew=True)
    each = len(searched)
    monkeypatch.setattr(finder, "_MANY", 1)
    steps: list[tuple[int, int]] = []
    update = house.conflicts.find(anew=True, progress=lambda done, count: steps.append((done, count)))
    assert [one.conflict_id for one in house.conflicts.listed()] == found and len(found) == 1
    assert len(searched) - each == 2 < each
    assert steps == [(0, update.passages), (update.passages, update.passages)]


def test_a_new_version_of_a_document_ends_or_begins_a_conflict(house: Any, tmp_path: Path) -> None:
    """Only the passages that changed are compared; a decision counts again when the words are again what they were."""
    house.conflicts.find()
    (one,) = house.conflicts.listed()
    house.conflicts.decide(one.conflict_id, "later", note="ask Wang")
    with pytest.raises(Conflict, match="decided about already: later, by local"):
        house.conflicts.decide(one.conflict_id, "both")
    file = tmp_path / "faq" / "faq.md"
    file.write_text(QUESTIONS.replace("48", "24"), "utf-8")
    house.ingest("faq")
    house.conflicts.find()
    assert house.conflicts.listed() == ()
    file.write_text(QUESTIONS, "utf-8")
    house.ingest("faq")
    update = house.conflicts.find()
    assert 0 < update.passages < 4
    (again,) = house.conflicts.listed()
    assert (again.conflict_id, again.state) == (one.conflict_id, "later")


def test_whoever_reads_one_statement_is_told_of_the_other(house: Any) -> None:
    """With its words, its address and which one holds; nothing where it was decided that both hold, or out of scope."""
    assert told(house) == {}
    house.conflicts.find()
    found = told(house)
    ((policy,), (faq,)) = found["policies"], found["faq"]
    assert (policy["holds"], faq["holds"], faq["why"]) == ("this", "other", "trust")
    assert "24 小时" in faq["other"] and faq["other_uri"].split("#")[0].endswith("policies.md")
    alone = house.search("客户投诉多久回复", sources=["faq"])
    assert alone.hits and not any(one.disputes for one in alone.passages.values())
    house.conflicts.decide(policy["conflict_id"], "both")
    assert told(house) == {}
    house.conflicts.decide(policy["conflict_id"], "open")
    assert told(house)["faq"]


def test_kept_answers_know_what_is_found_and_decided_later(house: Any) -> None:
    """A question that is asked again is not answered from before: neither when a conflict is found nor when it is decided."""

    def disputes() -> list[str]:
        passages = house.find(SearchRequest(query="客户投诉多久回复")).passages
        return [one["holds"] for found in passages for one in found.passage.disputes]

    assert disputes() == disputes() == []
    house.conflicts.find()
    assert sorted(disputes()) == ["other", "this"]
    (one,) = house.conflicts.listed()
    house.conflicts.decide(one.conflict_id, "both")
    assert disputes() == []


def test_a_decision_beats_trust_and_is_audited(house: Any) -> None:
    """An unknown state, a note too long, an id of nothing are refused."""
    house.conflicts.find()
    (one,) = house.conflicts.listed()
    side = "first" if one.first.passage.source_id == "faq" else "second"
    decided = house.conflicts.decide(one.conflict_id, side, note="the team agreed", principal=Principal(key_id="k1"))
    assert decided.verdict == (side, "decision") and decided.decision.actor == "k1"
    assert told(house)["policies"][0]["holds"] == "other"
    (record,) = house.audit.list(kind="conflict")
    assert one.conflict_id in str(record) and "the team agreed" in str(house.audit.show(record.audit_id))
    with pytest.raises(InvalidRequest, match="no state of a conflict"):
        house.conflicts.decide(one.conflict_id, "maybe")
    with pytest.raises(InvalidRequest, match="at most 1000"):
        house.conflicts.decide(one.conflict_id, "both", note="x" * 1_001)
    with pytest.raises(NotFound):
        house.conflicts.decide("0" * 16, "both")


def test_the_statement_that_does_not_hold_can_be_withheld(tmp_path: Path, house: Any) -> None:
    """`search.withhold_disputed`; where nothing else was found, the reason says so."""
    house.conflicts.find()
    folder = house.folder
    house.close()
    with wenyuan.open(folder, search={"withhold_disputed": True}) as strict:
        assert set(told(strict)) == {"policies"} and "48" not in str(contents(strict))
        assert strict.conflicts.listed() and told(strict)["policies"][0]["holds"] == "this"


def test_a_conflict_whose_passage_is_gone_is_not_decided(house: Any, tmp_path: Path) -> None:
    """Between the list and the decision a document was changed: there is no such conflict any more, and nothing is kept of it."""
    house.conflicts.find()
    (found,) = house.conflicts.listed()
    (tmp_path / "faq" / "faq.md").write_text("# 新员工问答\n\n食堂在二楼。\n", "utf-8")
    house.ingest("faq")
    with pytest.raises(NotFound):
        house.conflicts.decide(found.conflict_id, "first")
    assert found.conflict_id not in house.catalog.conflict_decisions()
    house.conflicts.find()
    assert house.conflicts.listed() == ()


def test_a_document_whose_last_day_is_set_contradicts_no_more(house: Any) -> None:
    """Past that day it is not in force; taking the day back, it contradicts as before, and a decision stays."""
    house.conflicts.find()
    (found,) = house.conflicts.listed()
    house.conflicts.decide(found.conflict_id, "second")
    number = (
        found.second.passage.document_id
        if found.second.passage.source_id == "faq"
        else found.first.passage.document_id
    )
    ended = house.details_desk.set_details(number, DetailsRequest(effective_until="2020-01-01"))
    house.conflicts.find()
    assert house.conflicts.listed() == ()
    house.details_desk.set_details(ended, DetailsRequest(as_read=("effective_until",)))
    house.conflicts.find()
    (again,) = house.conflicts.listed()
    assert (again.conflict_id, again.state) == (found.conflict_id, "second")


def test_hidden_documents_are_in_no_conflict_that_others_see(house: Any) -> None:
    """Neither listed nor told to who may not read one side; finding them anew with such eyes takes nothing away."""
    house.conflicts.find()
    document = next(one["document_id"] for one in house.list_documents().documents if "faq" in one["uri"])
    house.set_readers(document, {"readers": ["group:hr"]})
    with reading_as(Sight.of({"user:li"})):
        assert house.conflicts.listed() == ()
        assert told(house) == {}
        house.conflicts.find(anew=True)
    assert len(house.conflicts.listed()) == 1


def test_a_document_of_tomorrow_contradicts_from_tomorrow_on(house: Any, tmp_path: Path) -> None:
    """It is compared when its day has come, though nothing changed; both days count."""
    tomorrow = date.today() + timedelta(days=1)
    text = (
        f"---\neffective_from: {tomorrow}\n---\n# 热线须知\n\n## 规定\n\n客户投诉应当在 12 小时内回复客户并登记。\n"
    )
    (tmp_path / "faq" / "later.md").write_text(text, "utf-8")
    house.ingest("faq")
    assert house.conflicts.find().conflicts == 1
    assert house.conflicts.find(today=tomorrow).conflicts > 1
    assert len(house.conflicts.listed()) == 1


def test_a_verdict_says_what_is_in_dispute(house: Any) -> None:
    """A verdict's evidence names the other statement; what lies outside of the quote does not count."""
    house.conflicts.find()
    claims = (
        Claim("客户投诉应当在 48 小时内回复客户并登记。"),
        Claim("退款申请由客服主管审核，审核通过后原路退回。"),
    )
    disputed, other = as_data(house.verify(VerifyRequest(claims=claims)))["claims"]
    assert disputed["verdict"] == "verbatim" and "24 小时" in disputed["evidence"][0]["conflicts"][0]["other"]
    assert "conflicts" not in other["evidence"][0]


def test_a_person_is_erased_from_notes_on_decisions(house: Any) -> None:
    """The decision stays, and says no more who was asked."""
    house.conflicts.find()
    (one,) = house.conflicts.listed()
    house.conflicts.decide(one.conflict_id, "first", note="欧阳雪松确认以制度为准")
    house.erasures.erase(house.erasures.person(["欧阳雪松"]))
    (after,) = house.conflicts.listed()
    assert after.state == "first" and "欧阳雪松" not in after.decision.note


@pytest.mark.parametrize(
    ("language", "lost", "held"),
    [
        ("zh", "为准（依判定）：", "以此处为准（依判定）"),
        ("en", "holds instead (as was decided)", "This one holds (as was decided)"),
    ],
)
def test_the_command_line_says_which_statement_holds(house: Any, language: str, lost: str, held: str) -> None:
    """Of a search and of a verdict, in both languages."""
    house.conflicts.find()
    (one,) = house.conflicts.listed()
    house.conflicts.decide(one.conflict_id, "first")
    folder = str(house.folder)
    house.close()
    said = ("--library", folder, "--lang", language)
    found = " ".join(run("search", "客户投诉多久回复", *said, **ENCODER).stdout.split())
    assert lost in found and held in found
    judged = run("verify", one.second.quote, *said, **ENCODER)
    assert lost in " ".join(judged.stdout.split())


def test_the_command_line_lists_shows_and_decides(house: Any) -> None:
    """Without a `find` before; in both languages, and as JSON."""
    folder = str(house.folder)
    house.close()
    listed = json.loads(run("conflicts", "list", "--library", folder, "--json", **ENCODER).stdout)
    (one,) = listed["conflicts"]
    assert one["holds"] and one["why"] == "trust"
    shown = run("conflicts", "list", "--library", folder, "--lang", "zh", **ENCODER).stdout
    assert "数值不同" in shown and "可信度更高" in shown and "48 小时" in shown
    assert "24 小时" in run("conflicts", "show", one["conflict_id"], "--library", folder, **ENCODER).stdout
    decided = run("conflicts", "decide", one["conflict_id"], "--as", "both", "--library", folder, **ENCODER)
    assert decided.exit_code == 0 and "no conflict" in decided.stdout
    assert json.loads(run("conflicts", "list", "--library", folder, "--json", **ENCODER).stdout)["conflicts"] == []
    found = run("search", "客户投诉多久回复", "--library", folder, "--lang", "zh", **ENCODER).stdout
    assert "存在矛盾" not in found  # both hold
    run("conflicts", "decide", one["conflict_id"], "--as", "open", "--library", folder, **ENCODER)
    found = run("search", "客户投诉多久回复", "--library", folder, "--lang", "zh", **ENCODER).stdout
    assert "以此处为准（可信度更高）；《新员工问答》说法不同" in found
    assert run("conflicts", "show", "0" * 16, "--library", folder, **ENCODER).exit_code == 2


def test_tools_of_agents_say_what_is_in_dispute(house: Any) -> None:
    """In the text of the block, with the other statement's words and which one holds."""
    house.conflicts.find()
    found = house.retrieve_fragments(RetrievalRequest(query="客户投诉多久回复", max_results=10)).fragments
    texts = [_block(one).text for one in found if one.metadata["source_id"] == "faq"]
    assert "IN DISPUTE: 客户服务制度 <file://" in texts[0] and "24 小时" in texts[0] and "that one holds" in texts[0]


def test_over_http_operators_find_list_and_decide(tmp_path: Path) -> None:
    """Keys of agents and without the right see none; what is no state is refused."""
    with governed_server(tmp_path) as (url, library):
        (tmp_path / "more").mkdir()
        for name, text in (("a", POLICY), ("b", QUESTIONS)):
            (tmp_path / "more" / f"{name}.md").write_text(text, "utf-8")
        library.add(Source(source_id="more", path=str(tmp_path / "more")))
        admin = key(library, "registry")
        assert send(url, "GET", "/v1/conflicts", token=admin).json["behind"] is True
        assert send(url, "POST", "/v1/conflicts/find", {}, token=admin).json["conflicts"] == 1
        (one,) = send(url, "GET", "/v1/conflicts?source=more", token=admin).json["conflicts"]
        assert one["holds"] == "" and one["changes"][0]["was"]
        path = f"/v1/conflicts/{one['conflict_id']}"
        assert send(url, "POST", path, {"state": "first", "note": "x"}, token=admin).json["holds"] == "first"
        assert send(url, "GET", "/v1/conflicts?state=open", token=admin).json["conflicts"] == []
        body = {"query": "客户投诉多久回复", "nearest": True}
        passages = send(url, "POST", "/v1/search", body, token=key(library, "search")).json["passages"]
        assert any("48 小时" in str(one.get("conflicts")) for one in passages)
        assert_problem(send(url, "POST", path, {"state": "maybe"}, token=admin), 400, "invalid_request")
        assert_problem(send(url, "POST", "/v1/conflicts/none", {"state": "both"}, token=admin), 404, "not_found")
        assert_problem(send(url, "GET", "/v1/conflicts", token=key(library, "search")), 403, "not_permitted")
