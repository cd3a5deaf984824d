"""Files of passages with their vectors, as the service reads them: see `readers.vector_rows`, which runs in the reading process."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

from wenyuan.core.connectors import Parse
from wenyuan.core.errors import DocumentRejected, msg
from wenyuan.core.vector_files import VectorRows, VectorTable
from wenyuan.readers.frames import decode_documents

_FUNCTIONS = "wenyuan.readers.vector_rows"


@dataclass(frozen=True, slots=True)
class TableReader:
    """Reads them by `parse`; see `core.vector_files.VectorFileReader`."""

    parse: Parse

    def describe(self, path: str, *, name: str) -> VectorTable:
        """What a file says of itself."""
        told = self.parse(f"{_FUNCTIONS}:describe", b"", {"path": path}, name=name)
        try:
            return VectorTable(
                rows=int(told["rows"]), encoder=str(told["encoder"]), vector=str(told["vector"]),
                unknown=tuple(map(str, told["unknown"])),
            )  # fmt: skip
        except (KeyError, TypeError, ValueError) as error:
            raise _not_valid(error, name) from error

    def rows(self, path: str, *, uri: str, name: str, first: int, count: int) -> VectorRows:
        """Some rows from the first one, counted from 0."""
        asked: dict[str, Any] = {"path": path, "uri": uri, "name": name, "first": first, "count": count}
        told = self.parse(f"{_FUNCTIONS}:read_rows", b"", asked, name=name)
        try:
            made = VectorRows(
                documents=decode_documents(told["documents"]),
                lengths=tuple(int(length) for length in told["lengths"]),
                values=base64.b64decode(told["vectors"], validate=True),
                refused=tuple((str(address), str(reason)) for address, reason in told["refused"]),
            )
            if len(made.documents) != len(made.lengths) or 4 * sum(made.lengths) != len(made.values):
                raise ValueError("its parts do not fit")
        except (KeyError, TypeError, ValueError) as error:
            raise _not_valid(error, name) from error
        return made


def _not_valid(error: Exception, name: str) -> DocumentRejected:
    return DocumentRejected(msg("the reader's answer is not valid: {error}", error=error), component=name)
