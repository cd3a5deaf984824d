"""Outlook mails (MSG) to a `Document`, like EML: message properties, recipients and attachments."""

from __future__ import annotations

import io
import struct
from datetime import UTC, datetime, timedelta
from typing import Any

from wenyuan.core.addresses import escaped_value, with_part
from wenyuan.core.errors import msg
from wenyuan.core.text.charsets import charset_of
from wenyuan.readers.assemble import Original, rejected
from wenyuan.readers.contained_files import Unpacked
from wenyuan.readers.containers import MAX_DEPTH
from wenyuan.readers.mail import unpacked
from wenyuan.readers.message_parts import Mail
from wenyuan.readers.rtf import read_rtf

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
        self.code_page = "gb18030" if page in (936, 54936) else charset_of(f"cp{page}") or "gb18030"

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
        return self.raw(f"__substg1.0_{prop}001E").decode(self.code_page, "replace").rstrip("\0")

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
    letter = Mail(headers=_msg_headers(storage))
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


def _attach(attached: _Storage, letter: Mail, original: Original, depth: int, inner: list[Unpacked]) -> None:
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
