"""Retrieved text is material, not orders: what hides in it is removed, what reads like an order is flagged."""

from __future__ import annotations

import re

from wenyuan.core.text import fold

__all__ = ["instruction_like", "visible"]

_BREAK = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
# Written as escapes: they cannot be seen otherwise. A joiner stays where it shapes what is seen: inside emoji and
# between letters of Arabic and Indic scripts.
_SHAPED = "\u0600-\u1fff\u2600-\u27bf\ufe0f\U0001f000-\U0001faff"
_HIDDEN = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b\u200e\u200f\u202a-\u202e"
    "\u2060-\u2069\u206a-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e01ef]"
    f"|(?<![{_SHAPED}])[\u200c\u200d]|[\u200c\u200d](?![{_SHAPED}])"
)
_ORDERS = re.compile(
    r"""
    (?<![a-z])(?:ignore|disregard|forget|override|bypass)\s(?:[a-z']+\s){0,3}?
        (?:previous|prior|above|earlier|preceding|all|any|your|system)\s(?:[a-z']+\s){0,3}?
        (?:instruction|prompt|rule|guideline|direction|message|context)
    | (?<![a-z])(?:ignore|disregard|forget)\s(?:everything|all|what)\s(?:[a-z']+\s){0,4}?
        (?:above|before|previous|said|told)
    | (?<![a-z])system\sprompt(?![a-z]) | (?<![a-z])new\s(?:system\s)?instructions?\s?:
    | (?<![a-z])you\sare\snow\s(?:an?|the|in|no\slonger|free)(?![a-z]) | (?<![a-z])(?:developer|dan|jailbreak)\smode
    | (?<![a-z])(?:do\snot|don't|never)\s(?:tell|inform|(?:mention|reveal)\s(?:this|it)\sto)\s(?:the\s)?user
    | (?<![a-z])(?:reveal|print|repeat|output|show)\s(?:me\s)?your\s(?:[a-z]+\s){0,2}?(?:prompt|instruction)
    | <\|?/?(?:im_start|im_end|system|endoftext)\|?> | \[/?inst\] | (?:^|\n)[#>\s]*(?:system|assistant)\s?:
    | (?:忽略|无视|忘记|忘掉|不要理会|不必理会|不要遵守|抛开|绕过)[^。！？\n]{0,6}
        (?:以上|上述|上面|之前|前面|先前|此前|所有|全部|一切|任何|系统|你的|你收到|原有)[^。！？\n]{0,8}
        (?:指令|指示|提示|规则|设定|命令|内容|对话|约束|限制)
    | 系统提示(?:词|语)|提示词注入|(?:你现在是|从现在(?:开始|起),?你)|(?:不要|不得|别)(?:告诉|告知|让)用户
    | (?:输出|显示|透露|泄露|重复)你的(?:提示|指令|设定)|开发者模式|越狱模式
    """,
    re.VERBOSE,
)


def visible(text: str) -> str:
    r"""Text without control, bidirectional, zero-width and other hidden characters; line ends as ``\n``."""
    return _HIDDEN.sub("", _BREAK.sub("\n", text))


def instruction_like(text: str) -> bool:
    """Whether a text speaks to a model: “ignore previous instructions”, “忽略以上指令”."""
    return _ORDERS.search(re.sub(r"[ \t\u3000]+", " ", fold(text)).replace("’", "'")) is not None
