"""Help in the language of whoever reads it: English in the code, and in each folder of `i18n` what it is there."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import typer

from wenyuan.cli.help_page import HelpedGroup, in_lines
from wenyuan.i18n.translation import in_language

_EXAMPLE = "Example:"


def described(command: Callable[..., None]) -> str:
    """The English help of a command: its docstring, with the example's lines unwrapped."""
    return in_lines(inspect.getdoc(command) or "", _EXAMPLE)


def paragraphs(text: str, language: str) -> str:
    """A help text of several paragraphs in a language; the commands of its example stay as they are."""
    said, mark, example = text.partition(_EXAMPLE)
    whole = in_language("help_texts.json", language).get(_key(said))
    if whole is None:
        return said + mark + _without_chinese(example) if language == "en" else text
    here = f"{line('Example', language)}："
    return in_lines(f"{whole}\n\n{here}{example}", here) if mark else whole


def _without_chinese(example: str) -> str:
    """The lines of an example without those that ask in Chinese; all of them where no other is left."""
    from wenyuan.core.text.folding import has_han

    lines = example.split("\n")
    own = [line for line in lines if not has_han(line)]
    return "\n".join(own if any(map(str.strip, own)) else lines)


def _key(text: str) -> str:
    """The text by which a translation is found: without breaks of lines, and without what keeps them."""
    parts = text.replace("\b", "").strip().split("\n\n")
    return "\n\n".join(" ".join(part.split()) for part in parts)


def line(text: str, language: str) -> str:
    """A line of help in a language, before what stands in brackets at its end.

    Args:
        text: What stands behind ``@`` tells lines apart that are the same in English, and is not shown.
    """
    said, bracket, rest = text.partition("  [")
    return in_language("help_lines.json", language).get(said, said.partition("@")[0]) + bracket + rest


def group(text: str, short: str) -> typer.Typer:
    """A group of commands, with its help."""
    return typer.Typer(cls=HelpedGroup, help=text, short_help=short, no_args_is_help=True)


def say_in(command: Any, language: str) -> None:
    """Put the help of a command, and of all below it, into a language, whichever it was in before."""
    for name, said in (("help", paragraphs), ("epilog", paragraphs), ("short_help", line)):
        _say(command, name, said, language)
    for option in command.params:
        _say(option, "help", line, language)
    for below in getattr(command, "commands", {}).values():
        say_in(below, language)


def _say(thing: Any, name: str, said: Callable[[str, str], str], language: str) -> None:
    """Set a text of a command or an option; its English is kept beside it."""
    english = vars(thing).setdefault("english", {}).setdefault(name, getattr(thing, name, None))
    if english:
        setattr(thing, name, said(english, language))
