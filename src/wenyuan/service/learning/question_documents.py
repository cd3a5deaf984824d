"""Which documents questions are about, as people tell documents apart: what is dealt into folds.

The catalog's documents are not always those of people. Pieces of one file may lie in a library as documents of their own, and a
table is one document with many entries that have nothing to do with one another.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import unquote

import numpy as np

from wenyuan.core.model import Passage
from wenyuan.core.scoring.folds import roots
from wenyuan.core.text.folding import fold
from wenyuan.service.learning.lessons import Lesson, TrainingPassages

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog


_PIECE = re.compile(r"(.*)[?&](id|sheet)=([^?&#]*)")


def documents_of(lessons: Sequence[Lesson], holdings: TrainingPassages, catalog: Catalog) -> list[frozenset[str]]:
    """For each lesson, the names of the documents that answer it.

    One document are: what has the same address (see `whole`), and what has the same title in one source. A row of a table
    is a document of its own.
    """
    rows = [_of_each_document(lesson, holdings) for lesson in lessons]
    ids = sorted({int(holdings.ids[row]) for own in rows for row in own})
    told = catalog.passages(ids)
    first: dict[tuple[str, ...], int] = {}
    pairs = [(first.setdefault(name, at), at) for at, i in enumerate(ids) if i in told for name in _names(told[i])]
    name_of = {i: str(root) for i, root in zip(ids, roots(len(ids), pairs), strict=True)}
    return [frozenset(name_of[int(holdings.ids[row])] for row in own) for own in rows]


def _of_each_document(lesson: Lesson, holdings: TrainingPassages) -> list[int]:
    """The rows that answer, if passages are judged; else one row of each document."""
    found = np.unique(np.concatenate([target.rows for target in lesson.targets]))
    if lesson.by_document and len(found) > 1:
        _, first = np.unique(holdings.documents[found], return_index=True)
        found = found[first]
    return [int(row) for row in found]


def _names(passage: Passage) -> list[tuple[str, ...]]:
    """Names that identify the document of a passage; any of them may match."""
    if passage.cell:
        return [("address", passage.source_id, passage.uri)]
    address, title = whole(passage.uri), fold(passage.title).strip()
    file = PurePosixPath(unquote(passage.uri.partition("#")[0].partition("?")[0])).stem
    named = title not in ("", fold(file).strip())  # what has no title is called as its file
    return [("address", passage.source_id, address), *([("title", passage.source_id, title)] if named else [])]


def whole(uri: str) -> str:
    """The address of the document that an address is part of.

    Sheets are pieces of their workbook, and entries whose ids are the same up to a ``#``, as in ``report.pdf#3``, of one
    document: that of this name, where the file is called so. Lines of a file without ids are documents of their own.
    """
    document = uri.partition("#")[0]
    piece = _PIECE.fullmatch(document)
    if piece is None:
        return unquote(document).partition("#")[0] if document.startswith("urn:") else document
    file, kind, told = piece.groups()
    name, cut, _ = unquote(told).partition("#")
    if kind == "sheet" or (cut and unquote(file).endswith(name)):
        return str(file)
    return f"{file}?id={name}" if cut else document
