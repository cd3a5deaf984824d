"""Office packages in the form that their readers know: Strict Open XML, templates and files with macros as plain documents."""

from __future__ import annotations

import io
import re
import zipfile

_STRICT = b"http://purl.oclc.org/ooxml/"
_NAMES = (
    (b"http://purl.oclc.org/ooxml/officeDocument/", b"http://schemas.openxmlformats.org/officeDocument/2006/"),
    (b"http://purl.oclc.org/ooxml/spreadsheetml/", b"http://schemas.openxmlformats.org/spreadsheetml/2006/"),
    (b"http://purl.oclc.org/ooxml/wordprocessingml/", b"http://schemas.openxmlformats.org/wordprocessingml/2006/"),
    (b"http://purl.oclc.org/ooxml/presentationml/", b"http://schemas.openxmlformats.org/presentationml/2006/"),
    (b"http://purl.oclc.org/ooxml/drawingml/", b"http://schemas.openxmlformats.org/drawingml/2006/"),
)
_TYPES = "[Content_Types].xml"
_MAIN = re.compile(
    rb"application/vnd\.(?:ms-word\.(?:document|template)\.macroEnabled(?:Template)?|openxmlformats-officedocument\.wordprocessingml\.template)\.main\+xml"
)
_DOCUMENT = b"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"


def transitional(content: bytes) -> bytes:
    """The same package as a plain document of Office 2007; the bytes themselves where it is one already.

    It is read only after `container_check.check_archive`, which bounds what it unpacks to.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            types = archive.read(_TYPES) if _TYPES in archive.namelist() else b""
            roots = [
                name for name in archive.namelist() if name in ("_rels/.rels", "word/document.xml", "xl/workbook.xml")
            ]
            strict = any(_STRICT in archive.read(name) for name in roots)
            if not strict and not _MAIN.search(types):
                return content
            made = io.BytesIO()
            with zipfile.ZipFile(made, "w") as out:
                for entry in archive.infolist():
                    out.writestr(entry.filename, _plain(entry.filename, archive.read(entry)))
            return made.getvalue()
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, ValueError, OSError):
        return content  # its reader says what is wrong


def _plain(name: str, content: bytes) -> bytes:
    if name == _TYPES:
        content = _MAIN.sub(_DOCUMENT, content)
    if name.endswith((".xml", ".rels")) and _STRICT in content:
        for strict, plain in _NAMES:
            content = content.replace(strict + b"main", plain + b"main").replace(strict, plain)
        content = content.replace(b' conformance="strict"', b"")
    return content
