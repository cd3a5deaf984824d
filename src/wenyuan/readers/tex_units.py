"""Numbers and units of the LaTeX package siunitx as they are printed."""

from __future__ import annotations

import re

from wenyuan.readers import notation
from wenyuan.readers.tex_names import UNITS


def plain_number(text: str) -> str:
    """A number of the package siunitx: ``1e6`` is 1×10^6."""
    return re.sub(r"(?<=[0-9])[eEdD]([+-]?[0-9]+)", r"×10^\1", text.replace("+-", "±").strip())


def plain_unit(text: str) -> str:
    r"""A unit of the package siunitx: ``\kilo\gram\per\cubic\metre``, ``m.s^{-1}``."""
    shown, power, over = "", "", ""
    for name, sign in re.findall(r"\\([A-Za-z]+)|([^\\])", text):
        if name == "per":
            over = "/"
        elif name in ("square", "cubic"):
            power = {"square": "²", "cubic": "³"}[name]
        elif name in ("squared", "cubed"):
            shown += {"squared": "²", "cubed": "³"}[name]
        else:
            shown += (over if name or not shown else "") + (UNITS.get(name, name) if name else sign)
            over = ""
            if name and not UNITS.get(name, "").endswith("\u2060"):
                shown, power = shown + power, ""
    shown = re.sub(r"\^\{?(-?[0-9]+)\}?", lambda found: notation.raised(found[1]), shown.replace("\u2060", ""))
    return notation.plain(shown.replace("~", " ").replace("{", "").replace("}", ""))
