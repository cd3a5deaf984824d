"""What the parser of the command line refuses, said like every other failure: in one language, and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from wenyuan.cli.options import command_of
from wenyuan.cli.terminal import Terminal

if TYPE_CHECKING:
    from wenyuan.core.errors import InvalidRequest

__all__ = ["foreseen", "is_usage_error", "usage_error"]

_IN_OUR_WORDS, _OF_A_CHECK = "Invalid value: ", "Value error, "
"""What the parser puts before a refusal that is in a command's own words, and before one of a check; both say nothing."""


def foreseen(args: Sequence[str]) -> Terminal:
    """How to speak of arguments that may turn out to be unreadable: the options count wherever they stand."""
    terminal = Terminal(as_json="--json" in args)
    for option, value in zip(args, [*args[1:], ""], strict=True):
        name, _, given = option.partition("=")
        if name == "--lang" and (given or value) in ("zh", "en"):
            terminal.language = given or value
    return terminal


def is_usage_error(error: Exception) -> bool:
    """Whether the parser refuses what was typed; not the help that it shows where nothing was typed.

    Its exceptions have no public parent, so they are known by what they can do.
    """
    return hasattr(error, "format_message") and hasattr(error, "ctx") and type(error).__name__ != "NoArgsIsHelpError"


def usage_error(error: Any, terminal: Terminal) -> InvalidRequest:
    """The parser's refusal as one of ours; it leads to the help of the command that was meant."""
    from wenyuan.core.errors import InvalidRequest

    if error.ctx is not None:
        terminal.command = command_of(error.ctx)
    message = error.format_message().removeprefix(_IN_OUR_WORDS).removesuffix(".").replace(_OF_A_CHECK, "", 1)
    return InvalidRequest(message)
