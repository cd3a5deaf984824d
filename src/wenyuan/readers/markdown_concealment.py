"""HTML within Markdown that nobody sees on the page: hidden by its attributes, its styles, or in the colour of its ground."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from typing import NamedTuple

from wenyuan.readers.html import styles_of
from wenyuan.readers.markdown_html import CODE
from wenyuan.readers.page import Page

_MAY_HIDE = re.compile(r"<[^<>]*(?:style|hidden|color)[^<>]*>", re.I)
_STYLES = re.compile(r"^ {0,3}<style\b[^<>]*>.*?</style\s*>", re.M | re.S | re.I)
_SCRIPTS = re.compile(r"^ {0,3}<script\b[^<>]*>.*?</script\s*>", re.M | re.S | re.I)
_MARKS = re.compile(
    rf"{CODE}|(?P<gap>\n[ \t]*\n)|<(?P<end>/?)(?P<tag>[a-zA-Z][a-zA-Z0-9-]*)(?P<said>(?:\s[^<>]*)?)>", re.M | re.S
)
_VOID = frozenset("area base br col embed hr img input link meta source track wbr".split())
_IN_LINE = frozenset(
    "a abbr b big cite code em font i ins kbd mark q s samp small span strong sub sup tt u var del".split()
)
_UNREAD = frozenset(
    "script style template noscript iframe object svg select title textarea plaintext xmp math body html".split()
)
_NUMBER = "data-place"
_DEEPEST = 200  # open elements; what stands deeper is read


class _Mark(NamedTuple):
    """A tag of the text, or the end of what was open in a line."""

    start: int
    end: int
    tag: str
    said: str = ""
    opens: bool = False


def without_concealed(text: str) -> tuple[str, int]:
    """A Markdown text without what its HTML hides, and how much that was. Line ends stay, so that lines keep their numbers."""
    text, styles = _without(text, _STYLES, "</style")
    text, _ = _without(text, _SCRIPTS, "</script")
    if not (styles or _MAY_HIDE.search(text)):
        return text, 0
    marks = list(_marks(text))
    whole, own = _concealed(text, marks, styles)
    if not (whole or own):
        return text, 0
    return "".join(_kept(text, marks, whole, own)), len(whole) + len(own)


def _without(text: str, pattern: re.Pattern[str], end: str) -> tuple[str, str]:
    """A text without elements that a browser never shows, and these. Beyond the last end of one none can be."""
    last = text.lower().rfind(end)
    if last < 0:
        return text, ""
    upto = max(text.find(">", last) + 1, last)
    found = "".join(match[0] for match in pattern.finditer(text[:upto]))
    return pattern.sub(lambda match: _lines(match[0]), text[:upto]) + text[upto:], found


def _lines(text: str) -> str:
    return "\n" * text.count("\n")


def _marks(text: str) -> Iterator[_Mark]:
    for match in _MARKS.finditer(text):
        if match["gap"]:
            yield _Mark(match.start(), match.end(), "")
        elif match["tag"]:
            tag, said = match["tag"].lower(), match["said"]
            opens = not match["end"] and tag not in _VOID and not said.endswith("/")
            yield _Mark(match.start(), match.end(), tag, said, opens)


def _opened(marks: list[_Mark]) -> Iterator[tuple[int, _Mark, int]]:
    """Each mark with its place and the number of open elements that it leaves open of those before it."""
    stack: list[str] = []
    for at, mark in enumerate(marks):
        if not mark.tag:  # a blank line ends what is open in a line
            while stack and stack[-1] in _IN_LINE:
                stack.pop()
        elif mark.opens and len(stack) < _DEEPEST:
            yield at, mark, len(stack)
            stack.append(mark.tag)
            continue
        elif not mark.opens and mark.tag in stack:
            while stack.pop() != mark.tag:
                pass
        yield at, mark, len(stack)


def _concealed(text: str, marks: list[_Mark], styles: str) -> tuple[set[int], set[int]]:
    """Which elements nobody sees, and of which only the own text is not seen, by the places of their marks."""
    from selectolax.lexbor import LexborHTMLParser

    parts, done, tags = [styles, "<body>"], 0, list[str]()
    for at, mark, kept in _opened(marks):
        parts.append(escape(text[done : mark.start], quote=False))
        parts += [f"</{tag}>" for tag in reversed(tags[kept:])]
        del tags[kept:]
        if mark.opens and mark.tag not in _UNREAD and len(tags) < _DEEPEST:
            parts.append(f'<{mark.tag} {_NUMBER}="{at}" {mark.said}>')
            tags.append(mark.tag)
        done = mark.end
    parts.append(escape(text[done:], quote=False))
    whole, own = set[int](), set[int]()
    tree = LexborHTMLParser("".join(parts))
    for node in Page(tree.body, styles_of(tree)).unseen:
        holder = node.parent if node.is_text_node else node
        place = holder.attributes.get(_NUMBER) if holder is not None else None
        if place and place.isdigit():
            (own if node.is_text_node else whole).add(int(place))
    return whole, own


def _kept(text: str, marks: list[_Mark], whole: set[int], own: set[int]) -> Iterator[str]:
    """The parts of a text that are seen, and the line ends of those that are not."""
    stack: list[tuple[bool, bool]] = []  # of each open element: whether it is hidden, and whether its own text is
    done = 0
    for at, mark, kept in _opened(marks):
        part = text[done : mark.start]
        hidden, unseen = stack[-1] if stack else (False, False)
        yield _lines(part) if hidden or unseen else part
        del stack[kept:]
        outer = stack[-1][0] if stack else False
        yield _lines(text[mark.start : mark.end]) if hidden or outer or at in whole else text[mark.start : mark.end]
        if mark.opens and len(stack) < _DEEPEST:
            stack.append((outer or at in whole, at in own))
        done = mark.end
    yield _lines(text[done:]) if stack and any(stack[-1]) else text[done:]
