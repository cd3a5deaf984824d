"""Help in all languages that there are: the English of the code, and behind it what each folder of `i18n` says for it."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from typing import Annotated, Any, get_args, get_origin

import typer

from wenyuan.i18n.translation import others

_EXAMPLE = "Example:"


def helped(command: Callable[..., None]) -> str:
    """The help text of a command: its docstring, with the example's lines unwrapped."""
    return in_all(inspect.getdoc(command) or "")


def in_all(text: str) -> str:
    """A help text of several paragraphs, with the translations before its example."""
    said, mark, example = text.partition(_EXAMPLE)
    paragraphs = said.replace("\b", "").strip().split("\n\n")
    key = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
    whole = [*paragraphs, *(known[key] for known in others("help_texts.json") if key in known)]
    return "\n\n".join([*whole, f"\b\n{line('Example')}:{example}"] if mark else whole)


def line(text: str) -> str:
    """A line of help with its translations, before what stands in brackets at its end.

    Args:
        text: What stands behind ``@`` tells lines apart that are the same in English, and is not shown.
    """
    said, bracket, rest = text.partition("  [")
    told = [known[said] for known in others("help_lines.json") if said in known]
    return " ".join([said.partition("@")[0], *told]) + bracket + rest


def group(text: str, short: str) -> typer.Typer:
    """A group of commands, with its help."""
    return typer.Typer(help=in_all(text), short_help=line(short), no_args_is_help=True)


def option_in_all(annotation: Any) -> Any:
    """The annotation of a command's option or argument, with its help in all languages."""
    if get_origin(annotation) is not Annotated:
        return annotation
    kind, *about = get_args(annotation)
    return Annotated[(kind, *map(_in_all_languages, about))]


def options_in_all(command: Callable[..., None]) -> Callable[..., None]:
    """Decorator of what typer calls itself: its options have their help in all languages."""
    own = inspect.signature(command, eval_str=True)
    told = [one.replace(annotation=option_in_all(one.annotation)) for one in own.parameters.values()]
    command.__signature__ = own.replace(parameters=told)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in told}
    return command


def _in_all_languages(about: Any) -> Any:
    if not getattr(about, "help", None):
        return about
    told = copy.copy(about)
    told.help = line(about.help)
    return told
