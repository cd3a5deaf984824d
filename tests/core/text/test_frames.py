"""Frames of questions: who asks and how is cut off, whatever its words; what only looks like a frame is kept."""

from __future__ import annotations

import time

import pytest

from wenyuan.core.text.introductions import without_introduction

ENGLISH = "can I bring a dog in at Castlewick"
CHINESE = "工牌丢了补一张多少钱"


@pytest.mark.parametrize(
    "frame",
    [
        "my manager wants to know {}", "for my records could you say {}", "I need some help: {}", "not sure about this - {}",
        "a colleague asked me {}", "{} - asking for a friend", "I've been trying to find out {}", "can anyone confirm {}",
        "we were discussing {}", "it would be great to understand {}", "before I forget, {}", "someone on my team needs to know {}",
        "I have been asked to check {}", "our new starter would like to hear whether {}", "could you look up {}", "help please, {}",
        "{}, many thanks for your help", "I'm new here, {}", "following up on this: {}", "would anyone be able to say {}",
        "this came up in a meeting yesterday: {}", "I've searched everywhere and can't find it. {}", "hoping you can shed some light on this. {}",
        "{}? Asking on behalf of a friend.", "{}? I'd be grateful for an answer.", "just had a call about this: {}",
    ],
)  # fmt: skip
def test_a_frame_is_cut_off(frame: str) -> None:
    """Somebody, a verb of asking and what is asked; and clauses of nothing but courtesy."""
    assert without_introduction(frame.format(ENGLISH)).rstrip("?") == ENGLISH


@pytest.mark.parametrize(
    "frame",
    ["would you be so kind as to say {}", "one thing I never understood is {}", "our trainee wants to be told {}"],
)
def test_a_frame_before_a_question_word_is_cut_off(frame: str) -> None:
    """Nothing but courtesy and a verb of asking or knowing, without a mark between."""
    question = "how long I can keep a film"
    assert without_introduction(frame.format(question)) == question


@pytest.mark.parametrize(
    "frame",
    [
        "领导问我{}", "各位好，{}", "不知道{}", "帮忙看看{}", "我有点疑问，{}", "请帮我查一下{}", "我同事想了解{}", "{}，急", "有个朋友托我打听{}",
        "我搞不清楚{}", "新来的同事问{}", "在吗，{}", "我们主管让我确认一下{}", "{}，在线等", "我一直没弄明白{}", "想确认下{}", "家里人让我问{}",
        "开会时有人提到，{}", "{}，查了半天没查到", "替同事问的，{}", "网上说法不一，{}", "上次没听清，{}", "{}？很着急", "我想确认的是，{}", "{}，请给个准话",
        "能不能帮我确认{}", "麻烦解答一下{}", "{}？感谢", "今天有学员问我{}", "门口有人问{}", "我对这个不太熟悉，{}",
    ],
)  # fmt: skip
def test_a_chinese_frame_is_cut_off(frame: str) -> None:
    """Somebody, if anybody, and a verb of asking; and clauses of courtesy before or behind."""
    assert without_introduction(frame.format(CHINESE)).rstrip("？") == CHINESE


@pytest.mark.parametrize(
    "question",
    [
        "In the US, who decides on the requirements for teachers?", "who do I tell if I'm ill", "I found a bug, how do I report it",
        "how do I know if my card is active", "do I need to tell my manager if I'm late", "can I ask for a refund",
        "I'd like to limit who can see what I like", "a lady wants that novel taken off the shelves, what do I give her",
        "I've woken up ill, who do I tell and by when", "where is the help desk, please?",
        "能否查看他人考勤", "可以查工资条吗", "请看护怎么收费", "不懂英语能入职吗", "客户问我们要发票怎么开", "我要看病怎么请假", "不知道密码怎么办",
        "I often need to find a time which works for everyone, is there a service for it", "we've got a piano, what's that on top",
        "I missed a payment two weeks ago, will my stuff be sold?", "can I tell people how much I earn",
        "请求文件 什么是表单数据", "客户不用我们了，数据给他留多久", "上次没交作业，会怎么样", "孩子没人看，能带来吗", "资料丢了，怎么补", "领导说的都算数吗",
        "问卷什么时候交", "我们公司有食堂吗", "领导请假谁批", "同事请假了谁确认", "朋友来能住宿舍吗", "谁能看监控", "帮同事代打卡怎么处罚", "客户能问我要身份证吗", "厂里有人问题怎么上报",
    ],
)  # fmt: skip
def test_what_only_looks_like_a_frame_is_kept(question: str) -> None:
    """Verbs of asking and persons that the question is about."""
    assert without_introduction(question).rstrip("?") in (question.rstrip("?"), question.removesuffix(", please?"))


def test_frames_are_told_in_linear_time() -> None:
    """A question of a hundred thousand characters takes no longer than a moment, whatever it repeats."""
    for piece in ("my manager wants ", "我领导让我", "help, ", "a ", "想", "for the ", "不知道", "I would like to "):
        begun = time.process_time()
        without_introduction(piece * (100_000 // len(piece)))
        assert time.process_time() - begun < 2.0
