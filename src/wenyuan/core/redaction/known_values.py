"""The values that the documents of a file hold, looked for in its name, address and title.

A name of a file is short, and joins words in ways of its own: ``Li_Ming-CV.pdf``, ``ming.li.docx``, ``LiMing2024.xlsx``,
``高明辞职.md``. So a value counts here with any sign between its parts, in the other order of two Latin words, and a
Chinese name of two characters beside others, too, since the document says whose name it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from wenyuan.core.redaction.matching import Finding
from wenyuan.core.redaction.text_view import HAN, view_of

_MOST_VALUES = 2_000  # of one file: bounds the work for a name
_SHORTEST, _SHORTEST_SECRET, _LONGEST = 6, 8, 64  # characters without signs
_SHORTEST_WORD, _SHORTEST_NAME = 3, 2  # of a person: one Latin word; Chinese characters
_KINDS_ASIDE = frozenset({"address", "ip"})
_APART = re.compile(r"[\s_+,.\-·()（）]+")
_SIGNS = r"[\s_+,.\-·()]{0,3}"
_HAN = re.compile(f"[{HAN}]")


class KnownValue(NamedTuple):
    """A value where it stands in a name.

    Attributes:
        start, end: Its span.
        value: Its normal form, as `Finding.value`.
    """

    start: int
    end: int
    kind: str
    value: str


class KnownValues:
    """The values that documents of one file hold, by their characters without signs."""

    def __init__(self, found: Iterable[Finding] = ()) -> None:
        self._values: set[tuple[str, str]] = set()
        self._by_start: dict[str, dict[str, tuple[str, str]]] = {}
        self.add(found)

    def __bool__(self) -> bool:
        return bool(self._values)

    def add(self, found: Iterable[Finding]) -> None:
        """Add the values of one more document."""
        self._add((each.kind, each.value) for each in found)

    def add_all(self, other: KnownValues) -> None:
        """Add those that another one has."""
        self._add(sorted(other._values))

    def _add(self, values: Iterable[tuple[str, str]]) -> None:
        for value in values:
            if len(self._values) >= _MOST_VALUES:
                return
            if value not in self._values and _counts(*value, _plain(value[1])):
                self._values.add(value)
                for plain in _orders(*value):
                    self._by_start.setdefault(plain[:_SHORTEST_NAME], {}).setdefault(plain, value)

    def in_name(self, name: str) -> list[KnownValue]:
        """Where values stand in a name, in order, not overlapping; of two that overlap, the longer."""
        if not self._values or not name:
            return []
        view = view_of(name)
        found: list[KnownValue] = []
        taken = bytearray(len(view.text))
        for _, (kind, value) in sorted(self._near(_plain(view.text)), key=lambda one: (-len(one[0]), one)):
            for match in _pattern(kind, value).finditer(view.text):
                start, end = match.span()
                if taken.find(1, start, end) < 0 and _whole(view.text, start, end):
                    taken[start:end] = b"\1" * (end - start)
                    found.append(KnownValue(*view.original(start, end), kind, value))
        return sorted(found)

    def _near(self, squeezed: str) -> set[tuple[str, tuple[str, str]]]:
        """The values whose characters stand in a row in the letters and digits of a name."""
        return {
            (plain, value)
            for at in range(len(squeezed) - 1)
            for plain, value in self._by_start.get(squeezed[at : at + _SHORTEST_NAME], {}).items()
            if squeezed.startswith(plain, at)
        }


def _plain(text: str) -> str:
    return _APART.sub("", text).casefold()


def _counts(kind: str, value: str, plain: str) -> bool:
    if kind in _KINDS_ASIDE or not plain or len(plain) > _LONGEST:
        return False
    if kind == "person":
        return len(plain) >= (_SHORTEST_NAME if _HAN.search(plain) else _SHORTEST_WORD) and plain.isalpha()
    if kind == "secret":
        return len(plain) >= _SHORTEST_SECRET and any(map(str.isdigit, plain)) and any(map(str.isalpha, plain))
    return len(plain) >= _SHORTEST


def _words(value: str) -> list[str]:
    return [word for word in _APART.split(value.casefold()) if word]


def _orders(kind: str, value: str) -> list[str]:
    """The characters of a value, and those of two Latin words in the other order."""
    words = _words(value) if kind == "person" and value.isascii() else []
    return [_plain(value), words[1] + words[0]] if len(words) == 2 else [_plain(value)]


@lru_cache(1_024)
def _pattern(kind: str, value: str) -> re.Pattern[str]:
    if kind == "person" and not _HAN.search(value):
        words = _words(value)
        orders = [words, words[::-1]] if len(words) == 2 else [words]
        forms = [_SIGNS.join(map(re.escape, order)) for order in orders]
    else:
        forms = [_SIGNS.join(map(re.escape, _plain(value)))]
    return re.compile("|".join(forms), re.IGNORECASE)


def _whole(text: str, start: int, end: int) -> bool:
    """Whether no Latin word or number goes on beyond the span; ``LiMingResume`` begins another one."""
    return not (_goes_on(text[start - 1 : start], text[start]) or _goes_on(text[end - 1], text[end : end + 1]))


def _goes_on(one: str, other: str) -> bool:
    if not (one.isascii() and other.isascii() and one.isalnum() and other.isalnum()):
        return False
    return one.isdigit() == other.isdigit() and not (one.islower() and other.isupper())
