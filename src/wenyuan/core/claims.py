"""Answers: sentences with the marks of their sources."""

from __future__ import annotations

import re
from typing import NamedTuple

from wenyuan.core.text.boundaries import sentences
from wenyuan.core.tokens import tokens_of


class Claim(NamedTuple):
    """A sentence of an answer.

    Attributes:
        sources: Its citations as written.
    """

    text: str
    sources: tuple[str, ...] = ()


_CITED = re.compile(
    r"\s*(?:\[\[?\^?(?P<a>[^\[\]\n]{1,300})\]\]?(?!\()|【(?P<b>[^【】\n]{1,300})】|[（(](?:来源|出处|见|source|see)[:：]?\s*(?P<c>[^（）()\n]{1,300})[)）])",
    re.IGNORECASE,
)
_APART = re.compile(r"\s*[,，;；、]\s*")


def claims_of(answer: str) -> list[Claim]:
    """The sentences of an answer with their citations; a mark after a sentence's end belongs to that sentence.

    Marks are ``[1]``, ``[^1]``, ``【1】``, ``[[policies#12]]``, ``（来源：…）``, ``(source: …)``; several with commas between.
    """
    found: list[Claim] = []
    for start, end in sentences(answer):
        sentence = answer[start:end]
        marks = [next(filter(None, match.groups())) for match in _CITED.finditer(sentence)]
        cited = tuple(one for mark in marks for one in _APART.split(mark.strip()) if one)
        before, leading = "", _CITED.match(sentence)
        while leading and leading.end():  # it stands behind the stop of the sentence before
            before += sentence[: leading.end()]
            sentence = sentence[leading.end() :]
            leading = _CITED.match(sentence)
        if before and found:
            own = tuple(
                o for m in _CITED.finditer(before) for o in _APART.split(next(filter(None, m.groups())).strip()) if o
            )
            found[-1] = found[-1]._replace(sources=(*found[-1].sources, *own))
            cited = cited[len(own) :]
        text = _CITED.sub("", sentence).strip()
        if tokens_of(text).tokens:
            found.append(Claim(text, cited))
    return found
