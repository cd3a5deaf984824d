"""The parts of a message."""

from __future__ import annotations

import mimetypes
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message
from email.utils import parsedate_to_datetime

from wenyuan.core.addresses import legible
from wenyuan.core.errors import msg
from wenyuan.core.text.charsets import charset_of
from wenyuan.readers.containers import MAX_BYTES
from wenyuan.readers.mhtml import html_of

MAX_ATTACHMENTS = 200


_MAX_BODIES = 20


_ALIASES = {"gb2312": "gb18030", "gbk": "gb18030", "x-gbk": "gb18030", "unknown-8bit": "utf-8"}


@dataclass(slots=True)
class Mail:
    """A mail, independent of its file format.

    Attributes:
        headers: ``subject``, ``from``, ``to``, ``cc``, ``date`` (ISO 8601), ``thread`` (what its answers have in common).
        text: What was written, where it came as plain text.
        pages: What was written as HTML, in UTF-8.
        attachments: Names and contents.
        pictures: That stand in the text, or are attached to be shown in it.
        refused: Attachments that were not taken, by name, and why.
    """

    headers: dict[str, str] = field(default_factory=dict)
    text: str = ""
    pages: list[bytes] = field(default_factory=list)
    attachments: list[tuple[str, bytes]] = field(default_factory=list)
    pictures: int = 0
    refused: list[tuple[str, str]] = field(default_factory=list)

    def attach(self, name: str, content: bytes) -> None:
        """Add an attachment, within the limits for all of them."""
        if len(self.attachments) >= MAX_ATTACHMENTS:
            self.refused.append((name, msg("only the first {most} files are read", most=f"{MAX_ATTACHMENTS:,}")))
        elif sum(len(body) for _, body in self.attachments) + len(content) > MAX_BYTES:
            self.refused.append(
                (name, msg("the archive unpacks to more than {max_unpacked} MB", max_unpacked=MAX_BYTES // 1_000_000))
            )
        else:
            self.attachments.append((name, content))


_MOST_SHOWN = 5_000
"""Characters of a header that are kept."""
_MOST_HEADER = 65_536
"""Characters of a header that are decoded: more than the encoded words of those kept take. Longer ones take longer than their length."""


def mail_headers(message: Message) -> dict[str, str]:
    found = {key: header(message, key) for key in ("subject", "from", "to", "cc")}
    written = header(message, "date")
    try:
        found["date"] = parsedate_to_datetime(written).isoformat()
    except (ValueError, TypeError, IndexError, OverflowError):
        found["date"] = written
    references = (
        header(message, "references") or header(message, "in-reply-to") or header(message, "message-id")
    ).split()
    found["thread"] = references[0].strip("<>") if references else ""
    return {key: value[:_MOST_SHOWN] for key, value in found.items() if value}


def header(message: Message, name: str) -> str:
    """A header decoded: encoded words, and raw bytes in the encoding in which they give plausible text."""
    raw = next((value for key, value in message.raw_items() if key.lower() == name), "")
    raw = (str(raw) if not isinstance(raw, str) else raw)[:_MOST_HEADER]
    if any("\udc80" <= char <= "\udcff" for char in raw):
        return " ".join(legible(raw).split())
    try:
        parts = decode_header(raw)
    except (HeaderParseError, ValueError, LookupError):
        return " ".join(raw.split())
    return " ".join("".join(_decoded(part, charset) for part, charset in parts).split())


def _decoded(part: bytes | str, charset: str | None) -> str:
    if isinstance(part, str):
        return part
    return _in_charset(part, charset or "ascii")


def _in_charset(content: bytes, label: str) -> str:
    """A text in the character set that it declares, where that can be; else in the one in which it is legible."""
    charset = charset_of(_ALIASES.get(label.lower(), label.lower()))
    with suppress(UnicodeDecodeError):
        if charset:
            return content.decode(charset)
    return legible(content.decode("utf-8", "surrogateescape"))


def collect(message: Message, letter: Mail) -> None:
    """Sort the MIME parts of a message into body texts and attachments."""
    written: list[tuple[str, Message]] = []
    stack: list[tuple[Message, bool]] = [(message, False)]
    while stack:
        part, related = stack.pop()
        kind = part.get_content_type()
        if kind == "message/rfc822":
            inner = part.get_payload()
            if isinstance(inner, list) and inner and isinstance(inner[0], Message):
                letter.attach(
                    f"{header(inner[0], 'subject')[:100].replace('/', ' ') or 'mail'}.eml", _bytes_of(inner[0])
                )
        elif part.is_multipart():
            children = part.get_payload()
            assert isinstance(children, list)
            chosen = _alternative(children) if kind == "multipart/alternative" else children
            stack.extend(
                (child, kind == "multipart/related") for child in reversed(chosen) if isinstance(child, Message)
            )
        elif (
            kind in ("text/plain", "text/html")
            and part.get_content_disposition() != "attachment"
            and not _file(part)
            and len(written) < _MAX_BODIES
        ):
            written.append((kind, part))
        elif related and part.get_content_maintype() == "image":
            letter.pictures += 1
        else:
            payload, file = part.get_payload(decode=True), _file(part)
            content = payload if isinstance(payload, bytes) else b""
            if file or content.strip():
                letter.attach(file or f"attachment{mimetypes.guess_extension(kind) or ''}", content)
    if any(kind == "text/html" for kind, _ in written):
        letter.pages = [html_of(part) if kind == "text/html" else _as_page(_plain(part)) for kind, part in written]
    else:
        letter.text = "\n\n".join(_plain(part) for _, part in written)


def _as_page(text: str) -> bytes:
    """Plain text converted to HTML, where other body parts are HTML."""
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace("\r\n", "\n")
    return "".join(f"<p>{part.replace(chr(10), '<br>')}</p>" for part in escaped.split("\n\n")).encode(
        "utf-8-sig", "replace"
    )


def _alternative(children: Sequence[object]) -> Sequence[object]:
    """Of several forms of one body, the last supported one, which is the richest."""
    known = ("text/html", "text/plain", "multipart/related", "multipart/mixed", "multipart/alternative")
    fits = [child for child in children if isinstance(child, Message) and child.get_content_type() in known]
    return fits[-1:]


def _file(part: Message) -> str:
    """The file name of a MIME part, without folders; ``""`` without one."""
    try:
        raw = part.get_filename() or ""
    except (ValueError, LookupError, TypeError):
        raw = ""
    if any("\udc80" <= char <= "\udcff" for char in raw):
        raw = legible(raw)
    elif "=?" in raw:
        raw = "".join(_decoded(piece, charset) for piece, charset in decode_header(raw))
    return " ".join(raw.replace("\\", "/").rpartition("/")[2].split())[:200]


def _plain(part: Message) -> str:
    payload = part.get_payload(decode=True)
    content = payload if isinstance(payload, bytes) else b""
    text = _in_charset(content, part.get_content_charset() or "utf-8")
    if str(part.get_param("format") or "").lower() == "flowed":
        return _unflowed(text, without_spaces=str(part.get_param("delsp") or "").lower() == "yes")
    return text


def _unflowed(text: str, *, without_spaces: bool) -> str:
    """A text of ``format=flowed`` with each paragraph on one line (RFC 3676): a line that ends with a space goes on.

    Args:
        without_spaces: The space at its end is not of the text, as between Chinese characters.
    """
    lines: list[list[str]] = []
    going_on: int | None = None  # the depth of the quotation that goes on
    for line in text.replace("\r\n", "\n").split("\n"):
        body = line.lstrip(">")
        depth = len(line) - len(body)
        body = body.removeprefix(" ")
        flowed = body.endswith(" ") and body != "-- "
        said = body[:-1] if flowed and without_spaces else body
        if going_on == depth and body != "-- ":
            lines[-1].append(said)
        else:
            lines.append([">" * depth + " " * bool(depth), said])
        going_on = depth if flowed else None
    return "\n".join(map("".join, lines))


def _bytes_of(message: Message) -> bytes:
    try:
        return message.as_bytes()
    except (ValueError, LookupError, TypeError, AttributeError):
        return str(message).encode("utf-8", "replace")
