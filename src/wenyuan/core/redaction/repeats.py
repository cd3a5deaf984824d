"""A value that was found in one place of a document is found in all its places, with or without what told it there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from wenyuan.core.redaction.matching import Finding
from wenyuan.core.redaction.name_parts import parts_of
from wenyuan.core.redaction.text_view import TextView
from wenyuan.core.text.folding import HAN

_SHORTEST, _SHORTEST_SECRET, _LONGEST = 6, 8, 64  # characters; what is shorter may be something else elsewhere
_MOST_VALUES, _MOST_LENGTHS = 2_000, 24  # bounds the work for a character
_KINDS_ASIDE = frozenset({"address", "ip"})  # a district's name, a version
_ALONE = 2  # characters of a Chinese name that may be a part of a word
_HAN = re.compile(f"[{HAN}]")
_CAPITALISED = re.compile(
    r"[^\W\d_a-z\u3400-\u9fff](?<![\w\-'’/@.].)[^\W\d_]{2,40}(?:-[^\W\d_]{2,40})?(?![\w@]|[ ][A-Z][a-z]|[-_/.][A-Za-z0-9])"
)
"""A word with a capital letter, and none beside it."""
_GAPS = str.maketrans("", "", " -\n·.")


class Repeats:
    """The values of one document, by their normal forms.

    Short values are left to the rules: a number of fewer than six characters, a secret without digits or of fewer than eight, a
    name of one Latin word. A Chinese name of two characters counts where no Chinese character stands beside it. The first and the last word of
    a name in Latin letters count alone, too, with a capital letter and none beside it, unless they are daily words: *Collins* of *Sarah Collins*.
    """

    def __init__(self, found: Iterable[Finding]) -> None:
        self._values: dict[str, tuple[str, str]] = {}
        lengths: set[int] = set()
        for each in found:
            plain = each.value.lower().translate(_GAPS)
            if len(self._values) < _MOST_VALUES and _counts(each.kind, each.value, plain):
                if len(plain) not in lengths and len(lengths) == _MOST_LENGTHS:
                    continue
                lengths.add(len(plain))
                self._values.setdefault(plain, (each.kind, each.value))
        self._parts = frozenset(
            part for kind, value in self._values.values() if kind == "person" for part in parts_of(value)
        )
        self._lengths = sorted(lengths, reverse=True)
        firsts = "".join(sorted({plain[0] for plain in self._values}))
        self._first = re.compile(f"[{re.escape(firsts)}]") if firsts else None

    def __bool__(self) -> bool:
        return self._first is not None

    def find(self, view: TextView) -> Iterator[Finding]:
        """Where the values stand in a view, in order, not overlapping; then the parts of names that stand alone."""
        text, at = view.lower, 0
        while self._first is not None and (match := self._first.search(text, at)):
            start = match.start()
            end, plain = self._longest(text, start)
            if end:
                kind, value = self._values[plain]
                yield Finding(start, end, kind, value)
            at = end or start + 1
        for match in _CAPITALISED.finditer(view.text) if self._parts else ():
            part = match[0].lower()
            if part in self._parts:
                yield Finding(match.start(), match.end(), "person", part)

    def _longest(self, text: str, start: int) -> tuple[int, str]:
        """The end and the normal form of the longest value that begins at a place; 0 for none."""
        if text[start].isascii() and _ascii_word(text[start - 1 : start]):
            return 0, ""
        ends, plain = [], ""
        for at in range(start, min(len(text), start + 2 * self._lengths[0])):
            if text[at] not in " -\n·.":
                plain += text[at]
                ends.append(at + 1)
                if len(ends) == self._lengths[0]:
                    break
            elif text[at - 1] in " -\n·.":
                break  # two gaps part two values
        for length in self._lengths:
            if length <= len(ends) and plain[:length] in self._values:
                end = ends[length - 1]
                if self._whole(text, start, end, plain[:length]):
                    return end, plain[:length]
        return 0, ""

    @staticmethod
    def _whole(text: str, start: int, end: int, plain: str) -> bool:
        """Whether a value stands there, and not a part of a longer word."""
        before, after = text[start - 1 : start], text[end : end + 1]
        if plain[-1].isascii():
            return not _ascii_word(after)
        return len(plain) > _ALONE or not (_HAN.match(before) or _HAN.match(after))


def _ascii_word(c: str) -> bool:
    return c.isascii() and c.isalnum()


def _counts(kind: str, value: str, plain: str) -> bool:
    if kind in _KINDS_ASIDE or len(plain) > _LONGEST:
        return False
    if kind == "person":
        return " " in value.strip() and len(plain) >= _SHORTEST if plain.isascii() else len(plain) >= _ALONE
    if kind == "secret":
        return len(plain) >= _SHORTEST_SECRET and any(map(str.isdigit, plain)) and any(map(str.isalpha, plain))
    return len(plain) >= _SHORTEST
