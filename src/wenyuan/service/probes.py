"""The floor of an index: how well nonsense scores in it.

About a hundred meaningless queries are asked; what nearly all of them reach at best is the floor below which
an answer says nothing. It is measured, not guessed, because raw similarities differ between models and
collections (for the built-in encoder unrelated texts have cosines of .69-.86), and separately for Chinese and
Latin queries, because shuffled Chinese characters look like Chinese texts in general, and letters do not.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from wenyuan.core.text import has_han

__all__ = [
    "FLOOR_SHARE",
    "GENERAL",
    "NEARLY",
    "SCRIPTS",
    "STRANGE",
    "junk_queries",
    "percentile",
    "repeats",
    "script_of",
    "strange",
]

SCRIPTS = ("han", "latin")

GENERAL = {
    "han": (
        "这件事应该怎么做？", "需要准备哪些材料？", "什么情况下可以申请？", "由谁负责？", "最晚什么时候完成？",
        "费用是多少？", "有哪些要求和限制？", "出现问题该怎么处理？", "这个词是什么意思？", "两者有什么区别？",
        "为什么会这样？", "在哪里可以找到？", "违反规定有什么后果？", "第一步做什么？", "有多少人参加？",
        "是谁提出的？", "哪一年发生的？", "怎样设置这个选项？", "可以不经同意就使用吗？", "如何保证安全？",
        "联系谁可以得到帮助？", "包括哪些内容？", "是否必须？", "多久检查一次？",
    ),
    "latin": (
        "How do I do this?", "What documents are needed?", "When can I apply?", "Who is responsible?",
        "What is the deadline?", "How much does it cost?", "What are the requirements and limits?",
        "What should I do if something goes wrong?", "What does this term mean?",
        "What is the difference between the two?", "Why does this happen?", "Where can I find it?",
        "What happens if the rule is broken?", "What is the first step?", "How many people took part?",
        "Who proposed it?", "In which year did it happen?", "How do I set this option?",
        "Can it be used without consent?", "How is safety ensured?", "Whom can I contact for help?",
        "What does it include?", "Is it mandatory?", "How often is it checked?",
    ),
}  # fmt: skip
"""Questions about nothing in particular, by script: what they have in common says nothing about what is asked."""

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


def script_of(query: str) -> str:
    """``han`` for a query with Chinese characters, else ``latin``."""
    return "han" if has_han(query) else "latin"


def strange(query: str, encoder: Any) -> bool:
    """Whether a query looks like no text at all.

    That is one thing over and over, Chinese and Latin mixed letter by letter, or what the encoder calls unlikely.

    Args:
        encoder: Asked if it can tell (`unlikely`).
    """
    if repeats(query) or _interleaved(query):
        return True
    unlikely = getattr(encoder, "unlikely", None)
    return unlikely is not None and bool(unlikely(query))


def repeats(query: str) -> bool:
    """Whether a query is a few characters over and over: ``呵呵呵呵``, ``asdf asdf asdf asdf``."""
    text = "".join(query.split())
    return any(text[size:] == text[:-size] for size in range(1, min(_UNIT, len(text) // _REPEATED) + 1))


def _interleaved(query: str) -> bool:
    """Whether Chinese and Latin letters take turns as they do in no text, however many foreign words it has."""
    chinese = [has_han(c) for c in query if c.isalpha()]
    turns = sum(one != other for one, other in pairwise(chinese))
    return turns >= _TURNS and turns > _TURNING * len(chinese)


def _word(draw: random.Random, alphabet: str, low: int, high: int) -> str:
    return "".join(draw.choice(alphabet) for _ in range(draw.randint(low, high)))


def _letters(draw: random.Random) -> str:
    return " ".join(_word(draw, _CONSONANTS, 3, 8) for _ in range(draw.randint(1, 4)))


def _keyboard(draw: random.Random) -> str:
    return " ".join(_word(draw, "asdfghjklqwertyuiopzxcvbnm", 4, 10) for _ in range(draw.randint(1, 3)))


def _syllables(draw: random.Random) -> str:
    """Words that could be said: ``wuggle florp``."""
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


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that is not below `share` of all (nearest rank)."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, round(share * len(ordered)) - 1))]


STRANGE = 1.6
"""How much more than other questions one must find that looks like no text at all (`strange`)."""

NEARLY = 0.9
"""How far it is to ``most``, from what most nonsense reaches to the highest: which of some fifty is that is chance."""

FLOOR_SHARE = {"score": 0.93, "lift": 0.97}
"""The share of nonsense that each of the two floors keeps out. The second is a second chance for a query that
did not reach the first, so it is the stricter one."""
