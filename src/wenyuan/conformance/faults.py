"""The fault switch: how an implementer lets the kit make the service fail on purpose, for ``TC-DP3-06``.

Exactly one of three:

- `CommandFault`: a command that breaks something behind the service (and one that mends it);
- `HeaderFault`: a request header that the service takes, in its test configuration, as an order to fail;
- `EnvFault`: an environment variable, set around the request: for Python objects and for services in this process.
"""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from wenyuan.conformance.http_target import check_headers
from wenyuan.conformance.targets import Target, clip
from wenyuan.core.errors import ConfigError, msg

COMMAND_SECONDS = 120


@dataclass(frozen=True, slots=True)
class CommandFault:
    """Run `command` before the request and `restore` after it. Neither goes through a shell.

    Attributes:
        restore: Mends what `command` broke; without it the service stays broken, so the case runs last.
        settle: Seconds that the service may take to answer again after `restore`.
    """

    command: str
    restore: str = ""
    settle: float = 30.0

    @property
    def lasting(self) -> bool:
        """Whether the fault outlives its case."""
        return not self.restore

    @contextmanager
    def active(self, target: Target) -> Iterator[Mapping[str, str]]:
        """Context in which the fault is active; yields the headers to send."""
        try:
            _execute(self.command)
            yield {}
        finally:
            if self.restore:
                _execute(self.restore)


@dataclass(frozen=True, slots=True)
class HeaderFault:
    """A fault switched on by a header on the request that must fail."""

    name: str
    value: str
    lasting = False
    settle = 0.0

    @classmethod
    def parse(cls, text: str) -> HeaderFault:
        """From ``Name: value``."""
        name, colon, value = text.partition(":")
        if not colon:
            raise ConfigError("a fault header is written 'Name: value'")
        return cls(name.strip(), value.strip())

    @contextmanager
    def active(self, target: Target) -> Iterator[Mapping[str, str]]:
        """Yields the headers to send; a Python object takes none."""
        if not getattr(target, "takes_headers", target.takes_bytes):
            raise ConfigError("a Python object takes no header", hint="use --fault-env or --fault-command")
        yield check_headers({self.name: self.value})


@dataclass(frozen=True, slots=True)
class EnvFault:
    """A fault switched on by an environment variable of this process, set around the request."""

    name: str
    value: str
    lasting = False
    settle = 0.0

    @classmethod
    def parse(cls, text: str) -> EnvFault:
        """From ``NAME=VALUE``."""
        name, equals, value = text.partition("=")
        if not (name and equals) or "\0" in text:
            raise ConfigError("a fault variable is written NAME=VALUE")
        return cls(name, value)

    @contextmanager
    def active(self, target: Target) -> Iterator[Mapping[str, str]]:
        """Context in which the variable is set; its former value is restored."""
        before = os.environ.get(self.name)
        os.environ[self.name] = self.value
        try:
            yield {}
        finally:
            if before is None:
                del os.environ[self.name]
            else:
                os.environ[self.name] = before


FaultSwitch = CommandFault | HeaderFault | EnvFault


def fault_from_options(
    *, command: str | None = None, restore: str | None = None, header: str | None = None, env: str | None = None
) -> FaultSwitch | None:
    """The switch that command-line options name, or None.

    Raises:
        ConfigError: more than one, a restore command without its command, or a malformed one.
    """
    if sum(bool(given) for given in (command, header, env)) > 1:
        raise ConfigError("give one of --fault-command, --fault-header, --fault-env")
    if restore and not command:
        raise ConfigError("--restore-command needs --fault-command")
    if command:
        return CommandFault(command, restore or "")
    if header:
        return HeaderFault.parse(header)
    return EnvFault.parse(env) if env else None


def _execute(command: str) -> None:
    try:
        words = shlex.split(command)
        done = subprocess.run(  # noqa: S603 - the implementer's own command, without a shell
            words, capture_output=True, text=True, errors="replace", timeout=COMMAND_SECONDS, check=False
        )
    except (OSError, ValueError, IndexError, subprocess.TimeoutExpired) as error:
        raise ConfigError(
            msg("the command {command} cannot be run: {error}", command=clip(command), error=error)
        ) from error
    if done.returncode != 0:
        raise ConfigError(
            msg(
                "the command {command} ended with {returncode}: {stderr}",
                command=clip(command),
                returncode=done.returncode,
                stderr=clip(done.stderr or done.stdout),
            )
        )
