"""The lead of a document: its first words, which stand for a title where it has none.

Most passages of a report or a judgment do not say what they are part of: its first sentences do (whose it is, of when,
about what). They are indexed and embedded with every passage of a document that has neither title nor heading. A lead is
no title: nobody is shown it, and a clause that it mentions is not the passage's own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, takewhile

from wenyuan.core.model import Block, Document
from wenyuan.core.text.boundaries import clauses, inside_character, sentences, trimmed
from wenyuan.core.text.structure import opening

MOST = 200
"""Latin characters of a lead. A Chinese one, or a full-width mark, counts as 2.5, so that 80 of them are as long."""

_WIDE = 2.5
_FIRST_WIDE = "\u2e80"
_LOOKED_AT = 2 * MOST  # characters: whether a sentence ends at the border depends on what follows
_SPEAKING = ("paragraph", "list", "code")
_BETWEEN = " \t\n\r\u3000,，、:：;；"


def lead_of(document: Document) -> str:
    """The first sentences of a document, at most `MOST` wide; ``""`` where it has a title or a heading of its own.

    It ends with a sentence, or where the first one is too long with a phrase or a word, and is a part of the document's
    text as it stands there. A heading that opens a numbered part (``第一章``, ``一、``) names only that part; what stands
    before the first one, or before the first clause or table, is what a lead is made of.
    """
    if document.titled or any(_names(document, block) for block in document.blocks):
        return ""
    spoken = list(takewhile(lambda block: block.kind in _SPEAKING, document.blocks))
    if not spoken:
        return ""
    text = document.text
    return _first_words(text, spoken[0].start, spoken[-1].end)


def _first_words(text: str, start: int, end: int) -> str:
    start, end = trimmed(text, start, end)
    words = text[start : _lead_end(text, start, end)].rstrip()
    return words if any(map(str.isalnum, words)) else ""


def label_as_embedded(label: str, text: str, known: str | None, key_of: Callable[[str], str]) -> str:
    """The label of a passage without a lead, as it was embedded.

    A document of one passage has no lead stored, since nothing stands below it, and yet its first words are the label where
    it has no title. Which was embedded is told by its key.

    Args:
        label: Made of title and headings.
        text: Of the passage.
        known: The key of the label's vector that is stored.
        key_of: Embedded text → the key of its vector.
    """
    if not known or key_of(label) == known:
        return label
    words = _first_words(text, 0, len(text))
    return words if words and key_of(words) == known else label


def with_lead(lead: str, text: str, questions: Sequence[str] = ()) -> str:
    """What is indexed and embedded as the text of a passage: below the lead of its document, unless it is the opening.

    Args:
        questions: That people say it answers; they stand above.
    """
    opens = text.startswith(lead) or lead.startswith(text)
    return "\n".join((*questions, text if opens else f"{lead}\n{text}"))


def _names(document: Document, block: Block) -> bool:
    """Whether a block is a heading that may name the document."""
    return block.kind == "heading" and not opening(document.text[block.start : block.end])


def _lead_end(text: str, start: int, end: int) -> int:
    """Where the lead ends that begins at `start`, at most at `end`."""
    stop = min(end, start + _LOOKED_AT)
    widths = list(accumulate(_WIDE if c >= _FIRST_WIDE else 1.0 for c in text[start:stop]))
    fitting = sum(width <= MOST for width in widths)
    if start + fitting >= end:
        return end
    cut, least = start + fitting, start + sum(width < MOST / 2 for width in widths) + 1
    for spans in (sentences, clauses):
        ends = [b for _, b in spans(text, start, stop) if least <= b <= cut]
        if ends:
            return ends[-1] if spans is sentences else start + len(text[start : ends[-1]].rstrip(_BETWEEN))
    return _word_end(text, least, cut)


def _word_end(text: str, least: int, cut: int) -> int:
    """The last end of a word from `least` to `cut`; where there is none, the last end of a character."""
    for at in range(cut, least - 1, -1):
        if text[at].isspace() or (text[at] >= _FIRST_WIDE) != (text[at - 1] >= _FIRST_WIDE):
            return at
    while cut > least and inside_character(text, cut):
        cut -= 1
    return cut
