"""Copies: passages that say nothing which those before them do not say.

A text that lies in a library as TXT, HTML and PDF is read three times, and its passages begin and end elsewhere each
time. Of such passages the first one is given; the others are named beside it.

A passage is a copy when each of its sentences stands in passages before it: white space, marks, hyphens, case and width do not
count, numbers and words do. So an article that differs in one number, one name or one
"not" is no copy. Short passages ("This regulation takes effect on 1 May 2026.") mean what their title says, and are copies
only under the same title or heading.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from wenyuan.core.copyright import parse_copyright
from wenyuan.core.excerpts import compared
from wenyuan.core.model import RULE_IDS, Passage
from wenyuan.core.ranking import Hit
from wenyuan.core.sentences import sentences

__all__ = ["Copies", "also_in", "beside", "distinct", "limited", "without_copies"]

Found = Sequence[tuple[Hit, Passage]]
Copies = Mapping[int, tuple[Passage, ...]]
"""By the number of a passage that is given, its copies, best first."""

_SHORT = 64
"""Characters, without marks: a passage below may say the same as another and mean something else."""
_HYPHEN = re.compile("(?<=[^\\W\\d_])[-\u2010\u2011\u00ad]\\s*(?=[^\\W\\d_])")
_HEADING = re.compile("[^0-9\n。！？；.!?;:：]{1,60}")
_PROBES, _PROBE = 5, 10  # places in a text, and characters


def distinct(found: Found) -> tuple[list[tuple[Hit, Passage]], Copies]:
    """What is left without copies, in the order in which it came, and the copies of each.

    Args:
        found: Best first. Only passages of the same origin are copies of one another; rules are none. What is
            trusted more, or may be quoted freely, is no copy of what is not: whoever asks for trust, or quotes, needs it.
    """
    kept: list[tuple[Hit, Passage]] = []
    copies: dict[int, tuple[Passage, ...]] = {}
    before: dict[str, list[Passage]] = {}
    joined: dict[str, str] = {}
    for hit, passage in found:
        if passage.passage_id <= RULE_IDS:
            kept.append((hit, passage))
            continue
        others, squeezed = before.setdefault(hit.origin, []), _squeezed(passage.text)
        known = joined.get(hit.origin, "")
        as_good = [
            o for o in others if o.trust >= passage.trust and (limited(passage.copyright) or not limited(o.copyright))
        ]
        original = _original(passage, as_good) if _may_repeat(squeezed, known) else None
        if original is not None:
            copies[original.passage_id] = (*copies.get(original.passage_id, ()), passage)
            continue
        kept.append((hit, passage))
        others.append(passage)
        joined[hit.origin] = f"{known}\n{squeezed}"
    return kept, copies


def also_in(copies: Iterable[Passage]) -> list[Mapping[str, Any]]:
    """Where else the same stands, for who is given one passage of several."""
    return [
        {"source": one.uri, "source_id": one.source_id, "passage_id": one.ref, "title": one.title, "trust": one.trust}
        for one in copies
    ]


def without_copies(hits: Iterable[Hit], copies: Copies) -> list[Hit]:
    """The hits that are no copies."""
    copied = {copy.passage_id for same in copies.values() for copy in same}
    return [hit for hit in hits if hit.passage_id not in copied]


def beside(found: Found, copies: Copies, more: Found) -> tuple[list[tuple[Hit, Passage]], Copies]:
    """What was found without copies, and more that came from elsewhere: both without copies, best first."""
    if not more:
        return list(found), copies
    kept, new = distinct(sorted([*found, *more], key=lambda pair: -pair[0].score))
    told = dict(copies)
    for original, same in new.items():
        own = [copy for passage in same for copy in (passage, *told.pop(passage.passage_id, ()))]
        told[original] = (*told.get(original, ()), *own)
    return kept, told


def _original(passage: Passage, others: Sequence[Passage]) -> Passage | None:
    """The one of the others that this is a copy of, or most of whose sentences it has; None: it says something new."""
    whole, parts = _said(passage.text)
    shared = [0] * len(others)
    if len(whole) < _SHORT:
        same = (o for o in others if _said(o.text)[0] == whole and _same_place(o, passage))
        return next(same, None)
    texts = [_said(other.text)[0] for other in others]
    titles = {compared(title) for title in (passage.title, *passage.headings)}
    for part in [part for part in parts if part not in titles] or parts:
        holding = [i for i, text in enumerate(texts) if len(text) >= _SHORT and part in text]
        if not holding:
            return None
        for i in holding:
            shared[i] += len(part)
    return others[max(range(len(others)), key=lambda i: (shared[i], -i))]


@lru_cache(maxsize=1_024)
def limited(copyright: str) -> bool:
    """Whether terms of copyright limit how much is quoted."""
    return bool(copyright) and parse_copyright(copyright).room(1) is not None


def _same_place(one: Passage, other: Passage) -> bool:
    """Whether two passages stand under the same title or the same heading."""
    return one.title == other.title or (one.headings[-1:] == other.headings[-1:] != ())


def _may_repeat(squeezed: str, known: str) -> bool:
    """Whether any of a few places of a text stands in others: where none does, no sentence is looked at."""
    step = max(1, (len(squeezed) - _PROBE) // _PROBES)
    return any(squeezed[at : at + _PROBE] in known for at in range(0, max(1, len(squeezed) - _PROBE + 1), step))


def _squeezed(text: str) -> str:
    return "".join(text.split()).casefold()


@lru_cache(maxsize=1_024)
def _said(text: str) -> tuple[str, tuple[str, ...]]:
    """A text as it is compared, and its sentences; a line above the first one that is no sentence is a heading."""
    spans = sentences(text)
    if len(spans) > 1 and _HEADING.fullmatch(text, *spans[0]):
        del spans[0]
    parts = (compared(_HYPHEN.sub("", text[a:b])) for a, b in spans)
    return compared(_HYPHEN.sub("", text)), tuple(part for part in parts if part)
