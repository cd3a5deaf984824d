"""Paths of knowledge as files: ``/SOURCE/folder/document``, and the addresses that they stand for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from wenyuan.core.addresses import escaped_path
from wenyuan.core.model import Source
from wenyuan.service.file_addresses import roots_of

INDEX = "index"
"""Name of the document that has a folder's own address."""


@dataclass(frozen=True, slots=True)
class TreePath:
    """A path, parsed.

    Attributes:
        source_id: ``""`` for the root, whose entries are the sources.
        rest: What follows, without a slash at its ends; names with a slash within are not told from folders.
    """

    source_id: str
    rest: str

    @classmethod
    def parse(cls, text: str) -> TreePath:
        source_id, _, rest = text.strip().lstrip("/").partition("/")
        return cls(source_id, rest.strip("/"))


@dataclass(frozen=True, slots=True)
class Mount:
    """Where the documents of a source hang.

    Attributes:
        base: What their addresses begin with and their paths leave out: the folder that is read, as a URI with a slash;
            ``""`` for a source that is read elsewhere: its paths begin with a scheme (``https:/host/page``).
    """

    source_id: str
    base: str

    @property
    def top(self) -> str:
        """The address of its first folder."""
        return self.base

    def path(self, address: str) -> str:
        """The path of an address of a document or folder."""
        rest = address.removeprefix(self.base)
        if not self.base:
            scheme, slashes, behind = rest.partition("://")
            rest = f"{scheme}:/{behind}" if slashes else rest
        elif escaped_path(plain := unquote(rest)) == rest:
            rest = plain
        if not rest or rest.endswith("/"):
            rest += INDEX
        return f"/{self.source_id}/{rest}"

    def folder(self, address: str) -> str:
        """The path of a folder's address, with a slash at its end."""
        return self.path(address).removesuffix(INDEX)

    def addresses(self, rest: str) -> Sequence[str]:
        """The addresses that a path may stand for, as they are and escaped: of a document first, then of an index."""
        if not self.base:
            scheme, slash, behind = rest.partition(":/")
            whole: tuple[str, ...] = (f"{scheme}://{behind}",) if slash else (rest,)
        else:
            whole = tuple(dict.fromkeys((self.base + rest, self.base + escaped_path(rest))))
        own = [f"{one.removesuffix(INDEX)}" for one in whole if one.endswith(f"/{INDEX}") or rest == INDEX]
        return (*whole, *own)


def mounts_of(source: Source, uploads: Path) -> tuple[Mount, ...]:
    """Where the documents of a source hang: below the folder that is read, however that is spelled, else by address."""
    roots = roots_of((source,), uploads)
    if not roots or ("://" in source.path):
        return (Mount(source.source_id, ""),)
    folders = [root.uri("") if not root.is_file else root.uri("").rpartition("/")[0] + "/" for root in roots]
    return tuple(Mount(source.source_id, folder) for folder in dict.fromkeys(folders))
