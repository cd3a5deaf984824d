"""What of a language model's own words a reader may be shown: what it says is missing, and words without decoration."""

from __future__ import annotations

from collections.abc import Sequence

from wenyuan.core.text.alignment import aligned
from wenyuan.core.text.analysis import placed_stems, search_terms, terms
from wenyuan.core.text.folding import has_han
from wenyuan.core.text.injection import visible

_OF_LACKS = frozenset(terms(
    "the a an of for to in on at by and or it they there any this that these those passages do does not say whether which what how when "
    "who where why many much is are was were no none nothing information about given stated mentioned detail details question answer"
))  # fmt: skip
"""Words with which a lack is said, or a question is asked."""
_OF_LACKS_ZH = frozenset("原文材料段落中里没有未无说明提及规定给出关于信息是否哪些多少如何具体缺少的和与、个吗呢")


def lack(text: str, question: str) -> str:
    """What a model says the passages lack, as the words of the question that it names; ``""`` where it names none.

    Nothing of this is the model's: what it says besides, true or not, is not told.

    Args:
        question: With its other wordings.
    """
    read, asked = placed_stems(question)
    named = [stem for stem, _, _ in placed_stems(text)[1]]
    blocks = aligned([stem for stem, _, _ in asked], named).get_matching_blocks()
    phrases = (asked[block.a : block.a + block.size] for block in blocks if block.size)
    return ", ".join(
        read[phrase[0][1] : phrase[-1][2]] for phrase in phrases if _says(tuple(stem for stem, _, _ in phrase))
    )


def _says(stems: Sequence[str]) -> bool:
    """Whether stems in turn name something; of Chinese characters, at least two."""
    own = [stem for stem in stems if stem not in _OF_LACKS and stem not in _OF_LACKS_ZH]
    return len(own) > 1 or (len(own) == 1 and not has_han(own[0]))


def about(text: str, question: str) -> bool:
    """Whether a sentence has a word of the question that says what it is about."""
    asked = {term for term in search_terms(question) if "~" not in term} - _OF_LACKS
    return not asked or not asked.isdisjoint(search_terms(text))


def decorated(text: str, quote: str) -> bool:
    """Whether a text has marks that its quote has not: struck out, hidden, coloured, or as links and pictures are written."""
    return visible(text) != text or any(
        one not in quote and not one.isalnum() and not one.isspace() and one not in _MARKS for one in text
    )


_MARKS = frozenset(".,;:!?'\"()-–—‐‑−%/&，。；：！？、“”‘’「」『』（）《》〈〉【】…·．％＝=+±≥≤°℃$¥€£§№‰×～／－＋−")
