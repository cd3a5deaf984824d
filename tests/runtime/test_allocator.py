"""All threads of a server allocate from two arenas of the C library."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

_CHILD = """
import ctypes, sys, tempfile, threading
from wenyuan.runtime.allocator import share_arenas
print(share_arenas())
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
all_there = threading.Barrier(16)
def work():
    for _ in range(100):
        libc.malloc(1000)
    all_there.wait(60)
threads = [threading.Thread(target=work) for _ in range(16)]
for thread in threads: thread.start()
for thread in threads: thread.join()
libc.fopen.restype, libc.fopen.argtypes = ctypes.c_void_p, [ctypes.c_char_p, ctypes.c_char_p]
libc.malloc_info.argtypes, libc.fclose.argtypes = [ctypes.c_int, ctypes.c_void_p], [ctypes.c_void_p]
with tempfile.NamedTemporaryFile() as file:
    out = libc.fopen(file.name.encode(), b"w")
    libc.malloc_info(0, out)
    libc.fclose(out)
    print(file.read().decode().count("<heap nr="))
"""


def arenas(**environment: str) -> tuple[bool, int]:
    """Whether the number was set, and how many arenas sixteen threads that allocate have then."""
    kept = {name: value for name, value in os.environ.items() if name != "MALLOC_ARENA_MAX"}
    done = subprocess.run(
        [sys.executable, "-c", _CHILD], env={**kept, **environment}, capture_output=True, text=True, check=True
    )
    was_set, count = done.stdout.split()
    return was_set == "True", int(count)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="arenas are glibc's")
def test_threads_share_two_arenas() -> None:
    """Sixteen threads allocate from two arenas; where the environment gives a number, that one counts."""
    assert arenas() == (True, 2)
    assert arenas(MALLOC_ARENA_MAX="5") == (False, 5)
