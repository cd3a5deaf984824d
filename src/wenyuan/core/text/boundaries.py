"""Where a text may be cut without harm: list items, sentences, clauses, characters; Chinese and Latin alike.

Spans are pairs of offsets, without white space around them, in order, not overlapping; between two of them is
white space only.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import pairwise

Span = tuple[int, int]
ITEM_BREAK = re.compile(
    r"\n(?=[ \t]*\n|[ \t\u3000]*(?:[-*+•·●○■▪◆>|]|[0-9０-９]{1,3}[.)、．）]|[（(][^）)\s]{1,4}[）)]"
    r"|[一二三四五六七八九十]{1,3}、))"
)
# A run of stops is looked at once, from its first one: many of them without white space would take time by their square.
SENTENCE_END = re.compile(r"[。！？；…]+[”’」』）)】》\"'*_]*|(?<![.!?])[.!?]++[\"'”’)\]*_]*+(?=\s)")
CLAUSE_END = re.compile(r"[，、：]+[”’」』）)】》\"']*|(?<![,;:])[,;:]++(?=\s)")
_SENTENCE_BREAK = re.compile(rf"{SENTENCE_END.pattern}|{ITEM_BREAK.pattern}")
# A stop after one of these, after an initial or after a number at the start of a line ends no sentence.
_ABBREVIATION = re.compile(
    r"(?:(?<![A-Za-z])(?:[A-Za-z]|Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|Inc|Ltd|Co|Corp|No|Nos|Arts?|Secs?|Figs?|Eq|vs|etc"
    r"|cf|al|approx|dept|e\.g|i\.e|a\.m|p\.m|U\.S|U\.K)|\n[ \t]*[0-9]{1,3})\.\Z"
)
_JOINED = frozenset("\u200d\ufe0e\ufe0f\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff")
_FLAG = re.compile("[\U0001f1e6-\U0001f1ff]")


def divides(text: str, match: re.Match[str]) -> bool:
    """Whether a match of `SENTENCE_END` in `text` ends a sentence, not an abbreviation."""
    if match[0][0] != ".":
        return True
    stop = match.start() + 1
    return not _ABBREVIATION.search(text, max(0, stop - 12), stop)


def trimmed(text: str, start: int, end: int) -> Span:
    """The span without white space at its ends; empty (``end == start``) where there is nothing else."""
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    return start, end


def sentences(text: str, start: int = 0, end: int | None = None) -> list[Span]:
    """The sentences and list items of ``text[start:end]``."""
    end = len(text) if end is None else end
    cuts = [m.end() for m in _SENTENCE_BREAK.finditer(text, start, end) if divides(text, m)]
    return list(_spans(text, start, cuts, end))


def clauses(text: str, start: int, end: int) -> list[Span]:
    """The parts of one sentence between commas, colons and semicolons."""
    return list(_spans(text, start, [m.end() for m in CLAUSE_END.finditer(text, start, end)], end))


def _spans(text: str, start: int, cuts: list[int], end: int) -> Iterator[Span]:
    for first, after in pairwise([start, *(c for c in cuts if start < c < end), end]):
        a, b = trimmed(text, first, after)
        if a < b:
            yield a, b


def inside_character(text: str, at: int) -> bool:
    """Whether a cut before ``text[at]`` would part what a reader sees as one character."""
    before, after = text[at - 1], text[at]
    if after in _JOINED or before == "\u200d" or unicodedata.category(after)[0] == "M":
        return True
    if "\udc00" <= after <= "\udfff" and "\ud800" <= before <= "\udbff":
        return True
    start = at
    while start and _FLAG.match(text[start - 1]) and at - start < 64:
        start -= 1
    return _FLAG.match(after) is not None and (at - start) % 2 == 1
