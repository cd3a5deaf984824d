"""Nonsense: how a query is told that looks like no text, and queries of that kind to try a library with."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

from wenyuan.core.text.folding import has_han

_REPEATED, _UNIT = 4, 8  # times, and characters
_TURNS = 4  # at least, and more than that share of the letters; hardly a real question has so many
_TURNING = 0.35
_CONSONANTS = "bcdfghjklmnpqrstvwxz"
_RARE = "龘靐齉爩鱻麤龗灪籲鸞讟钃厵虋癵驫飝饢麷鬻齾龖爨纛鼗黼"
_COMMON = "的一是在不了有和人这中大为上个国我以要他时来用们生到作地于出就分对成会可主发年动同工也能下过子说产种面"


def junk_queries(script: str, count: int = 48, seed: int = 13) -> tuple[str, ...]:
    """Meaningless queries of several kinds in one script (``han`` or ``latin``), the same at every call."""
    draw = random.Random(f"{script}{seed}")  # noqa: S311  (not a secret: it must be repeatable)
    kinds = (_rare, _shuffled, _mixed) if script == "han" else (_letters, _keyboard, _digits, _syllables)
    return tuple(kinds[i % len(kinds)](draw) for i in range(count))


def strange(query: str, encoder: Any) -> bool:
    """Whether a query looks like gibberish: repetition, Chinese and Latin letters alternating, or text that the
    encoder's language model finds unlikely.

    That is one thing over and over, Chinese and Latin mixed letter by letter, or what the encoder calls unlikely.

    Args:
        encoder: Asked if it can tell (`unlikely`).
    """
    chinese = [has_han(c) for c in query if c.isalpha()]
    turns = sum(one != other for one, other in pairwise(chinese))  # more than in any real text
    if repeats(query) or (turns >= _TURNS and turns > _TURNING * len(chinese)):
        return True
    unlikely = getattr(encoder, "unlikely", None)
    return unlikely is not None and bool(unlikely(query))


def repeats(query: str) -> bool:
    """Whether a query repeats a few characters over and over: ``呵呵呵呵``, ``asdf asdf asdf asdf``."""
    text = "".join(query.split())
    return any(text[size:] == text[:-size] for size in range(1, min(_UNIT, len(text) // _REPEATED) + 1))


def _word(draw: random.Random, alphabet: str, low: int, high: int) -> str:
    return "".join(draw.choice(alphabet) for _ in range(draw.randint(low, high)))


def _letters(draw: random.Random) -> str:
    return " ".join(_word(draw, _CONSONANTS, 3, 8) for _ in range(draw.randint(1, 4)))


def _keyboard(draw: random.Random) -> str:
    return " ".join(_word(draw, "asdfghjklqwertyuiopzxcvbnm", 4, 10) for _ in range(draw.randint(1, 3)))


def _syllables(draw: random.Random) -> str:
    """Pronounceable words without meaning: ``wuggle florp``."""
    words = ("".join(_word(draw, _CONSONANTS, 1, 2) + draw.choice("aeiou") for _ in range(draw.randint(2, 4)))
             for _ in range(draw.randint(2, 4)))  # fmt: skip
    return " ".join(words)


def _rare(draw: random.Random) -> str:
    return _word(draw, _RARE, 2, 8)


def _shuffled(draw: random.Random) -> str:
    return _word(draw, _COMMON, 5, 14)


def _mixed(draw: random.Random) -> str:
    return f"{_letters(draw)} {_rare(draw)}"


def _digits(draw: random.Random) -> str:
    return f"{_word(draw, _CONSONANTS, 2, 4)}{draw.randint(10**4, 10**9)} {_word(draw, '!@#%^&*~?', 2, 6)}"
