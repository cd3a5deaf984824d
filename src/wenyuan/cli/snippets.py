"""The part of a passage that answers a query, with the query's words in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from wenyuan.cli.wrapping import Piece, cells
from wenyuan.core.text.analysis import query_terms, terms
from wenyuan.core.text.folding import fold
from wenyuan.core.text.numbers import located, quantities
from wenyuan.core.text.passage_tables import table_headers
from wenyuan.core.text.structure import CLAUSE, clause_keys

_WORD = re.compile(r"[^\W_]+")
_LATIN = re.compile(r"[a-z0-9]")
_SENTENCE_END = re.compile(r"[。！？；\n]|[.!?;](?=\s)")
_BEGUN = re.compile(r"[!-~]{0,20}\s")
_PARTIAL = re.compile(r"(?<=\s)[!-~]+\Z")
_WEAK = frozenset(
    "a an and are as at be by can could did do does for from how i if in is it may me my of on or our should so "
    "that the there this to was we what when where which who why will with you your".split()
)
_PARTICLES = frozenset("的了吗呢么是在")
_BEFORE = 24  # characters before the first word that are worth showing

Span = tuple[int, int]


def marks(text: str, query: str) -> list[Span]:
    """Spans of query words in a text, compared as in the index (folded, stemmed); neighbours are merged."""
    asked = query_terms(query)
    folded, origin = _folded(text)
    wanted = {term for term in asked if term[0] not in "#@" and not _PARTICLES.intersection(term)}
    # One Chinese character says little: it counts only when the query has no pair.
    pairs = [term for term in wanted if not _LATIN.match(term) and len(term) == 2]
    single = [] if pairs else [term for term in wanted if not _LATIN.match(term) and len(term) == 1]
    found = [
        (origin[at.start()], origin[at.end() - 1] + 1)
        for term in (*pairs, *single)
        for at in re.finditer(re.escape(term), folded)
    ]
    for word in _WORD.finditer(folded):
        if _LATIN.match(word[0]) and word[0] not in _WEAK and wanted.intersection(terms(word[0])):
            found.append((origin[word.start()], origin[word.end() - 1] + 1))
    if amounts := set(quantities(fold(query))):
        found += [(origin[start], origin[end - 1] + 1) for term, start, end in located(folded) if term in amounts]
    named = {term[1:] for term in asked if term[0] in "#@"}
    found += [at.span() for at in CLAUSE.finditer(text) if named.intersection(clause_keys(at[0]))]
    return list(_merged(sorted(found)))


_folded_character = lru_cache(maxsize=10_000)(fold)  # the same few thousand, over and over


def _folded(text: str) -> tuple[str, list[int]]:
    """The folded text, and the original position of each of its characters."""
    pieces = [_folded_character(c) for c in text]
    return "".join(pieces), [at for at, piece in enumerate(pieces) for _ in piece]


def _merged(spans: Sequence[Span]) -> Iterator[Span]:
    last: Span | None = None
    for start, end in spans:
        if last is not None and start <= last[1]:
            last = (last[0], max(last[1], end))
            continue
        if last is not None:
            yield last
        last = (start, end)
    if last is not None:
        yield last


def snippet(text: str, query: str, width: int = 290) -> list[Piece]:
    """An excerpt of at most `width` columns: pieces, each with whether it is a query word.

    The window is the one that holds the most of the query's words; it begins with a sentence where it can. Rows of a
    table stand behind its header, where that leaves room for them.
    """
    flat = " ".join(text.split())
    spans = marks(flat, query)
    start, end = _window(flat, spans, width)
    header = _header(text, flat, start)
    if header and 2 * cells(header) < width:
        start, end = _window(flat, spans, width - cells(header) - 1)
        header = _header(text, flat, start)
    pieces = [(f"{header} …" if header and 2 * cells(header) < width else "…", False)] if start else []
    at = start
    for left, right in spans:
        if start <= left and right <= end:
            pieces += [(flat[at:left], False), (flat[left:right], True)]
            at = right
    pieces.append((flat[at:end], False))
    if end < len(flat):
        pieces.append(("…", False))
    return [piece for piece in pieces if piece[0]]


def _header(text: str, flat: str, start: int) -> str:
    """The header of the table in which an excerpt begins, unless it is part of the excerpt; ``""`` for none."""
    for (begins, ends), last in table_headers(text):
        header, rest = (" ".join(text[a:b].split()) for a, b in ((begins, ends), (begins, last)))
        at = flat.find(header)
        if at + len(header) <= start < at + len(rest):
            return header
    return ""


def _window(flat: str, spans: Sequence[Span], width: int) -> Span:
    best, most = (0, _fitting(flat, 0, width)), -1
    if best[1] == len(flat):
        return best
    for left, _ in spans[:50]:
        start = _sentence_start(flat, left)
        end = _fitting(flat, start, width)
        score = len({flat[a:b].lower() for a, b in spans if start <= a and b <= end})
        if score > most:
            best, most = (start, end), score
    return best


def _sentence_start(flat: str, at: int) -> int:
    """The start of the sentence around `at`, or a few words before if that is far away."""
    ends = [match.end() for match in _SENTENCE_END.finditer(flat, max(0, at - 2 * _BEFORE), at)]
    start = ends[-1] if ends else 0 if at <= 2 * _BEFORE else at - _BEFORE
    begun = _BEGUN.match(flat, start) if start and not ends else None
    return begun.end() if begun else start + len(flat[start:at]) - len(flat[start:at].lstrip())


def _fitting(flat: str, start: int, width: int) -> int:
    """The end of the text that fits, not inside a Latin word unless that is very long."""
    room = width - 2  # for the two ellipses
    for at in range(start, len(flat)):
        room -= cells(flat[at])
        if room < 0:
            cut = _PARTIAL.search(flat, max(start, at - _BEFORE), at + 1)
            return cut.start() if cut else at
    return len(flat)
