"""What a question begins and ends with out of courtesy is told from what it asks."""

from __future__ import annotations

import time

import pytest

from wenyuan.core.text.introductions import without_introduction


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("Could you tell me whether dogs are allowed?", "dogs are allowed?"),
        ("please tell me about a lost badge", "a lost badge"),
        ("Hi there, I'd like to know how long a trial is, thanks!", "how long a trial is"),
        ("Can you please let me know if lunch is paid", "lunch is paid"),
        ("I was wondering what HR-850 costs", "what HR-850 costs"),
        ("may I ask who signs the count sheet", "who signs the count sheet"),
        ("a quick question: where is the garage?", "where is the garage?"),
        ("Sorry, quick question, who locks up?", "who locks up?"),
        ("Just checking: is the lift working", "is the lift working"),
        ("Could someone explain to me how shifts are swapped", "how shifts are swapped"),
        ("can I bring a dog please?", "can I bring a dog"),
        ("请问周末能装修吗", "周末能装修吗"),
        ("您好，我想问一下补办门禁卡多少钱，谢谢", "补办门禁卡多少钱"),
        ("麻烦问下水管漏水找谁", "水管漏水找谁"),
        ("能告诉我押金退不退吗", "押金退不退吗"),
        ("问个问题，周末有人值班吗", "周末有人值班吗"),
        ("老师好，有个事想请教一下，产假几天", "产假几天"),
        ("有谁知道食堂几点开", "食堂几点开"),
        ("请教一下，发票丢了怎么办", "发票丢了怎么办"),
    ],
)
def test_what_is_asked_is_left(question: str, asked: str) -> None:
    """Without introduction, greeting and thanks."""
    assert without_introduction(question) == asked


@pytest.mark.parametrize(
    "question",
    [
        "教师资格证多久换一次", "请教练上课多少钱", "问题反馈找谁", "老师好不好", "有人值班吗", "问卷什么时候交", "介绍费多少", "麻烦制造者", "我要退款", "想要一个会议室", "好处费", "请假几天",
        "can I ask for a refund", "telling time", "highest shelf", "history of the company", "pleased customers", "tell",
        "what does tell me mean", "question bank", "thank you notes", "let me out",
    ],
)  # fmt: skip
def test_what_only_looks_like_one_is_kept(question: str) -> None:
    """A word that begins as an introduction does, and a question about one."""
    assert without_introduction(question) == question


@pytest.mark.parametrize("question", ["请问", "thanks", "Hello", "谢谢", "你好，请问一下", "tell me", "", "  "])
def test_nothing_but_an_introduction_is_kept(question: str) -> None:
    """There is nothing else to ask for."""
    assert without_introduction(question) == question


@pytest.mark.parametrize(
    "part", ["请问", "我想问", "麻烦问一下", "please tell me ", "hi ", ", ", " ?", "thanks ", "i would like to know "]
)
def test_time_rises_with_the_length(part: str) -> None:
    """A question of 8,000 characters takes milliseconds, whatever it repeats."""
    begun = time.process_time()
    for _ in range(20):
        without_introduction((part * 8_000)[:8_000])
    assert time.process_time() - begun < 2.0
