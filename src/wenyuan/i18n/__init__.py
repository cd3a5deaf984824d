"""What is said to people in other languages than English: data, one folder for each language, read when first asked for.

The English of a message is its key, as in gettext: ``zh/templates/*.json`` has the Chinese of each template, with the same
``{name}``s in it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from string import Formatter
from typing import NamedTuple

from wenyuan.core.messages import Said

_SEPARATED = 8  # places at most at which a text is cut in two
_TELLING = 5  # characters in the fixed pieces of a template by which it is known again
_LONGEST = 2_000  # characters of a text in which templates are looked for


@cache
def texts(door: str, language: str) -> Mapping[str, str]:
    """What a door says to a person in a language: key → text, with ``{name}`` for what varies.

    Args:
        door: ``"command_line"`` or ``"console"``.
    """
    said: dict[str, str] = {}
    for name in ("both", door):
        said |= json.loads(_folder(language, f"{name}.json").read_text("utf-8"))
    return said


def translated(message: str, language: str = "zh") -> str:
    """A message of the library in a language. What is not known there stays as it is.

    A `Said` has its template with it, also within what stands in it. Of any other text (what was stored, or came over
    a network, or from another program) the template is found again, see `_Templates.read`.
    """
    return message if language == "en" else _of(language).said(message)


class _Form(NamedTuple):
    """A template cut at what varies: its fixed pieces, one more than names, and how many characters they have."""

    pieces: tuple[str, ...]
    names: tuple[str, ...]
    fixed: int
    other: str


class _Templates:
    """All templates of a language.

    Args:
        other: Template → what it is in the language.
        again: The same of those that are found in a text, further ones included.
    """

    def __init__(self, other: Mapping[str, str], again: Mapping[str, str]) -> None:
        self._other = other
        self._whole: dict[str, str] = {}
        forms = []
        for template, said in again.items():
            pieces, names = _cut(template)
            fixed = "".join(pieces)
            if not fixed or (len(fixed) < _TELLING and any(map(str.isalnum, fixed))):
                continue
            if names:
                forms.append(_Form(pieces, names, len(fixed), said))
            else:
                self._whole[fixed] = said.format()
        self._forms = sorted(forms, key=lambda form: (-form.fixed, len(form.names)))
        self._read = lru_cache(4_096)(self._reading)

    def said(self, message: str) -> str:
        """A message in the language."""
        if not isinstance(message, Said) or message.template not in self._other:
            return self.read(message)
        values = {
            name: self.said(value) if isinstance(value, str) else self._other["; "].join(map(self.said, value))
            for name, value in message.values.items()
        }
        return self._other[message.template].format_map(values)

    def read(self, text: str) -> str:
        """A text in the language, by that reading of it in which the fixed pieces of templates are longest.

        What stands between the pieces is read in the same way.
        """
        return self._read(str(text))[1] if len(text) <= _LONGEST else text

    def _reading(self, text: str) -> tuple[int, str]:
        """How many characters of a text are known, and the text in the language."""
        if text in self._whole:
            return len(text), self._whole[text]
        best, said = 0, text
        for form in self._forms:
            for values in _fitting(form, text):
                read = [self._read(value) for value in values]
                known = form.fixed + sum(known for known, _ in read)
                if known > best:
                    best = known
                    said = form.other.format_map(dict(zip(form.names, (value for _, value in read), strict=True)))
        return best, said


def _cut(template: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    pieces, names = [""], []
    for fixed, name, _, _ in Formatter().parse(template):
        pieces[-1] += fixed
        if name is not None:
            names.append(name)
            pieces.append("")
    return tuple(pieces), tuple(names)


def _fitting(form: _Form, text: str) -> Iterator[list[str]]:
    """What may stand for each name so that a template reads as a text: nothing, or mostly one way."""
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


@cache
def _of(language: str) -> _Templates:
    said: dict[str, str] = {}
    for file in sorted(_folder(language, "templates").iterdir(), key=lambda file: file.name):
        said |= json.loads(file.read_text("utf-8"))
    faults = json.loads(_folder(language, "templates", "values.json").read_text("utf-8"))
    placed = {f"{{place}} {fault}": f"{{place}} {other}" for fault, other in faults.items()}
    return _Templates(said, said | placed)


def _folder(*path: str) -> Traversable:
    return files(__package__).joinpath(*path)
