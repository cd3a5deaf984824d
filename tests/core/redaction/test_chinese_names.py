"""Chinese names by the place that they fill, and beside names that were found."""

from __future__ import annotations

import pytest

from wenyuan.core.redaction.policy import policy_for
from wenyuan.core.redaction.redact import redact


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("初试：朱洁　复试：高丹　终试：黄晨", "高丹"),
        ("批准：杨可欣", "杨可欣"),
        ("入党积极分子 李荣 张建华 张成", "张成"),
        ("值班表：6月1日丰萍，6月2日李娟", "丰萍"),
        ("许波\n销售总监\n某某贸易有限公司", "许波"),
        ("行动项：1）刘华——周五前提交图纸", "刘华"),
        ("后被段梦琪劝开。", "段梦琪"),
        ("借款人夏宇航及配偶王子轩共同签字", "王子轩"),
    ],
)
def test_a_name_that_fills_its_place_is_found(text: str, name: str) -> None:
    """Behind a label, a day or a number of an item, as the head of a card, and beside names that were found."""
    assert name not in redact(text, policy_for("restricted")).text


@pytest.mark.parametrize(
    "text", ["收件人：前台", "候选人：三名", "Signed: Pending", "From: Wuhan Plant", "高温、强风、暴雨", "时间：周三，地点：会议室", "祝好\n行政部", "项目 - 李子园"]
)  # fmt: skip
def test_what_else_fills_such_a_place_stays(text: str) -> None:
    """Places, counts, states, days and greetings are nobody's name."""
    assert redact(text, policy_for("restricted")).text == text
