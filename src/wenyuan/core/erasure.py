"""What an erasure is about, what it would take away, and what it leaves behind as proof."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from wenyuan.core.redaction.erased_values import ErasedValue, value_of

ErasureKind = Literal["person", "document", "source"]
KINDS: tuple[ErasureKind, ...] = get_args(ErasureKind)

STEPS = ("tables", "documents", "files", "places", "audit", "index", "compact", "check", "done")
"""The steps of an erasure, in order; each may be taken again."""
COMMON = 1_000
"""Passages in which a value that is to be erased is probably a common word, and is erased only where that is said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureTarget:
    """What is to be erased.

    Attributes:
        values: Of a person: names and numbers, as they are kept.
        whole: Of a person: whether documents go as a whole, and not only the values in them.
        source_id, uri: Of a document or a source; ``""`` once it is erased.
        identities: Of documents that go as a whole: keyed hashes of their true addresses, by which they are known when they
            are met again.
        digest: A keyed hash of all of it: by it a certificate says what was erased.
    """

    kind: ErasureKind
    values: tuple[ErasedValue, ...] = ()
    whole: bool = False
    source_id: str = ""
    uri: str = ""
    identities: tuple[str, ...] = ()
    digest: str = ""

    def stored(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "values": [one.described() for one in self.values], "whole": self.whole, "source_id": self.source_id,
            "uri": self.uri, "identities": list(self.identities), "digest": self.digest,
        }  # fmt: skip


def target_of(kind: ErasureKind, stored: Mapping[str, Any]) -> ErasureTarget:
    """Inverse of `ErasureTarget.stored`."""
    values = tuple(value_of(one) for one in stored["values"])
    plain = {name: stored[name] for name in ("whole", "source_id", "uri", "digest")}
    return ErasureTarget(kind=kind, values=values, identities=tuple(stored["identities"]), **plain)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """A legal hold: what it covers is neither erased nor removed by retention.

    Attributes:
        at, lifted_at: Seconds since the epoch; None: it stands.
    """

    hold_id: str
    target: ErasureTarget
    reason: str
    actor: str
    at: float
    lifted_by: str = ""
    lifted_at: float | None = None

    def described(self) -> dict[str, Any]:
        """As JSON; a person is not named."""
        return {
            "hold_id": self.hold_id, "kind": self.target.kind, "source_id": self.target.source_id,
            "uri": self.target.uri, "reason": self.reason, "actor": self.actor, "at": self.at,
            "lifted_by": self.lifted_by, "lifted_at": self.lifted_at,
        }  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasurePlan:
    """What an erasure would take away; nothing is changed by making it.

    Attributes:
        places: By place, how many things of it hold what is to be erased.
        documents: Live documents, by source, of which something would be erased.
        left: What stays, since it does not lie in the library, or cannot be searched.
        warnings: What whoever asks for it should know before.
        holds: Those that forbid it.
        common: Whether it stands in so many passages that it must be said once more that it is meant.
    """

    target: ErasureTarget
    places: Mapping[str, int]
    documents: Mapping[str, int] = field(default_factory=dict)
    left: Sequence[str] = ()
    warnings: Sequence[str] = ()
    holds: Sequence[Hold] = ()
    common: bool = False

    def described(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "kind": self.target.kind, "digest": self.target.digest, "places": dict(self.places),
            "documents": dict(self.documents), "left": list(self.left), "warnings": list(self.warnings),
            "holds": [hold.described() for hold in self.holds], "common": self.common,
        }  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasure:
    """An erasure that was begun.

    Attributes:
        step: The one of `STEPS` that comes next; ``done``.
        problem: Why the last attempt did not come to its end.
        report: What the steps say; once it is done, the certificate.
    """

    erasure_id: str
    target: ErasureTarget
    reference: str
    actor: str
    begun_at: float
    done_at: float | None
    step: str
    problem: str
    report: Mapping[str, Any]

    @property
    def state(self) -> Literal["done", "failed", "running"]:
        if self.step == "done":
            return "done"
        return "failed" if self.problem else "running"

    def described(self) -> dict[str, Any]:
        """As JSON, without what it is about but for the keyed hash."""
        return {
            "erasure_id": self.erasure_id, "kind": self.target.kind, "digest": self.target.digest,
            "reference": self.reference, "actor": self.actor, "begun_at": self.begun_at, "done_at": self.done_at,
            "state": self.state, "step": self.step, "problem": self.problem,
            "places": dict(self.report.get("places", {})), "left": list(self.report.get("left", ())),
        }  # fmt: skip
