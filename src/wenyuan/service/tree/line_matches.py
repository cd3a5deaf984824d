"""Lines of a text that hold a pattern, with those around them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from wenyuan.service.tree.document_text import TextLine
from wenyuan.service.tree.entries import LineMatch
from wenyuan.service.tree.line_pattern import FindSpan, Span

_SHOWN = 300  # characters of a long line
_BEFORE = 100  # of them before what was found


@dataclass(slots=True)
class FoundLine:
    """A line that holds a pattern, where it does, and the lines before and after it."""

    line: TextLine
    span: Span
    before: tuple[str, ...]
    after: list[str] = field(default_factory=list)

    def described(self, path: str, ref: str, title: str) -> LineMatch:
        """As it is told of a document."""
        return LineMatch(
            path=path, ref=ref, title=title, line=self.line.number, text=_shown(self.line.text, self.span[0]),
            headings=self.line.headings, before=tuple(_shown(one, 0) for one in self.before),
            after=tuple(_shown(one, 0) for one in self.after),
        )  # fmt: skip


def matching_lines(lines: Iterable[TextLine], find: FindSpan, *, context: int, behind: int) -> Iterator[FoundLine]:
    """The lines behind a number that hold a pattern.

    Args:
        context: How many lines before and after each are kept.
    """
    before: deque[str] = deque(maxlen=context)
    waiting: deque[FoundLine] = deque()  # for lines that follow
    for one in lines:
        for found in waiting:
            found.after.append(one.text)
        while waiting and len(waiting[0].after) >= context:
            yield waiting.popleft()
        span = find(one.text) if one.number > behind else None
        if span is not None and context:
            waiting.append(FoundLine(one, span, tuple(before)))
        elif span is not None:
            yield FoundLine(one, span, ())
        before.append(one.text)
    yield from waiting


def _shown(line: str, at: int) -> str:
    if len(line) <= _SHOWN:
        return line
    begin = max(0, min(at - _BEFORE, len(line) - _SHOWN))
    end = begin + _SHOWN
    return ("…" if begin else "") + line[begin:end] + ("…" if end < len(line) else "")
