"""Batches of texts that several processes embed together, and those who work at them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from wenyuan.core.version import VERSION

FORMAT = 1
"""Number of the form of batches; it goes up where an older program would do something else with one."""
PROGRAM = f"{VERSION}+{FORMAT}"
"""Version of this program, as batches and workers name it."""
LEASE = 120.0
"""Seconds for which a batch is leased; who works at it renews that."""
LONGEST_LEASE = 600.0
"""Seconds: a lease is for less. One that ends later was made before the clock was set back."""
TRIES = 3
"""Leases that end without vectors before a batch is divided, or its one document set aside."""
OUTAGES = 4
"""Leases of one batch that end because the encoder cannot be reached, before the run fails by that."""
ALIVE = 60.0
"""Seconds after its last sign for which a worker counts as at work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingBatch:
    """Texts of some documents of one source, to be embedded by whoever leases them.

    Attributes:
        texts: Passages first, then labels; redacted.
        counted: How many of them are passages.
        token: Of the lease, 0 without one: vectors are taken only from who names the present one.
    """

    source_id: str
    batch_key: str
    encoder: str
    texts: tuple[str, ...]
    counted: int
    token: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchOutcome:
    """What has become of a batch.

    Attributes:
        vectors: float32 of all texts, one after the other; empty unless it is ready.
        code: Of the error by which it failed.
    """

    state: Literal["waiting", "leased", "ready", "failed"]
    vectors: bytes = b""
    code: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerState:
    """A process that embeds batches.

    Attributes:
        silent: Seconds since its last sign.
        rate: Passages a second, in the last minute.
        reason: Why it does nothing, or what failed last.
    """

    name: str
    program: str
    encoder: str
    jobs: int
    seconds: float
    silent: float
    batches: int
    passages: int
    rate: float
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunState:
    """A run over a source whose batches are embedded by several.

    Attributes:
        silent: Seconds since its last sign.
        waiting, leased, failed: Batches of the source.
        ended: Whether its process has ended without finishing; the next worker goes on with the source.
    """

    source_id: str
    holder: str
    seconds: float
    silent: float
    files: int
    files_total: int
    passages: int
    embedded: int
    waiting: int = 0
    leased: int = 0
    failed: int = 0
    ended: bool = False

    @property
    def rate(self) -> float:
        """Passages a second since the run began."""
        return self.embedded / max(1.0, self.seconds)


def is_older(program: str, than: str) -> bool:
    """Whether a version of the program, as `PROGRAM`, is older than another one."""
    return _numbers(program) < _numbers(than)


def _numbers(program: str) -> tuple[list[int], int]:
    version, _, form = program.rpartition("+")
    return [int(part) for part in re.findall(r"[0-9]+", version)], int(form) if form.isdecimal() else 0
