"""Reads files of passages that come with their vectors, and checks these before anything is stored."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from wenyuan.core.addresses import legible, with_part
from wenyuan.core.errors import DocumentRejected, msg
from wenyuan.core.model import Document, Draft
from wenyuan.core.ports import Encoder
from wenyuan.core.text.chunking import chunk
from wenyuan.core.vector_files import VectorFileReader, VectorRows, VectorTable
from wenyuan.runtime.regular import IrregularFile, open_regular

_AT_ONCE = 1_000  # rows of one exchange with the reading process
_MOST_REFUSED = 200  # rows that are named one by one
_PROBED = 16  # texts that are embedded again, to see whether the vectors are theirs
_LEAST_PROBED = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorFiles:
    """Reads files with vectors of one library's encoder.

    Attributes:
        reader: Reads them.
        encoder: The library's; None: it has none.
        declared: What made the vectors, as the source says; ``""``: the file says it.
    """

    reader: VectorFileReader
    encoder: Encoder | None
    declared: str = ""

    def documents(self, path: Path, uri: str) -> Iterator[Document]:
        """A document for each row, with its vector.

        Raises:
            DocumentRejected: none of its rows can be taken: it is no such file, or its vectors are of another encoder.
        """
        name = legible(path.name)
        with _regular(path, name) as place:
            told = self.reader.describe(place, name=name)
            notes = self._checked(told, name)
            yield from _with_refusals(self._rows(place, uri, name, told.rows, notes), uri, name)

    def _checked(self, told: VectorTable, name: str) -> tuple[str, ...]:
        """Notes on what a file says of itself; DocumentRejected where its vectors are not this library's."""
        if self.encoder is None:
            raise DocumentRejected("the library has no encoder: nobody could ask for vectors", component=name)
        own = self.encoder.fingerprint
        if not told.vector:
            raise DocumentRejected("it has no column 'vector' or 'embedding'", component=name)
        declared = self.declared or told.encoder
        if not declared:
            raise DocumentRejected(
                "it does not say what made its vectors",
                component=name,
                hint=msg("if it was this library's encoder: --encoder {encoder}", encoder=repr(own.made_by)),
            )
        if declared not in (own.made_by, own.key):
            raise DocumentRejected(
                msg("its vectors are of {declared}, and the library embeds with {own}", declared=repr(declared), own=repr(own.made_by)),
                component=name,
                hint="embed the texts with the library's encoder; or let it do that: wenyuan add",
            )  # fmt: skip
        return (msg("left out columns: {names}", names=", ".join(told.unknown)),) if told.unknown else ()

    def _rows(
        self, place: str, uri: str, name: str, count: int, notes: tuple[str, ...]
    ) -> Iterator[Document | tuple[str, str]]:
        """Documents, and address and reason of rows that are refused. While some are stored, the next ones are read."""

        def read(first: int) -> VectorRows:
            return self.reader.rows(place, uri=uri, name=name, first=first, count=_AT_ONCE)

        with ThreadPoolExecutor(1, "wenyuan-vector-rows") as reader:
            coming: Future[VectorRows] | None = reader.submit(read, 0) if count else None
            for first in range(0, count, _AT_ONCE):
                assert coming is not None
                answer = coming.result()
                following = first + _AT_ONCE
                coming = reader.submit(read, following) if following < count else None
                documents, refused = self._taken(answer)
                if first == 0:
                    self._probe(documents, name)
                    documents[:1] = [replace(one, notes=(*one.notes, *notes)) for one in documents[:1]]
                yield from refused
                yield from documents

    def _taken(self, rows: VectorRows) -> tuple[list[Document], list[tuple[str, str]]]:
        """The rows whose vectors are such, brought to length 1; and those that are refused."""
        assert self.encoder is not None
        dimension = self.encoder.fingerprint.dimension
        refused, taken, at = list(rows.refused), list[Document](), 0
        values = np.frombuffer(rows.values, "<f4")
        for document, length in zip(rows.documents, rows.lengths, strict=True):
            vector = values[at : at + length].astype(np.float64)
            at += length
            reason = _fault(vector, dimension)
            if reason:
                refused.append((document.uri, reason))
            else:
                taken.append(replace(document, vector=(vector / np.linalg.norm(vector)).astype("<f4").tobytes()))
        return taken, refused

    def _probe(self, documents: Sequence[Document], name: str) -> None:
        """DocumentRejected where the vectors are nearer to other texts than to their own, by the library's encoder."""
        assert self.encoder is not None
        some = {one.text: one for one in documents[: 4 * _PROBED]}
        asked = list(some.values())[:_PROBED]
        if len(asked) < _LEAST_PROBED:
            return
        given = np.stack([np.frombuffer(one.vector or b"", "<f4") for one in asked])
        own = np.asarray(self.encoder.encode_passages([one.text for one in asked]), np.float32)
        nearest = (given @ own.T).argmax(axis=1)
        if 2 * int((nearest == np.arange(len(asked))).sum()) <= len(asked):
            raise DocumentRejected(
                msg(
                    "of {count} of its texts, embedded again, {hits} are nearest to their own vectors: another encoder made them",
                    count=len(asked),
                    hits=int((nearest == np.arange(len(asked))).sum()),
                ),
                component=name,
            )


def drafts_of(document: Document, target_tokens: int) -> tuple[Draft, ...]:
    """The passages of a document; one that was cut elsewhere stays whole."""
    if document.vector is not None:
        return (Draft(start=0, end=len(document.text)),)
    return chunk(document, target_tokens=target_tokens)


def without_changed_vector(redacted: Document, before: Document) -> Document:
    """A document whose vector is to be made anew where something was taken out: that which came with it may tell what."""
    if before.vector and (redacted.text, redacted.title) != (before.text, before.title):
        return replace(redacted, vector=b"")
    return redacted


def _fault(vector: Any, dimension: int) -> str:
    """Why a vector cannot be taken; ``""`` where it can."""
    if len(vector) != dimension:
        return msg("its vector has {count} dimensions, not {dimension}", count=len(vector), dimension=dimension)
    if not np.isfinite(vector).all():
        return "its vector holds what is no number"
    if not float(np.linalg.norm(vector)) > 0.0:
        return "its vector is zero"
    return ""


def _with_refusals(rows: Iterator[Document | tuple[str, str]], uri: str, name: str) -> Iterator[Document]:
    """The documents; what is refused goes with the one before or after it, and beyond some, as a number.

    Raises:
        DocumentRejected: none is taken.
    """
    refused: list[tuple[str, str]] = []
    rest, last = 0, None
    for one in rows:
        if isinstance(one, Document):
            if last is not None:
                yield replace(last, refused=tuple(refused))
                refused = []
            last = one
        elif len(refused) < _MOST_REFUSED:
            refused.append(one)
        else:
            rest += 1
    if last is None:
        raise DocumentRejected(refused[0][1] if refused else "it holds no rows", component=name)
    more = ((with_part(uri, "line=more"), msg("{rest} more rows were refused", rest=rest)),) if rest else ()
    yield replace(last, refused=(*refused, *more))


@contextmanager
def _regular(path: Path, name: str) -> Iterator[str]:
    """A name by which the reading process opens this very file, whatever stands at its path meanwhile."""
    try:
        handle = open_regular(path)
    except IrregularFile as error:
        raise DocumentRejected("it is not a regular file", component=name) from error
    try:
        held = Path(f"/proc/{os.getpid()}/fd/{handle}")
        yield str(held if held.exists() else path.absolute())
    finally:
        os.close(handle)
