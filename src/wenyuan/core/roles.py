"""Roles: sets of rights by the names that people use for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set

from wenyuan.core.errors import Fault, InvalidRequest, did_you_mean, listed, msg

ROLES: Mapping[str, frozenset[str]] = {
    "reader": frozenset({"retrieve", "search"}),
    "source_owner": frozenset({"retrieve", "search", "ingest", "registry"}),
    "reviewer": frozenset({"retrieve", "search", "registry", "audit"}),
    "auditor": frozenset({"audit"}),
    "administrator": frozenset({"admin"}),
}
"""What each may do: ask; keep sources and their documents; decide about rules, golden questions and gaps; read the record of
what was asked; everything. Declared here alone: keys, groups of an issuer and the console take them from here.
"""


def rights_of(roles: Iterable[str], path: str = "roles") -> frozenset[str]:
    """The rights of some roles together.

    Raises:
        InvalidRequest: listing those that are none.
    """
    faults = []
    rights: frozenset[str] = frozenset()
    for number, role in enumerate(roles):
        if role not in ROLES:
            near = did_you_mean(str(role)[:64], ROLES)
            faults.append(
                Fault(f"{path}[{number}]", msg("{name} is no role{near}", name=repr(str(role)[:64]), near=near))
            )
        rights |= ROLES.get(role, frozenset())
    if faults:
        raise InvalidRequest(listed(faults), faults=tuple(faults))
    return rights


def role_of(rights: Set[str]) -> str:
    """The role that has exactly these rights; ``""`` for none."""
    return next((name for name, those in ROLES.items() if those == rights), "")
