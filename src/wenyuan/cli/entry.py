"""The entry of the command line: streams that are closed, and the exit code."""

from __future__ import annotations

import os
import sys

_UNTOLD = (None, 0, 3, 4)  # exit codes of commands that have told of no failure


def main() -> None:
    """Run the command line with the arguments of this process; ends it with the exit code."""
    _fill_closed()
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character gets a question mark instead of a crash.
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    try:
        from wenyuan.cli.root import app, leave_asked

        leave_asked(sys.argv[1:])
        app(prog_name="wenyuan")
    except KeyboardInterrupt:  # before there was anything to interrupt
        raise SystemExit(130) from None
    except SystemExit as end:
        raise SystemExit(_flush_output(end.code)) from None


def _flush_output(code: str | int | None) -> str | int | None:
    """Flush standard output; returns the exit code, or another one where that fails.

    Otherwise the interpreter would flush at exit, with its own message and exit code.
    """
    try:
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left leads nowhere
        if isinstance(error, BrokenPipeError):
            return code or 1  # the reader of our output has exited
        if code in _UNTOLD:
            from wenyuan.cli.options import foreseen
            from wenyuan.cli.root import unexpected

            return foreseen(sys.argv[1:]).failed(unexpected(error))
    return code


def _fill_closed() -> None:
    """Open standard streams that the caller closed on the null device. Otherwise the next opened file, such as a
    database, would get their descriptor.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            handle = os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(handle, True)
            setattr(sys, name, os.fdopen(handle, mode, encoding="utf-8"))
