"""What the tests of the audit share."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pysqlite3.dbapi2 as driver

from wenyuan.catalog.audit.log import AuditLog

DAY = 86_400.0
CANARY = "canary7金丝雀机密"


class Clock:
    def __init__(self, at: float = 1_800_000_000.0) -> None:
        self.at = at

    def __call__(self) -> float:
        return self.at


def record(n: int = 1, kind: str = "retrieval", principal: str = "key1", **more: Any) -> dict[str, Any]:
    return {"kind": kind, "principal": principal, "n": n, "说明": f"第{n}条", **more}


def fill(audit: AuditLog, count: int, **more: Any) -> list[str]:
    ids = [audit.append(record(n, **more), {"query": f"客户投诉 {n}"}) for n in range(1, count + 1)]
    audit.flush()
    return ids


@contextmanager
def raw(folder: Path, *, guarded: bool = False) -> Iterator[Any]:
    """The database without our code, and (unless `guarded`) without its triggers."""
    connection = driver.connect(str(folder / "audit.db"), isolation_level=None)
    try:
        if not guarded:
            names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall()
            for (name,) in names:
                connection.execute(f"DROP TRIGGER {name}")
        yield connection
    finally:
        connection.close()


def found_in(folder: Path, text: str) -> list[str]:
    needles = (text.encode(), json.dumps(text)[1:-1].encode(), text.encode("utf-16-le"))
    return [f.name for f in folder.iterdir() if f.is_file() and any(n in f.read_bytes() for n in needles)]
