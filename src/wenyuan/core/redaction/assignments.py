"""Redaction rules for passwords that a name of a program is set to, or a call is given: ``db_password = …``, ``SetBasicAuth("u", "…")``."""

from __future__ import annotations

import re

from wenyuan.core.redaction.matching import IN_DIGITS, Rule, Span, cue_before
from wenyuan.core.redaction.passwords import holds_the_place, is_telling
from wenyuan.core.redaction.text_view import TextView

# A name of several parts that ends in a word for passwords is no word of a sentence: what the rest of its line holds is one.
_NAMED = re.compile(
    r"(?:[_.\-](?:password|passwd|passphrase|passcode|pass|pwd|pw|psk)|[a-z0-9](?:Password|Passwd|Passphrase|Pass|Pwd))[0-9]?[\"'\]]{0,2}[ \t]{0,24}(?P<sign>=>|:=|:|=)[ \t]{0,24}"
    r"(?P<quote>\"{3}|[\"'])?(?P<value>[^\s\"'`,()\[\]{}<>][^\s\"'`,()\[\]<>]{2,127}+)(?:\"{3}|[\"'])?(?=[ \t]{0,3}(?:#[^\n]{0,80})?(?:\n|\Z))",
    re.IGNORECASE,
)
_PART = re.compile(r"[A-Za-z_]\w{0,40}(?:\.[A-Za-z_]\w{0,40}){1,4}")
_SECTION = re.compile(r"(?:\A|\n)[ \t]{0,4}\[[^\[\]\n\"']{1,60}\][ \t]{0,3}\n")
_BACK = 1_500  # characters before a line in which its section begins


def _assigned_name(view: TextView, match: re.Match[str]) -> Span | None:
    """Without quotes, a word behind ``=`` with spaces is a name of a program, but below a section it is a value."""
    value, start = match["value"], match.start("value")
    if match[0][0].isalnum() and not match[0][1].isupper():
        return None  # bypass:
    if holds_the_place(value) or len(value) < _SHORTEST or _CALLED.match(value) or value.startswith(("$", "!", "/")):
        return None
    if match["quote"] is None and not is_telling(value):
        spaced = "=" in match["sign"] and view.text[match.start("sign") - 1] in " \t"
        if _PART.fullmatch(value) or (spaced and not _in_section(view, match.start())):
            return None
    return start, start + len(value), value


def _in_section(view: TextView, at: int) -> bool:
    return _SECTION.search(view.text, max(0, at - _BACK), at) is not None


_SHORTEST = 4
_CALLED = re.compile(r"[A-Za-z_][\w.]{0,60}[(\[]")

# pass = x below [remote]; user = bob⏎pass = x
_PASS = re.compile(
    r"(?:\A|\n)[ \t]{0,8}(?:pass|password|passwd|pw|secret|psk)[ \t]{0,24}=[ \t]{0,24}(?P<quote>\"{3}|[\"'])?(?P<value>[^\s\"'`]{4,128}+)(?:\"{3}|[\"'])?[ \t]{0,3}(?=\n|\Z)"
)


def _pass(view: TextView, match: re.Match[str]) -> Span | None:
    start = match.start("value")
    value = view.text[start : match.end("value")].rstrip(".,;")
    if (
        value.startswith("0x")
        or holds_the_place(value)
        or _CALLED.match(value)
        or not (_in_section(view, match.start() + 1) or is_telling(value))
    ):
        return None
    return start, start + len(value), value


# getConnection(url, "sa", "x"); new NetworkCredential("bob", "x"); SetBasicAuth("bob", "x"); root:x@tcp(…)
_CALL = re.compile(
    r"(?:getconnection|networkcredential|basicauth|httpbasicauth|httpdigestauth|usernamepassword[a-z]{0,24}|passwordauthentication|passwordcredentials?|\.login|\.authenticate|addcredentials?|setcredentials?|new_?auth)"
    r"\([ \t]{0,3}(?:[^()\"'\n]{1,60},[ \t]{0,3}|[\"'][a-z0-9:/.?=&;_\-]{8,120}[\"'],[ \t]{0,3}){0,2}[\"'][^\"'\n]{1,60}[\"'],[ \t]{0,3}[\"'](?P<value>[^\s\"'\n]{3,128})[\"']"
)
_DSN = re.compile(r"[a-z0-9_](?<![a-z0-9_/.\-].)[a-z0-9_]{0,40}:(?P<value>[^\s:@/\"'()]{3,100})@(?:tcp|unix)\(")
# : PSK "x", : EAP "x"; vpnuser pptpd x *; //nas/share … username=anna,password=x,uid=1000
_IPSEC = re.compile(r":[ \t]{1,4}(?:psk|eap|xauth|ntlm|pin)[ \t]{1,4}\"(?P<value>[^\"\n]{3,128})\"")
_CHAP = re.compile(
    r"(?:\A|\n)(?:\"[^\"\n]{1,40}\"|[a-z0-9@._\-]{1,40})[ \t]{1,8}(?:\*|pptpd|l2tpd|ppp|xl2tpd)[ \t]{1,8}\"?(?P<value>[^\s\"]{4,100})\"?[ \t]{1,8}(?:\*|[0-9.]{7,15})[ \t]{0,4}(?=\n|\Z)"
)
_PASS_ELEMENT = re.compile(
    r"<(?:[a-z]{1,12}:)?(?:pass|pw|psk|apitoken|api_token|accesstoken|clientsecret)(?:\s[^<>]{0,60})?>[ \t]{0,4}(?P<value>[^<>\s]{4,300})[ \t]{0,4}</"
)


def _any(view: TextView, match: re.Match[str]) -> Span | None:
    start, end = match.span("value")
    value = view.text[start:end]
    return None if holds_the_place(value) else (start, end, value)


# Login: sam.h / Pass: Nutmeg2020; pw is oatmeal-77; logs in with Kestrel-1188; a@b.cn / Popcorn!8; alarm code is 5519.
_SHORT = re.compile(r"(?:pw|pass)[ \t]{0,2}(?::|=|is|was)[ \t]{0,3}[\"'`*“]{0,3}(?P<value>[!-;=?-~]{5,64})")
_ENTERS = re.compile(
    r"(?:(?:log(?:s|ged)? ?in|log(?:s|ged)? on|sign(?:s|ed)? ?in|unlocks?(?: it)?|opens?(?: it)?) (?:with|using)|(?P<later>(?:reset|changed)(?: it)? to)) [\"'`*“]{0,3}(?P<value>[!-;=?-_a-~]{6,64})"
)
_OF_AN_ACCOUNT = re.compile(r"password|passwd|log[ -]?in|log(?:s|ged) in|log on|sign in|account|密码")
_ACCOUNT = re.compile(
    r"@[a-z0-9][a-z0-9\-]{0,40}(?:\.[a-z0-9\-]{1,40}){0,3}\.[a-z]{2,6}[ \t]{0,2}[/|][ \t]{0,2}(?P<value>[!-.0-;=?-~]{6,64})(?=[\s,;，；。]|\Z)"
)
_DOOR = re.compile(
    r"(?:alarm|gate|entry|keypad|lock|locker|lockbox|garage|elevator|safe|building|entrance|报警|开门|大门|单元门|楼道|指纹锁|门锁|防盗门)[ \t]?(?:code|pin|combination|密码|编码|管理员密码)(?: (?:is|was)|是|为|[:=])?[ \t:]{0,2}(?P<value>#?[0-9]{4,8}[#*]?)(?![0-9])"
)


def _secret_behind_colon(view: TextView, match: re.Match[str]) -> Span | None:
    """A word with letters, digits and, but behind a colon, signs."""
    before = view.lower[match.start() - 1 : match.start()]
    if before.isalnum() and before.isascii() and match.re is not _ACCOUNT:
        return None
    if match.re is _ENTERS and match["later"] and not cue_before(view, match.start(), _OF_AN_ACCOUNT, 100):
        return None  # the level was changed to 3-A
    start, value = match.start("value"), view.text[match.start("value") : match.end("value")]
    while value and value[-1] in ".,;:!?)]}\"'`*”":
        value = value[:-1]
    kinds = (
        any(map(str.isalpha, value)),
        any(map(str.isdigit, value)),
        any(not c.isalnum() and c not in "." for c in value),
        value != value.lower(),
    )
    needed = 2 if match.re is _SHORT else 3
    if (
        not kinds[0]
        or not kinds[1]
        or sum(kinds) < needed
        or not is_telling(value)
        or (match.re is not _SHORT and _NO_WORD.match(value.lower()))
    ):
        return None
    return start, start + len(value), value


_NO_WORD = re.compile(
    r"[a-z]{2,8}://|/|[0-9]+[a-z]{1,3}\Z|v?[0-9]+(?:\.[0-9]+)+|[0-9]{4}-[0-9]{2}|[a-z]+-[0-9]{1,3}\Z(?<!-[0-9]{3})"
)

RULES = (
    Rule("secret", _NAMED, _assigned_name, needs=("pass", "pwd", "pw", "psk"), cased=True),
    Rule("secret", _PASS, _pass, needs=("pass", "pw", "secret", "psk")),
    Rule("secret", _CALL, _any, needs=("connection", "auth", "credential", "login", "usernamepassword")),
    Rule("secret", _DSN, _any, needs=("@tcp(", "@unix(")),
    Rule("secret", _IPSEC, _any, needs=("psk", "eap", "xauth", "ntlm", "pin")),
    Rule("secret", _CHAP, _any, needs=("pptpd", "l2tpd", "ppp", "chap", " * ", "\t*\t")),
    Rule("secret", _PASS_ELEMENT, _any, needs=("<pass", ":pass", "<pw", "<psk", "token", "clientsecret")),
    Rule("secret", _SHORT, _secret_behind_colon, needs=("pw", "pass"), signs=IN_DIGITS),
    Rule("secret", _ENTERS, _secret_behind_colon, needs=("log", "sign", "reset", "changed", "unlock", "open"), signs=IN_DIGITS),
    Rule("secret", _ACCOUNT, _secret_behind_colon, needs=("@",), signs=IN_DIGITS),
    Rule("secret", _DOOR, _any, needs=("code", "pin", "combination", "密码", "编码"), signs=IN_DIGITS),
)  # fmt: skip
