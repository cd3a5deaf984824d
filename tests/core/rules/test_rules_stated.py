"""Quantities in a question that are the values of parameters: which one, in every spelling, and when none."""

from __future__ import annotations

import pytest

from rules_pit import SCHEMA, Pit, named
from wenyuan.core.rules.quantities import StatedQuantities, stated
from wenyuan.core.rules.schema import Parameter
from wenyuan.core.rules.sentences import derivation, used_of

DEPTH = Parameter("depth_m", "number", "m", {"zh": "开挖深度", "en": "excavation depth"})
HEIGHT = Parameter("height_m", "number", "m", {"zh": "搭设或施工高度", "en": "height of the work"})
SPAN = Parameter("span_m", "number", "m", {"zh": "跨度", "en": "span"})
LOAD = Parameter("load", "number", "kN/m²", {"zh": "施工总荷载", "en": "total load"})
WEIGHT = Parameter("weight_kn", "number", "kN", {"zh": "起吊重量", "en": "weight of the piece"})
DAYS = Parameter("days", "number", "d", {"zh": "收到商品后的天数", "en": "days since receipt"}, ("收到", "received"))
MONTHS = Parameter("months", "integer", "mo", {"zh": "月数"}, ("用了", "bought"))
PRICE = Parameter("price", "number", "CNY", {"zh": "商品价款"}, ("花了", "paid"))
SOIL = Parameter("soil", "string", "", {"zh": "土质"})


def read(text: str, *parameters: Parameter) -> StatedQuantities:
    return stated(text, [], parameters)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("基坑挖6米深要专家论证吗", 6.0),
        ("基坑挖６ｍ深", 6.0),
        ("開挖六米的基坑", 6.0),
        ("6.5米的基坑", 6.5),
        ("基坑深600厘米", 6.0),
        ("深度为 6 m 的基坑", 6.0),
        ("a foundation pit 6 m deep", 6.0),
        ("a six metre deep pit", 6.0),
        ("a 6-metre-deep pit", 6.0),
        ("with a depth of 6m", 6.0),
        ("这个pit深6m要论证吗", 6.0),
    ],
)
def test_a_length_is_the_depth_in_every_spelling(text: str, value: float) -> None:
    """Figures, Chinese numerals, full width, other units of the same kind, English words: all are the value."""
    assert read(text, DEPTH, LOAD, SOIL).values == {"depth_m": value}


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("8米高的模板", {"height_m": 8.0}),
        ("跨度18米", {"span_m": 18.0}),
        ("formwork 8 m high", {"height_m": 8.0}),
        ("a span of 18 m", {"span_m": 18.0}),
        ("高8米、跨度18米", {"height_m": 8.0, "span_m": 18.0}),
        ("总荷载15kN/m²", {"load": 15.0}),
        ("总荷载 15 kN/㎡", {"load": 15.0}),
        ("起吊重量120千牛", {"weight_kn": 120.0}),
    ],
)
def test_the_word_beside_it_says_which_one_it_is(text: str, values: dict[str, float]) -> None:
    """Of several parameters with one unit that is meant whose dimension or label stands beside the quantity."""
    assert read(text, HEIGHT, SPAN, LOAD, WEIGHT).values == values


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("8米的模板要论证吗", ("height_m", "span_m")),
        ("挖6米深，那边挖8米深", ("depth_m",)),
        ("formwork of 8 m", ("height_m", "span_m")),
    ],
)
def test_what_is_ambiguous_is_not_taken_and_said(text: str, names: tuple[str, ...]) -> None:
    """A quantity that may be that of two parameters, or two values for one, fill nothing; the names are told."""
    found = read(text, *([DEPTH] if "挖" in text else [HEIGHT, SPAN]))
    assert found.values == {}
    assert {ways for _, ways in found.doubtful} == {names}


@pytest.mark.parametrize(
    "text",
    [
        "深度超过5米",
        "挖5米以上",
        "挖5~8米深",
        "挖大约6米",
        "more than 5 m deep",
        "at least 5 m deep",
        "挖5米多深",
        "深度在6米以内",
    ],
)
def test_a_bound_is_no_value(text: str) -> None:
    """What is more, less or about fills nothing, as the condition could not be checked with it; that is told."""
    found = read(text, DEPTH)
    assert found.values == {}
    assert [ways for _, ways in found.doubtful] == [()]


@pytest.mark.parametrize(
    "text", ["离基坑6米的房子", "基坑宽6米", "6 m away from the pit", "基坑长60米", "6吨", "第6章", "一个直径6米的井"]
)
def test_another_dimension_is_not_the_depth(text: str) -> None:
    """A distance, a width or a weight is no depth, though nothing else has its unit."""
    assert read(text, DEPTH) == StatedQuantities()


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("收到5天了还能退吗", {"days": 5.0}),
        ("I received it 5 days ago", {"days": 5.0}),
        ("15天能退款吗", {}),
        ("how many of the 7 days are left", {}),
        ("用了3个月坏了", {"months": 3}),
        ("花了200块买的", {"price": 200.0}),
        ("要赔500元吗", {}),
    ],
)
def test_times_and_money_need_a_word(text: str, values: dict[str, float]) -> None:
    """Questions name days and amounts for many reasons: only one that is said with the parameter's words is its value."""
    assert read(text, DAYS, MONTHS, PRICE).values == values


def test_numbers_within_a_name_are_parts_of_it() -> None:
    """The seven days of 七天无理由退货 are no days since receipt."""
    text = "收到后七天无理由退货"
    assert read(text, DAYS).values == {"days": 7.0}
    assert stated(text, [(3, len(text))], [DAYS]) == StatedQuantities()


@pytest.mark.parametrize(("value", "shown"), [(6.0, "6"), (5.25, "5.25")])
def test_a_derivation_says_what_it_took_from_the_question(value: float, shown: str) -> None:
    """In either language, with label, name and unit, behind the condition that it was checked with."""
    pit = Pit()
    rules = named(pit.infer(parameters={"depth_m": value}))
    rule, other = rules["mandatory", "专家论证"], rules["equipment", "降水井"]
    used = used_of(rule, SCHEMA, {"depth_m": value, "floors": 3})
    assert (used, used_of(other, SCHEMA, {"depth_m": value})) == ({"depth_m": value}, {})
    assert derivation(rule, SCHEMA, "zh", used).endswith(
        f"（条件：开挖深度 ≥ 5 m）（取自提问：开挖深度 depth_m = {shown} m）"
    )
    assert derivation(rule, SCHEMA, "en", used).endswith(
        f" (condition: excavation depth ≥ 5 m) (taken from the question: excavation depth depth_m = {shown} m)"
    )
