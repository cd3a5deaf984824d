"""Retrieved text is material, not orders: what hides in it is removed, what reads like an order is flagged."""

from __future__ import annotations

import re

from wenyuan.core.text.folding import fold

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
    | <\|?/?(?:im_start|im_end|system|endoftext)\|?> | \[/?inst\] | (?:^|\n)(?:[#>]|[^\S\n])*(?:system|assistant)\s?:
    | (?:忽略|无视|忘记|忘掉|不要理会|不必理会|不要遵守|抛开|绕过)[^。！？\n]{0,6}
        (?:以上|上述|上面|之前|前面|先前|此前|所有|全部|一切|任何|系统|你的|你收到|原有)[^。！？\n]{0,8}
        (?:指令|指示|提示|规则|设定|命令|内容|对话|约束|限制)
    | (?<![a-z])(?:note|message|instructions?|attention|reminder)(?:\s(?:to|for)|\s?[,:])?\s(?:the\s|any\s|all\s)?
        (?:ai|a\.i\.|llms?|assistants?|chat\s?bots?|(?:language\s)?models?)(?:\s(?:assistants?|models?|agents?))?\s?[,:!]
    | (?:给|致|请|告诉|提醒)(?:ai|人工智能|大?模型|助手|语言模型)(?:助手|模型)?(?:的(?:提示|说明|备注|话))?[,:，：]
    | (?:ai|人工智能|语言模型|大模型)助?手?(?:请注意|注意(?!力|事项)|须知|应当?回答)
    | 系统提示(?:词|语)|提示词注入|(?:你现在是|从现在(?:开始|起),?你)|(?:不要|不得|别)(?:告诉|告知|让)用户
    | (?:输出|显示|透露|泄露|重复)你的(?:提示|指令|设定)|开发者模式|越狱模式
    """,
    re.VERBOSE,
)
# What is addressed to a model, or takes its task over.
_MODEL = r"(?:ai|llms?|chatbots?|(?:large\s)?language\smodels?|ai\s(?:assistants?|models?|agents?|language\smodels?))"
_MODEL_ZH = "(?:人工智能|ai|大模型|大语言模型|语言模型|聊天机器人|智能助手)(?:助手|模型)?"
_EARLIER_ZH = "(?:之前|以上|上述|上面|前面|先前|此前|原来|原有)"
_ADDRESSED = re.compile(
    rf"""
    (?<![a-z])(?:ignore|disregard|forget)\sthe\s(?:above|foregoing)\sand\s(?:answer|say|reply|respond|output|print|write|tell)
    | (?<![a-z])(?:ignore|disregard)\s(?:what\sthe\suser|the\suser(?:'s)?\s(?:question|request|message|input))
    | (?<![a-z])do\snot\sfollow\s(?:the|your|any)\s(?:rules|instructions|guidelines)\s(?:given|above|earlier|before|you)
    | (?<![a-z])you\sare\snow\sdan(?![a-z]) | (?<![a-z])your\s(?:only\s)?task\s(?:has\schanged|is\snow\sto)
    | (?<![a-z]){_MODEL}\s(?:reading|processing|seeing|summari[sz]ing)\sth(?:is|ese)(?![a-z])
    | (?<![a-z])(?:note|message|instructions?|reminder|attention)\s(?:to|for)\s(?:the\s|any\s|all\s)?{_MODEL}\s?[:,;!]
    | (?<![a-z])is\s(?:meant\s)?for\sthe\s{_MODEL}\s?[:;!] | (?<![a-z])dear\s{_MODEL}\s?[:,;!]
    | (?<![a-z])(?:as|if\syou\sare)\san?\s{_MODEL}(?:\s(?:assistant|model))?,?\s(?:you|answer|reply|respond|say|write)(?![a-z])
    | (?<![a-z])instead\sof\sanswering,?\s(?:output|print|write|say|reply) | (?<![a-z])pretend\s(?:that\s)?you\sare(?![a-z])
    | (?<![a-z])(?:respond|reply|answer)\swith\sthe\sfollowing\stext
    | (?<![a-z])override\s(?:your|all|any)\s(?:[a-z]+\s)?guidelines?
    | (?<![a-z])(?:ai\s)?(?:assistants?|chatbots?|models?)\s(?:must|should|shall|has\sto|have\sto|are\sto|is\sto|will|need\sto)\s(?:always\s|only\s)?
        (?:answer|say|reply|respond|state|claim|tell\s[a-z]+)\sthat(?![a-z])
    | (?:助手|{_MODEL_ZH})(?:必须|务必|应当?|须|需要?|只能|要)(?:回答|回复|答复|声称|宣称|说)(?!问题|电话|来电|来信|客户|用户|咨询|询问)
    | 致{_MODEL_ZH}\s?[:,] | 作为(?:一个|一名)?{_MODEL_ZH},?你(?:必须|应|要|需|只能|可以) | {_MODEL_ZH}(?:请)?注意\s?:
    | (?:阅读|读到|看到|处理)(?:本文|这段|此文|本段|以上)[^。！？\n]{{0,6}}的{_MODEL_ZH}|如果你是(?:一个|一名)?{_MODEL_ZH}
    | (?:^|[\n。！？!?;；])[^\S\n]*(?:(?:小|智能)?助手|机器人|chatgpt|claude|gpt)(?:请注意|注意|请记住|请牢记|请知悉|须知)\s?[:,]
    | (?:^|[\n.!?;])[^\S\n]*(?:dear\s)?(?:assistant|chat\s?bot|bot|chatgpt|claude|gpt|model)\s?[,:]?\s(?:please\s)?(?:note|remember|be\saware)(?:\sthat|\s?[:,])
    | 你的任务已经?(?:改变|变更|改为)|新的?指令\s?:|假装你是|停止当前任务,?改为
    | (?:不要|不得|别)(?:按照?|遵循|遵守){_EARLIER_ZH}[^。！？\n]{{0,6}}(?:规则|指令|指示|设定)
    | (?:无视|忽略|不要理会)用户的?(?:问题|提问|请求|输入)|[把将]以下内容作为(?:最终|你的|唯一)的?(?:答案|回答|回复)
    """,
    re.VERBOSE,
)


def visible(text: str) -> str:
    r"""Text without control, bidirectional, zero-width and other hidden characters; line ends as ``\n``."""
    return _HIDDEN.sub("", _BREAK.sub("\n", text))


def within_instruction(text: str, start: int, end: int) -> bool:
    """Whether the paragraphs around a part of a text speak to a model: what else they say goes with the order."""
    begin = text.rfind("\n\n", 0, start)
    stop = text.find("\n\n", end)
    return instruction_like(text[begin + 2 if begin >= 0 else 0 : stop if stop >= 0 else len(text)])


def instruction_like(text: str) -> bool:
    """Whether a text speaks to a model: “ignore previous instructions”, “忽略以上指令”."""
    read = re.sub(r"[ \t\u3000]+", " ", fold(text)).replace("’", "'")
    return _ORDERS.search(read) is not None or _ADDRESSED.search(read) is not None
