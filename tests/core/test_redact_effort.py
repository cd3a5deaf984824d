"""What the search for values costs: what cannot be there is not looked for, and nothing is looked for twice."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from wenyuan.core.model import Block, Document
from wenyuan.core.redaction.findings import _NEEDED, RULES, _there, _to_try
from wenyuan.core.redaction.findings import findings as every_finding
from wenyuan.core.redaction.matching import IN_DIGITS, SIGNS, Finding, Rule, Span, find, find_together
from wenyuan.core.redaction.policy import KINDS, policy_for
from wenyuan.core.redaction.redact import Redaction
from wenyuan.core.redaction.text_view import TextView, view_of

_RESTRICTED = policy_for("restricted")
_TEXT = "联系人：李明，卡号 6222 0275 0000 0000 018，password: Kestrel-1188。李明再来电 13800138000。\n"


def test_a_pattern_of_several_rules_finds_for_each_of_them_what_it_finds_alone() -> None:
    """Each rule goes on behind its own findings, and from character to character where it has none."""

    def of_length(least: int) -> Callable[[TextView, re.Match[str]], Span | None]:
        def check(view: TextView, match: re.Match[str]) -> Span | None:
            length = len(match["value"])
            return (match.start(), match.end(), match["value"]) if length >= least else None

        return check

    pattern = re.compile(r"a(?P<value>[ab]{1,5})")
    rules = [Rule("secret", pattern, of_length(least)) for least in (1, 3, 5)]
    for text in ("aabbabaaaabab", "ab ab aabbb aaaaaaaaaaaa abababababab", "b", ""):
        view = view_of(text)
        assert find_together(rules, view) == [list(find(rule, view)) for rule in rules]


@pytest.mark.parametrize("text", ["no number here: account, plate, password = x", "没有号码：账号、车牌、护照"])
def test_rules_that_need_a_digit_are_not_tried_where_there_is_none(text: str) -> None:
    """Their words may stand in the text all the same."""

    def tried(text: str) -> list[Rule]:
        return [RULES[number] for number in _to_try(view_of(text), frozenset(KINDS), True)]

    assert tried(text)
    assert not [rule for rule in tried(text) if rule.signs >= IN_DIGITS]
    assert [rule for rule in tried(text + " 7") if rule.signs >= IN_DIGITS]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.kind}-{rule.check.__class__.__name__}")
def test_a_rule_finds_nothing_in_texts_without_the_signs_that_it_needs(rule: Rule) -> None:
    """What is left of a text of values when these signs are taken out of it holds nothing for the rule."""
    text = view_of(
        _TEXT + "<phone>07700 900456</phone> plate: AB12 CDE; CVC 731; bot/hook?sig=a8F; 士字第123456号"
    ).text
    for sign in rule.signs:
        view = view_of(SIGNS[sign].sub("", text))
        assert not list(find(rule, view))


def test_values_that_recur_are_replaced_without_a_second_search_by_the_recogniser() -> None:
    """The recogniser of names is asked once about a text, though a value found in it is looked for everywhere."""
    asked: list[str] = []

    def names(text: str) -> list[tuple[int, int]]:
        asked.append(text)
        return [(at.start(), at.end()) for at in re.finditer("Ada Lovelace", text)]

    text = "Ada Lovelace wrote it. 李明 came.\n联系人：李明\n"
    blocks = (Block(kind="paragraph", start=0, end=len(text)),)
    document = Document(uri="file:///a.md", title="Ada Lovelace", text=text, blocks=blocks, sha256="0")
    clean, _ = Redaction(_RESTRICTED, b"k" * 32, names).document(document)
    assert "Ada" not in clean.text + clean.title
    assert "李明" not in clean.text
    assert len(asked) == len({*asked})


def test_what_was_found_before_is_what_is_found_again() -> None:
    """A text that is searched a second time has the same findings."""
    known: dict[str, tuple[list[Finding], list[Finding]]] = {}
    first = every_finding(_TEXT, _RESTRICTED, None, known=known)
    assert len(first) > 3
    assert every_finding(_TEXT, _RESTRICTED, None, known=known) == first == every_finding(_TEXT, _RESTRICTED, None)


def test_the_words_that_rules_need_are_found_in_long_texts_as_in_short_ones() -> None:
    """What pairs of characters leave out stands nowhere in the text."""
    text = " ".join(_NEEDED[::3]) + " password 联系人 " + _TEXT.lower() * 40
    for each in (text, text[:900], text[::-1]):
        assert _there(each) == {word for word in _NEEDED if word in each}
