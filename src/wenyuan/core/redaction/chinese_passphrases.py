"""Redaction rules for passwords of Chinese characters behind their word: 密码：床前明月光, 口令为“今晚吃火锅”.

A description of a password stands there as well (密码：区分大小写, 口令由系统生成). What such descriptions are made of is known.
"""

from __future__ import annotations

import re

from wenyuan.core.redaction.matching import IN_HAN, Rule, Span
from wenyuan.core.redaction.text_view import TextView
from wenyuan.core.text.folding import HAN

_SAID = re.compile(
    rf"(?:密码|口令|暗号|暗语|通关语)[ ]?(?:[:：][ ]?|[是为即][:：]?[ ]?)?(?P<open>[\"'“‘「『【《]?)(?P<value>[{HAN}]{{3,16}}[0-9]{{0,8}})(?P<close>[\"'”’」』】》]?)(?=[ ]?(?:\Z|[\n,.;!|()，。；！、]))"
)
_DESCRIBES = re.compile(
    "请|询|问|见|已|未|须|需|应|可以|不|无|待|同|由|其|此|该|或|和|及|与|等|的|了|被|将|把|位数|几位|[0-9一二三四六八十]位|大小写|重置|修改|更改|变更|设置|设定|默认|初始|短信|邮[件箱]|管理|联系|发送|获取|生成|输入|录入|错误|正确|忘记|遗忘|找回|过期|有效|什么|多少|哪|要求|长度|字母|数字|字符|符号|组合"
    "|规则|策略|保密|泄露|加密|解密|工号|手机|电话|号码|生日|身份|证件|文件|系统|用户|账[号户]|登录|登陆|验证|认证|保护|安全|强度|复杂|简单|统一|随机|动态|静态|明文|存储|保存|保管|传输|定期|最近|尝试|锁定|解锁|凭证|服务|说明|如下|上面|下面|空白|为空|必填|选填|支持|通过|使用|告知|通知|另|单独|线下|当面|口头|管控|制度|工具|方式|方法|框|栏|学|技术|算法|一致|不符|相同"
)
_SHORTEST_STATED = 4


def _phrase(view: TextView, match: re.Match[str]) -> Span | None:
    value = match["value"]
    quoted = bool(match["open"] and match["close"])
    said = view.text[match.start() : match.start("open")]
    if _DESCRIBES.search(value) or not (quoted or said[-1:] in ":：是为即 " or said.endswith(": ")):
        return None
    if not quoted and (len(value) < _SHORTEST_STATED or (said[-1:] == " " and ":" not in said)):
        return None
    return match.start("value"), match.end("value"), value


RULES = (
    Rule("secret", _SAID, _phrase, needs=("密码", "口令", "暗号", "暗语", "通关语"), signs=IN_HAN, written=True),
)
