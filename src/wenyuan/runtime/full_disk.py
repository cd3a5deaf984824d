"""Telling a full disk from other faults, so that whoever reads of it is told to make room."""

from __future__ import annotations

import errno

MAKE_ROOM = "make room on the disk; what was acknowledged before is safe"
_FULL = (errno.ENOSPC, errno.EDQUOT)
_WRITTEN = tuple(f"(os error {number})" for number in _FULL)  # as libraries in Rust word it


def is_full(error: BaseException) -> bool:
    """Whether an error says that the disk, or what a user may take of it, is full."""
    return (isinstance(error, OSError) and error.errno in _FULL) or any(words in str(error) for words in _WRITTEN)


def next_step(error: BaseException) -> str:
    """What to do about it, as the hint of an error; ``""`` where the disk is not full."""
    return MAKE_ROOM if is_full(error) else ""
