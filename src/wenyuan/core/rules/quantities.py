"""Quantities that a question states → the parameters whose values they are: 基坑挖6米深 says ``depth_m = 6``.

A quantity is a parameter's value when it has the parameter's unit and is said with one of its words (深, 花了, deep), or
when no other parameter that the rules ask for has that unit. Times, amounts of money and counts need a word, as
questions name them for many reasons. What is no exact value (超过5米), or may be that of several parameters, is none.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from wenyuan.core.rules.schema import Parameter
from wenyuan.core.text.analysis import terms
from wenyuan.core.text.folding import fold
from wenyuan.core.text.numbers import Quantity, measured, unit_of

_MASK = "|"
_BORDER = re.compile(r"[,.;:?!。、；：？！\n]")
_FAR, _NEAR = 24, 4  # characters around a quantity that may tell of what it is: by a word, by a dimension
_NEEDS_WORD = frozenset("day workday week month year hour minute second 元 日元 $ € 人 次 倍 % 岁 月 号".split())
_DIMENSIONS: Sequence[frozenset[str]] = tuple(
    frozenset(words.split())
    for words in (
        "深 deep depth", "高 high height tall", "宽 wide width broad", "长 long length", "厚 thick thickness",
        "跨 span", "径 diameter radius", "距 离 away apart distance from", "重 heavy weight weigh",
    )
)  # fmt: skip
_BEFORE = re.compile(
    "(?:超过|超出|大于|高于|多于|深于|不足|不到|不够|小于|少于|低于|不超过|不大于|至少|至多|最多|最少|大约|大概|差不多|将近|接近|约|近"
    r"|over|above|exceeding|exceeds|than|under|below|up to|at least|at most|within|about|around|roughly|nearly|almost"
    r"|[\d一二三四五六七八九十两] ?[-~至到或]|\d to) ?(?:了|a|an)? ?\Z"
)
_AFTER = re.compile(
    "[ -]?(?:及|含|或)?(?:以上|以下|以内|之内|之上|之下|以外|左右|上下|内|多|or more|or less|or (?:deeper|higher|longer|over)|plus|\\+)"
)
_NO_CUES = frozenset("with from since were that must when this have what which".split())


@dataclass(frozen=True, slots=True)
class StatedQuantities:
    """Parameter values that a question states.

    Attributes:
        values: By parameter; ``said``: in which words of the question.
        doubtful: Words that may state several parameters, with their names; without names: words that state no
            exact value.
    """

    values: Mapping[str, float | int] = field(default_factory=dict)
    said: Mapping[str, str] = field(default_factory=dict)
    doubtful: tuple[tuple[str, tuple[str, ...]], ...] = ()


def stated(question: str, names: Iterable[tuple[int, int]], parameters: Collection[Parameter]) -> StatedQuantities:
    """Extract the parameters whose values a question states.

    Args:
        names: Where names of things stand in it: numbers within them (七天无理由退货) are parts of the names.
        parameters: Those that are not known and matter to the rules.
    """
    text = _without(question, names)
    found: dict[str, list[tuple[float, str]]] = {}
    doubtful: list[tuple[str, tuple[str, ...]]] = []
    quantities = measured(text)
    for at, quantity in enumerate(quantities):
        fitting = {p: factor for p in parameters if (factor := _factor(p, quantity.unit)) is not None}
        if not fitting:
            continue
        said = text[quantity.start : quantity.end]
        around = _around(text, quantity, quantities[at - 1].end if at else 0)
        meant = _parameters_for(quantity.unit, around, tuple(fitting))
        if meant and not _is_exact(text, quantity):
            doubtful.append((said, ()))
        elif len(meant) > 1:
            doubtful.append((said, tuple(p.name for p in meant)))
        for parameter in meant if len(meant) == 1 and _is_exact(text, quantity) else ():
            found.setdefault(parameter.name, []).append((quantity.value / fitting[parameter], said))
    types = {p.name: p.type for p in parameters}
    values, words = {}, {}
    for name, ways in found.items():
        value = round(ways[0][0], 9)
        if len({round(way, 9) for way, _ in ways}) > 1:
            doubtful += [(said, (name,)) for _, said in ways]
        elif types[name] == "number" or value == int(value):
            values[name], words[name] = (value if types[name] == "number" else int(value)), ways[0][1]
    return StatedQuantities(values, words, tuple(doubtful))


def _without(question: str, names: Iterable[tuple[int, int]]) -> str:
    """The normalised question, with a placeholder for each name."""
    kept, reached = [], 0
    for start, end in sorted(names):
        if start >= reached:
            kept.append(question[reached:start])
        reached = max(reached, end)
    return _MASK.join(fold(part) for part in (*kept, question[reached:]))


def _factor(parameter: Parameter, unit: str) -> float | None:
    """Conversion factor from `unit` to the parameter's unit; None if they measure different quantities."""
    known = unit_of(fold(parameter.unit)) if parameter.unit and parameter.type in ("number", "integer") else None
    return known[1] if known is not None and known[0] == unit else None


@dataclass(frozen=True, slots=True)
class _Around:
    """The context of a quantity: words of its clause, and adjacent dimensions."""

    words: frozenset[str]
    dimensions: frozenset[frozenset[str]]


def _around(text: str, quantity: Quantity, reached: int) -> _Around:
    before = _BORDER.split(text[max(reached, quantity.start - _FAR) : quantity.start])[-1]
    after = _BORDER.split(text[quantity.end : quantity.end + _FAR])[0]
    near = f"{_last(before)} {_first(after)}"
    return _Around(_cues(f"{before} {after}"), _dimensions(near))


def _last(text: str) -> str:
    return " ".join(text.split()[-3:]) if text.isascii() else text[-_NEAR:]


def _first(text: str) -> str:
    return " ".join(re.split(r"[ -]+", text.strip(" -"))[:3]) if text.isascii() else text[:2]


def _cues(text: str) -> frozenset[str]:
    """Pairs of Chinese characters, and stems of longer Latin words."""
    return frozenset(t for t in terms(text) if (len(t) > 1 and not t.isascii()) or (len(t) > 3 and t not in _NO_CUES))


def _dimensions(text: str) -> frozenset[frozenset[str]]:
    words = {*text, *re.findall("[a-z]+", text)}
    return frozenset(dimension for dimension in _DIMENSIONS if dimension & words)


def _parameters_for(unit: str, around: _Around, fitting: Sequence[Parameter]) -> tuple[Parameter, ...]:
    """The parameters that a quantity may state; empty if it belongs to something else."""
    points = {}
    for parameter in fitting:
        called = fold(" , ".join(parameter.names[1:]))
        dimensions = _dimensions(called)
        words, beside = around.words & _cues(called), around.dimensions & dimensions
        if words or beside or not around.dimensions:
            points[parameter] = len(words) + 2 * len(beside)
    best = max(points.values(), default=0)
    if best == 0 and (unit in _NEEDS_WORD or around.dimensions):
        return ()
    return tuple(parameter for parameter, count in points.items() if count == best)


def _is_exact(text: str, quantity: Quantity) -> bool:
    before, after = text[max(0, quantity.start - 16) : quantity.start], text[quantity.end :]
    said = text[quantity.start : quantity.end]
    return not (_BEFORE.search(before) or _AFTER.match(after) or re.search("[余多]", said))
