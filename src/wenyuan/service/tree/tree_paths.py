"""Paths of knowledge as files: ``/SOURCE/folder/document``, and the addresses that they stand for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote

from wenyuan.core.addresses import escaped_path, escaped_value
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

    def path(self, address: str) -> str:
        """The path of an address of a document or folder: no other has the same."""
        rest = address.removeprefix(self.base)
        if not self.base:
            scheme, slashes, behind = rest.partition("://")
            rest = f"{scheme}:/{behind}" if slashes else rest
        else:
            name, mark, part = rest.partition("?")
            rest = _shown(name, escaped_path, "?") + mark + "&".join(map(_shown_value, part.split("&")))
        if not rest or rest.endswith("/"):
            rest += INDEX
        return f"/{self.source_id}/{rest}"

    def folder(self, address: str) -> str:
        """The path of a folder's address, with a slash at its end."""
        return self.path(address).removesuffix(INDEX)

    def addresses(self, rest: str) -> Sequence[str]:
        """The addresses that a path may stand for, what `path` gives first; then of a folder's own document."""
        if not self.base:
            scheme, slash, behind = rest.partition(":/")
            whole: tuple[str, ...] = (f"{scheme}://{behind}",) if slash else (rest,)
        else:
            name, mark, part = rest.partition("?")
            names = (escaped_path(unquote(name, errors="surrogateescape")), name, escaped_path(name))
            forms = [f"{one}{mark}{value}" for one in names for value in _values(part)]
            whole = tuple(dict.fromkeys(self.base + one for one in (*forms, escaped_path(rest))))
        own = [one.removesuffix(INDEX) for one in whole if one.endswith(f"/{INDEX}") or rest == INDEX]
        return (*whole, *own)


def _shown(escaped: str, escape: Callable[[str], str], kept: str) -> str:
    """A text without escapes but those of ``%`` and one other sign; as it is where it does not lead back."""
    plain = unquote(escaped).replace("%", "%25").replace(kept, f"%{ord(kept):02X}")
    return plain if escape(unquote(plain)) == escaped else escaped


def _shown_value(pair: str) -> str:
    """``sheet=…`` as people read it."""
    name, equals, value = pair.partition("=")
    return (
        name + equals + next((one for one in (_shown(value, form, "&") for form in _VALUES) if one != value), value)
    )


def _values(part: str) -> Sequence[str]:
    """What follows a question mark, as files have it escaped: in either way, or as it is."""
    pairs = [pair.partition("=") for pair in part.split("&")]
    forms = ["&".join(f"{name}{equals}{form(unquote(value))}" for name, equals, value in pairs) for form in _VALUES]
    return tuple(dict.fromkeys((*forms, part)))


_VALUES: tuple[Callable[[str], str], ...] = (quote, escaped_value)


def mounts_of(source: Source, uploads: Path) -> tuple[Mount, ...]:
    """Where the documents of a source hang: below the folder that is read, however that is spelled, else by address."""
    roots = roots_of((source,), uploads)
    if not roots or ("://" in source.path):
        return (Mount(source.source_id, ""),)
    folders = [root.uri("") if not root.is_file else root.uri("").rpartition("/")[0] + "/" for root in roots]
    return tuple(Mount(source.source_id, folder) for folder in dict.fromkeys(folders))
