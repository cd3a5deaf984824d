"""A file that came with a request, on disk for as long as it is read."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from wenyuan.core.errors import InvalidRequest
from wenyuan.wire.uploads import FileShape, bytes_of

__all__ = ["uploaded"]

_UNUSUAL = re.compile(r"[^\w.\- ]")
_MOST_BYTES = 200  # of a name on disk, where file systems take 255; its end says what the file is


@contextmanager
def uploaded(file: FileShape) -> Iterator[Path]:
    """Where its bytes are, under its own name, in a folder that nobody else may look into.

    Raises:
        InvalidRequest: it is not base64; or what was raised within, without where the file lay for that moment.
    """
    content = bytes_of(file)
    with TemporaryDirectory(prefix="wenyuan-upload-") as folder:
        end = _UNUSUAL.sub("_", file.name).encode()[-_MOST_BYTES:].decode(errors="ignore")
        path = Path(folder) / (end.lstrip(".") or "file")
        path.write_bytes(content)
        try:
            yield path
        except InvalidRequest as error:
            told = error.message.replace(folder + os.sep, "")
            raise InvalidRequest(told, faults=error.faults, hint=error.hint) from None
