"""Mails (EML, and MSG of Outlook) to a `Document`: headers, body, quoted earlier mails under headings; attachments are separate
documents.
"""

from __future__ import annotations

import email
import email.policy
import re

from wenyuan.core.addresses import escaped_value, with_part
from wenyuan.core.errors import DocumentRejected
from wenyuan.core.model import Document, Facet
from wenyuan.readers.assemble import Original, Piece, assemble
from wenyuan.readers.boundaries import check_parts
from wenyuan.readers.contained_files import ContainedFile, Unpacked
from wenyuan.readers.containers import left_out
from wenyuan.readers.html import own_text, parsed, styles_of
from wenyuan.readers.message_parts import Mail, collect, mail_headers
from wenyuan.readers.numbered_headings import sectioned
from wenyuan.readers.page import Page
from wenyuan.readers.quoted_mails import marked, quoted_pieces
from wenyuan.readers.selection import is_read, suffix_of
from wenyuan.readers.text import measured

_MEDIA_TYPE = "message/rfc822"
_SHOWN = (("From", "from"), ("To", "to"), ("Cc", "cc"), ("Date", "date"))
_FACETS = ("from", "to", "date", "thread")


def unpack_eml(content: bytes, *, uri: str, name: str) -> Unpacked:
    """A mail as a document, with its attachments at ``<uri>?attachment=<name>``; attached mails too.

    Raises:
        DocumentRejected: it is nested too deeply, or is no mail.
    """
    check_parts(content)
    message = email.message_from_bytes(content, policy=email.policy.compat32)
    letter = Mail(headers=mail_headers(message))
    collect(message, letter)
    return unpacked(letter, Original(content, uri, name))


def unpacked(letter: Mail, original: Original, media_type: str = _MEDIA_TYPE) -> Unpacked:
    """The document of a mail, with its attachments as parts."""
    document = _document(letter, original, media_type)
    told: dict[str, Facet] = {"attached_to": document.title}
    told |= {f"mail_{key}": value for key in ("from", "date") if (value := letter.headers.get(key, ""))}
    parts: dict[str, ContainedFile] = {}
    unread = [file for file, _ in letter.attachments if not is_read(file)]
    for file, body in letter.attachments:
        if is_read(file):
            address = _address(original.uri, file, parts)
            parts[address] = ContainedFile(uri=address, name=file, content=body, metadata=told)
    refused = []
    for number, (file, reason) in enumerate(letter.refused):
        refused.append((with_part(original.uri, f"attachment={escaped_value(file)};refused={number}"), reason))
    return Unpacked(
        documents=(document,), parts=tuple(parts.values()), refused=tuple(refused), notes=left_out(unread, suffix_of)
    )


def _address(uri: str, file: str, taken: dict[str, ContainedFile]) -> str:
    """The address of an attachment; a second one with the same name is ``name;2``."""
    own = free = with_part(uri, f"attachment={escaped_value(file)}")
    number = 1
    while free in taken:
        number += 1
        free = f"{own};{number}"
    return free


def _document(letter: Mail, original: Original, media_type: str) -> Document:
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
        shown = Page(tree.body, styles_of(tree))
        pieces += (marked(piece) for piece in shown.pieces)
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
