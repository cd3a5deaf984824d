"""Help is in one language at a time: the English stands in the code, and each other language has files of its own."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from wenyuan.cli import help_texts
from wenyuan.cli.help_page import commands_of
from wenyuan.cli.root import app
from wenyuan.cli.terminal import Terminal
from wenyuan.cli.wrapping import cells
from wenyuan.core.text.folding import has_han
from wenyuan.i18n import translation

CHINESE = Path(translation.__file__).with_name("zh")
COMMANDS = Path(help_texts.__file__).parent
BY_THE_PARSER = {"install_completion", "show_completion", "help"}
"""Options that typer adds itself."""
ENGLISH = re.compile(r"[a-z]{3,} [a-z]{2,} [a-z]{2,}")
"""Three words in a row, which no name or value has."""


def said(command: Any, path: str = "wenyuan") -> Iterator[tuple[str, str]]:
    """All help of a command and of those below it, each with where it is shown."""
    yield path, str(command.help)
    for option in command.params:
        if option.name not in BY_THE_PARSER:
            yield f"{path} {option.name}", str(getattr(option, "help", ""))
    for name, below in getattr(command, "commands", {}).items():
        yield f"{path} {name}, in a line", str(below.short_help)
        yield from said(below, f"{path} {name}")


def in_one(language: str) -> Any:
    """The command line with its help in a language."""
    command = typer.main.get_command(app)
    help_texts.say_in(command, language)
    return command


def pages(command: Any, language: str, name: str = "wenyuan", parent: Any = None) -> Iterator[tuple[str, str]]:
    """The help page of a command and of each below it."""
    context = command.context_class(command, info_name=name, parent=parent, obj=Terminal(language=language))
    yield context.command_path, command.get_help(context)
    for below, found in getattr(command, "commands", {}).items():
        yield from pages(found, language, below, context)


def prose(page: str) -> list[str]:
    """The lines of a page but for those of the example, which are commands, and how the command is called."""
    parts = page.split("\n\n")
    return [
        line
        for part in parts[1:]
        if not part.lstrip().startswith(("Example:", "示例："))
        for line in part.split("\n")
    ]


def test_each_help_is_in_one_language() -> None:
    """Chinese help is Chinese; English help has no Chinese in it, not in its examples either."""
    assert len(list(said(in_one("en")))) > 300
    english = {path: page for path, page in pages(in_one("en"), "en") if has_han(page)}
    assert english == {}
    assert [where for where, text in said(in_one("zh")) if not has_han(text.partition("示例：")[0])] == []
    left = [line for _, page in pages(in_one("zh"), "zh") for line in prose(page) if ENGLISH.search(line)]
    assert left == []


@pytest.mark.parametrize("language", ["en", "zh"])
def test_no_line_is_wider_than_the_terminal(language: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of any page, on one of eighty columns; a Chinese character takes two."""
    monkeypatch.setenv("COLUMNS", "80")
    shown = [(path, line) for path, page in pages(in_one(language), language) for line in page.split("\n")]
    assert len(shown) > 1_000
    assert [(path, line) for path, line in shown if cells(line) > 80] == []


def test_the_language_of_help_is_that_of_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    """By locale, and by the option wherever it stands, also when help is asked for first."""
    shown = CliRunner().invoke
    for name in ("LC_ALL", "LC_MESSAGES"):
        monkeypatch.delenv(name, raising=False)
    for locale, arguments, chinese in (
        ("en_US.UTF-8", ["-h"], False),
        ("zh_CN.UTF-8", ["search", "-h"], True),
        ("en_US.UTF-8", ["search", "-h", "--lang", "zh"], True),
        ("zh_CN.UTF-8", ["--lang", "en", "document", "list", "--help"], False),
        ("zh_CN.UTF-8", ["document"], True),
    ):
        monkeypatch.setenv("LANG", locale)
        page = shown(app, arguments).output
        assert ("用法" in page, "Usage" in page) == (chinese, not chinese), arguments


def test_a_long_example_is_one_command_still() -> None:
    """It is broken between words, never within quotes, with the mark that a shell goes on after."""
    line = """  wenyuan gaps answer 3f2a91c0de77b410 "The canteen opens at seven, and closes at two." --author 'Li Wei'"""
    broken = commands_of(line, 60)
    assert len(broken) > 1
    assert all(one.endswith(" \\") for one in broken[:-1])
    assert shlex.split("\n".join(broken).replace("\\\n", " ")) == shlex.split(line)


def test_no_translation_is_left_over() -> None:
    """Each translation is shown somewhere, so that none stays behind when the English is another one."""
    chinese = in_one("zh")
    shown = "\n".join(text for _, text in said(chinese)) + "\n".join(str(one.help) for one in chinese.params)
    shown += str(chinese.epilog)
    for name in ("help_lines.json", "help_texts.json"):
        known = json.loads((CHINESE / name).read_text("utf-8"))
        assert [english for english, told in known.items() if told not in shown] == []
    drawn = "\n".join(page for _, page in pages(in_one("zh"), "zh"))
    assert [
        one for one in json.loads((CHINESE / "help_words.json").read_text("utf-8")).values() if one not in drawn
    ] == []


def test_another_language_is_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with help in a third language says it in that, without a line of code; what it lacks is English."""
    shutil.copytree(CHINESE.parent, tmp_path / "i18n", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "i18n" / "zu").mkdir()
    (tmp_path / "i18n" / "zu" / "help_lines.json").write_text(
        '{"List all agents.": "Bala wonke ama-ejenti."}', "utf-8"
    )
    monkeypatch.setattr(translation, "_folder", (tmp_path / "i18n").joinpath)
    translation.in_language.cache_clear()
    try:
        assert help_texts.line("List all agents.", "zu") == "Bala wonke ama-ejenti."
        assert help_texts.line("Show one.@agent", "zu") == "Show one."
    finally:
        translation.in_language.cache_clear()


def test_lines_with_the_same_english_are_told_apart() -> None:
    """What stands behind the mark chooses the translation and is not shown; a note in brackets stays at the end."""
    assert help_texts.line("Show one.@source", "zh") == "查看来源"
    assert help_texts.line("Show one.@document", "zh") == "查看文档"
    assert help_texts.line("Show one.@source", "en") == "Show one."
    assert help_texts.line("Language of messages.  [default: locale]", "zh") == "提示语言  [default: locale]"


def test_no_help_is_translated_in_the_code() -> None:
    """What options and commands say of themselves stands in English alone where they are declared."""
    lines = [
        (file.name, line) for file in sorted(COMMANDS.glob("*.py")) for line in file.read_text("utf-8").split("\n")
    ]
    assert any("help=" in line for _, line in lines)
    assert [(name, line) for name, line in lines if "help=" in line and has_han(line)] == []
