"""What a case works with: the target, the fault switch, the fixed requests, and one way to say "not so"."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from wenyuan.conformance.documents import request
from wenyuan.conformance.faults import FaultSwitch
from wenyuan.conformance.response_checks import envelope_faults, fragment_faults
from wenyuan.conformance.targets import ENDS, Answer, Target
from wenyuan.core.errors import ConfigError, joined, msg

NO_SWITCH = (
    "a fault switch: --fault-command CMD [--restore-command CMD], --fault-header 'Name: value' "
    "or --fault-env NAME=VALUE, so that the service can be made to fail on purpose"
)


class Mismatch(Exception):
    """A response does not match the contract."""

    def __init__(self, expected: str, got: object) -> None:
        self.message = msg("expected {expected}; got {got}", expected=expected, got=got)
        super().__init__(self.message)


@dataclass(frozen=True, slots=True)
class Case:
    """One case.

    Attributes:
        id: ``TC-DP3-01`` … or the short name of an extra case.
        title: One line.
        section: Where the rule stands.
        check: Returns what was seen, or raises `Mismatch`.
        needs_bytes: It sends malformed bytes, so it does not apply to a Python object.
        needs_fault: It uses the fault switch, so it runs after those that need a sound service.
    """

    id: str
    title: str
    section: str
    check: Callable[[Bench], str]
    needs_bytes: bool = False
    needs_fault: bool = False


class OutOfTime(Exception):
    """The time for all cases together is spent."""


class Bench:
    """A target with its fault switch.

    Args:
        seconds: That all cases may take together, beginning now.
    """

    def __init__(self, target: Target, fault: FaultSwitch | None = None, *, seconds: float = math.inf) -> None:
        self.target: Target = _Bounded(target, time.monotonic() + seconds)
        self.fault = fault
        self.seconds = seconds

    def ask(self, name: str, **changes: Any) -> Answer:
        """Send the manifest's request `name`, with members changed."""
        return self.target.ask({**request(name), **changes})

    def fragments(self, name: str, **changes: Any) -> list[dict[str, Any]]:
        """The fragments of a request that must succeed.

        Raises:
            Mismatch: no SUCCESS of the right form.
        """
        return successful(self.ask(name, **changes))

    @contextmanager
    def broken(self) -> Iterator[Mapping[str, str]]:
        """Context in which the service fails; yields the headers to send. On exit waits until it responds again.

        Raises:
            Mismatch: there is no switch, or it does not work.
        """
        if self.fault is None:
            raise Mismatch(NO_SWITCH, msg("none"))
        try:
            with self.fault.active(self.target) as headers:
                yield headers
        except ConfigError as error:
            raise Mismatch("a fault switch that works", f"{error} {error.hint}".strip()) from error
        give_up = time.monotonic() + self.fault.settle
        while not self.fault.lasting and time.monotonic() < give_up and not _sound(self.ask("none")):
            time.sleep(0.1)


class _Bounded:
    """A target that is asked until a moment, and no longer. A request over HTTP ends at that moment, too; the call of a
    Python object cannot be cut off, and what it returns later does not count.
    """

    def __init__(self, target: Target, until: float) -> None:
        self._target, self._until = target, until

    def __getattr__(self, name: str) -> Any:
        return getattr(self._target, name)

    def ask(self, request: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Answer:
        """As the target; raises `OutOfTime` past the moment."""
        with self._in_time():
            return self._target.ask(request, headers)

    def send(self, body: bytes, headers: Mapping[str, str]) -> Answer:
        """As `ask`."""
        with self._in_time():
            return self._target.send(body, headers)

    @contextmanager
    def _in_time(self) -> Iterator[None]:
        """A context for one request; raises `OutOfTime` where the moment is past before or after it."""
        self._check()
        outer = ENDS.set(self._until)
        try:
            yield
        finally:
            ENDS.reset(outer)
        self._check()

    def _check(self) -> None:
        if time.monotonic() >= self._until:
            raise OutOfTime


def successful(answer: Answer) -> list[dict[str, Any]]:
    """The fragments of a well-formed response with status SUCCESS."""
    body = answer.body
    if not answer.returned or envelope_faults(body) or body["status"] != "SUCCESS":
        raise Mismatch("status SUCCESS in a RetrievalResponse", answer)
    if body.get("error_message") is not None:
        raise Mismatch("no error_message (or null) beside SUCCESS", repr(body["error_message"]))
    demand("KnowledgeFragments {source, content, retrieval_score, metadata?}", fragment_faults(body["fragments"]))
    fragments: list[dict[str, Any]] = body["fragments"]
    return fragments


def demand(expected: str, faults: Sequence[str]) -> None:
    """Raise `Mismatch` when there are faults."""
    if faults:
        named = joined(faults[:3])
        more = msg("{faults} and {count} more", faults=named, count=len(faults) - 3)
        raise Mismatch(expected, more if len(faults) > 3 else named)


def _sound(answer: Answer) -> bool:
    return answer.returned and isinstance(answer.body, Mapping) and answer.body.get("status") == "SUCCESS"


__all__ = ["Bench", "Case", "Mismatch", "OutOfTime"]
