"""How deep the parts of a mail stand in one another (RFC 2046 5.1), told from its lines alone."""

from __future__ import annotations

import re

from wenyuan.core.errors import DocumentRejected

_MOST_DEPTH = 100
_LINE = re.compile(
    rb"^--([^\r\n]{1,200}?)(--)?[ \t]{0,99}\r?$|boundary[ \t]{0,9}=[ \t]{0,9}(?:\"([^\"\r\n]{1,200})\"|([^\s;\"]{1,200}))",
    re.MULTILINE | re.IGNORECASE,
)


def check_parts(content: bytes) -> None:
    """Refuse a mail with parts in one another beyond all use: its parser asks at each line for the end of each of them.

    Raises:
        DocumentRejected: it is nested too deeply.
    """
    stated: set[bytes] = set()
    open_parts: list[bytes] = []
    inside: set[bytes] = set()
    for found in _LINE.finditer(content):
        if found[1] is None:
            stated.add((found[3] or found[4]).rstrip())
            continue
        name, ends = found[1].rstrip(), bool(found[2])
        if name in inside:
            while open_parts[-1] != name:
                inside.discard(open_parts.pop())
            if ends:
                inside.discard(open_parts.pop())
        elif name in stated and not ends:
            open_parts.append(name)
            inside.add(name)
            if len(open_parts) > _MOST_DEPTH:
                raise DocumentRejected("it is nested too deeply")
