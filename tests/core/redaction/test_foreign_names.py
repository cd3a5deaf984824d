"""Foreign names in Chinese characters are found by their dot, or by what stands beside them; places and firms that are written so stay."""

from __future__ import annotations

import pytest

from wenyuan.core.redaction.policy import KINDS, RedactionPolicy
from wenyuan.core.redaction.redact import redact

DROP = RedactionPolicy(level="restricted", actions=dict.fromkeys(KINDS, "drop"))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("合同由约翰·马吉签署。", "约翰·马吉"), ("外籍专家亚历山大·卡尔德上周到厂。", "卡尔德"), ("联系人：玛丽亚·冈萨雷斯", "冈萨雷斯"), ("德国总理安格拉·默克尔来访", "默克尔"),
        ("史密斯先生已经签字。", "史密斯"), ("总工程师施瓦茨表示，图纸没有问题。", "施瓦茨"), ("请找费舍尔女士取件", "费舍尔"), ("外教卡特琳娜，每周二上课", "卡特琳娜"),
    ],
)  # fmt: skip
def test_found(text: str, name: str) -> None:
    """With a dot anywhere; without one beside a form of address, a role or speech."""
    assert name not in redact(text, DROP).text


@pytest.mark.parametrize(
    "text",
    [
        "莫斯科表示，谈判继续。", "西门子告诉客户交期推迟。", "《论语·学而》", "沁园春·雪", "项目设在法兰克福。", "采购摩托罗拉对讲机。", "在华盛顿签约。", "一二·九运动", "马拉松比赛于六月举行。",
    ],
)  # fmt: skip
def test_stays(text: str) -> None:
    """Places, firms and titles."""
    assert redact(text, DROP).text == text


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("- 欧华：寄样品", "欧华"),
        ("现场由管林面谈新人", "管林"),
        ("参训人员签到：管林 韩英 朱波", "朱波"),
        ("报销人 张想，垫付 820 元", "张想"),
        ("王茂强先生认为，应当复检", "王茂强"),
        ("记者陈晓安、周德武报道", "陈晓安"),
    ],
)
def test_chinese_names_beside_what_only_persons_do(text: str, name: str) -> None:
    """At the beginning of a line before a colon, in a list behind its label, and between two words that speak of persons."""
    assert name not in redact(text, DROP).text


@pytest.mark.parametrize(
    "text",
    [
        "方法：先断电",
        "- 高度：三米",
        "注意：易碎",
        "人员：全体",
        "宁大雨转晴",
        "使用万国博览会邮票",
        "周大福金饰",
        "老王卖瓜",
    ],
)
def test_words_stay(text: str) -> None:
    """Words that begin with a surname, before a colon, too."""
    assert redact(text, DROP).text == text
