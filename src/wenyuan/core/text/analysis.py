"""The one analyser of documents and queries, for all engines: terms, identifiers, language."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from operator import add
from typing import Any

from wenyuan.core.text.folding import CJK, fold, has_han, unified
from wenyuan.core.text.numbers import quantities
from wenyuan.core.text.structure import CLAUSE, clause_keys

ANALYZER = "cjk-bigram+en-stem-pair+quantity/4"
"""Name and version of the rules below; an index built with another one is another generation."""

# A Latin word, or a number.
_OTHER = rf"[^\W\d_{CJK}][^\W_{CJK}]*(?:[_\-'’.+#/&]*[^\W_{CJK}]+)*[+#]*|\d+(?:[.,:/\-]\d+)*%?"
_RUN, _OTHER_RUN = re.compile(rf"(?P<cjk>[{CJK}]+)|{_OTHER}"), re.compile(f"({_OTHER})")
_PART = re.compile(r"[^\W_]+")
_BETWEEN_NUMBERS = re.compile(r"[:/\-]")
# Letters, then digits: GB 50300-2013, GB/T 50300, ISO 9001:2015, JGJ 59-2011, ZX-4471, CVE-2026-41947.
_CODE = re.compile(
    r"(?P<letters>[a-z](?<![a-z0-9].)[a-z]{0,7}+)(?P<kind>/[a-z]{1,2})?(?P<gap>[ _\-]?)(?P<number>\d{1,8}(?:\.\d{1,4}){0,5})"
    r"(?P<year>[ ]?[-:—–][ ]?\d{1,8})?(?![a-z0-9])"
)
_WORDS_BEFORE_NUMBERS = frozenset(
    """
    a about above after age all an and article articles as at before between but by chapter chapters clause
    day days figure first for from had has have in into is item last least less level line more most next no
    not number of on only or order over page pages paragraph part per phase point rule section sections since
    step steps table than the then these this those through title to top under until up version was week
    weeks were which with within
    """.split()
)
_BEFORE_YEAR = re.compile(r"[ \-:—–]")
_MAX_TERM = 64
OWN = "@"
"""Mark of an identifier in a passage's own title or headings."""
PAIR = "~"
"""Stands between the two words of a pair; in no other term."""
_BESIDE = 2  # characters between neighbours, none of them CJK
# What nearly every English passage has, and says nothing: where anything else is asked for, it is not.
_GLUE = frozenset("a an the is are was were be been".split())


@lru_cache(maxsize=1)
def _stemmer() -> Any:
    import Stemmer

    return Stemmer.Stemmer("english", 0)


def stemmed(words: Sequence[str]) -> list[str]:
    """The stems of English words in small letters."""
    return list(_stemmer().stemWords(words))


@lru_cache(maxsize=65_536)
def _stems(word: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Of a Latin word or number: the forms that are paired with its neighbours, and its index terms.

    Those of a word that contains ``_ - ' .`` are its parts; the terms include the whole word.
    """
    if word[0].isdecimal():
        numbers = _BETWEEN_NUMBERS.split(word)
        return (word[:_MAX_TERM],), tuple(n[:_MAX_TERM] for n in (numbers if len(numbers) == 1 else (word, *numbers)))
    plain = "".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c))
    parts = _PART.findall(plain.replace("'s", "").replace("’s", "").replace("'", "").replace("’", ""))
    stemmed = tuple(s[:_MAX_TERM] for s in _stemmer().stemWords(parts))
    if len(parts) > 1 or plain.endswith(("+", "#")):
        return stemmed, (*stemmed, plain.strip("-_./'’&")[:_MAX_TERM])
    return stemmed, stemmed


def _codes(folded: str) -> Iterator[str]:
    for match in _CODE.finditer(folded):
        letters, number, year = match["letters"], match["number"], match["year"] or ""
        if year:
            year = _BEFORE_YEAR.sub("", year)
        short = len(number) < 3 and len(year) != 4  # JGJ 59-2011 is a standard, "box 12" is not
        if letters in _WORDS_BEFORE_NUMBERS or (match["gap"] == " " and (len(letters) > 4 or short)):
            continue
        if len(letters + number + year) < 4:
            continue
        yield f"{letters}{number}"
        if year:
            yield f"{letters}{number}-{year}"


def identifiers(text: str, *, clauses: bool = True, codes: bool = True) -> tuple[str, ...]:
    """Canonical identifiers in a text, without duplicates, in order of appearance; the most specific last.

    Args:
        clauses, codes: Whether those are looked for whose names have a colon, and the others.
    """
    with_case = unified(text)
    found = clause_keys(with_case) if clauses else ()
    return tuple(dict.fromkeys([*found, *(_codes(with_case.lower()) if codes else ())]))


def _identifiers(with_case: str, folded: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*clause_keys(with_case), *_codes(folded)]))


def _plain_terms(folded: str, *, single: bool = True) -> list[str]:
    """Terms without identifiers; `single`: single characters of longer CJK runs, too."""
    found: list[str] = []
    for match in _RUN.finditer(folded):
        run = match[0]
        if match.lastgroup == "cjk":
            characters = list(run)
            if single or len(run) == 1:
                found += characters
            found += map(add, characters, characters[1:])
        else:
            found += _stems(run)[1]
    return found


def _words_and_pairs(folded: str) -> tuple[list[str], list[str]]:
    """Terms of the words and numbers of a text, and of pairs of neighbouring ones."""
    found: list[str] = []
    pairs: list[str] = []
    pieces = iter(_OTHER_RUN.split(folded))  # what is between the runs, and the runs, in turns
    last = between = ""
    for gap, run in zip(pieces, pieces, strict=False):
        parts, own = _stems(run)
        found += own
        between += gap
        if not parts:
            between += run
            continue
        if last and len(between) <= _BESIDE and (between == " " or not has_han(between)):
            pairs.append(f"{last}{PAIR}{parts[0]}")
        if len(parts) > 1:
            pairs += map(f"{{}}{PAIR}{{}}".format, parts, parts[1:])
        last, between = parts[-1], ""
    return found, pairs


def terms(text: str) -> list[str]:
    """All index terms of a text with repetition; the order has no meaning."""
    with_case = unified(text)
    folded = with_case.lower()
    return [*_plain_terms(folded), *("#" + name for name in _identifiers(with_case, folded))]


def without_cjk(text: str, *, own: bool = False) -> tuple[str, list[str]]:
    """A text as it is compared (see `fold`), and its `terms`, pairs of words and quantities, without the terms of CJK runs.

    Args:
        own: It is a passage's own title and headings; see `passage_terms`.
    """
    with_case = unified(text)
    folded = with_case.lower()
    found, pairs = _words_and_pairs(folded)
    found += pairs
    found += quantities(folded)
    if named := _identifiers(with_case, folded):
        found += ["#" + name for name in named]
        found += [OWN + name for name in named if own]
    return folded, found


def placed_stems(text: str) -> tuple[str, list[tuple[str, int, int]]]:
    """A text as it is read (NFKC, Simplified, with its case), and what it says in turn: stem, start, end of each.

    Of Chinese that is each character; of Latin words the stem of each part, without case and accents; of numbers each part.
    """
    read = unified(text)
    folded = read.lower()
    if len(folded) != len(read):  # a letter that has no small form of one character
        read = folded
    found: list[tuple[str, int, int]] = []
    for match in _RUN.finditer(folded):
        run, start = match[0], match.start()
        if match.lastgroup == "cjk":
            found += [(character, at, at + 1) for at, character in enumerate(run, start)]
        elif run[-1] in "+#":  # C++ is not C
            found.append((_stems(run)[1][-1], start, match.end()))
        else:
            parts = ((_stems(part[0])[0], part.span()) for part in _PART.finditer(run))
            found += [(stems[0], start + at, start + end) for stems, (at, end) in parts if stems]
    return read, found


def passage_terms(heading_text: str, text: str) -> list[str]:
    """The index terms of a passage: those of its title and headings, and of its text."""
    with_case = unified(heading_text)
    folded = with_case.lower()
    named = _identifiers(with_case, folded)
    own = [*_plain_terms(folded), *("#" + name for name in named), *(OWN + name for name in named)]
    return [*own, *_beside(folded), *terms(text), *_beside(fold(text))]


def _beside(folded: str) -> list[str]:
    """Further terms of a text beside its `terms`: word pairs and quantities."""
    return [*_words_and_pairs(folded)[1], *quantities(folded)]


def query_terms(query: str) -> list[str]:
    """The distinct terms of a query, in order. Identifiers ask for both marks.

    Of a CJK run that has several characters only the pairs are asked for: single characters are in so many
    passages that they cost three times the time and change the ranking by less than .002 nDCG@10.
    The words of a clause reference are left out (``第``, ``13``, ``条``): its canonical form says it all, and
    documents spell it in other ways.
    """
    with_case = unified(query)
    plain = CLAUSE.sub(" ", with_case).lower()
    named = _identifiers(with_case, with_case.lower())
    found = [*_plain_terms(plain, single=False), *("#" + name for name in named), *(OWN + name for name in named)]
    return list(dict.fromkeys(found))


def search_terms(query: str) -> list[str]:
    """The terms sent to an engine: `query_terms` without articles and forms of *to be*, with word pairs and
    quantities.
    """
    asked = query_terms(query)
    saying = [term for term in asked if term not in _GLUE]
    return list(dict.fromkeys([*(saying or asked), *_beside(CLAUSE.sub(" ", unified(query)).lower())]))
