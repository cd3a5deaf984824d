"""Hidden rows, columns and sheets of workbooks."""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import NamedTuple
from xml.parsers import expat

from wenyuan.core.errors import msg
from wenyuan.readers.xlsx_cells import CellStyles

_PIECE = 65_536


MAX_ROWS, MAX_COLUMNS = 1_048_576, 16_384


_TELLING = ("sheet", "sheetFormatPr", "row", "col", "autoFilter", "filterColumn", "Relationship")


_HIDING = re.compile(rb"""hidden|zeroHeight|(?:ht|width)\s?=\s?["']0[.0]*["']""")


_SIZES = {"row": "ht", "col": "width"}


_ROWS_OF = re.compile(r"\$?[A-Za-z]*\$?([0-9]{1,7}):\$?[A-Za-z]*\$?([0-9]{1,7})")


class Hidden(NamedTuple):
    """Rows and columns, counted from 0."""

    rows: frozenset[int] = frozenset()
    columns: frozenset[int] = frozenset()


class HiddenCells:
    """A workbook's hidden rows and columns, sheet by sheet.

    Raises:
        ValueError: its XML does not hold together.
        KeyError: it names a part that is not there.
    """

    def __init__(self, content: bytes) -> None:
        self._archive = zipfile.ZipFile(io.BytesIO(content))
        self._entries = {entry.lower(): entry for entry in self._archive.namelist()}
        parts = self._related("xl/workbook.xml")
        self.sheets = [parts[found["id"]] for name, found in self._elements("xl/workbook.xml") if name == "sheet"]
        """The part of each sheet, in the workbook's order."""

    def of(self, part: str) -> Hidden:
        """Rows and columns hidden by hand; rows that only a filter hides are not included."""
        if not self._says_hidden(part):
            return Hidden()
        rows: set[int] = set()
        steps: Counter[int] = Counter()
        number, usual = 0, False
        for name, found in self._elements(part):
            hidden = found.get("hidden", "").strip() in ("1", "true") or _is_nothing(
                found.get(_SIZES.get(name, ""), "")
            )
            if name == "sheetFormatPr":
                usual = found.get("zeroHeight", "") in ("1", "true")
            elif name == "row":
                hidden |= usual and not (found.get("ht") or found.get("hidden"))
                number = int(found.get("r", number + 1))
                if hidden and 0 < number <= MAX_ROWS:
                    rows.add(number - 1)
            elif name == "col" and hidden:
                steps[min(int(found["min"]) - 1, MAX_COLUMNS)] += 1
                steps[min(int(found["max"]), MAX_COLUMNS)] -= 1
        depths = accumulate(steps[at] for at in range(MAX_COLUMNS))
        columns = frozenset(at for at, depth in enumerate(depths) if depth > 0)
        for first, last in self._filtered(part) if rows else ():
            rows = {row for row in rows if not first <= row < last}
        return Hidden(frozenset(rows), columns)

    def _filtered(self, sheet: str) -> Iterator[tuple[int, int]]:
        """Row ranges below the headers of active filters, of the sheet and of its tables."""
        tables = [part for part in map(str.lower, self._related(sheet).values()) if "/tables/" in part]
        for part in (sheet, *filter(self._entries.__contains__, tables)):
            ref = ""
            for name, found in self._elements(part):
                if name == "autoFilter":
                    ref = found.get("ref", "")
                elif name == "filterColumn" and (rows := _ROWS_OF.fullmatch(ref)):
                    yield int(rows[1]), int(rows[2])
                    ref = ""

    def _related(self, part: str) -> dict[str, str]:
        """The parts that `part` refers to, by relation id."""
        folder, name = posixpath.split(part)
        rels = f"{folder}/_rels/{name}.rels"
        if rels.lower() not in self._entries:
            return {}
        return {
            found["Id"]: posixpath.normpath(posixpath.join("/", folder, found["Target"])).lstrip("/")
            for name, found in self._elements(rels)
            if name == "Relationship" and found.get("TargetMode") != "External"
        }

    def _says_hidden(self, part: str) -> bool:
        """Whether something that hides occurs in a part at all: most sheets then need no parsing."""
        end = b""
        for piece in self._pieces(part):
            seen = end + piece.replace(b"\0", b"")  # UTF-16
            if _HIDING.search(seen):
                return True
            end = seen[-16:]
        return False

    def _pieces(self, part: str) -> Iterator[bytes]:
        with self._archive.open(self._entries[part.lower()]) as stream:
            while piece := stream.read(_PIECE):
                yield piece

    def shown(self) -> CellStyles:
        """The formats of the cells of all sheets."""
        main = {posixpath.basename(part).lower(): part for part in self._related("xl/workbook.xml").values()}
        found = {key: main.get(key, "") for key in ("styles.xml", "sharedstrings.xml")}
        parts = {key: part if part.lower() in self._entries else "" for key, part in found.items()}
        early = any(
            name == "workbookPr" and said.get("date1904", "0") in ("1", "true")
            for name, said, _ in self.ended("xl/workbook.xml")
        )
        return CellStyles(self.ended, parts["styles.xml"], parts["sharedstrings.xml"], since_1904=early)

    def ended(self, part: str) -> Iterator[tuple[str, Mapping[str, str], str]]:
        """Local name, attributes and text of the elements of a part, as they end."""
        found: list[tuple[str, Mapping[str, str], str]] = []
        opened: list[dict[str, str]] = []
        text: list[str] = []

        def start(name: str, attributes: dict[str, str]) -> None:
            opened.append(attributes)
            text.clear()

        def end(name: str) -> None:
            found.append((local(name), opened.pop(), "".join(text)))
            text.clear()

        parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, text.append
        try:
            for piece in self._pieces(part):
                parser.Parse(piece, False)
                yield from found
                found.clear()
            parser.Parse(b"", True)
            yield from found
        except (expat.ExpatError, LookupError) as error:
            raise ValueError(
                msg("its part {part} is not well-formed XML: {error}", part=repr(part), error=error)
            ) from error

    def _elements(self, part: str) -> Iterator[tuple[str, dict[str, str]]]:
        """Name and attributes, without namespaces, of the elements that matter for hiding."""
        found: list[tuple[str, dict[str, str]]] = []

        def start(name: str, attributes: dict[str, str]) -> None:
            if name.endswith(_TELLING):  # millions are cells
                found.append((local(name), attributes))

        parser = expat.ParserCreate(namespace_separator=" ")
        parser.StartElementHandler = start
        try:
            for piece in self._pieces(part):
                parser.Parse(piece, False)
                for name, attributes in found:
                    yield name, {local(key): value for key, value in attributes.items()}
                found.clear()
            parser.Parse(b"", True)
        except (expat.ExpatError, LookupError) as error:  # the latter: an encoding it does not know
            raise ValueError(
                msg("its part {part} is not well-formed XML: {error}", part=repr(part), error=error)
            ) from error


def _is_nothing(size: str) -> bool:
    """Whether a height or width is said, and none."""
    return bool(size.strip()) and not size.strip().strip("0.")


def local(name: str) -> str:
    return name.rpartition(" ")[2]
