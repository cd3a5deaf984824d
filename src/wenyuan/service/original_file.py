"""Opens the original file of a document, from its source's path or connector."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from wenyuan.core.addresses import legible
from wenyuan.core.connectors import MOST_BYTES, Connector
from wenyuan.core.errors import OriginalGone, OriginalUnavailable, SourceError, msg
from wenyuan.core.model import Source
from wenyuan.runtime.presence import is_file
from wenyuan.runtime.regular import open_regular

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog


@dataclass(frozen=True, slots=True, kw_only=True)
class OriginalFile:
    """An original file.

    Attributes:
        name: What a person calls it, with its suffix.
        content: Its bytes.
    """

    name: str
    content: bytes


def open_original(source: Source, uri: str) -> OriginalFile:
    """The file a document was read from. Access must be checked by the caller: see `Originals`.

    Links that lead out of the source's path are refused, as they are when it is read.

    Args:
        uri: The document's; of one that is a part of a file (a sheet, a line) the file is given.

    Raises:
        OriginalGone: the file is no longer there.
        OriginalUnavailable: no file of the source is known for it, it cannot be read now, or is too large.
    """
    bare = uri.partition("#")[0].partition("?")[0]  # an address that a document states need be none that can be split
    root = os.path.realpath(source.path) if source.path else ""
    path = Path(unquote(bare.removeprefix("file://"), errors="surrogateescape"))
    if not bare.startswith("file:///") or not root or not Path(os.path.realpath(path)).is_relative_to(root):
        raise OriginalUnavailable(msg("no file of the source is known for {uri}", uri=repr(uri)))
    try:
        if not is_file(path):  # and nothing that would be waited for
            hint = msg("read the source again: wenyuan refresh {source_id}", source_id=source.source_id)
            raise OriginalGone(msg("the file of {uri} is no longer there", uri=repr(uri)), hint=hint)
        with os.fdopen(open_regular(path), "rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise OriginalUnavailable(
            msg("cannot read {path}: {strerror}", path=path, strerror=error.strerror)
        ) from error
    if len(content) > MOST_BYTES:
        raise OriginalUnavailable(msg("{path} is larger than {most} bytes", path=path, most=f"{MOST_BYTES:,}"))
    return OriginalFile(name=legible(path.name), content=content)


def fetch_original(catalog: Catalog, connector: Connector, source: Source, uri: str) -> OriginalFile:
    """As `open_original`, for a source with a connector: fetches the entry as last listed.

    Raises:
        OriginalUnavailable: nothing is remembered of it, or it cannot be had now.
    """
    entry = catalog.listed_for(source.source_id, uri)
    if entry is None:
        raise OriginalUnavailable(msg("no file of the source is known for {uri}", uri=repr(uri)))
    try:
        content = connector.fetch(entry, MOST_BYTES)
    except SourceError as error:
        raise OriginalUnavailable(error.message, component=error.component, hint=error.hint) from error
    return OriginalFile(name=entry.name, content=content)
