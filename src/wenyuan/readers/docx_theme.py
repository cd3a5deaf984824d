"""Colours of Word files: as digits, by the theme with its tints and shades, as shading, as highlight."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from wenyuan.readers.markup import local, parse_xml

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_HEX = re.compile(r"[0-9A-Fa-f]{6}\Z")
_BYTE = re.compile(r"[0-9A-Fa-f]{1,2}\Z")
_PLACES = {
    "background1": "lt1", "bg1": "lt1", "light1": "lt1", "text1": "dk1", "tx1": "dk1", "dark1": "dk1", "background2": "lt2",
    "bg2": "lt2", "light2": "lt2", "text2": "dk2", "tx2": "dk2", "dark2": "dk2", "hyperlink": "hlink", "followedHyperlink": "folHlink",
}  # fmt: skip
"""The theme's places, where the settings name no others for them."""
_SHORT = {"background1": "bg1", "text1": "t1", "background2": "bg2", "text2": "t2"}
_HIGHLIGHTS = {
    "black": "000000", "blue": "0000FF", "cyan": "00FFFF", "green": "00FF00", "magenta": "FF00FF", "red": "FF0000",
    "yellow": "FFFF00", "white": "FFFFFF", "darkBlue": "000080", "darkCyan": "008080", "darkGreen": "008000",
    "darkMagenta": "800080", "darkRed": "800000", "darkYellow": "808000", "darkGray": "808080", "lightGray": "C0C0C0",
}  # fmt: skip
_NEAR = 8  # of 255, between colours that no eye tells apart
UNKNOWN = "?"
"""Something is laid under a text, of a colour that is not known."""


class DocxTheme:
    """The colours of a file's theme; without one, those of its places that are always the same.

    Args:
        parts: The parts of the file, by their names.
    """

    def __init__(self, parts: Mapping[str, bytes]) -> None:
        self._colours = {"lt1": "FFFFFF", "dk1": "000000"}
        self._mapped: dict[str, str] = {}
        if theme := parts.get("/word/theme/theme1.xml"):
            self._colours |= _scheme(parse_xml(theme))
        if settings := parts.get("/word/settings.xml"):
            for node in parse_xml(settings).iter(f"{_W}clrSchemeMapping"):
                self._mapped = {
                    key.rpartition("}")[2]: _PLACES.get(value, value) for key, value in node.attrib.items()
                }

    @classmethod
    def of(cls, package: Any) -> DocxTheme:
        """Of a file that python-docx has opened."""
        names = ("/word/theme/theme1.xml", "/word/settings.xml")
        parts = ((str(part.partname), part) for part in package.part.package.iter_parts())
        return cls({name: part.blob for name, part in parts if name in names})

    def ink(self, colour: Any) -> str:
        """The colour that an element says for letters, as six digits; ``""`` for what the program chooses."""
        return self._told(colour, "val", "themeColor", "themeTint", "themeShade")

    def ground(self, shading: Any | None) -> str:
        """The colour that an element lays under letters, `UNKNOWN` for a pattern, ``""`` for nothing."""
        if shading is None:
            return ""
        kind = shading.get(f"{_W}val") or "clear"
        if kind in ("nil", "none"):
            return ""
        fill = self._told(shading, "fill", "themeFill", "themeFillTint", "themeFillShade")
        if kind == "clear":
            return fill
        return (
            self._told(shading, "color", "themeColor", "themeTint", "themeShade") or UNKNOWN
            if kind == "solid"
            else UNKNOWN
        )

    def _told(self, node: Any, plain: str, theme: str, tint: str, shade: str) -> str:
        place = node.get(f"{_W}{theme}") or ""
        if place and place != "none":
            place = self._mapped.get(_SHORT.get(place, place)) or _PLACES.get(place, place)
            if known := self._colours.get(place):
                return _changed(known, node.get(f"{_W}{tint}") or "", node.get(f"{_W}{shade}") or "")
        value = node.get(f"{_W}{plain}") or ""
        return value.upper() if _HEX.match(value) else UNKNOWN if place and place != "none" else ""


def highlight(name: str) -> str:
    """The colour of a highlight; ``""`` for none."""
    return _HIGHLIGHTS.get(name, "" if name in ("none", "") else UNKNOWN)


def alike(one: str, other: str) -> bool:
    """Whether no eye tells two colours apart; not where one of them is not known."""
    if UNKNOWN in (one, other) or not one or not other:
        return False
    return all(abs(a - b) < _NEAR for a, b in zip(bytes.fromhex(one), bytes.fromhex(other), strict=True))


def _changed(colour: str, tint: str, shade: str) -> str:
    """A colour nearer to white by a tint and nearer to black by a shade, hexadecimal shares of 255 that stay of it."""
    parts = [float(each) for each in bytes.fromhex(colour)]
    if _BYTE.match(tint):
        share = int(tint, 16) / 255
        parts = [each * share + 255 * (1 - share) for each in parts]
    if _BYTE.match(shade):
        parts = [each * int(shade, 16) / 255 for each in parts]
    return "".join(f"{round(each):02X}" for each in parts)


def _scheme(root: Any) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for scheme in root.iter():
        if isinstance(scheme.tag, str) and local(scheme) == "clrScheme":
            for place in scheme:
                for colour in place:
                    value = colour.get("lastClr") or colour.get("val") or ""
                    if isinstance(place.tag, str) and _HEX.match(value):
                        found.setdefault(local(place), value.upper())
            break
    return found
