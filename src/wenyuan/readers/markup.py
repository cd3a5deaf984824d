"""Parsing of untrusted XML, parts of ZIP containers and tables of cells, as Office files hold them."""

from __future__ import annotations

import io
import posixpath
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count, islice
from typing import Any, NamedTuple

from wenyuan.core.errors import DocumentRejected, msg
from wenyuan.core.redaction.columns import ColumnKinds
from wenyuan.readers.assemble import EMPTY_CELL, Cell, Piece, lines_of, rejected
from wenyuan.readers.container_check import check_archive

# Parsing of untrusted XML, access to parts of a ZIP container, and tables of cells as text.

MAX_COVERED = 1_000
"""Rows or columns that one cell may cover: a file can state any number."""


def parse_xml(content: bytes, *, recover: bool = False) -> Any:
    """The root element. No entity is expanded, no DTD loaded, nothing fetched; depth and sizes are bounded.

    Args:
        recover: Read over errors, where other programs do.

    Raises:
        ValueError: it is not well-formed.
    """
    from lxml import etree

    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, recover=recover,
        remove_comments=True, remove_pis=True,
    )  # fmt: skip
    try:
        root = etree.fromstring(content, parser)
    except (etree.LxmlError, ValueError) as error:
        raise ValueError(str(error)) from error
    if root is None:
        raise ValueError("it holds no element")
    return root


def local(node: Any) -> str:
    """An element's name without namespace; ``""`` for comments and other non-elements."""
    return node.tag.rpartition("}")[2] if isinstance(node.tag, str) else ""


class Related(NamedTuple):
    """A part that another one refers to: last segment of the relation's type, and the part's name."""

    kind: str
    part: str


class Package:
    """The parts of a ZIP container, which is checked first (`container_check.check_archive`); nothing outside of it is
    opened.

    Args:
        needs: The entry that makes it the format it claims to be.

    Raises:
        DocumentRejected: it is no such container, or unpacks to too much.
    """

    def __init__(self, content: bytes, *, name: str, needs: str, doctypes: bool = False) -> None:
        check_archive(content, name=name, needs=needs, doctypes=doctypes)
        self._archive = zipfile.ZipFile(io.BytesIO(content))
        self._entries = {entry.lower(): entry for entry in self._archive.namelist()}

    def __contains__(self, part: str) -> bool:
        return part.lower() in self._entries

    @property
    def parts(self) -> Sequence[str]:
        """The names of all parts."""
        return tuple(self._entries.values())

    def read(self, part: str) -> bytes:
        """The bytes of a part; KeyError where it is not there."""
        return self._archive.read(self._entries[part.lower()])

    def xml(self, part: str, *, recover: bool = False) -> Any:
        """The root element of a part; KeyError where it is not there, ValueError where it is not well-formed."""
        try:
            return parse_xml(self.read(part), recover=recover)
        except ValueError as error:
            raise ValueError(
                msg("its part {part} is not well-formed XML: {error}", part=repr(part), error=error)
            ) from error

    def related(self, part: str) -> Mapping[str, Related]:
        """The parts that `part` refers to, by relation id (Open Packaging Conventions); external targets are left
        out.
        """
        folder, file = posixpath.split(part)
        rels = f"{folder}/_rels/{file}.rels"
        if rels not in self:
            return {}
        return {
            node.get("Id", ""): Related(node.get("Type", "").rpartition("/")[2], beside(part, node.get("Target", "")))
            for node in self.xml(rels)
            if local(node) == "Relationship" and node.get("TargetMode") != "External"
        }


_FIRST = 24  # children: before those of a style stand some fifteen that say how programs list it


def properties_of(holder: Any, tag: str) -> Any | None:
    """The properties of an element, such as a run's or a paragraph's; None where it has none.

    They stand first in what they belong to, and are looked for there alone: among a million runs of a paragraph that has
    none, they would be looked for by each of them.
    """
    return next((child for child in islice(holder, _FIRST) if child.tag == tag), None)


def property_of(holder: Any, properties: str, tag: str) -> Any | None:
    """An element of an element's properties; None where it is not there."""
    found = properties_of(holder, properties)
    return None if found is None else found.find(tag)


def beside(part: str, target: str) -> str:
    """Resolve a part name relative to another part; never above the root."""
    return posixpath.normpath(posixpath.join("/", posixpath.dirname(part), target)).lstrip("/")


@contextmanager
def damaged(name: str) -> Iterator[None]:
    """Turn missing or invalid structure into a `DocumentRejected`."""
    try:
        yield
    except DocumentRejected:
        raise
    except KeyError as error:
        raise rejected(msg("it is damaged: its part {part} is missing", part=error), name) from error
    except (ValueError, TypeError, AttributeError, IndexError) as error:
        raise rejected(msg("it is damaged: {error}", error=error), name) from error


# A table of cells as text: a cell that covers several rows or columns is repeated, so that each row stands alone.


class Spanning(NamedTuple):
    """A table cell in the file: its text, and the number of rows and columns it spans."""

    text: str
    down: int = 1
    across: int = 1


def covered(number: object) -> int:
    """A row or column span from an attribute value, limited to 1 … `MAX_COVERED`."""
    text = str(number or "1").strip()
    return min(max(int(text), 1), MAX_COVERED) if text.isascii() and text.isdigit() and len(text) < 8 else 1


def table_piece(rows: Sequence[Sequence[Spanning]], *, page: int | None = None) -> tuple[Piece, str]:
    """A table as a piece, one ``a | b`` line per row; and the text it repeats for cells that span rows.

    A cell that covers several columns stands in the first of them.
    """
    kinds = ColumnKinds()
    shown: list[list[Cell]] = []
    repeated: list[str] = []
    above: dict[int, tuple[int, str | None]] = {}  # by column: rows still covered, and the text; None beside a cell
    for row in rows:
        texts: dict[int, str] = {}
        column = 0
        for cell in row:
            column = _over(count(column), above, texts, repeated)
            texts[column] = cell.text
            if cell.down > 1:
                above[column] = (cell.down - 1, cell.text)
                above |= {column + aside: (cell.down - 1, None) for aside in range(1, cell.across)}
            column += cell.across
        _over(sorted(at for at in above if at >= column), above, texts, repeated)
        filled = {at: text for at, text in sorted(texts.items()) if text}
        if filled:
            told = kinds.of(filled)
            shown.append(
                [Cell(texts[at] or EMPTY_CELL, told.get(at, "")) for at in sorted(texts) if at <= max(filled)]
            )
    text, cells = lines_of(shown)
    return Piece("table", text, page=page, cells=cells), "".join(repeated)


def _over(
    columns: Iterable[int], above: dict[int, tuple[int, str | None]], texts: dict[int, str], repeated: list[str]
) -> int:
    """Fill the columns still covered by cells from rows above; returns the first free column."""
    column = 0
    for column in columns:
        if column not in above:
            break
        left, text = above.pop(column)
        if left > 1:
            above[column] = (left - 1, text)
        if text is not None:
            texts[column] = text
            repeated.append(text)
    return column
