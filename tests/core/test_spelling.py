"""Words that are spelled wrongly are looked for as what was meant, where the library has that."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

import wenyuan
from wenyuan.core.scoring.formula import idf
from wenyuan.core.scoring.spelling import respelled
from wenyuan.core.text.analysis import search_terms


def library_with(*words: str) -> Callable[[Sequence[str]], Mapping[str, float]]:
    """The information of terms in a library of a hundred passages, three of which have each of these words."""
    held = {term for word in words for term in search_terms(word)}
    return lambda terms: {term: idf(100, 3 if term in held else 0) for term in terms}


@pytest.mark.parametrize(
    ("question", "held", "meant"),
    [
        ("can I renwe a book somebody else resreved", "renew reserve", {"renw": "renew", "resrev": "reserv"}),
        ("colur printign", "colour print", {"colur": "colour", "printign": "print"}),
        ("downlod", "download", {"downlod": "download"}),
    ],
)
def test_what_was_meant_is_asked_for(question: str, held: str, meant: dict[str, str]) -> None:
    """A letter missing, too many, another, or at its neighbour's place; pairs of words have it, too."""
    found = respelled(search_terms(question), library_with(*held.split()))
    assert {word: other for word, other in found.items() if "~" not in word} == {
        word: other for word, other in meant.items() if word in search_terms(question)
    }
    for pair, other in found.items():
        if "~" in pair:
            assert other.split("~") == [meant.get(word, word) for word in pair.split("~")]


@pytest.mark.parametrize(
    ("question", "held"),
    [
        ("renew a book", "renews book"),  # spelled well
        ("the lokker key", "lokker locker"),  # a name that the library has
        ("colur", "paper"),  # what it may mean is not there
        ("E-09 prizes", "prices"),  # a word that is general English
        ("abc xyz", "abs"),
        ("怎么办理", "办事"),
    ],
)
def test_what_is_no_mistake_is_left(question: str, held: str) -> None:
    """A word that the library or general English has, and one whose neighbours it has not."""
    assert respelled(search_terms(question), library_with(*held.split())) == {}


def test_a_library_is_asked_only_about_odd_words() -> None:
    """A question in plain words costs nothing."""

    def asked(terms: Sequence[str]) -> Mapping[str, float]:
        raise AssertionError(terms)

    assert respelled(search_terms("How long may a member keep the telescope?"), asked) == {}


def test_a_passage_is_found_by_what_was_meant(tmp_path: Path) -> None:
    """Among passages that differ in that word alone."""
    for name, what in (("a", "colour copies"), ("b", "scanned pages"), ("c", "large posters"), ("d", "bound theses")):
        (tmp_path / f"{name}.txt").write_text(
            f"The price of {what} is shown beside the machine on the first floor.", "utf-8"
        )
    settings = {"search": {"abstain": "off", "deadline": 60}, "encoder": {"kind": "none"}}
    with wenyuan.open(tmp_path / "library", create=True, **settings) as library:
        library.add(wenyuan.Source(source_id="s", path=str(tmp_path)))
        for question, name in (("price of colur", "a"), ("price of scaned ones", "b"), ("price of postres", "c")):
            answer = library.search(question, limit=4)
            assert answer.passages[answer.hits[0].passage_id].uri.partition("#")[0].endswith(f"{name}.txt"), question
            assert library.replay(answer.audit_id).identical
