"""Lines of AsciiDoc: their kind, continuations, attributes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from wenyuan.readers.adoc_inline import inline

SECTION = re.compile(r"(?P<level>={1,6}|#{1,6})[ \t]+(?P<title>\S.*)")


INCLUDE = re.compile(r"include::(?P<file>[^\[\]]+)\[.*\]\s*\Z")


STYLE = re.compile(r"\[(?P<said>(?:[^\[\]]|\[[^\[\]]*\])*)\]\s*\Z|\[\[(?P<id>[^\[\]]*)\]\]\s*\Z")


FENCE = re.compile(r"(?P<kind>-{4,}|\.{4,}|={4,}|\*{4,}|_{4,}|\+{4,}|/{4,}|~{4,}|--|`{3,}(?=\w|\s*\Z)|[|,:!]={3,})")


BULLET = re.compile(r"[ \t]*(?P<mark>\*{1,6}|-|•)[ \t]+(?P<said>\S.*)")


NUMBER = re.compile(r"[ \t]*(?P<mark>\.{1,6}|[0-9]{1,6}\.|[a-zA-Z]\.|[ivxIVX]{1,6}\))[ \t]+(?P<said>\S.*)")


CALLOUT = re.compile(r"<(?P<mark>[0-9]{1,3}|\.)>[ \t]+(?P<said>\S.*)")


TERM = re.compile(
    r"[ \t]*(?P<term>[^\s:;/](?:[^:;\n]|:(?!:)|;(?!;)){0,400}?)(?P<mark>:{2,4}|;;)(?:[ \t]+(?P<said>\S.*)|[ \t]*\Z)"
)


CHECKED = re.compile(r"\[(?P<of>[ *xX])\][ \t]+")


class AdocLine(NamedTuple):
    number: int
    text: str


class AdocBlock(NamedTuple):
    """What stands above a block: its title, its style and its named attributes."""

    title: str = ""
    style: str = ""
    named: Mapping[str, str] = {}


def closing(lines: Sequence[AdocLine], at: int) -> int:
    """The line that ends a block of the same signs; the end of the text where there is none."""
    fence = lines[at].text
    fence = "```" if fence.startswith("```") else fence
    return next((after for after in range(at + 1, len(lines)) if lines[after].text == fence), len(lines))


def continued(lines: Sequence[AdocLine], at: int, *, items: bool = True) -> tuple[int, list[str]]:
    """The line after a paragraph, and its further lines.

    Args:
        items: Whether an item of a list ends it.
    """
    said: list[str] = []
    while at < len(lines) and (text := lines[at].text).strip():
        if (
            text == "+"
            or text.startswith("//")
            or INCLUDE.match(text)
            or (STYLE.match(text) and not CHECKED.match(text))
        ):
            break
        if (match := FENCE.match(text)) and text == match["kind"]:
            break
        if items and (BULLET.match(text) or NUMBER.match(text) or TERM.match(text) or CALLOUT.match(text)):
            break
        said.append(text.strip() if items else text)
        at += 1
    return at, said


def joined(text: str) -> str:
    """Lines as one, unless a line says that it ends; no space between Chinese signs."""
    parts: list[str] = []
    for line in text.split("\n"):
        before = parts[-1] if parts else ""
        if before.endswith(" +"):
            parts[-1] = before[:-2]
            parts.append("\n")
        elif before:
            parts.append("" if before[-1] >= "\u2e80" and line[:1] >= "\u2e80" else " ")
        parts.append(line)
    return "".join(parts).removesuffix(" +")


def line_kind(pattern: re.Pattern[str], mark: str) -> str:
    """A mark that items of the same list share."""
    if pattern is NUMBER and mark[0].isalnum():
        return "1." if mark[0].isdigit() else "a."
    return "<1>" if pattern is CALLOUT else mark if pattern is not TERM else f"term {mark}"


def deep(said: Sequence[str]) -> int:
    """How many lists are open, not counting those of terms."""
    return sum(not kind.startswith("term") for kind in said)


def styled(above: AdocBlock, said: str) -> AdocBlock:
    """What a line in brackets adds: the first value is the style, others are named."""
    named = dict(above.named)
    style = above.style
    values = [value.strip() for value in _split(said)]
    for number, value in enumerate(values):
        name, mark, rest = value.partition("=")
        if mark and re.fullmatch(r"[\w-]+", name.strip()):
            named[name.strip()] = rest.strip().strip("\"'")
        elif number == 0:
            style = re.split(r"[.#%]", value)[0] or style
            named["options"] = named.get("options", "") + value.partition("%")[2]
        elif style in ("quote", "verse") and value:
            named["by"] = ", ".join(filter(None, (named.get("by"), value.strip("\"'"))))
    return above._replace(style=style, named=named)


def _split(said: str) -> list[str]:
    """Values between commas, those in quotes as a whole."""
    return [match[0] for match in re.finditer(r"(?:[^,\"]|\"[^\"]*\"?)+", said)]


def ids(lines: Sequence[AdocLine]) -> dict[str, str]:
    """The titles of sections by the ids that are stated for them or made of them."""
    found: dict[str, str] = {}
    stated = ""
    for line in lines:
        if line.text.startswith("[") and (match := re.match(r"\[\[([^\],]+)|\[#([\w-]+)", line.text)):
            stated = match[1] or match[2]
        elif match := SECTION.match(line.text):
            title = inline(match["title"], {})
            found.setdefault("_" + re.sub(r"[^\w]+", "_", title.lower()).strip("_"), title)
            if stated:
                found.setdefault(stated, title)
            stated = ""
        elif line.text.strip():
            stated = ""
    return found
