"""Forms with files (``multipart/form-data``, RFC 7578), as browsers send them."""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["parts_of"]

_BOUNDARY = re.compile(r'multipart/form-data\s*;(?:.*;)?\s*boundary=(?:"([^"\r\n]{1,70})"|([^\s";,]{1,70}))', re.I)
_ABOUT = re.compile(rb'^content-disposition:\s*form-data((?:;\s*[a-z*]+="[^"\r\n]*")+)\s*$', re.I | re.M)
_GIVEN = re.compile(rb';\s*([a-z]+)="([^"\r\n]*)"', re.I)


def parts_of(kind: str, content: bytes) -> Iterator[tuple[str, str | None, bytes]]:
    """Name, name of the file (None for a plain field) and value of each part.

    Args:
        kind: The Content-Type, whose boundary counts.

    Raises:
        ValueError: it is no such form.
    """
    named = _BOUNDARY.match(kind)
    if named is None:
        raise ValueError("no boundary")
    fence = b"\r\n--" + (named[1] or named[2]).encode("ascii")
    first, *parts = (b"\r\n" + content).split(fence)
    if first.strip() or not parts or not parts.pop().startswith(b"--"):
        raise ValueError("the form does not begin and end with its boundary")
    for part in parts:
        head, mark, value = part.partition(b"\r\n\r\n")
        about = _ABOUT.search(head.replace(b"\r\n", b"\n"))
        given = {key.lower(): text for key, text in _GIVEN.findall(about[1])} if about and mark else {}
        if b"name" not in given:
            raise ValueError("a part has no name")
        file = given.get(b"filename")
        yield given[b"name"].decode(), None if file is None else file.decode(), value
