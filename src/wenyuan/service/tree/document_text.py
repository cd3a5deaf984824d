"""The text of a document by lines, joined from its passages as it was read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import dropwhile, groupby, takewhile
from typing import TYPE_CHECKING, NamedTuple

from wenyuan.catalog.readings import PlacedPassage
from wenyuan.core.ports import Deadline
from wenyuan.core.text.folding import fold
from wenyuan.service.reading import allowed_part

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog

_PAGE = 200  # passages that are read at once


class TextLine(NamedTuple):
    """A line of a document.

    Attributes:
        number: From 1.
        passage_id: In which it begins.
        headings: Those above it, outermost first.
        begins: Whether its passage begins with it.
    """

    number: int
    text: str
    passage_id: int
    headings: tuple[str, ...]
    begins: bool


class GivenPassage(NamedTuple):
    """A passage, and as much of its text as may be given."""

    passage: PlacedPassage
    text: str


def text_lines(parts: Iterable[GivenPassage]) -> Iterator[TextLine]:
    """The lines of a document's passages, from its beginning."""
    line: TextLine | None = None
    end = 0
    for passage, given in parts:
        first, *others = given.split("\n")
        if line is None:
            line = TextLine(1, first, passage.passage_id, passage.headings, True)
        elif ends := _line_ends(passage.start - end):
            yield line
            for _ in range(ends - 1):
                line = line._replace(number=line.number + 1, text="", begins=False)
                yield line
            line = TextLine(line.number + 1, first, passage.passage_id, passage.headings, True)
        else:  # it goes on within the line
            line = line._replace(text=line.text + first)
        for piece in others:
            yield line
            line = TextLine(line.number + 1, piece, passage.passage_id, passage.headings, False)
        end = passage.end
    if line is not None:
        yield line


def _line_ends(gap: int) -> int:
    """How many line ends stood between two passages, by the characters that were left out there."""
    return 0 if gap == 0 else 2 if gap > 1 else 1


@dataclass(kw_only=True)
class DocumentText:
    """The text of a document, read passage by passage, as far as its terms allow.

    Attributes:
        room: How many characters may be given; None: all.
        deadline: None: it may take as long as it takes.
        chars: How many were read so far.
        cut: Whether the terms left something out so far.
    """

    catalog: Catalog
    document_id: int
    room: int | None
    deadline: Deadline | None
    chars: int = 0
    cut: bool = False

    def lines(self) -> Iterator[TextLine]:
        """Its lines.

        Raises:
            EngineTimeout: the deadline passed.
        """
        return text_lines(self._parts())

    def _parts(self) -> Iterator[GivenPassage]:
        after, more, room = 0, True, self.room
        while more:
            if self.deadline is not None:
                self.deadline.check("catalog")
            found, more = self.catalog.passages_of_document(self.document_id, after=after, limit=_PAGE)
            for one in found:
                text = one.text if room is None else allowed_part(one.text, room)
                self.chars += len(text)
                self.cut = len(text) < len(one.text)
                if text or not one.text:
                    yield GivenPassage(one, text)
                if self.cut:
                    return
                room = None if room is None else room - len(text)
            after, more = (found[-1].passage_id, more) if found else (0, False)


class TextSection(NamedTuple):
    """A heading of a text.

    Attributes:
        line: At which it stands.
        level: From 1.
    """

    line: int
    level: int
    title: str


def sections(lines: Iterable[TextLine]) -> Iterator[TextSection]:
    """The headings of a text, as its passages have them."""
    above: tuple[str, ...] = ()
    for _, group in groupby(lines, key=lambda one: one.passage_id):
        passage = list(group)
        first = passage[0]
        if first.headings == above:
            continue
        alike = len(tuple(takewhile(lambda pair: pair[0] == pair[1], zip(first.headings, above, strict=False))))
        above = first.headings
        for level, title in enumerate(above[alike:], alike + 1):
            stands = (one.number for one in passage if _heading(one.text) == _heading(title))
            yield TextSection(next(stands, first.number), level, title)


def _heading(text: str) -> str:
    return fold(text).strip("#=* \t")


@dataclass(frozen=True, slots=True)
class SectionLines:
    """Lines of a text.

    Attributes:
        end: Of the last one; None: the text's.
        others: Where else sections of the same name begin.
    """

    begin: int
    end: int | None = None
    others: tuple[int, ...] = ()


def section_range(lines: Iterable[TextLine], heading: str, title: str) -> SectionLines | None:
    """The lines of a section with those below it, the first of its name; None without one.

    Args:
        title: The document's: it names all of its lines.
    """
    if not _heading(heading):
        return None
    found = list(sections(lines))
    same = [place for place, one in enumerate(found) if _heading(one.title) == _heading(heading)]
    if not same:
        return SectionLines(1) if _heading(title) == _heading(heading) else None
    first = found[same[0]]
    after = next((one.line for one in found[same[0] + 1 :] if one.level <= first.level), None)
    end = None if after is None else after - 1
    return SectionLines(first.line, end, tuple(found[place].line for place in same[1:]))


def wanted_lines(
    lines: Iterable[TextLine], within: SectionLines, *, line: int | None, passage_id: int | None
) -> Iterator[TextLine]:
    """The lines of a range, from a number or a passage on."""
    if line is not None:
        lines = dropwhile(lambda one: one.number < line, lines)
    elif passage_id is not None:
        lines = dropwhile(lambda one: one.passage_id != passage_id, lines)
    lines = dropwhile(lambda one: one.number < within.begin, lines)
    return takewhile(lambda one: within.end is None or one.number <= within.end, lines)
