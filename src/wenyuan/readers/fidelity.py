"""Measures how much of a file its document contains: character counts of the file, taken independently, against those
of the text.

Both are counted per character, without white space and hidden characters: text that a reader reorders does not count
as lost.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from wenyuan.core.fidelity import Fidelity
from wenyuan.core.model import Document
from wenyuan.readers.assemble import EMPTY_CELL, clean

_MARK = re.compile(r"^\s*(?:[-*+•]|[0-9]{1,9}[.)])(?=\s)", re.MULTILINE)
_SHAPES = {"table": re.compile(rf"\||{EMPTY_CELL}"), "row": re.compile(rf"[:;{EMPTY_CELL}]"), "list": _MARK}


def characters(text: str) -> Counter[str]:
    """Counts of the characters of a text, without white space and hidden characters."""
    counts = Counter(clean(text)[0])
    for char in [char for char in counts if char.isspace()]:
        del counts[char]
    return counts


def measured(
    document: Document,
    source: str | Iterable[str] | None,
    *,
    added: str | Iterable[str] = "",
    pages: int = 0,
    pictures: int = 0,
    warnings: Sequence[str] = (),
) -> Document:
    """The same document with its `Fidelity`.

    Args:
        source: All text of the file, extracted in another way than the document's; None where there is no other way.
        added: Text that the reader inserts on purpose, as often as it does: automatic numbers, column names repeated
            in each row, repeated merged cells. Table bars and list bullets are known already.
        warnings: Sentences for users of the document, each a `core.messages.msg`.
    """
    read = characters(document.text)
    own = None if source is None else read if source == document.text else characters(_one(source))
    lost = invented = 0
    if own is not None:
        taken = read - characters(_one(added))
        lost = (own - taken).total()
        invented = (taken - own - _structure(document)).total()
    return replace(
        document,
        fidelity=Fidelity(
            pages=pages,
            source_characters=None if own is None else own.total(),
            read_characters=read.total(),
            lost=lost,
            invented=invented,
            tables=sum(block.kind == "table" for block in document.blocks),
            pictures=pictures,
            warnings=tuple(warnings),
        ),
    )


def _one(text: str | Iterable[str]) -> str:
    return text if isinstance(text, str) else "\n".join(text)


def _structure(document: Document) -> Counter[str]:
    """Counts of the characters that a document's text has only as table, row and list markup."""
    marks: Counter[str] = Counter()
    for block in document.blocks:
        if pattern := _SHAPES.get(block.kind):
            marks.update("".join(pattern.findall(document.text, block.start, block.end)))
    return marks
