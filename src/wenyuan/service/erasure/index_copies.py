"""Servers that share a library on PostgreSQL and have index files of their own: each rewrites them after an erasure."""

from __future__ import annotations

import os
import platform
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wenyuan.core.erasure import Erasure
from wenyuan.core.errors import ConfigError, msg
from wenyuan.runtime.regular import read_regular

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog

_FILE = "index.server"
_VALUES = "erased/index/"
_SEEN_EVERY = 3_600.0
RUNNING = 2 * _SEEN_EVERY
"""Seconds since it was last seen after which a server is not waited for."""


@dataclass(frozen=True, kw_only=True, eq=False)
class IndexCopies:
    """The index files of each server of a library, and which erasures they have been rewritten after.

    Attributes:
        folder: Of this server.
        engine: The name of its engine.
        purge: Rewrites this server's index files.
        clock: Seconds since the epoch.
    """

    catalog: Catalog
    folder: Path
    engine: str
    purge: Callable[[], None]
    clock: Callable[[], float] = field(default=time.time)

    @property
    def shared(self) -> bool:
        """Whether other servers may have index files of this library."""
        return self.engine == "local" and not self.catalog.forgotten.in_folder

    def follow(self) -> bool:
        """Rewrite this server's index files where something was erased since they were, and say so in the catalog; returns whether.

        Raises:
            KnowledgeError: they could not be rewritten, or it could not be said. The next time it is tried again.
        """
        if not self.shared:
            return False
        wanted = self._done()
        told = self._told().get(self.server, {})
        after = set(told.get("erasures", ()))
        if wanted <= after:
            if self.clock() - told.get("seen", 0.0) >= _SEEN_EVERY:
                self._tell(after)
            return False
        self.purge()
        self._tell(wanted)
        return True

    def erased_here(self) -> None:
        """After an erasure that this server has done, and so has rewritten its own files."""
        if self.shared:
            self._tell(self._done())

    def behind(self, erasure: Erasure) -> list[str]:
        """The running servers whose index files were not rewritten after an erasure, each with its host."""
        if not self.shared:
            return []
        return [
            f"{told['host']} ({server})" for server, told in sorted(self._told().items())
            if erasure.erasure_id not in told["erasures"] and self.clock() - told["seen"] < RUNNING
        ]  # fmt: skip

    def followed(self, erasure: Erasure) -> int:
        """How many servers have."""
        return sum(erasure.erasure_id in told["erasures"] for told in self._told().values())

    @property
    def server(self) -> str:
        """The id of this server, which lies in its folder."""
        path = self.folder / _FILE
        try:
            if not path.exists():
                made = path.with_suffix(f".{os.getpid()}")
                made.write_text(secrets.token_hex(8), "ascii")
                made.replace(path)
            return read_regular(path, 64).decode("ascii", "replace").strip()
        except OSError as error:
            raise ConfigError(msg("cannot write {path}: {strerror}", path=path, strerror=error.strerror)) from error

    def _done(self) -> set[str]:
        return {one.erasure_id for one in self.catalog.erasures() if one.state == "done"}

    def _told(self) -> Mapping[str, Any]:
        return self.catalog.values_below(_VALUES)

    def _tell(self, erasures: set[str]) -> None:
        value = {"host": platform.node(), "seen": self.clock(), "erasures": sorted(erasures)}
        self.catalog.set_value(_VALUES + self.server, value)
