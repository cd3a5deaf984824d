"""How the C library keeps the memory of a process with many threads."""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress

_ARENA_MAX = -8  # M_ARENA_MAX of glibc's malloc.h
_ARENAS = 2


def share_arenas() -> bool:
    """Let all threads of this process allocate from two arenas, before they start; False where that cannot be set.

    By default glibc gives eight arenas to each core, and what one of them has freed serves no other. A server in whose
    threads an index is read holds some hundred MB more then, and the more the longer it is asked. An environment that sets
    ``MALLOC_ARENA_MAX`` is left as it is; other C libraries know no arenas.
    """
    if "MALLOC_ARENA_MAX" in os.environ:
        return False
    with suppress(OSError, AttributeError):
        return bool(ctypes.CDLL(None).mallopt(_ARENA_MAX, _ARENAS))
    return False
