"""The end of a server process: told to stop, it ends, whatever hangs in it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from http_door import Answer, ask, assert_problem

SERVER = """
import re, sys, threading, urllib.request
from http_door import EchoService
from wenyuan.settings import ServerSettings
from wenyuan.server.running import serve
from wenyuan.server.shutdown import Ending

def hang(url):
    urllib.request.urlopen(url + "/livez").close()  # from now on signals are handled
    if kind == "match":
        print("hangs", flush=True)
        re.match("(a+)+b", "a" * 64)  # holds the interpreter's lock for years
    print("hangs", flush=True)
    if kind == "wait":
        threading.Event().wait()

class Slow(EchoService):
    def retrieve_fragments(self, request):
        print("entered", flush=True)
        threading.Event().wait()

def begin(url):
    print(url, flush=True)
    threading.Thread(target=hang, args=(url,), name="hanging").start()

kind = sys.argv[1]
with Ending(2.0 if kind in ("wait", "match") else 30.0, lambda: print("flushed", flush=True)) as ending:
    serve(Slow(), port=0, settings=ServerSettings(grace=1.0), on_listening=begin, on_stop=ending.begin)
    print("returned", flush=True)
"""


def started(kind: str) -> subprocess.Popen[str]:
    path = os.pathsep.join([str(Path(__file__).parents[1] / "support"), *sys.path])
    return subprocess.Popen(
        [sys.executable, "-c", SERVER, kind],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Its exit code and what it printed, once it is told to stop after it began to hang."""
    try:
        assert process.stdout
        while process.stdout.readline() not in ("hangs\n", ""):
            pass
        time.sleep(0.5)  # until the expression has begun
        process.send_signal(signal.SIGTERM)
        out, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    return process.returncode, out, errors


def test_a_thread_that_never_ends_does_not_keep_the_process() -> None:
    """The audit is flushed, a line names the thread and its place, and the exit code is not that of a clean end."""
    code, out, errors = ended(started("wait"))
    assert (code, out) == (1, "returned\nflushed\n")
    assert "while these were running: " in errors
    assert "hanging in wait (threading.py:" in errors


def test_a_thread_that_holds_the_interpreter_does_not_keep_the_process() -> None:
    """A regular expression without end lets no handler run: the guard ends the process, which says where it was."""
    code, out, errors = ended(started("match"))
    assert (code, out) == (-signal.SIGABRT, "")
    assert "nothing in the server ran" in errors
    assert "in match" in errors


def test_an_open_request_does_not_keep_the_process() -> None:
    """A request that never ends is answered with 503 once the grace is over, and the process ends by itself."""
    process = started("request")
    assert process.stdout
    url = process.stdout.readline().strip()
    assert process.stdout.readline() == "hangs\n"
    answers: list[Answer] = []
    caller = threading.Thread(target=lambda: answers.append(ask(url)))
    caller.start()
    assert process.stdout.readline() == "entered\n"
    process.send_signal(signal.SIGTERM)
    try:
        out, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    caller.join(60)
    assert_problem(answers[0], 503, "shutting_down")
    assert "returned\n" in out


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_nothing_is_left_of_a_server_that_ends_by_itself(number: signal.Signals) -> None:
    """Neither a line nor the process that watches: whoever waits for the end of its output does not wait for it."""
    process = started("none")
    assert process.stdout
    assert process.stdout.readline().startswith("http://")
    assert process.stdout.readline() == "hangs\n"
    process.send_signal(number)
    try:
        out, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, out, errors) == (0, "returned\n", "")
