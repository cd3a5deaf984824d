"""Redaction rules for secrets as they are said in talk and typed at a prompt: question and answer, *root, x*, ``<<< x``, ``/rp x``."""

from __future__ import annotations

import re

from wenyuan.core.redaction.matching import IN_DIGITS, Rule, Span
from wenyuan.core.redaction.passwords import holds_the_place, is_telling
from wenyuan.core.redaction.text_view import TextView

_EDGE = ".,;:!?。，；：！？、)）]】」』\"'`”’*"
_SIGNS = frozenset("!@#$%^&*_+=~?-")
_NO_SECRET = re.compile(
    r"[a-z]{2,8}://|\.{0,2}/|v?[0-9]+(?:\.[0-9]+)+|[0-9]{1,4}[-/:.][0-9]{1,2}|[^@]{1,40}@[a-z0-9\-]+\.[a-z]{2,6}\Z|[a-z_\-]+[0-9]\Z|[a-z]+-[0-9]{1,2}\Z|[0-9]+[a-z%]{1,3}\Z|.*\.(?:md|py|txt|docx?|xlsx?|pdf|png|jpg|zip|log|sh|bat|exe|json|ya?ml|conf)\Z|#[0-9]+\Z",
    re.IGNORECASE,
)


def _coded(view: TextView, match: re.Match[str], kinds: int = 2) -> Span | None:
    """A word with letters and with digits or signs, of so many kinds of characters."""
    start, value = match.start("value"), view.text[match.start("value") : match.end("value")]
    while value and value[0] in ",;:.":
        start, value = start + 1, value[1:]
    while value and value[-1] in _EDGE:
        value = value[:-1]
    has = (
        any(map(str.isalpha, value)),
        any(map(str.isdigit, value)),
        not _SIGNS.isdisjoint(value),
        value != value.lower(),
    )
    if len(value) < 6 + 2 * (sum(has) == 2) or not has[0] or not has[1] or sum(has) < kinds:
        return None
    return (start, start + len(value), value) if is_telling(value) and not _NO_SECRET.match(value) else None


def _signed(view: TextView, match: re.Match[str]) -> Span | None:
    before = view.lower[match.start() - 1 : match.start()]
    return None if before.isascii() and (before.isalnum() or before in "_/.-@") and before else _coded(view, match, 3)


_VALUE = r"[\"'“「`(【\[*]{0,2}(?P<value>[!-;=?-~]{6,64})"
# 跳板机 root，x; admin, x: the name of a user whom every machine has, and what no word is.
_USER = re.compile(
    rf"(?:root|admin|administrator|sa|oracle|postgres|mysql|ubuntu|centos|guest|sysdba|superuser|超管|管理员)[ ]{{0,2}}(?:[,，、;|]|[ ]|pw |pass |pwd )[ ]{{0,2}}{_VALUE}(?=[\s,，。;；、)）]|\Z)"
)
# 密码还是老的那个 x; pw x: some words between, and the value behind a space at the end of what is said.
_SPACED = re.compile(
    rf"(?:密码|口令|passwd|pass|pwd|pw)(?:[\u4e00-\u9fff]{{1,10}}|[ ](?:still |again |now )?)[ ]{{0,2}}(?<=[ \u4e00-\u9fff]){_VALUE}(?=\s{{0,2}}(?:\n|\Z|[,，。;；、)）]))"
)
# A asks for a password, and B's next line has it.
_ASKED = re.compile(
    r"(?:password|passwd|pass|pwd|login|wi-?fi|密码|口令|账号|怎么进|怎么登录?)[^\n]{0,60}\n{1,2}(?:[^\n:：]{1,24}[:：][ ]{0,2})"
    rf"(?:(?:it'?s|its|is|it is|still|now|try|use|yes|yep|yeah|sure|ok|的?是|就是|还是|用|好像是|试试)[ ,，]{{0,2}}){{0,3}}{_VALUE}"
)
# sudo -S <<< "x"; chpasswd <<< "user:x"
_HERE = re.compile(
    r"(?:sudo|passwd|su|chpasswd|cryptsetup|kinit|mysql)[^\n<]{0,60}<<<[ ]{0,2}[\"']?(?:[a-z0-9_.\-]{1,40}:)?(?P<value>[^\s\"'$:]{4,100})"
)
# -AsPlainText "x"; schtasks /rp x; redis-server --requirepass x; requirepass x; masterauth x
_PLACED = re.compile(
    r"(?:-asplaintext[ \t]{1,3}(?:-force[ \t]{1,3})?[\"']|[ ]/rp[ ]{1,2}[\"']?|(?:\A|[\n \-])(?:requirepass|masterauth|masterpass)[ \t]{1,3}[\"']?|(?:\A|\n)[ \t]{0,8}(?:user|login)[ ][^\s:=]{1,40}[ ](?=[^\s]{0,60}[0-9_!@#]))"
    r"(?P<value>[^\s\"'$]{4,128})"
)
# "pass": "x"; DefaultPassword /t REG_SZ /d x; send "x\r"
_KEYED = re.compile(
    r"(?:[\"'](?:pass|pw|psk|passcode)[\"'][ \t]{0,4}[:=][ \t]{0,4}[\"']|password[ ]/t[ ]reg_sz[ ]/d[ ]{1,2}[\"']?|(?:\A|[\s;{])send[ ](?:-- )?[\"](?=[^\"\n]{4,80}\\[rn]\"))(?P<value>[^\s\"'$\\]{4,128})"
)
# recovery code is 8H2K-99QT-LM4X; previously it was x
_RECOVERY = re.compile(
    r"(?:recovery|backup|restore|activation|unlock|rescue|恢复|备份)[ ]?(?:codes?|keys?|代?码)(?:[ ](?:is|was)|[:=是为])[ ]{0,2}(?P<value>[0-9a-z]{4,8}(?:-[0-9a-z]{4,8}){1,7})(?![0-9a-z\-])"
)
# https://9d1f…@host/4: the key that a service is told by.
_URL_KEY = re.compile(r"://(?P<value>[0-9a-z_\-]{16,128})@(?=[a-z0-9\[])")


def _whole(view: TextView, match: re.Match[str]) -> Span | None:
    start, end = match.span("value")
    value = view.text[start:end]
    return (
        None
        if holds_the_place(value) or (match.re is _URL_KEY and not any(map(str.isdigit, value)))
        else (start, end, value)
    )


def _said(view: TextView, match: re.Match[str]) -> Span | None:
    before = view.lower[match.start() - 1 : match.start()]
    return None if before.isascii() and (before.isalnum() or before in {"_", "-"}) and before else _coded(view, match)


RULES = (
    Rule("secret", _USER, _signed, needs=("root", "admin", "sa", "oracle", "postgres", "mysql", "ubuntu", "centos", "guest", "sysdba", "superuser", "超管", "管理员"), signs=IN_DIGITS),
    Rule("secret", _SPACED, _said, needs=("密码", "口令", "pass", "pwd", "pw"), signs=IN_DIGITS),
    Rule("secret", _ASKED, _said, needs=("pass", "pwd", "login", "wifi", "wi-fi", "密码", "口令", "账号", "怎么进", "怎么登"), signs=IN_DIGITS),
    Rule("secret", _HERE, _whole, needs=("<<<",)),
    Rule("secret", _PLACED, _whole, needs=("-asplaintext", "/rp", "requirepass", "masterauth", "masterpass", "user ", "login ")),
    Rule("secret", _KEYED, _whole, needs=("pass", "pw", "psk", "send ")),
    Rule("secret", _RECOVERY, _whole, needs=("code", "key", "码"), signs=IN_DIGITS),
    Rule("secret", _URL_KEY, _whole, needs=("://",)),
)  # fmt: skip
