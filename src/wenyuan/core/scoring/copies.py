"""Copies: passages that say nothing which those before them do not say.

A text that lies in a library as TXT, HTML and PDF is read three times, and its passages begin and end elsewhere each
time. Of such passages the first one is given; the others are named beside it.

A passage is a copy when each of its sentences stands in passages before it, whole: white space, marks, hyphens, case and width
do not count, nor do lines under headings and marks of items; numbers, signs and words do. So an article that differs in one
number, one name or one "not", in its own number, or in standing under "Allowed" and not "Forbidden" is no copy. Short passages ("This regulation takes effect on 1 May 2026.") mean what their title says, and are copies
only under the same title or heading.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any, NamedTuple

from wenyuan.core.model import RULE_IDS, Passage
from wenyuan.core.ports import Hit
from wenyuan.core.terms_of_use import parse_copyright
from wenyuan.core.text.boundaries import sentences
from wenyuan.core.text.excerpts import compared

REVISION = 2
"""Goes up when other passages are copies than before; the record of an answer says by which it was made."""

Found = Sequence[tuple[Hit, Passage]]
Copies = Mapping[int, tuple[Passage, ...]]
"""By the number of a passage that is given, its copies, best first."""

_SHORT = 64
"""Characters, without marks: a passage below may say the same as another and mean something else."""
_HYPHEN = re.compile("(?<=[^\\W\\d_])[-\u2010\u2011\u00ad]\\s*(?=[^\\W\\d_])")
# Layout, not text: a line drawn under a heading, and the mark of an item. "- 5 °C" is neither "-5 °C" nor "5 °C" for sure.
_LAYOUT = re.compile(
    "^[ \\t]*(?:([-=~^_*+#.\"'`─━═])\\1{2,}[ \\t]*$|[-–+](?P<sign>[ \\t]+(?=\\d))|[-*+•·●○■▪◆–][ \\t]+)", re.M
)
_SIGN = "¶"
_HEADING = re.compile("[^0-9\n。！？；.!?;:：]{1,60}")
_NUMBERED = re.compile("[0-9〇零一二三四五六七八九十百千]")
_PROBES, _PROBE = 5, 10  # places in a text, and characters
_STAND = 1 / 3
"""Of those places, how many stand in the others of a copy at least: heads, hyphens and marks that differ cost it some."""


def distinct(found: Found, known: Collection[int] | None = None) -> tuple[list[tuple[Hit, Passage]], Copies]:
    """The hits without near-duplicates, in their order, and the duplicates of each.

    Args:
        found: Best first. Only passages of the same origin are copies of one another; rules are none. What is
            trusted more, or may be quoted freely, is no copy of what is not: callers that check trust or quote need
            it.
        known: With which passages the others are compared; None: with all before them. A clause or a code may have
            hundreds of passages that name it: to compare all pairs takes long, and the last ones are never given.
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
        text = joined.get(hit.origin, "")
        original = None
        if _may_repeat(squeezed, text):  # another may stand for it that is as trusted, and no more limited in quotes
            free = not limited(passage.copyright)
            as_good = [o for o in others if o.trust >= passage.trust and not (free and limited(o.copyright))]
            original = _original(passage, as_good)
        if original is not None:
            copies[original.passage_id] = (*copies.get(original.passage_id, ()), passage)
            continue
        kept.append((hit, passage))
        if known is None or passage.passage_id in known:
            others.append(passage)
            joined[hit.origin] = f"{text}\n{squeezed}"
    return kept, copies


def also_in(copies: Iterable[Passage]) -> list[Mapping[str, Any]]:
    """Where else the same text is found, for the `also_in` of a hit."""
    return [
        {"source": one.uri, "source_id": one.source_id, "passage_id": one.ref, "title": one.title, "trust": one.trust}
        for one in copies
    ]


def beside(found: Found, copies: Copies, more: Found) -> tuple[list[tuple[Hit, Passage]], Copies]:
    """Two lists merged, both without duplicates, best first."""
    if not more:
        return list(found), copies
    kept, new = distinct(sorted([*found, *more], key=lambda pair: -pair[0].score))
    told = dict(copies)
    for original, same in new.items():
        own = [copy for passage in same for copy in (passage, *told.pop(passage.passage_id, ()))]
        told[original] = (*told.get(original, ()), *own)
    return kept, told


def _original(passage: Passage, others: Sequence[Passage]) -> Passage | None:
    """The passage that this one duplicates, or that has most of its sentences; None if it says something new."""
    said = _comparable_text(passage.text)
    shared = [0] * len(others)
    if len(said.whole) < _SHORT:
        same = (o for o in others if _comparable_text(o.text).whole == said.whole and _same_place(o, passage))
        return next(same, None)
    texts = [_comparable_text(other.text) for other in others]
    titles = _titles(passage)
    body = [part for part in said.parts if part not in titles] or said.parts
    leads = {lead for lead in (said.lead, *said.parts) if lead and (lead in titles or lead == said.lead)}
    may = [i for i, text in enumerate(texts) if len(text.whole) >= _SHORT]
    at = 0
    # Sentences end elsewhere where lines do, so as many as stand together are looked for at once.
    while at < len(body):
        near = [i for i in may if body[at] in texts[i].whole]  # what has more sentences has the first of them
        runs = (("".join(body[at:end]), end) for end in range(len(body), at, -1))
        told = (
            (run, end, [i for i in near if texts[i].says(run) and (at or _stands_under(leads, others[i]))])
            for run, end in runs
        )
        run, at, holding = next((one for one in told if one[2]), ("", at, [])) if near else ("", at, [])
        if not holding:
            return None
        for i in holding:
            shared[i] += len(run)
    return others[max(range(len(others)), key=lambda i: (shared[i], -i))]


def _stands_under(leads: Iterable[str], other: Passage) -> bool:
    """Whether another passage has these headings, or has none and they number nothing: "Allowed" and "Forbidden"
    differ.
    """
    said, titles = _comparable_text(other.text), _titles(other)
    missing = [lead for lead in leads if not said.says(lead) and lead not in titles]
    return not missing or not (said.lead or other.headings or any(map(_NUMBERED.search, missing)))


def _titles(passage: Passage) -> set[str]:
    return {compared(title) for title in (passage.title, *passage.headings)}


@lru_cache(maxsize=1_024)
def limited(copyright: str) -> bool:
    """Whether copyright terms limit the length of quotes."""
    return bool(copyright) and parse_copyright(copyright).room(1) is not None


def _same_place(one: Passage, other: Passage) -> bool:
    """Whether two passages have the same title or the same heading."""
    return one.title == other.title or (one.headings[-1:] == other.headings[-1:] != ())


def _may_repeat(squeezed: str, known: str) -> bool:
    """A cheap test whether a text may repeat others, from a few sampled positions; if not, no sentences are compared."""
    step = max(1, (len(squeezed) - _PROBE) // _PROBES)
    places = range(0, max(1, len(squeezed) - _PROBE + 1), step)
    missing = 0
    for at in places:
        missing += squeezed[at : at + _PROBE] not in known
        if missing > (1 - _STAND) * len(places):
            return False
    return True


def _unmarked(text: str) -> str:
    """A text without the markup of its file format, line by line."""
    return _LAYOUT.sub(lambda drawn: _SIGN if drawn["sign"] else "", text)


@lru_cache(maxsize=4_096)
def _squeezed(text: str) -> str:
    """A text without white space, letter case and markup."""
    return "".join(_unmarked(text).split()).casefold()


class _Said(NamedTuple):
    """A text prepared for comparison: whole, heading (a line above the first sentence) and sentences."""

    whole: str
    lead: str
    parts: tuple[str, ...]
    edges: frozenset[int]
    """Where in the whole a sentence begins or ends."""

    def says(self, sentence: str) -> bool:
        """Whether it contains a sentence as a whole; part of one is not enough: "it must not be open" does not
        contain "be open", nor 8 mm 8 m.
        """
        at = self.whole.find(sentence)
        while at >= 0 and not (at in self.edges and at + len(sentence) in self.edges):
            at = self.whole.find(sentence, at + 1)
        return at >= 0


@lru_cache(maxsize=1_024)
def _comparable_text(text: str) -> _Said:
    text = _unmarked(text)
    spans = sentences(text)
    headed = len(spans) > 1 and _HEADING.fullmatch(text, *spans[0])
    told = [compared(_HYPHEN.sub("", text[a:b])) for a, b in spans]
    edges = frozenset(accumulate(map(len, told), initial=0))
    parts = tuple(part for part in told[1 if headed else 0 :] if part)
    return _Said("".join(told), told[0] if headed else "", parts, edges)
