"""What a case works with: the target, the fault switch, the fixed requests, and one way to say "not so"."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from wenyuan.conformance import dataset
from wenyuan.conformance.answer import Answer, Target
from wenyuan.conformance.faults import FaultSwitch
from wenyuan.conformance.shape import envelope_faults, fragment_faults
from wenyuan.core.errors import ConfigError

__all__ = ["Bench", "Case", "Mismatch"]

NO_SWITCH = (
    "a fault switch: --fault-command CMD [--restore-command CMD], --fault-header 'Name: value' "
    "or --fault-env NAME=VALUE, so that the service can be made to fail on purpose"
)


class Mismatch(Exception):
    """What came is not what the contract says."""

    def __init__(self, expected: str, got: object) -> None:
        super().__init__(f"expected {expected}; got {got}")


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


class Bench:
    """A target with its fault switch."""

    def __init__(self, target: Target, fault: FaultSwitch | None = None) -> None:
        self.target = target
        self.fault = fault

    def ask(self, name: str, **changes: Any) -> Answer:
        """Send the manifest's request `name`, with members changed."""
        return self.target.ask({**dataset.request(name), **changes})

    def fragments(self, name: str, **changes: Any) -> list[dict[str, Any]]:
        """The fragments of a request that must succeed.

        Raises:
            Mismatch: no SUCCESS of the right form.
        """
        return successful(self.ask(name, **changes))

    @contextmanager
    def broken(self) -> Iterator[Mapping[str, str]]:
        """The service fails inside; gives the headers to send. Leaving waits until it answers again.

        Raises:
            Mismatch: there is no switch, or it does not work.
        """
        if self.fault is None:
            raise Mismatch(NO_SWITCH, "none")
        try:
            with self.fault.active(self.target) as headers:
                yield headers
        except ConfigError as error:
            raise Mismatch("a fault switch that works", f"{error} {error.hint}".strip()) from error
        give_up = time.monotonic() + self.fault.settle
        while not self.fault.lasting and time.monotonic() < give_up and not _sound(self.ask("none")):
            time.sleep(0.1)


def successful(answer: Answer) -> list[dict[str, Any]]:
    """The fragments of a RetrievalResponse that says SUCCESS and has the contract's form."""
    body = answer.body
    if not answer.returned or envelope_faults(body) or body["status"] != "SUCCESS":
        raise Mismatch("status SUCCESS in a RetrievalResponse", answer)
    if body.get("error_message") is not None:
        raise Mismatch("no error_message (or null) beside SUCCESS", repr(body["error_message"]))
    demand("KnowledgeFragments {source, content, retrieval_score, metadata?}", fragment_faults(body["fragments"]))
    fragments: list[dict[str, Any]] = body["fragments"]
    return fragments


def demand(expected: str, faults: Sequence[str]) -> None:
    """Raise `Mismatch` when there are complaints."""
    if faults:
        more = f" and {len(faults) - 3} more" if len(faults) > 3 else ""
        raise Mismatch(expected, "; ".join(faults[:3]) + more)


def _sound(answer: Answer) -> bool:
    return answer.returned and isinstance(answer.body, Mapping) and answer.body.get("status") == "SUCCESS"
