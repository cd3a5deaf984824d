"""From a document to passages: one thought each, with an address.

Structure first. A heading or a clause starts a new passage and a row is one of its own; a clause (条) stays
whole if it fits. What is too long is split where it hurts least: between blocks, list items and table rows,
sentences, phrases, words, and at last anywhere but inside a character as a reader sees it.

The cover is lossless: drafts are in order and do not overlap; between two of them is white space only.
"""

from __future__ import annotations

import bisect
import itertools
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from math import ceil
from typing import Any

from wenyuan.core.addresses import Opener, anchor_at, slug
from wenyuan.core.model import Block, Document, Draft
from wenyuan.core.text import CLAUSE_END, ITEM_BREAK, SENTENCE_END, Span, divides, inside_character, trimmed
from wenyuan.core.text.structure import opening

# How many tokens a text takes, estimated without a tokenizer: fast, the same everywhere, a bit pessimistic.
#
# The vocabulary meant is that of multilingual-e5 (XLM-R): .75 for a CJK character, .7 for a mark, 1.4 for a word
# and .25 for each letter beyond the fifth, 2 for a run of digits and .4 for each beyond the fourth. Over 6,861
# passages of Chinese statutes, an English handbook and technical pages, the real count is .83 to .93 of the
# estimate in sum, and 1.41 of it in the worst passage: leave some room below a model's limit.


# In hundredths of a token: integers, so that sums are exact.
_SPACE, _CJK, _MARK, _WIDE, _LETTER, _DIGIT = range(6)
_RUN = {_LETTER: (140, 5, 25), _DIGIT: (200, 4, 40)}  # the first of a run, how many it covers, each beyond them
_EACH = ((0, 0, 0), (75, 0, 75), (70, 0, 70), (100, 0, 100))  # of the other kinds: every one as the first
_CJK_RANGES = (
    (0x2E80, 0x2FE0), (0x3005, 0x3008), (0x3040, 0x3400), (0x3400, 0x4DC0), (0x4E00, 0xA4D0),
    (0xAC00, 0xD7B0), (0xF900, 0xFB00), (0xFF66, 0xFFDD),
)  # fmt: skip


@lru_cache(maxsize=1)
def _classes() -> tuple[Any, Any]:
    """Character class of each character of the basic plane, (65537,) uint8, the last entry being for all others; and
    what each class costs, (3, 6): the first of a run, how many it covers, each beyond them.
    """
    import numpy as np

    table = np.full(0x10001, _MARK, dtype=np.uint8)
    for code in range(0x10000):
        c = chr(code)
        if c.isspace():
            table[code] = _SPACE
        elif c.isdecimal():
            table[code] = _DIGIT
        elif c.isalnum() or c == "_" or unicodedata.category(c)[0] == "M":
            table[code] = _LETTER
    for low, high in _CJK_RANGES:
        table[low:high] = _CJK
    table[0x10000] = _WIDE
    return table, np.array([*_EACH, *_RUN.values()], dtype=np.int64).T


class Meter:
    """Token estimates for any part of one text, in hundredths, in constant time after one pass."""

    MOST = 200
    """No character costs more."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _measured(self) -> tuple[Any, Any, list[int]]:
        """Class and place in its run of each character, and what those before it cost. Short texts seldom need it."""
        import numpy as np

        classes, (first, covered, beyond) = _classes()
        codes = np.frombuffer(self._text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
        kinds = classes[np.minimum(codes, 0x10000)]
        index = np.arange(len(kinds))
        fresh = np.ones(len(kinds), dtype=bool)
        fresh[1:] = kinds[1:] != kinds[:-1]
        place = index - np.maximum.accumulate(np.where(fresh, index, 0))
        weights = np.where(place == 0, first[kinds], np.where(place >= covered[kinds], beyond[kinds], 0))
        return kinds, place, np.concatenate(([0], np.cumsum(weights))).tolist()

    def __call__(self, start: int, end: int) -> int:
        """Estimate of ``text[start:end]`` in hundredths of a token, as if it stood alone."""
        if end <= start:
            return 0
        kinds, place, sums = self._measured
        total = sums[end] - sums[start]
        kind = int(kinds[start])
        if kind not in _RUN or place[start] == 0:
            return total
        stop = start  # the part begins inside a word: that rest counts as a word of its own
        while stop < end and kinds[stop] == kind and place[stop] > 0:
            stop += 1
        first, free, more = _RUN[kind]
        alone = first + more * max(0, stop - start - free)
        return total - (sums[stop] - sums[start]) + alone

    def reach(self, start: int, room: int) -> int:
        """The largest end, at least ``start + 1``, such that the part costs at most `room`."""
        sums = self._measured[2]
        end = bisect.bisect_right(sums, sums[start] + room) - 1
        while end > start + 1 and self(start, end) > room:
            end -= 1
        return max(end, start + 1)


def estimate_tokens(text: str) -> int:
    """Estimated number of multilingual-e5 tokens of a text; errs on the high side."""
    return -(-Meter(text)(0, len(text)) // 100)


MAX_TOKENS = 400
TARGET_TOKENS = 256
_PAGE = re.compile(r"page=([0-9]+)")
_KEYED = re.compile(r"(?:page|row)=[0-9]+")
_FRAMES = re.compile(r"\{%-?\s*(?:include|import|extends|assign|raw|end\w*)[^%]*%\}|</?[a-zA-Z][^<>]*>")


# --- sections -------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class _Section:
    """Consecutive blocks under one heading or clause, with its path.

    Attributes:
        whole: A clause or row: it stays one passage if it fits at all.
        cell: Of a row, though a heading may precede it.
    """

    path: tuple[str, ...]
    anchor: str
    whole: bool
    blocks: list[Block] = field(default_factory=list)
    cell: str | None = None


def chunk(
    document: Document, *, max_tokens: int = MAX_TOKENS, target_tokens: int = TARGET_TOKENS
) -> tuple[Draft, ...]:
    """Split a document into draft passages.

    Args:
        max_tokens: No draft is estimated longer.
        target_tokens: About how long the parts of a long section become; a section a little longer stays whole.

    Raises:
        ValueError: the bounds make no sense (at least 16 tokens, target ≤ max).
    """
    if not 16 <= target_tokens <= max_tokens:
        raise ValueError(f"16 <= target_tokens <= max_tokens, not {target_tokens} and {max_tokens}")
    meter = Meter(document.text)
    places = _Places(document)
    drafts: list[Draft] = []
    for section in _attached(_sections(document), document.text):
        cutter = _Cutter(document.text, meter, section, max_tokens * 100, target_tokens * 100)
        drafts += _drafts(document.text, section, cutter.spans(), places)
    return tuple(drafts)


def _drafts(text: str, section: _Section, spans: Iterable[Span], places: _Places) -> Iterator[Draft]:
    """The spans of a section with their addresses."""
    index, seen, breaks = 0, section.blocks[0].start, 0
    for start, end in spans:
        while index + 1 < len(section.blocks) and section.blocks[index + 1].start <= start:
            index += 1
            seen, breaks = section.blocks[index].start, 0
        block = section.blocks[index]
        breaks += text.count("\n", seen, start)
        seen = start
        line = None if block.line is None else block.line + breaks
        below = (each for each in section.blocks[index:] if each.kind != "heading" and each.start < end)
        said = next(below, block) if block.kind == "heading" and block.page else block
        if said.page and said.page != block.page:  # a heading at the end of a page is the next one's
            block = replace(said, start=block.start)
        yield places.draft(section, block, (start, end), line)


def _sections(document: Document) -> Iterator[_Section]:
    """Consecutive blocks that belong together; each group begins with a heading, a clause or a row."""
    stack: list[tuple[int, str]] = []
    names = _Names()
    untitled = True
    section = _Section((), "", False)
    for block in document.blocks:
        if block.kind in ("heading", "clause", "row") and section.blocks:
            yield section
            section = _Section(section.path, section.anchor, False)
        if block.kind in ("heading", "clause"):
            while stack and stack[-1][0] >= block.level:
                stack.pop()
            if not (untitled and block.kind == "heading" and block.label == document.title):
                stack.append((block.level, block.label))
            untitled = False
            path = tuple(label for _, label in stack if label)
            section = _Section(path, block.anchor or names.anchor(block), _is_clause(block))
        section.blocks.append(block)
        if block.kind == "row":
            yield replace(section, whole=True, cell=block.cell)
            section = _Section(section.path, section.anchor, False)
    if section.blocks:
        yield section


def _is_clause(block: Block) -> bool:
    opened = opening(block.label) if block.kind == "heading" else None
    return block.kind == "clause" or (opened is not None and opened.kind == "article")


def _attached(sections: Iterable[_Section], text: str) -> list[_Section]:
    """Sections merged where one has no text of its own (a bare heading): with the next one, at the end with the last."""
    kept: list[_Section] = []
    waiting: list[Block] = []
    for section in sections:
        if _says_nothing(section, text):
            waiting += section.blocks
        else:
            section.blocks[:0] = waiting
            kept.append(section)
            waiting = []
    if waiting and kept:
        kept[-1].blocks.extend(waiting)
    elif waiting:
        kept.append(_Section((), "", False, waiting))
    return kept


def _says_nothing(section: _Section, text: str) -> bool:
    return not any(
        b.kind == "clause" or (b.kind != "heading" and _speaks(text[b.start : b.end])) for b in section.blocks
    )


def _speaks(text: str) -> bool:
    """Whether a text contains a letter or digit outside of layout markup."""
    return any(c.isalnum() for c in _FRAMES.sub("", text))


# --- names ----------------------------------------------------------------------------------------------
class _Names:
    """Makes the anchors of a document unique."""

    def __init__(self) -> None:
        self._used: set[str] = set()
        self._count: dict[str, int] = {}

    def anchor(self, block: Block) -> str:
        """As GitHub names headings: the second ``Scope`` is ``scope-1``. A clause is called by its label."""
        name = slug(block.label) if block.kind == "heading" else "-".join(block.label.split())
        return self._free(name or "section", "-{}", 1)

    def _free(self, name: str, suffix: str, first: int) -> str:
        free = name
        number = self._count.get(name, first)
        while free in self._used:
            free = name + suffix.format(number)
            number += 1
        self._count[name] = number
        self._used.add(free)
        return free


class _Places:
    """Gives each passage of a document a unique address.

    The fragment is the anchor that its format has. Where the format has none, it is the form that the documentation
    describes: the cell, the clause or heading, or the line.
    """

    def __init__(self, document: Document) -> None:
        self._opener = Opener(document)
        self._lines = document.media_type == "text/plain"
        self._anchored = set(_anchored(document))
        self._count: Counter[str] = Counter()

    def draft(self, section: _Section, block: Block, span: Span, line: int | None) -> Draft:
        anchor, at = anchor_at(block, span[0])
        fragment = self._documented(section, block, line) if anchor is None else anchor
        directive = self._opener.directive(*span, anchored=at == span[0] and at in self._anchored)
        page = block.page
        if page is not None and anchor is not None and (told := _PAGE.fullmatch(anchor)):
            page = int(told[1])
        self._count[fragment] += 1
        if (part := self._count[fragment]) > 1 and not directive:
            if (block.page or block.cell) and _KEYED.fullmatch(fragment):
                fragment = f"{fragment}&part={part}"
            else:
                directive = f"part={part}"
        return Draft(start=span[0], end=span[1], headings=section.path, fragment=fragment, directive=directive,
                     line=line, page=page, cell=section.cell or block.cell)  # fmt: skip

    def _documented(self, section: _Section, block: Block, line: int | None) -> str:
        if self._lines:
            return f"L{line}" if line else ""
        page = f"page={block.page}" if block.page else ""
        return section.cell or block.cell or page or section.anchor or (f"L{line}" if line else "")


def _anchored(document: Document) -> Iterator[int]:
    """Offsets with an anchor; a block may share the anchor of a block above it."""
    above: str | None = None
    for block in document.blocks:
        if block.anchor and block.anchor != above:
            yield block.start
        yield from (offset for offset, _ in block.inner)
        above = block.inner[-1][1] if block.inner else block.anchor


# --- splitting ------------------------------------------------------------------------------------------
_LINES = re.compile(r"\n")
_WORDS = re.compile(r"\s+")
_SPLITS = {"code": _LINES, "table": _LINES, "row": _LINES}
_LEADS = (":", "：", "|--", "--|", "-|")


@dataclass(frozen=True, slots=True)
class _Atom:
    """An indivisible unit: ``text[start:end]`` and its cost in hundredths of a token."""

    start: int
    end: int
    cost: int
    heading: bool


class _Cutter:
    """Splits one section into spans of at most `limit` hundredths of a token."""

    def __init__(self, text: str, meter: Meter, section: _Section, limit: int, target: int) -> None:
        self._text = text
        self._meter = meter
        self._section = section
        self._limit = limit
        self._target = target

    def spans(self) -> Iterator[Span]:
        """The spans of the section's passages, trimmed."""
        blocks = self._section.blocks
        start, end = trimmed(self._text, blocks[0].start, blocks[-1].end)
        if self._wanted(Meter.MOST * (end - start)) <= 1 or (wanted := self._wanted(self._meter(start, end))) <= 1:
            yield start, end
            return
        headings = sum(self._meter(b.start, b.end) for b in blocks if b.kind == "heading")
        # Room is left in each piece for the headings, so that none of them must stand alone.
        room = self._limit - headings if headings <= self._limit // 2 else self._limit
        atoms = [atom for block in blocks for atom in self._atoms(block, room)]
        for group in self._packed(atoms, self._meter(start, end) // wanted):
            yield group[0].start, group[-1].end

    def _wanted(self, cost: int) -> int:
        """Number of passages for a section of this cost."""
        least = ceil(cost / self._limit)
        return least if self._section.whole else max(least, round(cost / self._target))

    def _atoms(self, block: Block, room: int) -> Iterator[_Atom]:
        levels = (_SPLITS.get(block.kind, ITEM_BREAK), SENTENCE_END, CLAUSE_END, _WORDS)
        for start, end in self._pieces(block.start, block.end, room, levels):
            yield _Atom(start, end, self._meter(start, end), block.kind == "heading")

    def _pieces(self, start: int, end: int, room: int, levels: Sequence[re.Pattern[str]]) -> Iterator[Span]:
        start, end = trimmed(self._text, start, end)
        if start == end:
            return
        if self._meter(start, end) <= room:
            yield start, end
        elif levels:
            cuts = [m.end() for m in levels[0].finditer(self._text, start, end) if divides(self._text, m)]
            for a, b in itertools.pairwise(sorted({start, *cuts, end})):
                yield from self._pieces(a, b, room, levels[1:])
        else:
            yield from self._hard(start, end, room)

    def _hard(self, start: int, end: int, room: int) -> Iterator[Span]:
        while start < end:
            cut = min(end, self._meter.reach(start, room))
            whole = cut
            while start < whole < end and inside_character(self._text, whole):
                whole -= 1
            cut = whole if whole > start else cut  # a character longer than a passage is cut after all
            yield start, cut
            start = cut

    def _packed(self, atoms: Sequence[_Atom], aim: int) -> list[list[_Atom]]:
        """Adjacent atoms grouped to about `aim`, never above the limit, and never a group of headings only."""
        groups: list[list[_Atom]] = []
        group: list[_Atom] = []
        cost = 0
        for atom in atoms:
            if group and not self._joins(group, cost, atom, aim):
                lead = self._lead(group, atom)
                groups.append(group[: len(group) - len(lead)])
                group, cost = lead, _cost(lead)
            group.append(atom)
            cost += atom.cost
        groups.append(group)
        return self._closed(groups, aim)

    def _joins(self, group: Sequence[_Atom], cost: int, atom: _Atom, aim: int) -> bool:
        if cost + atom.cost > self._limit:
            return False
        return cost + atom.cost // 2 <= aim or _bare(group) or self._introduces(group[-1])

    def _introduces(self, atom: _Atom) -> bool:
        return self._text.endswith(_LEADS, atom.start, atom.end)

    def _lead(self, group: list[_Atom], atom: _Atom) -> list[_Atom]:
        """Trailing atoms that must stay with the next one, such as a line that introduces it."""
        last = group[-1]
        fits = self._introduces(last) and last.cost + atom.cost <= self._limit
        return [last] if fits and len(group) > 1 and not _bare(group[:-1]) else []

    def _closed(self, groups: list[list[_Atom]], aim: int) -> list[list[_Atom]]:
        """The groups with short remainders merged into their predecessors, and no last group of headings only."""
        closed = groups[:1]
        for group in groups[1:]:
            scrap = _bare(group) or 3 * _cost(group) < aim
            if scrap and _cost(closed[-1]) + _cost(group) <= self._limit:
                closed[-1] = closed[-1] + group
            else:
                closed.append(group)
        *before, last = closed[-2:]
        if before and _bare(last) and not _bare(before[0][:-1]):
            *rest, moved = before[0]
            if moved.cost + _cost(last) <= self._limit:
                closed[-2:] = [rest, [moved, *last]]
        return closed


def _cost(atoms: Iterable[_Atom]) -> int:
    return sum(atom.cost for atom in atoms)


def _bare(atoms: Sequence[_Atom]) -> bool:
    return all(atom.heading for atom in atoms)
