"""Models that change a sentence as they repeat it, in a hundred ways and two languages: none of their words is given."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import wenyuan
from liars_outcomes import WORDED
from liars_server import Server, lying
from liars_wordings import LIES, MISSING, QUESTIONS, SENTENCES
from manual_library import lacked, lied, manual, outcome_of
from wenyuan.core.text.boundaries import sentences

LANGUAGES = ("en", "zh")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with lying() as running:
        yield running


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory, server: Server) -> Iterator[dict[str, wenyuan.Library]]:
    made = {name: manual(tmp_path_factory.mktemp(name), name, server) for name in LANGUAGES}
    with made["en"] as en, made["zh"] as zh:
        yield {"en": en, "zh": zh}


def true_sentences(language: str) -> set[str]:
    """Those of the manual that say something of the works, and the parts of them that a semicolon ends."""
    whole = [text for about, text in SENTENCES[language].items() if about not in ("note", "order")]
    return {*whole, *(text[a:b] for text in whole for a, b in sentences(text))}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", LIES)
def test_every_lie_has_one_outcome_and_is_not_given(
    libraries: dict[str, wenyuan.Library], server: Server, language: str, name: str
) -> None:
    """All that is given is sentences of the manual, character by character."""
    answered = lied(libraries[language], server, language, name)
    assert {one.text for one in answered.claims} <= true_sentences(language)
    assert {one.citation.quote for one in answered.claims} <= true_sentences(language)
    assert outcome_of(answered) == WORDED[name][LANGUAGES.index(language)]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", MISSING)
def test_what_is_missing_says_nothing_of_the_matter(
    libraries: dict[str, wenyuan.Library], server: Server, language: str, name: str
) -> None:
    """It is at most words of the question."""
    answered = lacked(libraries[language], server, language, name)
    assert answered.text is None
    assert all(part in QUESTIONS[language]["cold"] for part in answered.missing.split(", "))


def test_every_lie_is_in_the_table() -> None:
    assert set(WORDED) == set(LIES)
