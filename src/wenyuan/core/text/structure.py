"""Which lines open a section of a document, and what that section is called everywhere.

``opening(line)`` looks at one line alone; ``openings(lines)`` looks at a document and settles what one line
cannot tell: tables of contents, numbered lists, a sentence that happens to begin with a clause number.
``clause_key`` gives one name to all spellings of a clause: ``第十三条`` = ``第１３條`` = ``Article 13``.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, NamedTuple

from wenyuan.core.text.numbers import HAN_NUMERALS, NARROW, ascii_number

OpeningKind = Literal[
    "part", "subpart", "chapter", "section", "article", "paragraph", "item",
    "appendix", "supplement", "clause", "point",
]  # fmt: skip

_LEVELS: dict[str, int] = {
    "part": 1, "subpart": 2, "chapter": 3, "appendix": 3, "supplement": 3, "section": 4, "article": 5,
    "paragraph": 6,
}  # fmt: skip
_POINT_LEVELS = {"han": 7, "round": 8, "plain": 9}
_CONTAINERS = frozenset({"part", "subpart", "chapter", "section"})
_LISTABLE = frozenset({"point", "clause", "appendix"})
_UNITS: dict[str, OpeningKind] = {
    "部分": "part", "篇": "part", "编": "part", "編": "part", "分编": "subpart", "分編": "subpart",
    "章": "chapter", "节": "section", "節": "section", "条": "article", "條": "article",
    "款": "paragraph", "项": "item", "項": "item",
}  # fmt: skip
_WORDS: dict[str, OpeningKind] = {
    "part": "part", "chapter": "chapter", "section": "section", "sec": "section", "§": "section",
    "article": "article", "art": "article", "clause": "clause", "paragraph": "paragraph",
}  # fmt: skip

_NUM = rf"(?:[0-9０-９]{{1,6}}(?:[.．\-][0-9０-９]{{1,4}}){{0,5}}|[{HAN_NUMERALS}]{{1,12}})"
_NTH = (
    rf"第[ \u3000]?(?P<nth>{_NUM})[ \u3000]?(?P<unit>部分|分编|分編|[篇编編章節节條条款項项])"
    rf"(?:[ ]?之[ ]?(?P<sub>[{HAN_NUMERALS}]{{1,4}}|[0-9０-９]{{1,3}})(?![{HAN_NUMERALS}0-9分]))?"
)
_WORD = (
    r"(?P<word>Part|Chapter|Section|Sec|Article|Art|Clause|Paragraph|§)s?\.?[ ]*"
    r"(?P<number>[0-9]{1,4}(?:\.[0-9]{1,4}){0,5}(?:-[0-9]{1,3}|[a-z](?![a-z]))?"
    r"|(?<=[ ])(?-i:(?!I[ ][a-z])[IVXLC]{1,7}(?![A-Za-z])))"
    r"|(?P<annex>Appendix|Annex|Schedule)[ ]+(?P<letter>[0-9]{1,3}|(?-i:[A-Z]{1,4}(?![A-Za-z])))"
)
CLAUSE = re.compile(rf"{_NTH}|(?<![A-Za-z])(?:{_WORD})(?![0-9A-Za-z])", re.IGNORECASE)
"""Finds a reference to a clause anywhere in a text; `clause_key` of the match is its name."""

_ANY_LETTER = re.compile("[a-z§]", re.IGNORECASE)
_OPEN_NTH = re.compile(_NTH)
_OPEN_WORD = re.compile(rf"(?:{_WORD})(?![0-9A-Za-z])")
_SHOUTED = re.compile(r"(?:PART|CHAPTER|SECTION|ARTICLE|CLAUSE|APPENDIX|ANNEX|SCHEDULE)(?=[ ])")
_OPEN_ANNEX = re.compile(rf"(?:附则|附則|附录|附錄|附件|附表)(?:[ ]?(?P<number>{_NUM}|[A-Z](?![A-Za-z])))?")
_OPEN_POINT = re.compile(
    rf"(?P<han>[{HAN_NUMERALS}]{{1,4}})、|[（(](?P<round>[{HAN_NUMERALS}]{{1,4}})[）)]"
    r"|(?P<dotted>[0-9]{1,3}(?:\.[0-9]{1,3}){1,5})\.?(?![0-9.%/:\-])"
    r"|(?P<plain>[0-9]{1,2})(?:[.、](?![0-9])|(?=[ \t\u3000]))"
)
# What a match can begin with: most lines are told from openings by their first character.
_ASCII_DIGITS = frozenset("0123456789")
_WORD_BEGINS = frozenset("PCSA§")
_POINT_BEGINS = frozenset(f"{HAN_NUMERALS}（(0123456789０１２３４５６７８９")
_EMPHASIS = re.compile(r"\*{1,3}|__")
_LEADERS = re.compile(r"(?:[.·…]{3,}|[\t \u3000]{3,})[ \u3000]*[0-9]{1,4}\Z")
_SENTENCE = re.compile(r"[。；;！!]|[，,：:、.]\Z|[.?][ ]|，.*，")
_FULL_STOPS = tuple('。！？；：.!?:;”」』）)"')
_GAP = " \t\u3000"
# The line goes on with a sentence about the clause: 第十三条第二款, 第十三条（一）, 第十三条、第十四条.
_REFERS = re.compile(
    rf"[，。；、）)”》」]|规定的|規定的|之规定|之規定|第{_NUM}[条條款项項]|[（(]{_NUM}[）)]|[—–~～\-]+[ ]?第"
)
_RUNS_ON = re.compile(r"规定|規定|[所第中之款项項的至到和与與及或以等前后後内內外是也不均已]|有关|有關|适用|適用")
_UNDERLINE = re.compile(r"([=\-*~^\"'#+.])\1{2,}")
_MAX_TITLE = 80
_MAX_POINT_TITLE = 30


class DocumentLine(NamedTuple):
    """One line of a document; `first` says that a paragraph begins with it."""

    text: str
    first: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionOpening:
    """How a line opens a section.

    Attributes:
        level: Depth among openings (1 = outermost, gaps are possible).
        label: The number as written: ``第十三条``, ``Article 13``, ``3.2.1``, ``（一）``.
        number: The number in ASCII: ``13``, ``120-1``, ``3.2.1``, ``A``; empty where there is none (附则).
        title: What follows on the line.
        heading: The whole line is a heading; else the text begins on this line.
        loose: Nothing separates number and text: credible in sequence only.
    """

    kind: OpeningKind
    level: int
    label: str
    number: str
    title: str
    heading: bool
    loose: bool = False

    @property
    def key(self) -> str:
        """Canonical name, as `clause_key` gives it; a dotted number names its place whatever it is called."""
        return _key(self.kind, self.number)


def clause_key(text: str) -> str | None:
    """The canonical name of the clause that `text` begins with, or None.

    ``第一百二十条之一`` → ``article:120-1``; 章 ``chapter:``, 节 ``section:``, 款 ``paragraph:``, 项 ``item:``.
    Dotted numbers are one space of names: ``Section 3.2.1`` = ``第3.2.1条`` = ``3.2.1`` → ``clause:3.2.1``.
    """
    stripped = text.strip().strip("*_ ")
    match = CLAUSE.match(stripped)
    if match:
        return _key(*_kind_and_number(match))
    point = _OPEN_POINT.match(stripped.translate(NARROW))
    return _key("clause", ascii_number(point["dotted"])) if point and point["dotted"] else None


@lru_cache(maxsize=4_096)  # the passages of an answer are of few sections, and those are given again and again
def clause_label(headings: tuple[str, ...]) -> str:
    """The number of the innermost clause of a path of headings, as written: ``第十三条``, ``3.2.1``; ``""`` without one."""
    for label in reversed(headings):
        kind, _, _ = (clause_key(label) or "").partition(":")
        if kind in ("article", "clause", "paragraph", "item"):
            found = opening(label)
            return found.label if found else label
    return ""


def clause_keys(text: str) -> tuple[str, ...]:
    """All clauses that a running text names, in order, each once; bare dotted numbers are not among them."""
    return tuple(dict.fromkeys([_key(*_kind_and_number(match)) for match in _clauses_of(text).finditer(text)]))


def without_clauses(text: str) -> str:
    """A running text with a space in the place of each clause that it names."""
    return _clauses_of(text).sub(" ", text)


def _clauses_of(text: str) -> re.Pattern[str]:
    """What finds them: in a text without letters the shorter pattern finds the same, and faster."""
    return CLAUSE if _ANY_LETTER.search(text) else _OPEN_NTH


def _key(kind: str, number: str) -> str:
    return f"clause:{number}" if "." in number else f"{kind}:{number}"


def _kind_and_number(match: re.Match[str]) -> tuple[OpeningKind, str]:
    """Kind and ASCII number of a match of `_NTH` or `_WORD`."""
    groups = match.groupdict()
    if groups.get("unit"):
        sub = f"-{ascii_number(groups['sub'])}" if groups["sub"] else ""
        return _UNITS[groups["unit"]], ascii_number(groups["nth"]) + sub
    if groups["annex"]:
        return "appendix", groups["letter"].upper()
    return _WORDS[groups["word"].lower()], ascii_number(groups["number"])


def opening(line: str) -> SectionOpening | None:
    """How a line opens a section, judged by itself; None when it does not.

    Emphasis around the number (``**第十三条**　正文``) is no hindrance.
    """
    text = (_EMPHASIS.sub(" ", line) if "*" in line or "__" in line else line).strip()
    if not text or (text[-1] in _ASCII_DIGITS and _LEADERS.search(text[-100:])):
        return None
    return _open_nth(text) or _open_word(text) or _open_annex(text) or _open_point(text)


def _open_nth(text: str) -> SectionOpening | None:
    match = _OPEN_NTH.match(text)
    if not match:
        return None
    kind, number = _kind_and_number(match)
    rest = text[match.end() :]
    title = rest.lstrip(_GAP + ":：")
    loose = bool(rest) and rest[0] not in _GAP + ":：【〔[（(《"
    if kind == "item" or _REFERS.match(title) or (loose and _RUNS_ON.match(rest)):
        return None
    heading = kind in _CONTAINERS
    if (heading and not _titular(title, _MAX_POINT_TITLE if loose else _MAX_TITLE)) or (
        kind == "paragraph" and loose
    ):
        return None
    return SectionOpening(kind=kind, level=_LEVELS[kind], label=match[0], number=number, title=title,
                   heading=heading, loose=loose)  # fmt: skip


def _open_word(text: str) -> SectionOpening | None:
    if text[0] not in _WORD_BEGINS:
        return None
    match = _OPEN_WORD.match(_SHOUTED.sub(lambda m: m[0].capitalize(), text, count=1))
    if not match:
        return None
    kind, number = _kind_and_number(match)
    rest = text[match.end() :]
    title = rest.lstrip(_GAP + ".:：—–-")
    if (rest and rest[0] not in _GAP + ".:：—–-") or title[:1].islower():
        return None
    heading = kind in _CONTAINERS or kind == "appendix"
    if heading and not _titular(title):
        if kind != "section":
            return None
        heading = False
    level = _LEVELS.get(kind, _LEVELS["article"]) + number.count(".")
    return SectionOpening(
        kind=kind, level=level, label=text[: match.end()], number=number, title=title, heading=heading
    )


def _open_annex(text: str) -> SectionOpening | None:
    match = _OPEN_ANNEX.match(text)
    if not match:
        return None
    rest = text[match.end() :]
    title = rest.lstrip(_GAP + ":：")
    if (rest and (not match["number"] or rest[0] not in _GAP + ":：")) or not _titular(title):
        return None
    kind: OpeningKind = "supplement" if text[1] in "则則" else "appendix"
    number = ascii_number(match["number"]) if match["number"] else ""
    return SectionOpening(kind=kind, level=_LEVELS[kind], label=match[0], number=number, title=title, heading=True)


def _open_point(text: str) -> SectionOpening | None:
    if text[0] not in _POINT_BEGINS:
        return None
    match = _OPEN_POINT.match(text.translate(NARROW))
    if not match:
        return None
    style = match.lastgroup or ""
    rest = text[match.end() :]
    title = rest.lstrip(_GAP)
    if not title or title[0].islower() or not (title[0].isalnum() or title[0] in '《“"（('):
        return None
    heading = _titular(title, _MAX_TITLE if title.isascii() else _MAX_POINT_TITLE)
    number = ascii_number(match[style])
    if style == "dotted":
        level = _POINT_LEVELS["plain"] + number.count(".")
        return SectionOpening(kind="clause", level=level, label=match[0].rstrip("."), number=number, title=title,
                       heading=heading, loose=rest == title)  # fmt: skip
    if not heading:
        return None
    label = match[0].rstrip("、.") if style != "round" else match[0]
    return SectionOpening(kind="point", level=_POINT_LEVELS[style], label=label, number=number, title=title,
                   heading=True)  # fmt: skip


def _titular(title: str, limit: int = _MAX_TITLE) -> bool:
    """Whether it reads like a title, not like a sentence."""
    return len(title) <= limit and not _SENTENCE.search(title)


def openings(lines: Sequence[DocumentLine]) -> list[SectionOpening | None]:
    """For each line of a document, how it opens a section, or None.

    Beyond `opening`: entries of a table of contents or of a numbered list open nothing, nor does an item that goes on
    in the next line; numbers of points, dotted numbers and numbers that run into the text must continue a count; Latin
    openings start a paragraph. A line that is underlined is what it seems to be.
    """
    found = [opening(line.text) for line in lines]
    filled = [i for i, line in enumerate(lines) if line.text.strip()]
    sure = {i for i in filled if (o := found[i]) and o.heading and _underlined(lines, i)}
    found = [_unwrapped(lines, found, i) if o else None for i, o in enumerate(found)]
    listed = {*_contents(found, filled), *_lists(found, filled), *_announced(found, sure)} - sure
    accepted: list[SectionOpening | None] = [None] * len(lines)
    count = _Count()
    before: SectionOpening | None = None
    text_before = ""
    for i in filled:
        candidate = found[i]
        wrapped = not (lines[i].first or before or text_before.endswith(_FULL_STOPS))
        if candidate and i not in listed and count.admits(candidate, wrapped=wrapped, sure=i in sure):
            accepted[i] = candidate
        before, text_before = accepted[i], lines[i].text.rstrip()
    return accepted


class _Count:
    """The numbers seen so far: whether the next one continues them."""

    def __init__(self) -> None:
        self._seen: set[tuple[str, int, str]] = set()
        self._article = 0
        self._within_articles = False
        self._whole = 0  # number of the chapter of the dotted numbers that were seen last

    def admits(self, candidate: SectionOpening, *, wrapped: bool, sure: bool = False) -> bool:
        if sure:
            self._note(candidate)
            return True
        good = not (wrapped and (candidate.label[0].isascii() or candidate.kind in _LISTABLE))
        if candidate.kind in ("point", "clause"):
            good = good and self._continues(candidate)
            good = good and not (candidate.kind == "point" and self._within_articles)
            # Among 5.6.12 and 5.6.13 the items of a list count from 1; another chapter would be 6.
            plain = candidate.kind == "point" and candidate.level == _POINT_LEVELS["plain"]
            good = good and not (plain and self._whole and int(candidate.number) != self._whole + 1)
        elif candidate.kind == "article":
            main = candidate.number.split("-")[0]
            good = good and not (candidate.loose and main != str(self._article + 1))
        if good:
            self._note(candidate)
        return good

    def _continues(self, candidate: SectionOpening) -> bool:
        head, dot, last = candidate.number.rpartition(".")
        before = f"{head}{dot}{int(last) - 1}" if last.isdigit() else ""
        return last in ("0", "1") or (candidate.kind, candidate.level, before) in self._seen

    def _note(self, candidate: SectionOpening) -> None:
        self._seen.add((candidate.kind, candidate.level, candidate.number))
        whole, dot, _ = candidate.number.partition(".")
        if candidate.kind != "point" or candidate.level == _POINT_LEVELS["plain"]:
            self._whole = int(whole) if dot and whole.isdigit() else 0
        if candidate.kind == "article":
            main = candidate.number.split("-")[0]
            self._article = int(main) if main.isdigit() else self._article
            self._within_articles = True
        elif candidate.kind in ("appendix", "supplement"):
            self._article = 0
            self._within_articles = False


def _runs(found: Sequence[SectionOpening | None], filled: Sequence[int]) -> Iterator[list[int]]:
    """Maximal runs of neighbouring lines that are all headings."""
    run: list[int] = []
    for i in filled:
        candidate = found[i]
        if candidate and candidate.heading:
            run.append(i)
        elif run:
            yield run
            run = []
    if run:
        yield run


def _contents(found: Sequence[SectionOpening | None], filled: Sequence[int]) -> Iterator[int]:
    """Lines of a table of contents: headings one after another that name a kind twice without any text.

    The document's first real heading may follow at once; it repeats the first entry.
    """
    for run in _runs(found, filled):
        entries = [o for i in run if (o := found[i])]
        titles = [(o.label, "".join(o.title.split())) for o in entries]
        real = titles.index(titles[0], 1) if titles[0] in titles[1:] else len(run)
        kinds = [o.kind for o in entries[:real] if o.kind in _CONTAINERS]
        if len(set(kinds)) < len(kinds):
            yield from run[:real]


def _underlined(lines: Sequence[DocumentLine], i: int) -> bool:
    below = lines[i + 1].text.strip() if i + 1 < len(lines) else ""
    return bool(_UNDERLINE.fullmatch(below)) and 2 * len(below) >= len(lines[i].text.strip())


def _unwrapped(
    lines: Sequence[DocumentLine], found: Sequence[SectionOpening | None], i: int
) -> SectionOpening | None:
    """What a line opens unless its sentence goes on in the next one: then a point is an item of a list, a clause no heading."""
    one = found[i]
    if one is None or not one.heading or one.kind not in ("point", "clause") or i + 1 == len(lines) or found[i + 1]:
        return one
    below, text = lines[i + 1].text, lines[i].text
    indent, own = (len(line) - len(line.lstrip(" ")) for line in (below, text))
    at = text.find(one.title[:1], text.find(one.label) + len(one.label))
    hanging = one.label[0].isascii() and (indent > own if one.kind == "point" else indent == at > 0)
    goes_on = below.strip() and (hanging or below.lstrip()[:1].islower())
    if not goes_on or _UNDERLINE.fullmatch(below.strip()):
        return one
    return None if one.kind == "point" else replace(one, heading=False)


def _announced(found: Sequence[SectionOpening | None], sure: set[int]) -> Iterator[int]:
    """Lines that a table of contents has of headings that are underlined further down."""
    later = {(o.number, o.title): i for i in sure if (o := found[i])}
    for i, one in enumerate(found):
        if one and later.get((one.number, one.title), -1) > i:
            yield i


def _lists(found: Sequence[SectionOpening | None], filled: Sequence[int]) -> Iterator[int]:
    """Lines of a list: short numbered lines of one kind and level without any text between."""
    for a, b in itertools.pairwise(filled):
        one, two = found[a], found[b]
        if (
            one and two and one.heading and two.heading and one.kind in _LISTABLE
            and (one.kind, one.level) == (two.kind, two.level)
        ):  # fmt: skip
            yield a
            yield b
