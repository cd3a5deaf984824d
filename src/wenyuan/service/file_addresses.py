"""Addresses of files for callers of other machines: under the service, where these callers cannot open ``file:///…``."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from wenyuan.core.addresses import escaped_path, file_uri
from wenyuan.core.errors import CatalogError
from wenyuan.core.model import Source
from wenyuan.core.remote_addresses import local_places

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog

_ENDS = rb"(?![A-Za-z0-9_.\-\x80-\xff])"
_UNKNOWN = re.compile(rb'(\\?"(?:uri|source|url|address|path|base)\\?"\s*:\s*\\?")file:///(?:[^"/\\]*/)*')
_SAYS = re.compile(
    rb'(\\?"(?:reason|detail|error|message|hint|remedy|failure|path|folder|library|component)\\?"\s*:\s*)'
    rb'(\\?"(?:[^"\\]|\\.)*"|\[[^\[\]]*\])'
)
"""What the program says, and paths: in the words of documents a path is what they write."""
_SERVED = r"/v1/sources/([A-Za-z0-9_.%\-]{1,200})/files/"


@dataclass(frozen=True, slots=True)
class Root:
    """A file or folder of this machine that a source is read from."""

    source_id: str
    path: str
    is_file: bool

    def uri(self, rest: str) -> str:
        """The address of a file below it, by its path below it as a URI has it."""
        return file_uri(Path(self.path)) if self.is_file else f"{file_uri(Path(self.path))}/{rest}"


def roots_of(sources: Iterable[Source], uploads: Path) -> tuple[Root, ...]:
    """What the sources are read from, the longest paths first; the uploads of each among them."""
    found: dict[str, Root] = {}
    for source in sources:
        for path in _spelled(source.path or str(uploads / source.source_id)):
            if path != "/":
                found.setdefault(path, Root(source.source_id, path, Path(path).is_file()))
    return tuple(sorted(found.values(), key=lambda root: (-len(root.path), root.path)))


def _spelled(path: str) -> set[str]:
    if not path:
        return set()
    paths = local_places(path) if "://" in path else (path,)
    return {form(one) for one in map(str, paths) for form in (os.path.abspath, os.path.realpath)}


class FileAddresses:
    """Replaces paths of this machine in JSON and text that is sent to another, and puts them back in what comes from there.

    Args:
        sources: The registered sources.
        uploads: The folder of uploads.
        folders: Further folders whose paths are not named: the library's own, and those that may be read from.
    """

    def __init__(self, sources: Sequence[Source], uploads: Path, folders: Iterable[str] = ()) -> None:
        self._roots = roots_of(sources, uploads)
        self._by_uri = {file_uri(Path(root.path)).encode(): root for root in self._roots}
        paths = {path for folder in folders for path in _spelled(folder)} | {root.path for root in self._roots}
        self._by_path = {form: path for path in paths - {"/"} for form in _in_json(path)}
        self._uris = _any_of(self._by_uri, rb"")
        self._paths = _any_of(self._by_path, rb"(?<![A-Za-z0-9_.\-\x80-\xff])")

    def outward(self, content: bytes, base: str, *, whole: bool = False, paths: bool = True) -> bytes:
        """What is sent: addresses of files as those under the service, and other paths by their last part.

        Args:
            base: The service's own address, as the caller knows it: ``https://kb.example``.
            whole: Whether the program says all of it, as in a problem document, and no document does.
            paths: Whether paths that are no addresses are replaced, too.
        """

        def served(found: re.Match[bytes]) -> bytes:
            root = self._by_uri[found[0]]
            name = f"/{escaped_path(Path(root.path).name)}" if root.is_file else ""
            return f"{base}/v1/sources/{quote(root.source_id, safe='')}/files{name}".encode()

        if b"file://" in content:
            content = _UNKNOWN.sub(rb"\1file:", self._uris.sub(served, content) if self._by_uri else content)
        if not paths or not self._by_path:
            return content
        return self._short(content) if whole else _SAYS.sub(lambda found: found[1] + self._short(found[2]), content)

    def _short(self, content: bytes) -> bytes:
        return self._paths.sub(lambda found: _last_part(self._by_path[found[0]]), content)

    def inward(self, content: bytes, base: str) -> bytes:
        """What came from there: an address that `outward` made is again the file's."""
        ours = re.compile(re.escape(base.encode()) + _SERVED.encode() + rb'([^"\\\s?#]*)')

        def own(found: re.Match[bytes]) -> bytes:
            name = unquote(found[1].decode())
            known = [root for root in self._roots if root.source_id == name]
            return known[0].uri(found[2].decode(errors="replace")).encode() if known else found[0]

        return ours.sub(own, content) if b"/v1/sources/" in content else content

    def uris(self, source_id: str, rest: str) -> list[str]:
        """The addresses that a path under the service may stand for; none where the source has no such file."""
        return [
            root.uri(escaped_path(rest))
            for root in self._roots
            if root.source_id == source_id and (not root.is_file or Path(root.path).name == rest)
        ]


def _in_json(path: str) -> set[bytes]:
    """A path as JSON has it: with letters of other scripts as they are, and escaped."""
    return {json.dumps(path, ensure_ascii=plain)[1:-1].encode("utf-8", "replace") for plain in (False, True)}


def _any_of(known: Mapping[bytes, object], before: bytes) -> re.Pattern[bytes]:
    longest = sorted(known, key=len, reverse=True)
    return re.compile(before + rb"(?:" + rb"|".join(map(re.escape, longest)) + rb")" + _ENDS)


def _last_part(path: str) -> bytes:
    return f"…/{json.dumps(Path(path).name, ensure_ascii=False)[1:-1]}".encode("utf-8", "replace")


Known = Callable[[], FileAddresses]
"""The addresses as of now."""


class AddressBook:
    """The addresses of a library's files as of its last change.

    Args:
        folders: See `FileAddresses`.
    """

    def __init__(self, catalog: Catalog, folder: Path, folders: Iterable[str] = ()) -> None:
        self._catalog, self._uploads, self._folders = catalog, folder / "uploads", (str(folder), *folders)
        self._known = (-1, FileAddresses((), self._uploads, self._folders))

    def __call__(self) -> FileAddresses:
        """While the catalog cannot be read, those of before."""
        with suppress(CatalogError):
            seq = self._catalog.seq()
            if seq != self._known[0]:
                self._known = (seq, FileAddresses(self._catalog.sources(), self._uploads, self._folders))
        return self._known[1]
