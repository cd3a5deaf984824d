"""Names and secrets in 200 shapes of sentences, filled with several values each, and 330 innocent sentences.

    python bench/redaction_shapes.py [--missed]

Every second shape is held apart: rules are mended on the others alone, and ``--missed`` shows nothing of these.
A value stands in ``{}`` by its class; ``\\n`` is a new line.
"""

from __future__ import annotations

import argparse
import random
import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from redaction_shape_texts import INNOCENT, NAMED, SECRET, VALUES
from wenyuan.core.redaction.policy import policy_for
from wenyuan.core.redaction.redact import Redaction
from wenyuan.readers.markdown import read_markdown

_FIELD = re.compile(r"\{([a-z]+)\}")
_FILLS = 4  # how often a shape is filled
_REDACTION = Redaction(policy_for("restricted"), b"k" * 32)
CLASSES = {
    "zh": "Chinese names",
    "short": "老王, 小李, 王工",
    "en": "English names",
    "py": "names in Pinyin",
    "nick": "nicknames",
    "word": "passwords that are words",
    "code": "passwords with digits or signs",
    "pin": "numbers",
    "mail": "mail addresses in code",
}


class Case(NamedTuple):
    """A filled shape: its number, the text, and its values with their fields."""

    shape: int
    text: str
    values: list[tuple[str, str]]


def cases(shapes: str, seed: int) -> Iterator[Case]:
    """Every shape, filled several times; the same seed draws the same values."""
    draw = random.Random(seed)
    for number, line in enumerate(shapes.strip().splitlines()):
        for _ in range(_FILLS):
            values: list[tuple[str, str]] = []

            def fill(field: re.Match[str], values: list[tuple[str, str]] = values) -> str:
                value = draw.choice(VALUES[field[1]])
                values.append((field[1], value.rpartition("=")[2] if field[1] == "mail" else value))
                return value.rpartition("=")[0] if field[1] == "mail" else value

            yield Case(number, _FIELD.sub(fill, line).replace("\\n", "\n"), values)


def redacted_as_read(text: str) -> str:
    """A text without its values; a table is read as one, as in a file."""
    if not text.startswith("|"):
        return _REDACTION.text(text).text
    [table] = read_markdown(text.encode(), uri="file:///t.md", name="t.md")
    return _REDACTION.document(table)[0].text


def parts_left(text: str, field: str, value: str) -> bool:
    """Whether a value can still be read in a redacted text."""
    return value in text if field != "mail" else all(part in text for part in re.split("[@.]", value))


def half(shapes: str, odd: int, seed: int) -> tuple[Counter[str], Counter[str], list[tuple[str, str]]]:
    """Values of every second shape by class, those that are gone, and what is left with its text."""
    there: Counter[str] = Counter()
    gone: Counter[str] = Counter()
    left: list[tuple[str, str]] = []
    for case in cases(shapes, seed):
        if case.shape % 2 != odd:
            continue
        redacted = redacted_as_read(case.text)
        for field, value in case.values:
            there[CLASSES[field]] += 1
            if parts_left(redacted, field, value):
                left.append((value, case.text))
            else:
                gone[CLASSES[field]] += 1
    return there, gone, left


def innocent() -> Iterator[tuple[str, str]]:
    """Innocent sentences in which something is found, and what they become."""
    for line in INNOCENT.strip().splitlines():
        text = line.replace("\\n", "\n")
        redacted = _REDACTION.text(text).text
        if redacted != text:
            yield text, redacted


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument(
        "--missed", action="store_true", help="show what is left of the shapes that rules may be mended on"
    )
    arguments.add_argument("--apart", action="store_true", help="measure the shapes that are held apart, too")
    options = arguments.parse_args()
    for odd, title in ((0, "mended on"), (1, "held apart"))[: 1 + options.apart]:
        for shapes, seed in ((NAMED, 11), (SECRET, 12)):
            there, gone, left = half(shapes, odd, seed)
            for kind, count in there.items():
                print(f"{title}: {kind} {gone[kind] / count:.2f} of {count}")
            if options.missed and not odd:
                print("\n".join(f"   {value!r} in {text!r}" for value, text in left))
    lines = len(INNOCENT.strip().splitlines())
    taken = list(innocent())
    print(f"innocent sentences: {lines}, something taken in {len(taken)} ({len(taken) / lines:.1%})")
    if options.missed:
        print("\n".join(f"   {text!r} -> {redacted!r}" for text, redacted in taken))


if __name__ == "__main__":
    main()
