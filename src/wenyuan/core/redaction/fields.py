"""Redaction rules for values whose field says what they are: elements and attributes, keys of JSON, vCards, rows of SQL."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache, partial

from wenyuan.core.redaction.columns import kind_named
from wenyuan.core.redaction.matching import IN_DIGITS, Rule, Span, plain_number
from wenyuan.core.redaction.names import NO_NAME, looks_like_a_name
from wenyuan.core.redaction.text_view import OPAQUE, TextView

# <fullName>x</fullName>; 姓名="x", "passport": "x", 'realName' => 'x': the field's name is read backwards from the mark.
_ELEMENT = re.compile(
    r"<(?:[A-Za-z]{1,10}:)?(?P<name>[^\W_][\w.\-]{0,30}+)(?:\s[^<>]{0,80}+)?>\s{0,4}+(?P<value>[^<>\n]{1,80}+)</"
)
_QUOTED = re.compile(r"(?:=|[\"']\s{0,3}+(?::|=>)\s{0,3}+)(?P<by>[\"'])(?P<value>[^\"'<>\n]{1,80}+)(?P=by)")
_LONGEST_NAME = 32
_KINDS = (
    "person",
    "passport",
    "id_number",
    "hmt_permit",
    "plate",
    "im_account",
    "address",
    "cn_id",
    "bank_card",
    "us_ssn",
)
_FEWEST = {
    "passport": 5,
    "id_number": 5,
    "hmt_permit": 5,
    "plate": 3,
    "cn_id": 4,
    "bank_card": 6,
    "us_ssn": 5,
}  # digits
_PERSONS_FIELD = re.compile(
    r"(?:full|real|first|last|given|family|sur|contact|customer|owner|patient)[_\-]?name|contact|customer|owner|patient",
    re.IGNORECASE,
)
# A field that is only called name has the name of a person where another field beside it is of a person.
_BESIDE = re.compile(
    r"[\"'</ ](?:phone|mobile|tel|cell|e-?mail|passport|birth[a-z]*|gender|sex|ssn|nationality|手机号?|电话|身份证|邮箱|性别)[a-z0-9_]{0,10}[\"']?\s?[:=>]"
)
_AROUND = 300  # characters before and behind


def _normal(kind: str, value: str) -> str:
    if kind in _FEWEST:
        return plain_number(value)
    if kind == "person":
        return value.casefold() if value.isascii() else value.replace(" ", "")
    return value.lower()


def _holds(kind: str, name: str, value: str) -> bool:
    """Whether a field of a name holds a value of a kind."""
    if OPAQUE in value or "**" in value or value.startswith(("$", "{", "%", "@", "#")):
        return False
    named = kind_named(name) == kind
    if kind == "person":
        return (named or _PERSONS_FIELD.fullmatch(name) is not None) and _is_a_name(value)
    if not named:
        return False
    if kind in _FEWEST:
        return sum(map(str.isdigit, value)) >= _FEWEST[kind] and len(value) <= 40
    return len(value.strip()) >= 5 and (kind == "address" or not value.isalpha())


def _is_a_name(value: str) -> bool:
    return looks_like_a_name(value, named=False) and NO_NAME.isdisjoint(value.split(" "))


def _element(kind: str, view: TextView, match: re.Match[str]) -> Span | None:
    return _valued(kind, view, match["name"], match)


def _quoted(kind: str, view: TextView, match: re.Match[str]) -> Span | None:
    end = begin = match.start()
    while begin > max(0, end - _LONGEST_NAME) and (view.text[begin - 1].isalnum() or view.text[begin - 1] in "_.-"):
        begin -= 1
    return _valued(kind, view, view.text[begin:end], match)


def _valued(kind: str, view: TextView, name: str, match: re.Match[str]) -> Span | None:
    value = match["value"].rstrip()
    if not name or not value:
        return None
    if kind == "person" and name.lower() == "name":
        beside = _BESIDE.search(view.lower, max(0, match.start() - _AROUND), match.end() + _AROUND)
        if beside is None or OPAQUE in value or not _is_a_name(value):
            return None
    elif not _holds(kind, name, value):
        return None
    return match.start("value"), match.start("value") + len(value), _normal(kind, value)


# vCards: N, FN, NICKNAME are the person, ADR where he lives.
_CARD = re.compile(
    r"(?:\A|\n)(?:item[0-9]{1,2}\.)?(?:fn|n|nickname|sort-string)(?:;[^:\n]{0,60})?:(?P<value>[^\n]{2,120})"
)
_CARD_ADDRESS = re.compile(r"(?:\A|\n)(?:item[0-9]{1,2}\.)?(?:adr|label)(?:;[^:\n]{0,60})?:(?P<value>[^\n]{4,300})")


def _card(view: TextView, match: re.Match[str]) -> Span | None:
    written = view.text[match.start("value") : match.end("value")]
    value = written.strip(" ;\r")
    if "begin:vcard" not in view.lower or OPAQUE in value or not any(map(str.isalpha, value)):
        return None
    start = match.start("value") + written.index(value)
    return start, start + len(value), value.casefold()


# INSERT INTO customer (name, mobile, password) VALUES ('李明', '138…', 'lantern'), (…)
_LITERAL = re.compile(r"'(?P<value>[^'\n]{2,200})'")
_INSERT = re.compile(
    r"(?:insert|replace) into [^\s(]{1,80}+\s{0,4}\((?P<names>[^()]{1,2000})\)\s{0,8}values?", re.IGNORECASE
)
_TOKEN = re.compile(r"'(?:[^'\n]|'')*+'|[(),;]")


@lru_cache(maxsize=4)
def _columns(text: str) -> Mapping[int, str]:
    """The column of each quoted value in the rows of a text's INSERT statements, by where the value begins."""
    found: dict[int, str] = {}
    at = 0
    while statement := _INSERT.search(text, at):
        names = [name.strip(' `"[]\n\t') for name in statement["names"].split(",")]
        if any(map(kind_named, names)):
            names = ["fullname" if name.lower() == "name" else name for name in names]
        at, column = statement.end(), -1
        for token in _TOKEN.finditer(text, at):
            at = token.end()
            if token[0] == ";":
                break
            if token[0] == "(":
                column = 0
            elif token[0] == ")":
                column = -1
            elif token[0] == "," and column >= 0:
                column += 1
            elif 0 <= column < len(names):
                found[token.start()] = names[column]
    return found


def _row(kind: str, view: TextView, match: re.Match[str]) -> Span | None:
    """A value of a row that stands in a column of a kind."""
    name, value = _columns(view.text).get(match.start(), ""), match["value"]
    if not name:
        return None
    if kind == "secret":
        holds = kind_named(name) == "secret" and OPAQUE not in value and len(value) >= _SHORTEST_SECRET
    else:
        holds = _holds(kind, name, value)
    return (match.start("value"), match.end("value"), _normal(kind, value)) if holds else None


_SHORTEST_SECRET = 4
_SIGNS = {kind: IN_DIGITS if kind in _FEWEST else frozenset[str]() for kind in ("secret", *_KINDS)}
_STATEMENTS = ("insert into", "replace into")
_MARKS = ('="', "='", '":', "':", "=>", '" :')

RULES = (
    *(Rule(kind, _ELEMENT, partial(_element, kind), needs=("</",), cased=True, signs=_SIGNS[kind]) for kind in _KINDS),
    *(Rule(kind, _QUOTED, partial(_quoted, kind), needs=_MARKS, cased=True, signs=_SIGNS[kind]) for kind in _KINDS),
    Rule("person", _CARD, _card, needs=("begin:vcard",)),
    Rule("address", _CARD_ADDRESS, _card, needs=("begin:vcard",)),
    *(Rule(kind, _LITERAL, partial(_row, kind), needs=_STATEMENTS, cased=True, signs=_SIGNS[kind]) for kind in _SIGNS),
)  # fmt: skip
