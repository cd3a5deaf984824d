"""Redaction rules for persons by how they are called: 老王, 小李, 陈总, 周主任, 外号大熊, nicknamed Bear."""

from __future__ import annotations

import re

from wenyuan.core.redaction.chinese_names import SPEAKS_BEFORE, SPEAKS_BEHIND, rarity
from wenyuan.core.redaction.matching import IN_HAN, Rule, Span
from wenyuan.core.redaction.text_view import HAN, TextView

_SURNAMES = "王李张刘陈杨赵黄周吴徐孙胡朱林何郭罗梁宋郑谢韩唐冯董袁邓许傅沈彭吕苏卢蒋蔡贾丁魏薛叶阎余潘杜戴夏钟汪田姜范姚谭廖邹熊陆郝孔崔邱秦江侯邵孟段汤尹黎乔贺赖龚"
_CALLED = re.compile(
    rf"[老小][{_SURNAMES}马高于曾程]|阿[强伟芳玲明华珍兰英丽娟敏杰军辉亮勇林]"
    rf"|[{_SURNAMES}马高曾程](?:总|工|哥|先生|女士|小姐|太太|同志|姐|嫂|姨|叔|董|主任|经理|老师|师傅|大夫|医生|主管|会计|律师|教授|书记|院长|校长|局长|处长|科长|厂长|队长|班长|店长|秘书|阿姨|叔叔)(?![经长监程])"
)
_BEGINS = re.compile(r"(?:\A|[\s,.;:!?()\[\]<>\"'“”‘’「」、,。;:!?@#*|…—])\Z")
_ENDS = re.compile(r"[\s,.;:!?()\[\]<>\"'“”‘’「」、。|…—~]|\Z")
_LEADS = re.compile(
    r"(?:一下|昨天|今天|明天|刚才|上午|下午|晚上|后来|当时|听说|因为|如果|但是|可是|还是|只有|就|等|问|得|把|被|和|跟|给|让|请|找|叫|由|与|对|向|替|帮|是|了|说|的)\Z"
)
_OFTEN = 2.6


def _addressed(view: TextView, match: re.Match[str]) -> Span | None:
    """It must begin where a name could, and be followed by what persons do or by the end of a clause."""
    text, start, end = view.text, match.start(), match.end()
    low = max(0, start - 6)
    begins = (
        _BEGINS.search(text, max(0, start - 1), start)
        or SPEAKS_BEFORE.search(text, low, start)
        or _LEADS.search(text, low, start)
    )
    if not begins or (text[end - 1 : end + 1] and rarity(text[end - 1 : end + 1]) < _OFTEN):
        return None
    return (start, end, match[0]) if _ENDS.match(text, end) or SPEAKS_BEHIND.match(text, end) else None


_NICKNAME = re.compile(
    r"(?:外号|绰号|花名|诨号|诨名|网名|小名|乳名|艺名|笔名|化名|曾用名|人称|人送外号|昵称|大家(?:都|习惯)?叫[他她])(?:叫做?|是|为|作)?[ :]{0,2}[\"'“‘「『《]?(?P<name>[A-Za-z][A-Za-z0-9_]{1,15}|"
    rf"[{HAN}]{{2,4}})(?![{HAN}A-Za-z0-9_])"
)
_NO_NICKNAME = re.compile(
    "不|可|必|请|由|须|应|已|长度|格式|重复|字段|为空|修改|设置|显示|填写|唯一|头像|列表|或|和|及|无|暂|空|null|none",
    re.IGNORECASE,
)


def _nickname(_view: TextView, match: re.Match[str]) -> Span | None:
    name = match["name"]
    return None if _NO_NICKNAME.search(name) else (match.start("name"), match.end("name"), name)


_ENGLISH = re.compile(
    r"[A-Z][a-zà-ÿ'’\-]{1,20}[ ](?:[A-Z][a-zà-ÿ'’\-]{1,20}|[A-Z]\.)[,]?[ ]\(?(?:aka|a\.k\.a\.|AKA|nicknamed|known to friends as|goes by|who goes by|better known as)[ ]"
    r"[\"'“‘]?(?P<name>[A-Z][A-Za-z\-]{1,20})(?![A-Za-z])"
)


def _known_as(_view: TextView, match: re.Match[str]) -> Span:
    return match.start("name"), match.end("name"), match["name"].casefold()


RULES = (
    Rule("person", _CALLED, _addressed, signs=IN_HAN, written=True),
    Rule("person", _NICKNAME, _nickname, needs=("号", "名", "人称", "昵称", "大家")),
    Rule("person", _ENGLISH, _known_as, needs=("aka", "a.k.a.", "nicknamed", "known", "goes by"), cased=True),
)
