"""What rests on documents, passages and rules: recorded answers that quoted them, and what the same questions get now."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from command_line import run
from governed_door import governed_server, key, send
from http_door import assert_problem
from wenyuan.core.access import Agent, DomainScope
from wenyuan.core.errors import InvalidRequest, KnowledgeError, NotFound
from wenyuan.core.model import Source
from wenyuan.service.document_details import DetailsRequest
from wenyuan.service.impact.finder import nearest_sentences
from wenyuan.service.operations.change_review import ReviewThread
from wenyuan.service.search.searcher import SearchRequest

POLICY = (
    "# 客户投诉\n\n客户投诉须在 24 小时内回复客户。投诉热线电话由值班经理接听。\n\n# 年假\n\n员工每年享有五天年假。\n"
)
CHANGED = POLICY.replace("24 小时", "48 小时")
ASKED = "客户投诉几小时内回复"
HOTLINE = "投诉热线电话由谁接听"


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Any]:
    """A library with one policy, of which an agent may ask."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "policy.md").write_text(POLICY, "utf-8")
    with wenyuan.create(tmp_path / "library", encoder={"kind": "hashing"}) as library:
        library.add(Source(source_id="rules", path=str(tmp_path / "docs")))
        library.catalog.put_agent(Agent(agent_id="desk", knowledge_scope=(DomainScope(domain="rules"),)))
        library.change_review.begin()
        yield library


def ask(library: Any, *questions: str, agent: str | None = None, task: str = "") -> None:
    for question in questions:
        library.find(SearchRequest(query=question, agent_id=agent, task_id=task))


def change(library: Any, folder: Path, text: str) -> None:
    (folder / "docs" / "policy.md").write_text(text, "utf-8")
    library.ingest("rules")


def number_of(library: Any) -> str:
    (found,) = library.list_documents(source="rules").documents
    return str(found["document_id"])


def test_answers_on_a_changed_sentence_read_otherwise_and_those_on_its_neighbour_do_not(
    house: Any, tmp_path: Path
) -> None:
    """Both quoted the clause of which one sentence changed; who asked about the other one is answered as before."""
    ask(house, ASKED, ASKED, HOTLINE, "员工每年几天年假")
    assert house.impact.of(number_of(house)).resting == 0
    change(house, tmp_path, CHANGED)
    found = house.impact.of(number_of(house))
    assert (found.answers, found.resting, found.same, found.differs, found.unknown, found.left) == (4, 3, 1, 2, 0, 0)
    worst, other = found.examples
    assert (worst.outcome, worst.count, worst.question) == ("differs", 2, ASKED)
    assert "24 小时" in worst.was and "48 小时" in worst.now
    assert (other.outcome, other.question) == ("same", HOTLINE)


def test_a_change_is_connected_with_answers_that_quoted_the_text_under_a_former_number(
    house: Any, tmp_path: Path
) -> None:
    """A title that somebody sets gives the passages other numbers; what was asked before still rests on the clause that changes then."""
    ask(house, ASKED, "员工每年几天年假")
    house.details_desk.set_details(int(number_of(house)), DetailsRequest(title="客户服务制度"))
    assert house.change_review.review().impact.resting == 0
    change(house, tmp_path, CHANGED)
    found = house.change_review.review().impact
    assert (found.answers, found.differs) == (2, 1) and found.examples[0].question == ASKED


def test_it_is_told_who_asked_and_for_what(house: Any, tmp_path: Path) -> None:
    """Agents and tasks are counted; what was asked again for an owner is not."""
    ask(house, ASKED, agent="desk", task="ticket-7")
    ask(house, ASKED)
    house.gaps.ask_again()
    found = house.impact.of(number_of(house))
    assert (found.answers, dict(found.agents), dict(found.tasks)) == (2, {"desk": 1, "": 1}, {"ticket-7": 1})


def test_a_passage_is_known_by_its_ref_after_it_is_gone(house: Any, tmp_path: Path) -> None:
    """The clause that was replaced is asked about by the number that it had; its neighbour is not concerned."""
    ask(house, ASKED, "员工每年几天年假")
    (first, *_) = house.search(ASKED).hits
    change(house, tmp_path, CHANGED)
    found = house.impact.of(f"rules#{first.passage_id}")
    assert found.resting == found.differs >= 1
    (address,) = set(house.catalog.live_documents("rules"))
    assert house.impact.of(address).answers >= found.answers


def test_a_document_that_is_gone_leaves_answers_that_nothing_gives_now(house: Any, tmp_path: Path) -> None:
    """Its answers read otherwise: nothing is given, and the old words are shown."""
    ask(house, ASKED)
    number = number_of(house)
    (tmp_path / "docs" / "policy.md").write_text("# 食堂\n\n食堂七点开门。\n", "utf-8")
    house.ingest("rules")
    (one,) = house.impact.of(number).examples
    assert one.outcome == "differs" and "24 小时" in one.was and "24 小时" not in one.now


def test_what_is_moved_within_its_document_stands(house: Any, tmp_path: Path) -> None:
    """The same clause behind another one: nothing rests on words that are gone."""
    ask(house, ASKED)
    change(house, tmp_path, "# 食堂\n\n食堂七点开门。\n\n" + POLICY)
    assert (house.impact.of(number_of(house)).answers, house.impact.of(number_of(house)).resting) == (1, 0)


def test_what_is_not_kept_is_not_known(tmp_path: Path) -> None:
    """Questions that are not kept cannot be asked again: they are counted as unknown, never as the same."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "policy.md").write_text(POLICY, "utf-8")
    kept = {"keep_queries": False}
    with wenyuan.create(tmp_path / "library", encoder={"kind": "hashing"}, audit=kept) as library:
        library.add(Source(source_id="rules", path=str(tmp_path / "docs")))
        ask(library, ASKED)
        change(library, tmp_path, CHANGED)
        found = library.impact.of(number_of(library))
        assert (found.resting, found.same, found.unknown) == (1, 0, 1)
        assert found.examples[0].why == "the question is not kept"


def test_an_audit_that_is_off_or_was_cut_says_so(house: Any, tmp_path: Path) -> None:
    """Off: nothing can be known. Cut: the report says from when on it knows."""
    with (
        wenyuan.create(tmp_path / "silent", encoder={"kind": "hashing"}, audit={"enabled": False}) as silent,
        pytest.raises(KnowledgeError, match="audit"),
    ):
        silent.add(Source(source_id="rules", path=str(tmp_path / "docs")))
        silent.impact.of("1")
    ask(house, ASKED)
    cut = time.time()
    house.audit.expire(cut, early=True)
    found = house.impact.of(number_of(house))
    assert (found.answers, found.complete, found.since) == (0, False, cut)


@pytest.mark.parametrize("target", ["", "999", "rules#999", "other#1", "rule-7", "file:///nowhere.md"])
def test_what_is_not_there_is_refused(house: Any, target: str) -> None:
    """A number, a passage, a rule or an address that nobody knows."""
    with pytest.raises((NotFound, InvalidRequest)):
        house.impact.of(target)


def test_sentences_that_share_most_with_a_question_are_chosen() -> None:
    """One of two, in order; all where nothing is shared."""
    text = "客户投诉须在 24 小时内回复客户。投诉热线电话由值班经理接听。"
    assert nearest_sentences(text, HOTLINE) == "投诉热线电话由值班经理接听。"
    assert nearest_sentences("One. Two.", "三") == "One.\nTwo."


def test_a_look_at_a_change_tells_what_it_touches_contradicts_and_closes(house: Any, tmp_path: Path) -> None:
    """Once for each change: the answers on the old clause, the FAQ that says otherwise, and the gap that the document closes."""
    ask(house, ASKED, "食堂早餐几点开放")
    (tmp_path / "docs" / "faq.md").write_text(
        "# 客户投诉\n\n客户投诉须在 72 小时内回复客户。\n\n# 食堂\n\n食堂早餐七点开放。\n", "utf-8"
    )
    change(house, tmp_path, CHANGED)
    found = house.change_review.review()
    assert (found.impact.resting, found.impact.differs, dict(found.failures)) == (1, 1, {})
    assert found.conflicts == (1, 1)
    assert [gap.question for gap in found.closed] == ["食堂早餐几点开放"]
    assert house.change_review.review() is None
    (report,) = house.change_review.reports()
    assert (report["resting"], "policy.md" in report["target"]) == (1, True)


def test_of_two_who_look_one_does(house: Any, tmp_path: Path) -> None:
    """A claim of another process holds until it runs out."""
    change(house, tmp_path, CHANGED)
    review = house.change_review
    now = time.time()
    house.catalog.set_value("review/claim", {"by": "another", "until": now + 60})
    assert review.review() is None and review.behind()
    house.catalog.set_value("review/claim", {"by": "another", "until": now - 1})
    assert review.review() is not None and not review.behind()


def test_a_server_looks_by_itself(house: Any, tmp_path: Path) -> None:
    """A thread looks when changes have come to rest, and ends when it is told to."""
    ask(house, ASKED)
    thread = ReviewThread(house.change_review, every=0.05)
    thread.start()
    try:
        change(house, tmp_path, CHANGED)
        for _ in range(600):
            if house.change_review.reports():
                break
            time.sleep(0.05)
    finally:
        thread.stop()
    assert house.change_review.reports()[0]["differs"] == 1


def test_comparing_goes_on_where_it_was_left(house: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there was no time for all passages, the rest is compared the next time, and conflicts are behind until then."""
    from wenyuan.service.conflicts import finder

    monkeypatch.setattr(finder, "_BATCH", 1)
    (tmp_path / "docs" / "faq.md").write_text(
        "# 客户投诉\n\n客户投诉须在 24 小时内回复客户。\n\n# 甲\n\n乙。\n", "utf-8"
    )
    change(house, tmp_path, "# 客户投诉\n\n客户投诉须在 48 小时内回复客户。\n")
    first = house.conflicts.find(seconds=0.0)
    assert (first.passages, house.conflicts.behind()) == (1, True)
    while house.conflicts.behind():
        house.conflicts.find(seconds=0.0)
    assert len(house.catalog.conflicts()) == 1


def test_over_http_and_on_the_command_line(tmp_path: Path) -> None:
    """Who may read the audit is told; an agent's key is not; what is not there is 404."""
    with governed_server(tmp_path) as (url, library):
        auditor = key(library, "audit")
        send(url, "POST", "/v1/search", {"query": "客户投诉"}, key(library, "search"))
        number = next(iter(library.catalog.live_documents("wiki").values()))[0]
        told = send(url, "POST", "/v1/impact", {"target": str(number)}, auditor).json
        assert (told["report"]["answers"], told["report"]["resting"], told["running"]) == (1, 0, False)
        kept = f"/v1/impact/{told['report_id']}"
        assert send(url, "GET", kept, None, auditor).json == told
        assert_problem(send(url, "GET", "/v1/impact/none", None, auditor), 404, "not_found")
        assert_problem(send(url, "GET", kept, None, key(library, "search")), 403, "not_permitted")
        assert_problem(send(url, "GET", kept, None, key(library, "audit", agent="support")), 403, "not_permitted")
        assert send(url, "GET", "/v1/impact", None, auditor).json["reports"] == []
        assert_problem(send(url, "POST", "/v1/impact", {"target": "999"}, auditor), 404, "not_found")
        assert_problem(send(url, "POST", "/v1/impact", {"target": "1", "days": 0}, auditor), 400, "invalid_request")
        bound = key(library, "audit", agent="support")
        assert_problem(send(url, "GET", "/v1/impact", None, bound), 403, "not_permitted")


def test_a_refresh_says_what_it_touched(house: Any, tmp_path: Path) -> None:
    """In the language of whoever refreshes; and the command shows the answers one by one."""
    ask(house, ASKED)
    number = number_of(house)
    house.close()
    (tmp_path / "docs" / "policy.md").write_text(CHANGED, "utf-8")
    at, real = ["--library", str(tmp_path / "library")], {"WENYUAN_ENCODER__KIND": "hashing"}
    assert "不同的 1 次" in run("refresh", "rules", *at, "--lang", "zh", **real).stdout
    told = run("impact", *at, "--lang", "en", **real)
    assert "1 answer rests on words that are not there any more; 0 read the same now, 1 do not" in " ".join(
        told.stdout.split()
    )
    assert "24 小时" in run("impact", number, *at, "--lang", "zh", **real).stdout
    assert json.loads(run("impact", number, *at, "--json", **real).stdout)["differs"] == 1
    assert run("impact", "999", *at, **real).exit_code == 2
