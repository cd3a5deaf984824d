"""ZIP and tar files as sources: of this machine they are read in place, from elsewhere they are copied first, within limits.

What strangers packed is looked into by the reading process alone (`connectors.members`).
"""

from __future__ import annotations

import base64
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Protocol

from wenyuan.connectors.objects import ENTRIES_OF_A_FILE
from wenyuan.core.connectors import Entry, Known, ListingCut, Opening
from wenyuan.core.errors import DocumentRejected, SourceError, msg

_MEMBERS = "wenyuan.connectors.members"
_CHUNK = 1 << 22


class Elsewhere(Protocol):
    """A file in another system."""

    def version(self) -> str:
        """Of its bytes, or ``""`` where none is known."""

    def pieces(self, size: int) -> Iterator[bytes]:
        """Its bytes, piece by piece."""

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ListingBounds:
    """Files that are listed, megabytes that are copied, minutes that both may take; see `FilesSettings`."""

    max_files: int
    max_mb: int
    max_minutes: float


class Archive:
    """The files of an archive.

    Args:
        place: Its path on this machine, or the file elsewhere.
        kind: ``zip`` or ``tar``.
        below: The folder, or the file, in it.
        left_out: Whether a path is hidden or excluded.
        shown: The address of a member.
        bounds: What is listed, copied and waited for.
    """

    def __init__(
        self,
        opening: Opening,
        place: str | Elsewhere,
        *,
        kind: str,
        below: str,
        left_out: Callable[[str], bool],
        shown: Callable[[str], str],
        bounds: ListingBounds,
    ) -> None:
        self._opening, self._place, self._kind, self._below = opening, place, kind, below.strip("/")
        self._left_out, self._shown = left_out, shown
        self._max_files, self._max_mb, self._max_minutes = bounds.max_files, bounds.max_mb, bounds.max_minutes
        self._component = opening.component
        self._copy: tempfile.TemporaryDirectory[str] | None = None

    def list(self, known: Known) -> Iterator[Entry]:
        """The files in it; the known entries, where a copy of it would be the one that was read in the last run."""
        version = "" if isinstance(self._place, str) else self._place.version()
        if version and self._as_before(known, version):
            yield from known.entries.values()
            return
        until = time.monotonic() + self._max_minutes * 60
        archive = self._local(until)
        told = self._looked(
            "members_of", until, archive=archive, kind=self._kind, most=ENTRIES_OF_A_FILE * self._max_files
        )
        below = f"{self._below}/" if self._below else ""
        one = [member for member in told["members"] if member[0] == self._below]
        chosen = one or [member for member in told["members"] if member[0].startswith(below)]
        if not chosen:
            raise SourceError(msg("there is nothing at {url}", url=self._opening.url), component=self._component)
        keys = {name: PurePosixPath(name).name if one else name.removeprefix(below) for name, _, _ in chosen}
        listed = [member for member in sorted(chosen) if not self._left_out(keys[member[0]])]
        unread = sorted({PurePosixPath(name).suffix.lower() for name in keys if not self._readable(name)})[:200]
        note = json.dumps({"archive": version, "url": self._opening.url, "unread": unread}) if version else ""
        for name, member_version, size in listed[: self._max_files]:
            yield Entry(
                key=keys[name], uri=self._shown(name), name=PurePosixPath(name).name, version=member_version,
                size=size, note=note,
            )  # fmt: skip
        if told["cut"] or len(listed) > self._max_files:
            count = min(len(listed), self._max_files)
            raise ListingCut(
                msg("stopped after {count} files (settings.max_files)", count=count), component=self._component
            )

    def fetch(self, entry: Entry, most: int) -> bytes:
        """The content of a member."""
        archive = self._local(time.monotonic() + self._max_minutes * 60)
        whole = f"{self._below}/{entry.key}".lstrip("/")
        name = (
            self._below if PurePosixPath(self._below).name == entry.key and self._shown(whole) != entry.uri else whole
        )
        asked = {"archive": archive, "kind": self._kind, "name": name, "most": most}
        content = self._opening.parse(f"{_MEMBERS}:member_of", b"", asked, name=entry.name)
        return base64.b64decode(content)

    def close(self) -> None:
        if self._copy is not None:
            self._copy.cleanup()
            self._copy = None
        if not isinstance(self._place, str):
            self._place.close()

    def _readable(self, name: str) -> bool:
        return self._opening.readable(PurePosixPath(name).name)

    def _as_before(self, known: Known, version: str) -> bool:
        notes = {entry.note for entry in known.entries.values()}
        if not known.complete or len(notes) != 1 or not (note := notes.pop()):
            return False
        said = json.loads(note)
        kinds = (f"x{suffix}" for suffix in said["unread"])
        return (said["archive"], said["url"]) == (version, self._opening.url) and not any(
            map(self._opening.readable, kinds)
        )

    def _local(self, until: float) -> str:
        """The path of the archive on this machine."""
        if isinstance(self._place, str):
            return self._place
        if self._copy is None:
            copy = tempfile.TemporaryDirectory(prefix="wenyuan-archive-")
            try:
                with Path(copy.name, "archive").open("wb") as file:
                    for piece in self._place.pieces(_CHUNK):
                        file.write(piece)
                        self._check(file.tell(), until)
            except BaseException:
                copy.cleanup()
                raise
            self._copy = copy
        return f"{self._copy.name}/archive"

    def _check(self, size: int, until: float) -> None:
        if size > self._max_mb * 1_000_000:
            told = msg("the archive is larger than {count} MB (settings.max_mb)", count=self._max_mb)
            raise SourceError(told, component=self._component)
        if time.monotonic() > until:
            told = msg(
                "fetching took longer than {count} minutes (settings.max_minutes)", count=f"{self._max_minutes:g}"
            )
            raise SourceError(told, component=self._component)

    def _looked(self, function: str, until: float, **asked: Any) -> Any:
        seconds = max(1.0, until - time.monotonic())
        try:
            return self._opening.parse(f"{_MEMBERS}:{function}", b"", asked, name=self._component, seconds=seconds)
        except DocumentRejected as error:
            raise SourceError(error.message, component=self._component, hint=error.hint) from error
