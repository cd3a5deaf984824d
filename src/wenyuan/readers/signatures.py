"""What the first bytes of a file say that it is."""

from __future__ import annotations

ZIP = "a ZIP container (DOCX, XLSX …)"
OLE = "an encrypted or old binary Office file"
SIGNATURES = (
    (b"%PDF-", "a PDF"), (b"PK\x03\x04", ZIP), (b"PK\x05\x06", "an empty ZIP container"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", OLE), (b"{\\rtf", "RTF"), (b"\x1f\x8b", "gzip"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"), (b"Rar!\x1a\x07", "a RAR archive"), (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"), (b"GIF8", "a GIF image"), (b"II*\0", "a TIFF image"), (b"MM\0*", "a TIFF image"),
    (b"RIFF", "a WebP image"), (b"\x7fELF", "a program"), (b"SQLite format 3\x00", "an SQLite database"),
)  # fmt: skip
"""The first bytes, and what is said of a file that begins with them."""


def signature_of(content: bytes) -> str:
    """What a file is by its first bytes; ``""`` where they say nothing."""
    return next((what for magic, what in SIGNATURES if content.startswith(magic)), "")


def binary_signature_of(content: bytes) -> str:
    """The same, by such bytes alone as no text begins with (``RIFF`` is a word)."""
    return next((what for magic, what in SIGNATURES if not magic.isalnum() and content.startswith(magic)), "")
