"""Redaction rules for passwords and keys in the configuration of programs and devices: blocks of settings, routers, WiFi, scripts."""

from __future__ import annotations

import re

from wenyuan.core.redaction.matching import IN_DIGITS, Rule, Span
from wenyuan.core.redaction.passwords import holds_the_place, is_telling
from wenyuan.core.redaction.text_view import TextView

_EDGE = ".,;:!?。，；、)]}"


def _at(match: re.Match[str], view: TextView, group: str = "value") -> Span:
    start, end = match.span(group)
    return start, end, view.text[start:end]


def _any(view: TextView, match: re.Match[str]) -> Span | None:
    """A place that holds nothing but a password: any word that is no place holder."""
    span = _at(match, view)
    return None if holds_the_place(span[2]) else span


def _code(view: TextView, match: re.Match[str]) -> Span | None:
    """A place that may hold a description, too: a word with digits or signs."""
    span = _at(match, view)
    return span if len(span[2]) >= 4 and is_telling(span[2]) else None


# user=root⏎password=lantern; username: bob⏎password: lantern: a plain word counts beside the name of a user, or where no
# line is indented and nothing stands around the sign.
_LINE = re.compile(
    r"(?:\A|[\n \t\-])(?:passw(?:or)?d|passphrase|pwd)[ \t]{0,24}(?P<sign>[:=])[ \t]{0,24}[\"']?(?P<value>[^\s\"',;(){}\[\]<>]{4,128})[\"']?[ \t]{0,3}(?=\n|\Z)"
)
_USER_BEFORE = re.compile(
    r"(?:\A|\n)[ \t\-]{0,12}(?:user(?:_?name|_?id)?|login|account|uid|用户名?|账号)[ \t]{0,3}[:=][ \t]{0,3}[^\s:=]{1,80}[ \t]{0,3}\n(?:[^\n]{0,80}\n){0,2}[ \t\-]{0,12}\Z"
)
_USER_AFTER = re.compile(
    r"\n(?:[^\n]{0,80}\n){0,2}[ \t\-]{0,12}(?:user(?:_?name|_?id)?|login|account|uid|用户名?|账号)[ \t]{0,3}[:=][ \t]{0,3}[^\s:=]{1,80}[ \t]{0,3}(?:\n|\Z)"
)
_SECTION = re.compile(r"(?:\A|\n)\[[^\[\]\n]{1,60}\][ \t]{0,3}\n(?:[a-z][a-z0-9_.\-]{0,40}=[^\n]{0,200}\n){0,6}\Z")


def _line(view: TextView, match: re.Match[str]) -> Span | None:
    span = _at(match, view)
    if holds_the_place(span[2]):
        return None
    low, begin = max(0, match.start() - 300), match.start() + (not match[0][0].isalpha())
    if match["sign"] == "=" and _SECTION.search(view.lower, low, begin):
        return span
    beside = _USER_BEFORE.search(view.lower, low, begin) or _USER_AFTER.match(
        view.lower, match.end(), match.end() + 300
    )
    return span if beside else None


# .pgpass: host:port:database:user:password
_PGPASS = re.compile(
    r"(?:\A|\n)[a-z0-9.\-*_]{1,80}:(?:[0-9]{2,5}|\*):[^\s:]{1,64}:[^\s:]{1,64}:(?P<value>[^\s]{4,128})(?=\n|\Z)"
)

# enable secret 5 $1$…, username u password 7 0822…, snmp-server community x RO, radius-server key x, crypto isakmp key x.
_DEVICES = re.compile(
    r"(?:\A|\n)[ \t]{0,8}(?:(?:enable|username \S{1,40}(?: privilege [0-9]{1,2})?|neighbor \S{1,60}|local-user \S{1,40}|set authentication) (?:secret|password)(?: (?:level [0-9]{1,2}|cipher|simple|irreversible-cipher))?"
    r"|snmp-server community|snmp-agent community (?:read|write)(?: cipher)?|(?:tacacs|radius)-server (?:host \S{1,60} )?(?:key|shared-key(?: cipher)?)|(?:crypto isakmp|crypto ikev2|ip ospf message-digest|ntp authentication-key [0-9]{1,5} md5"
    r"|ip ospf authentication)-?(?: ?key)?(?: [0-9]{1,3} md5)?|key-string|pre-shared-key(?: (?:ascii-text|local|remote|address \S{1,40}|cipher|simple|key)){0,3}|wpa-psk ascii(?: [0-9])?|standby [0-9]{1,3} authentication(?: md5 key-string)?)"
    r"(?: [0-9])? [\"']?(?P<value>[^\s\"'<>]{4,200})"
)
_GOES_ON = re.compile(r"[ ](?!r[ow](?![a-z])|address |hostname |ipv[46] |view |level )[a-z]")


def _device(view: TextView, match: re.Match[str]) -> Span | None:
    """A plain word counts where no sentence goes on after it."""
    span = _at(match, view)
    plain = span[2].isalpha() and span[2].islower() and _GOES_ON.match(view.lower, span[1]) is not None
    return None if plain or holds_the_place(span[2]) else span


# A key on a line of its own, below the server that it is for.
_DEVICE_KEY = re.compile(
    r"(?:\A|\n)(?:radius|tacacs|aaa|crypto|snmp|hostname|username|enable)[^\n]{0,200}\n(?:[^\n]{0,200}\n){0,5}?[ \t]{1,8}key(?: [0-9])? (?P<value>[^\s\"'<>]{4,200})(?=\n|\Z)"
)

# WIFI:T:WPA;S:name;P:word;; psk="word"; wpa_passphrase=word; PresharedKey = …
_WIFI = re.compile(r"wifi:(?:[tsrh]:[^;\n]{0,64};){1,4}p:(?P<value>(?:[^;\\\n]|\\.){4,64});")
_PSK = re.compile(
    r"[pws](?<![a-z0-9_\-.].)(?:sk|pa_psk|pa_passphrase|ae_password|ifi_password|ep_key0)[ \t]{0,3}=[ \t]{0,3}[\"']?(?P<value>[^\s\"';]{5,128})"
)
_NOTED = re.compile(
    r"(?:preshared-?key|pre-shared key|shared secret|client-key-data|tls\.key|client-secret|encryption[_\- ]key|signing[_\- ]key|master[_\- ]key|session[_\- ]key|cookie[_\- ]key|hmac[_\- ]key"
    r"|jwt[_\- ]key|aes[_\- ]key|consumer[_\- ]key|license[_\- ]key|storage[_\- ]key|recovery[_\- ]key|app[_\- ]key|salt)[\"'`]?[ \t]{0,3}[:=][ \t]{0,3}[\"'`]?"
    r"(?P<value>[a-z0-9+/=_.:~\-]{8,4096})"
)

# define("AUTH_KEY", "…"); SECRET_KEY = '…'; "signing-key": "…"; ['password'] = '…'; smtpPass = "…": all between the quotes.
_QUOTED_KEY = re.compile(
    r"(?:key|secret|salt|token|密钥|私钥|令牌)[\"'`]?\]?[ \t]{0,3}(?:=>?|:|,)[ \t]{0,12}(?P<by>[\"'`])(?P<value>[^\s\"'`<>][^\n\"'`<>]{7,300})(?P=by)"
)
_NAMES_SECRET = re.compile(
    r"(?:secret(?:[_\-]key)?|(?:auth|logged_in|nonce|secure_auth|signing|encryption|master|session|cookie|private|api|access|secret|app|jwt|hmac|aes|csrf|webhook|consumer|shared)[_\-]?(?:key|salt|token|secret))\Z"
)
_QUOTED_PASS = re.compile(
    r"(?:pass(?:wd|word|phrase)?|pwd|密码|口令)[\"'`]?\][ \t]{0,3}=>?[ \t]{0,3}[\"'`](?P<value>[^\s\"'`<>]{3,200})[\"'`]"
)
_CAMEL_PASS = re.compile(
    r"(?:[a-z0-9](?=P)|[_.\-](?=p))[Pp]ass[\"'`]?\]?[ \t]{0,3}(?:=>?|:)[ \t]{0,3}[\"'`](?P<value>[^\s\"'`<>]{3,200})[\"'`]"
)


def _quoted_key(view: TextView, match: re.Match[str]) -> Span | None:
    end = re.match(r"[a-z]+|[\u4e00-\u9fff]+", match[0])
    stop = match.start() + (end.end() if end else 0)
    if not _NAMES_SECRET.search(view.lower, max(0, stop - 24), stop) and not match[0][0] > "z":
        return None
    span = _at(match, view)
    listed = "," in view.lower[stop : span[0]] and "(" not in view.lower[max(0, match.start() - 40) : match.start()]
    if listed or holds_the_place(span[2]) or span[2].startswith("arn:"):
        return None
    signs = sum(not c.isalnum() and c not in " .-_" for c in span[2])
    digits = sum(map(str.isdigit, span[2]))
    return span if (" " not in span[2] and is_telling(span[2])) or (signs >= 2 and signs + digits >= 4) else None


# ConvertTo-SecureString "x"; -Password x; SetEnvironmentVariable("API_TOKEN", "x"); $env:DB_PASSWORD = 'x'.
_SHELL = re.compile(
    r"(?:convertto-securestring(?:[ \t]{1,3}-string)?[ \t]{1,3}[\"']|(?<=\s)-(?:password|accountpassword|token|apikey|secret)[ \t]{1,3}[\"']"
    r"|setenvironmentvariable\([ \t]{0,2}[\"'][a-z0-9_]{0,40}(?:password|passwd|pwd|token|secret|key)[\"'],[ \t]{0,3}[\"'])(?P<value>[^\s\"'$][^\n\"']{2,200})[\"']"
)
# DRIVER=…;PWD={x}; oracle:thin:scott/x@…; sqlplus scott/x@…
_BRACED = re.compile(r"(?:pwd|password)[ \t]{0,2}=[ \t]{0,2}\{(?P<value>[^{}\n]{3,128})\}")
_ORACLE = re.compile(r"oracle:(?:thin|oci8?):[a-z0-9_$#.]{1,40}/(?P<value>[^\s@/\"']{3,100})@")
_MAVEN = re.compile(r"<(?:password|passphrase)>[ \t]{0,3}(?P<value>\{[a-z0-9+/=]{12,200}\})[ \t]{0,3}</")
_OPENSSL = re.compile(r"openssl[ \t][^\n]{1,120}?[ \t]-k[ \t]{1,3}[\"']?(?P<value>[^\s\"'\-][^\s\"']{2,200})")
_NET_USE = re.compile(
    r"net[ \t]{1,3}use[ \t]{1,3}\S{1,80}[ \t]{1,3}\S{3,100}[ \t]{1,3}(?P<value>[^\s/]{4,100})[ \t]{1,3}/user:"
)


# root / Mima!2023; test01/Test@1234 after a word for an account: only what no path and no word is.
# Each way begins with a letter of its own, so that the matcher skips to one of these.
_ACCOUNT = "[号户]?[:是为 ]{0,3}[a-z0-9_.@\\-]{2,40}"
_USERS = (
    *"root admin administrator sa postgres sysadmin superuser".split(),
    *(f"{c}{_ACCOUNT}" for c in "账帐"),
    *(f"{word}[账帐]{_ACCOUNT}" for word in "测试 登录 管理员? 演示 体验 默认".split()),
)
_BESIDE_USER = re.compile(
    rf"(?:{'|'.join(_USERS)})[ \t]{{0,2}}[/|｜][ \t]{{0,2}}(?P<value>[!-.0-~]{{6,64}})(?![!-~])"
)


_NO_CODE = frozenset("|()'\"<>")


def _beside_user(view: TextView, match: re.Match[str]) -> Span | None:
    before = view.lower[match.start() - 1 : match.start()]
    if before.isascii() and before and (before.isalnum() or before in "/_.-@"):
        return None
    start, _end, value = _at(match, view)
    while value and value[-1] in _EDGE:
        value = value[:-1]
    kinds = sum(any(is_of(c) for c in value) for is_of in (str.islower, str.isupper, str.isdigit))
    kinds += any(not c.isalnum() and c not in "._-" for c in value)
    if kinds < 3 or holds_the_place(value) or not _NO_CODE.isdisjoint(value) or not any(map(str.isdigit, value)):
        return None
    return start, start + len(value), value


# CVC 731; CVV2：482; 安全码 482 of a card.
_CVC = re.compile(
    r"(?:cvv2?|cvc2?|cv2|card verification (?:code|number)|卡背面?(?:后)?三位(?:数|码)?|信用卡安全码)(?![a-z])[ \t]{0,2}(?:[:=是为(]|is|code|码)?[ \t:]{0,3}(?P<value>[0-9]{3,4})(?![0-9])"
)
# 动态口令 119 204; 密码是38-12-55; 路由器的密码，改成了 luyou2020; Wi-Fi code for the annex is latte-4.
_GROUPS = re.compile(
    r"(?:密码|口令|动态码|验证码|passcode|pin|safe code|combination)[ \t]{0,2}(?:[:=]|是|为|is)?[ \t]{0,3}(?P<value>[0-9]{2,4}(?:[ \-][0-9]{2,4}){1,3})(?![0-9\-])"
)
_CHANGED = re.compile(
    r"(?:密码|口令)[,;，；]?[ \t]{0,2}(?:已经|现在|昨天|今天|刚刚?|又)?(?:改成|改为|换成|换为|设成|设为|重置为|重置成|变成)了?[:： \t]{0,3}[\"'“「`]?(?P<value>[!-~]{4,64})"
)
_WIFI_CODE = re.compile(
    r"(?:wi-?fi|wlan|wpa[23]?(?:-psk)?) (?:code|key|password|pass|login)(?: (?:for|of|in|at) (?:[a-z]{1,16} ){1,4})?(?:[ ]?(?:is|was|:|=)|(?=[ ][\"“]))[: ]{0,2}[\"'“`*]{0,3}(?P<value>[!-~]{5,64})"
)
# 商户私钥 MIIE…: the key as one block, without its frame.
_BLOCK = re.compile(
    r"(?:私钥|private[_ \-]key)[^\n]{0,12}?[:：=\s\"'`(]{1,4}(?P<value>[A-Za-z0-9+/]{40,8192}={0,2})(?![A-Za-z0-9+/=])"
)


def _groups(view: TextView, match: re.Match[str]) -> Span | None:
    span = _at(match, view)
    return span if sum(map(str.isdigit, span[2])) >= 6 and not _DATE.fullmatch(span[2]) else None


_DATE = re.compile(r"(?:19|20)[0-9]{2}[ \-][0-9]{1,2}(?:[ \-][0-9]{1,2})?|(?:19|20)[0-9]{2}[ \-](?:19|20)[0-9]{2}")


def _trimmed(view: TextView, match: re.Match[str]) -> Span | None:
    start, _, value = _at(match, view)
    while value and value[-1] in _EDGE + "\"'”」`*":
        value = value[:-1]
    if len(value) < 4 or not is_telling(value):
        return None
    return start, start + len(value), value


_PASS_NEEDS = ("password", "passwd", "passphrase", "pwd")
_KEY_NEEDS = ("key", "secret", "salt", "token", "密钥", "私钥", "令牌")

RULES = (
    Rule("secret", _LINE, _line, needs=_PASS_NEEDS),
    Rule("secret", _PGPASS, _any, needs=(":*:", ":5432:", ":5433:", ":6432:", ":543")),
    Rule("secret", _DEVICES, _device, needs=("secret", "password", "community", "-key", "isakmp", "ospf", "key-string", "ikev2", "psk", "standby")),
    Rule("secret", _DEVICE_KEY, _code, needs=(" key ",)),
    Rule("secret", _WIFI, _any, needs=("wifi:",)),
    Rule("secret", _PSK, _any, needs=("psk", "wpa_passphrase", "sae_password", "wifi_password", "wep_key0")),
    Rule("secret", _NOTED, _code, needs=(*_KEY_NEEDS, "client-key-data")),
    Rule("secret", _QUOTED_KEY, _quoted_key, needs=_KEY_NEEDS),
    Rule("secret", _QUOTED_PASS, _any, needs=(*_PASS_NEEDS, "pass", "密码", "口令")),
    Rule("secret", _CAMEL_PASS, _any, needs=("pass",), cased=True),
    Rule("secret", _SHELL, _any, needs=("securestring", "-password", "-accountpassword", "-token", "-apikey", "-secret", "setenvironmentvariable")),
    Rule("secret", _BRACED, _any, needs=("pwd", "password")),
    Rule("secret", _ORACLE, _any, needs=("oracle:",)),
    Rule("secret", _MAVEN, lambda view, match: _at(match, view), needs=("<pass",)),
    Rule("secret", _OPENSSL, _any, needs=("openssl",)),
    Rule("secret", _NET_USE, _any, needs=("/user:",)),
    Rule("secret", _BESIDE_USER, _beside_user, needs=("root", "admin", "sa", "postgres", "superuser", "账", "帐"), signs=IN_DIGITS),
    Rule("secret", _CVC, lambda view, match: _at(match, view), needs=("cvv", "cvc", "cv2", "verification", "三位", "安全码"), signs=IN_DIGITS),
    Rule("secret", _GROUPS, _groups, needs=("密码", "口令", "动态码", "验证码", "passcode", "pin", "safe code", "combination"), signs=IN_DIGITS),
    Rule("secret", _CHANGED, _trimmed, needs=("密码", "口令")),
    Rule("secret", _WIFI_CODE, _trimmed, needs=("wifi", "wi-fi", "wlan ", "wpa")),
    Rule("secret", _BLOCK, _code, needs=("私钥", "private key", "private_key", "private-key"), cased=True),
)  # fmt: skip
