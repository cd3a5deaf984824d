"""Whether a folder is a bundle of the Open Knowledge Format, and what a reader of it should know."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from posixpath import normpath
from typing import Any
from urllib.parse import unquote

from wenyuan.core.connectors import Parse
from wenyuan.core.errors import DocumentRejected, SourceError, msg
from wenyuan.core.okf import RESERVED
from wenyuan.runtime.regular import read_regular

_FINDINGS = "wenyuan.readers.concept_check:concept_findings"
_MOST_BYTES = 10_000_000  # of a file
_LAST_STRICT = (0, 2)
"""The last version by which every file has to be a concept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleFinding:
    """What was found; `severity` is ``error`` where it breaks the format, else ``warning``."""

    path: str
    severity: str
    rule: str
    message: str


@dataclass(slots=True)
class BundleReport:
    """What a bundle holds, and what was found of it.

    Attributes:
        version: As its root's ``index.md`` declares; ``""`` where it declares none.
        concepts: How many files are concepts.
        files: How many Markdown files there are, reserved ones included.
        cut: Why that is not all there is; ``""`` where it is.
    """

    version: str = ""
    concepts: int = 0
    files: int = 0
    findings: list[BundleFinding] = field(default_factory=list)
    cut: str = ""

    @property
    def conforms(self) -> bool:
        """Whether nothing breaks the format, as far as all was looked at."""
        return not self.cut and not any(one.severity == "error" for one in self.findings)


class BundleCheck:
    """Checks the files of a folder, one after the other; links that lead out of it are not followed.

    Args:
        parse: Calls a function in the reading process.
        most: Files that are looked at.
    """

    def __init__(self, folder: Path, parse: Parse, *, most: int = 100_000) -> None:
        self._folder, self._parse, self._most = folder, parse, most
        self._report = BundleReport()
        self._paths: set[str] = set()
        self._pointing: list[tuple[str, Mapping[str, Any]]] = []

    def run(self) -> BundleReport:
        """Look at all files.

        Raises:
            SourceError: the folder is not there, or cannot be listed.
        """
        files = list(self._listed())
        self._report.version = self._version() if "index.md" in self._paths else ""
        for path in files:
            self._look(path)
        if not self._report.concepts and not self._report.version and self._report.conforms:
            nothing = "holds no concept: no Markdown file whose front matter has a type"
            self._note(".", "error", "no_concepts", nothing)
        self._check_links()
        return self._report

    def _listed(self) -> Iterator[str]:
        if not self._folder.is_dir():
            raise SourceError(msg("there is no folder {path}", path=self._folder))

        def refuse(error: OSError) -> None:
            raise SourceError(
                msg("cannot look into {path}: {strerror}", path=error.filename, strerror=error.strerror)
            )

        root = self._folder.resolve()
        for where, folders, names in os.walk(self._folder, onerror=refuse):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            here = Path(where).relative_to(self._folder).as_posix()
            self._note_links([PurePosixPath(here, name).as_posix() for name in folders])
            for name in sorted(names):
                path = PurePosixPath(here, name).as_posix()
                if name.startswith("."):
                    continue
                if len(self._paths) >= self._most:
                    self._report.cut = msg("stopped after {count} files", count=self._most)
                    return
                self._paths.add(path)
                if not name.casefold().endswith(".md"):
                    continue
                if not Path(os.path.realpath(Path(where, name))).is_relative_to(root):
                    self._note(path, "warning", "link", "is a link, and not followed")
                    continue
                self._report.files += 1
                yield path

    def _note_links(self, folders: Sequence[str]) -> None:
        for path in folders:
            if (self._folder / path).is_symlink():
                self._note(path, "warning", "link", "is a link, and not followed")

    def _version(self) -> str:
        return str(self._findings("index.md", strict=False).get("version") or "")

    def _look(self, path: str) -> None:
        strict = bool(self._report.version) and _number(self._report.version) <= _LAST_STRICT
        try:
            found = self._findings(path, strict=strict)
        except (DocumentRejected, OSError) as error:
            told = error.strerror if isinstance(error, OSError) else error.message
            self._note(path, "error", "unreadable", msg("cannot be read: {error}", error=told))
            return
        rows = [(str(severity), str(rule), str(message)) for severity, rule, message in found["findings"]]
        for severity, rule, message in rows:
            self._note(path, severity, rule, message)
        if PurePosixPath(path).name not in RESERVED and not any(
            severity == "error" or rule == "no_concept" for severity, rule, _ in rows
        ):
            self._report.concepts += 1
        self._pointing.append((path, found))

    def _findings(self, path: str, *, strict: bool) -> Mapping[str, Any]:
        content = read_regular(self._folder / path)
        if len(content) > _MOST_BYTES:
            raise DocumentRejected(msg("it is larger than {most} bytes", most=f"{_MOST_BYTES:,}"), component=path)
        place = PurePosixPath(path)
        asked = {"name": place.name, "at_root": len(place.parts) == 1, "strict": strict}
        told: Mapping[str, Any] = self._parse(_FINDINGS, content, asked, name=path)
        return told

    def _check_links(self) -> None:
        folders = {parent.as_posix() for path in self._paths for parent in PurePosixPath(path).parents}
        after: dict[str, list[str]] = {}
        for path, found in self._pointing:
            for link in found["links"]:
                if _is_path(link) and not any(one in self._paths or one in folders for one in _places(path, link)):
                    self._note(
                        path, "warning", "broken_link", msg("points to what is not there: {link}", link=link[:200])
                    )
            for named in found["superseded_by"]:
                there = [one for one in _places(path, named) if one in self._paths]
                if not there and _is_path(named):
                    self._note(
                        path,
                        "warning",
                        "superseded_by",
                        msg("is superseded by what is not there: {link}", link=named[:200]),
                    )
                after.setdefault(path, []).extend(there[:1])
        for path in _in_circles(after):
            self._note(path, "warning", "circle", "is superseded by itself, by way of others")

    def _note(self, path: str, severity: str, rule: str, message: str) -> None:
        self._report.findings.append(BundleFinding(path=path, severity=severity, rule=rule, message=message))


def _number(version: str) -> tuple[int, ...]:
    parts = version.split(".")
    return tuple(int(part) for part in parts) if all(part.isdecimal() and len(part) < 9 for part in parts) else (0,)


def _is_path(link: str) -> bool:
    return "://" not in link and not link.startswith(("#", "mailto:", "//"))


def _places(path: str, link: str) -> Sequence[str]:
    """The paths in the bundle that a link of a file may mean: from the file's folder, then from the root."""
    plain = unquote(link.partition("#")[0].partition("?")[0])
    beside = normpath((PurePosixPath(path).parent / plain).as_posix())
    rooted = normpath(plain.lstrip("/"))
    return [rooted] if plain.startswith("/") else [beside, rooted]


def _in_circles(after: Mapping[str, Sequence[str]]) -> Sequence[str]:
    """Those from which following the first name leads back to them."""
    found, done = [], set[str]()
    for begin in after:
        seen: dict[str, int] = {}
        at: str | None = begin
        while at is not None and at not in done and at not in seen:
            seen[at] = len(seen)
            at = next(iter(after.get(at, ())), None)
        if at is not None and at in seen:
            found += [path for path, number in seen.items() if number >= seen[at]]
        done |= seen.keys()
    return sorted(found)
