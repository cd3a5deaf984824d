"""Who knows where the audit ends, beside its own folder: the catalog, and a file elsewhere."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from wenyuan.catalog.audit.chain import GENESIS, Head
from wenyuan.catalog.audit.head_file import HeadFile
from wenyuan.core.errors import CatalogError, CatalogUnavailable, msg

if TYPE_CHECKING:
    from wenyuan.catalog.anchor import Anchor

log = logging.getLogger(__name__)

UNKNOWN_RECORDS = 200
"""So many records, at most, may be at the end of which only the audit's own two files know, while it is written."""
UNKNOWN_SECONDS = 30.0
"""So long, at most, where there are fewer."""


class KnownEnds:
    """The heads of an audit that are kept by others than the audit.

    They are told of its end with each change of the catalog, when `UNKNOWN_RECORDS` or `UNKNOWN_SECONDS` have passed
    since, and when the log is closed. Not safe to share between threads: the thread that writes the records calls it,
    and who opens and closes the log.

    Args:
        anchor: Of the catalog.
        elsewhere: A file outside of the library's folder. It is written, never made: one that is missing is no empty
            one, but a disk that is not there, or a head that somebody took away.

    Attributes:
        rest: Seconds without a record after which the others are told of the last.
    """

    def __init__(
        self,
        anchor: Anchor | None = None,
        elsewhere: Path | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.anchor = anchor
        self._file = None if elsewhere is None else HeadFile(elsewhere)
        self._clock = clock
        self._told = GENESIS
        self._told_at = clock()
        self.rest = UNKNOWN_SECONDS

    def catalog(self) -> Head | None:
        """The head that the catalog knows."""
        return None if self.anchor is None else self.anchor.read()

    def elsewhere(self) -> tuple[str, Head] | None:
        """The file's path and the head in it; None where no file is set.

        Raises:
            CatalogUnavailable: it is missing, empty, cannot be read or parsed, or could not be written.
        """
        if self._file is None:
            return None
        path = self._file.path
        known = self._file.read()
        if known is None:
            raise CatalogUnavailable(
                msg("{name} is missing or empty: the end may have been cut off", name=path),
                component="audit",
                hint=msg("put it back; or begin it with the end as it is: wenyuan audit head > {path}", path=path),
            )
        if not os.access(path, os.W_OK):
            raise CatalogUnavailable(
                msg("cannot write {path}: {strerror}", path=path, strerror=os.strerror(13)),
                component="audit",
                hint="let the user that the service runs as write to it, or set audit.head_file to another file",
            )
        return str(path), known

    def follow(self, known: Head | None) -> None:
        """Count from the head that the catalog knows on."""
        self._told = known or GENESIS

    def due(self, head: Head) -> bool:
        """Whether the others must be told of a head now, though nothing else changes."""
        behind = head.seq - self._told.seq
        return behind >= UNKNOWN_RECORDS or (behind > 0 and self._clock() >= self._told_at + UNKNOWN_SECONDS)

    def tell(self, head: Head) -> None:
        """Have the catalog and the file know of a head. What cannot be written is logged, and tried at the next one."""
        if head in (self._told, GENESIS):
            return
        written = self.anchor is None or self.anchor.settle(head)
        if self._file is not None:
            try:
                self.elsewhere()  # a file that is missing is not made
                self._file.advance(head)
            except CatalogError as error:
                log.warning("audit: %s", error)
        self._told_at = self._clock()
        if written:
            self._told = head

    def replace(self, head: Head) -> None:
        """Write a head into the file elsewhere whatever it says, on an operator's order."""
        if self._file is not None:
            self._file.replace(head)
        self._told, self._told_at = head, self._clock()
