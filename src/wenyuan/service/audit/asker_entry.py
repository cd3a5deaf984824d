"""Who asked, in an audit record: the key, and for whom."""

from __future__ import annotations

from collections.abc import Mapping

from wenyuan.core.access import Principal

PERSON = "on_behalf_of"
"""Member of a record: whom the key asked for."""


def asker_entry(principal: Principal) -> dict[str, str]:
    """The members of a record that name who asked."""
    return {"principal": principal.key_id} | ({PERSON: principal.person} if principal.on_behalf_of else {})


def person_of(record: Mapping[str, object]) -> str:
    """Whom the key of a record asked for; "" for nobody."""
    return str(record.get(PERSON, ""))
