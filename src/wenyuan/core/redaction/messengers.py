"""Redaction rules for accounts of messengers that the messenger's name announces: Skype, Telegram, Line, 钉钉, V信."""

from __future__ import annotations

import re

from wenyuan.core.redaction.matching import Rule, Span
from wenyuan.core.redaction.text_view import TextView

_MESSENGERS = (
    "微信|企业微信|v信|薇信|威信|钉钉|飞书|抖音|快手|小红书|微博|陌陌|qq|wechat|weixin|vx|wx|skype|telegram|tg|whatsapp|line|kakaotalk|kakao|viber|signal|discord"
    "|slack|dingtalk|lark|feishu|instagram|ins|ig|twitter|facebook|messenger"
)
_FIRSTS = "".join(sorted({name[0] for name in _MESSENGERS.split("|")}))
_BEGUN = "|".join(f"(?<={name[0]}){name[1:]}" for name in _MESSENGERS.split("|"))
_ANNOUNCED = re.compile(
    rf"[{_FIRSTS}](?<![a-z0-9_\-@./][a-z])(?:{_BEGUN})(?:搜索?)?(?P<said>\s?(?:号码?|账号|帐号|用户名|id|account|handle|user ?name))?"
    r"[\"']?(?P<by>\s{0,2}(?:[:=]|是|为|is)\s{0,3}|\s{0,2})(?:<t[dh]>|[*|(\[【\"'“「`]){0,3}\s?(?P<at>@)?(?P<name>[a-z0-9][a-z0-9_.\-]{3,31}(?<![.\-]))(?![a-z0-9_@/]|[.\-][a-z0-9])"
)
_NEEDS = tuple(_MESSENGERS.split("|"))
_FILE = re.compile(r"\.(?:com|net|org|cn|io|exe|apk|dmg|zip|html?|js|py|md|txt|pdf|so|dll)\Z")
_PROGRAM = re.compile(r"wx[0-9a-f]{16}")  # the number of a mini program
_VERSION = re.compile(r"v?[0-9]+(?:[.\-][0-9a-z]+)+")


def _account(view: TextView, match: re.Match[str]) -> Span | None:
    """A word with digits or signs in it, or any word after an @; numbers alone where an account is said."""
    before = view.lower[match.start() - 1 : match.start()]
    if match[0][0].isascii() and before.isascii() and before and (before.isalnum() or before in "_-@./"):
        return None
    name, by = match["name"], match["by"].strip()
    if _FILE.search(name) or _PROGRAM.fullmatch(match[0]) or _VERSION.fullmatch(name):
        return None
    mixed = any(map(str.isalpha, name)) and not name.isalpha()
    if match[0].startswith("line") and not match["at"] and not (match["said"] and mixed):
        return None  # a line of text or of a works
    known = match["at"] is not None or (match["said"] is not None and bool(by) and not name.isalpha())
    if match[0].startswith("skype") and mixed and not known:
        return match.start("name"), match.end("name"), name
    if not known and not (mixed and (by or match["said"] or any(map(str.isdigit, name)))):
        return None
    if not known and not by and name.replace("-", "").isalpha():
        return None  # telegram end-to-end
    return match.start("name"), match.end("name"), name


RULES = (Rule("im_account", _ANNOUNCED, _account, needs=_NEEDS),)
