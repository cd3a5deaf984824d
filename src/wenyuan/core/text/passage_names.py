"""The names of passages: headings, anchors and places."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from wenyuan.core.anchors import Opener, anchor_at, slug
from wenyuan.core.model import Block, Document, Draft
from wenyuan.core.text.boundaries import Span
from wenyuan.core.text.passage_section import Section
from wenyuan.core.text.token_meter import KEYED, PAGE


class PassageNames:
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


class Places:
    """Gives each passage of a document a unique address.

    The fragment is the anchor that its format has. Where the format has none, it is the form that the documentation
    describes: the cell, the clause or heading, or the line.
    """

    def __init__(self, document: Document) -> None:
        self._opener = Opener(document)
        self._lines = document.media_type == "text/plain"
        self._anchored = set(_anchored(document))
        self._count: Counter[str] = Counter()

    def draft(self, section: Section, block: Block, span: Span, line: int | None) -> Draft:
        anchor, at = anchor_at(block, span[0])
        fragment = self._documented(section, block, line) if anchor is None else anchor
        directive = self._opener.directive(*span, anchored=at == span[0] and at in self._anchored)
        page = block.page
        if page is not None and anchor is not None and (told := PAGE.fullmatch(anchor)):
            page = int(told[1])
        self._count[fragment] += 1
        if (part := self._count[fragment]) > 1 and not directive:
            if (block.page or block.cell) and KEYED.fullmatch(fragment):
                fragment = f"{fragment}&part={part}"
            else:
                directive = f"part={part}"
        return Draft(start=span[0], end=span[1], headings=section.path, fragment=fragment, directive=directive,
                     line=line, page=page, cell=section.cell or block.cell)  # fmt: skip

    def _documented(self, section: Section, block: Block, line: int | None) -> str:
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
