"""Recall of redaction for people, addresses and passwords in paperwork, by class and form, and decoys.

    python bench/redaction_paperwork.py [--missed]

Rules are mended on the first half of the texts and values (``--missed`` shows what is left of it); the second is held apart and only counted.
"""

from __future__ import annotations

import random
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence

import redaction_paperwork_forms as forms
from redaction_people import CLASSES, People
from wenyuan.core.redaction.policy import policy_for
from wenyuan.core.redaction.redact import Redaction

_REDACTION = Redaction(policy_for("restricted"), b"k" * 32)
_FILLS = 5
_MORE = {"addresses": 13, "addresses, Traditional": 8, "passwords in characters": 6}
_WEAK = 0.9


def _drawn(values: Sequence[str]) -> Callable[[random.Random], str]:
    return lambda chance: chance.choice(values)


def _pinyin(half: int, *, given_first: bool) -> Callable[[random.Random], str]:
    def made(chance: random.Random) -> str:
        surname, given = chance.choice(forms.PINYIN[half]).split(" ")
        surname = surname.upper() if chance.random() < 0.2 else surname
        return f"{given} {surname}" if given_first else f"{surname} {given}"

    return made


def _people(half: int, seed: int) -> People:
    makers = {
        "n": _drawn(forms.NAMES[half]),
        "f": _drawn(forms.TRADITIONAL[half]),
        "a": _drawn(forms.ADDRESSES[half]),
        "g": _drawn(forms.ADDRESSES_TRADITIONAL[half]),
        "k": _drawn(forms.PHRASES[half]),
        "p": _pinyin(half, given_first=False),
        "r": _pinyin(half, given_first=True),
    }
    return People(1000 * half + seed, makers)


def main() -> None:
    totals: list[dict[str, list[bool]]] = [defaultdict(list), defaultdict(list)]
    by_form: list[dict[str, list[bool]]] = [defaultdict(list), defaultdict(list)]
    missed: list[str] = []
    for half in (0, 1):
        for form, texts in forms.FORMS.items():
            for seed in range(_MORE.get(form, _FILLS)):
                people = _people(half, seed)
                for text in texts[half]:
                    filled, values = people.fill(text)
                    left = _REDACTION.text(filled).text
                    for kind, said in values:
                        gone = said not in left
                        totals[half][kind].append(gone)
                        by_form[half][form].append(gone)
                        if not gone and half == 0:
                            missed.append(f"   {said!r} in {filled!r} -> {left!r}")
    print("| class | n, mended on | found | n, held apart | found |\n|---|--:|--:|--:|--:|")
    for kind in dict.fromkeys(CLASSES.values()):
        if totals[0][kind] or totals[1][kind]:
            cells = (
                f"{len(hits)} | {sum(hits) / max(1, len(hits)):.3f}" for hits in (totals[0][kind], totals[1][kind])
            )
            print(f"| {kind} | {' | '.join(cells)} |")
    for half, name in enumerate(("mended on", "held apart")):
        every = [hit for hits in totals[half].values() for hit in hits]
        weak = ", ".join(form for form, hits in by_form[half].items() if sum(hits) < _WEAK * len(hits))
        print(f"{name}: {sum(every) / len(every):.3f} of {len(every)}; forms below {_WEAK:.2f}: {weak or 'none'}")
        false = [text for text in forms.DECOYS[half] if _REDACTION.text(text).text != text]
        print(f"decoys, {name}: {len(false)} of {len(forms.DECOYS[half])}")
        if half == 0:
            missed += [f"   decoy {text!r} -> {_REDACTION.text(text).text!r}" for text in false]
    if "--missed" in sys.argv:
        print("\n".join(dict.fromkeys(missed)))


if __name__ == "__main__":
    main()
