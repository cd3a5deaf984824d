"""Tuning a real library: it is adopted where it helps, refused where it does not, and can be taken back."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from openpyxl import Workbook

import wenyuan
from tuning_parts import DOCUMENTS, ENCODER, asked, golden, new_house, write_house, written
from wenyuan.catalog import Catalog
from wenyuan.core.errors import EncoderUnavailable, InvalidRequest, NotFound
from wenyuan.core.filters import Scope
from wenyuan.core.learning_records import QuestionAddress
from wenyuan.core.model import Source
from wenyuan.core.scoring.adapt import QueryMap, Tuning
from wenyuan.core.scoring.cross_validation import LEAST_GAIN
from wenyuan.core.scoring.formula import Traits
from wenyuan.core.scoring.probability import CURVES
from wenyuan.encoders.checking import HashingEncoder
from wenyuan.service.ingest.reembedding import embed_anew
from wenyuan.service.learning.lessons import load_holdings, resolve
from wenyuan.service.learning.tuning import LEAST_CURVE

HELD_OUT = 20


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("house")
    new_house(folder).close()
    return folder


@pytest.fixture
def house(original: Path, tmp_path: Path) -> Iterator[Any]:
    """A copy of the library that a test may tune; its documents' addresses are those of the original."""
    shutil.copytree(original / "library", tmp_path / "library")
    with wenyuan.open(tmp_path / "library", encoder=ENCODER, search={"floor": 0.0}) as opened:
        yield opened


def found(house: Any, numbers: range) -> int:
    """How many of these questions find their document among the first three."""
    hits = 0
    for number in numbers:
        answer = house.search(asked(number, "？"), limit=3)
        uris = [answer.passages[hit.passage_id].uri for hit in answer.hits]
        hits += any(f"rule-{number:03}.md" in uri for uri in uris)
    return hits


def scores(house: Any) -> list[list[tuple[int, float]]]:
    answers = [house.search(text, limit=5) for text in (asked(1), asked(80), written(3), "formal7 是什么")]
    return [[(hit.passage_id, hit.score) for hit in answer.hits] for answer in answers]


def test_a_tuning_finds_what_its_questions_did_not_show(house: Any, original: Path) -> None:
    """Learned from seventy questions, adopted, and twenty others find the right document many times as often."""
    unseen = range(DOCUMENTS - HELD_OUT, DOCUMENTS)
    before = found(house, unseen)
    report = house.tune(golden(original, DOCUMENTS - HELD_OUT))
    assert report.outcome == "adopted"
    assert report.verdict.after > report.verdict.before + 0.2
    assert found(house, unseen) >= before + HELD_OUT // 2


def test_what_the_folds_promise_is_measured_per_fold(house: Any, original: Path) -> None:
    """The report has before and after of five folds of equal size, whose means are those of all questions."""
    verdict = house.tune(golden(original, 60), dry_run=True).verdict
    assert verdict.questions == 60
    assert len(verdict.by_fold) == 5
    assert sum(b for b, _ in verdict.by_fold) / 5 == pytest.approx(verdict.before)
    assert sum(a for _, a in verdict.by_fold) / 5 == pytest.approx(verdict.after)


def test_a_weight_alone_belongs_to_its_encoder_as_well(tmp_path: Path) -> None:
    """Where only the weight is learned anew it counts, and does not count under another encoder."""
    for number, file in enumerate(sorted(write_house(tmp_path / "house").iterdir())):
        file.write_text(
            f"# Rule {number}\n\n{written(number)}\n", "utf-8"
        )  # or the lead, which is all, would find it
    crowded = {"encoder": {"kind": "hashing", "dimension": 16}, "search": {"floor": 0.0, "vector_weight": 1.0}}
    with wenyuan.open(tmp_path / "library", create=True, **crowded) as made:
        made.add(Source(source_id="house", path=str(tmp_path / "house")))
        pairs = [QuestionAddress(question=written(number), answer=f"rule-{number:03}.md") for number in range(60)]
        report = made.tune(pairs)
        assert (report.outcome, report.verdict.strength) == ("adopted", 0.0)
        tuned = made.search(written(2))
        assert (tuned.weight, bool(tuned.tuning)) == (report.weight[1], True)
    encoder = HashingEncoder(32)
    catalog = Catalog.open(tmp_path / "library")
    try:
        embed_anew(catalog, encoder, catalog.encoder().key)
    finally:
        catalog.close()
    with wenyuan.open(tmp_path / "library", **crowded | {"encoder": {"kind": "hashing", "dimension": 32}}) as other:
        other.follow_reembedding()
        answer = other.search(written(2))
        assert (answer.weight, answer.tuning) == (1.0, "")


def test_what_cannot_be_learned_is_refused(house: Any, original: Path) -> None:
    """Where answers have nothing to do with the questions, nothing is adopted and no score changes."""
    before = scores(house)
    report = house.tune(golden(original, shift=17))
    assert report.outcome == "no gain"
    assert not report.verdict.adopt
    assert house.tuning() is None
    assert scores(house) == before


def by_heart(folder: Path, documents: int, ways: int = 4) -> list[QuestionAddress]:
    """Several questions about each document, in words that are asked of no other: nothing that holds elsewhere."""
    uris = [f"file://{folder}/house/rule-{number:03}.md" for number in range(documents)]
    return [
        QuestionAddress(question=f"nick{number} call{number} way{number}x{way}", answer=uri)
        for number, uri in enumerate(uris)
        for way in range(ways)
    ]


def test_what_holds_for_the_same_documents_alone_is_not_promised(house: Any, original: Path) -> None:
    """Learned by heart it helps no question about another document: refused, unless all are about these documents."""
    pairs = by_heart(original, 40)
    refused = house.tune(pairs)
    assert (refused.outcome, refused.questions, refused.documents, refused.across) == ("no gain", 160, 40, 0)
    assert refused.verdict.lower <= 0.0 < LEAST_GAIN
    same = house.tune(pairs, same_documents=True, dry_run=True)
    assert (same.outcome, same.same_documents) == ("would be adopted", True)
    assert same.verdict.gain > 0.2


@pytest.mark.parametrize(("documents", "about_one"), [(8, 1), (40, 165)])
def test_questions_about_too_few_documents_are_told(
    house: Any, original: Path, documents: int, about_one: int
) -> None:
    """Eight documents, or one of forty with most of the questions: nothing is promised, and nothing is adopted."""
    first = by_heart(original, 1)[0].answer
    more = [QuestionAddress(question=f"more{number} of{number}", answer=first) for number in range(about_one)]
    report = house.tune([*by_heart(original, documents, 40 // documents + 3), *more])
    assert (report.outcome, report.verdict, report.documents) == ("cannot tell", None, documents)
    assert report.largest == pytest.approx((40 // documents + 3 + about_one) / report.questions, abs=0.001)
    assert house.tuning() is None


def test_a_dry_run_changes_nothing(house: Any, original: Path) -> None:
    """What would be adopted is said, and the library stays at the change at which it was."""
    before, change = scores(house), house.catalog.seq()
    assert house.tune(golden(original), dry_run=True).outcome == "would be adopted"
    assert (scores(house), house.catalog.seq()) == (before, change)


def test_too_few_questions_are_declined_with_how_many_are_needed(house: Any, original: Path) -> None:
    """Below the least number nothing is learned; the report says how many there are and how many it takes."""
    report = house.tune(golden(original, LEAST_CURVE - 1))
    assert (report.outcome, report.questions, report.needed) == ("too few", LEAST_CURVE - 1, LEAST_CURVE)
    assert house.tuning() is None


def chances(house: Any, numbers: range) -> list[float]:
    """The probability of what comes first for each of these questions."""
    return [house.search(f"{written(number)} other word", limit=1).hits[0].score for number in numbers]


def test_thirty_questions_teach_probabilities_and_leave_the_ranking(tmp_path: Path) -> None:
    """Every first passage is right: others asked afterwards are said to be surer, in the same order; undone, nothing is left."""
    for number, file in enumerate(sorted(write_house(tmp_path / "house").iterdir())):
        file.write_text(f"# Rule {number}\n\n{written(number)}\n", "utf-8")
    with wenyuan.open(tmp_path / "library", create=True, encoder=ENCODER, search={"abstain": "off"}) as made:
        made.add(Source(source_id="house", path=str(tmp_path / "house")))
        unseen = range(LEAST_CURVE, DOCUMENTS)
        before, ranked = chances(made, unseen), [hit.passage_id for hit in made.search(written(80), limit=10).hits]
        pairs = [
            QuestionAddress(question=f"{written(number)} other word", answer=f"rule-{number:03}.md")
            for number in range(LEAST_CURVE)
        ]
        tried = made.tune(pairs, dry_run=True)
        assert tried.outcome == "curve would be adopted" and made.tuning() is None
        report = made.tune(pairs)
        assert report.outcome == "curve adopted" and report.brier[1] < report.brier[0]
        assert report.weight == (made._retriever.weight,) * 2
        after = chances(made, unseen)
        assert sum(after) > sum(before)
        assert [hit.passage_id for hit in made.search(written(80), limit=10).hits] == ranked
        audit_id = made.search(written(80)).audit_id
        made.undo_tuning()
        assert chances(made, unseen) == pytest.approx(before)
        assert made.replay(audit_id, exact=True).identical


def test_a_curve_takes_no_tuning_of_the_ranking_away(house: Any, original: Path) -> None:
    """Where a tuning counts, questions that ranking gains nothing from leave it in force."""
    number = house.tune(golden(original)).tuning_id
    assert house.tune(golden(original, shift=17)).outcome == "no gain"
    assert house.tuning().tuning_id == number


def test_a_map_begins_where_questions_are_moved_to_without_it(house: Any) -> None:
    """One that changes nothing finds what is found without it; one of before began at the question as embedded."""
    legs, deadline = house._retriever._own, house._retriever.deadline()
    profile = house._retriever.profile("latin", house._retriever.tuning())
    profile = replace(profile, traits=Traits(bridge=0.3))
    vector = house.encoder.encode_queries(["formal3 是什么"], deadline=deadline)[0]
    nothing = QueryMap(matrix=np.eye(len(vector), dtype=np.float32), shift=np.zeros(len(vector), np.float32))
    plain = legs.aim("han", vector, profile, deadline)
    same, former = (
        legs.aim("han", vector, replace(profile, tuning=Tuning(weight=0.7, map=learned)), deadline)
        for learned in (nothing, replace(nothing, aimed=False))
    )
    assert not np.allclose(plain.vector, vector, atol=1e-3)
    assert np.allclose(same.vector, plain.vector, atol=1e-6)
    assert np.allclose(former.vector, vector, atol=1e-6)


def test_undo_restores_every_score(house: Any, original: Path) -> None:
    """After `undo_tuning` the same questions have the same passages with exactly the same scores."""
    before = scores(house)
    house.tune(golden(original))
    assert scores(house) != before
    house.undo_tuning()
    assert scores(house) == before
    with pytest.raises(NotFound, match="no tuning"):
        house.undo_tuning()


def test_a_tuning_outlives_the_process(house: Any, original: Path) -> None:
    """A library that is opened again answers as it did with the tuning."""
    house.tune(golden(original))
    tuned = scores(house)
    house.close()
    with wenyuan.open(house.folder, encoder=ENCODER, search={"floor": 0.0}) as again:
        assert scores(again) == tuned


def test_the_same_pairs_teach_the_same(house: Any, original: Path) -> None:
    """Tuning twice from the same pairs gives a tuning with the same fingerprint, in place of the first."""
    house.tune(golden(original))
    house.tune(golden(original))
    first, second = house.catalog.tunings()
    assert first.fingerprint == second.fingerprint
    assert (first.undone_seq, second.undone_seq) == (second.seq, None)


def test_an_answer_from_before_is_replayed_as_it_was(house: Any, original: Path) -> None:
    """Replayed exactly it is identical; of the library as it is, the tuning is named as what differs."""
    audit_id = house.search(written(2), limit=2).audit_id
    house.tune(golden(original))
    tuned_id = house.search(written(2), limit=2).audit_id
    assert house.replay(audit_id, exact=True).identical
    assert "tuning changed" in {d.what for d in house.replay(audit_id).differences}
    house.undo_tuning()
    assert house.replay(audit_id).identical
    assert house.replay(tuned_id, exact=True).identical


def test_probabilities_are_learned_and_undone(house: Any, original: Path) -> None:
    """With a tuning the curve of the library's own questions counts, measured anew or not; without it the usual one."""
    assert house.search(written(2)).curve == CURVES["hybrid"]
    report = house.tune(golden(original))
    learned = house.search(written(2)).curve
    assert learned.measured() == report.curve != CURVES["hybrid"].measured()
    house.measure_collection()
    assert house.search(written(2)).curve == learned
    house.undo_tuning()
    assert house.search(written(2)).curve == CURVES["hybrid"]


def test_adopting_and_undoing_are_audited(house: Any, original: Path) -> None:
    """Each leaves a record of its own, with the fingerprint before and after."""
    house.tune(golden(original))
    number = house.undo_tuning().tuning_id
    undone, adopted = house.audit.list(kind="tuning")
    assert (adopted.record["action"], undone.record["action"]) == ("added", "removed")
    assert adopted.record["object"] == undone.record["object"] == str(number)
    assert adopted.record["changes"]["fingerprint"] == undone.record["changes"]["fingerprint"][::-1]
    assert house.audit.verify().ok


def test_progress_names_every_stage(house: Any, original: Path) -> None:
    """Whoever watches is told of reading, embedding, and each fold, each to its end."""
    told: list[tuple[str, int, int]] = []
    house.tune(golden(original), step=lambda *at: told.append(at))
    ended = [stage for stage, done, total in told if done == total]
    assert ended == ["read", "embed", "learn"]
    assert [done for stage, done, _ in told if stage == "learn"] == [1, 2, 3, 4, 5]


def test_only_answers_of_a_named_source_teach(house: Any, original: Path, tmp_path: Path) -> None:
    """With `sources`, pairs that other sources answer are left out and counted."""
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "note.md").write_text("a note on something else\n", "utf-8")
    house.add(Source(source_id="other", path=str(tmp_path / "other")))
    stray = QuestionAddress(question="what else", answer=f"file://{tmp_path}/other/note.md")
    assert house.tune([*golden(original, 30), stray]).questions == 31
    report = house.tune([*golden(original, 30), stray], sources=["house"])
    assert (report.questions, report.unknown) == (30, 1)
    with pytest.raises(NotFound, match="no source 'none'"):
        house.tune(golden(original), sources=["none"])


def test_unknown_addresses_are_told_with_their_place(house: Any, original: Path) -> None:
    """What the library does not hold is counted and named; the rest is learned from."""
    astray = QuestionAddress(question="走失", answer="file:///nowhere/x.md", where="line 7")
    report = house.tune([*golden(original, 30), astray])
    assert (report.unknown, report.examples) == (1, (("file:///nowhere/x.md", "line 7"),))


def test_nothing_but_unknown_addresses_is_refused(house: Any) -> None:
    """When no address is in the library, the first one is named."""
    with pytest.raises(InvalidRequest, match=r"none of 1 addresses.*nowhere.*line 7"):
        house.tune([QuestionAddress(question="走失", answer="file:///nowhere/x.md", where="line 7")])


def test_without_anything_to_learn_from_it_says_so(house: Any) -> None:
    """No pairs and no feedback: the request is at fault."""
    with pytest.raises(InvalidRequest, match="nothing to learn from"):
        house.tune()


FORMS = [
    "uri",
    "path",
    "file",
    "passage",
    "ref",
    "escaped",
    "part",
    "part of a path",
    "escaped part",
    "under a service",
    "part under a service",
]


@pytest.mark.parametrize("form", FORMS)
def test_an_answer_may_be_named_in_any_way_that_people_know(house: Any, original: Path, form: str) -> None:
    """By address, by path within its source, by its passage's address or ref or the end of it, as others escape it;
    by the address under a service that callers of other machines are given.
    """
    answer = house.search(written(5), limit=1)
    passage = answer.passages[answer.hits[0].passage_id]
    part = f"L{passage.line}"
    forms = {
        "part": f"rule-005.md#{part}", "part of a path": f"./house/rule-005.md#{part}",
        "escaped part": f"rule-005.md#%{ord(part[0]):02X}{part[1:]}",
        "uri": f"file://{original}/house/rule-005.md", "path": "house/rule-005.md", "file": "rule-005.md",
        "under a service": f"https://kb.example:8765/v1/sources/{passage.source_id}/files/rule-005.md",
        "part under a service": f"http://10.0.0.5/v1/sources/{passage.source_id}/files/rule-005.md#{part}",
        "passage": passage.uri, "ref": passage.ref, "escaped": f"file://{original}/house/rule%2D005.md",
    }  # fmt: skip
    assert house.tune([QuestionAddress(question="q", answer=forms[form])]).questions == 1


def test_names_with_marks_of_addresses_are_understood(tmp_path: Path) -> None:
    """A line of a JSON Lines file is named by the end of its address; ``?`` and ``#`` may belong to a file's name."""
    write_house(tmp_path / "docs")
    (tmp_path / "docs" / "all.jsonl").write_text('{"text": "one"}\n{"text": "two"}\n', "utf-8")
    (tmp_path / "docs" / "why? #1.md").write_text("# Why\n\n## So\n\nthree\n", "utf-8")
    with wenyuan.open(tmp_path / "library", create=True, encoder=ENCODER) as made:
        made.add(Source(source_id="docs", path=str(tmp_path / "docs")))
        pairs = [
            QuestionAddress(question=name, answer=name)
            for name in ("all.jsonl?line=2", "why? #1.md", "why%3F%20%231.md#so")
        ]
        report = made.tune(pairs)
    assert (report.questions, report.examples) == (3, ())


def sheets(path: Path) -> None:
    """A workbook whose two sheets hold two rows each."""
    book = Workbook()
    for at, (name, rows) in enumerate(
        {"假期": ("年假十天", "病假五天"), "出差": ("北京五百元", "上海六百元")}.items()
    ):
        sheet = book.create_sheet(name, at)
        for row in (("问题", "答案"), *((f"{text[:2]}是多少", text) for text in rows)):
            sheet.append(row)
    del book["Sheet"]
    book.save(path)


def test_a_workbook_or_json_lines_may_be_named_as_a_whole(tmp_path: Path) -> None:
    """By address or path, without a fragment: every sheet and row is meant, and they are one answer."""
    docs = tmp_path / "docs"
    (docs / "other").mkdir(parents=True)
    sheets(docs / "常见 问题.xlsx")
    for folder in (docs, docs / "other"):
        rows = (
            '{"text": "加班要批准"}',
            '{"text": "报销要单据", "id": "b7"}',
            '{"text": "另有地址", "uri": "https://x.example/a"}',
        )
        (folder / "twice.jsonl").write_text("\n".join(rows[: 2 + (folder == docs)]), "utf-8")
    (docs / "other" / "cards.jsonl").write_text('{"text": "卡片一"}\n{"text": "卡片二", "id": "c/2"}\n', "utf-8")
    names = {
        "常见 问题.xlsx": 4, "docs/常见 问题.xlsx": 4, (docs / "常见 问题.xlsx").as_uri(): 4, "常见%20问题.xlsx": 4,
        "cards.jsonl": 2, "other/twice.jsonl": 2, (docs / "twice.jsonl").as_uri(): 2, "twice.jsonl": 0,
        "cards.jsonl#nowhere": 0, "absent.xlsx": 0,
    }  # fmt: skip
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"}) as made:
        assert not made.add(Source(source_id="docs", path=str(docs))).failed
        holdings = load_holdings(made.catalog, Scope(sources=frozenset({"docs"}), as_of=date(2026, 1, 1)), 100, None)
        for name, rows in names.items():
            found = resolve([QuestionAddress(question="问", answer=name)], made.catalog, holdings)
            assert sum(len(t.rows) for lesson in found.lessons for t in lesson.targets) == rows, name
            assert [len(lesson.targets) for lesson in found.lessons] == [1] * bool(rows)
            assert all(lesson.by_document for lesson in found.lessons)
            assert len(found.unknown) == (not rows)


def test_a_path_that_fits_two_documents_leads_nowhere(house: Any, tmp_path: Path) -> None:
    """A name that several documents have is not guessed at."""
    write_house(tmp_path / "twin")
    house.add(Source(source_id="twin", path=str(tmp_path / "twin")))
    pairs = [
        QuestionAddress(question="one", answer="rule-005.md"),
        QuestionAddress(question="two", answer="twin/rule-005.md"),
    ]
    report = house.tune(pairs)
    assert (report.questions, report.unknown) == (1, 1)


def test_questions_that_read_the_same_are_one(house: Any, original: Path) -> None:
    """Full-width and plain spelling of a question with two answers make one question."""
    one, two = (pair.answer for pair in golden(original, 2))
    report = house.tune(
        [QuestionAddress(question="ＡＢＣ 规定", answer=one), QuestionAddress(question="ABC 规定 ", answer=two)]
    )
    assert (report.questions, report.pairs) == (1, {"golden": 2})


def test_a_library_without_vectors_cannot_be_tuned(tmp_path: Path) -> None:
    """Keyword-only libraries are refused, with where to look."""
    with (
        wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"}) as plain,
        pytest.raises(EncoderUnavailable, match="learned from vectors") as refused,
    ):
        plain.tune([QuestionAddress(question="q", answer="a")])
    assert refused.value.hint == "wenyuan doctor"
