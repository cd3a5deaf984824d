"""The files in a container, as they were unpacked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from wenyuan.core.model import Document, Facet


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainedFile:
    """A file in a container.

    Attributes:
        uri: Its address: that of the container with ``entry=`` or ``attachment=``.
        name: Display name; its suffix selects the reader.
        metadata: From the container; the part's own metadata takes precedence.
    """

    uri: str
    name: str
    content: bytes
    metadata: Mapping[str, Facet] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpacked:
    """The content of a container.

    Attributes:
        documents: The container's own text, such as the body of a mail.
        refused: Parts that cannot be ingested: address and reason.
        notes: Notes on what was left out.
    """

    documents: tuple[Document, ...] = ()
    parts: tuple[ContainedFile, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
