"""Mails (EML, and MSG of Outlook) to a `Document`: headers, body, quoted earlier mails under headings; attachments are separate
documents.
"""

from __future__ import annotations

import email
import email.policy
import io
import mimetypes
import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message
from email.utils import parsedate_to_datetime
from typing import Any

from wenyuan.core.addresses import escaped_value, legible, with_part
from wenyuan.core.errors import DocumentRejected, msg
from wenyuan.core.model import Document, Facet
from wenyuan.core.text import has_han
from wenyuan.readers import is_read, suffix_of
from wenyuan.readers.archive import MAX_BYTES, MAX_DEPTH, Part, Unpacked, left_out
from wenyuan.readers.assemble import Original, Piece, assemble, rejected
from wenyuan.readers.boundaries import check_parts
from wenyuan.readers.html import own_text, parsed
from wenyuan.readers.mhtml import html_of
from wenyuan.readers.page import Page
from wenyuan.readers.rtf import read_rtf
from wenyuan.readers.text import measured, sectioned

MAX_ATTACHMENTS = 200
_MAX_BODIES = 20
_MEDIA_TYPE = "message/rfc822"
_SHOWN = (("From", "from"), ("To", "to"), ("Cc", "cc"), ("Date", "date"))
_FACETS = ("from", "to", "date", "thread")
_ALIASES = {"gb2312": "gb18030", "gbk": "gb18030", "x-gbk": "gb18030", "unknown-8bit": "utf-8"}


@dataclass(slots=True)
class Letter:
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


def unpack_eml(content: bytes, *, uri: str, name: str) -> Unpacked:
    """A mail as a document, with its attachments at ``<uri>?attachment=<name>``; attached mails too.

    Raises:
        DocumentRejected: it is nested too deeply, or is no mail.
    """
    check_parts(content)
    message = email.message_from_bytes(content, policy=email.policy.compat32)
    letter = Letter(headers=_headers(message))
    _collect(message, letter)
    return unpacked(letter, Original(content, uri, name))


def unpacked(letter: Letter, original: Original, media_type: str = _MEDIA_TYPE) -> Unpacked:
    """The document of a mail, with its attachments as parts."""
    document = _document(letter, original, media_type)
    told: dict[str, Facet] = {"attached_to": document.title}
    told |= {f"mail_{key}": value for key in ("from", "date") if (value := letter.headers.get(key, ""))}
    parts: dict[str, Part] = {}
    unread = [file for file, _ in letter.attachments if not is_read(file)]
    for file, body in letter.attachments:
        if is_read(file):
            address = _address(original.uri, file, parts)
            parts[address] = Part(uri=address, name=file, content=body, metadata=told)
    refused = []
    for number, (file, reason) in enumerate(letter.refused):
        refused.append((with_part(original.uri, f"attachment={escaped_value(file)};refused={number}"), reason))
    return Unpacked(
        documents=(document,), parts=tuple(parts.values()), refused=tuple(refused), notes=left_out(unread, suffix_of)
    )


def _address(uri: str, file: str, taken: dict[str, Part]) -> str:
    """The address of an attachment; a second one with the same name is ``name;2``."""
    own = free = with_part(uri, f"attachment={escaped_value(file)}")
    number = 1
    while free in taken:
        number += 1
        free = f"{own};{number}"
    return free


def _document(letter: Letter, original: Original, media_type: str) -> Document:
    subject = " ".join(letter.headers.get("subject", "").split())
    lines = [f"{label}: {value}" for label, key in _SHOWN if (value := letter.headers.get(key, ""))]
    pieces = [Piece("heading", subject, level=1), Piece("paragraph", "\n".join(lines))]
    source, added = [subject, *lines], list[str]()
    notes: list[str] = []
    for page in letter.pages:
        try:
            tree, _ = parsed(page, xml=False)
        except DocumentRejected:  # in no encoding that all of it fits: a few letters are lost, not the mail
            tree, _ = parsed(page.decode("utf-8", "replace").encode("utf-8-sig"), xml=False)
            notes.append("some of its letters are in no encoding that is known")
        shown = Page(tree.body)
        pieces += (_marked(piece) for piece in shown.pieces)
        notes += shown.notes()
        added += shown.added
        letter.pictures += len(tree.css("img"))
        source.append(own_text(tree))
    if not letter.pages:
        pieces += quoted_pieces(letter.text, added)
        source.append(re.sub(r"^[> ]*>", "", letter.text, flags=re.MULTILINE))
    facets: dict[str, Facet] = {key: value[:500] for key in _FACETS if (value := letter.headers.get(key, ""))}
    document = assemble(
        sectioned(pieces),
        Original(original.content, original.uri, original.name),
        title=subject,
        media_type=media_type,
        notes=notes,
        metadata=facets,
    )
    return measured(document, source, added=added, pictures=letter.pictures)


# Quoted earlier mails: put below a heading, so that they are not taken for the mail's own text.

_DIVIDER = re.compile(
    r"\s*[-_=*]{2,}\s*(?:original (?:message|mail)|forwarded message|begin forwarded message|原始邮件|原邮件|原始訊息|原郵件|转发邮件|轉寄郵件|"
    r"转发的邮件|回复的原邮件|forwarded by [^\n]{0,80})\s*[-_=*]{2,}\s*",
    re.IGNORECASE,
)
_ATTRIBUTION = re.compile(r"(?:wrote|writes|写道|寫道)\s*[:：]\s*\Z", re.IGNORECASE)
_WHO = re.compile(r"[0-9@<]")
_FROM = re.compile(r"\s*\**(?:from|发件人|寄件者|寄件人|發件人)\**\s*[:：]", re.IGNORECASE)
_SENT = re.compile(
    r"\s*\**(?:sent|date|发送时间|发送日期|日期|时间|寄件日期|傳送時間|發送時間)\**\s*[:：]",
    re.IGNORECASE | re.MULTILINE,
)
_MOST_ATTRIBUTED = 400
_QUOTE = re.compile(r"(?:[ \t]?>)+ ?")


def _opens_earlier(text: str) -> bool:
    """Whether a paragraph starts a quoted mail: a divider, an "on … wrote" line, or a mail header."""
    if _DIVIDER.match(text):
        return True
    if len(text) <= _MOST_ATTRIBUTED and _ATTRIBUTION.search(text) and _WHO.search(text):
        return True
    return bool(_FROM.match(text) and _SENT.search(text[:600]))


def _marked(piece: Piece) -> Piece:
    """An HTML paragraph that starts a quoted mail, as a heading."""
    if piece.kind == "paragraph" and _opens_earlier(piece.text):
        return Piece("heading", " ".join(piece.text.split()), level=2, anchor=piece.anchor)
    return piece


def quoted_pieces(text: str, added: list[str]) -> Iterator[Piece]:
    """The paragraphs of a plain-text mail, with quoted text below headings as deep as its quoting.

    Args:
        added: Receives the headings that are not in the mail: for a quote without an author line, and for text after
            a quote.
    """
    quoted, own = ("引用的邮件", "邮件正文") if has_han(text) else ("Quoted mail", "Mail")
    paragraphs = list(_paragraphs(text))
    below = current = 0  # quotes without marks that the text at hand is in; how deep the last paragraph was quoted
    for (level, paragraph), (after, _) in zip(paragraphs, [*paragraphs[1:], (0, "")], strict=False):
        if _opens_earlier(paragraph):
            below += after <= level  # without marks, all that follows is the earlier mail's
            current = level + below + (after > level)
            yield Piece("heading", " ".join(paragraph.split()), level=min(current + 1, 6))
            continue
        depth = level + below
        if depth != current:
            added.append(heading := quoted if depth else own)
            yield Piece("heading", heading, level=min(depth + 1, 6))
            current = depth
        yield Piece("paragraph", paragraph)


def _paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """Paragraphs with their quoting depth, the ``>`` marks removed."""
    lines: list[str] = []
    depth = 0
    for line in (*text.replace("\r\n", "\n").split("\n"), ""):
        found = _QUOTE.match(line)
        level = found[0].count(">") if found else 0
        rest = line[found.end() :] if found else line
        if lines and (level != depth or not rest.strip()):
            yield depth, "\n".join(lines)
            lines = []
        if rest.strip():
            depth = level
            lines.append(rest)


# The parts of a message.


def _headers(message: Message) -> dict[str, str]:
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
    return {key: value[:5_000] for key, value in found.items() if value}


def header(message: Message, name: str) -> str:
    """A header decoded: encoded words, and raw bytes in the encoding in which they give plausible text."""
    raw = next((value for key, value in message.raw_items() if key.lower() == name), "")
    raw = str(raw) if not isinstance(raw, str) else raw
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
    named = (charset or "ascii").lower()
    try:
        return part.decode(_ALIASES.get(named, named))
    except (LookupError, UnicodeDecodeError):
        return legible(part.decode("utf-8", "surrogateescape"))


def _collect(message: Message, letter: Letter) -> None:
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
    charset = (part.get_content_charset() or "").lower()
    try:
        text = content.decode(_ALIASES.get(charset, charset or "utf-8"))
    except (LookupError, UnicodeDecodeError):
        text = legible(content.decode("utf-8", "surrogateescape"))
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


# Outlook mails (MSG) to a `Document`, like EML: message properties, recipients and attachments.

# A message is a storage of streams, each named by a property and its type (MS-OXMSG): ``__substg1.0_0037001F`` is the
# subject in UTF-16. Attachments are storages in it; a mail that is attached is a message again.

_MSG_MEDIA_TYPE = "application/vnd.ms-outlook"
_SUBJECT, _BODY, _HTML, _RTF = "0037", "1000", "1013", "1009"
_ATTACHMENT = "__attach_version1.0_"
_DATES = (0x00390040, 0x0E060040)  # submitted, delivered
_CODE_PAGES = (0x3FDE0003, 0x3FFD0003)
_EPOCH = datetime(1601, 1, 1, tzinfo=UTC)
_MAX_STREAM = 100_000_000


def unpack_msg(content: bytes, *, uri: str, name: str) -> Unpacked:
    """A mail as a document, with its attachments at ``<uri>?attachment=<name>``; attached mails become documents too.

    Raises:
        DocumentRejected: it is no message of Outlook, or damaged.
    """
    import olefile

    try:
        with olefile.OleFileIO(io.BytesIO(content)) as file:
            if not file.exists("__properties_version1.0"):
                raise rejected("it is no message of Outlook", name)
            return _message(_Storage(file, ()), Original(content, uri, name), 1)
    except (OSError, struct.error, IndexError, ValueError, AttributeError, TypeError) as error:
        raise rejected(msg("it is damaged: {error}", error=error), name) from error


class _Storage:
    """A storage of a compound file, with its streams by property."""

    def __init__(self, file: Any, path: tuple[str, ...]) -> None:
        self._file = file
        self.path = path
        self.numbers = self._fixed()
        page = next((self.numbers[tag] for tag in _CODE_PAGES if self.numbers.get(tag)), 0)
        self.code_page = {936: "gb18030", 54936: "gb18030", 65001: "utf-8"}.get(
            page, f"cp{page}" if page else "gb18030"
        )

    def inner(self, name: str) -> _Storage | None:
        path = (*self.path, name)
        return _Storage(self._file, path) if self._file.exists("/".join(path)) else None

    def children(self, prefix: str) -> list[str]:
        """Sub-storages whose names begin with `prefix`, in order."""
        depth = len(self.path)
        found = {
            path[depth]
            for path in self._file.listdir(streams=True, storages=True)
            if len(path) > depth and tuple(path[:depth]) == self.path and path[depth].startswith(prefix)
        }
        return sorted(found)

    def raw(self, name: str) -> bytes:
        """The bytes of a stream; ``b""`` where it is missing."""
        path = "/".join((*self.path, name))
        if not self._file.exists(path) or self._file.get_type(path) != 2:
            return b""
        with self._file.openstream(path) as stream:
            content: bytes = stream.read(_MAX_STREAM)
            return content

    def text(self, prop: str) -> str:
        """A text property, in UTF-16 or the message's code page."""
        if wide := self.raw(f"__substg1.0_{prop}001F"):
            return wide.decode("utf-16-le", "replace").rstrip("\0")
        narrow = self.raw(f"__substg1.0_{prop}001E")
        try:
            return narrow.decode(self.code_page, "replace").rstrip("\0")
        except LookupError:
            return narrow.decode("gb18030", "replace").rstrip("\0")

    def data(self, prop: str) -> bytes:
        return self.raw(f"__substg1.0_{prop}0102")

    def _fixed(self) -> dict[int, int]:
        """Fixed-size properties by tag, as packed integers."""
        content = self.raw("__properties_version1.0")
        head = 32 if not self.path else 24 if not self.path[-1].startswith(_ATTACHMENT) else 8
        return {
            struct.unpack_from("<I", content, at)[0]: struct.unpack_from("<Q", content, at + 8)[0]
            for at in range(head, len(content) - 15, 16)
        }


def _message(storage: _Storage, original: Original, depth: int) -> Unpacked:
    """The document and attachments of a message, including attached messages."""
    letter = Letter(headers=_msg_headers(storage))
    html = storage.data(_HTML) or storage.text(_HTML).encode("utf-8-sig", "replace")
    if html.strip(b"\xef\xbb\xbf\0 "):
        letter.pages = [html]
    else:
        letter.text = storage.text(_BODY)
        if not letter.text.strip() and (packed := storage.data(_RTF)):
            (document,) = read_rtf(unpacked_rtf(packed), uri=original.uri, name=original.name)
            letter.text = document.text
    inner: list[Unpacked] = []
    for name in storage.children(_ATTACHMENT):
        attached = storage.inner(name)
        if attached is not None:
            _attach(attached, letter, original, depth, inner)
    own = unpacked(letter, original, _MSG_MEDIA_TYPE)
    return Unpacked(
        documents=(*own.documents, *(document for each in inner for document in each.documents)),
        parts=(*own.parts, *(part for each in inner for part in each.parts)),
        refused=(*own.refused, *(told for each in inner for told in each.refused)),
        notes=(*own.notes, *(note for each in inner for note in each.notes)),
    )


def _attach(attached: _Storage, letter: Letter, original: Original, depth: int, inner: list[Unpacked]) -> None:
    message = attached.inner("__substg1.0_3701000D")
    file = " ".join((attached.text("3707") or attached.text("3704")).replace("\\", "/").rpartition("/")[2].split())
    if message is None:
        if attached.text("3712") and attached.text("370E").startswith("image/"):
            letter.pictures += 1
        else:
            letter.attach(file or "attachment", attached.data("3701"))
        return
    subject = " ".join((message.text(_SUBJECT) or "mail").split())[:100]
    address = with_part(original.uri, f"attachment={escaped_value(f'{subject}.msg')};{len(inner) + 1}")
    if depth >= MAX_DEPTH:
        reason = msg("it lies in more than {most} files within one another", most=MAX_DEPTH)
        inner.append(Unpacked(refused=((address, reason),)))
    else:
        inner.append(_message(message, Original(original.content, address, f"{subject}.msg"), depth + 1))


def _msg_headers(storage: _Storage) -> dict[str, str]:
    sender, address = storage.text("0C1A"), storage.text("5D01") or storage.text("0C1F")
    shown = f"{sender} <{address}>" if sender and "@" in address and sender != address else sender or address
    written = next((storage.numbers[tag] for tag in _DATES if storage.numbers.get(tag)), 0)
    references = (storage.text("1039") or storage.text("1042") or storage.text("1035")).split()
    found = {
        "subject": storage.text(_SUBJECT),
        "from": shown,
        "to": storage.text("0E04"),
        "cc": storage.text("0E03"),
        "date": _date(written),
        "thread": references[0].strip("<>") if references else "",
    }
    return {key: " ".join(value.split())[:5_000] for key, value in found.items() if value.strip()}


def _date(ticks: int) -> str:
    """A FILETIME (steps of 100 ns since 1601) as ISO 8601; ``""`` for none."""
    try:
        return (_EPOCH + timedelta(microseconds=ticks // 10)).isoformat(timespec="seconds") if ticks else ""
    except OverflowError:
        return ""


_PRELOAD = (
    rb"{\rtf1\ansi\mac\deff0\deftab720{\fonttbl;}{\f0\fnil \froman \fswiss \fmodern \fscript \fdecor MS Sans SerifSymbolArial"
    rb"Times New RomanCourier{\colortbl\red0\green0\blue0" + b"\r\n" + rb"\par \pard\plain\f0\fs20\b\i\u\tab\tx"
)
_WINDOW = 4_096
_MAX_RTF = 50_000_000


def unpacked_rtf(packed: bytes) -> bytes:
    """Decompress the RTF body of a message (MS-OXRTFCP).

    Raises:
        ValueError: it is packed in another way.
    """
    _, size, kind, _ = struct.unpack_from("<IIII", packed)
    if kind == 0x414C454D:  # MELA: not compressed
        return packed[16 : 16 + size]
    if kind != 0x75465A4C:
        raise ValueError("its RTF is packed in an unknown way")
    window = bytearray(_PRELOAD.ljust(_WINDOW, b"\0"))
    at, write = 16, len(_PRELOAD)
    out = bytearray()
    while at < len(packed) and len(out) < min(size, _MAX_RTF):
        control = packed[at]
        at += 1
        for bit in range(8):
            if control >> bit & 1:
                if at + 1 >= len(packed):
                    return bytes(out)
                reference = packed[at] << 8 | packed[at + 1]
                at += 2
                offset, length = reference >> 4, (reference & 15) + 2
                if offset == write % _WINDOW:
                    return bytes(out)
                for step in range(length):
                    byte = window[(offset + step) % _WINDOW]
                    window[write % _WINDOW] = byte
                    out.append(byte)
                    write += 1
            elif at < len(packed):
                window[write % _WINDOW] = packed[at]
                out.append(packed[at])
                write += 1
                at += 1
    return bytes(out)
