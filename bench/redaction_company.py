"""Recall of redaction by class in 45 forms of companies' documents, and decoys.

    python bench/redaction_company.py [--missed]

Rules are mended on the first two texts of each form (``--missed`` shows what is left of them); the others are held apart and only counted.
Tables are read as files are. Single values are written in full width, with invisible characters, in Traditional characters, or broken by a line end.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator

import redaction_people
from redaction import written
from redaction_company_forms import DECOYS, ENGLISH, FORMS, NAMES
from redaction_people import CLASSES, People
from wenyuan.core.redaction.policy import policy_for
from wenyuan.core.redaction.redact import Redaction
from wenyuan.readers.selection import READERS, read_guarded

_REDACTION = Redaction(policy_for("restricted"), b"k" * 32)
_FILLS = 5
MANNERS = {"full-width": "full-width", "zero-width": "zero-width", "line break within": "two lines"}
_PLAIN = {"names, Chinese", "names, English", "names, Pinyin", "addresses, Chinese", "e-mail", "plate"}


def _filled(people: People, form: str, text: str) -> tuple[str, list[tuple[str, str]]]:
    filled, values = people.fill(text)
    manner = MANNERS.get(form)
    if manner is None:
        return filled, values
    told = []
    for kind, value in values:
        said = value if manner == "two lines" and kind in _PLAIN else written(value, manner)
        filled = filled.replace(value, said)
        told.append((kind, said))
    return filled, told


def _left(form: str, text: str) -> str:
    if not text.startswith("|") and form != "CSV":
        return _REDACTION.text(text).text
    suffix = ".md" if text.startswith("|") else ".csv"
    [document, *_] = read_guarded(text.encode(), uri=f"file:///x{suffix}", name=f"x{suffix}", reader=READERS[suffix])
    return _REDACTION.document(document)[0].text


redaction_people.MAKERS["n"] = lambda chance: chance.choice(NAMES)
redaction_people.MAKERS["e"] = lambda chance: chance.choice(ENGLISH)


def apart(fills: int) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """The texts that are held apart, but for tables and special ways of writing, with the class and the characters of their values."""
    for seed in range(fills):
        people = People(100 + seed)
        for form, texts in FORMS.items():
            if form in MANNERS or form in {"CSV", "table with persons"}:
                continue
            for text in texts[len(texts) // 2 :]:
                if not text.startswith("|"):
                    yield people.fill(text)


def main() -> None:
    hits: dict[str, list[list[bool]]] = {kind: [[], []] for kind in CLASSES.values()}
    by_form: dict[str, list[list[bool]]] = defaultdict(lambda: [[], []])
    missed: list[str] = []
    for seed in range(_FILLS):
        people = People(100 + seed)
        for form, texts in FORMS.items():
            for at, text in enumerate(texts):
                filled, values = _filled(people, form, text)
                left = _left(form, filled)
                for kind, said in values:
                    gone = said not in left
                    hits[kind][at // 2].append(gone)
                    by_form[form][at // 2].append(gone)
                    if not gone and at // 2 == 0:
                        missed.append(f"   {said!r} in {filled!r}")
    count = sum(len(half) for halves in hits.values() for half in halves)
    print(f"{count} values in {len(FORMS)} forms\n| class | n | mended on | held apart |\n|---|--:|--:|--:|")
    for kind, halves in hits.items():
        if any(halves):
            cells = (f"{sum(half) / len(half):.2f}" if half else "–" for half in halves)
            print(f"| {kind} | {sum(map(len, halves))} | {' | '.join(cells)} |")
    for half, name in enumerate(("mended on", "held apart")):
        every = [hit for halves in hits.values() for hit in halves[half]]
        weak = [
            form for form, halves in by_form.items() if halves[half] and sum(halves[half]) < 0.9 * len(halves[half])
        ]
        print(
            f"{name}: {sum(every) / len(every):.3f} of {len(every)}; forms below .90: {', '.join(weak) if weak else 'none'}"
        )
    false = [text for text in DECOYS if _REDACTION.text(text).text != text]
    print(f"decoys: {len(false)} of {len(DECOYS)}")
    if "--missed" in sys.argv:
        print("\n".join(dict.fromkeys(missed)))
        print("\n".join(f"   decoy {text!r} -> {_REDACTION.text(text).text!r}" for text in false))


if __name__ == "__main__":
    main()
