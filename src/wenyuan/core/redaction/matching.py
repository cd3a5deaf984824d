"""How a rule looks for values: a pattern that proposes, a check that decides."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from wenyuan.core.redaction.text_view import TextView
from wenyuan.core.text.folding import HAN

Span = tuple[int, int, str]
"""Start and end in the view, and the value in its one normal form."""


class Finding(NamedTuple):
    """A value of a kind at ``[start:end]`` of a view, or of the text that it views; `value` is its normal form, equal for all ways to write it."""

    start: int
    end: int
    kind: str
    value: str


@dataclass(frozen=True, slots=True)
class Rule:
    """One way in which a kind of value shows.

    Patterns are linear: no repetition in a repetition that could split a text in two ways, every repetition
    bounded. They begin with a character class and look behind *after* it, as ``[1-9](?<![0-9].)``: the matcher
    then skips to the class instead of stopping at each character.

    Attributes:
        check: The span and value of what the pattern proposes, or None; the search then goes on one character later.
        needs: When given, one of these must be in the text (in lower case), or the pattern is not tried.
        cased: Whether the pattern reads the text as it is; else in lower case.
        written: Whether it is tried only where numerals are left as they are written, since it reads no numbers.
        signs: Names of `SIGNS`, each of which must be in the text, or the pattern is not tried.
        at_runs: Whether it can match only where Chinese characters begin behind something else: it is tried nowhere else.
    """

    kind: str
    pattern: re.Pattern[str]
    check: Callable[[TextView, re.Match[str]], Span | None]
    needs: tuple[str, ...] = ()
    cased: bool = False
    signs: frozenset[str] = frozenset()
    written: bool = False
    at_runs: bool = False


SIGNS = {
    "han": re.compile(f"[{HAN}]"), "digit": re.compile("[0-9]"), "capital": re.compile(r"[^\W\d_a-z\u3400-\u9fff]"),
    "kana": re.compile("[ぁ-ゖァ-ヺ]"),
}  # fmt: skip
"""What many patterns cannot do without, as `TextView.text` has it."""
IN_HAN, IN_DIGITS, IN_CAPITALS = frozenset({"han"}), frozenset({"digit"}), frozenset({"capital"})
IN_JAPANESE = frozenset({"han", "kana"})


def find(rule: Rule, view: TextView) -> Iterator[Finding]:
    """What a rule finds, in order, not overlapping, in a text that it may be in."""
    text = view.text if rule.cased else view.lower
    if rule.at_runs:
        yield from _find_at_runs(rule, view, text)
        return
    at = 0
    while match := rule.pattern.search(text, at):
        span = rule.check(view, match)
        if span is None:
            at = match.start() + 1
        else:
            yield Finding(span[0], span[1], rule.kind, span[2])
            at = max(span[1], match.start() + 1)


@lru_cache(2)  # of the text at hand: several rules ask for them in turn
def _run_starts(text: str) -> array[int]:
    """Where a run of Chinese characters begins."""
    return array("I", (match.start() for match in _RUN.finditer(text)))


forget_runs = _run_starts.cache_clear
"""Lets go of the texts that were looked through last, which may be long."""


_RUN = re.compile(f"[{HAN}]+")


def _find_at_runs(rule: Rule, view: TextView, text: str) -> Iterator[Finding]:
    at = 0
    for start in _run_starts(view.text):
        if (
            start >= at
            and (match := rule.pattern.match(text, start))
            and (span := rule.check(view, match)) is not None
        ):
            yield Finding(span[0], span[1], rule.kind, span[2])
            at = max(span[1], start + 1)


def find_together(rules: Sequence[Rule], view: TextView) -> list[list[Finding]]:
    """What `find` finds for each of some rules that have one pattern, which is tried once for all of them."""
    text = view.text if rules[0].cased else view.lower
    found: list[list[Finding]] = [[] for _ in rules]
    nexts = [0] * len(rules)
    if rules[0].at_runs:
        return [list(_find_at_runs(rule, view, text)) for rule in rules]
    at = 0
    while match := rules[0].pattern.search(text, at):
        start = match.start()
        for number, rule in enumerate(rules):
            if nexts[number] <= start and (span := rule.check(view, match)) is not None:
                found[number].append(Finding(span[0], span[1], rule.kind, span[2]))
                nexts[number] = max(span[1], start + 1)
        at = max(start + 1, min(nexts))
    return found


def cue_before(view: TextView, start: int, cue: re.Pattern[str], width: int = 24) -> bool:
    """Whether a cue word stands in the `width` characters before `start`, on the same line."""
    low = max(0, start - width, view.lower.rfind("\n", max(0, start - width), start) + 1)
    return cue.search(view.lower, low, start) is not None


_FILLER = r"(?:[\s:=#*_\"'“「【(\[]|号码|号|为|是|is|no\.?|number|码){0,4}\Z"


def adjacent(words: str) -> re.Pattern[str]:
    """A cue that stands right before the value, but for a colon, quotes and the like; for `cue_before`."""
    return re.compile(f"(?:{words}){_FILLER}")


_SERIAL = adjacent(
    "(?:订单|运单|快递|物流|流水|批次|检验批|发票|合同|工单|单据|序列|档案|凭证|交易|报价|图纸|设备|物料|产品|文|学|案|工)"
    "编?号码?|编号|单号|货号|批号|批次|金额|时间戳"
    r"|order|serial|invoice|tracking|isbn|sku|ticket|order_?id|timestamp|¥|\$|€|£|rmb|cny|usd"
)
_UNIT = re.compile(r"\.[0-9]{1,2}(?![0-9])|\s?(?:元|%|吨|美元|港币|人民币|字节|bytes|usd|rmb|cny)")


def serial(view: TextView, start: int, end: int) -> bool:
    """Whether the text says that ``[start:end]`` is an order number, an amount or the like."""
    return cue_before(view, start, _SERIAL, 12) or _UNIT.match(view.lower, end) is not None


def in_a_column(view: TextView, start: int, end: int) -> bool:
    """Whether ``[start:end]`` goes over several lines, and fills those or cells of them: two numbers, not one."""
    if "\n" not in view.lower[start:end]:
        return False
    return bool(_EDGE_BEFORE.search(view.lower, max(0, start - 3), start) and _EDGE_AFTER.match(view.lower, end))


_EDGE_BEFORE, _EDGE_AFTER = re.compile(r"(?:^|[\n|;\t]) {0,2}\Z"), re.compile(r" {0,2}(?:\Z|[\n|;\t])")


_SEPARATORS = re.compile(r"[\s.\-·_()]+")


def plain_number(written: str) -> str:
    """A number without its separators, in upper case."""
    return _SEPARATORS.sub("", written).upper()
