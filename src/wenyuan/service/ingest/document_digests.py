"""What tells one content of a document from another, and texts as they can be stored."""

from __future__ import annotations

import hashlib
import json

from wenyuan.core.model import Document


def storable(text: str) -> str:
    """The text with lone surrogates replaced: JSON can contain them, databases and models cannot."""
    return text.encode("utf-8", "replace").decode()


def content_digest(document: Document) -> str:
    """The digest of what is stored of a document that has no file of its own."""
    facets = json.dumps(dict(document.metadata), sort_keys=True, ensure_ascii=False, default=str)
    validity = (str(document.effective_from), str(document.effective_until))
    own: tuple[str, ...] = (document.collection,) if document.collection else ()
    own += ("lead", document.lead) if document.part_of and document.lead else ()  # another document's words
    own += ("vector", document.vector.hex()) if document.vector is not None else ()
    return digest(document.title, document.text, facets, *validity, *own)


def digest(*parts: str) -> str:
    """The digest of texts, in hexadecimal."""
    return hashlib.sha256("\x00".join(parts).encode()).hexdigest()
