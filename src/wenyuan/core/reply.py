"""What of a language model's own words a reader may be shown: what it says is missing, and words without decoration."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from wenyuan.core.text import identifiers, search_terms
from wenyuan.core.text.summaries import instruction_like, visible
from wenyuan.core.verification import tokens_of

_MOST_MISSING = 300
_ASTRAY = re.compile(r"://|www\.|[<>`|\[\]{}~*#\\]")
"""Addresses and markup, which nothing that a reader is told needs."""
_OF_LACKS = frozenset(search_terms(
    "the a an of for to in on at by and or it they there any this that these those passages do does not say whether which what how when "
    "who where why many much is are was were no none nothing information about given stated mentioned detail details question answer"
))  # fmt: skip
_OF_LACKS_ZH = frozenset("原文材料段落中里没有未无说明提及规定给出关于信息是否哪些多少如何具体缺少的和与、个")
"""Words with which a lack is said."""


def lack(text: str, question: str, passages: Sequence[str]) -> str:
    """What a model says the passages lack, where it may be told; ``""`` where it says more than that.

    It may use no words, numbers or names but those of the question and the passages.

    Args:
        question: With its other wordings.
    """
    said = visible(text).strip()
    if not said or "\n" in said or _ASTRAY.search(said) or len(said) > _MOST_MISSING:
        return ""
    if any(unicodedata.category(one)[0] in "CMS" for one in text.strip()) or instruction_like(said):
        return ""
    before = (question, *passages)
    named = {one for passage in before for one in identifiers(passage)}
    if set(identifiers(said)) - named or _figures(said) - {one for passage in before for one in _figures(passage)}:
        return ""
    known = {term for one in before for term in search_terms(one)} | _OF_LACKS
    return said if all(term in known or _of_lacks(term) for term in search_terms(said) if "~" not in term) else ""


def _of_lacks(term: str) -> bool:
    """Whether a pair of Chinese characters has one that only says that something is missing."""
    return len(term) <= 2 and not _OF_LACKS_ZH.isdisjoint(term)


def about(text: str, question: str) -> bool:
    """Whether a sentence has a word of the question that says what it is about."""
    asked = {term for term in search_terms(question) if "~" not in term} - _OF_LACKS
    return not asked or not asked.isdisjoint(search_terms(text))


def _figures(text: str) -> set[str]:
    return {token.value for token in tokens_of(text).tokens if token.kind != "word"}


def decorated(text: str, quote: str) -> bool:
    """Whether a text has marks that its quote has not: struck out, hidden, coloured, or as links and pictures are written."""
    return visible(text) != text or any(
        one not in quote and not one.isalnum() and not one.isspace() and one not in _MARKS for one in text
    )


_MARKS = frozenset(".,;:!?'\"()-–—‐‑−%/&，。；：！？、“”‘’「」『』（）《》〈〉【】…·．％＝=+±≥≤°℃$¥€£§№‰×～／－＋−")
