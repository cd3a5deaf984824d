"""Forks children that work on a library and are killed: after a time, or at a line of our own code.

Commands come as lines of JSON on standard input; each is answered with a line when its child is dead. The parts
are imported once, so that a child begins at once.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import wenyuan
import wenyuan.app
import wenyuan.catalog
import wenyuan.encoders.checking
import wenyuan.readers.markdown
import wenyuan.readers.sandbox
from wenyuan.engines.local import engine
from wenyuan.service.ingest import source_run

PARTS = tuple(str(Path(wenyuan.__file__).parent / part) for part in ("engines/local", "catalog", "service/ingest"))


class Lines:
    """Counts the lines of our storage code that run, and kills the process at one of them."""

    def __init__(self, die_at: int | None) -> None:
        self.die_at = die_at
        self.seen = 0

    def frame(self, frame: Any, _event: str, _: Any) -> Callable[..., Any] | None:
        return self.line if frame.f_code.co_filename.startswith(PARTS) else None

    def line(self, _frame: Any, event: str, _: Any) -> Callable[..., Any]:
        if event == "line":
            self.seen += 1
            if self.seen == self.die_at:
                os.kill(os.getpid(), signal.SIGKILL)
        return self.line

    @contextmanager
    def watched(self) -> Any:
        if self.die_at is None:
            yield
            return
        sys.settrace(self.frame)
        yield
        sys.settrace(None)


def acknowledging(catalog: Any, path: str) -> None:
    """Every commit that returns is written down, as a client would that was told of it."""
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    commit, retire = catalog.commit_documents, catalog.retire_documents

    def committed(documents: Any, vectors: Any) -> int:
        seq: int = commit(documents, vectors)
        os.write(file, "".join(f"put {d.uri}\n" for d in documents).encode())
        return seq

    def retired(source: str, document_ids: Any) -> int:
        uris = [uri for uri, (i, _) in catalog.live_documents(source).items() if i in set(document_ids)]
        count: int = retire(source, document_ids)
        os.write(file, "".join(f"gone {uri}\n" for uri in uris).encode())
        return count

    catalog.commit_documents, catalog.retire_documents = committed, retired


def work(do: str, folder: str, docs: str, acks: str, die_at: int | None) -> int:
    """Returns the number of lines that ran."""
    source_run._BATCH_EMBEDDED, source_run._SYNC_AFTER = 12, 60
    engine._SAVE_AFTER = 40 if do == "ingest" else 10**9
    lines = Lines(die_at)
    if do == "create":
        with lines.watched():
            wenyuan.open(folder, create=True, encoder={"kind": "hashing"}).close()
        return lines.seen
    with wenyuan.open(folder, create=True, encoder={"kind": "hashing"}) as library:
        library.traits.keep = dict
        acknowledging(library.catalog, acks)
        source = wenyuan.Source(source_id="docs", path=docs)
        if do == "ingest":
            with lines.watched():
                library.add(source)
            return lines.seen
        library.add(source)
        steps = {
            "checkpoint": lambda: library.engine.checkpoint(always=True),
            "purge": lambda: library.engine.purge(library.catalog),
            "remove": lambda: library.remove("docs"),
        }
        with lines.watched():
            steps[do]()
    return lines.seen


def child(command: dict[str, Any], told: int) -> None:
    code = 1
    try:
        os.write(told, str(work(**command)).encode())
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def main() -> None:
    for line in sys.stdin:
        command = json.loads(line)
        after = command.pop("after", None)
        reads, writes = os.pipe()
        begun = time.monotonic()
        pid = os.fork()
        if pid == 0:
            child(command, writes)
        os.close(writes)
        if after is not None:
            time.sleep(after)
            os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        answer = {
            "killed": os.WIFSIGNALED(status),
            "failed": os.WIFEXITED(status) and os.WEXITSTATUS(status) != 0,
            "lines": int(os.read(reads, 20) or 0),
            "seconds": time.monotonic() - begun,
        }
        os.close(reads)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
