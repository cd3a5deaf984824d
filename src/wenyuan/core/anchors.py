"""Where a passage is opened in its original: a fragment that its format knows, and what narrows it further.

A fragment is what programs open: an element's id, a heading as GitHub calls it, ``page=4``, ``row=7``. Where the
passage begins further down, browsers are told its first words behind ``:~:text=`` (W3C URL Fragment Text Directives).
The directive is no part of the fragment, so a program that does not know it still opens the fragment.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import unquote

from wenyuan.core.addresses import readable, with_fragment
from wenyuan.core.model import Block, Document, Passage

_BROWSERS_SHOW = frozenset(("text/html", "text/markdown", "text/plain", "application/jsonl"))
_NO_ANCHORS = frozenset(("text/plain", "application/jsonl"))  # to a browser, which knows no lines
_MOST_SEARCHED = 2_000_000  # characters of a document in which first words are looked for
_MOST_RUNS, _MOST_WORDS, _MOST_CHARS = 16, 12, 60
_LEAST_WIDE, _LEAST_WORDS, _LEAST_CHARS = 6, 3, 10  # what a page's navigation, which is not in the text, rarely has
_NEAR = 900  # characters at the beginning of a passage: about what a window shows
_LEAST_LINE = 3  # Chinese characters, where there is no navigation
_WIDE = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]")
_PART = re.compile(r"#[^#]*[&:]part=([0-9]+)\Z")
_MARK = re.compile(r"\s*(?:(?:[-*+•>]|[0-9]{1,4}[.)]|#{1,6}|\[[0-9]+\])\s+)*")
_MARKUP = r"*_`\[\]<>#|!\\${}~^=\"'"
_SPLITS = {
    "text/markdown": re.compile(rf"\]\([^)\n]*\)|[{_MARKUP}()&⟦⟧\n\t]|  +|--|\.\.|:/"),
    "text/html": re.compile(r"[⟦⟧\n\t]|  +| \| |(?<=\S) – (?=\|)"),
}
_SPLIT = re.compile(r"[⟦⟧\n\t\"\\]|  +")
_QUOTED = re.compile(r"[⟦⟧\n\t\"\\]|  +|…+|\.{3,}")  # a quote may leave something out
_NO_BREAK = "\xa0"  # a space to browsers
_BEGIN = re.compile(r"[^\W_]|[《“（(]")
_STOPS = re.compile(r"(?<=[。；！？：，、 \u3000])")


def slug(heading: str) -> str:
    """Anchor of a heading as GitHub makes it: ``第三章 投诉处理`` → ``第三章-投诉处理``, ``Q & A`` → ``q--a``."""
    kept = (c for c in heading.strip().lower() if c.isalnum() or c in "-_" or c.isspace() or unicodedata.combining(c))
    return "".join("-" if c.isspace() else c for c in kept)


def anchor_at(block: Block, start: int) -> tuple[str | None, int]:
    """The nearest anchor at or above an offset in a block, and its offset (at least the block's start)."""
    anchor, at = block.anchor, block.start
    for offset, inner in block.inner:
        if offset > start:
            break
        anchor, at = inner, offset
    return anchor, at


def parted(address: str) -> tuple[str, str, str]:
    """Split an address into document URI, unescaped fragment, and browser text directive."""
    document, _, told = address.partition("#")
    fragment, _, directive = told.partition(":~:")
    return document, unquote(fragment), directive


def part_of(uri: str) -> int | None:
    """Which of several passages with the same fragment an address means (``part=2``); None where it does not say."""
    found = _PART.search(uri)
    return int(found[1]) if found else None


def as_kept(address: str) -> str:
    """Normal form of an address as stored in the catalog."""
    document, fragment, directive = parted(address)
    members = [member.partition("=") for member in directive.split("&") if member]
    told = "&".join(f"{name}{mark}{_escaped(unquote(value))}" for name, mark, value in members)
    return with_fragment(readable(document), fragment, told)


def passages_at(passages: Iterable[Passage], fragment: str) -> list[Passage]:
    """The passages of a document (given in order) that an unescaped fragment refers to: by anchor or name of a place.

    A place may be named by its clause (``第十三条``), its heading, its cell, page or line. ``…-part-2``, as addresses were
    written before they held anchors alone, is the second passage of a name.
    """
    known = list(passages)
    base, mark, number = fragment.rpartition("-part-")
    counted = bool(mark) and number.isascii() and number.isdigit()
    for names in (_names, _title_names):
        if found := [p for p in known if fragment in names(p) and not _again(p, fragment)]:
            return found
        found = [p for p in known if counted and base in names(p) and not _again(p, base)]
        if found:
            return found[int(number) - 1 : int(number)] or found
    return []


def _again(passage: Passage, name: str) -> bool:
    """Whether a passage is below the n-th heading of a repeated name: ``scope-1``."""
    head, _, number = parted(passage.uri)[1].rpartition("-")
    return head == name and number.isdigit()


def _names(passage: Passage) -> Sequence[str]:
    anchor = parted(passage.uri)[1]
    places = (anchor, anchor.partition("&part=")[0], passage.cell, f"page={passage.page}", f"L{passage.line}")
    return (*filter(None, places), *_label_forms(passage.headings))


def _title_names(passage: Passage) -> Sequence[str]:
    return () if passage.headings else _label_forms((passage.title,))


def _label_forms(labels: Iterable[str]) -> Sequence[str]:
    return [name for label in labels for name in (label, slug(label), "-".join(label.split()))]


class Opener:
    """Finds the opening words of passages that are unique up to there in the document, for ``text=`` directives."""

    def __init__(self, document: Document) -> None:
        shown = document.media_type in _BROWSERS_SHOW and len(document.text) <= _MOST_SEARCHED
        self._text = document.text
        self._lines = document.media_type in _NO_ANCHORS
        self._folded = _folded(document.text) if shown else ""
        self._split = _SPLITS.get(document.media_type, _SPLIT)

    def directive(self, start: int, end: int, *, anchored: bool) -> str:
        """``text=…`` for a passage ``text[start:end]``; ``""`` where its anchor suffices or it has no unique opening.

        Args:
            anchored: The passage begins at its anchor.
        """
        if not self._folded or (anchored and not self._lines):
            return ""
        for at, words in _openings(self._text, start, end, self._split):
            if self._says_enough(words) and self._folded.find(_folded(words)) == at:
                return f"text={_escaped(words)}"
        return ""

    def _says_enough(self, words: str) -> bool:
        if len(words) > 2 * _MOST_CHARS:
            return False
        wide = len(_WIDE.findall(words))
        return (
            wide >= (_LEAST_LINE if self._lines else _LEAST_WIDE)
            or (words.count(" ") >= _LEAST_WORDS - 1 and len(words) >= _LEAST_CHARS)
            or len(words) >= 2 * _LEAST_CHARS
        )


def told_words(quote: str) -> str:
    """The first words of a quote, escaped for ``text=``; ``""`` when it has none."""
    for _, run in _runs(quote, 0, len(quote), _QUOTED):
        if found := [words for words in _beginnings(run) if 0 < len(words) <= 2 * _MOST_CHARS]:
            return _escaped(next((words for words in found if len(words) >= _MOST_CHARS // 2), found[-1]))
    return ""


def _folded(text: str) -> str:
    """A text normalised as browsers compare it, with character positions unchanged."""
    lower = text.lower()
    return (lower if len(lower) == len(text) else text).replace("\n", " ").replace(_NO_BREAK, " ")


def _openings(text: str, start: int, end: int, split: re.Pattern[str]) -> Iterator[tuple[int, str]]:
    """Candidate openings of a passage with offsets: runs without markup in its first lines, shortest first."""
    found = _runs(text, start, min(end, start + _NEAR), split)
    for at, run in itertools.islice(found, _MOST_RUNS):
        seen = ""
        for words in _beginnings(run):
            if words != seen:
                yield at, words
                seen = words


def _runs(text: str, start: int, end: int, split: re.Pattern[str]) -> Iterator[tuple[int, str]]:
    line = start
    while line < end:
        after = text.find("\n", line, end)
        after = end if after < 0 else after
        mark = _MARK.match(text, line, after)
        at = mark.end() if mark else line
        for cut in [*split.finditer(text, at, after), None]:
            stop = cut.start() if cut else after
            if begins := _BEGIN.search(text, at, stop):
                yield begins.start(), text[begins.start() : stop].rstrip()
            at = cut.end() if cut else after
        line = after + 1


def _beginnings(run: str) -> Iterator[str]:
    """Prefixes of a run at word ends; in Chinese only at punctuation, since browsers do not segment it."""
    if _WIDE.search(run):
        taken = ""
        for part in _STOPS.split(run):
            taken += part
            if len(taken) > 2 * _MOST_CHARS:
                return
            yield taken.rstrip("。；！？：，、 \u3000")
        return
    words = run.split(" ")
    for count in (4, 8, _MOST_WORDS):
        yield " ".join(words[:count]).rstrip(".,;:!?([ ")


def _escaped(words: str) -> str:
    return "".join(
        c if _escape_character(c) else "".join(f"%{b:02X}" for b in c.encode("utf-8", "surrogateescape"))
        for c in words
    )


def _escape_character(char: str) -> bool:
    if char <= "\x7f":
        return char.isalnum() or char in "._~!$'()*+;:@/?"
    return unicodedata.category(char)[0] not in "CZ"


_CLAUSES_OPEN = (".md", ".markdown", ".docx")  # headings are anchors, or a form of ours: see docs/addresses.md
_NO_PAGES = (
    ".pdf", ".doc", ".docx", ".xls", ".xlsx", ".ppt", ".pptx", ".csv", ".tsv", ".json", ".jsonl", ".zip",
)  # fmt: skip


def without_clause(uri: str, clause: str) -> str:
    """`uri` without a fragment that only repeats the clause, ``…/37#第十条`` → ``…/37``, since no such anchor exists
    there.

    In Markdown and DOCX, whose clauses are opened in this way, it stays.
    """
    if not clause or "#" not in uri:
        return uri
    document, fragment, directive = parted(uri)
    if fragment != clause or _ends(document, _CLAUSES_OPEN):
        return uri
    return with_fragment(document, "", directive)


def address_of(uri: str, clause: str, quote: str) -> str:
    """The address at which an evidence can be opened; a web page without an anchor opens at the quote's first words."""
    bare = without_clause(uri, clause)
    if not quote or "#" in bare or not bare.startswith(("https://", "http://")) or _ends(bare, _NO_PAGES):
        return bare
    words = told_words(quote)
    return with_fragment(bare, "", f"text={words}") if words else bare


def _ends(uri: str, endings: tuple[str, ...]) -> bool:
    return uri.partition("?")[0].lower().endswith(endings)
