"""One of several processes that serve a library together: what it is given by the process that started it.

All of them accept connections at one socket. Questions are answered by whichever has accepted them; all other requests
go to the first process (`server.forwarding`), which so has the console's sessions, uploads, ingests and evaluations
alone. Limits (`server.buckets`) and numbers (`server.process_counts`) are shared in files of a folder that only this user may enter.
"""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

VARIABLE = "WENYUAN_SERVING_PROCESS"
"""The environment variable in which a process finds what it is given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A serving process among others.

    Attributes:
        number: Its place; 0 is the first.
        count: How many there are.
        listener: The handle of the socket at which all listen.
        alive: The handle of a pipe that is at its end when the process that started this one has ended.
        folder: What they share; nobody else may enter it.
        again: Whether it takes the place of one that has ended.
    """

    number: int
    count: int
    listener: int
    alive: int
    folder: str
    again: bool

    @property
    def first(self) -> bool:
        return self.number == 0

    @property
    def door(self) -> str:
        """The socket at which the first process takes what is not for each."""
        return str(Path(self.folder) / "first")

    @property
    def limits(self) -> Path:
        return Path(self.folder) / "limits"

    @property
    def numbers(self) -> Path:
        return self.numbers_of(self.number)

    def numbers_of(self, number: int) -> Path:
        """Where a process writes what it has counted."""
        return Path(self.folder) / f"numbers-{number}"

    @property
    def ready(self) -> Path:
        """A file that is there once this process has taken connections."""
        return Path(self.folder) / f"ready-{self.number}"

    def environment(self) -> Mapping[str, str]:
        """What a process has to find in its environment to be this member."""
        return {VARIABLE: json.dumps(asdict(self))}

    def end_with_starter(self) -> None:
        """End this process as by SIGTERM when the one that started it ends without having said so."""

        def watch() -> None:
            if not os.read(self.alive, 1):
                os.kill(os.getpid(), signal.SIGTERM)

        threading.Thread(target=watch, name="wenyuan-starter", daemon=True).start()


def member_here() -> Member | None:
    """The member that this process is; None where it serves alone. What it starts is told nothing of it."""
    given = os.environ.pop(VARIABLE, "")
    return Member(**json.loads(given)) if given else None
