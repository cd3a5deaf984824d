"""Reading behind a scanner: the very bytes that it has accepted are read, and no others."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from wenyuan.core.addresses import legible
from wenyuan.core.connectors import MOST_BYTES
from wenyuan.core.errors import ConfigError, DocumentRejected, msg
from wenyuan.core.model import Document
from wenyuan.core.scanning import FileRefused, Scanner
from wenyuan.runtime.regular import IrregularFile, open_regular
from wenyuan.service.ingest.quarantine import Quarantine

if TYPE_CHECKING:
    from wenyuan.service.ingest.ingester import ConnectorAccess

Read = Callable[[bytes, str, str], Iterable[Document]]
"""Bytes, their URI and the name of the file → documents."""


@dataclass(frozen=True, kw_only=True)
class ScannedReading:
    """Reads files and contents that a scanner accepts, or that a person has released from quarantine."""

    scanner: Scanner
    quarantine: Quarantine
    content: Read

    def read(self, path: Path, uri: str) -> Iterable[Document]:
        """The documents of a file of this machine.

        Raises:
            ScannerFailed: there is no verdict.
            FileRefused: it is refused, or was set aside.
            DocumentRejected: it cannot be read.
        """
        name = legible(path.name)
        return self.read_content(_bytes_of(path, name), uri, name)

    def read_content(self, content: bytes, uri: str, name: str) -> Iterable[Document]:
        """The documents of what a connector has fetched; errors as `read`."""
        self._check(content, name)
        return self.content(content, uri, name)

    def _check(self, content: bytes, name: str) -> None:
        sha256 = hashlib.sha256(content).hexdigest()
        if self.quarantine.released(sha256):
            return
        verdict = self.scanner.scan(content, name)
        if verdict.action == "accept":
            return
        told = msg("{scanner} refuses it: {reason}", scanner=self.scanner.name, reason=verdict.reason)
        kept = verdict.action == "quarantine" and self.quarantine.keep(
            content,
            sha256=sha256,
            suffix=PurePosixPath(name).suffix[:20],
            scanner=self.scanner.name,
            reason=verdict.reason,
        )
        hint = msg("in quarantine as {name}: wenyuan quarantine release {name}", name=sha256[:12]) if kept else ""
        raise FileRefused(told, hint=hint)


def _bytes_of(path: Path, name: str) -> bytes:
    """The bytes of a regular file, at most `MOST_BYTES`; a pipe or a device would be waited for, or never end."""
    try:
        with os.fdopen(open_regular(path), "rb") as file:
            content = file.read(MOST_BYTES + 1)
    except IrregularFile as error:
        raise DocumentRejected("it is not a regular file", component=name) from error
    if len(content) > MOST_BYTES:
        told = msg("it has more than {limit} bytes, which are not read", limit=f"{MOST_BYTES:,}")
        raise DocumentRejected(told, component=name)
    return content


def behind_scanner(
    read: Callable[[Path, str], Iterable[Document]],
    remote: ConnectorAccess | None,
    scanner: Scanner | None,
    quarantine: Quarantine,
) -> tuple[Callable[[Path, str], Iterable[Document]], ConnectorAccess | None]:
    """What reads files and what reads connectors, behind the scanner where there is one.

    Raises:
        ConfigError: there is a scanner, and nothing that reads bytes.
    """
    if scanner is None:
        return read, remote
    if remote is None:
        raise ConfigError("there is a scanner, but nothing that reads what it has seen", component="scanner")
    scanned = ScannedReading(scanner=scanner, quarantine=quarantine, content=remote.read)
    return scanned.read, replace(remote, read=scanned.read_content)
