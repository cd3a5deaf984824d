"""Mails (EML) to a `Document`: headers, body, quoted earlier mails under headings; attachments are separate
documents.
"""

from __future__ import annotations

import email
import email.policy
import mimetypes
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message
from email.utils import parsedate_to_datetime

from wenyuan.core.addresses import escaped_value, legible, with_part
from wenyuan.core.errors import DocumentRejected
from wenyuan.core.messages import msg
from wenyuan.core.model import Document, Facet
from wenyuan.core.text import has_han
from wenyuan.readers import is_read, suffix_of
from wenyuan.readers.assemble import Original, Piece, assemble
from wenyuan.readers.containers import MAX_BYTES, Part, Unpacked, left_out
from wenyuan.readers.fidelity import measured
from wenyuan.readers.html import Page, own_text, parsed
from wenyuan.readers.mhtml import html_of
from wenyuan.readers.text import sectioned

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
_ATTRIBUTION = re.compile(r"(?:wrote|writes|写道|寫道)\s*[:：]\s*$", re.IGNORECASE)
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
        return content.decode(_ALIASES.get(charset, charset or "utf-8"))
    except (LookupError, UnicodeDecodeError):
        return legible(content.decode("utf-8", "surrogateescape"))


def _bytes_of(message: Message) -> bytes:
    try:
        return message.as_bytes()
    except (ValueError, LookupError, TypeError, AttributeError):
        return str(message).encode("utf-8", "replace")
