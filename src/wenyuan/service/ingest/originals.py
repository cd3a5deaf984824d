"""The file that a document was read from, as it is now, for who may see what the library left out of it."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from wenyuan.core.addresses import legible
from wenyuan.core.errors import NotFound, NotPermitted, SourceError
from wenyuan.core.messages import msg
from wenyuan.core.model import Source
from wenyuan.core.redaction.policy import LABELS
from wenyuan.runtime import is_file

if TYPE_CHECKING:
    from wenyuan.catalog import Catalog

MOST_BYTES = 50_000_000
"""An original that is larger is not given: no larger file is read into a library either."""

_TAKEN_OUT = re.compile(f"⟦(?:{'|'.join(map(re.escape, LABELS.values()))})(?::[A-Z2-7]{{10}})?⟧")


@dataclass(frozen=True, slots=True, kw_only=True)
class OriginalFile:
    """A file as it lies at its source.

    Attributes:
        name: What a person calls it, with its suffix.
        content: Its bytes.
    """

    name: str
    content: bytes


def open_original(catalog: Catalog, source_id: str, uri: str) -> OriginalFile:
    """The file that a live document was read from.

    An original holds what redaction took out of its text. So it is given only where a source is ``public``, and not where
    a value was taken out of the document all the same. Whether the document's terms of use allow it is for the caller to ask.

    Args:
        uri: The document's, as the catalog has it; of one that is a part of a file (a sheet, a line) the file is given.

    Raises:
        NotFound: there is no such source or document, or its file is no longer there.
        NotPermitted: it may hold what is taken out of the source's documents.
        SourceError: it cannot be read now, or is too large.
    """
    source = catalog.source(source_id)
    number, _ = catalog.live_documents(source_id).get(uri, (None, ""))
    if number is None:
        raise NotFound(msg("there is no document {uri}", uri=repr(uri)))
    if source.sensitivity != "public" or any(
        _TAKEN_OUT.search(text) for _, text in catalog.document_passages(number)
    ):
        raise NotPermitted(
            "the original is not given: it may hold what redaction took out of the text",
            hint="read it where it lies",
        )
    return _local(source, uri)


def _local(source: Source, uri: str) -> OriginalFile:
    """A file below a source's path; links that lead out of it are refused, as they are when it is read."""
    parts = urlsplit(uri)
    root = os.path.realpath(source.path) if source.path else ""
    path = Path(unquote(parts.path, errors="surrogateescape"))
    if parts.scheme != "file" or not root or not Path(os.path.realpath(path)).is_relative_to(root):
        raise NotFound(msg("no file of the source is known for {uri}", uri=repr(uri)))
    try:
        if not is_file(path):
            raise NotFound(msg("the file of {uri} is no longer there", uri=repr(uri)))
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise SourceError(msg("cannot read {path}: {strerror}", path=path, strerror=error.strerror)) from error
    if len(content) > MOST_BYTES:
        raise SourceError(msg("{path} is larger than {most} bytes", path=path, most=f"{MOST_BYTES:,}"))
    return OriginalFile(name=legible(path.name), content=content)
