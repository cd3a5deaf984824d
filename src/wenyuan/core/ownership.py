"""Whose sources are whose: an owner of sources sees what is asked of them, and what contradicts them, and no other's."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from wenyuan.core.access import Principal
from wenyuan.core.errors import NotPermitted, msg
from wenyuan.core.model import Source

_BETWEEN = re.compile(r"[,，、;；]")


def owned_sources(principal: Principal, sources: Iterable[Source]) -> frozenset[str] | None:
    """The ids of the sources that somebody answers for; None where he sees what concerns all of them.

    That is who may read the audit, and a key that stands for nobody. Others are told from the owner of a source, which names
    people or groups with commas between: ``li`` or ``user:li`` for somebody, ``hr`` or ``group:hr`` for a group.
    """
    names = _names(principal)
    if principal.may("audit") or not names:
        return None
    called = {_plain(form) for name in names for form in (name, name.partition(":")[2])}
    return frozenset(
        source.source_id
        for source in sources
        if called & {_plain(name) for name in _BETWEEN.split(source.owner)} - {""}
    )


def check_sees_questions(principal: Principal) -> None:
    """NotPermitted for who may see no question of others: he may not read the audit, and answers for no source."""
    if not principal.may("audit") and not _names(principal):
        raise NotPermitted(msg("this needs a key with the right {right}", right=repr("audit")))


def _names(principal: Principal) -> frozenset[str]:
    return principal.on_behalf_of or frozenset({principal.user, *principal.groups} - {""})


def _plain(name: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())
