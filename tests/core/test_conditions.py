"""Conditions of other protocols, compiled to our filter: exact, and an error where there is no such field."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wenyuan.core.conditions import Conditions, FieldComparison, compiled, of_sources
from wenyuan.core.errors import InvalidRequest
from wenyuan.core.filters import matches
from wenyuan.core.model import FOREVER, IndexRow, Source

FACETS = [
    {"部门": "客服部", "year": 2024},
    {"部门": "法务部", "year": 2023, "draft": True},
    {"year": 2025, "部门": ""},
    {},
]
SOURCE = Source(source_id="crm", trust=4, domain="客服")


def row(facets: dict[str, object], at: int = 1, source: str = "crm") -> IndexRow:
    return IndexRow(
        passage_id=at, source_id=source, document_id=at, heading_text="", text="", language="zh", collection="",
        facets=facets, valid_from=0, valid_until=FOREVER,
    )  # fmt: skip


ROWS = [row(facets, at) for at, facets in enumerate(FACETS)]
HELD = {
    "crm": {
        "language": ("zh",), "collection": ("",), "metadata.部门": ("客服部", "法务部", ""),
        "metadata.year": (2024, 2023, 2025), "metadata.draft": (True,), "metadata.flag": (1, True),
    }
}  # fmt: skip
KNOWN = of_sources([SOURCE], HELD)


def met(field: str, test: str, *values: object) -> list[int]:
    wanted = compiled(FieldComparison(field=field, test=test, values=values), KNOWN)
    return [at for at, one in enumerate(ROWS) if matches(wanted, one)]


@pytest.mark.parametrize(
    ("field", "test", "values", "expected"),
    [
        ("部门", "eq", ["客服部"], [0]),
        ("metadata.部门", "eq", ["客服部"], [0]),
        ("部门", "ne", ["客服部"], [1, 2, 3]),
        ("部门", "in", ["客服部", "法务部"], [0, 1]),
        ("部门", "nin", ["客服部", "法务部"], [2, 3]),
        ("部门", "contains", ["务"], [1]),
        ("部门", "lacks", ["务"], [0, 2, 3]),
        ("部门", "starts", ["客"], [0]),
        ("部门", "ends", ["部"], [0, 1]),
        ("部门", "empty", [], [2, 3]),
        ("部门", "given", [], [0, 1]),
        ("year", "gt", [2023], [0, 2]),
        ("year", "gte", [2024.0], [0, 2]),
        ("year", "lt", [2024], [1]),
        ("year", "lte", [2024], [0, 1]),
        ("year", "eq", ["2023"], []),
        ("flag", "gt", [0], []),
        ("draft", "eq", [True], [1]),
        ("draft", "eq", [1], []),
        ("trust", "gte", [4], [0, 1, 2, 3]),
        ("trust", "gt", [4], []),
        ("domain", "eq", ["客服"], [0, 1, 2, 3]),
        ("language", "ne", ["zh"], []),
    ],
)
def test_each_test_means_what_it_says(field: str, test: str, values: list[object], expected: list[int]) -> None:
    """Text, numbers, truths and what the registry knows, each compared with its own kind."""
    assert met(field, test, *values) == expected


def test_one_and_true_are_two_values() -> None:
    """A field that holds 1 here and true there finds each of them alone."""
    rows = [row({"flag": 1}), row({"flag": True})]
    for value, at in ((1, 0), (True, 1)):
        wanted = compiled(FieldComparison(field="flag", test="eq", values=(value,)), KNOWN)
        assert [matches(wanted, one) for one in rows] == [at == 0, at == 1]


def test_what_nothing_meets_finds_nothing() -> None:
    """A condition without a matching value is an empty answer, which is not the same as no condition."""
    assert met("部门", "eq", "财务部") == []
    assert met("部门", "ne", "财务部") == [0, 1, 2, 3]


def test_joined_and_nested() -> None:
    """And, or, and both."""
    old = FieldComparison(field="year", test="lt", values=(2025,))
    law = FieldComparison(field="部门", test="eq", values=("法务部",))
    blank = FieldComparison(field="部门", test="empty")
    for join, parts, expected in (
        ("and", (old, law), [1]),
        ("or", (law, blank), [1, 2, 3]),
        ("and", (old, Conditions(join="or", parts=(law, blank))), [1]),
    ):
        wanted = compiled(Conditions(join=join, parts=parts), KNOWN)
        assert [at for at, one in enumerate(ROWS) if matches(wanted, one)] == expected


def test_a_field_that_is_not_there_is_an_error() -> None:
    """It says where, what may have been meant, and which fields there are."""
    with pytest.raises(InvalidRequest, match="no document has; did you mean 'year'") as caught:
        compiled(FieldComparison(field="yaer", test="eq", values=(1,), path="filters.key"), KNOWN)
    assert caught.value.faults[0].path == "filters.key"
    assert "部门" in caught.value.hint


@pytest.mark.parametrize(("field", "value"), [("year", "2023"), ("year", True), ("部门", 3), ("trust", "high")])
@pytest.mark.parametrize("test", ["gt", "gte", "lt", "lte"])
def test_what_has_no_order_is_an_error(field: str, value: object, test: str) -> None:
    """Neither side is more than the other: said with what the field holds, instead of an empty answer."""
    with pytest.raises(InvalidRequest, match="cannot be more or less than") as caught:
        compiled(FieldComparison(field=field, test=test, values=(value,), path="filters.key"), KNOWN)
    assert caught.value.faults[0].path == "filters.key"
    assert met(field, test, value, "客服部", 2023) is not None


def test_fields_of_other_sources_are_not_there() -> None:
    """What only sources outside of the scope have is not even confirmed."""
    with pytest.raises(InvalidRequest):
        compiled(FieldComparison(field="year", test="given"), of_sources([Source(source_id="wiki")], HELD))


def test_no_conditions_and_too_many_are_refused() -> None:
    """An empty list would have to mean all or nothing."""
    one = FieldComparison(field="year", test="given")
    for parts in ((), (one,) * 65):
        with pytest.raises(InvalidRequest, match="1 to 64"):
            compiled(Conditions(join="and", parts=parts), KNOWN)


VALUES = st.one_of(st.text(max_size=3), st.integers(-3, 3), st.booleans(), st.sampled_from(["a", "ab", "b", ""]))


@given(
    st.lists(st.dictionaries(st.just("f"), VALUES), min_size=1, max_size=8),
    st.sampled_from(["eq", "in", "contains", "empty"]),
    VALUES,
)
def test_a_negation_is_the_rest(facets: list[dict[str, object]], test: str, value: object) -> None:
    """Each test and its negation split all rows in two, whatever the values are."""
    opposite = {"eq": "ne", "in": "nin", "contains": "lacks", "empty": "given"}
    known = of_sources([SOURCE], {"crm": {"metadata.f": tuple(f["f"] for f in facets if "f" in f) or ("x",)}})
    rows = [row(f, at) for at, f in enumerate(facets)]
    chosen = compiled(FieldComparison(field="f", test=test, values=(value,)), known)
    found = {at for at, one in enumerate(rows) if matches(chosen, one)}
    other = compiled(FieldComparison(field="f", test=opposite[test], values=(value,)), known)
    assert found == set(range(len(rows))) - {at for at, one in enumerate(rows) if matches(other, one)}
