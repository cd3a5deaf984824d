"""A scanner that is a command: it is given a file on standard input and ends with 0 (accept) or 1 (found something)."""

from __future__ import annotations

import errno
import json
import os
import re
import select
import shlex
import shutil
import subprocess
import tempfile
import time
from contextlib import ExitStack, suppress
from typing import Literal

from wenyuan.core.errors import ConfigError, msg
from wenyuan.core.scanning import ACCEPTED, ScannerFailed, ScanVerdict, plain_reason, verdict_of
from wenyuan.runtime.children import child

_MOST_SAID = 64 * 1024  # bytes of its output; one that says more gives no verdict
_LOOK_EVERY = 0.02  # seconds, for whether it has ended while something that it started still has its output open
_VERDICT = re.compile(r"^[ \t\r\ufeff]*\{", re.MULTILINE)
_NOT_SHOWN = re.compile(r"[=?#@:]")  # what follows may be a token of an address, or a value of an environment


class CommandScanner:
    """Runs a command for each file, without a shell and without the service's environment.

    Where a line of its output begins with ``{``, the verdict (`core.scanning.verdict_of`) begins there if it ended with
    0. Else its exit status says it, as that of ``clamscan -`` does: 0 accepts, 1 has found something, and its first line
    says what.

    Args:
        command: The program and its arguments, as a shell would be told them. ``{name}`` in an argument is the file's
            name; an argument that begins with it is never taken for an option.
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
            program = _NOT_SHOWN.split(self._command[0])[0] if self._command else ""
            raise ConfigError(
                msg("redaction.scanner: there is no program {program}", program=repr(program)),
                component="scanner",
                hint="install it, or write its whole path",
            )
        self.name = f"scanner {os.path.basename(self._command[0])}"  # noqa: PTH119  (its last part as it was written)
        self._found, self._timeout = found, timeout

    def scan(self, content: bytes, name: str) -> ScanVerdict:
        status, said = self._run(content, name)
        if status == 0 and (verdict := _VERDICT.search(said)):
            try:
                return verdict_of(json.loads(said[verdict.end() - 1 :]), self.name)
            except (ValueError, RecursionError) as error:
                raise ScannerFailed("its answer is no verdict", component=self.name) from error
        if status == 0:
            return ACCEPTED
        if status == 1:
            return ScanVerdict(self._found, plain_reason(said.partition("\n")[0]))
        raise ScannerFailed(msg("it ended with status {status}", status=status), component=self.name)

    def close(self) -> None: ...

    def _run(self, content: bytes, name: str) -> tuple[int, str]:
        # It is given a file, not a pipe: a program that neither reads nor ends keeps nobody waiting.
        with ExitStack() as stack:
            try:
                given = stack.enter_context(tempfile.TemporaryFile())
                given.write(content)
                given.seek(0)
                if shutil.which(self._command[0]) is None:
                    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
                process = stack.enter_context(
                    child(
                        [_argument(word, name) for word in self._command],
                        stdin=given, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd="/",
                        env={"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8"},
                    )
                )  # fmt: skip
            except (OSError, ValueError) as error:
                reason = getattr(error, "strerror", None) or str(error)
                raise ScannerFailed(
                    msg("it cannot be started: {reason}", reason=reason), component=self.name
                ) from error
            assert process.stdout is not None
            stack.callback(process.stdout.close)
            said = self._output(process)
            return process.returncode, said.decode("utf-8", "replace").strip()

    def _output(self, process: subprocess.Popen[bytes]) -> bytes:
        """The output of a process until it has ended, whoever else still holds it open.

        Raises:
            ScannerFailed: it is too slow, or says too much.
        """
        assert process.stdout is not None
        output, said = process.stdout.fileno(), b""
        os.set_blocking(output, False)
        ends, is_open = time.monotonic() + self._timeout, True
        while True:
            left = ends - time.monotonic()
            if left <= 0:
                raise ScannerFailed(
                    msg("no verdict within {seconds} s", seconds=f"{self._timeout:g}"), component=self.name
                )
            if not is_open:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(left)
                    return said
                continue
            ended = process.poll() is not None  # asked first: what it said before its end is read below
            if select.select([output], [], [], 0 if ended else min(left, _LOOK_EVERY))[0]:
                block = os.read(output, _MOST_SAID)
                said, is_open = said + block, bool(block)
                if len(said) > _MOST_SAID:
                    raise ScannerFailed("its answer is no verdict", component=self.name)
            elif ended:
                return said


def _argument(word: str, name: str) -> str:
    """An argument with the file's name in it, which whoever made the file chose: it must not become an option."""
    given = word.replace("{name}", name)
    return f"./{given}" if word.startswith("{name}") and given.startswith("-") else given
