"""Flat OpenDocument files, which are one XML file in place of an archive, to `Document` values by the readers of the archives."""

from __future__ import annotations

import hashlib
import io
import re
import zipfile
from collections.abc import Callable
from dataclasses import replace

from wenyuan.core.model import Document
from wenyuan.readers.assemble import rejected
from wenyuan.readers.opendocument import read_odp, read_odt
from wenyuan.readers.workbook import read_ods

_DATA = re.compile(rb"(<office:binary-data[^<>]*>)[^<]*")
_INDENTED = re.compile(rb">\r?\n[ \t]*<")
_KINDS = {b"text": "text", b"presentation": "presentation", b"spreadsheet": "spreadsheet"}
_KIND = re.compile(rb"""office:mimetype\s*=\s*["']application/vnd\.oasis\.opendocument\.([a-z]+)""")
_HEAD = 4_096


def read_fodt(content: bytes, *, uri: str, name: str) -> tuple[Document, ...]:
    """Read a flat text; see `opendocument.read_odt`."""
    return _read(content, uri, name, read_odt)


def read_fodp(content: bytes, *, uri: str, name: str) -> tuple[Document, ...]:
    """Read flat slides; see `opendocument.read_odp`."""
    return _read(content, uri, name, read_odp)


def read_fods(content: bytes, *, uri: str, name: str) -> tuple[Document, ...]:
    """Read a flat spreadsheet; see `workbook.read_ods`."""
    return _read(content, uri, name, read_ods)


def _read(content: bytes, uri: str, name: str, read: Callable[..., tuple[Document, ...]]) -> tuple[Document, ...]:
    """The documents of a flat file, with its own hash; pictures in it are left out."""
    kind = _KIND.search(content[:_HEAD])
    if b"office:document" not in content[:_HEAD] or kind is None or kind[1] not in _KINDS:
        raise rejected("it is no flat OpenDocument file", name)
    plain = _DATA.sub(rb"\1", content)
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("mimetype", f"application/vnd.oasis.opendocument.{_KINDS[kind[1]]}")
        archive.writestr("content.xml", _body(plain) if read is read_ods else plain)
        for part in ("meta.xml", "styles.xml"):
            archive.writestr(part, plain)
        archive.writestr("META-INF/manifest.xml", "<manifest/>")
    sha256 = hashlib.sha256(content).hexdigest()
    return tuple(replace(document, sha256=sha256) for document in read(made.getvalue(), uri=uri, name=name))


def _body(content: bytes) -> bytes:
    """The root with the body alone: its reader takes what stands in the headers of pages for cells."""
    begins, ends = content.find(b"<office:document"), content.find(b">", content.find(b"<office:document")) + 1
    root = content[begins:ends].replace(b"<office:document", b"<office:document-content", 1)
    body = content[content.find(b"<office:body") : content.rfind(b"</office:body>")]
    body = _INDENTED.sub(b"><", body)
    return b'<?xml version="1.0" encoding="UTF-8"?>' + root + body + b"</office:body></office:document-content>"
