"""What a text is about, chosen by a model among the graph's own names: it cannot step out of the list."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

import wenyuan
from answer_library import answering
from liars_outcomes import FAILING, LINKED
from liars_server import Server, lying
from wenyuan.core.access import Principal
from wenyuan.core.errors import LlmError, LlmRejected, LlmUnavailable
from wenyuan.i18n.translation import translated
from wenyuan.knowledge_retriever import KGRetriever, KnowledgeRetriever
from wenyuan.packs.shipped import located
from wenyuan.readers.rulebooks.selection import read_book
from wenyuan.runtime import json_endpoint
from wenyuan.runtime.deadlines import deadline_after
from wenyuan.service.rules import search
from wenyuan.service.rules.unified import RuleQuestion

TEXT = {"zh": "明天工地上要往地下挖一个六米深的大坑", "en": "Tomorrow they dig a hole of six metres on the site"}


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with lying() as server:
        yield server


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, running: Server) -> Iterator[wenyuan.Library]:
    with answering(tmp_path_factory.mktemp("chosen"), "zh", running) as library:
        with located("construction") as pack:
            library.rules.take(read_book(pack))
        yield library


@pytest.fixture
def server(running: Server, made: wenyuan.Library, monkeypatch: pytest.MonkeyPatch) -> Server:
    running.begin("perfect")
    monkeypatch.setattr(json_endpoint, "_BACKOFF", 0.01)
    made.answerer.llm._guard._breaker.worked()  # type: ignore[union-attr]
    return running


@pytest.fixture
def library(made: wenyuan.Library, server: Server) -> wenyuan.Library:
    return made


def infer(library: wenyuan.Library, language: str, **more: Any) -> Any:
    principal = more.pop("principal", Principal())
    return library.infer_rules(RuleQuestion(text=TEXT[language], link="llm", **more), principal)


def test_the_model_is_told_a_text_as_it_is_kept(library: wenyuan.Library, server: Server) -> None:
    """Without the number of a person."""
    server.lie = lambda asked: {"names": []}
    library.infer_rules(RuleQuestion(text=f"{TEXT['zh']} 13800138000", link="llm"))
    assert server.told[-1]["text"] == f"{TEXT['zh']} 138****8000"


@pytest.mark.parametrize("language", ["zh", "en"])
def test_a_name_of_the_graph_leads_to_its_rules(library: wenyuan.Library, server: Server, language: str) -> None:
    """The rules are those of the name, however it came; the choice is told, and recorded as a name that was given."""
    chosen: list[str] = []

    def choose(asked: Any) -> Any:
        assert asked["text"] == TEXT[language]
        chosen.append(next(name for name in asked["names"] if "基坑" in name or "pit" in name.lower()))
        return {"names": chosen[-1:]}

    server.lie = choose
    found = infer(library, language, parameters={"depth_m": 6})
    question = RuleQuestion(text=TEXT[language], processes=(chosen[0],), parameters={"depth_m": 6})
    named = library.infer_rules(question)
    assert [i.metadata["statement_id"] for i in found.items] == [i.metadata["statement_id"] for i in named.items]
    assert found.items
    assert any(note.startswith("chosen by the language model") and translated(note) != note for note in found.notes)
    enum = server.seen[0][2]["response_format"]["json_schema"]["schema"]["properties"]["names"]["items"]["enum"]
    assert chosen[0] in enum
    assert library.replay(found.audit_id).identical
    assert len(server.seen) == 1


@pytest.mark.parametrize("liar", LINKED)
@pytest.mark.parametrize("language", ["zh", "en"])
def test_every_liar_has_one_outcome(library: wenyuan.Library, server: Server, language: str, liar: str) -> None:
    """A name of the list, none, or a failure with its component: never rules of what nobody named."""
    server.begin(liar)
    if LINKED[liar].kind == "failed":
        with pytest.raises(LlmError) as caught:
            infer(library, language)
        assert caught.value.code == LINKED[liar].reason
        return
    found = infer(library, language, parameters={"depth_m": 6})
    assert bool(found.items) == (LINKED[liar].kind == "said")
    assert found.items or found.reason


@pytest.mark.parametrize("names", ["基坑工程", [1], ["基坑工程"] * 11])
def test_a_name_outside_the_list_is_an_error(library: wenyuan.Library, server: Server, names: Any) -> None:
    """Also where it is written otherwise; it is asked once more, and then refused."""
    server.lie = lambda _: {"names": names}
    with pytest.raises(LlmRejected):
        infer(library, "zh")
    assert len(server.seen) == 2


def test_no_name_is_no_rule(library: wenyuan.Library, server: Server) -> None:
    server.lie = lambda _: {"names": []}
    found = infer(library, "zh")
    assert found.items == ()
    assert "names nothing" in found.reason and translated(found.reason) != found.reason


@pytest.mark.parametrize("fault", FAILING)
def test_a_model_that_fails_is_a_failure(
    library: wenyuan.Library, server: Server, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Never an empty answer; it is in the audit."""
    server.begin(fault)
    monkeypatch.setattr(search, "deadline_after", lambda _: deadline_after(0.3 if fault == "drip" else 30))
    with pytest.raises(LlmError) as caught:
        infer(library, "zh")
    assert caught.value.code == FAILING[fault]
    library.audit.flush()
    newest = library.audit.list(limit=1)[0].record
    assert (newest["status"], newest["door"]) == ("FAILED", "infer_rules")


def test_names_that_the_caller_may_not_see_are_not_in_the_list(library: wenyuan.Library, server: Server) -> None:
    """An agent whose sources say nothing of rules has no names; the model is not asked."""
    found = infer(library, "zh", principal=Principal(agent_id="front"))
    assert found.items == ()
    assert server.seen == []


def test_the_model_is_not_shown_names_of_sources_that_deny_it(library: wenyuan.Library, server: Server) -> None:
    """A name of which only such rules speak is not in its list."""
    server.lie = lambda _: {"names": []}
    infer(library, "zh")
    before = set(server.told[0]["names"])
    sources = library.sources()
    try:
        for source in sources:
            library.catalog.put_source(replace(source, settings={"llm": "deny"}))
        server.seen.clear()
        infer(library, "zh")
        assert before
        assert server.seen == []
    finally:
        for source in sources:
            library.catalog.put_source(source)


def test_the_old_door_takes_use_llm(library: wenyuan.Library, server: Server, tmp_path: Any) -> None:
    """`KnowledgeRetriever.infer_rules(use_llm=True)`; without a model it says what to set."""
    server.lie = lambda _: {"names": []}
    retriever = KnowledgeRetriever(None, KGRetriever(library))
    assert retriever.infer_rules(TEXT["zh"], use_llm=True).reason
    with answering(tmp_path, "zh", None) as plain, pytest.raises(LlmUnavailable, match=r"llm\.url"):
        plain.infer_rules(RuleQuestion(text=TEXT["zh"], link="llm"))
