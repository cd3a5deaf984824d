"""Forks processes of ``wenyuan serve``: the parts of the program are imported once, so that one that was killed is back at once.

Commands come as lines of JSON on standard input: ``{"arguments": [...], "log": file}``; each is answered by the number of the
process. Processes that have ended are waited for.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import traceback

import numpy as np  # noqa: F401  (each server needs it)

import wenyuan.app
import wenyuan.cli.serve
import wenyuan.console.site
import wenyuan.console.state
import wenyuan.engines.postgres.engine
import wenyuan.runtime.postgres
import wenyuan.server.app
import wenyuan.server.running
import wenyuan.server.token_callers  # noqa: F401
from wenyuan.cli.entry import main as command


def child(arguments: list[str], log: str) -> None:
    code = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(handle, 1)
        os.dup2(handle, 2)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        sys.argv = ["wenyuan", *arguments]
        command()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def main() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody is left behind as a zombie
    for line in sys.stdin:
        asked = json.loads(line)
        assert threading.active_count() == 1, "a thread would not be forked with the others"
        pid = os.fork()
        if pid == 0:
            child(asked["arguments"], asked["log"])
        print(pid, flush=True)


if __name__ == "__main__":
    main()
