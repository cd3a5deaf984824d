"""The command line in this process, in English and 80 columns wide: with the hashing encoder, or on a library."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from typer.testing import CliRunner, Result

from wenyuan.cli.root import app

HASHING = {"WENYUAN_ENCODER__KIND": "hashing"}
Run = Callable[..., Result]


def run(*args: object, **env: str) -> Result:
    """Run one command with the hashing encoder; any exit code will do."""
    world = {**HASHING, "LC_ALL": "C.UTF-8", "COLUMNS": "80", **env}
    return CliRunner().invoke(app, [str(arg) for arg in args], env=world, prog_name="wenyuan")


def runner(folder: Path, **settings: str) -> Run:
    """A function that runs commands on the library of a folder, and expects the exit code `code`.

    The library is made with the first command, where there is none.

    Args:
        settings: Of all its commands, as variables of the environment; there is no encoder unless they name one.
    """

    def call(*args: object, code: int = 0, **env: str) -> Result:
        world = {"WENYUAN_ENCODER__KIND": "none", "LC_ALL": "C.UTF-8", "COLUMNS": "80",
                 "WENYUAN_LIBRARY": str(folder), **settings, **env}  # fmt: skip
        if not folder.exists() and args[0] != "init":
            call("init")
        done = CliRunner().invoke(app, [str(arg) for arg in args], env=world, prog_name="wenyuan")
        assert done.exit_code == code, done.output
        return done

    return call
