"""Words of what must, may and must not be, of bounds, and of order and extent, in Chinese and English.

They are found in folded text (`text.folding.fold`), and each has a class: *must not* is said by 不得 and by *prohibited*.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Set
from typing import Literal, NamedTuple

from wenyuan.core.text.numbers import HAN_NUMERALS

DutyName = Literal["must", "may", "must not", "need not", "not", "at most", "at least"]


class Duty(NamedTuple):
    """A modal expression (may, must, must not …): its class and range of tokens."""

    name: DutyName
    first: int
    end: int


DEONTIC = frozenset(("must", "may", "must not", "need not"))
BOUNDING = frozenset(("at most", "at least"))
_AHEAD = rf"(?= ?[\d{HAN_NUMERALS}¥$€半-])"
_EACH_AHEAD = rf"(?= ?(?:每.)?[\d{HAN_NUMERALS}])"
_LESS = "less|fewer|earlier|lower|shorter|younger|lighter|smaller|cheaper|narrower|cooler|colder"
_MORE = (
    "more|greater|later|longer|higher|older|heavier|larger|bigger|deeper|wider|faster|taller|hotter|warmer|thicker"
)
_DATES = "noon|midnight|january|february|march|april|may|june|july|august|september|october|november|december"
_DUTIES: tuple[tuple[DutyName, str], ...] = (
    ("must not", "不得|不准|不许|不許|不(?:被|予)?允许|禁止|严禁|禁用|谢绝|不应当?|不可以?|不能够?|must not|mustn['’]t|shall not|may not|can(?: ?not|['’]t)"
     "|(?:must|should|shall|may|can) never|should not|shouldn['’]t|prohibited|forbidden|(?:not|[a-z]n['’]t) (?:be )?(?:permitted|allowed)|(?:is|are|was|were)n['’]t (?:permitted|allowed)"),
    ("need not", "不必|无需|无须|毋须|不需要?|不用|不要求|可以?不|need not|needn['’]t|(?:is|are|be) not required|not required|exempt|optional"
     "|(?:do|does|did)(?: not|n['’]t) (?:have|need) to|(?:is|are|was|were)n['’]t (?:required|obliged)|not obliged"),
    ("at most", f"[<≤≦⩽]=?|不超过|不高于|不大于|不多于|不重于|不长于|不迟于|不晚于|至多|最多|最[重长高大晚迟](?=不超过|不得超过|(?:为|每.{{0,2}})?{_AHEAD[3:-1]})|上?限(?=[为是]?{_AHEAD[3:-1]})|为限|[仅只]限(?={_AHEAD[3:-1]})|(?:[仅只](?:能有|有)?)(?={_AHEAD[3:-1]})|以下|以内|之内"
     f"|低于|少于|小于|短于|轻于|早于|不到{_EACH_AHEAD}|不足{_EACH_AHEAD}|未满|不满{_EACH_AHEAD}"
     rf"|at most|(?:no|not) (?:{_MORE}) than|(?:{_LESS}) than|or (?:{_LESS}|under|below)|at the latest|up to|below|under|within|maximum|limited to|capped at|(?:limit|cap|ceiling) of|only(?= (?:\d|one |two |three |four |five |six |seven |eight |nine |ten ))"
     rf"|by(?= (?:the )?(?:\d|end of|{_DATES})(?!\d*%))"),
    ("at least", f"[>≥≧⩾]=?|不少于|不低于|不小于|不早于|至少|最少|最[低小早短轻](?=(?:为|每.{{0,2}})?{_AHEAD[3:-1]})|以上|超过|高于|多于|大于|长于|重于|晚于|迟于|达到?{_AHEAD}|(?<![装盛灌充注加])满{_AHEAD}|逾{_AHEAD}"
     f"|at least|(?:no|not) (?:{_LESS}) than|(?:{_MORE}) than|or (?:{_MORE}|over|above)|above|over|exceed(?:s|ing)?|in excess of|minimum"),
    ("must", "应当|必须|务必|须|(?<![供反适相响效感对回呼照答报顺因])应(?![用急变聘邀答收付对])|需要?(?!求)|must|shall|should|required|obliged|ha(?:s|ve) to|mandatory|needs? to"),
    ("may", "可以|允许|准许|有权|才可以?|才能|方可|方能|可用(?=于)|慎用|能够|可(?![能靠见行用])|(?<![功性可智技职机潜势才不只方])能(?![力源量耗效够])|may|might|can|could|allowed|permitted|entitled"),
    ("not", "没有|未能|不予|不(?!在此限)|未(?!成年)|无|沒|没|非(?!常)|勿|莫|not|no|never|without|neither|nor|none|(?<![a-z])[a-z]+n['’]t"),
)  # fmt: skip
_DUTY = re.compile("|".join(f"(?P<d{number}>{pattern})" for number, (_, pattern) in enumerate(_DUTIES)))

EXTENT = "(?<![安健])全部|所有|全体|任何|任一|(?<!大)部分|某些|有些|个别|之前|以前|之后|以后|唯一"
"""Chinese words of order and extent that are one token each, as a regular expression."""
_RELATIONS = tuple((name, re.compile(pattern)) for name, pattern in (
    ("before", r"之前|以前|(?<![^ ])前(?![^ ])|事 前|事 先|(?<![a-z])(?:before|prior|beforehand)(?![a-z])"),
    ("after", r"之后|以后|(?<![^ ])后(?![^ ])|(?<![a-z])(?:after|afterwards)(?![a-z])"),
    ("only", r"仅|只(?! [能要])|唯一|(?<![a-z])(?:only|solely|exclusively)(?![a-z])"),
    ("all", r"全部|所有|全体|任何|任一|(?<![^ ])均(?![^ ])|(?<![a-z])(?:all|every|each|always)(?![a-z])"),
    ("some", r"部分|某些|有些|个别|多 数|大 部 分|(?<![a-z])(?:some|sometimes|several|few|(?<!at )(?<!the )most(?! (?:likely|recent|often|probably|importantly|notably)))(?![a-z])"),
))  # fmt: skip


_BETWEEN = {"not": 1, "must not": 4}
"""Tokens between a *not* and the bound that it turns, at most."""


def negated_bound(duty: Duty, follows: Duty) -> Duty | None:
    """A bound that a *not* before it turns: 不得登记 | 超过, *not* take *more than* are at most; None where these are no such two."""
    if follows.name not in BOUNDING or follows.first - duty.end > _BETWEEN.get(duty.name, -1):
        return None
    return Duty("at most" if follows.name == "at least" else "at least", duty.first, follows.end)


def duties(folded: str, places: Iterable[tuple[int, int]]) -> Iterator[Duty]:
    """The modal expressions of a folded text; `places` are the beginnings and ends of its tokens."""
    starts: dict[int, int] = {}
    ends: dict[int, int] = {}
    for number, (start, end) in enumerate(places):
        starts.setdefault(start, number)  # "cannot" is two tokens at one place
        ends[end] = number
    for match in _DUTY.finditer(folded):
        first, last = starts.get(match.start()), ends.get(match.end())
        if first is not None and last is not None:  # not within a word: mustard
            yield Duty(_DUTIES[int((match.lastgroup or "d0")[1:])][0], first, last + 1)


EXCEPTION = re.compile(
    r"(?<![a-z])(?:except|other than|unless|but for)(?![a-z])|(?<![解拆消清排废扣删免切去根开])除(?!草|尘|锈|法)"
)
"""That somebody or something is left out: *nobody except* says *only*."""


def relation(values: Iterable[str]) -> set[str]:
    """What is said of order and extent in these tokens: before, after, only, all, some."""
    said = " ".join(values)
    return {name for name, pattern in _RELATIONS if pattern.search(said)}


def relation_changed(said: Set[str], was: Set[str], *, alone: bool) -> bool:
    """Whether order or extent differ: before for after, some for all, an *only* more or less.

    What holds of invoices holds of all invoices.

    Args:
        alone: Nothing else differs, so that a word of one side alone changes what is said.
    """
    differ = said ^ was
    return (
        "only" in differ
        or {"before", "after"} <= differ
        or {"all", "some"} <= differ
        or (alone and differ - {"all"} != set())
    )
