"""The command line, ``wenyuan``. Starting it imports neither numpy nor a driver: ``--help`` answers at once."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line with the arguments of this process; ends it with the exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character gets a question mark instead of a crash.
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    try:
        from wenyuan.cli.root import app

        app(prog_name="wenyuan")
    except KeyboardInterrupt:  # before there was anything to interrupt
        raise SystemExit(130) from None
