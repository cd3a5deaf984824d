"""What the documentation says exists: settings with their defaults, commands, and the files it leads to."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer.main
from pydantic import SecretStr

import wenyuan
from setting_defaults import settings
from wenyuan.cli.root import app

HOME = Path(__file__).parents[2]
PAGES = sorted([*HOME.glob("*.md"), *(HOME / "docs").rglob("*.md")])
_ROW = re.compile(r"^\| `([a-z_.]+)` \| (\S.*?) \| (\S.*?) \|$", re.MULTILINE)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_COMMAND = re.compile(r"(?:^|[`$>\s])wenyuan((?: +[^\s`|#'\"。，；、（）]+)+)", re.MULTILINE)


@cache
def commands() -> Any:
    """The command line, with all that it knows."""
    return typer.main.get_command(app)


def shown(value: Any) -> str:
    """A default as the documentation writes it."""
    plain = value.get_secret_value() if isinstance(value, SecretStr) else value
    if plain in (None, ""):
        return "—"
    return f"`{plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)}`"


@pytest.mark.parametrize("page", ["settings.md", "settings.zh.md"])
def test_every_setting_is_described_with_its_default(page: str) -> None:
    """Both pages list the settings of the program, those alone, each with its default and what it is for."""
    text = (HOME / "docs" / page).read_text("utf-8")
    rows = {name: default for name, default, _ in _ROW.findall(text)}
    assert rows == {name: shown(value) for name, value in settings()}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    """Every link to a file of the project leads to one."""
    links = [link for link in _LINK.findall(page.read_text("utf-8")) if "://" not in link and link[0] != "#"]
    gone = [link for link in links if not (page.parent / link.partition("#")[0]).exists()]
    assert gone == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_exist(page: Path) -> None:
    """Every command in a code block is one of the command line, down to its subcommand, with options that it has."""
    blocks = "\n".join(re.findall(r"```(?:console|bash|sh|shell)\n(.*?)```", page.read_text("utf-8"), re.DOTALL))
    for words in (match.split() for match in _COMMAND.findall(blocks.replace("\\\n", " "))):
        command = commands()
        options = _options(command)
        rest = list(words)
        while rest:
            word = rest.pop(0)
            if word.startswith("--"):
                assert word.partition("=")[0] in options | {"--help"}, (words, word)
            elif getattr(command, "commands", None) and not word.startswith("-"):
                if word in command.commands:
                    command = command.commands[word]
                    options |= _options(command)
                elif not _is_value(words, word, options):
                    raise AssertionError(f"there is no command {' '.join(words)}")


def test_the_package_says_that_it_has_types() -> None:
    """Without the mark of PEP 561 a type checker takes every name of an installed wheel for Any."""
    assert (Path(wenyuan.__file__).parent / "py.typed").is_file()


def _options(command: Any) -> set[str]:
    return {name for option in command.params for name in (*option.opts, *option.secondary_opts)}


def _is_value(words: list[str], word: str, options: set[str]) -> bool:
    """Whether a word belongs to the option before it."""
    at = words.index(word)
    return at > 0 and words[at - 1] in options


@pytest.mark.parametrize("page", ["README.md", "README.zh.md"])
def test_the_front_page_leads_to_every_page(page: str) -> None:
    """It has at most 120 lines, and links every page of docs in its language: what is not linked is not found."""
    text = (HOME / page).read_text("utf-8")
    chinese = {one for one in (HOME / "docs").rglob("*.md") if one.name.endswith(".zh.md")}
    english = set((HOME / "docs").rglob("*.md")) - chinese
    linked = {HOME / link.partition("#")[0] for link in _LINK.findall(text)}
    assert len(text.splitlines()) <= 120
    assert (chinese if ".zh" in page else english) - linked == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(HOME)))
def test_links_to_headings_lead_to_them(page: Path) -> None:
    """An address that ends in a heading names one that the page has, as GitHub spells it."""
    for link in _LINK.findall(page.read_text("utf-8")):
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if anchor and "://" not in link and target.suffix == ".md":
            assert anchor in _anchors(target), link


def _anchors(page: Path) -> set[str]:
    """The ids that GitHub gives the headings of a page: lower case, marks left out, spaces as hyphens."""
    headings = re.findall(r"^#+ +(.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_changelog_is_short_before_a_first_release() -> None:
    """One section of at most 80 lines says what a user can do: what changed between checkouts is in the log of git."""
    text = (HOME / "CHANGELOG.md").read_text("utf-8")
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == ["Unreleased"]
    assert len(text.splitlines()) <= 80


@pytest.mark.parametrize(("page", "language"), [("liars.md", "en"), ("liars.zh.md", "zh")])
def test_the_table_of_liars_is_the_one_that_the_tests_use(page: str, language: str) -> None:
    """Printed by the script, and nothing in it may be masked or unsupported."""
    printed = [sys.executable, str(HOME / "scripts" / "liars_table.py"), "--lang", language]
    table = subprocess.run(printed, capture_output=True, encoding="utf-8", check=True).stdout.strip()
    assert table in (HOME / "docs" / page).read_text("utf-8")
    totals = [line for line in table.splitlines() if line[:1].isdigit() or line.startswith("另有")]
    assert len(totals) == 2
    assert all(re.findall(r"\d+", line)[-2:] == ["0", "0"] for line in totals)
