"""Whether an element of a page is seen: by its attributes, its styles, and the colour of what it stands on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from colorsys import hls_to_rgb
from typing import Any, NamedTuple

_LENGTH = re.compile(r"(-?[0-9]*\.?[0-9]+)(px|pt|em|rem|ex|ch|vw|vh|%|in|cm|mm)?\Z")
_PIXELS = {"px": 1.0, "pt": 4 / 3, "em": 16.0, "rem": 16.0, "ex": 8.0, "ch": 8.0, "in": 96.0, "cm": 38.0, "mm": 3.8, "vw": 12.0, "vh": 8.0}  # fmt: skip
_AWAY = -500.0  # pixels beyond the edge of a page
_TINY = 1.0  # pixels
_NO_CLIP = re.compile(r"rect\((?:0|1)(?:px)?,? ?(?:0|1)(?:px)?,? ?(?:0|1)(?:px)?,? ?(?:0|1)(?:px)?\)")
_NO_PATH = re.compile(r"inset\((?:50|100)%|circle\(0|polygon\(0(?:px)? 0(?:px)?,? ?0")
_NO_SCALE = re.compile(r"scale[xy]?\(0(?:[,)]|\.0)|translate(?:x|y|3d)?\(-(?:[0-9]{4,}px|[0-9]{3,}v)")
_FONT_SIZE = re.compile(r"(?:^| )([0-9.]+[a-z%]*)(?:/|\Z| )")
_OF_PARENT = re.compile(r"inherit|unset|smaller|larger|[0-9.]+(?:em|ex|ch|%)")
_NAMED = {"white": (255, 255, 255), "black": (0, 0, 0), "red": (255, 0, 0), "yellow": (255, 255, 0), "snow": (255, 250, 250),
          "ghostwhite": (248, 248, 255), "ivory": (255, 255, 240), "whitesmoke": (245, 245, 245), "floralwhite": (255, 250, 240),
          "gray": (128, 128, 128), "grey": (128, 128, 128), "blue": (0, 0, 255), "green": (0, 128, 0), "navy": (0, 0, 128)}  # fmt: skip
_HEX = re.compile(r"#([0-9a-f]{3,8})\Z")
_NUMBER = r"([0-9]*\.?[0-9]+)"
_RGB = re.compile(rf"rgba?\( ?{_NUMBER}[ ,]+{_NUMBER}[ ,]+{_NUMBER}(?:[ ,/]+{_NUMBER}(%?))? ?\)\Z")
_HSL = re.compile(rf"hsla?\( ?{_NUMBER}(?:deg)?[ ,]+{_NUMBER}%[ ,]+{_NUMBER}%(?:[ ,/]+{_NUMBER}(%?))? ?\)\Z")
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
    return _is_away(said) or _is_cut(tag, said) or bool(_NO_SCALE.search(said.get("transform", "")))


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
        (attributes.get("color") if node.tag == "font" else None)
        or said.get("-webkit-text-fill-color")
        or said.get("color")
    )
    if told and told != "inherit":
        drawn = "text" in (said.get("background-clip"), said.get("-webkit-background-clip")) or "text-shadow" in said
        letters = NONE if _is_see_through(told.strip().lower()) and not drawn else colour(told.strip().lower())
    behind = [each for name, each in said.items() if name in ("background", "background-color")]
    if bgcolor := attributes.get("bgcolor"):
        behind.insert(0, bgcolor.strip().lower())
    for value in behind:
        if "url(" in value or "gradient(" in value:
            paper = None
        elif value.split(" ")[0] not in ("transparent", "none", "inherit", "initial", "unset") and not _clear(value):
            found = [each for part in _tokens(value) if (each := colour(part))]
            paper = found[0] if found else None
    if attributes.get("background") or said.get("background-image", "none") != "none":
        paper = None
    if (letters, paper) == (above.letters, above.paper):
        return above
    return Ground(letters, paper, node.mem_id)


def blends(colours: Ground) -> bool:
    """Whether letters have the colour of what they stand on."""
    if colours.letters == NONE:
        return True
    if colours.letters is None or colours.paper is None:
        return False
    return max(abs(a - b) for a, b in zip(colours.letters, colours.paper, strict=True)) < _SEEN


def colour(value: str) -> Colour | None:
    """A colour as red, green, blue of 0..255; None for one that is not known, or not opaque."""
    if value in _NAMED:
        return _NAMED[value]
    if found := _HEX.match(value):
        digits = found[1]
        if len(digits) in (3, 4):
            digits = "".join(digit * 2 for digit in digits[:3])
        return (int(digits[:2], 16), int(digits[2:4], 16), int(digits[4:6], 16)) if len(digits) == 6 else None
    if found := _RGB.match(value):
        if found[4] and float(found[4]) / (100 if found[5] else 1) < 1:
            return None
        red, green, blue = (min(255, round(float(each))) for each in found.groups()[:3])
        return red, green, blue
    if found := _HSL.match(value):
        if found[4] and float(found[4]) / (100 if found[5] else 1) < 1:
            return None
        hue, saturation, lightness = (
            float(found[1]) / 360,
            min(float(found[2]), 100) / 100,
            min(float(found[3]), 100) / 100,
        )
        red, green, blue = (round(255 * each) for each in hls_to_rgb(hue, lightness, saturation))
        return red, green, blue
    return None


def _is_see_through(value: str) -> bool:
    """Whether a colour has no opacity that an eye could see."""
    if value == "transparent":
        return True
    if (found := _HEX.match(value)) and len(found[1]) in (4, 8):
        alpha = found[1][3] * 2 if len(found[1]) == 4 else found[1][6:]
        return int(alpha, 16) / 255 < _CLEAR
    mixed = _RGB.match(value) or _HSL.match(value)
    return mixed is not None and bool(mixed[4]) and float(mixed[4]) / (100 if mixed[5] else 1) < _CLEAR


def _tokens(value: str) -> list[str]:
    return re.findall(r"[a-z-]+\([^()]*\)|[^\s]+", value)


def _clear(value: str) -> bool:
    """Whether a background has a colour that is not opaque."""
    return any(part.startswith(("rgba", "hsla")) and colour(part) is None for part in _tokens(value))


def _is_clear(opacity: str) -> bool:
    found = re.fullmatch(r"([0-9]*\.?[0-9]+)(%?)", opacity)
    return bool(found) and float(found[1]) / (100 if found[2] else 1) < _CLEAR  # type: ignore[index]


def _is_away(said: Mapping[str, str]) -> bool:
    """Whether an element is placed far beyond the edge of its page."""
    moved = ("left", "top", "right", "bottom") if said.get("position") in ("absolute", "fixed", "relative") else ()
    return any(_pixels(said.get(name, ""), 0.0) <= _AWAY for name in (*moved, "text-indent", "margin-left"))


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
        return False  # what stands in a line has no size
    overflow = [said.get(name, "") for name in ("overflow", "overflow-x", "overflow-y")]
    if not any(value.startswith(("hidden", "clip")) for value in overflow):
        return False
    return any(_pixels(said.get(name, ""), 99.0) <= _TINY for name in ("width", "height", "max-width", "max-height"))


def _is_tiny(size: str) -> bool:
    found = _LENGTH.match(size)
    if not found:
        return False
    if found[2] == "%":
        return float(found[1]) <= 100 * _TINY / 16
    return _pixels(size, 16.0) <= _TINY


def _pixels(value: str, otherwise: float) -> float:
    """A length in pixels; `otherwise` for what is none."""
    found = _LENGTH.match(value)
    if not found or found[2] == "%" or (found[2] is None and float(found[1])):
        return otherwise
    return float(found[1]) * _PIXELS.get(found[2] or "px", 1.0)
