"""Patterns of lines and names that callers give: matched in time that grows as the text does, whatever the pattern."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

import re2

from wenyuan.core.errors import Fault, InvalidRequest, msg

MOST_PATTERN = 500
"""Characters of a pattern."""
_MEMORY = 4 << 20  # bytes that a pattern, compiled, may take

Span = tuple[int, int]
FindSpan = Callable[[str], Span | None]


def line_pattern(pattern: str, *, regex: bool, case: bool) -> FindSpan:
    """What finds a pattern in a line: where it stands, or None.

    Args:
        regex: Whether it is a regular expression, in RE2's syntax; else it stands for itself, in any width.
        case: Whether capital letters differ from small ones.

    Raises:
        InvalidRequest: it is empty, too long, or no regular expression.
    """
    if not pattern or len(pattern) > MOST_PATTERN:
        raise _refused(msg("must have 1 to {limit} characters", limit=MOST_PATTERN))
    if not regex:
        pattern = re.escape(unicodedata.normalize("NFKC", pattern))
    found = _compiled(pattern, case=case)

    def find(line: str) -> Span | None:
        span = _span(found, line)
        if span is None and not regex and not line.isascii():
            span = (0, len(line)) if found.search(unicodedata.normalize("NFKC", line)) is not None else None
        return span

    return find


def name_pattern(pattern: str) -> Callable[[str], bool]:
    """Whether a path or title has a form: ``*`` stands for characters within a name, ``**`` for any, ``?`` for one. What has
    none of these is looked for as a part of it.

    Raises:
        InvalidRequest: it is empty or too long.
    """
    if not pattern or len(pattern) > MOST_PATTERN:
        raise _refused(msg("must have 1 to {limit} characters", limit=MOST_PATTERN))
    pieces = re.split(r"(\*\*|\*|\?)", unicodedata.normalize("NFKC", pattern))
    forms = {"**": ".*", "*": "[^/]*", "?": "[^/]"}
    whole = "".join(forms.get(piece) or re.escape(piece) for piece in pieces)
    found = _compiled(whole if len(pieces) == 1 else f"(?s)(?:^|/){whole}\\z", case=False)
    return lambda text: found.search(unicodedata.normalize("NFKC", text)) is not None


def _compiled(pattern: str, *, case: bool) -> re2._Regexp:
    options = re2.Options()
    options.log_errors, options.case_sensitive, options.max_mem = False, case, _MEMORY
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        why = error.args[0].decode("utf-8", "replace") if isinstance(error.args[0], bytes) else str(error)
        raise _refused(msg("is no regular expression: {why}", why=why)) from error


def _span(found: re2._Regexp, line: str) -> Span | None:
    match = found.search(line)
    return None if match is None else match.span()


def _refused(why: str) -> InvalidRequest:
    return InvalidRequest(msg("{place} {fault}", place="pattern", fault=why), faults=(Fault("pattern", why),))
