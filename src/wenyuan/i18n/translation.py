"""Translations of messages to users: data files, one folder per language, loaded on first use."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from string import Formatter
from typing import NamedTuple

from wenyuan.core.errors import Message

_SEPARATED = 8  # places at most at which a text is cut in two
_TELLING = 5  # characters in the fixed pieces of a template by which it is known again
_LONGEST = 1_000  # characters of a text in which templates are looked for
_MOST_PARTS = (
    60  # of such a text: whatever stands in it is read within a second, and at no depth that the stack has not
)
_MOST_SENTENCES = 200  # of a longer text, which are read one by one; what follows stays as it is
_PARTS_IN_ONE = 8  # of each of these
_PARTS = (": ", "; ", " (")


@cache
def texts(door: str, language: str) -> Mapping[str, str]:
    """The texts of an interface in a language: key → text, with ``{name}`` placeholders.

    Args:
        door: ``"command_line"`` or ``"console"``.
    """
    said: dict[str, str] = {}
    for name in ("both", door):
        said |= _read(language, f"{name}.json")
    return said


@cache
def in_language(file: str, language: str) -> Mapping[str, str]:
    """A file of texts by their English; empty for English, and for a language that has no such file."""
    return _read(language, file) if _folder(language, file).is_file() else {}


def translated(message: str, language: str = "zh") -> str:
    """A message of the library in a language; unknown messages are returned unchanged.

    A `Message` carries its template and those of its values. For any other text (stored, or from a network or another
    program) the template is found by matching, see `_Templates.read`.
    """
    return message if language == "en" else _templates_of(language).said(message)


class _Form(NamedTuple):
    """A template split at its placeholders: the fixed pieces (one more than names), and their total length."""

    pieces: tuple[str, ...]
    names: tuple[str, ...]
    fixed: int
    other: str


class _Templates:
    """All templates of a language.

    Args:
        other: Template → what it is in the language.
        again: The same of those that are found in a text, further ones included.
        places: Names of request fields, for values of ``{place}``.
    """

    def __init__(self, other: Mapping[str, str], again: Mapping[str, str], places: Mapping[str, str]) -> None:
        self._other, self._places = other, places
        self._whole: dict[str, str] = {}
        forms = []
        for template, said in again.items():
            pieces, names = _template_pieces(template)
            fixed = "".join(pieces)
            if not fixed.strip() or (len(fixed) < _TELLING and any(map(str.isalnum, fixed))):
                continue
            if names:
                forms.append(_Form(pieces, names, len(fixed), said))
            else:
                self._whole[fixed] = said.format()
        self._forms = sorted(forms, key=_rank)
        self._read = lru_cache(4_096)(self._reading)

    def said(self, message: str) -> str:
        """Translate a message."""
        if message in self._whole:
            return self._whole[message]
        if not isinstance(message, Message) or message.template not in self._other:
            return self.read(message)
        values = {
            name: self.said(value) if isinstance(value, str) else self._other["; "].join(map(self.said, value))
            for name, value in message.values.items()
        }
        return self._filled(self._other[message.template], values)

    def read(self, text: str) -> str:
        """Translate a text by the templates whose fixed pieces cover most of it.

        What stands between the pieces is read in the same way. Of a text that is too long, sentence by sentence.
        """
        if _short(text, _MOST_PARTS):
            return self._read(str(text))[1]
        sentences = text.split("; ", maxsplit=_MOST_SENTENCES)
        if len(sentences) == 1:
            return text
        return self._other["; "].join(self._read(s)[1] if _short(s, _PARTS_IN_ONE) else s for s in sentences)

    def _reading(self, text: str) -> tuple[int, str]:
        """Number of characters covered by templates, and the translated text."""
        if text in self._whole:
            return len(text), self._whole[text]
        best, said = 0, text
        for form in self._forms:
            for parts in filter(_whole_sentences, _fitting(form, text)):
                read = [self._read(part) for part in parts]
                known = form.fixed + sum(known for known, _ in read)
                if known > best:
                    best = known
                    values = dict(zip(form.names, (value for _, value in read), strict=True))
                    if "right" in values:
                        values["right"] = self._places.get(values["right"], values["right"])
                    said = form.other.format_map(defaultdict(str, values))
        return best, said

    def _filled(self, other: str, values: Mapping[str, str]) -> str:
        """Fill a translated template with its values; names of request fields and rights are translated."""
        if "{right}" in other:
            values = {**values, "right": self._places.get(values["right"], values["right"])}
        if "{place}" not in other or values["place"] not in self._places:
            return other.format_map(values)
        place = self._places[values["place"]]
        return other.replace("{place} ", "{place}").format_map({**values, "place": place})


def _short(text: str, parts: int) -> bool:
    """Whether templates are looked for in a text: it may have so many parts."""
    return len(text) <= _LONGEST and sum(map(text.count, _PARTS)) <= parts


def _rank(form: _Form) -> tuple[bool, bool, int]:
    """Sort key among translations that cover equally much: prefers splits at sentence ends, then the beginning."""
    return any(map(str.isalnum, "".join(form.pieces))), not form.pieces[0], -form.fixed


def _template_pieces(template: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Fixed pieces and names of a template; of adjacent names such as ``{word}{near}`` the first stands for all."""
    pieces, names = [""], list[str]()
    for fixed, name, _, _ in Formatter().parse(template):
        pieces[-1] += fixed
        if name is not None and (not names or pieces[-1]):
            names.append(name)
            pieces.append("")
    return tuple(pieces), tuple(names)


def _fitting(form: _Form, text: str) -> Iterator[list[str]]:
    """Possible values for the placeholders so that a template matches a text: none, or mostly one way."""
    first, *middle, last = form.pieces
    if not text.startswith(first) or not text.endswith(last):
        return
    end = len(text) - len(last)
    if not first and not last and len(middle) == 1:
        at = text.find(middle[0], 1)
        for _ in range(_SEPARATED):
            if at < 0 or at + len(middle[0]) >= end:
                return
            yield [text[:at], text[at + len(middle[0]) :]]
            at = text.find(middle[0], at + 1)
        return
    at, values = len(first), []
    for piece in middle:
        found = text.find(piece, at + 1, end)
        if found < 0:
            return
        values.append(text[at:found])
        at = found + len(piece)
    if at < end:
        yield [*values, text[at:end]]


def _whole_sentences(values: list[str]) -> bool:
    """Whether no value begins or ends in the middle of a sentence (with a space, except for a bracketed remark)."""
    return all(value == value.rstrip() and (value[0] != " " or value[1] == "(") for value in values)


@cache
def _templates_of(language: str) -> _Templates:
    said: dict[str, str] = {}
    for file in _folder(language, "templates").iterdir():
        said |= json.loads(file.read_text("utf-8"))
    faults = _read(language, "templates", "faults.json")
    placed = {f"{{place}} {fault}": f"{{place}} {other}" for fault, other in faults.items()}
    again = {t.replace("{near}", ""): o.replace("{near}", "") for t, o in (said | placed).items()}
    return _Templates(said, said | placed | again, _read(language, "places.json"))


def _folder(*path: str) -> Traversable:
    return files(__package__).joinpath(*path)


def _read(*path: str) -> dict[str, str]:
    read: dict[str, str] = json.loads(_folder(*path).read_text("utf-8"))
    return read
