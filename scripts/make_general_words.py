"""Write how frequent the words of general English and Chinese are: core/scoring/general_words.npz.

    python scripts/make_general_words.py ENGLISH CHINESE

ENGLISH is ``frequency_dictionary_en_82_765.txt`` of the package "symspellpy", CHINESE is ``dict.txt`` of the package "jieba" (NOTICE
names their licences); lines are a word, a space and its count, and in the second its part of speech. Run it after a change of the
analysis into terms.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from wenyuan.core.scoring import general_words
from wenyuan.core.scoring.general_words import FORM, LONGEST, OTHER, THING
from wenyuan.core.text.analysis import stemmed
from wenyuan.core.text.folding import has_han

LATIN, HAN = 14.0, 10
"""Kept are stems with a negative logarithm of their share below the first, and Chinese words that were counted as often as the second."""
_THINGS, _OTHERS = frozenset("njlibsg"), frozenset("av")
"""By the first letter of a part of speech: nouns, names, places and set phrases; adjectives and verbs. Most of the rest are form words."""
_NOMINAL = frozenset(("vn", "an"))
_TIMES, _CHARACTERS = frozenset(("t", "tg")), "zg"
"""Words of time, and single characters of which the dictionary knows no more: 车, 糖, 您."""
_FROM_NOW = frozenset("当目今昨明后前去近现如此往从次上下本这那过来同先未刚正早已眼最将元之以平")
"""How words of time begin that say when from now, or in what order; those that name a day, a season or a meal are things."""
_TIMES_OF_DAY = frozenset(
    "早上 早晨 清晨 凌晨 清早 上午 中午 正午 午后 下午 傍晚 黄昏 晚上 晚间 夜晚 夜里 夜间 深夜 半夜 午夜 白天 晚 宵 夜".split()
)
"""Said in many words for the same hours, and so no things."""
_NAMED_AFTER_ALL = frozenset(
    "元旦 元宵 元宵节 上旬 下旬 早餐 零件 零部件 首都 本科 湿地 初中 首页 左手 一季度".split()
)
_JOINING = frozenset("您较每仍往虽甚且稍够哦啊唉矣乎")
_RARE_TIME, _RARE_CHARACTER = 9.1, 8.6
"""The costs from which words of time and such characters say something."""


def main(english: str, chinese: str) -> None:
    latin: Counter[str] = Counter()
    for word, count, _ in _lines(english):
        (stem,) = stemmed([word.replace("'", "")])
        latin[stem] += count
    costs = _costs(latin)
    stems = sorted((stem for stem, cost in costs.items() if cost < LATIN and stem.isalpha()), key=str.encode)
    counted = [
        (word, count, speech) for word, count, speech in _lines(chinese) if len(word) <= LONGEST and has_han(word)
    ]
    total = Counter({word: count for word, count, _ in counted})
    han_costs = _costs(total)
    kinds = {word: _kind(word, speech, han_costs[word]) for word, _, speech in counted}
    words = sorted((word for word, count in total.items() if count >= HAN), key=str.encode)
    path = Path(general_words.__file__).with_name(general_words.FILE)
    np.savez_compressed(
        path,
        latin=np.array([stem.encode() for stem in stems]),
        latin_tenths=np.array([round(10 * costs[stem]) for stem in stems], np.uint8),
        han=np.array([word.encode() for word in words]),
        han_tenths=np.array([round(10 * han_costs[word]) for word in words], np.uint8),
        han_kinds=np.array([kinds[word] for word in words], np.uint8),
    )
    print(f"{path.name}: {len(stems):,} stems, {len(words):,} Chinese words, {path.stat().st_size:,} bytes")


def _lines(path: str) -> Iterator[tuple[str, int, str]]:
    for line in Path(path).read_text("utf-8-sig").splitlines():
        word, count, *rest = line.split(" ")
        yield word, int(count), "".join(rest)


def _costs(counts: Counter[str]) -> dict[str, float]:
    """The negative logarithm of each word's share of all."""
    total = counts.total()
    return {word: -float(np.log(count / total)) for word, count in counts.items()}


def _kind(word: str, speech: str, cost: float) -> int:
    if speech[:1] in _THINGS or speech in _NOMINAL or word in _NAMED_AFTER_ALL:
        return THING
    if speech in _TIMES and cost > _RARE_TIME:
        return OTHER if word in _TIMES_OF_DAY else FORM if word[0] in _FROM_NOW else THING
    if speech == _CHARACTERS and cost > _RARE_CHARACTER:
        return FORM if word in _JOINING else OTHER
    return OTHER if speech[:1] in _OTHERS else FORM


if __name__ == "__main__":
    main(*sys.argv[1:])
