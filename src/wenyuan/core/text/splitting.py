"""Splitting of long texts at sentences, clauses and rows."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil

from wenyuan.core.model import Block
from wenyuan.core.text.boundaries import (
    CLAUSE_END,
    ITEM_BREAK,
    SENTENCE_END,
    Span,
    divides,
    inside_character,
    trimmed,
)
from wenyuan.core.text.passage_section import Section
from wenyuan.core.text.token_meter import Meter

_LONGEST = 200_000  # characters that are looked at together
_NEAR = 2_000  # characters at the end of a piece, in which a good place to cut it is looked for
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


class Cutter:
    """Splits one section into spans of at most `limit` hundredths of a token."""

    def __init__(self, text: str, meter: Meter, section: Section, limit: int, target: int) -> None:
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
        aim = self._meter(start, end) // wanted
        for part in self._parts(blocks):
            atoms = [atom for block in part for atom in self._atoms(block, room)]
            for group in self._packed(atoms, aim) if atoms else ():
                yield group[0].start, group[-1].end

    def _parts(self, blocks: Sequence[Block]) -> Iterator[list[Block]]:
        """The blocks in parts of bounded length, since what is known of each word takes many times its space."""
        part: list[Block] = []
        size = 0
        for block in blocks:
            for piece in self._shortened(block):
                if (
                    part
                    and size + piece.end - piece.start > _LONGEST
                    and not all(each.kind == "heading" for each in part)
                ):
                    yield part
                    part, size = [], 0
                part.append(piece)
                size += piece.end - piece.start
        if part:
            yield part

    def _shortened(self, block: Block) -> Iterator[Block]:
        """A block, or one that is too long to be looked at as a whole in pieces that end with a line, a sentence or a word."""
        start = block.start
        while block.end - start > _LONGEST:
            cut = start + _LONGEST
            near = self._text[cut - _NEAR : cut]
            ends = (
                max((m.end() for m in level.finditer(near)), default=0) for level in (_LINES, SENTENCE_END, _WORDS)
            )
            cut = cut - _NEAR + (next(filter(None, ends), 0) or _NEAR)
            while cut > start + 1 and inside_character(self._text, cut):
                cut -= 1
            yield replace(block, start=start, end=cut)
            start = cut
        yield block if start == block.start else replace(block, start=start)

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
