"""Which files are read of a source that has a format of its own: the concepts of a bundle, files of vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from wenyuan.core.errors import NoDocument
from wenyuan.core.model import Document, Source
from wenyuan.core.okf import is_bundle, is_concept, may_be_concept
from wenyuan.core.vector_files import is_vector_file, is_vector_source

Place = TypeVar("Place")


def readable_in(source: Source, readable: Callable[[str], bool]) -> Callable[[str], bool]:
    """Which names of files are read in a source: in a bundle, those that may be concepts."""
    if is_vector_source(source.settings):
        return is_vector_file
    if not is_bundle(source.settings):
        return readable
    return lambda name: may_be_concept(name) and readable(name)


def concepts_of(documents: Iterable[Document], name: str) -> Iterator[Document]:
    """The documents of a bundle's file.

    Raises:
        NoDocument: it is no concept.
    """
    for document in documents:
        if not is_concept(document.metadata):
            raise NoDocument("it is no concept: its front matter has no type", component=name)
        yield document
