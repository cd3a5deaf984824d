"""Whether a block of a style sheet counts on the screen of a desk: ``@media (min-width: 600px)``, ``@supports``."""

from __future__ import annotations

import re
from typing import Literal

from wenyuan.readers.css_colours import arguments

_WIDTH, _HEIGHT = 1280.0, 800.0  # pixels
_FARTHEST = 8000.0  # pixels: no screen is wider
_SPACE = re.compile(r"\s+")
_BOUND = re.compile(r"\((min|max)-(width|height) ?: ?([0-9.]+)(px|em|rem)\)\Z")
_COMPARED = re.compile(r"\((width|height) ?([<>]=?) ?([0-9.]+)(px|em|rem)\)\Z")
_BETWEEN = re.compile(r"\(([0-9.]+)(px|em|rem) ?<=? ?(width|height) ?<=? ?([0-9.]+)(px|em|rem)\)\Z")
_TRUE = frozenset(
    "(prefers-color-scheme:light) (prefers-reduced-motion:no-preference) (hover:hover) (any-hover:hover) (pointer:fine) (hover) "
    "(any-pointer:fine) (orientation:landscape) (color) (scripting:enabled) all screen only and".split()
)
_PAPER = frozenset(("print", "speech", "tty", "braille", "embossed", "projection"))
_KNOWN = frozenset(
    "display position color background opacity visibility font-size width height grid flex gap transform filter clip-path "
    "backdrop-filter object-fit aspect-ratio overflow left top float margin padding content-visibility mask".split()
)
Counting = Literal["always", "sometimes", "never"]


def counting(head: str) -> Counting:
    """When the rules of a block count: on a wide screen, on others or in other states, or on none.

    Args:
        head: Of the block, ``@media screen and (min-width: 600px)``.
    """
    name, _, said = _SPACE.sub(" ", head).strip().lower().partition(" ")
    if name.startswith("@media"):
        said = f"{name[6:]} {said}"
        found = [_of_query(each) for each in arguments(said, ",")]
        return "always" if "always" in found else "sometimes" if "sometimes" in found else "never"
    if name == "@supports" or name.startswith("@supports("):
        return _of_support(f"{name[9:]} {said}".strip())
    return "always" if name == "@layer" else "sometimes"


def _of_query(said: str) -> Counting:
    words = arguments(said, " ")
    if words[:1] == ["not"] or "or" in words:
        return "sometimes"
    if not _PAPER.isdisjoint(words):
        return "never"
    found = [_of_feature(each) for each in words]
    return "never" if "never" in found else "sometimes" if "sometimes" in found else "always"


def _of_feature(said: str) -> Counting:
    if said.replace(": ", ":").replace(" :", ":") in _TRUE:
        return "always"
    least, most, across = 0.0, float("inf"), True
    if bound := _BOUND.match(said):
        across, size = bound[2] == "width", _pixels(bound[3], bound[4])
        least, most = (size, most) if bound[1] == "min" else (least, size)
    elif compared := _COMPARED.match(said):
        across, size = compared[1] == "width", _pixels(compared[3], compared[4])
        least, most = (size, most) if compared[2].startswith(">") else (least, size)
    elif between := _BETWEEN.match(said):
        across = between[3] == "width"
        least, most = _pixels(between[1], between[2]), _pixels(between[4], between[5])
    else:
        return "sometimes"
    if least > min(most, _FARTHEST) or most <= 0:
        return "never"
    return "always" if least <= (_WIDTH if across else _HEIGHT) <= most else "sometimes"


def _of_support(said: str) -> Counting:
    """Of a test for what a browser can do: what all of them have long been able to do is done."""
    parts = [each.strip("() ") for each in re.split(r"\) and \(", said)]
    known = all(each.partition(":")[0].strip() in _KNOWN for each in parts)
    return "always" if known and not said.startswith("not") else "sometimes"


def _pixels(number: str, unit: str) -> float:
    return (float(number) if number.count(".") <= 1 and number != "." else 0.0) * (1 if unit == "px" else 16)
