"""Colours as style sheets write them: names, digits, and the functions of CSS Color 4 and 5."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from colorsys import hls_to_rgb
from typing import NamedTuple

_LONGEST = 300
_DEEPEST = 5  # mixtures of mixtures
_HEX = re.compile(r"#(?:[0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})\Z")
_NUMBER = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]{1,2})?)(%|deg|grad|rad|turn)?\Z")
_TURNS = {"deg": 1.0, "grad": 0.9, "rad": 180 / math.pi, "turn": 360.0}
_CALL = re.compile(r"([a-z][a-z-]*)\((.*)\)\Z", re.S)
_NAMES = dict(
    zip(
        *[
            iter(
                (
                    "aliceblue f0f8ff antiquewhite faebd7 aqua 00ffff aquamarine 7fffd4 azure f0ffff beige f5f5dc bisque ffe4c4 "
                    "black 000000 blanchedalmond ffebcd blue 0000ff blueviolet 8a2be2 brown a52a2a burlywood deb887 "
                    "cadetblue 5f9ea0 chartreuse 7fff00 chocolate d2691e coral ff7f50 cornflowerblue 6495ed cornsilk fff8dc "
                    "crimson dc143c cyan 00ffff darkblue 00008b darkcyan 008b8b darkgoldenrod b8860b darkgray a9a9a9 "
                    "darkgreen 006400 darkgrey a9a9a9 darkkhaki bdb76b darkmagenta 8b008b darkolivegreen 556b2f "
                    "darkorange ff8c00 darkorchid 9932cc darkred 8b0000 darksalmon e9967a darkseagreen 8fbc8f "
                    "darkslateblue 483d8b darkslategray 2f4f4f darkslategrey 2f4f4f darkturquoise 00ced1 darkviolet 9400d3 "
                    "deeppink ff1493 deepskyblue 00bfff dimgray 696969 dimgrey 696969 dodgerblue 1e90ff firebrick b22222 "
                    "floralwhite fffaf0 forestgreen 228b22 fuchsia ff00ff gainsboro dcdcdc ghostwhite f8f8ff gold ffd700 "
                    "goldenrod daa520 gray 808080 green 008000 greenyellow adff2f grey 808080 honeydew f0fff0 hotpink ff69b4 "
                    "indianred cd5c5c indigo 4b0082 ivory fffff0 khaki f0e68c lavender e6e6fa lavenderblush fff0f5 "
                    "lawngreen 7cfc00 lemonchiffon fffacd lightblue add8e6 lightcoral f08080 lightcyan e0ffff "
                    "lightgoldenrodyellow fafad2 lightgray d3d3d3 lightgreen 90ee90 lightgrey d3d3d3 lightpink ffb6c1 "
                    "lightsalmon ffa07a lightseagreen 20b2aa lightskyblue 87cefa lightslategray 778899 lightslategrey 778899 "
                    "lightsteelblue b0c4de lightyellow ffffe0 lime 00ff00 limegreen 32cd32 linen faf0e6 magenta ff00ff "
                    "maroon 800000 mediumaquamarine 66cdaa mediumblue 0000cd mediumorchid ba55d3 mediumpurple 9370db "
                    "mediumseagreen 3cb371 mediumslateblue 7b68ee mediumspringgreen 00fa9a mediumturquoise 48d1cc "
                    "mediumvioletred c71585 midnightblue 191970 mintcream f5fffa mistyrose ffe4e1 moccasin ffe4b5 "
                    "navajowhite ffdead navy 000080 oldlace fdf5e6 olive 808000 olivedrab 6b8e23 orange ffa500 orangered ff4500 "
                    "orchid da70d6 palegoldenrod eee8aa palegreen 98fb98 paleturquoise afeeee palevioletred db7093 "
                    "papayawhip ffefd5 peachpuff ffdab9 peru cd853f pink ffc0cb plum dda0dd powderblue b0e0e6 purple 800080 "
                    "rebeccapurple 663399 red ff0000 rosybrown bc8f8f royalblue 4169e1 saddlebrown 8b4513 salmon fa8072 "
                    "sandybrown f4a460 seagreen 2e8b57 seashell fff5ee sienna a0522d silver c0c0c0 skyblue 87ceeb "
                    "slateblue 6a5acd slategray 708090 slategrey 708090 snow fffafa springgreen 00ff7f steelblue 4682b4 "
                    "tan d2b48c teal 008080 thistle d8bfd8 tomato ff6347 turquoise 40e0d0 violet ee82ee wheat f5deb3 "
                    "white ffffff whitesmoke f5f5f5 yellow ffff00 yellowgreen 9acd32 "
                ).split()
            )
        ]
        * 2,
        strict=True,
    )
)
_SYSTEM = {"canvas": "white", "canvastext": "black", "field": "white", "fieldtext": "black", "mark": "yellow", "marktext": "black"}  # fmt: skip
Triple = tuple[float, float, float]


class Rgba(NamedTuple):
    """A colour of sRGB: red, green and blue of 0..255, and how opaque it is, 0..1."""

    red: int
    green: int
    blue: int
    alpha: float = 1.0

    def over(self, below: tuple[int, int, int]) -> tuple[int, int, int]:
        """The colour that is seen where this one lies on another that is opaque."""
        red, green, blue = (
            round(own * self.alpha + other * (1 - self.alpha)) for own, other in zip(self[:3], below, strict=True)
        )
        return red, green, blue


def read_colour(value: str, deep: int = 0) -> Rgba | None:
    """A colour as a style sheet writes it, in lower case; None for what is none, or depends on what is not known."""
    value = value.strip()
    if len(value) > _LONGEST or deep > _DEEPEST:
        return None
    if value == "transparent":
        return Rgba(0, 0, 0, 0.0)
    if digits := _NAMES.get(_SYSTEM.get(value, value)) or (value[1:] if _HEX.match(value) else ""):
        if len(digits) in (3, 4):
            digits = "".join(digit * 2 for digit in digits)
        red, green, blue, alpha = bytes.fromhex(digits if len(digits) == 8 else f"{digits}ff")
        return Rgba(red, green, blue, alpha / 255)
    if not (call := _CALL.match(value)):
        return None
    name, body = call.groups()
    if name == "color-mix":
        return _mixed(arguments(body, ","), deep)
    if name == "light-dark":
        return read_colour(arguments(body, ",")[0], deep + 1)
    return _called(name, body)


def arguments(text: str, separator: str) -> list[str]:
    """A text cut at a separator that stands in no brackets; at white space for ``" "``."""
    found, depth, start = list[str](), 0, 0
    for at, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if sign == separator and depth <= 0:
            found.append(text[start:at].strip())
            start = at + 1
    found.append(text[start:].strip())
    return [each for each in found if each] if separator == " " else found


def _called(name: str, body: str) -> Rgba | None:
    """A colour by the function that makes it."""
    main, _, last = body.partition("/")
    numbers = main.replace(",", " ").split()
    if not last and len(numbers) == 4 and name != "color":
        last = numbers.pop()
    make = _SPACES.get(
        numbers.pop(0) if name == "color" and numbers else name.removesuffix("a") if name != "color" else ""
    )
    alpha = _number(last, 1.0) if last else 1.0
    if make is None or alpha is None or len(numbers) != 3:
        return None
    made = make(numbers)
    if made is None:
        return None
    red, green, blue = (min(max(round(255 * each), 0), 255) for each in made)
    return Rgba(red, green, blue, min(max(alpha, 0.0), 1.0))


def _number(text: str, whole: float) -> float | None:
    """A number, or the share of `whole` that a percentage says; angles in degrees."""
    if (text := text.strip()) == "none":
        return 0.0
    if not (found := _NUMBER.match(text)):
        return None
    value = float(found[1])
    if found[2] == "%":
        return value / 100 * whole
    return value * _TURNS.get(found[2] or "", 1.0)


def _numbers(texts: Sequence[str], *wholes: float) -> Triple | None:
    first, second, third = (_number(text, whole) for text, whole in zip(texts, wholes, strict=True))
    return None if first is None or second is None or third is None else (first, second, third)


def _of_rgb(texts: Sequence[str]) -> Triple | None:
    found = _numbers(texts, 255, 255, 255)
    return found and (found[0] / 255, found[1] / 255, found[2] / 255)


def _of_srgb(texts: Sequence[str]) -> Triple | None:
    return _numbers(texts, 1, 1, 1)


def _of_linear(texts: Sequence[str]) -> Triple | None:
    found = _numbers(texts, 1, 1, 1)
    return found and _curved(found)


def _of_hsl(texts: Sequence[str]) -> Triple | None:
    found = _numbers(texts, 360, 100, 100)
    return found and hls_to_rgb(found[0] % 360 / 360, _share(found[2]), _share(found[1]))


def _of_hwb(texts: Sequence[str]) -> Triple | None:
    found = _numbers(texts, 360, 100, 100)
    if not found:
        return None
    white, black = _share(found[1]), _share(found[2])
    if white + black >= 1:
        grey = white / (white + black)
        return grey, grey, grey
    red, green, blue = (each * (1 - white - black) + white for each in hls_to_rgb(found[0] % 360 / 360, 0.5, 1))
    return red, green, blue


def _of_oklab(texts: Sequence[str]) -> Triple | None:
    found = _numbers(texts, 1, 0.4, 0.4)
    return found and _from_oklab(found)


def _of_oklch(texts: Sequence[str]) -> Triple | None:
    found = _numbers(texts, 1, 0.4, 360)
    return found and _from_oklab(_across(found))


def _of_lab(texts: Sequence[str]) -> Triple | None:
    found = _numbers(texts, 100, 125, 125)
    return found and _from_lab(found)


def _of_lch(texts: Sequence[str]) -> Triple | None:
    found = _numbers(texts, 100, 150, 360)
    return found and _from_lab(_across(found))


_SPACES: dict[str, Callable[[Sequence[str]], Triple | None]] = {
    "rgb": _of_rgb, "hsl": _of_hsl, "hwb": _of_hwb, "oklab": _of_oklab, "oklch": _of_oklch, "lab": _of_lab, "lch": _of_lch,
    "srgb": _of_srgb, "srgb-linear": _of_linear, "display-p3": _of_srgb,
}  # fmt: skip


def _share(percent: float) -> float:
    return min(max(percent / 100, 0.0), 1.0)


def _across(polar: Triple) -> Triple:
    """Lightness, chroma and hue as lightness and two axes."""
    light, chroma, hue = polar
    return light, chroma * math.cos(math.radians(hue)), chroma * math.sin(math.radians(hue))


def _curved(linear: Triple) -> Triple:
    """Light as sRGB's numbers."""
    red, green, blue = (
        12.92 * each if each <= 0.0031308 else 1.055 * min(each, 10.0) ** (1 / 2.4) - 0.055 for each in linear
    )
    return red, green, blue


def _from_oklab(found: Triple) -> Triple:
    """Of Oklab, by Björn Ottosson's matrices (2020)."""
    light, a, b = (min(max(each, -10.0), 10.0) for each in found)
    long, middle, short = (
        (light + 0.3963377774 * a + 0.2158037573 * b) ** 3,
        (light - 0.1055613458 * a - 0.0638541728 * b) ** 3,
        (light - 0.0894841775 * a - 1.2914855480 * b) ** 3,
    )
    return _curved((
        4.0767416621 * long - 3.3077115913 * middle + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * middle - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * middle + 1.7076147010 * short,
    ))  # fmt: skip


def _to_oklab(colour: Rgba) -> Triple:
    red, green, blue = (
        each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in (v / 255 for v in colour[:3])
    )
    long, middle, short = (
        each ** (1 / 3)
        for each in (
            0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue,
            0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue,
            0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue,
        )
    )
    return (
        0.2104542553 * long + 0.7936177850 * middle - 0.0040720468 * short,
        1.9779984951 * long - 2.4285922050 * middle + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * middle - 0.8086757660 * short,
    )


def _from_lab(found: Triple) -> Triple:
    """Of CIE Lab with the white of D50, by the matrices of CSS Color 4 (2022)."""
    light, a, b = (min(max(each, -500.0), 500.0) for each in found)
    middle = (light + 16) / 116
    across, down = middle + a / 500, middle - b / 200
    x, y, z = (each**3 if each > 6 / 29 else (116 * each - 16) / (24389 / 27) for each in (across, middle, down))
    x, z = 0.9642956764 * x, 0.8251046025 * z
    return _curved((
        3.1341359570 * x - 1.6173863322 * y - 0.4906619460 * z,
        -0.9787955029 * x + 1.9162545673 * y + 0.0334427312 * z,
        0.0719553799 * x - 0.2289768264 * y + 1.4053860583 * z,
    ))  # fmt: skip


def _mixed(said: Sequence[str], deep: int) -> Rgba | None:
    """``in oklab, white 30%, black``: mixed in sRGB where that is said, else in Oklab, which others are near to."""
    if len(said) != 3:
        return None
    parts = [_part(each, deep) for each in said[1:]]
    (one, first), (other, second) = parts
    if one is None or other is None:
        return None
    if first is None:
        first = 0.5 if second is None else 1 - second
    second = 1 - first if second is None else second
    if (whole := first + second) <= 0:
        return None
    first, second = first / whole, second / whole
    alpha = first * one.alpha + second * other.alpha
    plain = said[0].split()[1:2] == ["srgb"]
    if alpha <= 0:
        return Rgba(0, 0, 0, 0.0)
    mixed = [
        (first * one.alpha * a + second * other.alpha * b) / alpha
        for a, b in zip(one[:3] if plain else _to_oklab(one), other[:3] if plain else _to_oklab(other), strict=True)
    ]
    made = mixed if plain else [255 * each for each in _from_oklab((mixed[0], mixed[1], mixed[2]))]
    red, green, blue = (min(max(round(each), 0), 255) for each in made)
    return Rgba(red, green, blue, alpha * min(whole, 1.0))


def _part(text: str, deep: int) -> tuple[Rgba | None, float | None]:
    """A colour of a mixture, and its share."""
    words = arguments(text, " ")
    shares = [each for each in words if each.endswith("%")]
    colours = [each for each in words if not each.endswith("%")]
    colour = read_colour(colours[0], deep + 1) if len(colours) == 1 else None
    return colour, _number(shares[0], 1.0) if len(shares) == 1 else None
