"""The content words of a question, how much each says, and how much of that a passage has.

A word says the more, the rarer it is in general text (`general_words`); words that only join others or ask for something ("how",
怎么, 多少钱) say nothing, and verbs of Chinese less than things. Chinese is cut into the words that are together the most frequent
ones (a unigram model; the way with the least sum of costs), so that no pair of characters counts that lies across two words.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from wenyuan.core.scoring.general_words import (
    FORM,
    LONGEST,
    OTHER,
    THING,
    Figure,
    chinese_figures,
    latin_figures,
)
from wenyuan.core.text.analysis import stemmed
from wenyuan.core.text.folding import CJK, fold, has_han
from wenyuan.core.text.literals import proper_names

_LETTER = rf"[^\W_{CJK}]"
_RUN = re.compile(rf"(?P<han>[{CJK}]+)|{_LETTER}+(?:[’']{_LETTER}+)?")
_WORD = re.compile(f"{_LETTER}+")
_MOST_LETTERS = 64
_ENDING = re.compile(r"(?:n[’']t|[’'](?:ve|ll|re|d|m|s))\Z")
_UNKNOWN = 16.0
"""Cost of a character that is no word of general Chinese."""
_LATIN_FREQUENT, _HAN_FREQUENT = 5.0, 7.5
"""Costs up to which a word says nothing."""
_LATIN_MOST, _LATIN_LEAST, _HAN_MOST = 7.0, 0.3, 6.5
_HAN_STRANGE = 4.0
"""What a character says that is no word of general Chinese."""
_SINGLE, _SINGLE_MOST = 0.7, 3.0
"""A word of one character stands in many others by chance."""
_NUMBER, _ACTION = 2.0, 0.6
"""What a number says; the share of what it says that counts of a verb or adjective."""
_PART = 0.9
"""Of a longer Chinese word: what all of its pairs of characters count, if the word itself is not there."""
_ENGLISH_FORMS = """
the a an of to in on at for from by with without into onto over under about after before between during through against among
within upon per via up down out off away back again and or but if then than so because while though although unless until as that
this these those which who whom whose what when where why how much many more most less least few some any all both each every
other another such same no not nor none never ever only just also too very really quite still yet already now here there always
often sometimes usually maybe perhaps please thank thanks hi hello is are was were be been being am has had have having let lets
make makes made take takes took taken give gives given gave go goes went gone come comes came put keep kept want wants need needs
know knows knew known tell tells told say says said ask asked think thought look looking use used using find found happen happens
like way ways thing things something anything someone anyone somebody anybody everyone one ones lot kind sort bit able allowed
possible right ok okay yes long question answer do does did done get got can could would should will shall may might must it its my our
your their me you us them i we he she they his her im ive youre havent didnt doesnt dont cant wont isnt arent weve theyre
thats whats wheres hows wouldnt couldnt shouldnt wasnt werent
"""
_CHINESE_FORMS = """
怎么办 多少钱 多长时间 能不能 是不是 有没有 可不可以 哪天 需要 可以 什么 什么样 怎样 一下 一次 能否 是否 请问 是 有 没 没有 要 能 会 想 去 来 到 用
给 在 做 弄 叫 得 上 下 出 进 人 事 说 看 让 办
"""


class Word(NamedTuple):
    """A content word of a question.

    Attributes:
        text: As it is compared: a Chinese word in Simplified characters, the stem of a Latin one.
        shown: As it was asked, for people.
        says: How much, above 0.
        thing: Whether it may be the name of a thing, a place or a person.
        name: Whether the question writes it as one; see `core.text.literals.proper_names`.
    """

    text: str
    shown: str
    says: float
    thing: bool
    name: bool = False


def content_words(question: str, meant: Mapping[str, str] | None = None) -> tuple[Word, ...]:
    """The content words of a question in order, each once.

    Args:
        meant: What stands for stems that are spelled wrongly.
    """
    folded, names = fold(question), frozenset(map(fold, proper_names(question)))
    found: dict[str, Word] = {}
    for match in _RUN.finditer(folded):
        words = _chinese(match[0]) if match["han"] else _latin(match[0], meant or {}, names)
        for word in words:
            found.setdefault(word.text, word)
    return tuple(found.values())


def share_in(word: str, folded: str) -> float:
    """How much of a word a text has, 0..1: of a longer Chinese one its pairs of characters count, too.

    Args:
        word: As it is compared, see `Word`.
        folded: The text; see `core.text.folding.fold`.
    """
    if not _is_han(word):
        return float(_stands(word, folded))
    if word in folded:
        return 1.0
    pairs = _pairs(word) if len(word) > 2 else []
    return _PART * sum(pair in folded for pair in pairs) / len(pairs) if pairs else 0.0


def terms_for(word: str) -> list[str]:
    """The index terms that every passage has in which a word stands."""
    return (_pairs(word) or [word]) if _is_han(word) else [word]


def _pairs(word: str) -> list[str]:
    return [word[at : at + 2] for at in range(len(word) - 1)]


def _is_han(word: str) -> bool:
    return not word.isascii() and _HAN.match(word) is not None


_HAN = re.compile(f"[{CJK}]")


def _latin(run: str, meant: Mapping[str, str], names: Collection[str]) -> Iterator[Word]:
    if run.isdecimal():
        yield Word(run, run, _NUMBER, thing=False)
        return
    plain = _ENDING.sub("", run)
    (stem,) = stemmed([plain.replace("'", "").replace("’", "")])
    stem = meant.get(stem, stem)
    if len(stem) < 2 or stem in _english_forms():
        return
    figure = latin_figures([stem]).get(stem)
    says = _LATIN_MOST if figure is None else figure.cost - _LATIN_FREQUENT
    yield Word(stem, run, min(_LATIN_MOST, max(_LATIN_LEAST, says)), thing=True, name=plain in names)


def _chinese(run: str) -> Iterator[Word]:
    spans = (run[at : at + size] for at in range(len(run)) for size in range(1, LONGEST + 1))
    known = {**_WAYS_OF_ASKING, **chinese_figures(spans)}
    for word in _cut(run, known):
        figure = known.get(word)
        if word in _CHINESE_FORM_WORDS or (figure is not None and figure.kind == FORM):
            continue
        kind = THING if figure is None else figure.kind
        says = _HAN_STRANGE if figure is None else min(_HAN_MOST, figure.cost - _HAN_FREQUENT)
        if len(word) == 1:
            says = _SINGLE * min(_SINGLE_MOST, says)
        if kind == OTHER:
            says *= _ACTION
        if says > 0.0:
            yield Word(word, word, says, thing=kind == THING)


def _cut(run: str, known: Mapping[str, Figure]) -> list[str]:
    """The words of a run of characters: of all ways to cut it that with the least sum of costs."""
    costs, starts = [0.0], [0]
    for end in range(1, len(run) + 1):
        ways = [
            (costs[start] + (figure.cost if figure else _UNKNOWN), start)
            for start in range(max(0, end - LONGEST), end)
            if (figure := known.get(run[start:end])) or start == end - 1
        ]
        cost, start = min(ways)
        costs.append(cost)
        starts.append(start)
    words, end = [], len(run)
    while end:
        words.append(run[starts[end] : end])
        end = starts[end]
    return words[::-1]


def _stands(stem: str, folded: str) -> bool:
    """Whether a text has a word with this stem. Only words that begin like it are stemmed."""
    beginning = stem[:-1] if stem.endswith("i") and len(stem) > 2 else stem
    at = folded.find(beginning)
    seen = set()
    while at >= 0:
        if not folded[at - 1 : at].isalnum() or has_han(folded[at - 1]):
            (word,) = _WORD.findall(folded, at, at + _MOST_LETTERS)[:1]
            if word == stem or (word not in seen and stemmed([word]) == [stem]):
                return True
            seen.add(word)
        at = folded.find(beginning, at + 1)
    return False


@lru_cache(maxsize=1)
def _english_forms() -> frozenset[str]:
    words = _ENGLISH_FORMS.split()
    return frozenset(chain(words, stemmed(words)))


_CHINESE_FORM_WORDS = frozenset(_CHINESE_FORMS.split())
_WAYS_OF_ASKING = {word: Figure(_HAN_FREQUENT, FORM) for word in _CHINESE_FORM_WORDS}
"""Those that general text is not cut into (多长时间) are words, too."""
