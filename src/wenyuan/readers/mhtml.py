"""MHTML to a `Document`: the HTML of a page that a browser saved as one file; images and styles are ignored."""

from __future__ import annotations

import email
import email.policy
from collections.abc import Iterator
from dataclasses import replace
from email.message import Message

from wenyuan.core.model import Document
from wenyuan.core.stated_addresses import stated_address
from wenyuan.core.text.charsets import charset_of
from wenyuan.readers.assemble import rejected
from wenyuan.readers.boundaries import check_parts
from wenyuan.readers.html import read_html

_MAX_PARTS = 5_000


def read_mhtml(content: bytes, *, uri: str, name: str) -> tuple[Document, ...]:
    """Read the HTML part of a saved page. Its original address becomes the facet ``saved_from``.

    Raises:
        DocumentRejected: it has no HTML part, or no visible text.
    """
    check_parts(content)
    message = email.message_from_bytes(content, policy=email.policy.compat32)
    page = next(_pages(message), None)
    if page is None:
        raise rejected("it has no part that is a page of HTML", name)
    (document,) = read_html(html_of(page), uri=uri, name=name)
    came_from = stated_address(
        str(message.get("Snapshot-Content-Location") or page.get("Content-Location") or "").strip()
    )
    metadata = {**document.metadata, **({"saved_from": came_from} if came_from else {})}
    return (replace(document, metadata=metadata, media_type="multipart/related"),)


def _pages(message: Message) -> Iterator[Message]:
    """The HTML parts, the one declared as root first."""
    start = message.get_param("start")
    parts = [part for _, part in zip(range(_MAX_PARTS), message.walk(), strict=False)]
    found = [part for part in parts if part.get_content_type() in ("text/html", "application/xhtml+xml")]
    yield from sorted(found, key=lambda part: part.get("Content-ID") != start)


def html_of(part: Message) -> bytes:
    """The bytes of an HTML part, converted to UTF-8 where the part declares its encoding."""
    payload = part.get_payload(decode=True)
    content = payload if isinstance(payload, bytes) else b""
    charset = charset_of(part.get_content_charset() or "")
    try:
        # The byte order mark tells HTML readers the encoding, whatever the page declares.
        return content.decode(charset).encode("utf-8-sig") if charset else content
    except UnicodeDecodeError:
        return content
