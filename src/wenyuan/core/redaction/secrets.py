"""Rules for what opens doors: private keys, tokens, API keys, passwords."""

from __future__ import annotations

import re

from wenyuan.core.redaction.rule import Rule, Span
from wenyuan.core.redaction.view import View

__all__ = ["RULES"]

_PEM_BEGIN = re.compile(r"-----BEGIN (?:[A-Z0-9]{2,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_PEM_END = re.compile(r"-----END [A-Z0-9 ]{3,60}-----")
_PEM_LINES = re.compile(r"(?:\s{0,4}[A-Za-z0-9+/=]{16,128}+){0,256}")
_PEM_LIMIT = 16_384  # characters; the largest keys in use are a quarter of that


def _pem(view: View, match: re.Match[str]) -> Span | None:
    """The whole key; where its end is missing, the lines that look like one."""
    begin = match.end()
    at = view.text.find("-----END ", begin, begin + _PEM_LIMIT)
    end = _PEM_END.match(view.text, at) if at >= 0 else None
    stop = end.end() if end else _pem_lines(view.text, begin)
    return match.start(), stop, view.text[match.start() : stop]


def _pem_lines(text: str, begin: int) -> int:
    lines = _PEM_LINES.match(text, begin)
    return lines.end() if lines else begin


def _whole(view: View, match: re.Match[str]) -> Span | None:
    return match.start(), match.end(), match[0]


def _token(pattern: str, *needs: str) -> Rule:
    """A key that is known by its shape; `needs` are the literals it begins with."""
    return Rule(
        "secret", re.compile(rf"(?<![A-Za-z0-9])(?:{pattern})"), _whole, tuple(n.lower() for n in needs), True
    )


_SHAPES = (
    _token(r"eyJ[A-Za-z0-9_\-]{8,4096}\.[A-Za-z0-9_\-]{8,8192}(?:\.[A-Za-z0-9_\-]{0,2048})?", "eyj"),  # JWT
    _token(r"A(?:KIA|SIA|GPA|IDA|ROA)[0-9A-Z]{16}(?![0-9A-Za-z])", "akia", "asia", "agpa", "aida", "aroa"),
    _token(
        r"gh[pousr]_[A-Za-z0-9]{30,255}|github_pat_[A-Za-z0-9_]{22,255}",
        "ghp_",
        "gho_",
        "ghu_",
        "ghs_",
        "ghr_",
        "github_pat_",
    ),
    _token(r"glpat-[A-Za-z0-9_\-]{20,64}", "glpat-"),
    _token(r"xox[abeoprs]-[A-Za-z0-9\-]{10,255}", "xox"),
    _token(r"https://hooks\.slack\.com/services/[A-Za-z0-9/]{20,128}", "hooks.slack.com"),
    _token(r"sk-[A-Za-z0-9_\-]{20,255}", "sk-"),
    _token(r"[srp]k_(?:live|test)_[A-Za-z0-9]{16,128}|whsec_[A-Za-z0-9]{20,64}", "k_live_", "k_test_", "whsec_"),
    _token(r"AIza[0-9A-Za-z_\-]{35}", "aiza"),
    _token(r"npm_[A-Za-z0-9]{36}", "npm_"),
    _token(r"pypi-[A-Za-z0-9_\-]{40,512}", "pypi-"),
    _token(r"hf_[A-Za-z0-9]{30,64}", "hf_"),
    _token(r"LTAI[A-Za-z0-9]{12,30}(?![A-Za-z0-9])", "ltai"),  # Aliyun
    _token(r"AKID[A-Za-z0-9]{13,48}(?![A-Za-z0-9])", "akid"),  # Tencent Cloud
    _token(r"SG\.[A-Za-z0-9_\-]{16,32}\.[A-Za-z0-9_\-]{32,64}", "sg."),
    _token(r"[0-9]{8,10}:AA[A-Za-z0-9_\-]{32,36}", ":aa"),  # Telegram bots
)

_SAID = re.compile(
    r"(?:pass(?:word|wd|phrase)|pwd|secret|token|(?:api|access|private|account|secret|auth)[_\- ]?key|密码|口令|密钥|秘钥|令牌)"
    r"[a-z0-9_]{0,24}[\"'*`]{0,3}\s{0,3}(?:[:=]{1,2}>?|是|为)\s{0,3}[\"'*`]{0,3}"
    r"(?P<value>[a-z0-9+/_\-.=!@#%^&*~|?$]{6,512}+)(?![(\[{])"
)
_SAID_NEEDS = ("passw", "passphrase", "pwd", "secret", "token", "key", "密码", "口令", "密钥", "秘钥", "令牌")
_BEARER = re.compile(r"(?:bearer|basic)\s{1,3}(?P<value>[a-z0-9+/_\-.=~]{16,2048})")
_URL = re.compile(r"://(?P<value>[^\s/@:\"'<>]{0,64}:[^\s/\"'<>]{1,200})@(?=[A-Za-z0-9\[])")
_FOLDER = re.compile(r"(?:~|/[\w.\-]+)(?:/[\w.\-]+)+/?")
_CLASSES = (str.islower, str.isupper, str.isdigit)


def _mixed(value: str) -> bool:
    """Whether a word is more than a word: at least two of lower case, upper case, digits, symbols."""
    kinds = sum(any(is_of(c) for c in value) for is_of in _CLASSES)
    return kinds + any(not c.isalnum() and c not in ".-" for c in value) >= 2


def _said(view: View, match: re.Match[str]) -> Span | None:
    value = view.text[match.start("value") : match.end("value")].rstrip(".")
    if match[0][:3].lower() == "pwd" and _FOLDER.fullmatch(value):
        return None  # what the command of that name says: where one is
    return _value(match, value) if len(value) >= 6 and _telling(value) else None


def _telling(value: str) -> bool:
    """Not a word, not a place holder, not what another redaction left."""
    if "***" in value or value.startswith("$") or not _mixed(value):
        return False
    return not re.fullmatch(r"[A-Z]?[a-z]+(?:[_.\-][A-Za-z]+)*", value)


def _value(match: re.Match[str], value: str) -> Span:
    return match.start("value"), match.start("value") + len(value), value


def _bearer(view: View, match: re.Match[str]) -> Span | None:
    value = view.text[match.start("value") : match.end("value")]
    kinds = sum(any(is_of(c) for c in value) for is_of in _CLASSES)
    return _value(match, value) if kinds >= 2 and _telling(value) else None


def _credentials(view: View, match: re.Match[str]) -> Span | None:
    """User and password of a connection string; its host stays."""
    password = match["value"].partition(":")[2]
    if set(password) <= set("*xX") or password.startswith(("$", "{")):
        return None
    return _value(match, match["value"])


RULES = (
    Rule("secret", _PEM_BEGIN, _pem, needs=("private key",), cased=True),
    *_SHAPES,
    Rule("secret", _SAID, _said, needs=_SAID_NEEDS),
    Rule("secret", _BEARER, _bearer, needs=("bearer", "basic")),
    Rule("secret", _URL, _credentials, needs=("://",), cased=True),
)
