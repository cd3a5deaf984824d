"""A filter is compared with the values of rows that the caller may see, and with no others': their number would be told by time."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from wenyuan.core.filters import And, In, Not, Scope
from wenyuan.core.model import FOREVER, IndexRow
from wenyuan.engines.local import columns as module
from wenyuan.engines.local.columns import Columns

OURS, DAY = frozenset({"ours"}), date(2026, 1, 1)


def row(number: int, source: str, **facets: Any) -> IndexRow:
    return IndexRow(
        passage_id=number, source_id=source, document_id=number, heading_text="", text="", language="en",
        collection="", facets=facets, valid_from=0, valid_until=FOREVER,
    )  # fmt: skip


@pytest.fixture
def columns() -> Columns:
    """Two rows of ours, and a hundred of theirs with values of their own in a field of their own."""
    made = Columns()
    rows = [row(1, "ours", kind="a"), row(2, "ours", kind="b")]
    rows += [row(n, "theirs", kind=f"k{n}", secret=f"s{n}") for n in range(3, 103)]
    made.append(rows, [0] * len(rows), [3] * len(rows))
    return made


def compared(columns: Columns, scope: Scope, monkeypatch: pytest.MonkeyPatch) -> tuple[list[object], list[bool]]:
    """The values that are compared while a scope is made a mask, and the mask."""
    found: list[object] = []
    with monkeypatch.context() as watched:
        met = module._meets
        watched.setattr(module, "_meets", lambda leaf, value: (found.append(value), met(leaf, value))[1])
        mask = columns.mask(scope)
    assert mask is not None
    return found, mask.tolist()


@pytest.mark.parametrize("value", ["a", "k50", "nobody's"])
def test_only_values_in_view_are_compared(columns: Columns, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    """Of a field that others use too, those in one's own rows."""
    found, mask = compared(columns, Scope(sources=OURS, as_of=DAY, filter=In("metadata.kind", (value,))), monkeypatch)
    assert found == ["a", "b"]
    assert mask == [value == "a"] + [False] * 101


@pytest.mark.parametrize("field", ["secret", "nobody's"])
def test_a_field_of_others_is_as_one_of_nobody(columns: Columns, monkeypatch: pytest.MonkeyPatch, field: str) -> None:
    """Nothing is compared, and nothing found; without that value, all of one's own."""
    leaf = In(f"metadata.{field}", ("s50",))
    assert compared(columns, Scope(sources=OURS, as_of=DAY, filter=leaf), monkeypatch) == ([], [False] * 102)
    assert compared(columns, Scope(sources=OURS, as_of=DAY, filter=Not(leaf)), monkeypatch) == (
        [],
        [True] * 2 + [False] * 100,
    )
    both = And((leaf, In("metadata.kind", ("a",))))
    assert compared(columns, Scope(sources=OURS, as_of=DAY, filter=both), monkeypatch)[1] == [False] * 102


def test_who_may_see_all_finds_all(columns: Columns) -> None:
    """Without bounds every value counts."""
    everything = Scope(sources=OURS | {"theirs"}, as_of=DAY, filter=In("metadata.secret", ("s50",)))
    mask = columns.mask(everything)
    assert mask is not None
    assert mask.tolist().index(True) == 49
    assert columns.values("metadata.kind", None)[:3] == ["a", "b", "k3"]
