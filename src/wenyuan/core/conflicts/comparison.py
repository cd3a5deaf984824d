"""Do two statements contradict one another: the same said with another number, unit, date, duty or negation?

Both must be made of the same words but for what differs: one further word may be another product, role or grade, of which
something else is true. What they are said of stands in titles and headings as well; `core.conflicts.subject` compares these.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from wenyuan.core.conflicts.statement import ComparedStatement
from wenyuan.core.conflicts.subject import leans, names_case, of_effect, other_thing, same_document, same_section
from wenyuan.core.difference_kind import DifferenceKind
from wenyuan.core.places import ClaimDifference
from wenyuan.core.verification import Kind, compared_with

_KINDS: Mapping[Kind, DifferenceKind] = {
    "number_changed": "number_changed", "unit_changed": "unit_changed", "date_changed": "date_changed",
    "negation_changed": "negation_changed", "modality_changed": "modality_changed",
}  # fmt: skip
_ENOUGH = 2.0
"""Weight of a statement's words from which on it says by itself what it is about; see `_weight`."""
_FORM = 5
"""Different figures from which on words that several share are a form that each fills in."""


@dataclass(frozen=True, slots=True)
class Contradiction:
    """What two statements say differently.

    Attributes:
        changes: ``was`` of the first statement, ``said`` of the second.
    """

    kind: DifferenceKind
    changes: tuple[ClaimDifference, ...]


def contradiction(one: ComparedStatement, other: ComparedStatement, *, form: bool = False) -> Contradiction | None:
    """What two statements say differently of the same; None where they agree, or speak of different things.

    Args:
        form: Their words are a form, see `is_form`: they are compared in two versions of one section only.
    """
    if (
        bool(one.head) != bool(other.head)
        or one.words != other.words
        or one.codes != other.codes
        or one.text == other.text
    ):
        return None
    if (
        any(map(of_effect, (one, other)))
        or names_case(one) != names_case(other)
        or not _same_subject(one, other, form=form)
    ):
        return None
    there = compared_with(other.tokens, one.text)
    back = compared_with(one.tokens, other.text)
    if there is None or back is None or there.kind not in _KINDS or back.kind not in _KINDS:
        return None
    return Contradiction(_KINDS[there.kind], there.changes)


def is_form(alike: Iterable[ComparedStatement]) -> bool:
    """Whether statements in the same words have so many different figures that each is about what stands around it: a form."""
    return len({one.figures for one in alike}) >= _FORM


def _same_subject(one: ComparedStatement, other: ComparedStatement, *, form: bool) -> bool:
    """Whether two statements in the same words are about the same."""
    mine, theirs = one.passage, other.passage
    if other_thing(mine, theirs):
        return False
    if same_section(mine, theirs) and same_document(mine, theirs):
        return mine.document_id != theirs.document_id  # two versions; one section tells cases one after the other
    differing = one.figures ^ other.figures
    if form or len(differing) > 2 or _same_time(differing):  # of several figures one is the condition of another case
        return False
    return _weight(one) >= _ENOUGH and not leans(one) and not leans(other)


def _weight(statement: ComparedStatement) -> float:
    """How much a statement says: 1.5 for a Latin word, .5 for a Chinese character."""
    return sum(1.5 if word.isascii() else 0.5 for word in statement.words)


_SPAN = re.compile(r"=(\d+(?:\.\d+)?)(day|month|year)")
_DAYS = {"day": 1.0, "month": 30.4, "year": 365.0}
_NEARLY = 0.04


def _same_time(figures: Iterable[str]) -> bool:
    """Whether figures are spans of time of nearly the same length: 90 days and three months."""
    days = [float(match[1]) * _DAYS[match[2]] for value in figures if (match := _SPAN.fullmatch(value)) is not None]
    return len(days) == 2 and max(days) - min(days) <= _NEARLY * max(days)
