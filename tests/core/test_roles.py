"""Roles: sets of rights that are told from one another, each of rights that there are."""

from __future__ import annotations

import pytest

from wenyuan.core.access import RIGHTS
from wenyuan.core.errors import InvalidRequest
from wenyuan.core.roles import ROLES, rights_of, role_of
from wenyuan.i18n.translation import texts


def test_roles_are_sets_of_rights() -> None:
    """Each has rights that there are, and no two the same."""
    assert all(rights and rights <= set(RIGHTS) for rights in ROLES.values())
    assert len(set(ROLES.values())) == len(ROLES)
    assert [role_of(rights) for rights in ROLES.values()] == list(ROLES)
    assert role_of(frozenset({"retrieve"})) == ""


def test_rights_of_several_roles_add_up() -> None:
    """All that any of them has; none of none."""
    assert rights_of(["reader", "auditor"]) == {"retrieve", "search", "audit"}
    assert rights_of([]) == frozenset()


@pytest.mark.parametrize("names", [["boss"], ["reader", "Reader"], [""], ["reader "]])
def test_what_is_no_role_is_refused(names: list[str]) -> None:
    """With its place."""
    with pytest.raises(InvalidRequest) as caught:
        rights_of(names)
    assert caught.value.faults[0].path == f"roles[{len(names) - 1}]"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_each_role_has_a_name_and_says_what_it_may(language: str) -> None:
    """The console has both texts in both languages."""
    known = texts("console", language)
    assert [name for name in ROLES if not (f"role_{name}" in known and f"role_may_{name}" in known)] == []
