"""Uploaded files that are gone without having been deleted here: their documents are kept, and that is said.

What an upload, a replacement or a deletion may take away is noted in the catalog before a file is moved. A document whose file
is not in the folder is retired where it was noted; otherwise somebody, or a disk, has lost the file.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from wenyuan.core.errors import DocumentRejected, KnowledgeError

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog

_MAY_GO = "may_go/"
"""Beginning of the key, before a source's id, of the addresses of files that an upload or a deletion may take away."""


class FileLost(DocumentRejected):
    """An uploaded file is gone, and was not deleted here; its documents are as they were last read."""

    code = "file_lost"

    def __init__(self) -> None:
        super().__init__(
            "its file is gone from the folder of uploads, and was not deleted here; the document is as it was last read",
            hint="put the file back or upload it again; or delete the document: wenyuan document delete",
        )


@contextmanager
def may_go(catalog: Catalog, source_id: str, files: Iterable[str]) -> Iterator[None]:
    """A context in which files, by their stored addresses, may be taken away; after an error still: files may be gone by then."""
    key = _MAY_GO + source_id
    catalog.set_value(key, sorted({*(catalog.value(key) or ()), *files}))
    yield
    with suppress(KnowledgeError):  # what stays noted is there again, or is retired by the next reading
        catalog.set_value(key, None)


def lost_files(catalog: Catalog, source_id: str, unmet: Collection[str], met: Collection[str]) -> Mapping[str, str]:
    """Of documents that were not met in the folder of a source's uploads, those whose file is lost: address → file's address.

    Args:
        unmet: Addresses of documents.
        met: Addresses of the files that are there.
    """
    gone = frozenset(catalog.value(_MAY_GO + source_id) or ())
    stated = catalog.stated_files(source_id)
    names = {name_of(file, source_id) for file in met}
    found = {}
    for uri in unmet:
        file = file_of(uri, stated)
        name = name_of(file, source_id)  # the folder may lie elsewhere than when the document was stored
        if name and name not in names and file not in gone:
            found[uri] = file
    return found


def file_of(uri: str, stated: Mapping[str, str]) -> str:
    """The address of the file that an uploaded document was read from.

    Args:
        stated: `StatedFiles.stated_files` of its source.
    """
    return stated.get(uri) or uri.partition("?")[0].partition("#")[0]


def name_of(file: str, source_id: str) -> str:
    """The name of an uploaded file within its source; `""` for the address of no such file."""
    return file.rpartition(f"/uploads/{source_id}/")[2] if f"/uploads/{source_id}/" in file else ""
