"""Writes an audit from several processes, which are forked from one that has imported everything once.

python audit_child.py FOLDER PROCESSES RECORDS       all at once, each to its end
python audit_child.py FOLDER kill N …                one after another, each killed after its N-th flush
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from pathlib import Path

from wenyuan.catalog.audit.log import AuditLog


def write(folder: Path, name: str, count: int, told: int) -> None:
    log = AuditLog(folder, flush_after=0.001)
    for n in range(count):
        log.append({"kind": "retrieval", "principal": name, "n": n}, {"query": "客户投诉"})
        if n % 10 == 9:
            log.flush()
            os.write(told, b"%d\n" % n)
    log.close()


def begin(folder: Path, name: str, count: int) -> tuple[int, int]:
    reads, writes = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            write(folder, name, count, writes)
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    os.close(writes)
    return pid, reads


def main() -> None:
    folder = Path(sys.argv[1])
    if sys.argv[2] != "kill":
        children = [begin(folder, f"p{n}", int(sys.argv[3])) for n in range(int(sys.argv[2]))]
        statuses = [os.waitpid(pid, 0)[1] for pid, _ in children]
        sys.exit(any(statuses))
    for flushes in map(int, sys.argv[3:]):
        own = folder / str(flushes)
        own.mkdir()
        pid, reads = begin(own, "p", 1_000_000)
        with os.fdopen(reads) as told:
            done = [int(told.readline()) for _ in range(flushes)][-1]
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        print(done + 1, flush=True)


if __name__ == "__main__":
    main()
