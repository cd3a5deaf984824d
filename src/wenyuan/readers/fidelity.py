"""How much of a file its document holds: the file's own characters, counted apart, against those of the text.

Both are counted without white space and hidden characters, each character as often as it stands there: where a reader puts
things in another order, nothing counts as lost.
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
    """How often each character stands in a text, without white space and hidden characters."""
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
        source: All text of the file itself, read in another way than the document was; None where there is no other way.
        added: What the reader writes into the text on purpose, once for each time it does: automatic numbers, names of
            columns repeated in each row, merged cells repeated. Bars of tables and marks of lists are known already.
        warnings: Sentences for a reader of the document, each a `core.messages.msg`.
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
    """What stands in a text for the shape of its tables, rows and lists."""
    marks: Counter[str] = Counter()
    for block in document.blocks:
        if pattern := _SHAPES.get(block.kind):
            marks.update("".join(pattern.findall(document.text, block.start, block.end)))
    return marks
