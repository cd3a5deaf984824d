"""The statements of a passage that can contradict others: sentences and rows of tables that say a figure or a duty."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from wenyuan.core.model import Passage
from wenyuan.core.text.boundaries import sentences
from wenyuan.core.text.content import content_of
from wenyuan.core.tokens import Tokens, tokens_of

MOST_CHARS = 600
"""Of a statement; a longer one says too much to be set beside another."""
_NUMBERING = re.compile(
    r"[ \t#>*+•·-]*(?:第[0-9〇零一二三四五六七八九十百千]{1,9}[章节條条款项]|[（(]?[0-9一二三四五六七八九十]{1,3}[)）、.．](?!\d)|\d{1,2}(?:\.\d{1,2}){1,4}(?=\s)|[-*+•·])[ \t\u3000]*"
)
_ROW = re.compile(r"[ \t]*\|?[^|\n]*\|[^\n]*")
_RULE = re.compile(r"[\s|:+=-]*")
_CITED = re.compile(
    r"第 ?[0-9〇零一二三四五六七八九十百千]{1,9}|(?<![月月份0-9])(?<!月 )[0-9]{1,4} ?号(?![前止])"
    r"|(?<![a-z])(?:section|article|clause|chapter|part|rule|step|table|annex|platform|bus|tram|room|line|team|gate|question|floor|building|track|terminal"
    r"|bay|zone|level|grade|class|phase|stage|group|shift|channel|port|desk|counter|tier|ward|unit|pump|no\.?|number) \d[\d.]{0,8}"
)
"""Numbers that name a thing."""
_MARKS = re.compile(r"[*_`]{1,3}")


@dataclass(frozen=True)
class ComparedStatement:
    """A sentence, or a row of a table with the heads of its columns.

    Attributes:
        start, end: Where it stands in the passage's text.
        text: Its words without its number in a list and without marks of emphasis.
        head: Of a row: the heads of the columns, as written; ``""`` for a sentence.
    """

    passage: Passage
    start: int
    end: int
    text: str
    head: str = ""

    @property
    def quote(self) -> str:
        """As it is written."""
        return self.passage.text[self.start : self.end]

    @cached_property
    def tokens(self) -> Tokens:
        """For comparing it."""
        return tokens_of(self.text)

    @cached_property
    def content(self) -> frozenset[str]:
        """Stems of its words that say something; of Chinese, characters."""
        return frozenset(content_of(self.text))

    @cached_property
    def words(self) -> frozenset[str]:
        """As `content`, without what belongs to a figure."""
        return frozenset(content_of(" ".join(token.value for token in self.tokens.tokens if token.kind == "word")))

    @property
    def codes(self) -> frozenset[str]:
        """What in it names a thing by a number: HR-850, 第十六条, section 4."""
        cited = {match[0] for match in _CITED.finditer(self.text.lower())}
        return frozenset(value for value in self.figures if value[0].isalpha()) | cited

    @property
    def figures(self) -> frozenset[str]:
        """Its numbers, quantities and dates, each in one form."""
        return frozenset(token.value for token in self.tokens.tokens if token.kind != "word")


def statements_of(passage: Passage) -> Iterator[ComparedStatement]:
    """The statements of a passage that say a figure or a duty; none of its headings, questions and long sentences."""
    head = ""
    for start, end in sentences(passage.text):
        for first, last in _lines(passage.text, start, end):
            written = passage.text[first:last]
            if _ROW.fullmatch(written):
                if _RULE.fullmatch(written):
                    continue
                if not head:
                    head = written
                    continue
            else:
                head = ""
                if written.lstrip().startswith("#"):
                    continue
            one = _statement(passage, first, last, head)
            if one is not None:
                yield one


def _statement(passage: Passage, first: int, last: int, head: str) -> ComparedStatement | None:
    numbered = _NUMBERING.match(passage.text, first, last)
    start = first if numbered is None or head else numbered.end()
    text = _MARKS.sub("", passage.text[start:last]).strip()
    if not text or len(text) > MOST_CHARS or text.endswith(("?", "？")):
        return None
    one = ComparedStatement(passage, start, last, text, head)
    return one if one.content and (one.figures or one.tokens.duties) else None


def _lines(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The lines of a sentence where these are rows or headings, else the sentence."""
    lines, at = [], start
    for line in text[start:end].splitlines(keepends=True):
        lines.append((at, at + len(line.rstrip())))
        at += len(line)
    apart = [n for n, (a, b) in enumerate(lines) if _ROW.fullmatch(text[a:b]) or text[a:b].lstrip().startswith("#")]
    if not apart:
        yield start, end
        return
    begun = -1
    for n, (a, b) in enumerate(lines):
        if n in apart:
            if begun >= 0:
                yield begun, lines[n - 1][1]
            begun = -1
            yield a, b
        elif begun < 0 and a < b:
            begun = a
    if begun >= 0:
        yield begun, lines[-1][1]
