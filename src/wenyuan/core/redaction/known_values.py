"""The values that the documents of a file hold, looked for in its name, address and title.

A name of a file is short, and joins words in ways of its own: ``Li_Ming-CV.pdf``, ``ming.li.docx``, ``LiMing2024.xlsx``,
``高明辞职.md``. So a value counts here with any sign between its parts, in the other order of two Latin words, and a
Chinese name of two characters beside others, too, since the document says whose name it is. Nor is a person always
called there as the document does: ``Smith resignation.docx`` holds John Smith's, ``wanglihua.pdf`` 王丽华's,
``李明.docx`` Li Ming's. So the first and last word of a name count alone, and a Chinese name in Pinyin, and the reverse.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from wenyuan.core.redaction.chinese_names import is_worded
from wenyuan.core.redaction.commonness import commonness, rarity
from wenyuan.core.redaction.matching import Finding
from wenyuan.core.redaction.name_parts import parts_of
from wenyuan.core.redaction.names import surname_length
from wenyuan.core.redaction.romanization import spellings
from wenyuan.core.redaction.text_view import view_of
from wenyuan.core.text.folding import HAN

_MOST_VALUES = 2_000  # of one file: bounds the work for a name
_SHORTEST, _SHORTEST_SECRET, _LONGEST = 6, 8, 64  # characters without signs
_SHORTEST_WORD, _SHORTEST_NAME = 3, 2  # of a person: one Latin word; Chinese characters
_A_WORD, _A_CHINESE_WORD = 3.0, 3.5  # as common and as little rare as this, a spelling is taken for a word
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


class _Form(NamedTuple):
    """One way in which a value may stand in a name.

    Attributes:
        words: What stands in it in this order, with any sign or none between them.
        another: It is a part of the value, or spells it otherwise: then a daily word of several syllables is not it.
    """

    kind: str
    value: str
    words: tuple[str, ...]
    another: bool = False


class KnownValues:
    """The values that documents of one file hold, by their characters without signs."""

    def __init__(self, found: Iterable[Finding] = ()) -> None:
        self._values: set[tuple[str, str]] = set()
        self._by_start: dict[str, dict[str, _Form]] = {}
        self._latin_names: dict[str, str] = {}  # the letters of names of two Latin words, in both orders
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
        for kind, value in values:
            if len(self._values) >= _MOST_VALUES:
                return
            if (kind, value) not in self._values and _counts(kind, value, _plain(value)):
                self._values.add((kind, value))
                for form in _forms(kind, value):
                    self._add_form(form)
                if kind == "person" and not _HAN.search(value) and len(words := _words(value)) == 2:
                    for order in (words, words[::-1]):
                        self._latin_names.setdefault("".join(order), value)

    def _add_form(self, form: _Form) -> None:
        """Note a form; what a value is called itself goes before a part or a spelling of another."""
        plain = "".join(form.words)
        near = self._by_start.setdefault(plain[:_SHORTEST_NAME], {})
        if plain not in near or (near[plain].another and not form.another):
            near[plain] = form

    def in_name(self, name: str) -> list[KnownValue]:
        """Where values stand in a name, in order, not overlapping; of two that overlap, the longer."""
        if not self._values or not name:
            return []
        view = view_of(name)
        found: list[KnownValue] = []
        taken = bytearray(len(view.text))

        def take(start: int, end: int, kind: str, value: str) -> None:
            if taken.find(1, start, end) < 0:
                taken[start:end] = b"\1" * (end - start)
                found.append(KnownValue(*view.original(start, end), kind, value))

        for _, form in sorted(self._near(_plain(view.text)), key=lambda one: (one[1].another, -len(one[0]), one)):
            for match in _pattern(form.words).finditer(view.text):
                start, end = match.span()
                if _whole(view.text, start, end) and not (
                    form.another and len(form.words) > 1 and _is_word(match[0])
                ):
                    take(start, end, form.kind, form.value)
        if self._latin_names:
            for start, end, value in self._in_characters(view.text):
                take(start, end, "person", value)
        return sorted(found)

    def _near(self, squeezed: str) -> set[tuple[str, _Form]]:
        """The forms whose characters stand in a row in the letters and digits of a name."""
        return {
            (plain, form)
            for at in range(len(squeezed) - 1)
            for plain, form in self._by_start.get(squeezed[at : at + _SHORTEST_NAME], {}).items()
            if squeezed.startswith(plain, at)
        }

    def _in_characters(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Where a name in Latin letters stands in Chinese characters that are read so."""
        for start in range(len(text)):
            surname = surname_length(text[start : start + 2])
            for length in (surname + 2, surname + 1) if surname else ():
                name = text[start : start + length]
                if len(name) < length or not all(map(_HAN.match, name)) or _is_chinese_word(name, surname):
                    continue
                value = next(
                    (
                        self._latin_names[plain]
                        for plain in map("".join, spellings(name))
                        if plain in self._latin_names
                    ),
                    "",
                )
                if value:
                    yield start, start + length, value
                    break


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


def _forms(kind: str, value: str) -> Iterator[_Form]:
    """A value as it is, two Latin words in the other order, too; its parts; its spellings in Latin letters."""
    if kind != "person":
        yield _Form(kind, value, tuple(_plain(value)))
        return
    if _HAN.search(value):
        yield _Form(kind, value, tuple(_plain(value)))
        for surname, *given in spellings(_plain(value)):
            yield _Form(kind, value, (surname, *given), another=True)
            yield _Form(kind, value, (*given, surname), another=True)
        return
    words = _words(value)
    for order in (words, words[::-1])[: 2 if len(words) == 2 and value.isascii() else 1]:
        yield _Form(kind, value, tuple(order))
    for part in parts_of(value):
        yield _Form(kind, part, (part,), another=True)


@lru_cache(1_024)
def _pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(_SIGNS.join(map(re.escape, words)), re.IGNORECASE)


def _is_word(text: str) -> bool:
    """Whether what stands there is one word that general English has: *change*, not *Chang E*."""
    return text.isalpha() and text.isascii() and commonness(text.capitalize()) >= _A_WORD


def _is_chinese_word(name: str, surname: int) -> bool:
    """Whether the characters are a word of general text: 黎明."""
    return is_worded(name, surname) or (len(name) == _SHORTEST_NAME and rarity(name) < _A_CHINESE_WORD)


def _whole(text: str, start: int, end: int) -> bool:
    """Whether no Latin word or number goes on beyond the span; ``LiMingResume`` begins another one."""
    return not (_goes_on(text[start - 1 : start], text[start]) or _goes_on(text[end - 1], text[end : end + 1]))


def _goes_on(one: str, other: str) -> bool:
    if not (one.isascii() and other.isascii() and one.isalnum() and other.isalnum()):
        return False
    return one.isdigit() == other.isdigit() and not (one.islower() and other.isupper())
