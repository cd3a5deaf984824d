"""Addresses that people can read: IRIs (RFC 3987), Chinese left as it is, spaces and controls escaped."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import TypeVar
from urllib.parse import unquote, urlsplit

from wenyuan.core.errors import InvalidRequest

__all__ = [
    "file_uri",
    "folder_of",
    "is_web_address",
    "legible",
    "local_path",
    "path_words",
    "readable",
    "with_fragment",
]

_PATH_KEEP = re.compile(r"[A-Za-z0-9\-._~!$&'()*+,;=:@/]|[^\x00-\xa0\s\ufeff\ud800-\udfff]")
P = TypeVar("P", bound=PurePath)
_ADDRESS = re.compile(r"\s*[A-Za-z][A-Za-z0-9+.\-]+:/")
_FRAGMENT_KEEP = re.compile(r"[A-Za-z0-9\-._~!$&'()*+,;=:@/?]|[^\x00-\xa0\s\ufeff\ud800-\udfff]")


def _escape(text: str, keep: re.Pattern[str]) -> str:
    if text.isalnum():  # letters and digits of any script are kept
        return text
    pieces = (
        c if keep.fullmatch(c) else "".join(f"%{b:02X}" for b in c.encode("utf-8", "surrogateescape")) for c in text
    )
    return "".join(pieces)


def file_uri(path: PurePath) -> str:
    """``file:///…`` of an absolute path."""
    return "file://" + _escape(path.as_posix(), _PATH_KEEP)


def is_web_address(text: str) -> bool:
    """Whether a text is ``https://…``, ``s3://…`` or the like, slashes that a path has lost included; ``C:/`` is none."""
    return _ADDRESS.match(text) is not None


def local_path(path: P) -> P:
    """The path itself, as a caller gave it.

    Raises:
        InvalidRequest: it is a web address: nothing is fetched.
    """
    if is_web_address(str(path)):
        raise InvalidRequest(
            f"{str(path).replace(':/', '://', 1)} is a web address; only files and folders of this machine are read",
            hint="download it first; a service that answers questions is a source of type api: wenyuan apply FILE",
        )
    return path


def legible(name: str) -> str:
    """A file's name as text: names that are no UTF-8 were mostly written by a Chinese Windows (GB18030)."""
    raw = name.encode("utf-8", "surrogateescape")
    for encoding in ("utf-8", "gb18030"):
        try:
            return raw.decode(encoding)
        except UnicodeDecodeError:
            continue
    return raw.decode("utf-8", "replace")


def with_fragment(uri: str, fragment: str, directive: str = "") -> str:
    """`uri` with an unescaped fragment added, escaped as far as needed.

    Args:
        directive: Escaped; behind ``:~:`` it tells a browser more than the fragment does, and nobody else anything.
    """
    told = _escape(fragment, _FRAGMENT_KEEP) + (f":~:{directive}" if directive else "")
    return f"{uri}#{told}" if told else uri


def readable(uri: str) -> str:
    """The same address as `file_uri` writes it: what others escape (``%E6%94%BF``) in plain characters."""
    scheme, found, rest = uri.partition("://")
    return f"{scheme}://{_escape(unquote(rest), _PATH_KEEP)}" if found else uri


def folder_of(uri: str) -> str:
    """The URI up to and with its last slash, without query and fragment."""
    bare = uri.partition("#")[0].partition("?")[0]
    return bare[: bare.rfind("/") + 1]


def path_words(uri: str) -> str:
    """The words of a URI's path, file extension left out: what its author called the thing.

    Anything else that names a thing will do too, a path or a task's id; none of it is refused.
    """
    try:
        path = urlsplit(uri).path
    except ValueError:  # e.g. "http://[x": brackets without an IPv6 address
        path = ""
    path = unquote(path or uri.partition("#")[0])
    path = re.sub(r"\.[A-Za-z0-9]{1,5}$", "", path)
    words = re.sub(r"([a-z])([A-Z])", r"\1 \2", re.sub(r"[/_\-.\\]+", " ", path))
    return words.strip()
