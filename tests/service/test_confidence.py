"""``top_k: confidence``: as many passages as a calibrated judge finds sufficient; whatever the judge does, an answer is right or says so."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import wenyuan
from cross_encoder_model import make_cross_encoder
from judge_server import DIALECTS, JudgeServer, judging
from judged_library import JUDGES, SUBJECTS, answer_of, asked, golden, judged, knowing
from liars_outcomes import FAILING, JUDGED, OUTCOMES, Outcome
from wenyuan.core.access import DomainScope
from wenyuan.core.errors import ConfigError, InvalidRequest, LlmUnavailable, NotFound
from wenyuan.core.learning_records import QuestionAddress
from wenyuan.core.model import Source
from wenyuan.core.ports import ModelUse
from wenyuan.i18n.translation import translated
from wenyuan.runtime import json_endpoint
from wenyuan.server import metrics
from wenyuan.service.context import ContextRequest
from wenyuan.service.generation.answers import AnswerRequest
from wenyuan.service.query import Rewriting
from wenyuan.service.search import searcher
from wenyuan.service.search.cache_redis import result_from_json, result_to_json
from wenyuan.service.search.leg_execution import abreast
from wenyuan.service.search.searcher import SearchRequest, SearchResult
from wenyuan.wire.search import SearchAnswerShape
from wenyuan.wire.search_answers import context_to_wire, search_to_wire
from wenyuan.wire.search_requests import search_from_wire

SCOPE = (DomainScope(domain="house", top_k="confidence"),)
PAIR = {"zh": 4, "en": 5}
"""A question in each language."""


@pytest.fixture(scope="module")
def running() -> Iterator[JudgeServer]:
    with judging() as server:
        yield server


@pytest.fixture
def server(running: JudgeServer, monkeypatch: pytest.MonkeyPatch) -> JudgeServer:
    running.begin("perfect")
    running.sure = knowing
    monkeypatch.setattr(json_endpoint, "_BACKOFF", 0.01)
    return running


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, running: JudgeServer) -> Path:
    """The folder of a library whose judge is calibrated."""
    folder = tmp_path_factory.mktemp("judged")
    running.begin("perfect")
    running.sure = knowing
    with judged(folder, running) as library:
        assert library.tune_judge(golden(folder)).outcome == "adopted"
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    """A copy of it, to change."""
    shutil.copytree(made / "library", tmp_path / "library")
    return tmp_path


def find(library: wenyuan.Library, number: int, **more: Any) -> SearchResult:
    return library.find(SearchRequest(query=asked(number), knowledge_scope=SCOPE, **more))


def judge_leg(result: SearchResult) -> Any:
    return next(leg for leg in result.legs if leg.name == "judge")


def rank_of(number: int, result: SearchResult) -> int:
    return next(at for at, one in enumerate(result.passages, 1) if answer_of(number) in one.passage.text)


@pytest.mark.parametrize("language", PAIR)
def test_it_stops_where_the_judge_is_sure_enough(made: Path, server: JudgeServer, language: str) -> None:
    """At the first step that holds the answer; the report says k, numbers, risk and questions, and the judge saw no more."""
    number = PAIR[language]
    with judged(made, server) as library:
        result = find(library, number)
        again = find(library, number)
    found = result.confidence["house"]
    rank = rank_of(number, result)
    assert found.k == len(result.passages) == next(k for k in (1, 3, 5, 8, 10) if k >= rank)
    assert (found.state, found.risk, found.questions, found.judge) == (
        ("stopped" if found.k < 10 else "all"), 0.1, SUBJECTS, "j-1",
    )  # fmt: skip
    assert [k for k, _, _ in found.asked] == [k for k in (1, 3, 5, 8) if k <= found.k]
    assert all((p >= found.threshold) is (k == found.k) for k, _, p in found.asked)
    leg = judge_leg(result)
    assert (leg.state, leg.hits, result.degraded) == ("ok", found.k, ())
    assert [len(state["passages"]) for state in server.states[: len(found.asked)]] == [k for k, _, _ in found.asked]
    assert again.confidence == result.confidence


def test_most_questions_need_fewer_passages(made: Path, server: JudgeServer) -> None:
    """And hardly any is stopped too early: no more than the stated risk."""
    with judged(made, server) as library:
        results = [find(library, number) for number in range(SUBJECTS)]
    assert sum(len(result.passages) for result in results) < 0.8 * 10 * SUBJECTS
    early = [
        number for number, result in enumerate(results)
        if result.confidence["house"].state == "stopped"
        and not any(answer_of(number) in one.passage.text for one in result.passages)
    ]  # fmt: skip
    assert len(early) <= 0.1 * SUBJECTS


@pytest.mark.parametrize("language", PAIR)
@pytest.mark.parametrize("fault", ["500", "drip", "no number", "above one"])
def test_a_judge_that_fails_leaves_it_to_the_scores(
    made: Path, server: JudgeServer, fault: str, language: str
) -> None:
    """The leg says that it failed, and nothing is lost; where the judge is required, the request fails."""
    number = PAIR[language]
    if fault in JUDGED:
        server.sure = lambda question, passages: 2.0 if fault == "above one" else math.nan
    else:
        server.liar = fault
    late = {"timeout": 0.2} if fault == "drip" else {}
    with judged(made, server, judge=late) as library:
        result = find(library, number)
        auto = library.find(
            SearchRequest(query=asked(number), knowledge_scope=(DomainScope(domain="house", top_k="auto"),))
        )
    found, leg = result.confidence["house"], judge_leg(result)
    assert (found.state, found.k, found.asked) == ("auto", len(result.passages), ())
    assert [one.passage.ref for one in result.passages] == [one.passage.ref for one in auto.passages]
    assert (leg.state, result.degraded) == ("failed", ("judge",))
    assert leg.error == found.reason
    assert translated(found.reason) != found.reason
    with (
        judged(made, server, judge={**late, "required": True}) as library,
        pytest.raises(wenyuan.KnowledgeError) as caught,
    ):
        find(library, number)
    assert Outcome("scores", caught.value.code) == OUTCOMES["judge"][fault]


@pytest.mark.parametrize("language", PAIR)
def test_of_every_endpoint_that_fails_the_scores_decide(made: Path, server: JudgeServer, language: str) -> None:
    """And the leg says that it failed; the outcome of each is in the table of liars."""
    number, required = PAIR[language], {"required": True}
    with judged(made, server) as library, judged(made, server, judge=required) as strict:
        for fault in FAILING.keys() - {"drip"}:
            server.liar = fault
            for each in (library, strict):
                each.health.sufficiency.judge._guard._breaker.worked()
            result = find(library, number)
            assert (result.confidence["house"].state, judge_leg(result).state) == ("auto", "failed"), fault
            with pytest.raises(wenyuan.KnowledgeError) as caught:
                find(strict, number)
            assert Outcome("scores", caught.value.code) == OUTCOMES["judge"][fault], fault


def test_without_a_judge_scores_decide(made: Path, server: JudgeServer, tmp_path: Path) -> None:
    """None is set up, or another one than was calibrated: it is said, and is no failure unless a judge is required."""
    for chosen, why in ((None, "no judge is set up"), (server, "not calibrated")):
        more = {} if chosen is None else {"judge": {"model": "j-2"}}
        with judged(made, chosen, **more) as library:
            result = find(library, 4)
        found, leg = result.confidence["house"], judge_leg(result)
        assert (found.state, leg.state, result.degraded) == ("auto", "skipped", ())
        assert why in found.reason
        assert translated(found.reason) != found.reason
    assert not server.seen
    with judged(made, None, judge={"required": True}) as library, pytest.raises(LlmUnavailable, match="no judge"):
        find(library, 4)


def test_replay_reads_what_the_judge_said(folder: Path, server: JudgeServer) -> None:
    """The record has the hash of the question, the model, raw and calibrated numbers; the judge is not asked again."""
    with judged(folder, server) as library:
        result = find(library, 4)
        asked_then, found = len(server.seen), result.confidence["house"]
        record = library.audit.show(result.audit_ids[0]).record
        said = record["judge"]
        assert (said["k"], said["state"], said["model"]) == (found.k, found.state, "j-1")
        assert said["asked"] == [list(one) for one in found.asked]
        assert (said["risk"], said["questions"], said["threshold"]) == (0.1, SUBJECTS, found.threshold)
        assert asked(4) not in json.dumps(said, ensure_ascii=False)
        assert len(record.get("withheld", {}).get("top_k", {})) == 10 - found.k
        for exact in (False, True):
            assert library.replay(result.audit_ids[0], exact=exact).identical
        library.undo_judge()
        changed = library.replay(result.audit_ids[0])
        assert not changed.identical
        assert "judge changed" in [one.what for one in changed.differences]
        assert library.replay(result.audit_ids[0], exact=True).identical
        assert len(server.seen) == asked_then
        assert find(library, 4).confidence["house"].state == "auto"
        with pytest.raises(NotFound):
            library.undo_judge()


def test_texts_that_no_model_may_see_stay_here(folder: Path, server: JudgeServer) -> None:
    """Of a source that is denied, or too sensitive, nothing is sent; where that is all, the judge is not asked."""
    with judged(folder, server) as library:
        source = next(one for one in library.sources() if one.source_id == "house")
        for closed in ({"settings": {"llm": "deny"}}, {"settings": {"llm": "allow"}, "sensitivity": "internal"}):
            library.add(Source(source_id="house", domain="house", path=source.path, **closed))
            result = find(library, 4)
            assert result.confidence["house"].state == "auto"
            assert "may be shown" in result.confidence["house"].reason
        assert not server.seen
    with judged(folder, server, judge={"max_sensitivity": "internal"}) as library:
        assert find(library, 4).confidence["house"].state == "stopped"


def test_a_source_that_is_closed_after_the_search_is_not_shown(
    folder: Path, server: JudgeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What counts is the registry at the moment when the judge is asked."""
    with judged(folder, server) as library:
        source = next(one for one in library.sources() if one.source_id == "house")
        retrieve = library._retriever.retrieve

        def closing(*asked: Any) -> Any:
            found = retrieve(*asked)
            library.add(Source(source_id="house", domain="house", path=source.path, settings={"llm": "deny"}))
            return found

        monkeypatch.setattr(library._retriever, "retrieve", closing)
        assert "may be shown" in find(library, 4).confidence["house"].reason
        assert not server.seen


def test_a_judge_elsewhere_is_told_a_question_as_it_is_kept(
    folder: Path, made: Path, server: JudgeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a search and when it is calibrated: without the number of a person; one that cannot be redacted is not sent."""
    question, kept = f"{asked(4)} 13800138000", f"{asked(4)} 138****8000"
    with judged(folder, server) as library:
        result = library.find(SearchRequest(query=question, knowledge_scope=SCOPE))
        assert result.confidence["house"].state != "auto"
        assert {state["question"] for state in server.states} == {kept}
        server.states.clear()
        first, *others = golden(made)
        library.tune_judge([replace(first, question=f"{first.question} 13800138000"), *others], dry_run=True)
        told = {state["question"] for state in server.states}
        assert f"{first.question} 138****8000" in told
        assert not any("13800138000" in one for one in told)

        def broken(_source: object) -> Any:
            raise ValueError("the recogniser of names broke")

        monkeypatch.setattr(library.recorder.questions, "redacting", broken)
        library.catalog.put_source(replace(library.catalog.source("house"), title="at another change"))
        seen = len(server.seen)
        result = find(library, 4)
        assert (result.confidence["house"].state, result.degraded) == ("auto", ("judge",))
        assert "redacted" in result.confidence["house"].reason
        assert len(server.seen) == seen


def test_what_became_of_the_judge_is_counted(made: Path, server: JudgeServer) -> None:
    """As a leg of requests, where it was asked: in time, too late, or in vain."""
    legs: dict[str, int] = {}
    for liar, timeout in (("perfect", 30), ("500", 30), ("drip", 0.2)):
        server.liar = liar
        with judged(made, server, judge={"timeout": timeout}) as library:
            find(library, 4)
            legs |= {
                names[2]: one.count for names, one in library.health.vitals().legs.items() if names[0] == "judge"
            }
    assert legs == {"ok": 1, "failed": 1, "timeout": 1}
    with judged(made, server, judge={"model": "j-2"}) as library:
        find(library, 4)
        assert not [names for names in library.health.vitals().legs if names[0] == "judge"]


def test_a_follow_up_question_is_judged_as_it_is_whole(made: Path, server: JudgeServer) -> None:
    """In the words that name what the conversation is about, without which nobody could say what suffices."""
    with judged(made, server) as library:
        rewriting = Rewriting(wordings=(asked(4),), follows=True)
        result = library.find(SearchRequest(query="那上限呢？", rewriting=rewriting, knowledge_scope=SCOPE))
        assert {state["question"] for state in server.states} == {asked(4)}
        assert result.confidence["house"].state == "stopped"


def test_tokens_of_the_judge_are_counted(made: Path, server: JudgeServer) -> None:
    """As those of the language model are, whether there is one or not."""
    with judged(made, server) as library:
        assert library.vitals().judge == ModelUse()
        find(library, 4)
        used = library.vitals().judge
        shown = {metric.name: metric for metric in metrics._of_library(library.vitals())}
        tokens = {
            one.labels["direction"]: one.value
            for one in shown["wenyuan_llm_tokens"].samples
            if one.name.endswith("_total")
        }
        assert used.tokens_in > 0
        assert tokens == {"in": used.tokens_in, "out": used.tokens_out}


def test_the_judge_is_traced_below_the_search_that_it_judges(
    made: Path, server: JudgeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its state; where it is not asked there is no span."""
    kept, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    with judged(made, server, tracing={"enabled": True}) as library:
        for liar, state in (("perfect", "ok"), ("500", "failed")):
            server.liar = liar
            kept.clear()
            find(library, 4)
            spans = {span.name.partition(" /")[0]: span for span in kept.get_finished_spans()}
            (above,) = (span for name, span in spans.items() if name.startswith("retrieval "))
            assert spans["leg judge"].parent.span_id == above.context.span_id
            assert spans["leg judge"].attributes["wenyuan.state"] == state
        kept.clear()
        library.find(SearchRequest(query=asked(4)))
        assert "leg judge" not in {span.name for span in kept.get_finished_spans()}


def test_a_judge_elsewhere_takes_threads_only_where_it_is_asked(
    made: Path, server: JudgeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[int] = []

    def counted(calls: Sequence[Callable[[], Any]]) -> Sequence[Callable[[], Any]]:
        taken.append(len(calls))
        return abreast(calls)

    monkeypatch.setattr(searcher, "abreast", counted)
    with judged(made, server) as library:
        library.find(SearchRequest(query=asked(4), knowledge_scope=(DomainScope(domain="house", top_k=3),)))
        assert taken == []
        find(library, 4)
        assert taken == [1]


@pytest.mark.parametrize("name", [name for name, outcome in JUDGED.items() if outcome.kind == "not adopted"])
def test_a_judge_that_knows_nothing_is_not_adopted(made: Path, server: JudgeServer, name: str) -> None:
    """Inverted, by chance, always .95, or in favour of short lists: the library's own probability tells as much."""
    server.sure = JUDGES[name]
    with judged(made, server) as library:
        report = library.tune_judge(golden(made), dry_run=True)
    assert report.outcome in ("no better", "never sure")
    assert report.compared is not None
    assert not report.compared.better


def test_calibration_is_told_adopted_and_undone(made: Path, folder: Path, server: JudgeServer) -> None:
    """Both errors are shown; what must not be answered counts as never sufficient, and once in any width; adopting and undoing are in the audit."""
    pairs = [*golden(made), *(QuestionAddress(question=f"甲子设备的颜色是什么{mark}", answer="") for mark in "？?")]
    stages = []
    with judged(folder, server) as library:
        report = library.tune_judge(pairs, dry_run=True, step=lambda *at: stages.append(at[0]))
        assert library.judge_calibration().calibration_id == 1  # type: ignore[union-attr]
        assert report.outcome == "would be adopted"
        assert report.questions == SUBJECTS + 1
        assert report.compared is not None
        assert report.compared.error[0] < report.compared.error[1]
        assert report.lost <= report.allowed == 1
        assert report.passages[1] < report.passages[0] + 1
        assert set(stages) == {"read", "ask", "judge"}
        adopted = library.tune_judge(pairs)
        assert (adopted.outcome, adopted.calibration_id) == ("adopted", 2)
        assert library.undo_judge().calibration_id == 2
        assert library.judge_calibration() is None
        said = [r.record["object"] for r in library.audit.list(kind="tuning")]
    assert said[:2] == ["judge 2", "judge 2"]


def test_too_few_questions_and_no_judge(made: Path, server: JudgeServer) -> None:
    """Nothing is asked of the judge for nothing, and the report says how many it takes."""
    with judged(made, server, judge={"risk": 0.02}) as library:
        report = library.tune_judge(golden(made))
        assert (report.outcome, report.needed, len(server.seen)) == ("too few", 114, 0)
        with pytest.raises(InvalidRequest, match="none of 1 addresses"):
            library.tune_judge([QuestionAddress(question="x", answer="file:///nowhere")])
    with judged(made, None) as library, pytest.raises(LlmUnavailable, match="no judge is set up"):
        library.tune_judge(golden(made))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_can_be_calibrated(made: Path, server: JudgeServer, dialect: str) -> None:
    with judged(made, server, judge={"dialect": dialect}) as library:
        assert library.tune_judge(golden(made), dry_run=True).outcome == "would be adopted"


def test_a_classifier_in_a_folder_reads_everything(made: Path, tmp_path: Path) -> None:
    """It is opened by the settings, and nothing leaves this process, so that no sensitivity keeps texts from it."""
    make_cross_encoder(tmp_path / "judge", sorted(set("".join(map(asked, range(SUBJECTS))))))
    chosen = {"dialect": "onnx_dir", "path": tmp_path / "judge"}
    with judged(made, None, judge=chosen) as library:
        report = library.tune_judge(golden(made, 40), dry_run=True)
        assert report.judge == "judge"
        assert report.compared is not None
    with (
        pytest.raises(ConfigError, match=r"judge\.path is not set"),
        judged(made, None, judge={"dialect": "onnx_dir"}),
    ):
        pass


def test_all_doors_take_it(made: Path, server: JudgeServer) -> None:
    """As JSON in a search and in a context; agents have it in their scope; an answer is made of what suffices; caches keep it."""
    body = {"query": asked(4), "knowledge_scope": [{"domain": "house", "top_k": "confidence"}]}
    with judged(made, server) as library:
        result = library.find(search_from_wire(body))
        context = library.get_context(ContextRequest(retrieval_query=asked(4), top_k={"house": "confidence"}))
        answered = library.answer(AnswerRequest(query=asked(4), knowledge_scope=SCOPE, on_failure="extract"))
    told = search_to_wire(result)
    SearchAnswerShape.model_validate(told)
    found = told["coverage"]["confidence"]["house"]
    assert (found["k"], found["risk"], found["questions"]) == (len(told["passages"]), 0.1, SUBJECTS)
    assert found["asked"][-1]["p"] >= found["threshold"]
    assert context_to_wire(context)["coverage"]["confidence"]["house"]["k"] == found["k"]
    assert len(answered.found.passages) == found["k"]
    assert result_from_json(result_to_json(result)).confidence == result.confidence


@pytest.mark.parametrize("top_k", ["confident", "CONFIDENCE", "auto ", 0, True, None])
def test_nothing_else_is_a_top_k(top_k: Any) -> None:
    with pytest.raises(InvalidRequest, match=r'"auto" or "confidence"'):
        search_from_wire({"query": "x", "knowledge_scope": [{"domain": "house", "top_k": top_k}]})


def test_readiness_names_the_judge(made: Path, server: JudgeServer) -> None:
    """Whether it is calibrated, too; it is not asked for that."""
    with judged(made, server) as library:
        assert library.readiness().parts["judge"] == {"state": "ok", "detail": "decisions|j-1|1"}
    with judged(made, server, judge={"model": "j-2"}) as library:
        detail = str(library.readiness().parts["judge"]["detail"])
        assert detail == "j-2, not calibrated"
        assert translated(detail) == "j-2，未校准"
    with judged(made, None) as library:
        assert "judge" not in library.readiness().parts
    assert not server.seen


def test_what_others_answered_is_not_passed_on(made: Path, server: JudgeServer) -> None:
    """Passages of services that are asked elsewhere have numbers below 0; the judge sees those around them."""
    with judged(made, server) as library:
        first = find(library, 4).passages[0].passage
        passages = [
            replace(first, passage_id=-1, text="theirs"),
            first,
            replace(first, passage_id=-2, text="theirs"),
            first,
        ]
        sources = {source.source_id: source for source in library.sources()}
        shown = library.judge_tuner.sufficiency.shown(passages, sources, (1, 2, 3))
    assert [(k, len(texts)) for k, texts in shown] == [(2, 1), (3, 1)]
    assert all("theirs" not in text for _, texts in shown for text in texts)
