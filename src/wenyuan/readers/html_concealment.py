"""Whether an element of a page is seen: by its attributes, its styles, and the colour of what it stands on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from wenyuan.readers.css_colours import arguments, read_colour

_LENGTH = re.compile(r"(-?[0-9]*\.?[0-9]+)(px|pt|em|rem|ex|ch|vw|vh|%|in|cm|mm)?\Z")
_PIXELS = {"px": 1.0, "pt": 4 / 3, "em": 16.0, "rem": 16.0, "ex": 8.0, "ch": 8.0, "in": 96.0, "cm": 38.0, "mm": 3.8, "vw": 12.0, "vh": 8.0}  # fmt: skip
_AWAY = -500.0  # pixels beyond the edge of a page
_TINY = 1.0  # pixels
_WHOLE = 100.0  # per cent of its width: letters that are moved so far leave their element
_NO_CLIP = re.compile(r"rect\((?:0|1)(?:px)?,? ?(?:0|1)(?:px)?,? ?(?:0|1)(?:px)?,? ?(?:0|1)(?:px)?\)")
_NO_PATH = re.compile(
    r"rect\( ?0(?:px)? 0(?:px)? 0(?:px)? 0(?:px)? ?\)|inset\( ?(?:[5-9][0-9](?:\.[0-9]+)?|100)% ?\)|inset\(0 100%|inset\(100%|(?:circle|ellipse)\( ?0(?:px|%)?[ )]"
    r"|polygon\( ?0(?:px|%)? 0(?:px|%)?(?:, ?0(?:px|%)? 0(?:px|%)?)* ?\)"
)
_NO_SCALE = re.compile(
    r"scale(?:3d|[xy])?\( ?(?:0+|0*\.0[0-9]*|[0-3]%) ?[,)]|scale(?:3d)?\( ?[0-9.]+ ?, ?(?:0+|0*\.0[0-9]*) ?[,)]"
    r"|matrix\( ?0(?:\.0+)? ?, ?0(?:\.0+)? ?, ?0(?:\.0+)? ?, ?0(?:\.0+)? ?,|rotate[xy]\( ?-?(?:90|270)deg ?\)"
)
_NO_MASK = re.compile(r"gradient\((?:[^(),]*,)? ?transparent ?(?:, ?transparent ?)*\)")
_MOVING = re.compile(r"translate(x|y|3d)?\(([^()]*(?:\([^()]*\))?[^()]*)\)")
_FONT_SIZE = re.compile(r"(?:^| )([0-9.]+[a-z%]*)(?:/|\Z| )")
_OF_PARENT = re.compile(r"inherit|unset|smaller|larger|[0-9.]+(?:em|ex|ch|%)")
_FROM_PARENT = ("inherit", "initial", "unset", "revert", "revert-layer", "currentcolor")
_CLEAR = 0.04  # of 1
_SEEN = 10  # of 255: a difference that an eye can see
_INLINE = frozenset(
    "span b i em strong sup sub small u s font a abbr code kbd samp var mark q cite label time data td th".split()
)
_ICON = re.compile(
    r"icon|glyph|symbol|katex|mathjax|mjx|(?:^|[ -])fa(?:[ -]|\Z)|emoji|caret|arrow|chevron|ripple|copy"
)
Colour = tuple[int, int, int]
WHITE: Colour = (255, 255, 255)
NONE: Colour = (-1, -1, -1)
"""The colour of letters that are clear."""
_NO_FILTER = re.compile(r"opacity\( ?(?:0|0?\.0[0-3]?[0-9]*|[0-3]%) ?\)")


class Shade(NamedTuple):
    """Why the text of an element is not visible; inherited by what stands within until one overrides it."""

    hidden: bool
    sizeless: bool
    origin: int


class Ground(NamedTuple):
    """The colour of an element's letters and of what they stand on; None where it is not known."""

    letters: Colour | None
    paper: Colour | None
    origin: int


def conceals(tag: str, said: Mapping[str, str], attributes: Mapping[str, str | None]) -> bool:
    """Whether an element is hidden with all that stands within, by its attributes or its styles."""
    if attributes and "hidden" in attributes:
        return True
    if not said:
        return False
    if said.get("display") == "none" or said.get("mso-hide") == "all" or _is_clear(said.get("opacity", "1")):
        return True
    if (
        said.get("content-visibility") == "hidden"
        or _NO_FILTER.search(said.get("filter", ""))
        or _is_clear(said.get("zoom", "1"))
    ):
        return True
    if _NO_MASK.search(said.get("mask", "") or said.get("-webkit-mask", "") or said.get("mask-image", "")):
        return True
    return _is_away(tag, said) or _is_cut(tag, said) or _is_transformed(tag, said)


def silent(node: Any, attributes: Mapping[str, str | None]) -> bool:
    """Whether an element that is hidden from those who listen to a page is no text to those who see it, either.

    An icon, a copy of a formula, and what is written in blocks: windows and menus that a script opens. What stands in a
    line is shown: ``<span aria-hidden=true>12.99</span>`` beside words that are only read out.
    """
    if not attributes or (attributes.get("aria-hidden") or "").strip().lower() != "true":
        return False
    return node.tag not in (*_INLINE, "td", "th") or bool(_ICON.search((attributes.get("class") or "").lower()))


def shade(node: Any, said: Mapping[str, str], above: Shade | None) -> Shade | None:
    """Why an element's text is hidden, from its styles and its parent's shade; None where it is visible."""
    if not said:
        return above
    hidden, sizeless = (above.hidden, above.sizeless) if above else (False, False)
    for name, value in said.items():
        if name == "visibility":
            hidden = value in ("hidden", "collapse") or (hidden and value not in ("visible", "initial"))
        elif name in ("font-size", "font"):
            size = value if name == "font-size" else next(iter(_FONT_SIZE.findall(value)), value)
            sizeless = _is_tiny(size) or (sizeless and bool(_OF_PARENT.fullmatch(size)))
    if not (hidden or sizeless):
        return None
    return Shade(hidden, sizeless, above.origin if above else node.mem_id)


def ground(node: Any, said: Mapping[str, str], attributes: Mapping[str, str | None], above: Ground) -> Ground:
    """The colours of an element, from its styles and attributes and its parent's."""
    letters, paper = above.letters, above.paper
    if node.tag == "a" and "href" in attributes:
        letters = None  # links have a colour of their own
    elif node.tag == "mark":
        paper = None
    told = (
        (attributes.get("color") if node.tag == "font" else attributes.get("text") if node.tag == "body" else None)
        or said.get("-webkit-text-fill-color")
        or said.get("color")
    )
    if told and told.strip().lower() not in _FROM_PARENT:
        drawn = _cut_from_ground(said) or "text-shadow" in said
        ink = read_colour(told.strip().lower())
        letters = (
            None
            if ink is None or told == "initial"
            else NONE
            if ink.alpha < _CLEAR and not drawn
            else ink[:3]
            if ink.alpha == 1
            else None
        )
    behind = [each for name, each in said.items() if name in ("background", "background-color")]
    if bgcolor := attributes.get("bgcolor"):
        behind.insert(0, bgcolor.strip().lower())
    for value in behind:
        if value.split(" ")[0] in ("none", *_FROM_PARENT):
            continue
        paper = _paper(value, above.paper)
    if attributes.get("background") or said.get("background-image", "none") != "none":
        paper = None
    if "dark" in said.get("color-scheme", "") and "light" not in said["color-scheme"] and paper == WHITE:
        paper = None  # the page is dark where nothing else is said
    if (letters, paper) == (above.letters, above.paper):
        return above
    return Ground(letters, paper, node.mem_id)


def _cut_from_ground(said: Mapping[str, str]) -> bool:
    """Whether letters are what is seen of a background, unless a later one covers all again."""
    names = list(said)
    cut = max(
        (at for at, name in enumerate(names) if name.endswith("background-clip") and said[name] == "text"), default=-1
    )
    grounds = [at for at, name in enumerate(names) if name in ("background", "background-color", "background-image")]
    return bool(grounds) and cut > (names.index("background") if "background" in names else -1)


def _paper(value: str, below: Colour | None) -> Colour | None:
    """The colour of a background that lies on another one; None where it is a picture, or one of both is not known."""
    if "url(" in value or "gradient(" in value:
        return _flat(value)
    found = next((each for part in arguments(value, " ") if (each := read_colour(part))), None)
    if found is None:
        return None
    if found.alpha < 1:
        return below if found.alpha == 0 else None if below is None else found.over(below)
    return found[:3]


def _flat(value: str) -> Colour | None:
    """The colour of a gradient from one colour to the same one; None for others, and for pictures."""
    if not value.startswith("linear-gradient(") or not value.endswith(")"):
        return None
    stops = [arguments(each, " ")[:1] for each in arguments(value[len("linear-gradient(") : -1], ",")]
    colours = [read_colour(each) for stop in stops for each in stop if not each.endswith(("deg", "turn", "to"))]
    first = colours[0] if colours else None
    return first[:3] if first is not None and first.alpha == 1 and all(each == first for each in colours) else None


def blends(colours: Ground) -> bool:
    """Whether letters have the colour of what they stand on."""
    if colours.letters == NONE:
        return True
    if colours.letters is None or colours.paper is None:
        return False
    return max(abs(a - b) for a, b in zip(colours.letters, colours.paper, strict=True)) < _SEEN


def _is_clear(opacity: str) -> bool:
    found = re.fullmatch(r"([0-9]*\.?[0-9]+)(%?)", opacity)
    return bool(found) and float(found[1]) / (100 if found[2] else 1) < _CLEAR  # type: ignore[index]


def _in_line(tag: str, said: Mapping[str, str]) -> bool:
    """Whether an element stands in a line: it has no size, and cannot be moved up or transformed."""
    if tag in ("td", "th") or tag not in _INLINE or said.get("display", "inline") != "inline":
        return False
    return said.get("position") not in ("absolute", "fixed") and said.get("float", "none") == "none"


def _is_away(tag: str, said: Mapping[str, str]) -> bool:
    """Whether an element is placed far beyond the edge of its page."""
    moved = ("left", "top", "right", "bottom") if said.get("position") in ("absolute", "fixed", "relative") else ()
    block = () if _in_line(tag, said) else ("text-indent", "margin-top")
    if any(_pixels(said.get(name, ""), 0.0) <= _AWAY for name in (*moved, *block, "margin-left")):
        return True
    margin = arguments(said.get("margin", ""), " ")  # above, right, below, left
    beside = [*(margin[:1] if block else ()), *(margin[3:4] or margin[1:2])]
    placed = arguments(said.get("inset", ""), " ") if moved else []
    if any(_pixels(each, 0.0) <= _AWAY for each in (*beside, *placed)):
        return True
    indented = said.get("text-indent", "").endswith("%") and _LENGTH.match(said["text-indent"])
    cut = said.get("overflow", "").startswith(("hidden", "clip")) and said.get("white-space", "").startswith(
        ("nowrap", "pre")
    )
    return bool(indented and cut and float(indented[1]) >= _WHOLE)


def _is_transformed(tag: str, said: Mapping[str, str]) -> bool:
    """Whether an element is shrunk to nothing, turned until its edge is seen, or moved beyond the edge of its page."""
    if _in_line(tag, said):
        return False
    transform = said.get("transform", "")
    if _NO_SCALE.search(transform) or any(_is_clear(each) for each in arguments(said.get("scale", ""), " ")[:2]):
        return True
    moves = [each for found in _MOVING.findall(transform) for each in arguments(found[1], ",")[:2]]
    return any(_pixels(each, 0.0) <= _AWAY for each in (*moves, *arguments(said.get("translate", ""), " ")[:2]))


def _is_cut(tag: str, said: Mapping[str, str]) -> bool:
    """Whether nothing of an element is shown: by its clip, or since it has no size and shows nothing beyond it."""
    if said.get("position") in ("absolute", "fixed") and _NO_CLIP.match(said.get("clip", "")):
        return True
    if _NO_PATH.match(said.get("clip-path", "")):
        return True
    if any(_pixels(value, 1.0) or "%" in value for name, value in said.items() if name.startswith("padding")):
        return False  # a frame whose height is that of its padding
    in_line = tag in _INLINE and said.get("display", "inline") == "inline"
    if in_line and said.get("position") not in ("absolute", "fixed"):
        return False
    overflow = [said.get(name, "") for name in ("overflow", "overflow-x", "overflow-y")]
    if not any(value.startswith(("hidden", "clip", "auto", "scroll")) for value in overflow):
        return False
    flat = _pixels(said.get("line-height", ""), 99.0) <= _TINY or said.get("line-height") == "0"
    if flat and not _pixels(said.get("height", ""), 0.0) and not _pixels(said.get("min-height", ""), 0.0):
        return True
    return any(_pixels(said.get(name, ""), 99.0) <= _TINY for name in ("width", "height", "max-width", "max-height"))


def _is_tiny(size: str) -> bool:
    found = _LENGTH.match(size)
    if not found:
        return _pixels(size, 16.0) <= _TINY
    if found[2] == "%":
        return float(found[1]) <= 100 * _TINY / 16
    return _pixels(size, 16.0) <= _TINY


def _pixels(value: str, otherwise: float) -> float:
    """A length in pixels; `otherwise` for what is none."""
    if value.startswith("calc("):
        return _sum(value[5:-1], otherwise)
    found = _LENGTH.match(value)
    if not found or found[2] == "%" or (found[2] is None and float(found[1])):
        return otherwise
    return float(found[1]) * _PIXELS.get(found[2] or "px", 1.0)


def _sum(text: str, otherwise: float) -> float:
    """The sum of lengths in pixels, percentages counted as nothing: ``0px - 9999px``; `otherwise` for what is none."""
    total, sign = 0.0, 1.0
    for at, word in enumerate(text.split()):
        if at % 2:
            if word not in ("+", "-"):
                return otherwise
            sign = 1.0 if word == "+" else -1.0
        elif found := _LENGTH.match(word):
            total += sign * float(found[1]) * _PIXELS.get(found[2] or "px", 1.0) * (found[2] != "%")
        else:
            return otherwise
    return total
