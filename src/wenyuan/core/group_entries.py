"""Groups of people as registry files write them: a name, and who is in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from wenyuan.core.errors import Fault, InvalidRequest, did_you_mean, listed, msg
from wenyuan.core.principals import EVERYONE, parse_groups, parse_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A group.

    Attributes:
        name: ``group:hr``.
        members: People and groups, ``user:li`` and ``group:works``; not empty.
    """

    name: str
    members: frozenset[str]


def parse_group(value: Mapping[str, Any], path: str = "") -> Group:
    """Parse a group, ``{group: hr, members: ["user:li"]}``; InvalidRequest lists every fault."""
    known = ("group", "members")
    faults = [
        Fault(str(name), msg("unknown{near}", near=did_you_mean(str(name), known)))
        for name in value
        if name not in known
    ]
    name, members = "", frozenset[str]()
    try:
        told = value.get("group")
        (name,) = parse_groups([told] if isinstance(told, str) else told, "group")
    except (InvalidRequest, ValueError, TypeError):
        faults.append(Fault("group", "must be the name of a group, such as hr"))
    given = value.get("members")
    if not isinstance(given, list) or not given:
        faults.append(Fault("members", "must be a non-empty array"))
    else:
        try:
            members = frozenset(parse_name(one, f"members[{i}]") for i, one in enumerate(given))
        except InvalidRequest as error:
            faults += error.faults
        if EVERYONE in members:
            faults.append(Fault("members", "everyone is in no group"))
    if faults:
        raise InvalidRequest(listed(faults), faults=tuple(faults))
    return Group(name=name, members=members)


def group_to_wire(group: Group) -> dict[str, Any]:
    """The inverse of `parse_group`."""
    return {"group": group.name.removeprefix("group:"), "members": sorted(group.members)}


def circle_in(groups: Mapping[str, frozenset[str]]) -> str:
    """A group that would be in itself, by however many others; ``""`` for none."""
    done: set[str] = set()
    for start in sorted(groups):
        trail: list[tuple[str, list[str]]] = [(start, _within(groups, start))]
        on_trail = {start}
        while trail:
            name, left = trail[-1]
            if not left:
                trail.pop()
                on_trail.discard(name)
                done.add(name)
                continue
            following = left.pop()
            if following in on_trail:
                return following
            if following not in done:
                trail.append((following, _within(groups, following)))
                on_trail.add(following)
    return ""


def _within(groups: Mapping[str, frozenset[str]], name: str) -> list[str]:
    return [one for one in groups.get(name, ()) if one.startswith("group:")]
