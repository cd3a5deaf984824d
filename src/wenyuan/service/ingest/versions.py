"""Earlier versions of uploaded files: where they are kept, and from which day to which each of them counts.

A file that is replaced moves to ``.versions/NAME/NUMBER_FROM_UNTIL/`` below its source's folder, and is read from there
like any other. FROM is the day on which it came (``first`` for the oldest: nothing is known of the time before), UNTIL the
day on which the next one did. So a question as of a day finds the version of that day, whatever came since. What a document
says of its own days comes first: a version that begins later than it came leaves the one before it in force until then.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from wenyuan.core.addresses import file_uri, with_part
from wenyuan.core.model import Document
from wenyuan.core.validity import LiveVersion
from wenyuan.service.ingest.holdings import Holding

FOLDER = ".versions"
_MARK = re.compile(r"([0-9]{1,9})_(first|[0-9]{4}-[0-9]{2}-[0-9]{2})_([0-9]{4}-[0-9]{2}-[0-9]{2})")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptVersion:
    """An earlier version of a file.

    Attributes:
        name: Of the file that is in its place now, below the source's folder.
        number: From 1, rising.
        came, left: The days on which it was uploaded (None for the first one) and replaced.
    """

    name: str
    number: int
    came: date | None
    left: date
    file: str

    @property
    def place(self) -> str:
        """The path of its file below the source's folder."""
        mark = f"{self.number}_{self.came or 'first'}_{self.left}"
        return str(PurePosixPath(FOLDER, self.name, mark, self.file))


def version_at(place: PurePosixPath) -> KeptVersion | None:
    """The version whose file lies at a path below the source's folder; None where that is no kept version."""
    if len(place.parts) < 4 or place.parts[0] != FOLDER:
        return None
    mark = _MARK.fullmatch(place.parts[-2])
    if mark is None:
        return None
    try:
        came = None if mark[2] == "first" else date.fromisoformat(mark[2])
        left = date.fromisoformat(mark[3])
    except ValueError:
        return None
    name = str(PurePosixPath(*place.parts[1:-2]))
    return KeptVersion(name=name, number=int(mark[1]), came=came, left=left, file=place.name)


def versions_in(home: Path, name: str) -> list[KeptVersion]:
    """The kept versions of one file of a source's folder, the oldest first."""
    folder = home / FOLDER / name
    found = (version_at(PurePosixPath(file.relative_to(home).as_posix())) for file in folder.glob("*/*"))
    return sorted((one for one in found if one is not None and one.name == name), key=lambda one: one.number)


def next_version(home: Path, name: str, file: str, day: date) -> KeptVersion:
    """The version that the present file becomes when another one takes its place.

    Args:
        name: Of the file that takes the place.
        file: The last part of the present file's name.
    """
    last = versions_in(home, name)[-1:]
    came = last[0].left if last else None
    return KeptVersion(name=name, number=last[0].number + 1 if last else 1, came=came, left=day, file=file)


class Arrivals:
    """From which day the files of a source's folder count, by what was kept of the versions before them.

    Args:
        home: The folder of uploaded files.
    """

    def __init__(self, home: Path) -> None:
        self._home = home

    def placed(self, document: Document, file: Path) -> Document:
        """The document, under the address of its line where its file is an earlier version: the one that it states is
        that of what is in the place of the file now.
        """
        if not document.stated or not file.is_relative_to(self._home):
            return document
        if version_at(PurePosixPath(file.relative_to(self._home).as_posix())) is None:
            return document
        line = next((block.line for block in document.blocks), 0)
        return replace(document, uri=with_part(file_uri(file.absolute()), f"line={line}"), stated="")

    def versions(self, found: Iterable[Holding]) -> dict[str, list[Holding]]:
        """The earlier versions among files, by the address of the file that is in their place now."""
        versions: dict[str, list[Holding]] = {}
        for one in found:
            if f"/{FOLDER}/" in one.uri and (series := series_of(one.uri))[1]:
                versions.setdefault(series[0], []).append(one)
        return versions

    def dated(self, document: Document, file: Path) -> Document:
        """The document, beginning on the day on which its file came, unless it says itself when it begins.

        Args:
            file: That it was read from.
        """
        if document.effective_from is not None or not file.is_relative_to(self._home):
            return document
        place = PurePosixPath(file.relative_to(self._home).as_posix())
        version = version_at(place)
        if version is not None:
            begin = version.came
        else:
            last = versions_in(self._home, str(place))[-1:]
            begin = last[0].left if last else None
        if begin is None or (document.effective_until is not None and document.effective_until < begin):
            return document
        return replace(document, effective_from=begin)


def series_of(uri: str) -> tuple[str, int]:
    """The address of the document that a version was one of, and its number; 0 for the one that is in its place now."""
    head, mark, rest = uri.partition(f"/{FOLDER}/")
    if not mark:
        return uri, 0
    path, tail = _split(rest)
    version = version_at(PurePosixPath(FOLDER, unquote(path)))
    if version is None:
        return uri, 0
    raw = PurePosixPath(path).parts[:-2]
    return f"{head}/{'/'.join(raw)}{tail}", version.number


def file_version(uri: str) -> tuple[str, int]:
    """The address of the file that is in the place now of the one a document was read from, and the number of its version; 0
    for the present one.
    """
    series, number = series_of(uri)
    return _split(series)[0], number


def present_versions(uris: Iterable[str]) -> dict[str, int]:
    """By address of a file, the number of its present version: one more than that of the last of its earlier ones."""
    numbers: dict[str, int] = {}
    for file, number in map(file_version, uris):
        if number:
            numbers[file] = max(number + 1, numbers.get(file, 0))
    return numbers


def _split(rest: str) -> tuple[str, str]:
    """A path, and what an address has behind it for a part of the file."""
    at = min((rest.find(mark) for mark in "?#" if mark in rest), default=len(rest))
    return rest[:at], rest[at:]


def superseded_by(live: Sequence[LiveVersion]) -> Mapping[int, tuple[str, ...]]:
    """By document, the documents of the versions of its file before it: of all of them, since one of these may say of
    itself that it begins later than the one that replaced it.
    """
    files: dict[str, dict[int, list[LiveVersion]]] = {}
    for version in live:
        series, number = series_of(version.uri)
        files.setdefault(_split(series)[0], {}).setdefault(number, []).append(version)
    found: dict[int, tuple[str, ...]] = {}
    for numbered in files.values():
        if len(numbered) < 2:
            continue
        former: list[str] = []
        for new in _in_order(numbered):
            first = next((one for one in new if one.effective_from is not None), new[0])
            if former:
                found[first.document_id] = tuple(former)
            former += [str(one.document_id) for one in new]
    return found


def _in_order(numbered: Mapping[int, list[LiveVersion]]) -> Iterator[list[LiveVersion]]:
    """The versions of a file, the oldest first, and the one that is in its place now last."""
    yield from (numbered[number] for number in sorted(numbered) if number)
    if 0 in numbered:
        yield numbered[0]
