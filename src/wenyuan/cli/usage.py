"""What the parser of the command line refuses, said like every other failure: in one language, and as JSON."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from wenyuan.cli.options import command_of
from wenyuan.cli.terminal import Terminal

if TYPE_CHECKING:
    from wenyuan.core.errors import InvalidRequest

__all__ = ["foreseen", "is_usage_error", "usage_error"]

_IN_OUR_WORDS, _OF_A_CHECK = "Invalid value: ", "Value error, "
"""What the parser puts before a refusal that is in a command's own words, and before one of a check; both say nothing."""
_SHOULD_BE = re.compile(
    r"Input should be (a valid|greater than or equal to|less than or equal to|greater than|less than) (\S+?)(, .*)?$"
)
_MUST_BE = {
    "a valid integer": "must be an integer",
    "a valid number": "must be a number",
    "a valid boolean": "must be true or false",
    "greater than or equal to": "must be at least {}",
    "less than or equal to": "must be at most {}",
    "greater than": "must be above {}",
    "less than": "must be below {}",
}
"""A wrong value is called the same, whether it stands on a command line or in a request."""


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
    return InvalidRequest(_SHOULD_BE.sub(_in_our_words, message))


def _in_our_words(found: re.Match[str]) -> str:
    """What the check behind the parser says of a value; what is not foreseen stays as it is."""
    how, what = found[1], found[2]
    said = _MUST_BE.get(f"{how} {what}") or _MUST_BE.get(how)
    return said.format(what) if said else found[0]
