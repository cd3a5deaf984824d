"""One written entry, field by field: values are checked, and what was not asked for is a fault."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from datetime import date
from difflib import get_close_matches
from typing import Any

from wenyuan.core.errors import did_you_mean, msg
from wenyuan.core.rules.book import BookFault
from wenyuan.core.rules.model import EntryPlace
from wenyuan.core.rules.names import folded
from wenyuan.core.text.folding import language_of
from wenyuan.readers.rulebooks.trees import Tree

_DAY = re.compile(r"([0-9]{4})[-/.年]([0-9]{1,2})[-/.月]([0-9]{1,2})日?")
_NUMBER = re.compile(r"[-+]?[0-9]{1,15}(?:\.[0-9]{1,24})?(?:[eE][-+]?[0-9]{1,3})?")
_LANGUAGE = re.compile(r"[a-z]{2,3}(?:-[A-Za-z0-9]{2,8}){0,3}")
_MAX_TEXT = 20_000


def is_misspelling(key: str, known: Collection[str]) -> bool:
    """Whether a key is most likely a misspelling of a known one, rather than another word."""
    close = get_close_matches(key[:64].lower(), known, n=1, cutoff=0.75)
    return bool(close) and abs(len(close[0]) - len(key)) <= 1


def place_in(tree: object, outer: EntryPlace) -> EntryPlace:
    """The place of a tree inside a file; `outer` where the tree has no line."""
    line = getattr(tree, "line", None)
    return outer if line is None or outer.cell else EntryPlace(outer.file, line)


def _is_scalar(value: object) -> bool:
    return isinstance(value, (str, int)) or (isinstance(value, float) and math.isfinite(value))


class EntryForm:
    """The fields of one entry, each read once with validation.

    Args:
        known: The fields that this kind of entry may have: any other one is an ``unknown_key``.
    """

    def __init__(
        self, tree: Mapping[str, Any], place: EntryPlace, faults: list[BookFault], known: Collection[str]
    ) -> None:
        self.tree = tree
        self.place = place_in(tree, place)
        self.faults = faults
        self.sound = True
        for key, line, _ in tree.doubled if isinstance(tree, Tree) else ():
            self.fault("duplicate_key", msg("the key {key} stands twice in one entry", key=repr(key)), self._at(line))
        for key in tree:
            if key not in known:
                self.fault(
                    "unknown_key",
                    msg("no such key: {key}{near}", key=repr(key), near=did_you_mean(key, known)),
                    self.at(key),
                )

    def at(self, key: str) -> EntryPlace:
        """The place of one field."""
        return self._at(self.tree.lines.get(key)) if isinstance(self.tree, Tree) else self.place

    def _at(self, line: int | None) -> EntryPlace:
        return self.place if line is None or self.place.cell else EntryPlace(self.place.file, line)

    def fault(self, code: str, message: str, place: EntryPlace | None = None) -> None:
        """Record a fault: the entry is refused."""
        self.sound = False
        self.faults.append(BookFault(code, message, place or self.place))

    def wrong(self, key: str, wanted: str, code: str = "bad_value") -> None:
        """Record a field whose value has the wrong type."""
        self.fault(
            code,
            msg("{key} is {tree}; it must be {wanted}", key=key, tree=f"{self.tree[key]!r:.80}", wanted=wanted),
            self.at(key),
        )

    def text(self, key: str, *, required: bool = False) -> str:
        """A text, stripped; a number is taken as written."""
        value = self.tree.get(key)
        if isinstance(value, bool) or not isinstance(value, (str, int, float, type(None))):
            self.wrong(key, "text")
            return ""
        text = "" if value is None else str(value).strip()
        if len(text) > _MAX_TEXT:
            self.fault(
                "bad_value", f"{key} has {len(text):,} characters; at most {_MAX_TEXT:,} are read", self.at(key)
            )
        if required and not text:
            self.fault("bad_value", msg("{key} is missing", key=key), self.at(key))
        return text

    def word(self, key: str, words: Mapping[str, str], default: str) -> str:
        """One of a few keywords, in any spelling that `words` (folded) contains."""
        written = self.text(key)
        if not written:
            return default
        found = words.get(folded(written))
        if found is None:
            hint = did_you_mean(written, words)
            self.wrong(key, f"one of {', '.join(dict.fromkeys(words.values()))}{hint}")
        return found or default

    def number(self, key: str, default: float, low: float, high: float) -> float:
        """A number from `low` to `high`."""
        value = self.tree.get(key)
        if value is None or value == "":
            return default
        if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
            value = float(value)
        if type(value) not in (int, float) or math.isnan(value) or not low <= value <= high:
            self.wrong(key, msg("a number from {low} to {high}", low=f"{low:g}", high=f"{high:g}"))
            return default
        return float(value)

    def trust(self, key: str = "trust") -> int | None:
        """A trust level, 1 to 5; None without the field."""
        value = self.tree.get(key)
        if value is None or value == "":
            return None
        number = int(value) if isinstance(value, str) and value.strip() in {"1", "2", "3", "4", "5"} else value
        if type(number) is not int or not 1 <= number <= 5:
            self.wrong(key, "an integer from 1 to 5", "bad_trust")
            return None
        return number

    def day(self, key: str) -> date | None:
        """A day: ``2018-06-01``, ``2018/6/1`` or ``2018年6月1日``."""
        written = self.text(key)
        if not written:
            return None
        match = _DAY.fullmatch(folded(written))
        try:
            if match:
                return date(int(match[1]), int(match[2]), int(match[3]))
        except ValueError:  # an impossible date; reported below like any other invalid one
            pass
        self.wrong(key, "a day such as 2018-06-01", "bad_date")
        return None

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts; a single text is a list of one."""
        value = self.tree.get(key)
        if value is None:
            return ()
        items = value if isinstance(value, list) else [value]
        if not all(isinstance(i, (str, int, float)) and not isinstance(i, bool) for i in items):
            self.wrong(key, "a list of texts")
            return ()
        return tuple(dict.fromkeys(t for t in (str(i).strip() for i in items) if t))

    def languages(self, key: str) -> dict[str, str]:
        """Texts by language; a plain text is stored under its detected language."""
        value = self.tree.get(key)
        if isinstance(value, str):
            text = value.strip()
            return {language_of(text) or "und": text} if text else {}
        written = self.table(key)
        made = {tag: text.strip() for tag, text in written.items() if isinstance(text, str)}
        if len(made) < len(written) or not all(_LANGUAGE.fullmatch(tag) for tag in made):
            self.wrong(key, "texts by language, e.g. {zh: …, en: …}")
            return {}
        return {tag: text for tag, text in made.items() if text}

    def table(self, key: str) -> dict[str, str | int | float | bool]:
        """Scalar values by name."""
        value = self.tree.get(key)
        if value is None:
            return {}
        if not isinstance(value, Mapping) or not all(map(_is_scalar, value.values())):
            self.wrong(key, "names with one value each")
            return {}
        for doubled, line, _ in value.doubled if isinstance(value, Tree) else ():
            self.fault("duplicate_key", f"the key {doubled!r} stands twice in {key}", self._at(line))
        return dict(value)

    def entries(self, key: str) -> Sequence[Mapping[str, Any]]:
        """A list of mappings; a single one is a list of one."""
        value = self.tree.get(key)
        if value is None:
            return ()
        items = value if isinstance(value, list) else [value]
        if not all(isinstance(item, Mapping) for item in items):
            self.wrong(key, "a list of entries")
            return ()
        return items
