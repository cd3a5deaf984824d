"""HTML within Markdown as Markdown: tables with their rows, raised and struck text, pictures without their bytes.

What an author writes as HTML a reader of the page sees as a table, a power or a box to tick, and so does a passage.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import NamedTuple

from wenyuan.readers import notation
from wenyuan.readers.page import Page

CODE = (
    r"^ {0,3}(?P<fence>`{3,}(?!`)|~{3,}(?!~))[^\n]*\n(?:.*?^ {0,3}(?P=fence)[`~]*[ \t]*$|.*\Z)"
    r"|(?<!`)(?P<tick>`{1,8})(?!`)[^`\n]+(?P=tick)(?!`)"
)
"""Code, in which nothing is markup."""
_TABLES = re.compile(rf"{CODE}|(?P<open><table\b[^<>]*>)|(?P<close></table\s*>)", re.M | re.S | re.I)
_SCRIPTS = {"sup": notation.UP, "sub": notation.DOWN, "s": notation.OUT, "del": notation.OUT, "strike": notation.OUT}
_TAGS = re.compile(
    rf"{CODE}"
    r"|<(?P<end>/?)(?P<script>sup|sub|s|del|strike)(?:\s[^<>]*)?>"
    r"|(?P<data>\]\(\s*<?data:[^)\s>]*>?)|(?P<defined>^ {0,3}\[[^\]\n]{1,200}\]:[ \t]*<?data:\S*)"
    r"|<(?P<box>input)\b(?P<of>[^<>]*)>"
    r"|<img\b(?P<img>[^<>]*)>"
    r"|<(?P<close>/?)h(?P<level>[1-6])(?:\s[^<>]*)?>"
    r"|<br\s*/?>"
    r"|</?(?P<plain>p|div|span|center|font|details|summary|figure|figcaption|picture|source|b|strong|i|em|u|small|big|mark|kbd|"
    r"section|article|a|ul|ol|li|dl|dt|dd|blockquote|hr|tt|code|abbr|cite|ins)(?:\s[^<>]*)?/?>",
    re.M | re.S | re.I,
)
_TAG = re.compile(r"<[^<>]*>")
_ALT = re.compile(r"""\balt\s*=\s*(?:"([^"]*)"|'([^']*)')""", re.I)
_CHECKBOX = re.compile(r"""\btype\s*=\s*["']?checkbox""", re.I)


class Rendered(NamedTuple):
    """A text whose HTML was turned into Markdown.

    Attributes:
        numbers: For each line, that of the file's text from which it comes (0-based).
        source: The text of the file without tags and without the bytes of pictures, to be compared with.
        pictures: That were written as HTML.
    """

    text: str
    numbers: list[int]
    source: str
    pictures: int


class _Segment(NamedTuple):
    text: str
    line: int
    made: bool
    source: str


def rendered(text: str) -> Rendered:
    """A Markdown text with its HTML as Markdown."""
    if "<" not in text and "data:" not in text:
        return Rendered(text, list(range(text.count("\n") + 1)), text, 0)
    segments = list(_segments(text))
    count = itertools.count()
    shown = [each if each.made else each._replace(text=_inline(each.text, count)) for each in segments]
    numbers = [0]
    for segment in shown:
        for at in range(segment.text.count("\n")):
            numbers.append(segment.line + (0 if segment.made else at + 1))
        if not segment.made:
            numbers[-1] = segment.line + segment.text.count("\n")
    whole = "".join(segment.text for segment in shown)
    source = "".join(each.source if each.made else each.text for each in shown)
    return Rendered(whole, numbers, source, next(count))


def _segments(text: str) -> Iterator[_Segment]:
    """A text cut at its tables of HTML, these as tables of Markdown."""
    at = depth = start = line = 0
    for match in _TABLES.finditer(text):
        if match["open"]:
            start = start if depth else match.start()
            depth += 1
        elif match["close"] and depth:
            depth -= 1
            if depth == 0:
                if at < start:
                    yield _Segment(text[at:start], line, made=False, source="")
                    line += text.count("\n", at, start)
                own = text[start : match.end()]
                yield _Segment(_table(own), line, made=True, source=_TAG.sub(" ", own))
                line += own.count("\n")
                at = match.end()
    yield _Segment(text[at:], line, made=False, source="")


def _table(source: str) -> str:
    """A table of HTML as one of Markdown, with blank lines around it; what it arranges only, as paragraphs."""
    from selectolax.lexbor import LexborHTMLParser

    parts: list[str] = []
    for piece in Page(LexborHTMLParser(source).body).pieces:
        lines = piece.text.split("\n")
        if piece.kind == "table" and piece.text.strip():
            width = lines[0].count(" | ") + 1
            rows = [f"| {line} |" for line in lines]
            parts.append("\n".join([rows[0], "|" + "---|" * width, *rows[1:]]))
        elif piece.text.strip():
            parts.append("\n".join(line.rstrip() for line in lines))
    return "\n\n" + "\n\n".join(parts) + "\n\n"


def _inline(text: str, pictures: Iterator[int]) -> str:
    """Text with single tags as what they show; those that show nothing are dropped."""
    levels: list[str] = []

    def shown(match: re.Match[str]) -> str:
        if match["fence"] or match["tick"]:
            return match[0]
        if script := (match["script"] or "").lower():
            return notation.END if match["end"] else _SCRIPTS[script]
        if match["data"] or match["defined"]:
            return "](" if match["data"] else match[0].partition("data:")[0]
        if match["box"]:
            return ("☑" if "checked" in match["of"] else "☐") if _CHECKBOX.search(match["of"]) else ""
        if match["img"] is not None:
            next(pictures)
            alt = _ALT.search(match["img"])
            return " ".join((alt[1] or alt[2] or "").split()) if alt else ""
        if match["level"]:
            opens = not match["close"] and _line_start(match)
            levels.append(match["level"])
            return "#" * int(match["level"]) + " " if opens else ""
        if match["plain"] is None:
            return " "
        return "- " if match["plain"].lower() == "li" and not match[0].startswith("</") and _line_start(match) else ""

    upto = text.rfind(">") + 1
    bounded = max(upto, len(text) if "data:" in text else 0)
    return notation.plain(_TAGS.sub(shown, text[:bounded]) + text[bounded:])


def _line_start(match: re.Match[str]) -> bool:
    start = match.string.rfind("\n", 0, match.start()) + 1
    return not _TAG.sub("", match.string[start : match.start()]).strip() if match.start() - start < 1_000 else False
