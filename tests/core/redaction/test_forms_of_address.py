"""Persons by how they are addressed, in any place of a sentence; words that look alike stay."""

from __future__ import annotations

import pytest

from wenyuan.core.redaction.policy import policy_for
from wenyuan.core.redaction.redact import Redaction

REDACTION = Redaction(policy_for("restricted"), b"k" * 32)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("就等丁组长点头了", "丁组长"), ("图纸是许工程师画的", "许工程师"), ("欧阳老师今天值班", "欧阳老师"), ("冯队，您看行不行？", "冯队"),
        ("多亏小陈帮忙", "小陈"), ("叫小刘别忘了带工牌", "小刘"), ("这是王工亲口说的", "王工"), ("尊敬的蔡大爷：您好", "蔡大爷"),
        ("合同由邓董事长签", "邓董事长"), ("Complaint received from Professor Sato.", "Sato"), ("I asked Sir Patel.", "Patel"),
        ("Dear Mrs. O'Brien,", "O'Brien"), ("Madam Lim - purchasing", "Lim"),
    ],
)  # fmt: skip
def test_is_found(text: str, name: str) -> None:
    """Whatever the title and whoever speaks."""
    assert name not in REDACTION.text(text).text


@pytest.mark.parametrize(
    "text",
    [
        "建设单位与施工单位承担连带责任。", "本周主任务是盘点。", "周总结报告请按时提交。", "老陈醋每瓶九元。", "小张贴画贴在门上。", "周工时不得超过四十小时。",
        "金工实习为期两周。", "王老吉一箱二十四罐。", "雷工程队承建。", "可以约谈相关负责人。", "第四项、第五项、第六项", "产生办法由选举法规定。",
        "议决议解任董事，自决议作出之日解任。", "Sir, this is a no-parking zone.", "Dear Sir or Madam,",
    ],
)  # fmt: skip
def test_stays(text: str) -> None:
    """Words of general text that hold a surname and a title."""
    assert REDACTION.text(text).text == text
