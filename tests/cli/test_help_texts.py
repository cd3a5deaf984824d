"""Help is data: the English stands in the code, and each language says the same in files of its own."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from wenyuan.cli import help_texts
from wenyuan.cli.root import app
from wenyuan.core.text.analysis import has_han
from wenyuan.i18n import translation

CHINESE = Path(translation.__file__).with_name("zh")
COMMANDS = Path(help_texts.__file__).parent
ENGLISH_ALONE = {"install_completion", "show_completion", "help"}
"""Options that typer adds itself."""


def said(command: Any, path: str = "wenyuan") -> Iterator[tuple[str, str]]:
    """All help of a command and of those below it, each with where it is shown."""
    yield path, str(command.help)
    for option in command.params:
        if option.name not in ENGLISH_ALONE:
            yield f"{path} {option.name}", str(getattr(option, "help", ""))
    for name, below in getattr(command, "commands", {}).items():
        yield f"{path} {name}, in a line", str(below.short_help)
        yield from said(below, f"{path} {name}")


def test_all_help_is_in_both_languages() -> None:
    """Each command, option and argument is explained in English and in Chinese."""
    told = list(said(typer.main.get_command(app)))
    assert len(told) > 300
    assert [where for where, text in told if not has_han(text) or not text[0].isascii()] == []


def test_no_translation_is_left_over() -> None:
    """Each translation is shown somewhere, so that none stays behind when the English is another one."""
    shown = "\n".join(text for _, text in said(typer.main.get_command(app)))
    shown += str(typer.main.get_command(app).epilog)
    for name in ("help_lines.json", "help_texts.json"):
        known = json.loads((CHINESE / name).read_text("utf-8"))
        assert [english for english, chinese in known.items() if chinese not in shown] == []


def test_another_language_is_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with help in a third language shows it behind the others, without a line of code."""
    shutil.copytree(CHINESE.parent, tmp_path / "i18n", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "i18n" / "zu").mkdir()
    (tmp_path / "i18n" / "zu" / "help_lines.json").write_text(
        '{"List all agents.": "Bala wonke ama-ejenti."}', "utf-8"
    )
    monkeypatch.setattr(translation, "_folder", (tmp_path / "i18n").joinpath)
    translation.others.cache_clear()
    try:
        assert help_texts.line("List all agents.") == "List all agents. 列出智能体 Bala wonke ama-ejenti."
    finally:
        translation.others.cache_clear()


def test_lines_with_the_same_english_are_told_apart() -> None:
    """What stands behind the mark chooses the translation and is not shown; a note in brackets stays at the end."""
    assert help_texts.line("Show one.@source") == "Show one. 查看来源"
    assert help_texts.line("Show one.@document") == "Show one. 查看文档"
    assert (
        help_texts.line("Language of messages.  [default: locale]")
        == "Language of messages. 提示语言  [default: locale]"
    )


def test_no_help_is_translated_in_the_code() -> None:
    """What options and commands say of themselves stands in English alone where they are declared."""
    lines = [
        (file.name, line) for file in sorted(COMMANDS.glob("*.py")) for line in file.read_text("utf-8").split("\n")
    ]
    assert any("help=" in line for _, line in lines)
    assert [(name, line) for name, line in lines if "help=" in line and has_han(line)] == []
