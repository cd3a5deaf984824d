"""URIs of documents and passages: building, comparing, and deciding which may be shown as links."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import TypeVar
from urllib.parse import unquote, urlsplit

from wenyuan.core.errors import InvalidRequest, msg

# Addresses that people can read: IRIs (RFC 3987), Chinese left as it is, spaces and controls escaped.


_PATH_KEEP = re.compile(r"[A-Za-z0-9\-._~!$&'()*+,;=:@/]|[^\x00-\xa0\s\ufeff\ud800-\udfff]")
P = TypeVar("P", bound=PurePath)
_ADDRESS = re.compile(r"\s*[A-Za-z][A-Za-z0-9+.\-]+:/")
_VALUE_KEEP = re.compile(r"[A-Za-z0-9\-._~!$'()*,;:@/]|[^\x00-\xa0\s\ufeff\ud800-\udfff]")
_FRAGMENT_KEEP = re.compile(r"[A-Za-z0-9\-._~!$&'()*+,;=:@/?]|[^\x00-\xa0\s\ufeff\ud800-\udfff]")


def _escape(text: str, keep: re.Pattern[str]) -> str:
    if text.isalnum():  # letters and digits of any script are kept
        return text
    pieces = (
        c if keep.fullmatch(c) else "".join(f"%{b:02X}" for b in c.encode("utf-8", "surrogateescape")) for c in text
    )
    return "".join(pieces)


def file_uri(path: PurePath) -> str:
    """The ``file:///…`` URI of an absolute path."""
    return "file://" + _escape(path.as_posix(), _PATH_KEEP)


def escaped_path(path: str) -> str:
    """A path escaped for a URI: Chinese stays readable, reserved characters are escaped."""
    return _escape(path, _PATH_KEEP)


def is_web_address(text: str) -> bool:
    """Whether a text is ``https://…``, ``s3://…`` or the like, also with slashes lost in path handling; ``C:/`` is
    not.
    """
    return _ADDRESS.match(text) is not None


def local_path(path: P) -> P:
    """The path unchanged.

    Raises:
        InvalidRequest: it is a web address: nothing is fetched.
    """
    if is_web_address(str(path)):
        raise InvalidRequest(
            msg(
                "{path} is a web address; only files and folders of this machine are read",
                path=str(path).replace(":/", "://", 1),
            ),
            hint="download it first; a service that answers questions is a source of type api: wenyuan apply FILE",
        )
    return path


def legible(name: str) -> str:
    """A file name as text; names that are not UTF-8 are decoded as GB18030, as Chinese Windows writes them."""
    raw = name.encode("utf-8", "surrogateescape")
    for encoding in ("utf-8", "gb18030"):
        try:
            return raw.decode(encoding)
        except UnicodeDecodeError:
            continue
    return raw.decode("utf-8", "replace")


def with_fragment(uri: str, fragment: str, directive: str = "") -> str:
    """`uri` with a fragment, which is escaped as far as needed.

    Args:
        directive: Escaped text directive, put after ``:~:``; only browsers read it.
    """
    told = _escape(fragment, _FRAGMENT_KEEP) + (f":~:{directive}" if directive else "")
    return f"{uri}#{told}" if told else uri


def with_part(uri: str, part: str) -> str:
    """The URI of one of several documents in a file: ``…/fees.xlsx?sheet=2024``, ``…/all.zip?entry=a.md&sheet=2024``.

    Args:
        part: ``name=value``, the value escaped as far as needed (`escaped_value`).
    """
    return f"{uri}{'&' if '?' in uri else '?'}{part}"


def escaped_value(text: str) -> str:
    """A text escaped for a query value of a URI; Chinese stays readable."""
    return _escape(text, _VALUE_KEEP)


def readable(uri: str) -> str:
    """The URI with unneeded escapes (``%E6%94%BF``) decoded, as `file_uri` writes it."""
    scheme, found, rest = uri.partition("://")
    return f"{scheme}://{_escape(unquote(rest), _PATH_KEEP)}" if found else uri


def folder_of(uri: str) -> str:
    """The URI up to and with its last slash, without query and fragment."""
    bare = uri.partition("#")[0].partition("?")[0]
    return bare[: bare.rfind("/") + 1]


def path_words(uri: str) -> str:
    """The words of a URI's path without file extension, as a description of the document.

    Anything else that names a thing will do too, a path or a task's id; none of it is refused.
    """
    try:
        path = urlsplit(uri).path
    except ValueError:  # e.g. "http://[x": brackets without an IPv6 address
        path = ""
    path = unquote(path or uri.partition("#")[0])
    path = re.sub(r"\.[A-Za-z0-9]{1,5}\Z", "", path)
    words = re.sub(r"([a-z])([A-Z])", r"\1 \2", re.sub(r"[/_\-.\\]+", " ", path))
    return words.strip()
