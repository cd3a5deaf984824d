"""A change of the library in an audit record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from datetime import date
from typing import Any, Literal

from wenyuan.core.access import Key, Principal
from wenyuan.core.secret_settings import scrubbed
from wenyuan.service.audit.asker_entry import asker_entry

_OF_A_KEY = frozenset(f.name for f in fields(Key))

Changed = Literal[
    "registry",
    "agent",
    "key",
    "rule",
    "task",
    "refresh",
    "tuning",
    "feedback",
    "evaluation",
    "synonym",
    "correction",
    "document",
    "gap",
    "group",
    "erasure",
    "conflict",
    "sign_in",
]


def change_record(
    kind: Changed,
    action: str,
    object_id: str,
    before: Any = None,
    after: Any = None,
    principal: Principal | None = None,
) -> dict[str, Any]:
    """The audit record of a change, for `AuditLog.append`: actor, object and differences.

    Args:
        before, after: Values of `core` or mappings; None for an object that was not there, or is no more. Only
            fields that differ are recorded; of keys only what `core.access.Key` has; secrets never.
        principal: Who did it; None for a caller of the Python object.
    """
    old, new = _described(kind, before), _described(kind, after)
    changes = {
        name: [old.get(name), new.get(name)]
        for name in sorted(old.keys() | new.keys())
        if old.get(name) != new.get(name)
    }
    return {
        "kind": kind,
        **asker_entry(principal or Principal()),
        "action": action,
        "object": object_id,
        "changes": {name: scrubbed(name, pair) for name, pair in changes.items()},
    }


def _described(kind: Changed, value: Any) -> Mapping[str, Any]:
    if value is None:
        return {}
    plain = plain_value(value)
    if not isinstance(plain, dict):
        plain = {"value": plain}
    return {n: v for n, v in plain.items() if n in _OF_A_KEY} if kind == "key" else plain


def plain_value(value: Any) -> Any:
    """A value as JSON; TypeError for unsupported types."""
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if isinstance(value, date):
        return value.isoformat()
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain_value(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {str(name): plain_value(item) for name, item in value.items()}
    if isinstance(value, Set):
        return sorted(plain_value(item) for item in value)
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        return [plain_value(item) for item in value]
    raise TypeError(f"{type(value).__name__} cannot be recorded")
