"""Words in which anything can be asked count less in a small library."""

from __future__ import annotations

from pathlib import Path

import pytest

import wenyuan
from wenyuan.core.scoring.common_words import KNOWN, LESS, share_kept, worth
from wenyuan.core.scoring.formula import bm25, term_weights
from wenyuan.core.text.analysis import search_terms


@pytest.mark.parametrize(
    "question", ["can I do it, and would you have them?", "do we have to", "怎么办", "能不能", "多少钱"]
)
def test_all_of_a_mere_form_counts_less(question: str) -> None:
    """Every word of a question that asks for nothing in particular."""
    weights = {term: 2.0 for term in search_terms(question) if "~" not in term and term != "and" and term != "to"}
    assert weights
    assert list(worth(weights, 0).values()) == pytest.approx([2.0 * (1.0 - LESS)] * len(weights))


@pytest.mark.parametrize(
    "words",
    ["公司", "中国", "社会保险", "how", "where", "new", "invoice", "dog", "annual leave", "E-09", "第十三条", "30天"],
)
def test_a_subject_counts_whole(words: str) -> None:
    """However frequent it is in general text."""
    weights = term_weights(10, dict.fromkeys(search_terms(words), 1))
    assert weights
    assert worth(weights, 10) == weights


def test_a_large_library_knows_its_words_itself() -> None:
    """The more passages it has, the more a common word counts; half of the loss is gone at `KNOWN`."""
    shares = [share_kept(passages) for passages in (0, 20, 200, KNOWN, 100_000)]
    assert shares == sorted(shares)
    assert (shares[0], shares[3]) == (pytest.approx(1.0 - LESS), pytest.approx(1.0 - LESS / 2))
    assert shares[-1] > 0.99


def test_the_information_of_a_question_stays_whole() -> None:
    """A passage with its subject alone has the share that it had; one with its form alone has less of it."""
    weights = term_weights(50, {"can": 2, "dog": 2})
    counted = worth(weights, 50)
    assert bm25({"dog": 1}, 30, 30.0, counted) == bm25({"dog": 1}, 30, 30.0, weights)
    assert bm25({"can": 1}, 30, 30.0, counted) < 0.5 * bm25({"can": 1}, 30, 30.0, weights)


def test_a_passage_that_talks_stands_behind_one_that_says_something(tmp_path: Path) -> None:
    """In a library of a few files, where no statistics of its own tell a word of daily speech from a subject."""
    files = {
        "talk": "If you want me to do it for you, what I can do is what you can do: can I come, or do I have to wait?",
        "dogs": "Dogs stay outside the reading room. Guide dogs are welcome on every floor of the building.",
        "fines": "A fine of ten cents a day is charged for books that come back late.",
        "rooms": "Meeting rooms are booked at the desk for two hours at most.",
    }
    for name, text in files.items():
        (tmp_path / f"{name}.txt").write_text(text, "utf-8")
    settings = {"search": {"abstain": "off", "deadline": 60}, "encoder": {"kind": "none"}}
    with wenyuan.open(tmp_path / "library", create=True, **settings) as library:
        library.add(wenyuan.Source(source_id="rules", path=str(tmp_path)))
        answer = library.search("can I bring my dogs?", limit=4)
        assert "Guide dogs" in answer.passages[answer.hits[0].passage_id].text
