"""`wenyuan eval`: figures that were computed by hand, the cache of built libraries, and what it refuses."""

from __future__ import annotations

import io
import json
import math
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wenyuan.core.errors import (
    ConfigError,
    EncoderUnavailable,
    InvalidRequest,
    KnowledgeError,
    RetrievalFailed,
    SourceError,
)
from wenyuan.encoders.checking import HashingEncoder
from wenyuan.evaluation.built_library import entries_of, open_built
from wenyuan.evaluation.corpus import open_corpus
from wenyuan.evaluation.evaluate import evaluate
from wenyuan.evaluation.measures import measured
from wenyuan.evaluation.pace import Pace
from wenyuan.evaluation.questions import read_judged
from wenyuan.evaluation.report import EvaluationReport
from wenyuan.evaluation.run import EngineRun, QueryRunner, Ranked
from wenyuan.runtime.installation import install_command

CORPUS = [
    {"_id": "a", "title": "", "text": "kiwi plum fig", "metadata": {"kind": "fruit"}},
    {"_id": "b", "title": "", "text": "kiwi plum nut", "metadata": {"kind": "fruit"}},
    {"_id": "c", "title": "", "text": "kiwi oak elm", "metadata": {"kind": "tree"}},
    {"_id": "投诉/一", "title": "", "text": "投诉处理流程"},
]
QUERIES = [
    {"_id": "1", "text": "kiwi plum fig"},  # finds a, b, c
    {"_id": "2", "text": "oak elm nut"},  # finds c, b
    {"_id": "3", "text": "durian"},  # finds nothing
    {"_id": "4", "text": "投訴"},  # finds the Chinese entry, by its Traditional spelling
    {"_id": "unjudged", "text": "anything"},
]
QRELS = [("1", "b", 1), ("2", "c", 1), ("2", "b", 2), ("3", "a", 1), ("4", "投诉/一", 1)]

Made = Callable[..., Path]


def lines(records: Iterable[Mapping[str, Any]]) -> str:
    written = "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records)
    return written.replace("\ud800", r"\ud800")  # half a character can stand in JSON as an escape only


def table(rows: Iterable[tuple[str, str, int]]) -> str:
    return "query-id\tcorpus-id\tscore\n" + "".join(f"{q}\t{d}\t{g}\n" for q, d, g in rows)


@pytest.fixture
def make(tmp_path: Path) -> Made:
    def make(
        corpus: Iterable[Mapping[str, Any]] = CORPUS,
        queries: Iterable[Mapping[str, Any]] = QUERIES,
        qrels: Iterable[tuple[str, str, int]] = QRELS,
        name: str = "水果 set",
    ) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "corpus.jsonl").write_text(lines(corpus), "utf-8")
        (folder / "queries.jsonl").write_text(lines(queries), "utf-8")
        (folder / "qrels.tsv").write_text(table(qrels), "utf-8")
        return folder

    return make


def ask(folder: Path, **options: Any) -> EvaluationReport:
    options = {"library_cache": folder.parent / "cache", "encoder": {"kind": "hashing"}} | options
    return evaluate(folder, out=options.pop("out", io.StringIO()), err=options.pop("err", io.StringIO()), **options)


# -- figures ----------------------------------------------------------------------------------------------


def test_the_figures_are_those_computed_by_hand(make: Made) -> None:
    """Four queries whose keyword rankings can be seen by eye give the figures of the definitions."""
    second = 1 / math.log2(3)
    ndcg = (second + (1 + 2 * second) / (2 + second) + 0 + 1) / 4
    figures = ask(make(), engines=["keyword"]).engines["keyword"]
    assert figures["ndcg@10"] == pytest.approx(ndcg, abs=5e-5)
    assert figures["recall@10"] == figures["recall@100"] == 0.75
    assert figures["mrr@3"] == figures["mrr@10"] == pytest.approx((0.5 + 1 + 0 + 1) / 4)
    assert figures["hit@1"] == 0.5
    assert figures["hit@3"] == 0.75
    assert figures["zero_results"] == 0.25
    assert 0 < figures["p50_ms"] <= figures["p95_ms"]


def test_the_cut_off_can_be_chosen(make: Made) -> None:
    """With k = 1 the answer at rank 2 counts for nothing."""
    figures = ask(make(), engines=["keyword"], k=1).engines["keyword"]
    assert figures["ndcg@1"] == pytest.approx((0 + 1 / 2 + 0 + 1) / 4)
    assert figures["recall@1"] == pytest.approx((0 + 1 / 2 + 0 + 1) / 4)
    assert figures["mrr@1"] == 0.5


def test_all_three_engines_are_measured_by_default(make: Made) -> None:
    """Keyword, vector and fused each have their figures, and the stages that they go through."""
    report = ask(make())
    assert list(report.engines) == ["keyword", "vector", "fused"]
    assert report.engines["vector"]["zero_results"] == 0  # the nearest is always there
    assert set(report.engines["keyword"]["stages"]) == {"keyword"}
    assert set(report.engines["vector"]["stages"]) == {"encode", "vector"}
    assert {"keyword", "vector"} <= set(report.engines["fused"]["stages"])
    assert (report.docs, report.passages, report.queries, report.encoder) == (4, 4, 4, "hashing")


def test_without_an_encoder_there_is_no_vector_row(make: Made) -> None:
    """Keyword-only by setting: vector is left out, and asking for it by name is an error that says why."""
    folder = make()
    assert list(ask(folder, encoder={"kind": "none"}).engines) == ["keyword", "fused"]
    with pytest.raises(ConfigError, match="no encoder"):
        ask(folder, encoder={"kind": "none"}, engines=["vector"])


@given(st.permutations("abcdefgh"), st.sampled_from("abcdefgh"))
def test_equal_scores_do_not_reorder_a_ranking(order: list[str], answer: str) -> None:
    """Whatever their ids, documents with one and the same score are measured at the ranks they were given."""
    run = EngineRun("fused", {"q": Ranked(tuple(order), (0.5,) * 8)}, {"total": [1.0]})
    figures, worth = measured(run, {"q": {answer: 1}}, 10)
    rank = order.index(answer) + 1
    assert figures["mrr@10"] == pytest.approx(1 / rank, abs=5e-5)
    assert worth["q"] == pytest.approx(1 / math.log2(rank + 1))


def test_a_run_that_found_nothing_scores_nothing() -> None:
    """No ranking at all is a figure of 0 for every measure, not an error of the measuring program."""
    figures, worth = measured(EngineRun("keyword", {"q": Ranked((), ())}, {"total": [1.0]}), {"q": {"a": 1}}, 10)
    assert figures["ndcg@10"] == figures["hit@3"] == 0
    assert figures["zero_results"] == 1
    assert worth == {"q": 0.0}


def test_a_long_document_is_ranked_once_by_its_best_passage(make: Made) -> None:
    """A document of many passages stands in the ranking once, where its best passage stands."""
    filler = "\n\n".join(
        f"Paragraph {i} says nothing of note about grass and sand and stones." * 6 for i in range(20)
    )
    long = f"{filler}\n\nThe walrus sings.\n\n{filler}"
    folder = make(
        [{"_id": "short", "text": "The walrus sleeps on grass."}, {"_id": "long", "text": long}],
        [{"_id": "q", "text": "grass and sand"}],
        [("q", "long", 1)],
    )
    assert ask(folder).passages > 3
    corpus = open_corpus(folder)
    question = read_judged(folder, corpus.uris).questions
    with open_built(corpus, folder.parent / "cache", io.StringIO(), encoder={"kind": "hashing"}) as library:
        asker = QueryRunner(library, entries_of(library, corpus))
        for engine in ("keyword", "vector", "fused"):
            found = asker.run(engine, question, Pace("", 1, "", io.StringIO())).ranked["q"]
            assert sorted(found.ids) == ["long", "short"]
            assert found.ids[0] == "long"
            assert found.scores[0] >= found.scores[1]


# -- which questions, and how they are asked ----------------------------------------------------------------


def test_a_limit_takes_the_same_queries_every_time(make: Made) -> None:
    """A larger sample holds the smaller one, whatever order the files have."""
    queries = [{"_id": f"q{i}", "text": "kiwi"} for i in range(30)]
    folder = make(queries=queries, qrels=[(q["_id"], "a", 1) for q in queries])
    samples = [{q.query_id for q in read_judged(folder, {"a"}, limit=n).questions} for n in (5, 9)]
    (folder / "queries.jsonl").write_text(lines(reversed(queries)), "utf-8")
    again = {q.query_id for q in read_judged(folder, {"a"}, limit=5).questions}
    assert len(samples[0]) == 5
    assert samples[0] == again
    assert samples[0] < samples[1]


def test_other_judgements_can_be_named(make: Made) -> None:
    """--qrels replaces the folder's own file; a query without any right answer is not measured."""
    folder = make()
    other = folder.parent / "other.tsv"
    other.write_text(table([("1", "a", 1), ("2", "a", 0)]), "utf-8")
    report = ask(folder, qrels=other, engines=["keyword"])
    assert report.queries == 1
    assert report.engines["keyword"]["hit@1"] == 1


def test_a_filter_narrows_every_query(make: Made) -> None:
    """Only trees are searched: the query for fruit finds its one tree, on every engine."""
    report = ask(make(qrels=[("1", "c", 1)]), filter='{"metadata.kind": "tree"}')
    assert [figures["hit@1"] for figures in report.engines.values()] == [1, 1, 1]


def test_a_query_brings_its_own_filter(make: Made) -> None:
    """``metadata.filter`` of a query holds for that query, and together with the filter of the run."""
    queries = [
        {"_id": "1", "text": "kiwi", "metadata": {"filter": {"metadata.kind": "tree"}}},
        {"_id": "2", "text": "kiwi"},
    ]
    folder = make(queries=queries, qrels=[("1", "c", 1), ("2", "a", 1)])
    assert ask(folder).engines["keyword"]["hit@1"] == 1
    both = ask(folder, filter='{"metadata.kind": "fruit"}').engines["keyword"]
    assert both["zero_results"] == 0.5


def test_the_context_of_a_query_is_used_when_asked_for(make: Made) -> None:
    """Of two documents that say the same, the neighbour of the place of asking comes first, with --context only."""
    text = "Travel must be approved."
    corpus = [
        {"_id": name, "text": text, "metadata": {"uri": f"file:///{name}/rules.md#{i}"}}
        for i, name in enumerate(("hr", "it"))
    ] + [{"_id": "more", "text": "Something else.", "metadata": {"uri": "file:///it/desk.md#0"}}]
    asked = {"source_document_uri": "file:///it/desk.md"}
    folder = make(corpus, [{"_id": "q", "text": "travel approved", "metadata": asked}], [("q", "it", 1)])
    assert ask(folder, engines=["fused"]).engines["fused"]["hit@1"] == 0
    assert ask(folder, engines=["fused"], context=True).engines["fused"]["hit@1"] == 1


def test_addresses_stay_distinct_within_a_folder(make: Made) -> None:
    """Entries cut from one file share its folder, not their address; others get a URN of their percent-coded id."""
    cut = [{"_id": f"x#{i}", "text": "t", "metadata": {"uri": f"file:///a/x.md#{i}"}} for i in range(2)]
    corpus = open_corpus(make([*cut, {"_id": "投诉/一 a", "text": "t"}], name="n"))
    assert list(corpus.uris.values()) == [
        "file:///a/x.md",
        "file:///a/x.md?id=x%231",
        "urn:eval:n:%E6%8A%95%E8%AF%89%2F%E4%B8%80%20a",
    ]


def test_an_entry_becomes_a_document_with_paragraphs_and_facets(make: Made) -> None:
    """Blocks are runs of lines; hidden characters go; scalars are facets; a title stands in for a missing text."""
    entries = [
        {"_id": 1, "title": " A\nB ", "text": "one\ntwo \n \n\u200bthree", "metadata": {"n": 2, "l": [1], "x": None}},
        {"_id": "2", "title": "only", "text": " "},
        {"_id": "3", "title": None, "text": "\ud800x"},
    ]
    first, second, third = open_corpus(make(entries)).documents()
    assert first.title == "A B"
    assert [first.text[b.start : b.end] for b in first.blocks] == ["one\ntwo", "three"]
    assert first.metadata == {"n": 2}
    assert second.text == "only"
    assert (third.title, third.text) == ("", "?x")


# -- the cache --------------------------------------------------------------------------------------------


@pytest.fixture
def embedded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many passages of the corpus each call embeds."""
    calls: list[int] = []
    real = HashingEncoder.encode_passages

    def counted(self: HashingEncoder, texts: Any, **rest: Any) -> Any:
        if rest.get("progress"):  # neither labels nor what all passages have in common
            calls.append(len(texts))
        return real(self, texts, **rest)

    monkeypatch.setattr(HashingEncoder, "encode_passages", counted)
    return calls


def test_a_second_run_embeds_nothing(make: Made, embedded: list[int]) -> None:
    """The built library is opened again and gives the same figures."""
    folder = make()
    first = ask(folder)
    assert sum(embedded) == 4
    second = ask(folder)
    assert sum(embedded) == 4
    assert first.engines["fused"]["ndcg@10"] == second.engines["fused"]["ndcg@10"]


def test_a_changed_corpus_or_encoder_is_built_anew(make: Made, embedded: list[int]) -> None:
    """One more line, or other vectors, make another library beside the first."""
    folder = make()
    ask(folder)
    with (folder / "corpus.jsonl").open("a", encoding="utf-8") as file:
        file.write(lines([{"_id": "new", "text": "pear"}]))
    assert ask(folder).docs == 5
    ask(folder, encoder={"kind": "hashing", "dimension": 64})
    assert sum(embedded) == 4 + 5 + 5
    assert len(list((folder.parent / "cache").iterdir())) == 3


def test_keywords_alone_need_no_vectors(make: Made, embedded: list[int]) -> None:
    """Asking for the keyword engine only builds a library without vectors."""
    assert ask(make(), engines=["keyword"]).encoder is None
    assert embedded == []


def test_an_interrupted_build_goes_on_where_it_stopped(
    make: Made, embedded: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was committed before the encoder failed is not embedded again."""
    folder = make([{"_id": f"d{i}", "text": f"kiwi number {i}"} for i in range(500)], qrels=[("1", "d7", 1)])
    counted = HashingEncoder.encode_passages

    def failing(self: HashingEncoder, texts: Any, **rest: Any) -> Any:
        if embedded and rest.get("progress"):
            raise EncoderUnavailable("the plug was pulled")
        return counted(self, texts, **rest)

    with monkeypatch.context() as patch, pytest.raises(EncoderUnavailable, match="plug"):
        patch.setattr(HashingEncoder, "encode_passages", failing)
        ask(folder)
    (stored,) = embedded
    assert 0 < stored < 500
    assert ask(folder).passages == 500
    assert sum(embedded) == 500


def test_a_lost_index_is_written_anew(make: Made) -> None:
    """A library whose index folder was deleted gives the same figures, never empty answers."""
    import shutil

    folder = make()
    before = ask(folder, engines=["keyword"]).engines["keyword"]
    (library,) = (folder.parent / "cache").iterdir()
    shutil.rmtree(library / "index")
    after = ask(folder, engines=["keyword"]).engines["keyword"]
    assert after["ndcg@10"] == before["ndcg@10"] > 0


def test_the_cache_lies_where_caches_lie(make: Made, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without --library-cache, libraries are kept below XDG_CACHE_HOME, named after their set."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    ask(make(), library_cache=None)
    (library,) = (tmp_path / "xdg" / "wenyuan" / "eval").iterdir()
    assert library.name.startswith("水果 set-")


# -- what is written ----------------------------------------------------------------------------------------


def test_json_goes_to_the_output_and_progress_elsewhere(make: Made) -> None:
    """The output is one JSON object with the documented keys; progress is on the other stream."""
    out, err = io.StringIO(), io.StringIO()
    ask(make(), as_json=True, out=out, err=err)
    told = json.loads(out.getvalue())
    assert {"set": "水果 set", "docs": 4, "queries": 4}.items() <= told.items()
    keys = "ndcg@10 recall@10 recall@100 mrr@3 mrr@10 hit@1 hit@3 zero_results p50_ms p95_ms".split()
    for engine in ("keyword", "vector", "fused"):
        assert set(keys) <= set(told["engines"][engine])
    assert "building 水果 set 4/4 documents" in err.getvalue()
    assert "asking fused 4/4 queries" in err.getvalue()


def test_the_table_fits_into_eighty_columns(make: Made) -> None:
    """Every figure of every engine is in a table of at most 80 columns."""
    from rich.cells import cell_len

    out = io.StringIO()
    ask(make(), out=out)
    assert max(cell_len(line) for line in out.getvalue().splitlines()) <= 80
    for name in ("nDCG@10", "Recall@100", "MRR@3", "Hit@1", "no result", "encode", "fused"):
        assert name in out.getvalue()


def test_the_page_stands_alone_and_runs_nothing(make: Made, tmp_path: Path) -> None:
    """The page shows the figures and the worst queries, loads nothing and treats every text as text."""
    hostile = "<script>alert('kiwi')</script><img src=http://x.test/y>"
    corpus = [*CORPUS, {"_id": "<b>", "title": "<i>\ud800", "text": hostile}]
    page = tmp_path / "page.html"
    queries = [*QUERIES, {"_id": "5", "text": hostile}]
    ask(make(corpus, queries, [*QRELS, ("5", "a", 1)]), html=page)
    text = page.read_text("utf-8")
    assert "<script" not in text
    assert "<img" not in text
    assert "&lt;script&gt;alert" in text
    assert "durian" in text
    assert (
        text.count("<svg") == 12
    )  # scores and reliability of the first ten, the first, and those behind it, of each engine
    assert "nDCG@10" in text


def test_a_page_that_cannot_be_written_is_an_error(make: Made, tmp_path: Path) -> None:
    """The folder of the page is missing, or it is one itself: that is said before anything is built or asked."""
    folder, told = make(), io.StringIO()
    for page in (tmp_path / "nowhere" / "page.html", folder, folder / "qrels.tsv" / "page.html"):
        with pytest.raises(SourceError, match="cannot write") as refused:
            ask(folder, html=page, err=told)
        assert str(page) in refused.value.message
    assert not told.getvalue()


# -- what is refused ----------------------------------------------------------------------------------------


def test_a_missing_folder_or_file_is_named(make: Made, tmp_path: Path) -> None:
    """A wrong folder and each missing file are errors that say which and what a set looks like."""
    with pytest.raises(SourceError, match="there is no folder"):
        ask(tmp_path / "nowhere")
    for name in ("qrels.tsv", "queries.jsonl", "corpus.jsonl"):
        folder = make(name=f"without {name[:4]}")
        (folder / name).unlink()
        with pytest.raises(SourceError, match=name) as caught:
            ask(folder)
        assert caught.value.hint


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("corpus.jsonl", lines([*CORPUS, CORPUS[0]]), "line 5: the id 'a' stands twice"),
        ("corpus.jsonl", "", "holds no documents"),
        ("corpus.jsonl", "{}\n", "line 1: '_id' is None"),
        ("corpus.jsonl", '{"_id": "a"}\n', "line 1: 'text' must be a string"),
        ("corpus.jsonl", '{"_id": "a", "text": "x", "metadata": 3}\n', "line 1: 'metadata' is not an object"),
        ("corpus.jsonl", "[1]\n", "line 1: is not a JSON object"),
        ("corpus.jsonl", "\n{\n", "line 2: is not JSON"),
        ("queries.jsonl", lines([*QUERIES, QUERIES[0]]), "line 6: the id '1' stands twice"),
        ("queries.jsonl", lines([{"_id": "1", "text": " "}]), "line 1: 'text' must be"),
        ("queries.jsonl", lines(QUERIES[:2]), "judges 2 queries that are not in"),
        ("queries.jsonl", lines([{"_id": "1", "text": "x", "metadata": {"filter": {"bad": 1}}}]), "no such filter"),
        ("qrels.tsv", table([*QRELS, ("1", "zz", 1)]), "names 1 documents that are not in the corpus, e.g. 'zz'"),
        ("qrels.tsv", table([*QRELS, ("1", "b", 2)]), "line 7: 'b' has two grades for query '1'"),
        ("qrels.tsv", table([]), "judges no document as an answer"),
        ("qrels.tsv", table([("1", "a", 0)]), "judges no document as an answer"),
        ("qrels.tsv", "query-id\tcorpus-id\tscore\n1 a 1\n", "line 2: it must be"),
    ],
)
def test_an_unsound_file_is_refused_with_the_place(make: Made, name: str, content: str, reason: str) -> None:
    """What is wrong is said with the file and the line, before anything is built."""
    folder = make()
    (folder / name).write_text(content, "utf-8")
    with pytest.raises(SourceError) as caught:
        ask(folder)
    assert reason in str(caught.value)
    assert name in str(caught.value)
    assert not (folder.parent / "cache").exists()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"engines": ["bm25"]}, "no engine 'bm25'"),
        ({"k": 0}, "k must be"),
        ({"k": 101}, "k must be"),
        ({"limit": 0}, "limit"),
        ({"filter": "{"}, "not JSON"),
        ({"filter": '{"language": "zh", "language": "en"}'}, "language must occur only once"),
        ({"filter": '{"nonsense": 1}'}, "nonsense"),
    ],
)
def test_an_option_that_makes_no_sense_is_refused(make: Made, options: dict[str, Any], reason: str) -> None:
    """Wrong options are errors before anything is built."""
    with pytest.raises(InvalidRequest, match=reason):
        ask(make(), **options)


def test_without_the_measuring_package_the_install_line_is_given(make: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    """ir-measures is an extra: where it is missing, the error says how to get it."""
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    with pytest.raises(ConfigError) as caught:
        ask(make())
    assert caught.value.hint == install_command("eval")


def test_a_missing_folder_is_named_before_the_missing_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who mistypes a folder is told so, and need not install anything to hear it."""
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    with pytest.raises(SourceError, match="there is no folder"):
        ask(tmp_path / "nowhere")


def test_a_query_that_is_not_answered_ends_the_run(make: Made) -> None:
    """A failure while asking is an error that names the query; it never counts as an empty answer."""
    queries = [{"_id": "long", "text": "kiwi " * 5000}]
    with pytest.raises(RetrievalFailed, match="'long'") as caught:
        ask(make(queries=queries, qrels=[("long", "a", 1)]), engines=["fused"])
    assert isinstance(caught.value.__cause__, KnowledgeError)


def test_the_rate_leaves_out_what_was_done_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a resumed start the time left follows from new work alone."""
    clock = [100.0]
    monkeypatch.setattr("wenyuan.evaluation.run.time.monotonic", lambda: clock[0])
    out = io.StringIO()
    pace = Pace("building", 5000, "documents", out)
    pace.skip(1000)
    clock[0] += 20
    pace.at(1400)
    assert out.getvalue() == "building 1400/5000 documents, 20.0/s, 3:00 left\n"
