"""Sections."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from wenyuan.core.model import Block, Document, Draft
from wenyuan.core.text.boundaries import Span
from wenyuan.core.text.passage_names import PassageNames, Places
from wenyuan.core.text.passage_section import Section
from wenyuan.core.text.splitting import Cutter
from wenyuan.core.text.structure import opening
from wenyuan.core.text.token_meter import FRAMES, MAX_TOKENS, TARGET_TOKENS, Meter

# How many tokens a text takes, estimated without a tokenizer: fast, the same everywhere, a bit pessimistic.
#
# The vocabulary meant is that of multilingual-e5 (XLM-R): .75 for a CJK character, .7 for a mark, 1.4 for a word
# and .25 for each letter beyond the fifth, 2 for a run of digits and .4 for each beyond the fourth. Over 6,861
# passages of Chinese statutes, an English handbook and technical pages, the real count is .83 to .93 of the
# estimate in sum, and 1.41 of it in the worst passage: leave some room below a model's limit.


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
    places = Places(document)
    drafts: list[Draft] = []
    for section in _attached(_sections(document), document.text):
        cutter = Cutter(document.text, meter, section, max_tokens * 100, target_tokens * 100)
        drafts += _drafts(document.text, section, cutter.spans(), places)
    return tuple(drafts)


def _drafts(text: str, section: Section, spans: Iterable[Span], places: Places) -> Iterator[Draft]:
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


def _sections(document: Document) -> Iterator[Section]:
    """Consecutive blocks that belong together; each group begins with a heading, a clause or a row."""
    stack: list[tuple[int, str]] = []
    names = PassageNames()
    untitled = True
    section = Section((), "", False)
    for block in document.blocks:
        if block.kind in ("heading", "clause", "row") and section.blocks:
            yield section
            section = Section(section.path, section.anchor, False)
        if block.kind in ("heading", "clause"):
            while stack and stack[-1][0] >= block.level:
                stack.pop()
            if not (untitled and block.kind == "heading" and block.label == document.title):
                stack.append((block.level, block.label))
            untitled = False
            path = tuple(label for _, label in stack if label)
            section = Section(path, block.anchor or names.anchor(block), _is_clause(block))
        section.blocks.append(block)
        if block.kind == "row":
            yield replace(section, whole=True, cell=block.cell)
            section = Section(section.path, section.anchor, False)
    if section.blocks:
        yield section


def _is_clause(block: Block) -> bool:
    opened = opening(block.label) if block.kind == "heading" else None
    return block.kind == "clause" or (opened is not None and opened.kind == "article")


def _attached(sections: Iterable[Section], text: str) -> list[Section]:
    """Sections merged where one has no text of its own (a bare heading): with the next one, at the end with the last."""
    kept: list[Section] = []
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
        kept.append(Section((), "", False, waiting))
    return kept


def _says_nothing(section: Section, text: str) -> bool:
    return not any(
        b.kind == "clause" or (b.kind != "heading" and _speaks(text[b.start : b.end])) for b in section.blocks
    )


def _speaks(text: str) -> bool:
    """Whether a text contains a letter or digit outside of layout markup."""
    return any(c.isalnum() for c in FRAMES.sub("", text))
