"""Quantities: however they are written they are one term, and what is none is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wenyuan.core.scoring.formula import idf, term_weights
from wenyuan.core.text.analysis import passage_terms, search_terms, terms
from wenyuan.core.text.folding import fold
from wenyuan.core.text.numbers import QUANTITY, located, quantities

DIGITS = "零一二三四五六七八九"
UNITS = (("天", "days"), ("年", "years"), ("个月", "months"), ("米", "metres"), ("元", "yuan"), ("小时", "hours"))


def told(text: str) -> list[str]:
    return quantities(fold(text))


def spelt(number: int) -> str:
    """In Chinese, up to 9,999."""
    text, zero = "", False
    for place, unit in ((1_000, "千"), (100, "百"), (10, "十"), (1, "")):
        digit = number // place % 10
        text += ("零" if zero and digit else "") + (DIGITS[digit] + unit if digit else "")
        zero = bool(text) and not digit
    return text.removeprefix("一") if text.startswith("一十") else text


@pytest.mark.parametrize(
    ("ways", "term"),
    [
        ("三十日|30天|３０ 天|30 days|thirty days|30-day|30日|30 calendar days", "=30day"),
        ("三十（30）日|30（三十）天|thirty (30) days|30 (thirty) days", "=30day"),
        ("一百二十天|120 days|one hundred and twenty days|one hundred twenty days", "=120day"),
        ("二十四小时|廿四小时|24小時|24h|twenty-four hours|twenty four hours", "=24hour"),
        ("一个半小时|一個半小時|1.5小时|一点五小时|1.5 hours", "=1.5hour"),
        ("两年半|2.5年|二点五年", "=2.5year"),
        ("十五个工作日|十五個工作日|15个工作日|15 working days|fifteen business days", "=15workday"),
        (
            "五万元|5万元|5 万元|50,000元|五萬圓|伍万元|伍萬圓|¥50000|￥5万|¥ 5 万|50000 yuan|RMB 50,000|5万人民币",
            "=50000元",
        ),
        ("百分之十五|15%|１５％|15 percent|fifteen per cent", "=15%"),
        ("百分之二点五|2.5%|百分之2.5", "=2.5%"),
        ("二公里|2公里|2 km|2,000米|两千米|2000 metres", "=2000m"),
        ("五千克|5公斤|5 千克|5kg|5000 grams", "=5000g"),
        ("一百二十平方米|120㎡|120 m2|120 square metres", "=120m2"),
        ("二十五摄氏度|25℃|25 °C", "=25°c"),
        ("半年|0.5年", "=0.5year"),
        ("二〇一四年|2014年", "=2014year"),
        ("三名|3人|three people|三余人", "=3人"),
        ("$10,000|10000美元|10,000 dollars|USD 10,000|$10k", "=10000$"),
        ("$1.5 million|USD 1.5 million|1.5 million dollars|150万美元", "=1500000$"),
        ("1000日元|1,000 yen", "=1000日元"),
        ("18岁|18周岁|18-year-old|18 years old|eighteen years of age", "=18岁"),
    ],
)
def test_one_quantity_has_one_term(ways: str, term: str) -> None:
    """In Chinese numerals or figures, full width, Traditional, with separators, in English words, in larger units."""
    assert {way: told(way) for way in ways.split("|")} == {way: [term] for way in ways.split("|")}


@pytest.mark.parametrize(
    "text",
    ["第三十日", "第13条", "几十天", "数百元", "anyone years", "v3days", "30", "三十", "天", "3rd year",
     "2026/5/1", "1,2345元", "第3.5天", "12345678901234567890天", "一", "", "三五天", "一两天", "十七八天", "二三十天",
     "单位：万元", "千伏", "上半年", "下半年", "前半年", "1 000元", "1/2英寸", "10M带宽", "一块儿去", "一次性", "三年级",
     "八十年代", "三元组", "two three days", "a hundred and twenty days", "two and a half years", "2万5千元"],
)  # fmt: skip
def test_what_is_no_quantity(text: str) -> None:
    """Ordinals, vague numbers, numbers without a unit, parts of a number or a word, and what is written in no known way."""
    assert told(text) == []


def test_days_of_the_calendar_are_no_days() -> None:
    """三月三日 is a date, and so is the same in figures."""
    assert told("2014年3月3日") == told("二〇一四年三月三日") == ["=2014year", "=3月", "=3号"]
    assert told("2014 年 3 月 3 日") == ["=2014year", "=3月", "=3号"]
    assert told("每月15日前") == told("每月 15 号前") == ["=15号"]
    assert told("1月1日元旦放假") == ["=1月", "=1号"]
    assert told("三个月零三日")[0] == "=3month"
    assert told("三个月15日") == ["=3month", "=15day"]
    assert told("3月，3日内") == ["=3月", "=3day"]


@given(st.integers(1, 9_999), st.sampled_from(UNITS))
def test_every_number(number: int, unit: tuple[str, str]) -> None:
    """Up to 9,999 in all ways, with whatever stands around."""
    zh, en = unit
    (term,) = told(f"{number}{zh}")
    ways = (
        f"不超过{spelt(number)}{zh}的",
        f"满{number}{zh}，",
        f"({number:,}{zh})",
        f"in {number} {en}.",
        f"{number:,} {en}",
    )
    assert {way: told(way) for way in ways} == {way: [term] for way in ways}


@given(st.text(alphabet="一二三十百千万亿半点第几日天年月元%¥$0123456789., -ytwohreday百分之度°c\n", max_size=40))
def test_any_text(text: str) -> None:
    """Nothing is raised, every term has the mark, and asking a text for itself finds its quantities."""
    found = told(text)
    assert all(term.startswith(QUANTITY) and " " not in term for term in found)
    assert set(found) <= set(passage_terms("", text))
    assert not any(term.startswith(QUANTITY) for term in terms(text))


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("10年半导体经验", ["=10year"]), ("100元半小时", ["=100元", "=0.5hour"]), ("3天半工半读", ["=3day"]), ("两年半，", ["=2.5year"]),
        ("¥12 百事可乐", ["=12元"]), ("¥30 千层面", ["=30元"]), ("the entrepreneur 2024 list", []), ("amateur 5", []),
        ("30万元首付款", ["=300000元"]), ("99元月租", ["=99元"]), ("50元二等座", ["=50元"]), ("三元组", []),
    ],
)  # fmt: skip
def test_what_stands_behind_is_another_word(text: str, terms: list[str]) -> None:
    assert told(text) == terms


def test_where_they_stand() -> None:
    text = fold("满三十日，或者 two weeks，最多 ¥5万。")
    assert [(term, text[start:end]) for term, start, end in located(text)] == [
        ("=30day", "三十日"),
        ("=2week", "two weeks"),
        ("=50000元", "¥5万"),
    ]
    assert sorted(term for term, _, _ in located(text)) == sorted(quantities(text))


def test_asked_for_beside_what_is_written() -> None:
    """The words stay: who writes as the document does is not worse off."""
    asked = search_terms("试用期30天内解除")
    assert {"=30day", "30", "试用", "天内"} <= set(asked)
    assert "=30day" in passage_terms("试用期三十日", "")
    assert "=30day" in passage_terms("", "试用期三十日")
    assert not any(term.startswith(QUANTITY) for term in search_terms("第13条"))


def test_one_that_no_passage_has_asks_for_nothing() -> None:
    """Else every passage would lack it."""
    assert term_weights(10, {"=30day": 0, "试用": 2}) == {"试用": idf(10, 2)}
    assert term_weights(10, {"=30day": 3})["=30day"] == idf(10, 3)
