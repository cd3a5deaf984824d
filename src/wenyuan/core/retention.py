"""How long former versions of a source's documents are kept: what its setting ``retention`` says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from wenyuan.core.errors import Fault, InvalidRequest, listed, msg

RETENTION = "retention"
"""The name of the setting."""
_BOUNDS = {"keep_versions": (0, 10_000), "keep_days": (0, 36_500)}


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionRetention:
    """What is kept of former versions.

    Attributes:
        keep_versions: So many of each document, the newest; None: all.
        keep_days: Those that were replaced or removed within so many days; None: all.
    """

    keep_versions: int | None = None
    keep_days: int | None = None

    def __bool__(self) -> bool:
        return self.keep_versions is not None or self.keep_days is not None


def retention_of(settings: Mapping[str, Any]) -> VersionRetention:
    """What a source's settings say of it: ``{"retention": {"keep_versions": 3, "keep_days": 365}}``; without, all is kept.

    Raises:
        InvalidRequest: the setting is wrong, all faults at once.
    """
    told = settings.get(RETENTION, {})
    if not isinstance(told, Mapping):
        faults = [Fault(f"settings.{RETENTION}", "must be an object with keep_versions, keep_days")]
        raise InvalidRequest(listed(faults), faults=tuple(faults))
    faults = [
        Fault(f"settings.{RETENTION}.{name}", "is not known; say keep_versions or keep_days")
        for name in told
        if name not in _BOUNDS
    ]
    for name, (least, most) in _BOUNDS.items():
        value = told.get(name)
        if value is None or (isinstance(value, int) and not isinstance(value, bool) and least <= value <= most):
            continue
        why = msg("must be a whole number from {least} to {most}", least=least, most=most)
        faults.append(Fault(f"settings.{RETENTION}.{name}", why))
    if faults:
        raise InvalidRequest(listed(faults), faults=tuple(faults))
    return VersionRetention(keep_versions=told.get("keep_versions"), keep_days=told.get("keep_days"))
