"""Days and seasons that a question names, and whether a text speaks of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wenyuan.core.text.folding import fold
from wenyuan.core.text.named_days import named_days


@pytest.mark.parametrize(
    ("question", "days"),
    [
        ("端午节放几天假", ["端午节"]),
        ("中秋節放假嗎", ["中秋节"]),
        ("国庆节和周末能探视吗", ["国庆节", "周末"]),
        ("每周二、周五送货吗", ["周二", "周五"]),
        ("一周三次够吗", []),
        ("每周五次", []),
        ("清明上河图是谁画的", []),
        ("3月几号发工资", []),
        ("晚上几点关门", []),
        ("Is it open on Good Friday?", ["good friday"]),
        ("what time do you open on Sundays?", ["sundays"]),
        ("are shorts OK in summer?", ["summer"]),
        ("I sat in the sun", []),
        ("你们sunday营业吗", ["sunday"]),
    ],
)
def test_days_that_a_question_names(question: str, days: list[str]) -> None:
    """Feasts, days of the week and seasons, each once; no months, no times of the day and no numbers of weeks."""
    assert [day.shown for day in named_days(question)] == days


@pytest.mark.parametrize(
    ("question", "text", "meant"),
    [
        ("端午节放几天假", "节假日：春节、国庆前三天付三倍工资", False),
        ("open on Sundays?", "前台sunday至下午三点", True),
        ("are shorts OK in summer?", "员工summer可穿短裤", True),
        ("端午节放几天假", "法定节假日翻倍", True),
        ("端午节放几天假", "春节、国庆等法定节假日翻倍", True),
        ("端午节放几天假", "请假须提前 3 天", False),
        ("过年开门吗", "春节期间 10:00 开门", True),
        ("周六开吗", "周一至周五 8:00—18:00", True),
        ("周六开吗", "每天 8:00 开放", True),
        ("周六开吗", "周末休息", True),
        ("周六开吗", "一个月一次", False),
        ("星期五能发版吗", "周五为封网期", True),
        ("夏天空调几度", "6 月至 9 月 26 度", True),
        ("Open on Friday?", "Mon-Fri 9 to 5", True),
        ("Open on Friday?", "on weekdays", True),
        ("Open on Friday?", "paid monthly", False),
        ("Open on Sunday?", "closed on Monday", False),
        ("Open at Christmas?", "closed from 24 December noon", True),
        ("Open at Christmas?", "closed on public holidays", True),
        ("Open at Easter?", "closed at Christmas, a holiday", False),
    ],
)
def test_a_text_speaks_of_a_day(question: str, text: str, meant: bool) -> None:
    """In its own or in other words, as one of a span or of all days; a feast is not meant where others are named."""
    (day,) = named_days(question)
    assert day.is_meant_in(fold(text)) is meant


@given(st.text("周一六日至、端午节春夏天每次sunday mon12月-—", max_size=40))
def test_what_a_question_names_it_speaks_of(question: str) -> None:
    """Whatever is asked, each day stands in the question's own text, and comes once."""
    days = named_days(question)
    assert len({day.shown for day in days}) == len(days)
    assert all(day.shown in fold(question) and day.is_meant_in(day.shown) for day in days)
