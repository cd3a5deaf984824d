"""Whether a ``source`` is a URI: RFC 3986, absolute, and RFC 3987 in that letters of any script may stand in it."""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import urlsplit

from wenyuan.core.errors import msg

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]+:")
_BROKEN_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_FORBIDDEN = frozenset('<>"{}|\\^`')
_NOT_TEXT = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp"))
_URN = re.compile(r"urn:[A-Za-z0-9][A-Za-z0-9\-]{0,30}[A-Za-z0-9]:.+", re.IGNORECASE)


def uri_fault(text: str) -> str:
    """Why `text` is no URI, or ``""`` when it is one.

    A scheme of one letter is refused: no such scheme is registered, but every Windows path begins like one.
    """
    if not _SCHEME.match(text):
        return "has no scheme"
    for char in text:
        if char in _FORBIDDEN or unicodedata.category(char) in _NOT_TEXT:
            return msg("holds U+{char}, which must be percent-encoded", char=f"{ord(char):04X}")
    if _BROKEN_ESCAPE.search(text):
        return "holds a '%' that begins no escape"
    if text.count("#") > 1:
        return "holds more than one '#'"
    return _part_fault(text)


def _part_fault(text: str) -> str:
    try:
        parts = urlsplit(text)
        parts.port  # noqa: B018 - reading it is the check
    except ValueError as error:
        return msg("has a broken authority ({error})", error=error)
    if parts.scheme in ("http", "https") and not parts.hostname:
        return "names no host"
    if parts.scheme == "urn" and not _URN.fullmatch(text):
        return "is not of the form urn:<namespace>:<name>"
    if not (parts.netloc or parts.path or parts.query):
        return "has nothing after its scheme"
    if "[" in parts.path + parts.query + parts.fragment or "]" in parts.path + parts.query + parts.fragment:
        return "holds a bracket outside the host, which must be percent-encoded"
    return ""
