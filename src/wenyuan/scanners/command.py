"""A scanner that is a command: it is given a file on standard input and ends with 0 (accept) or 1 (found something)."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
from contextlib import suppress
from typing import Literal

from wenyuan.core.errors import ConfigError, msg
from wenyuan.core.scanning import ACCEPTED, ScannerFailed, Verdict, plain_reason, verdict_of

_MOST_SAID = 64 * 1024  # bytes of its output that are looked at


class CommandScanner:
    """Runs a command for each file, without a shell and without the service's environment.

    Where its output begins with ``{``, that is the verdict (`core.scanning.verdict_of`) if it ended with 0. Else its
    exit status says it, as that of ``clamscan -`` does: 0 accepts, 1 has found something, and its first line says what.

    Args:
        command: The program and its arguments, as a shell would be told them. ``{name}`` in an argument is the file's name.
        found: What is done where the exit status is 1.
        timeout: Seconds; then it is killed, with all that it has started.

    Raises:
        ConfigError: there is no such program.
    """

    def __init__(self, command: str, *, found: Literal["refuse", "quarantine"], timeout: float) -> None:
        try:
            self._command = shlex.split(command)
        except ValueError as error:
            raise ConfigError(msg("redaction.scanner is no command: {error}", error=error)) from error
        if not self._command or shutil.which(self._command[0]) is None:
            program = self._command[0] if self._command else ""
            raise ConfigError(
                msg("redaction.scanner: there is no program {program}", program=repr(program)),
                component="scanner",
                hint="install it, or write its whole path",
            )
        self.name = f"scanner {os.path.basename(self._command[0])}"  # noqa: PTH119  (its last part as it was written)
        self._found, self._timeout = found, timeout

    def scan(self, content: bytes, name: str) -> Verdict:
        status, said = self._run(content, name)
        if status == 0 and said.startswith("{"):
            try:
                return verdict_of(json.loads(said), self.name)
            except (ValueError, RecursionError) as error:
                raise ScannerFailed("its answer is no verdict", component=self.name) from error
        if status == 0:
            return ACCEPTED
        if status == 1:
            return Verdict(self._found, plain_reason(said.partition("\n")[0]))
        raise ScannerFailed(msg("it ended with status {status}", status=status), component=self.name)

    def close(self) -> None: ...

    def _run(self, content: bytes, name: str) -> tuple[int, str]:
        # Files, not pipes: a program that neither reads nor ends, or writes without end, keeps nobody waiting.
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as said:
            given.write(content)
            given.seek(0)
            try:
                process = subprocess.Popen(  # noqa: S603  (the owner set it)
                    [word.replace("{name}", name) for word in self._command],
                    stdin=given, stdout=said, stderr=subprocess.DEVNULL, cwd="/",
                    env={"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8"}, start_new_session=True,
                )  # fmt: skip
            except (OSError, ValueError) as error:
                reason = getattr(error, "strerror", None) or str(error)
                raise ScannerFailed(
                    msg("it cannot be started: {reason}", reason=reason), component=self.name
                ) from error
            try:
                status = process.wait(self._timeout)
            except subprocess.TimeoutExpired as error:
                raise ScannerFailed(
                    msg("no verdict within {seconds} s", seconds=f"{self._timeout:g}"), component=self.name
                ) from error
            finally:
                with suppress(ProcessLookupError):  # what it has started goes with it
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            said.seek(0)
            return status, said.read(_MOST_SAID).decode("utf-8", "replace").strip()
