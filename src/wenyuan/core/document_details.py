"""What a person says of a document in place of what its file says: title, days and tags."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Literal, get_args

from wenyuan.core.model import Facet

DetailField = Literal["title", "effective_from", "effective_until", "tags"]
DETAIL_FIELDS: tuple[DetailField, ...] = get_args(DetailField)


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentDetails:
    """The details of a document that a person can set.

    Attributes:
        title: ``""``: it has none.
        effective_from, effective_until: The first and the last day on which it counts; None: it is open.
        tags: Its facets, by which searches can be narrowed.
    """

    title: str
    effective_from: date | None
    effective_until: date | None
    tags: Mapping[str, Facet]


@dataclass(frozen=True, slots=True)
class StatedDetails:
    """What a person said of them. What is absent is as the file has it.

    Attributes:
        values: By name; of tags, those that are set, and None for those that are taken away.
    """

    values: Mapping[DetailField, Any] = field(default_factory=dict)

    def changed(self, said: Mapping[DetailField, Any], as_read: Iterable[DetailField] = ()) -> StatedDetails:
        """As they are when somebody says more: what is not said stays, tags one by one.

        Args:
            as_read: What is as the file has it again.
        """
        values = {name: value for name, value in self.values.items() if name not in set(as_read)}
        values.update({name: value for name, value in said.items() if name != "tags"})
        if "tags" in said:
            values["tags"] = {**values.get("tags", {}), **said["tags"]}
        return StatedDetails(values)

    def without_days(self) -> StatedDetails:
        """As they hold for another version of the file, which has days of its own."""
        return StatedDetails(
            {name: value for name, value in self.values.items() if not name.startswith("effective_")}
        )

    def over(self, read: DocumentDetails) -> DocumentDetails:
        """The details of a document whose file says `read`.

        A day of the file that contradicts one that was said does not count. A draft stays one, and so does what is retired
        without a last day: the end of the calendar as the first day, and its beginning as the last, mean that.
        """
        said = self.values
        begin = _day(said["effective_from"]) if "effective_from" in said else read.effective_from
        end = _day(said["effective_until"]) if "effective_until" in said else read.effective_until
        if begin not in {None, date.max} and end not in {None, date.min} and end < begin:
            begin = None if "effective_from" not in said else begin
            end = None if "effective_until" not in said and begin is not None else end
        tags = {**read.tags, **said.get("tags", {})}
        return DocumentDetails(
            title=said.get("title", read.title), effective_from=begin, effective_until=end,
            tags={name: value for name, value in tags.items() if value is not None},
        )  # fmt: skip


def details_as_json(details: DocumentDetails) -> dict[str, Any]:
    """As JSON has it."""
    days = {"effective_from": details.effective_from, "effective_until": details.effective_until}
    return {
        "title": details.title, **{name: None if day is None else day.isoformat() for name, day in days.items()},
        "tags": dict(details.tags),
    }  # fmt: skip


def details_of_json(value: Mapping[str, Any]) -> DocumentDetails:
    """The details that `details_as_json` wrote."""
    return DocumentDetails(
        title=value["title"], effective_from=_day(value["effective_from"]),
        effective_until=_day(value["effective_until"]), tags=value["tags"],
    )  # fmt: skip


def _day(value: str | None) -> date | None:
    return None if value is None else date.fromisoformat(value)
