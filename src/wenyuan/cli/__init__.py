"""The command line, ``wenyuan``. Starting it imports neither numpy nor a driver: ``--help`` answers at once."""

from __future__ import annotations

from wenyuan.cli.entry import main

__all__ = ["main"]
