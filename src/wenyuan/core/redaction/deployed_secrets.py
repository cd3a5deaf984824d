"""Redaction rules for passwords where programs are deployed: entries of an environment, variables with a default, mail and network protocols."""

from __future__ import annotations

import re

from wenyuan.core.redaction.matching import IN_DIGITS, Rule, Span
from wenyuan.core.redaction.passwords import holds_the_place, is_telling
from wenyuan.core.redaction.text_view import TextView

_WORDS = r"password|passwd|passphrase|pass|pwd|pw"
_KEYS = r"secret|token|key"
_SHORTEST, _SHORTEST_KEY = 3, 6  # characters

# - name: DB_PASSWORD⏎  value: x; {"name": "DB_PASSWORD", "value": "x"}: Kubernetes, task definitions, compose files.
_ENTRY = re.compile(
    rf"(?:name|key|variable|parameterkey)[\"']?[ \t]{{0,3}}[:=][ \t]{{0,3}}[\"']?(?:[a-z0-9.\-]{{0,60}}_|[a-z0-9_.\-]{{0,60}})(?:(?P<password>{_WORDS})|{_KEYS})[0-9]?[\"']?[ \t]{{0,3}}"
    r"(?:,?\n[ \t]{0,40}|,[ \t]{0,3})[\"']?(?:value|default|parametervalue)[\"']?[ \t]{0,24}[:=][ \t]{0,24}(?P<by>[\"'])?(?P<value>[^\s\"',{}]{3,300})"
)
# variable "admin_pass" { default = "x" }
_VARIABLE = re.compile(
    rf"variable[ \t]{{1,3}}\"[a-z0-9_\-]{{0,60}}(?:(?P<password>{_WORDS})|{_KEYS})\"[ \t]{{0,3}}\{{[^{{}}]{{0,300}}?default[ \t]{{0,24}}=[ \t]{{0,24}}\"(?P<value>[^\"\n]{{3,200}})\""
)


def _declared(view: TextView, match: re.Match[str]) -> Span | None:
    """A password is any word that is no place holder; a key or a token has digits or signs."""
    start, end = match.span("value")
    value = view.text[start:end]
    if holds_the_place(value):
        return None
    if not match["password"] and (not is_telling(value) or len(value) < _SHORTEST_KEY or value.isdigit()):
        return None
    return start, end, value


# community = x, of SNMP; auth_code = abcdefghijklmnop, as mail services give to programs in place of a password.
_COMMUNITY = re.compile(
    r"(?:\A|\n)[ \t\-]{0,8}(?:(?:ro|rw|read|write|snmp|trap)[_\-]?)?community(?:[_\- ]?string)?[ \t]{0,3}[:=][ \t]{0,3}[\"']?(?P<value>[^\s\"',;]{5,128})[\"']?[ \t]{0,3}(?=\n|\Z)"
)
_GIVEN_TO_PROGRAMS = re.compile(
    r"(?:auth(?:ori[sz]ation)?[_\- ]?code|app[_\- ](?:specific[_\- ])?passw(?:or)?d)[\"'`]?[ \t]{0,3}(?:[:=]|is|为|是)[ \t]{0,3}[\"'`]?(?P<value>[a-z]{16}|[a-z]{4}(?: [a-z]{4}){3})(?![a-z0-9_])"
)


def _community(view: TextView, match: re.Match[str]) -> Span | None:
    start, end = match.span("value")
    value = view.text[start:end]
    return (start, end, value) if is_telling(value) and not value.isdigit() else None


def _whole(view: TextView, match: re.Match[str]) -> Span:
    start, end = match.span("value")
    return start, end, view.text[start:end]


# user ops / pass x; root on the NAS: x; old one: x below a line with a password.
_VALUE = r"[\"'`*“]{0,2}(?P<value>[!-;=?-~]{5,64})"
_USER_AND = re.compile(
    rf"(?:user(?:name)?|login|account|uid|账号|帐号|用户名?)[ \t:=是为]{{1,3}}[^\s/,;|]{{1,40}}[ \t]{{0,2}}[/,;|&+][ \t]{{0,2}}(?:pass(?:word|wd)?|pw|pwd|密码|口令)[ \t:=是为]{{1,3}}{_VALUE}"
)
_ROOT = re.compile(
    rf"(?:root|admin|administrator)(?: (?:on|of|for|at|in) (?:the |our |my )?[a-z0-9\-]{{1,20}}){{1,2}}[ \t]{{0,2}}[:=][ \t]{{0,3}}{_VALUE}"
)
_FORMER = re.compile(rf"(?:(?:old|previous|former)[ ](?:one|pw|pass|pwd|password)(?:[ \t]{{0,2}}[:=]|[ ](?:was|is))|(?:previously|formerly|before that)[ ]it[ ]was|(?:原来|之前|以前|旧|老)的?(?:密码|口令|那个)?[是为:]?)[ \t]{{0,2}}{_VALUE}")  # fmt: skip
_ABOVE = re.compile(r"pass|pw|secret|密码|口令")
_WORD_BEFORE = re.compile(r"[a-z0-9_]\Z")
_EDGE = ".,;:!?)]}\"'`*”"
_SIGNS = frozenset("!@#$%^&*_+=~?")


def _coded(view: TextView, match: re.Match[str]) -> Span | None:
    """A word with letters, digits and one of the signs that stand in passwords."""
    if match[0][0].isascii() and _WORD_BEFORE.search(view.lower, max(0, match.start() - 1), match.start()):
        return None
    if match.re is _FORMER and not _ABOVE.search(view.lower, max(0, match.start() - 200), match.start()):
        return None
    start, value = match.start("value"), view.text[match.start("value") : match.end("value")]
    while value and value[-1] in _EDGE:
        value = value[:-1]
    if not is_telling(value) or not any(map(str.isalpha, value)) or not any(map(str.isdigit, value)):
        return None
    if "://" in value or (match.re is not _USER_AND and _SIGNS.isdisjoint(value)):
        return None
    return start, start + len(value), value


RULES = (
    Rule("secret", _ENTRY, _declared, needs=("value", "default")),
    Rule("secret", _VARIABLE, _declared, needs=("variable",)),
    Rule("secret", _COMMUNITY, _community, needs=("community",)),
    Rule("secret", _GIVEN_TO_PROGRAMS, _whole, needs=("code", "passw")),
    Rule("secret", _USER_AND, _coded, needs=("pass", "pw", "密码", "口令"), signs=IN_DIGITS),
    Rule("secret", _ROOT, _coded, needs=("root ", "admin ", "administrator "), signs=IN_DIGITS),
    Rule(
        "secret",
        _FORMER,
        _coded,
        needs=("old ", "previous", "former", "before that", "原来", "之前", "以前", "旧", "老"),
        signs=IN_DIGITS,
    ),
)
