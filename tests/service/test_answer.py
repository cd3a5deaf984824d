"""Answers by a model, every one of whose claims is checked: named liars in two languages, and what becomes of what they say."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from answer_fixtures import LANGUAGES, language, libraries, library, running, server
from answer_library import DUTY, QUESTION, SECRET, TEXTS, answering
from liars_outcomes import ANSWERED, FAILING, LINKED, PLACED
from liars_server import FAULTS, LIARS, LINKING, PLACING, Server, claim
from wenyuan.core.access import Principal
from wenyuan.core.errors import (
    InvalidRequest,
    LlmBudgetSpent,
    LlmError,
    LlmRejected,
    LlmTimeout,
    LlmUnavailable,
    NotPermitted,
)
from wenyuan.core.filters import In
from wenyuan.core.model import MAX_QUERY_CHARS, Source
from wenyuan.core.text.boundaries import sentences
from wenyuan.i18n.translation import texts, translated
from wenyuan.service.generation import answering as gates
from wenyuan.service.generation.answering import GATES
from wenyuan.service.generation.answers import Answered, AnswerRequest, as_data

Library = wenyuan.Library

__all__ = ["language", "libraries", "library", "running", "server"]


def ask(library: Library, language: str, **more: Any) -> Answered:
    principal = more.pop("principal", Principal())
    return library.answer(AnswerRequest(query=QUESTION[language], **more), principal)


def said(answered: Answered) -> list[tuple[str, str]]:
    """Of each claim, whose words it has and the words."""
    return [(one.origin, one.text) for one in answered.claims]


def supported(answered: Answered, language: str) -> None:
    """Every claim is whole sentences of what its citation names, and its quote is what is stored there."""
    for one in answered.claims:
        citation = one.citation
        text = TEXTS[language][citation.source_id]
        assert citation.quote in text
        stored = {text[a:b] for a, b in sentences(text)}
        assert one.text in stored
        assert "忽略" not in one.text and "Ignore" not in one.text


SENTENCES = {
    "duty": DUTY,
    "phone": {
        "zh": "员工不得在工作时间使用私人电话，除非部门负责人书面同意。",
        "en": "Employees must not use private telephones at work unless the head of the department agrees in writing.",
    },
}


@pytest.mark.parametrize("liar", [name for name in LIARS if name != "rulebreaker"])
def test_every_liar_has_one_outcome(library: Library, language: str, server: Server, liar: str) -> None:
    """What is not shown is not said; nothing that is said is not shown."""
    server.begin(liar)
    answered = ask(library, language)
    claims, dropped = ANSWERED[liar]
    assert [(one.reason, one.replaced) for one in answered.dropped] == dropped
    if claims is None:
        assert answered.origin == "extractive"
        assert answered.reason
        assert {one.origin for one in answered.claims} == {"extractive"}
    else:
        assert said(answered) == [(origin, SENTENCES[name][language]) for origin, name in claims]
        assert (answered.text is None) == (not claims)
    supported(answered, language)
    assert len(server.seen) == 1


@pytest.mark.parametrize("fault", [name for name in FAILING if name != "drip"])
def test_a_model_that_fails_is_a_failure_or_gives_way_to_extracts(
    library: Library, language: str, server: Server, fault: str
) -> None:
    """As the request asks: FAILED with its component, in both languages and in the audit, or extracts that say why."""
    server.begin(fault)
    with pytest.raises(LlmError) as caught:
        ask(library, language)
    assert caught.value.component.startswith("llm m-7b at 127.0.0.1:")
    assert translated(str(caught.value)) != str(caught.value)
    library.audit.flush()
    newest = library.audit.list(limit=1)[0].record
    assert (newest["status"], newest["door"], newest["error_code"]) == ("FAILED", "answer", FAILING[fault])
    extracted = ask(library, language, on_failure="extract")
    assert extracted.origin == "extractive"
    assert "llm m-7b at 127.0.0.1:" in extracted.reason
    assert extracted.claims
    supported(extracted, language)


def test_a_drip_is_cut_off(tmp_path: Path, server: Server) -> None:
    server.begin("drip")
    with answering(tmp_path, "en", server, llm={"timeout": 0.2}) as library, pytest.raises(LlmTimeout):
        ask(library, "en")


def test_every_liar_and_every_fault_is_in_a_table() -> None:
    assert set(ANSWERED) | {"rulebreaker"} == set(LIARS)
    assert set(FAILING) == set(FAULTS)
    assert (set(LINKED), set(PLACED)) == (set(LINKING), set(PLACING))


SOLE = {
    "not_judged": "paraphraser", "part": "truncator", "no_quote": "misquoter", "other_quote": "elsewhere",
    "stitched": "frankenquote", "number_changed": "number", "unit_changed": "unit", "date_changed": "date",
    "negation_changed": "negation", "modality_changed": "modality", "instruction": "obedient", "nothing_found": "gibberer",
}  # fmt: skip
"""The gates that alone keep a liar out."""


@pytest.mark.parametrize("gate", SOLE)
def test_without_a_gate_its_liar_gets_through(
    library: Library, language: str, server: Server, gate: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So no gate is there for nothing, and no liar is kept out by chance."""
    server.begin(SOLE[gate])
    words = LIARS[SOLE[gate]]
    monkeypatch.setattr(gates, "GATES", GATES - {gate})
    answered = ask(library, language)
    (lie,) = words(server.told[0])
    assert said(answered) == [("model", lie["text"])]


def test_gates_that_back_each_other_up(
    library: Library, language: str, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who cites another source, an old text or a rumour is kept out twice; without both gates he gets through."""
    server.begin("misattributor")
    # What he cites stands in a paragraph that speaks to a model, which keeps him out a third time.
    monkeypatch.setattr(gates, "GATES", GATES - {"wrong_source", "other_quote", "instruction"})
    assert said(ask(library, language)) == [("model", DUTY[language])]
    for source, gate in (("old", "not_in_force"), ("rumour", "low_trust")):
        text = TEXTS[language][source].strip().splitlines()[-1]
        server.lie = lambda asked, text=text: {
            "claims": [{**LIARS["perfect"](asked)[0], "text": text}],
            "missing": "",
        }
        monkeypatch.setattr(gates, "GATES", GATES - {"wrong_source", "other_quote"})
        assert ask(library, language).dropped[0].reason == gate
        monkeypatch.setattr(gates, "GATES", GATES - {"wrong_source", "other_quote", gate})
        assert said(ask(library, language)) == [("model", text)]
        monkeypatch.setattr(gates, "GATES", GATES)
        assert ask(library, language).dropped[0].reason == "wrong_source"


def test_a_passage_that_was_not_shown_cannot_be_cited(
    library: Library, language: str, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even where the model knows its words from elsewhere; that gate alone holds."""
    ref = next(
        found.passage.ref
        for found in library.find(wenyuan.service.search.searcher.SearchRequest(query=QUESTION[language])).passages
        if found.passage.source_id == "denied"
    )
    server.lie = lambda _: {"claims": [claim(ref, SECRET[language], SECRET[language])], "missing": ""}
    assert [one.reason for one in ask(library, language).dropped] == ["unknown_passage"]
    monkeypatch.setattr(gates, "GATES", GATES - {"unknown_passage"})
    assert said(ask(library, language)) == [("model", SECRET[language])]


def test_what_must_not_leave_does_not_leave(library: Library, language: str, server: Server) -> None:
    """Neither a source that denies it nor one that is too sensitive; which passages that were is said and recorded."""
    answered = ask(library, language, limit=20)
    assert {why: {ref.partition("#")[0] for ref in refs} for why, refs in answered.withheld.items()} == {
        "denied": {"denied"}, "sensitivity": {"private"},
    }  # fmt: skip
    shown = {passage["id"].partition("#")[0] for passage in server.told[0]["passages"]}
    assert shown == {"policy", "desk", "box"}
    sent = str(server.seen)
    assert SECRET[language] not in sent
    library.audit.flush()
    newest = library.audit.list(limit=1)[0]
    assert newest.kind == "answer"
    assert set(newest.record["withheld"]) == {"denied", "sensitivity"}


def test_what_may_not_be_shown_at_all_is_no_answer(library: Library, language: str, server: Server) -> None:
    """The model is not asked; extracts may be had where they are asked for."""
    scope = (wenyuan.core.access.DomainScope(domain="denied", top_k=3),)
    none = ask(library, language, knowledge_scope=scope)
    assert (none.text, none.origin, server.seen) == (None, "", [])
    assert "may be shown" in none.reason
    extracted = ask(library, language, knowledge_scope=scope, on_failure="extract")
    assert SECRET[language] in (extracted.text or "")
    assert server.seen == []


def test_a_source_that_is_removed_meanwhile_is_not_shown(tmp_path: Path, language: str, server: Server) -> None:
    """Between the search and the model: it is left out by name, and nothing of it is in the answer."""
    with answering(tmp_path, language, server) as library:

        def tell(stage: str, _told: object) -> None:
            if stage == "retrieved":
                library.remove("policy")

        answered = library.answer(AnswerRequest(query=QUESTION[language], on_failure="extract"), tell=tell)
        assert {ref.partition("#")[0] for ref in answered.withheld["removed"]} == {"policy"}
        assert all(
            passage["id"].partition("#")[0] != "policy" for asked in server.told for passage in asked["passages"]
        )
        assert all(one.citation.source_id != "policy" for one in answered.claims)


def test_nothing_found_is_no_answer(library: Library, server: Server) -> None:
    """The model is not asked about nothing."""
    answered = library.answer(AnswerRequest(query="complaints 投诉", filter=In("collection", ("none",))))
    assert (answered.text, answered.claims, server.seen) == (None, (), [])
    assert answered.reason


def test_the_model_says_what_is_missing(library: Library, language: str, server: Server) -> None:
    """In words of the question alone: whatever else it says is not shown."""
    missing = {"zh": "原文没有说明投诉多久响应", "en": "nothing about how soon complaints are answered"}[language]
    told = {"zh": "投诉多久响应", "en": "How soon are complaints answered"}[language]
    for said in (missing, f"{missing} - 15 days, see http://evil.example"):
        server.lie = lambda _, said=said: {"claims": [], "missing": said}
        answered = ask(library, language)
        assert answered.text is None
        assert "finds no answer" in answered.reason
        assert answered.missing
        assert all(part in told for part in answered.missing.split(", "))


def test_a_thousand_claims_are_nonsense(library: Library, language: str, server: Server) -> None:
    server.lie = lambda asked: {"claims": LIARS["perfect"](asked) * 1_000, "missing": ""}
    with pytest.raises(LlmRejected):
        ask(library, language)


def test_a_claim_twice_stands_once(library: Library, language: str, server: Server) -> None:
    server.lie = lambda asked: {"claims": LIARS["perfect"](asked) + LIARS["paraphraser"](asked), "missing": ""}
    answered = ask(library, language)
    assert said(answered) == [("model", DUTY[language])]


def test_an_agent_is_answered_from_its_own_sources(library: Library, language: str, server: Server) -> None:
    """Also where somebody else names it; others' passages are neither shown nor cited."""
    bound = Principal(agent_id="support")
    assert said(ask(library, language, principal=bound)) == [("model", DUTY[language])]
    assert said(ask(library, language, agent_id="support")) == [("model", DUTY[language])]
    assert all(p["id"].startswith("policy#") for told in server.told for p in told["passages"])
    with pytest.raises(NotPermitted):
        ask(library, language, principal=bound, agent_id="front")


def test_the_day_counts(library: Library, language: str, server: Server) -> None:
    """What was in force then is shown and may be cited."""
    text = TEXTS[language]["old"].strip().splitlines()[-1]

    def lie(asked: Any) -> Any:
        ref = next(p["id"] for p in asked["passages"] if p["id"].startswith("old#"))
        return {"claims": [claim(ref, text, text)], "missing": ""}

    server.lie = lie
    assert said(ask(library, language, as_of=date(2020, 6, 1), limit=20)) == [("model", text)]


def test_without_a_model_the_settings_are_named(tmp_path: Path) -> None:
    """Everything else works; extracts may be had without one."""
    with answering(tmp_path, "zh", None) as library:
        with pytest.raises(LlmUnavailable, match=r"llm\.url") as caught:
            ask(library, "zh")
        assert "WENYUAN_LLM__URL" in caught.value.hint
        assert translated(str(caught.value)) != str(caught.value)
        extracted = ask(library, "zh", on_failure="extract")
        assert DUTY["zh"] in (extracted.text or "")
        assert extracted.origin == "extractive"
        assert library.readiness().ready


def test_out_of_tokens(tmp_path: Path, server: Server) -> None:
    """The next day begins anew; until then it fails, and nobody is asked."""
    with answering(tmp_path, "en", server, llm={"tokens_a_day": 150}) as library, pytest.raises(LlmBudgetSpent):
        ask(library, "en")
    assert server.seen == []


def test_copyright_counts_over_all_quotes_of_a_task(tmp_path: Path, server: Server) -> None:
    """A task is given so much of a document, by however many answers; beyond, a claim is dropped for that."""
    (tmp_path / "manual").mkdir()
    one, two = "Complaints about pumps go to the workshop.", "Complaints about valves go to the foundry."
    (tmp_path / "manual" / "a.md").write_text(
        f"{one}\n\n{two}\n\nComplaints about pipes are sent to nobody at all.\n"
    )
    with answering(tmp_path, "en", server) as library:
        library.add(
            wenyuan.Source(
                source_id="manual", domain="manual", path=str(tmp_path / "manual"), copyright="excerpt<=90"
            )
        )
        scope = (wenyuan.core.access.DomainScope(domain="manual", top_k=3),)

        def quoting(*texts: str) -> Answered:
            server.lie = lambda asked: {
                "claims": [claim(asked["passages"][0]["id"], t, t) for t in texts],
                "missing": "",
            }
            asked = AnswerRequest(query="Where do complaints about pumps go?", knowledge_scope=scope, task_id="t")
            return library.answer(asked)

        assert said(quoting(one)) == [("model", one)]
        assert "nobody at all" not in str(server.seen)
        answered = quoting(two, one)
        assert said(answered) == [("model", two)]
        assert [d.reason for d in answered.dropped] == ["over_copyright"]


RULE = "开挖深度超过5m的基坑工程，不需要组织专家论证专项施工方案。"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, running: Server) -> Iterator[Library]:
    """A library with rules, and a text that contradicts one of them."""
    from wenyuan.packs.shipped import located
    from wenyuan.readers.rulebooks.selection import read_book

    folder = tmp_path_factory.mktemp("site")
    with answering(folder, "zh", running) as library:
        (folder / "site").mkdir()
        (folder / "site" / "a.md").write_text(f"# 基坑工程\n\n{RULE}\n\n基坑周边应当设置防护栏杆，并悬挂警示标志。\n")
        library.add(wenyuan.Source(source_id="site", domain="site", path=str(folder / "site")))
        with located("construction") as pack:
            library.rules.take(read_book(pack))
        yield library


PIT = "开挖深度6m的基坑工程，专项施工方案需要专家论证吗？"


def test_a_question_of_full_length_in_other_words_asks_the_rules(site: Library, server: Server) -> None:
    """The rules are asked in as many of its words as a question may have, its own first."""
    other = "基坑工程专项施工方案的专家论证"
    server.lie = lambda _asked: {"questions": [other]}
    asked = "基坑工程的专项施工方案需要专家论证吗？"
    answer = site.search(asked + "。" * (MAX_QUERY_CHARS - len(asked)), context={"rewrite": True})
    assert answer.rewriting is not None
    assert answer.rewriting.wordings == (other,)
    assert "rules" in {leg.name for leg in answer.legs if leg.state == "ok"}


def test_mandatory_rules_stand_in_the_answer(site: Library, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """They apply, whatever the model says: each with its clause; and what a source says against one is left out."""
    server.lie = lambda asked: {"claims": LIARS["rulebreaker"](asked), "missing": ""}
    answered = site.answer(AnswerRequest(query=PIT))
    (dropped,) = answered.dropped
    assert (dropped.reason, dropped.text) == ("against_rule", RULE)
    assert dropped.rule is not None and dropped.rule.clause
    rules = [one for one in answered.claims if one.origin == "rule"]
    assert rules
    assert all(one.citation.clause and one.citation.quote for one in rules)
    assert any("应组织专家论证" in one.text for one in rules)
    assert RULE not in (answered.text or "")
    assert all(rule in str(server.told) for rule in [one.text for one in rules][:1])
    monkeypatch.setattr(gates, "GATES", GATES - {"against_rule"})
    assert ("model", RULE) in said(site.answer(AnswerRequest(query=PIT)))


def test_an_answer_is_replayed_without_the_model(tmp_path: Path, server: Server) -> None:
    """What it wrote is read back, and the gates judge it again; where its passage is another one now, that is told."""
    with answering(tmp_path, "en", server) as library:
        records = []
        for liar in ("number", "perfect"):
            server.begin(liar)
            records.append(ask(library, "en"))
        assert [library.replay(one.audit_id).identical for one in records] == [True, True]
        assert len(server.seen) == 1
        file = tmp_path / "policy" / "policy.md"
        file.write_text(file.read_text("utf-8").replace("24 hours", "36 hours"), "utf-8")
        library.ingest("policy")
        for one in records:
            told = library.replay(one.audit_id)
            assert (told.identical, told.asked) == (False, True)
            assert [d.what for d in told.differences] == ["document changed"]
            assert told.differences[0].ref.startswith("policy#")
        assert len(server.seen) == 1


def test_an_answer_that_names_a_person_is_replayed_without_the_name(tmp_path: Path, server: Server) -> None:
    """What was taken out of the record is named; that the gates judge the rest otherwise is no change of a verdict."""
    text = "Complaints are sent to john.smith@example.com at once."
    (tmp_path / "staff").mkdir()
    (tmp_path / "staff" / "a.md").write_text(f"{text}\n")
    with answering(tmp_path, "en", server) as library:
        library.add(wenyuan.Source(source_id="staff", domain="staff", path=str(tmp_path / "staff")))
        server.lie = lambda asked: {"claims": [claim(asked["passages"][0]["id"], text, text)], "missing": ""}
        scope = (wenyuan.core.access.DomainScope(domain="staff", top_k=3),)
        answered = library.answer(AnswerRequest(query="Where are complaints sent?", knowledge_scope=scope))
        assert said(answered) == [("model", text)]
        told = library.replay(answered.audit_id)
        assert [one.what for one in told.differences] == ["query redacted"]
        assert "email" in told.differences[0].detail


def test_the_model_is_told_a_question_as_it_is_kept(library: Library, language: str, server: Server) -> None:
    """Without the number of a person; the claims are checked as ever."""
    question = f"{QUESTION[language]} 13800138000"
    answered = library.answer(AnswerRequest(query=question))
    assert server.told[-1]["question"] == f"{QUESTION[language]} 138****8000"
    assert said(answered) == [("model", DUTY[language])]


def test_a_question_that_cannot_be_redacted_is_not_sent(
    library: Library, language: str, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_source: object) -> Any:
        raise ValueError("the recogniser of names broke")

    monkeypatch.setattr(library.recorder.questions, "redacting", broken)
    monkeypatch.setattr(library.recorder.questions._redactions, "_at", None)
    with pytest.raises(LlmUnavailable, match="redacted"):
        ask(library, language)
    assert server.seen == []


def test_everything_has_its_words_in_both_languages() -> None:
    """Reasons, origins and what is withheld are said in words at every door."""
    for door in ("command_line", "console"):
        for spoken in LANGUAGES:
            words = texts(door, spoken)
            assert {f"verdict_{gate}" for gate in GATES} <= words.keys()
            assert {f"words_{origin}" for origin in ("model", "quote", "rule", "extractive")} <= words.keys()
            assert {f"kept_from_{why}" for why in ("denied", "sensitivity", "copyright", "removed")} <= words.keys()


def test_bounds_of_a_request() -> None:
    for bad in ({"limit": 0}, {"limit": 21}):
        with pytest.raises(InvalidRequest, match="limit"):
            AnswerRequest(query="x", **bad)


def test_as_json(library: Library, language: str, server: Server) -> None:
    told = as_data(ask(library, language))
    assert told["answer"] == f"{DUTY[language]} [1]"
    (one,) = told["claims"]
    (citation,) = one["citations"]
    assert citation["quote"] == DUTY[language]
    assert citation["ref"].startswith("policy#")
    assert told["model"] == {"name": "m-7b", "tokens_in": 100, "tokens_out": 20, "cost": 0.0}
    assert told["audit_id"]


def test_a_claim_says_what_contradicts_its_words(tmp_path: Path, server: Server, language: str) -> None:
    """In `checks`: the statement elsewhere in the same words with another figure."""
    with answering(tmp_path, language, server) as library:
        (tmp_path / "faq").mkdir()
        other = DUTY[language].replace("24", "48")
        (tmp_path / "faq" / "faq.md").write_text(f"# FAQ\n\n{other}\n", "utf-8")
        library.add(Source(source_id="faq", path=str(tmp_path / "faq")))
        library.conflicts.find()
        claims = library.answer(AnswerRequest(query=QUESTION[language])).claims
    told = [one["other"] for claim in claims for one in claim.checks.get("conflicts", ())]
    assert told and all("48" in one or "24" in one for one in told)
