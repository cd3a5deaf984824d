"""The differences between two registries."""

from __future__ import annotations

from typing import Any

from wenyuan.core.access import agent_to_wire
from wenyuan.core.group_entries import group_to_wire
from wenyuan.core.registry import FieldChange, Plan, Registry, RegistryKey
from wenyuan.core.source_entries import source_to_wire
from wenyuan.core.task_profiles import profile_to_wire


def diff(state: Registry, wanted: Registry) -> Plan:
    """The differences between a library and a file, in the sections that the file has."""
    added: list[RegistryKey] = []
    changed: list[FieldChange] = []
    unchanged: list[RegistryKey] = []
    missing: list[RegistryKey] = []
    has, says = _wires(state), _wires(wanted)
    for entry, new in says.items():
        old = has.get(entry)
        if old is None:
            added.append(entry)
        elif old == new:
            unchanged.append(entry)
        else:
            changed += [
                FieldChange(entry.kind, entry.id, k, old.get(k), v) for k, v in new.items() if old.get(k) != v
            ]
    missing += [entry for entry in has if entry not in says and f"{entry.kind}s" in wanted.sections]
    return Plan(
        wanted=wanted,
        added=tuple(added),
        changed=tuple(changed),
        unchanged=tuple(unchanged),
        missing=tuple(missing),
    )


def _wires(registry: Registry) -> dict[RegistryKey, dict[str, Any]]:
    found = {RegistryKey("source", source.source_id): source_to_wire(source) for source in registry.sources}
    found |= {RegistryKey("agent", agent.agent_id): agent_to_wire(agent) for agent in registry.agents}
    found |= {RegistryKey("task", profile.profile_id): profile_to_wire(profile) for profile in registry.tasks}
    return found | {RegistryKey("group", one.name): group_to_wire(one) for one in registry.groups}
