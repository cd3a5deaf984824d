"""Summaries whose sentences a model chooses: the same liars, and what becomes of the summaries that they would give."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import wenyuan
from answer_fixtures import language, libraries, library, running, server
from answer_library import DUTY, QUESTION, SECRET, answering
from liars_outcomes import CHOSEN
from liars_server import FAULTS, LIARS, Server, claim, sentences
from wenyuan.core.text.summaries import summarize
from wenyuan.core.text.token_meter import estimate_tokens
from wenyuan.runtime.deadlines import deadline_after
from wenyuan.service.context import ContextRequest
from wenyuan.service.generation import summarizer
from wenyuan.service.search.searcher import ResultPassage, SearchRequest, SearchResult

__all__ = ["language", "libraries", "library", "running", "server"]


def find(library: wenyuan.Library, language: str, **more: Any) -> tuple[SearchResult, ResultPassage]:
    """What is found, and the passage of the policy among it."""
    result = library.find(SearchRequest(query=QUESTION[language], summary="generated", **more))
    return result, next(one for one in result.passages if DUTY[language] in one.passage.text)


@pytest.mark.parametrize("liar", [name for name in LIARS if name != "rulebreaker"])
def test_every_liar_has_one_outcome(library: wenyuan.Library, language: str, server: Server, liar: str) -> None:
    """A summary is whole sentences of its passage, or the extract that it has without a model; which, is said."""
    server.begin(liar)
    result, found = find(library, language)
    text, extract = found.passage.text, summarize(found.passage.text, QUESTION[language], language=language).text
    if liar in CHOSEN:
        assert found.summary_origin == "generated"
        assert found.summary in text
        assert found.summary != extract
    else:
        assert (found.summary_origin, found.summary) == ("extractive", extract)
    assert result.degraded == ()
    assert result.legs[-1].name == "llm"


@pytest.mark.parametrize("fault", FAULTS)
def test_a_model_that_fails_leaves_the_extracts(
    library: wenyuan.Library, language: str, server: Server, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The search succeeds, and says that this part of it failed, and why."""
    server.begin(fault)
    monkeypatch.setattr(summarizer, "deadline_after", lambda _: deadline_after(0.3 if fault == "drip" else 30))
    result, found = find(library, language)
    assert found.summary_origin == "extractive"
    assert found.summary
    assert result.degraded == ("llm",)
    assert "llm m-7b" in result.legs[-1].error


def test_what_was_chosen_is_remembered(library: wenyuan.Library, language: str, server: Server) -> None:
    """By the passage, the model and what it is told: the next search asks for the other passages only."""
    _, first = find(library, language)
    asked = len(server.told[0]["passages"])
    _, second = find(library, language)
    assert first.summary == second.summary
    assert len(server.told[1]["passages"]) == asked - 1
    assert "question" not in server.told[0]


def test_a_summary_has_its_bounds(library: wenyuan.Library, language: str, server: Server) -> None:
    """As many of the chosen sentences as have room in 100 tokens, in the order of the passage."""
    server.lie = lambda asked: {
        "claims": [claim(ref, text, text) for ref, text in sentences(asked) if not text.startswith("#")][:40],
        "missing": "",
    }
    _, found = find(library, language)
    assert found.summary_origin == "generated"
    assert estimate_tokens(found.summary) <= 100
    assert found.summary.startswith(DUTY[language])


def test_what_must_not_leave_does_not_leave(library: wenyuan.Library, language: str, server: Server) -> None:
    result, _ = find(library, language, limit=20)
    kept = {one.passage.source_id for one in result.passages if one.summary_origin == "extractive"}
    assert {"denied", "private"} <= kept
    assert SECRET[language] not in str(server.seen)


def test_a_context_of_chosen_sentences(library: wenyuan.Library, language: str, server: Server) -> None:
    """What enters the prompt is the model's choice, in the source's words, and not flagged as anything else."""
    context = library.get_context(ContextRequest(retrieval_query=QUESTION[language], summary="generated"))
    (policy,) = (one for one in context.build.snippets if one.source.startswith("policy#"))
    assert policy.content.strip("… ") == DUTY[language]
    assert "generated" not in policy.flags
    server.begin("500")
    library.summarizer._kept.clear()
    context = library.get_context(ContextRequest(retrieval_query=QUESTION[language], summary="generated"))
    assert context.degraded == ("llm",)
    assert any(DUTY[language] in one.content for one in context.build.snippets)


def test_a_context_of_several_questions_waits_for_a_hanging_model_once(
    library: wenyuan.Library, language: str, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.begin("drip")
    monkeypatch.setattr(summarizer, "deadline_after", lambda _: deadline_after(0.3))
    request = ContextRequest(
        retrieval_query=QUESTION[language], extra_queries=(DUTY[language], DUTY[language][:9]), summary="generated"
    )
    context = library.get_context(request)
    assert context.degraded == ("llm",)
    assert len(server.seen) == 1


def test_it_is_recorded_and_replayed(library: wenyuan.Library, language: str, server: Server) -> None:
    find(library, language)
    library.audit.flush()
    newest = library.audit.list(limit=1)[0]
    assert (newest.kind, newest.record["action"], newest.record["tokens_in"]) == ("answer", "summarize", 100)
    assert library.replay(newest.audit_id).identical
    assert len(server.seen) == 1


def test_without_a_model_extracts_are_given(tmp_path: Path) -> None:
    with answering(tmp_path, "en", None) as library:
        result, found = find(library, "en")
        assert (found.summary_origin, result.degraded) == ("extractive", ("llm",))
        assert "llm.url" in result.legs[-1].error
