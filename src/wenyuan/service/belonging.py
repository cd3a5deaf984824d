"""What candidates belong to: articles to a law (see `core.laws`), passages to a language."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from wenyuan.core.label import Label
from wenyuan.core.laws import law_of, shares
from wenyuan.core.ports import Deadline
from wenyuan.core.sums import CHINESE
from wenyuan.service.record import Record

__all__ = ["Belonging", "Belongings", "shares_of"]

_MOST = 200_000
"""Passages that are remembered, in some 20 MB. A passage never changes, so what is remembered stays true."""


class Belonging(NamedTuple):
    """Of one passage: its law, ``""`` for none; and whether it is in Chinese."""

    law: str
    chinese: bool


_NOTHING = Belonging("", chinese=False)


class Belongings:
    """Looks passages up in the record, and remembers them. Safe to share between threads."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._known: dict[int, Belonging] = {}
        self._one: dict[Belonging, Belonging] = {}  # so that passages of one law share it

    def of(self, candidates: Collection[int], deadline: Deadline) -> Mapping[int, Belonging]:
        """Of each candidate; one that the record does not have belongs to nothing.

        Raises:
            KnowledgeError: the record cannot be read.
        """
        known = self._known
        found = {number: known[number] for number in candidates if number in known}
        if len(found) < len(candidates):
            missing = [number for number in candidates if number not in found]
            told = self._record.labels(missing, deadline)
            read = {number: self._read(told[number]) if number in told else _NOTHING for number in missing}
            if len(known) + len(read) > _MOST:
                known, self._one = {}, {}
                self._known = known
            known.update(read)
            found |= read
        return found

    def _read(self, label: Label) -> Belonging:
        belonging = Belonging(law_of(label.title, label.headings), chinese=label.language == CHINESE)
        return self._one.setdefault(belonging, belonging)


def shares_of(belongings: Mapping[int, Belonging], weight: float) -> Mapping[int, float]:
    """As `core.laws.shares`, of all candidates of a question."""
    return shares({number: belonging.law for number, belonging in belongings.items()}, weight) if weight else {}
