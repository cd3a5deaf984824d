"""Rules that a model proposes from a source: what passes waits for a person, each liar is counted, and nothing is served unseen."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from liars_outcomes import FAILING
from liars_server import FAULTS, Server, lying
from proposal_library import MORE, proposing, saying, write
from proposal_parts import BAN, CLAUSES, LIARS, PLAN, REVIEW, both
from wenyuan.core.errors import InvalidRequest, LlmBudgetSpent, LlmUnavailable, NotFound
from wenyuan.i18n.translation import texts, translated
from wenyuan.runtime import json_endpoint
from wenyuan.service.context import ContextRequest
from wenyuan.service.generation import proposals
from wenyuan.service.generation.proposals import ProposalReport, ProposeRequest, as_data
from wenyuan.service.rules.unified import RuleQuestion, UnifiedRequest
from wenyuan.service.search.searcher import SearchRequest

LANGUAGES = ("zh", "en")


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with lying() as server:
        yield server


@pytest.fixture
def server(running: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    running.begin("perfect")
    monkeypatch.setattr(json_endpoint, "_BACKOFF", 0.01)
    return running


@pytest.fixture(params=LANGUAGES)
def language(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def library(tmp_path: Path, language: str, server: Server) -> Iterator[wenyuan.Library]:
    server.lie = saying(language, REVIEW[language], PLAN[language], BAN[language])
    with proposing(tmp_path, language, server) as made:
        yield made


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, running: Server) -> Iterator[dict[str, wenyuan.Library]]:
    """Libraries for dry runs, which leave them as they are."""
    made = {name: proposing(tmp_path_factory.mktemp(name), name, running) for name in LANGUAGES}
    with made["zh"] as zh, made["en"] as en:
        yield {"zh": zh, "en": en}


def propose(library: wenyuan.Library, **more: Any) -> ProposalReport:
    return library.propose_rules(ProposeRequest(source_id="law", **more))


def waiting(library: wenyuan.Library) -> list[int]:
    return library.rules.waiting()


def told(library: wenyuan.Library, language: str) -> dict[str, str]:
    """What every door that serves rules says of the subject, as JSON."""
    name, number = {"zh": ("基坑工程", "depth_m"), "en": ("Invoices", "age_years")}[language]
    inferred = library.infer_rules(RuleQuestion(processes=(name,), parameters={number: 20}))
    united = library.retrieve(UnifiedRequest(query=name, processes=(name,), parameters={number: 20}))
    found = library.find(SearchRequest(query=name, rules="beside"))
    fragments = library.retrieve_fragments(wenyuan.RetrievalRequest(query=name, max_results=20)).fragments
    context = library.get_context(ContextRequest(retrieval_query=name))
    return {
        "infer": json.dumps([item.to_dict() for item in inferred.items], ensure_ascii=False),
        "retrieve": json.dumps(
            [item.to_dict() for item in united.response.items if item.source == "kg_rule"], ensure_ascii=False
        ),
        "fragments": " ".join(one.content for one in fragments if one.metadata.get("origin") == "kg_rule"),
        "search": " ".join(one.passage.text for one in found.passages if one.hit.origin == "kg_rule"),
        "context": " ".join(one.content for one in context.build.snippets if "#rule-" in one.source),
    }


def test_what_passes_waits_for_a_review_and_is_served_by_no_door_before(
    library: wenyuan.Library, language: str
) -> None:
    """Approved, each door has it, with the clause that says so; rejected, none has."""
    report = propose(library)
    assert (len(report.proposed), report.refused, report.left) == (3, (), 0)
    assert waiting(library) == [number for number, _ in report.proposed]
    assert all(
        json.loads(said) == [] if said.startswith("[") else said == "" for said in told(library, language).values()
    )
    first, second, third = waiting(library)
    library.rules.review([first, second], "approve")
    library.rules.review([third], "reject")
    for door, said in told(library, language).items():
        assert PLAN[language].dst in said, door
        assert BAN[language].dst not in said, door
    held = library.catalog.rules.statement(first).statement
    assert held.evidences[0].verified and held.evidences[0].clause in ("第十条", "Article 4")
    assert held.sentence == {language: REVIEW[language].text}


@pytest.mark.parametrize("liar", LIARS)
def test_each_liar_is_counted_for_its_reason(
    shared: dict[str, wenyuan.Library], server: Server, language: str, liar: str
) -> None:
    """What else was proposed with it would wait for a review."""
    said, reason = LIARS[liar]
    other = BAN[language] if not liar.startswith("ban") else PLAN[language]
    server.lie = saying(language, said[language], other)
    report = propose(shared[language], dry_run=True)
    assert report.counts == {reason: 1}
    assert [one.proposal.text for _, one in report.proposed] == [other.text]


def test_a_model_that_refuses_proposes_nothing(library: wenyuan.Library, server: Server) -> None:
    server.lie = lambda _: {"statements": []}
    report = propose(library)
    assert (report.read, report.proposed, report.refused, report.failure) == (4, (), (), None)


def test_what_was_read_is_not_asked_again(
    library: wenyuan.Library, server: Server, language: str, tmp_path: Path
) -> None:
    """A clause that is new is; so is everything for another model."""
    propose(library)
    server.seen.clear()
    again = propose(library)
    assert (again.read, again.read_before, again.proposed, server.seen) == (0, 4, (), [])
    write(tmp_path, language, MORE[language])
    library.ingest("law")
    more = propose(library)
    assert (more.read, more.read_before) == (1, 4)
    assert [passage["text"] for asked in server.told for passage in asked["passages"]] == [MORE[language]]


def test_the_same_words_in_another_document_are_another_clause(
    library: wenyuan.Library, server: Server, language: str, tmp_path: Path
) -> None:
    """Its title says what they are about; a copy of a document is read once."""
    propose(library)
    path = tmp_path / "law" / "law.md"
    (tmp_path / "law" / "copy.md").write_text(path.read_text("utf-8"), "utf-8")
    library.ingest("law")
    assert propose(library).read == 0
    heading, rest = path.read_text("utf-8").split("\n", 1)
    (tmp_path / "law" / "other.md").write_text(f"{heading} B\n{rest}", "utf-8")
    library.ingest("law")
    assert propose(library).read == 4


def test_another_model_reads_all_again_and_repeats_nothing(
    library: wenyuan.Library, language: str, tmp_path: Path, server: Server
) -> None:
    """What waits, what is in force and what was rejected is not proposed again."""
    propose(library)
    first, second, _ = waiting(library)
    library.rules.review([first], "approve")
    library.rules.review([second], "reject")
    library.close()
    with proposing(tmp_path, language, server, llm={"model": "other-7b"}) as other:
        report = propose(other)
        assert (report.read, report.proposed) == (4, ())
        assert report.counts == {"in_force": 1, "rejected_before": 1, "proposed_before": 1}
        assert len(waiting(other)) == 1


def test_a_run_that_was_killed_goes_on_where_it_was(
    library: wenyuan.Library, server: Server, language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Clause by clause; what was stored before it was remembered is found again, and not twice."""
    monkeypatch.setattr(proposals, "_AT_ONCE", 1)
    mark, calls = library.proposer.catalog.mark_clauses_read, []

    def killed(*given: Any) -> None:
        calls.append(given)
        if len(calls) == 2:  # the second clause is stored, and not remembered
            raise KeyboardInterrupt
        mark(*given)

    monkeypatch.setattr(library.catalog, "mark_clauses_read", killed)
    with pytest.raises(KeyboardInterrupt):
        propose(library)
    assert len(waiting(library)) == 2
    report = propose(library)
    assert (report.read_before, report.read, len(report.proposed)) == (1, 3, 1)
    assert report.counts == {"proposed_before": 1}
    assert len(waiting(library)) == 3


def test_a_rule_that_lost_its_clause_does_not_come_back_unseen(
    library: wenyuan.Library, server: Server, language: str, tmp_path: Path
) -> None:
    """It was approved, its words went and came back with others around them: a model cannot revive it."""
    propose(library)
    first, *_ = waiting(library)
    library.rules.review([first], "approve")
    path = tmp_path / "law" / "law.md"
    path.write_text("# x\n\n" + MORE[language], "utf-8")
    library.ingest("law")
    assert library.catalog.rules.statement(first).statement.status == "retired"
    write(tmp_path, language, MORE[language])
    path.write_text(path.read_text("utf-8").replace(CLAUSES[language][0], f"{CLAUSES[language][0]} （注）"), "utf-8")
    library.ingest("law")
    server.lie = lambda asked: {
        "statements": [
            REVIEW[language]._asdict() | {"passage": passage["id"]}
            for passage in asked["passages"] if CLAUSES[language][0] in passage["text"]
        ]
    }  # fmt: skip
    report = propose(library)
    assert report.counts == {"retired_before": 1}
    assert library.catalog.rules.statement(first).statement.status == "retired"


def test_a_dry_run_keeps_nothing(library: wenyuan.Library, server: Server) -> None:
    """It asks the model, and shows what would wait."""
    report = propose(library, dry_run=True)
    assert [number for number, _ in report.proposed] == [0, 0, 0]
    assert waiting(library) == []
    assert library.catalog.rules.counts()["nodes"] == 0
    assert propose(library).read == 4


def test_a_run_reads_as_many_clauses_as_were_wanted(library: wenyuan.Library) -> None:
    report = propose(library, limit=1)
    assert (report.read, report.left, len(report.proposed)) == (1, 3, 1)
    assert report.stopped and translated(report.stopped) != report.stopped
    assert propose(library).read == 3


def test_a_run_uses_no_more_tokens_than_it_was_given(
    library: wenyuan.Library, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of what an answer may take at most, before it is asked for; the rest is read with the next command."""
    monkeypatch.setattr(proposals, "_AT_ONCE", 1)
    server.usage = {"prompt_tokens": 3_000, "completion_tokens": 1_000}
    report = propose(library, tokens=6_000)
    assert (report.read, report.left, report.tokens_in + report.tokens_out) == (1, 3, 4_000)
    assert "6,000" in report.stopped and translated(report.stopped) != report.stopped
    assert propose(library, tokens=100).read == 0


def test_a_run_with_too_few_tokens_left_does_not_ask_again_for_the_form(
    library: wenyuan.Library, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An answer that is of no form may cost another question; what that takes at most must be left, too."""
    monkeypatch.setattr(proposals, "_AT_ONCE", 1)
    server.usage = {"prompt_tokens": 3_000, "completion_tokens": 1_000}
    server.lie = lambda _asked: {"statements": "cut"}
    report = propose(library, tokens=6_000)
    assert (len(server.seen), report.tokens_in + report.tokens_out) == (1, 4_000)
    assert len(report.unreadable) == 1
    server.seen.clear()
    propose(library, limit=1)
    assert len(server.seen) == 2


def test_the_budget_of_the_day_stops_a_run(
    tmp_path: Path, language: str, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proposals, "_AT_ONCE", 1)
    server.usage = {"prompt_tokens": 3_000, "completion_tokens": 1_000}
    server.lie = saying(language, REVIEW[language])
    with proposing(tmp_path, language, server, llm={"tokens_a_day": 6_000}) as library:
        report = propose(library)
        assert isinstance(report.failure, LlmBudgetSpent)
        assert (report.read, report.left) == (1, 3)
        assert len(waiting(library)) == 1


@pytest.mark.parametrize("fault", FAULTS)
def test_a_model_that_fails_is_a_failure(
    shared: dict[str, wenyuan.Library], server: Server, fault: str, language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is taken for read, and nothing that it wrote is proposed."""
    proposer = shared[language].proposer
    monkeypatch.setattr(proposals, "_AT_ONCE", 1)
    if fault == "drip":
        proposer = replace(proposer, settings=proposer.settings.model_copy(update={"timeout": 0.3}))
    proposer.llm._guard._breaker.worked()  # type: ignore[union-attr]
    server.begin(fault)
    report = proposer.propose(ProposeRequest(source_id="law", dry_run=True))
    assert report.failure is not None and report.stopped
    assert report.failure.code == FAILING[fault]
    assert (report.read, report.left, report.proposed) == (0, 4, ())


def test_what_was_proposed_before_a_failure_is_kept(library: wenyuan.Library, server: Server) -> None:
    propose(library, limit=1)
    server.begin("500")
    assert (propose(library).read, len(waiting(library))) == (0, 1)
    server.begin("perfect")
    server.lie = lambda _: {"statements": []}
    assert propose(library).read == 3


def test_one_reply_that_cannot_be_read_is_told_and_read_again(
    library: wenyuan.Library, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proposals, "_AT_ONCE", 1)
    server.faults = ["cut", "wrong schema"]
    server.usage = {"prompt_tokens": 300, "completion_tokens": 50}
    report = propose(library)
    assert (report.unreadable, report.read, report.left, report.failure) == (("law#1",), 3, 1, None)
    assert (report.tokens_in, report.tokens_out) == (5 * 300, 5 * 50)  # it was asked twice
    assert len(propose(library).proposed) == 1


def test_clauses_on_which_an_answer_is_too_long_are_asked_for_one_by_one(
    library: wenyuan.Library, server: Server, language: str
) -> None:
    """A model that writes nothing of the form on several clauses at once is given each alone."""
    answer = saying(language, REVIEW[language], PLAN[language], BAN[language])
    server.lie = lambda asked: answer(asked) if len(asked["passages"]) == 1 else {"statements": "cut"}
    report = propose(library)
    assert (report.read, len(report.proposed), report.unreadable) == (4, 3, ())


@pytest.mark.parametrize("source", ["denied", "private"])
def test_no_text_leaves_that_may_not(library: wenyuan.Library, server: Server, source: str) -> None:
    """Of a source that denies it, or is too sensitive; also what a copyright does not give, or is no longer in force."""
    with pytest.raises(InvalidRequest) as refused:
        library.propose_rules(ProposeRequest(source_id=source))
    assert translated(str(refused.value)) != str(refused.value)
    assert server.seen == []


@pytest.mark.parametrize(("what", "why"), [("source", "denied"), ("document", "changed")])
def test_what_is_closed_during_a_run_is_not_sent_any_more(
    library: wenyuan.Library, server: Server, language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    what: str, why: str,
) -> None:  # fmt: skip
    """A run may take hours: a source that says ``llm: deny`` in between, or a document that went, is left out and counted."""
    monkeypatch.setattr(proposals, "_AT_ONCE", 1)

    def closes(asked: Any) -> Any:
        if what == "source":
            library.catalog.put_source(replace(library.catalog.source("law"), settings={"llm": "deny"}))
        else:
            (tmp_path / "law" / "law.md").write_text("# x\n\n" + MORE[language], "utf-8")
            library.ingest("law")
        return {"statements": []}

    server.lie = closes
    report = propose(library)
    assert (report.read, report.left, report.clauses, report.withheld) == (1, 0, 1, {why: 3})
    assert len(server.seen) == 1
    for words in (texts("command_line", one) for one in LANGUAGES):
        assert f"kept_from_{why}" in words


def test_copyright_bounds_the_whole_document(library: wenyuan.Library, server: Server, language: str) -> None:
    room = len("# 基坑工程管理办法\n\n" + CLAUSES["zh"][0]) + 5 if language == "zh" else 120
    source = next(one for one in library.sources() if one.source_id == "law")
    library.catalog.put_source(
        wenyuan.Source(**{f: getattr(source, f) for f in source.__slots__} | {"copyright": f"excerpt<={room}"})
    )
    report = propose(library)
    assert sum(len(passage["text"]) for asked in server.told for passage in asked["passages"]) <= room
    assert report.withheld["copyright"] >= 2


def test_what_is_no_longer_in_force_is_not_read(
    library: wenyuan.Library, server: Server, language: str, tmp_path: Path
) -> None:
    """Neither a document that has ended, nor a source that has."""
    path = write(tmp_path, language)
    path.write_text("---\neffective_until: 2020-01-01\n---\n\n" + path.read_text("utf-8"), "utf-8")
    library.ingest("law")
    report = propose(library)
    assert (report.clauses, report.withheld, server.seen) == (0, {"not_in_force": 4}, [])
    source = next(one for one in library.sources() if one.source_id == "law")
    fields = {f: getattr(source, f) for f in source.__slots__}
    library.catalog.put_source(wenyuan.Source(**fields | {"status": "draft"}))
    with pytest.raises(InvalidRequest, match="not in force") as refused:
        propose(library)
    assert translated(str(refused.value)) != str(refused.value)


def test_the_audit_has_who_proposed_what(library: wenyuan.Library, language: str, server: Server) -> None:
    """Model, prompt, clauses, tokens and numbers; no words of the source."""
    server.lie = saying(language, PLAN[language], both(BAN, relation="demands")[language])
    report = propose(library)
    library.audit.flush()
    (record,) = [one.record for one in library.audit.list(limit=10) if one.record.get("action") == "proposed"]
    after = {name: values[1] for name, values in record["changes"].items()}
    assert after["model"] == "m-7b" and after["prompt"] == 1
    assert after["statements"] == [report.proposed[0][0]]
    assert after["refused"] == {"negation_changed": 1}
    assert (after["used"]["in"], after["used"]["out"]) == (report.tokens_in, report.tokens_out) == (100, 20)
    assert after["clauses"] == ["law#1", "law#2", "law#3", "law#4"]
    assert PLAN[language].dst not in json.dumps(record, ensure_ascii=False)


def test_removing_the_source_forgets_what_was_read(library: wenyuan.Library) -> None:
    propose(library)
    read = library.catalog.clauses_read("law")
    assert len(read) == 4
    library.catalog.mark_clauses_read("law", sorted(read))  # by another run at the same time
    assert library.catalog.clauses_read("law") == read
    library.remove("law")
    assert library.catalog.clauses_read("law") == frozenset()


def test_without_a_model_without_a_schema_or_of_no_source_it_is_refused(
    tmp_path: Path, language: str, server: Server
) -> None:
    with proposing(tmp_path, language, None) as library, pytest.raises(LlmUnavailable):
        propose(library)
    with proposing(tmp_path, language, server) as library:
        with pytest.raises(NotFound):
            library.propose_rules(ProposeRequest(source_id="nowhere"))
        library.rules.retire_pack("kinds")
        with pytest.raises(InvalidRequest, match="no kinds and relations"):
            propose(library)
    for bad in ({"limit": 0}, {"tokens": -1}, {"limit": True}):
        with pytest.raises(InvalidRequest):
            ProposeRequest(source_id="law", **bad)


def test_the_json_has_all_that_was_said(library: wenyuan.Library, language: str, server: Server) -> None:
    server.lie = saying(language, PLAN[language], both(PLAN, relation="adores")[language])
    told = json.loads(json.dumps(as_data(propose(library))))
    assert told["counts"] == {"unknown_relation": 1}
    assert told["proposed"][0]["statement_id"] == waiting(library)[0]
    assert told["refused"][0]["relation"] == "adores" and told["refused"][0]["reason"] == "unknown_relation"
    assert (told["read"], told["left"], told["tokens_in"], told["model"]) == (4, 0, 100, "m-7b")
