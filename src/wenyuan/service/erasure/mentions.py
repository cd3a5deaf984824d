"""Whether an audit record is about what is erased."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from wenyuan.core.redaction.erased_values import ErasedValues

if TYPE_CHECKING:
    from wenyuan.catalog.audit.chain import AuditRow

Mentions = Callable[["AuditRow"], bool]


def of_person(found: ErasedValues) -> Mentions:
    """Records in which a person stands: in what was asked or answered, in an address, or as who asked."""

    def mentions(row: AuditRow) -> bool:
        return found.holds(row.principal) or any(found.holds(text) for _, text in _leaves(row))

    return mentions


def of_document(uri: str, refs: Collection[str]) -> Mentions:
    """Records that give, quote or name a document.

    Args:
        refs: The short addresses of all its passages, those of the past too.
    """
    known = frozenset(refs)

    def mentions(row: AuditRow) -> bool:
        return any(
            text in known or text == uri or (text.startswith(uri) and text[len(uri)] in "?#")
            for _, text in _leaves(row)
        )

    return mentions


def of_source(source_id: str) -> Mentions:
    """Records that give or quote something of a source, or are about it; not those that only searched it."""

    def mentions(row: AuditRow) -> bool:
        return any(
            text.startswith(f"{source_id}#") or (text == source_id and name in ("source_id", "object"))
            for name, text in _leaves(row)
        )

    return mentions


def _leaves(row: AuditRow) -> Iterator[tuple[str, str]]:
    """The texts of a record and its query, each with the name that it goes by; names of members as well."""
    for written in (row.record, row.query):
        if written:
            try:
                yield from _texts("", json.loads(written))
            except ValueError:
                yield "", written


def _texts(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, Mapping):
        for inner, item in value.items():
            yield "", inner
            yield from _texts(inner, item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(name, item)
