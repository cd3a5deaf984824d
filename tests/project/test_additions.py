"""Whoever adds an engine, a reader or a language is told by a test what else belongs to it."""

from __future__ import annotations

import re
from pathlib import Path
from string import Formatter
from typing import get_args

import pytest

from wenyuan import plugins
from wenyuan.cli.options import LangOption
from wenyuan.i18n.translation import texts
from wenyuan.readers.selection import supported_suffixes

HOME = Path(__file__).parents[2]
LANGUAGES = get_args(get_args(get_args(LangOption)[0])[0])
ENGINES = plugins.ENGINES.built_in


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_is_held_to_the_laws(engine: str) -> None:
    """A test class `TestNameEngine` binds it to `EngineLaws`, or to those of servers, which have them all."""
    tests = "\n".join(file.read_text("utf-8") for file in (HOME / "tests").rglob("test_engine*.py"))
    assert re.search(rf"^class Test{engine}Engine\((?:Server)?EngineLaws\):$", tests, re.MULTILINE | re.IGNORECASE)


@pytest.mark.parametrize("page", ["docs/engines.md", "docs/engines.zh.md", "ARCHITECTURE.md"])
def test_every_engine_is_described(page: str) -> None:
    """The pages on engines name each that can be set."""
    text = (HOME / page).read_text("utf-8")
    assert [engine for engine in ENGINES if f"`{engine}`" not in text] == []


@pytest.mark.parametrize("page", ["docs/documents.md", "docs/documents.zh.md"])
def test_every_kind_of_file_is_described(page: str) -> None:
    """The pages on what is read name each suffix that has a reader, and no other."""
    rows = [line for line in (HOME / page).read_text("utf-8").splitlines() if line.startswith("| ")]
    assert sorted(re.findall(r"`(\.[a-z]+)`", "\n".join(rows))) == sorted(supported_suffixes())


@pytest.mark.parametrize("door", ["command_line", "console"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_message_is_there_in_every_language(door: str, language: str) -> None:
    """Each has a text, which is not blank, for each language that can be asked for, and no value that the English has not."""
    english, said = texts(door, "en"), texts(door, language)
    assert english.keys() == said.keys()
    assert [key for key, text in said.items() if not text.strip() or names(text) - names(english[key])] == []


def names(text: str) -> set[str]:
    """What varies in a message; its forms for one and for many are not looked at."""
    return {name for _, name, _, _ in Formatter().parse(text) if name}
