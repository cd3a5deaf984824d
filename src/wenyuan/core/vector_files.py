"""Files of passages that somebody else has cut and embedded: a row for each, with its text and its vector."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from wenyuan.core.model import Document

FORMAT = "vectors"
"""Value of a source's setting ``format`` whose file is one."""
ENCODER = "encoder"
"""Setting of such a source: what made its vectors. In the file's own metadata, ``wenyuan.encoder`` says the same."""
SUFFIXES = (".parquet", ".arrow", ".feather")


def is_vector_source(settings: Mapping[str, Any]) -> bool:
    """Whether a source's settings say that its files hold passages with their vectors."""
    return settings.get("format") == FORMAT


def is_vector_file(name: str) -> bool:
    """Whether a file's name is one of theirs."""
    return name.lower().endswith(SUFFIXES)


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorTable:
    """What a file says of itself.

    Attributes:
        rows: How many it has.
        encoder: What made its vectors, as it says; ``""``: it does not.
        vector: The name of the column that holds them; ``""``: there is none.
        unknown: Columns that are not read.
    """

    rows: int
    encoder: str
    vector: str
    unknown: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorRows:
    """Some rows of a file, as they stand there.

    Attributes:
        documents: Without vectors.
        lengths: Of the vector of each.
        values: All vectors, one after the other, float32.
        refused: Address and reason of rows that are none.
    """

    documents: Sequence[Document]
    lengths: Sequence[int]
    values: bytes
    refused: Sequence[tuple[str, str]]


class VectorFileReader(Protocol):
    """Reads such files in a process of its own; DocumentRejected with the reason where it cannot."""

    def describe(self, path: str, *, name: str) -> VectorTable:
        """What a file says of itself."""
        ...

    def rows(self, path: str, *, uri: str, name: str, first: int, count: int) -> VectorRows:
        """Some rows from the first one, counted from 0."""
        ...
