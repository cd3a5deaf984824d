"""The weight of the legs, measured in a collection without judged questions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import wenyuan
from wenyuan.core.model import Passage
from wenyuan.core.score import PLAIN, Traits
from wenyuan.service.cloze import WEIGHTS, Rivals, clozes, found_by_weight, keyword_of, weight_across, weight_of
from wenyuan.service.query_vectors import QueryVectors

TOPICS = ("pumps", "valves", "boilers", "turbines", "sensors", "filters", "motors", "cables")
PARTS = ("bearing", "gasket", "flange", "shaft", "housing", "nozzle")


def passage(number: int, text: str, title: str = "") -> Passage:
    return Passage(
        passage_id=number, source_id="s", document_id=number, uri=f"u:{number}", title=title, headings=(), text=text,
        sha256=f"{number:064x}", start=0, end=len(text), language="en",
    )  # fmt: skip


ENGLISH = "The pump is checked every Monday morning. Its bearing is greased by the shift on duty after that."
CHINESE = "水泵每周一早上由值班人员检查一次。检查之后要给轴承加注润滑油并做好记录。"


@pytest.mark.parametrize("text", [ENGLISH, CHINESE])
def test_sentence_is_taken_out(text: str) -> None:
    """What is left of a passage does not hold the sentence that is asked for, in either language."""
    (found,) = clozes([passage(1, text)])
    assert found.sentence in text
    assert found.sentence not in found.rest
    assert len(found.rest) + len(found.sentence) >= len(text) - 1


def test_same_passages_same_sentences() -> None:
    """The same passages give the same sentences, whatever came before."""
    many = [passage(i, ENGLISH + CHINESE) for i in range(9)]
    assert clozes(many) == clozes(many)
    assert clozes(many, 3) == clozes(many)[:3]


def test_too_short_or_nothing_left() -> None:
    """A passage without a sentence of some length, or with nothing beside it, asks nothing."""
    assert clozes([passage(1, "Yes. No. Perhaps."), passage(2, "The pump is checked every Monday morning.")]) == []


def test_keyword_without_the_sentence() -> None:
    """The keyword score of the rest counts only the words that are still there."""
    (found,) = clozes([passage(1, ENGLISH)])
    words = {"pump": 2.0, "bear": 2.0}
    score = keyword_of(found, words, 20.0)
    assert 0.2 < score < 0.9
    assert keyword_of(found, {"absent": 1.0}, 20.0) == 0.0
    assert keyword_of(found, {}, 20.0) == 0.0


def rivals(keyword: float, vector: float) -> Rivals:
    return Rivals(keyword=keyword, vector=vector, keywords=np.full(5, 0.5), vectors=np.full(5, 0.5))


def test_words_find_it() -> None:
    """Where words find the passages and meaning does not, the vector leg gets little weight; and the reverse."""
    by_words = found_by_weight([rivals(0.9, 0.1)] * 4)
    by_meaning = found_by_weight([rivals(0.1, 0.9)] * 4)
    assert by_words[0] == by_meaning[-1] == 1.0
    assert by_words[-1] == by_meaning[0] < 0.5
    assert weight_of(by_words) < PLAIN.weight < weight_of(by_meaning)


def test_weight_is_bounded() -> None:
    """No leg is ever left without a say."""
    for best in range(len(WEIGHTS)):
        assert 0.3 <= weight_of(np.eye(len(WEIGHTS))[best]) <= 0.9


def test_both_count_alike() -> None:
    """Where every weight finds the same, the weight stays near the default."""
    assert abs(weight_of(np.full(len(WEIGHTS), 0.8)) - PLAIN.weight) < 0.15


def test_weights_across_languages() -> None:
    """In a library of two languages vectors never count less, whatever sentences say, and the order of weights stays."""
    assert [weight_across(weight) for weight in (0.3, 0.7, 0.9)] == [0.6, 0.8, 0.9]


def test_easy_collections_say_little() -> None:
    """Where nearly every sentence finds its passage, the weight stays nearer to the default than where few do."""
    curve = np.linspace(0.0, 0.1, len(WEIGHTS))
    easy, hard = weight_of(0.85 + curve), weight_of(0.3 + curve)
    assert PLAIN.weight < easy < hard


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[wenyuan.Library]:
    folder = tmp_path_factory.mktemp("texts")
    for a, topic in enumerate(TOPICS):
        for b, part in enumerate(PARTS):
            text = f"# {topic} {part}\n\nThe {part} of all {topic} is replaced after {a * 7 + b} months in service. "
            text += f"Spare parts for {topic} with number {a}{b}{a} lie in store {b} on shelf {a}.\n"
            (folder / f"{topic}-{part}.md").write_text(text, "utf-8")
    with wenyuan.open(
        tmp_path_factory.mktemp("library"), create=True, encoder={"kind": "hashing"}, search={"deadline": 20}
    ) as made:
        made.add(wenyuan.Source(source_id="texts", path=str(folder)))
        yield made


def test_measured_when_taken_in(library: wenyuan.Library) -> None:
    """Taking in a collection measures its weight, and answers use it."""
    measured = library.catalog.value("floor")["hybrid"]["latin"]
    assert 0.3 <= measured["weight"] <= 0.9
    answer = library.search("When is the bearing of pumps replaced?")
    assert answer.weight == measured["weight"]
    assert answer.floors["weight"] == measured["weight"]


def test_set_weight_counts(library: wenyuan.Library, tmp_path: Path) -> None:
    """A weight that is set comes before the one that was measured."""
    with wenyuan.open(library.folder, encoder={"kind": "hashing"}, search={"vector_weight": 0.11}) as other:
        assert other.search("bearing of pumps").weight == 0.11


def test_not_measured_anew_for_little(library: wenyuan.Library) -> None:
    """Measuring floors again takes the weight over, as long as the collection is about as large."""
    before = library.catalog.value("floor")
    marked = before | {"hybrid": {k: v | {"weight": 0.77} for k, v in before["hybrid"].items()}}
    library.catalog.set_value("floor", marked)
    try:
        assert library.measure_floor()["hybrid"]["han"]["weight"] == 0.77
    finally:
        library.catalog.set_value("floor", before)


def test_too_few_to_say(tmp_path: Path) -> None:
    """A handful of passages says nothing about the legs: the default weight stays, and queries are not moved."""
    (tmp_path / "a.md").write_text(ENGLISH + "\n", "utf-8")
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "hashing"}) as made:
        made.add(wenyuan.Source(source_id="one", path=str(tmp_path / "a.md")))
        assert Traits.of(made.catalog.value("floor")["hybrid"]["latin"]) == Traits.of({"law": 0.0})
        assert made.search("pump").weight == PLAIN.weight


def test_centred_cosines(library: wenyuan.Library) -> None:
    """A centred cosine is the cosine less half of what the passage has in common with general questions."""
    query = "the bearing of pumps is replaced"
    assert library.encoder is not None
    before = library.catalog.value("floor")
    centred = before | {"hybrid": {k: v | {"centre": 0.5} for k, v in before["hybrid"].items()}}
    library.catalog.set_value("floor", centred)
    vectors = QueryVectors(library.encoder)
    deadline = wenyuan.core.ports.Deadline(1e12, lambda: 0.0)
    aimed, general = vectors.of(query, deadline), vectors.general("latin", deadline)
    hits = library.search(query, limit=20).hits
    library.catalog.set_value("floor", before)
    assert hits
    rows = {
        c.passage_id: c.row.vector for c in library.catalog.changes(0, library.catalog.seq()) if c.row is not None
    }
    mean = np.mean(list(rows.values()), axis=0)
    for hit in hits:
        expected = rows[hit.passage_id] @ aimed - 0.5 * (rows[hit.passage_id] - mean) @ general
        assert hit.parts["cosine"] == pytest.approx(float(expected), abs=1e-5)


def test_measured_anew_by_another_measure(library: wenyuan.Library) -> None:
    """What another version of the program measured is measured anew, however little has changed."""
    before = library.catalog.value("floor")
    marked = before | {"hybrid": {k: v | {"weight": 0.77} for k, v in before["hybrid"].items()}, "measure": 1}
    library.catalog.set_value("floor", marked)
    try:
        assert library.measure_floor()["hybrid"] == before["hybrid"]
    finally:
        library.catalog.set_value("floor", before)
