"""Words in which anything can be asked ("can I", "do you have", 怎么办) count less in a small library.

What such a word says, a large library knows by itself: most of its passages have it. Twenty files of rules do not say "I" or "can",
so that there these would be rare, and the one passage that has them would answer every question. A common word therefore counts

    1 − LESS · KNOWN / (KNOWN + passages)

of its idf where a passage has it; a question's information, which scores are shares of, stays whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from wenyuan.core.text.analysis import query_terms

LESS = 0.6
"""What a common word loses at most, of its idf."""
KNOWN = 1_000
"""Passages by which a library knows half of how common its words are."""
_ENGLISH = """
i me my mine myself we us our ours ourselves you your yours yourself he him his she her hers it its they them their theirs
im ive youre youve youll youd weve theyre theyve someone somebody anyone
am do does did doing have has had having can could may might must shall should will would cant couldnt dont doesnt didnt isnt arent wont wouldnt
"""
"""Persons and auxiliary verbs. Words that ask for something (*how*, *where*, *through*) count, however frequent they are; so do *id* and *ill*, which
are words, too."""
_CHINESE = """
什么 什么时候 怎么办 怎么样 要怎么 该怎么 怎样 如何 为什么 为啥 咋办 多少钱 多久 多长 多大 有多 要多 能多 几天 几个 哪里 哪些 哪个 哪儿 谁能 是否 能否 可否 能不能 是不是
要不要 有没有 可不可 会不会 该不该 用不用 可以吗 能吗 行吗 了吗 的吗 吗我 请问 想问一下 我想知道 麻烦 告诉我 时候 我能 我要 我们 你们 需要 还能 还要 的话 如果
"""
"""Of which each pair of characters is one. By general text alone it cannot be told: 公司 and 中国 are as frequent as 怎么."""


def worth(weights: Mapping[str, float], passages: int) -> Mapping[str, float]:
    """What each term adds to the score of a passage that has it, from its idf.

    Args:
        passages: In the library.
    """
    common = _common()
    if common.isdisjoint(weights):
        return weights
    kept = share_kept(passages)
    return {term: weight * kept if term in common else weight for term, weight in weights.items()}


def share_kept(passages: int) -> float:
    """The share of its idf that a common word counts in a library of so many passages, 0..1."""
    return 1.0 - LESS * KNOWN / (KNOWN + passages)


@lru_cache(maxsize=1)
def _common() -> frozenset[str]:
    pairs = (phrase[at : at + 2] for phrase in _CHINESE.split() for at in range(len(phrase) - 1))
    return frozenset((*pairs, *(term for term in query_terms(_ENGLISH) if term.isalpha())))
