"""Extractive summaries, excerpts and leads of documents, and framing against prompt injection.

The sentences of a passage that answer a query, word for word: a summary that can be quoted and checked.

Sentences are taken one by one, each time the one with the most

    new query information + ½ · query information + a little for the first sentence and for neighbours
    − .3 · likeness to what is taken already                       (MMR; Carbonell & Goldstein 1998)

where query information is the summed idf of the query's terms it holds, as a share of the whole query's; the
idf is that among the passage's own sentences unless the caller knows the library's. What is taken stands in its
original order; what is left out between is marked `` … `` or ``……``. Rows of a table come with its header. A sentence too long for the budget is cut
at clause borders around the query's words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache

from wenyuan.core.text.analysis import OWN, query_terms, terms
from wenyuan.core.text.boundaries import Span, clauses, inside_character, sentences, trimmed
from wenyuan.core.text.folding import language_of
from wenyuan.core.text.passage_tables import table_headers
from wenyuan.core.text.token_meter import Meter

_LEAD, _NEIGHBOUR, _LIKENESS = 0.06, 0.04, 0.3
_LEAST_SHARE = 5 / 9  # 50 of 90 tokens: a summary is not shorter while the passage has more to say


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary of a passage.

    Attributes:
        text: The passage's own words, with elision marks where something is left out.
        elided: Whether anything is left out.
        spans: The parts of the passage that it is made of, in order: offsets into the passage's text.
    """

    text: str
    elided: bool
    spans: tuple[Span, ...]


def elision_mark(language: str) -> str:
    """The mark for omitted words: ``……`` in Chinese, `` … `` elsewhere."""
    return "……" if language.startswith("zh") else " … "


def summarize(
    passage_text: str,
    query: str,
    *,
    budget_tokens: int = 90,
    language: str = "",
    weights: Mapping[str, float] | None = None,
) -> Summary:
    """An extract of at most `budget_tokens`, and of at least 5/9 of that where the passage has so many.

    Args:
        language: BCP 47 primary tag of the passage; told from its text when empty.
        weights: Idf in the library of the query's terms, where known.

    Raises:
        ValueError: a budget below 16 tokens.
    """
    if budget_tokens < 16:
        raise ValueError(f"a summary needs a budget of at least 16 tokens, not {budget_tokens}")
    budget = budget_tokens * 100
    meter = Meter(passage_text)
    if meter(0, len(passage_text)) <= budget:
        return Summary(passage_text, False, ((0, len(passage_text)),))
    mark = elision_mark(language or language_of(passage_text))
    spans = _Selection(passage_text, meter, query, weights or {}, mark).spans(budget)
    return Summary(quoted(passage_text, spans, mark), True, spans)


def merged(text: str, spans: Sequence[Span]) -> tuple[Span, ...]:
    """The spans in order; those that overlap or have only white space between them are one."""
    joined: list[Span] = []
    for start, end in sorted(spans):
        if joined and not text[joined[-1][1] : start].strip():
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        elif start < end:
            joined.append((start, end))
    return tuple(joined)


def quoted(text: str, spans: Sequence[Span], mark: str) -> str:
    """The spans of a text, joined with the mark; also marked where a span breaks a sentence at either end."""
    pieces = mark.join(text[a:b] for a, b in spans)
    if not spans:
        return pieces
    inside = {cut for a, b in sentences(text, 0, len(text)) for cut in spans[0][:1] + spans[-1][1:] if a < cut < b}
    before = mark.lstrip() if spans[0][0] in inside else ""
    after = mark.rstrip() if spans[-1][1] in inside else ""
    return before + pieces + after


@lru_cache(maxsize=64)
def _kept_query_terms(query: str) -> frozenset[str]:
    """The query's terms, kept: one query is asked of many passages."""
    return frozenset(term for term in query_terms(query) if not term.startswith(OWN))


class _Selection:
    """Chooses sentences of one passage for one query."""

    def __init__(self, text: str, meter: Meter, query: str, weights: Mapping[str, float], mark: str) -> None:
        from wenyuan.core.scoring.formula import idf

        self._text = text
        self._meter = meter
        self._mark = Meter(mark)(0, len(mark))
        self._headers = table_headers(text)
        self._sentences = [part for sentence in sentences(text) for part in self._rows(sentence)]
        self._terms = [frozenset(terms(text[a:b])) for a, b in self._sentences]
        asked = _kept_query_terms(query)
        self._asked = [asked & held for held in self._terms]
        holding = Counter(term for held in self._asked for term in held)
        found = {t: weights.get(t, idf(len(self._terms), holding[t])) for t in sorted(asked)}
        total = sum(found.values()) or 1.0
        self._weights = {term: weight / total for term, weight in found.items()}
        self._worth = [self._information(held) for held in self._asked]

    def spans(self, budget: int) -> tuple[Span, ...]:
        """The spans of a summary whose text costs at most `budget` hundredths of a token."""
        least = int(budget * _LEAST_SHARE) + 1
        chosen: list[Span] = []
        left = dict.fromkeys(range(len(self._sentences)), 0.0)  # with the likeness to what is taken
        seen: frozenset[str] = frozenset()
        near: set[int] = set()
        while left:
            best = max(left, key=lambda i: (self._gain(i, seen, near) - _LIKENESS * left[i], -i))
            if self._length(chosen) >= least and not self._worth[best]:
                break
            del left[best]
            more = self._headed(chosen, self._sentences[best], budget, least)
            if more != chosen:
                chosen = more
                seen |= self._asked[best]
                near |= {best - 1, best + 1}
                left = {i: max(old, _likeness(self._terms[i], self._terms[best])) for i, old in left.items()}
        for sentence in self._sentences:  # nothing whole fits any more, but there is too little yet
            if self._length(chosen) < least:
                chosen = self._with(chosen, sentence, budget, least, always=True)
        return tuple(chosen)

    def _rows(self, sentence: Span) -> Iterator[Span]:
        """A sentence or, where it has lines of a table, these one by one."""
        start, end = sentence
        for (begins, _), last in self._headers:
            at = max(start, begins)
            while at < min(end, last):
                if start < at:
                    yield trimmed(self._text, start, at)
                start, at = at, self._text.find("\n", at, last) + 1 or last
            if start < last <= end:
                yield trimmed(self._text, start, last)
                start = last
        start, end = trimmed(self._text, start, end)
        if start < end:
            yield start, end

    def _headed(self, chosen: list[Span], sentence: Span, budget: int, least: int) -> list[Span]:
        """`_with`; a row of a table brings the table's header along, unless that would take half of the room."""
        plain = self._with(chosen, sentence, budget, least, always=not chosen)
        header = next((span for span, ends in self._headers if span[1] <= sentence[0] < ends), None)
        if header is None or plain == chosen or any(a <= header[0] and header[1] <= b for a, b in plain):
            return plain
        cost = self._meter(*header) + self._mark
        if 2 * cost > budget:
            return plain
        more = self._with(chosen, sentence, budget - cost, least, always=not chosen)
        return more if more == chosen else list(merged(self._text, [*more, header]))

    def _with(self, chosen: list[Span], sentence: Span, budget: int, least: int, *, always: bool) -> list[Span]:
        """The spans and one sentence, or what fits of it where that is much; unchanged where it is not."""
        whole = list(merged(self._text, [*chosen, sentence]))
        if self._length(whole) + 2 * self._mark <= budget:
            return whole
        room = budget - self._length(chosen) - 3 * self._mark
        if not (always or (3 * room >= budget and self._informs(sentence))):
            return chosen
        part = self._window(sentence, room, least - self._length(chosen))
        return list(merged(self._text, [*chosen, part])) if part[0] < part[1] else chosen

    def _length(self, spans: Sequence[Span]) -> int:
        """Hundredths of a token of the spans and the marks between them."""
        return sum(self._meter(a, b) for a, b in spans) + self._mark * max(0, len(spans) - 1)

    def _information(self, held: Set[str]) -> float:
        return sum(self._weights[term] for term in sorted(held & self._weights.keys()))

    def _informs(self, span: Span) -> bool:
        return self._information(frozenset(terms(self._text[slice(*span)]))) > 0

    def _gain(self, index: int, seen: Set[str], near: Set[int]) -> float:
        fresh = self._information(self._asked[index] - seen) if seen else self._worth[index]
        lead = _LEAD if index == 0 else 0.0
        return fresh + 0.5 * self._worth[index] + lead + (_NEIGHBOUR if index in near else 0.0)

    def _window(self, sentence: Span, room: int, least: int) -> Span:
        """Neighbouring clauses of a sentence around the one that says most; at least `least` if it is so long."""
        parts = clauses(self._text, *sentence)
        worth = [self._information(frozenset(terms(self._text[a:b]))) for a, b in parts]
        first = last = max(range(len(parts)), key=lambda i: (worth[i], -i))
        while True:
            options = [i for i in (last + 1, first - 1) if 0 <= i < len(parts)]
            options = [i for i in options if self._meter(parts[min(first, i)][0], parts[max(last, i)][1]) <= room]
            if not options:
                break
            best = max(options, key=lambda i: worth[i])
            first, last = min(first, best), max(last, best)
        start, end = parts[first][0], parts[last][1]
        if least <= self._meter(start, end) <= room:
            return start, end
        return self._stretched(sentence, start, room, least)

    def _stretched(self, sentence: Span, start: int, room: int, least: int) -> Span:
        """The sentence from `start` as far as there is room; from earlier on where that is too little."""
        if room <= 0:
            return start, start
        end = min(sentence[1], self._meter.reach(start, room))
        while start > sentence[0] and self._meter(start - 1, end) <= room and self._meter(start, end) < least:
            start -= 1
        begun, cut = start, end
        while sentence[0] < begun < cut and self._parts(begun):
            begun += 1
        while begun < cut < sentence[1] and self._parts(cut):
            cut -= 1
        if self._meter(begun, cut) >= min(least, self._meter(start, end)) and self._meter(begun, cut) <= room:
            return trimmed(self._text, begun, cut)
        return trimmed(self._text, start, end)  # one endless word

    def _parts(self, at: int) -> bool:
        """Whether a cut here would part a word or what a reader sees as one character."""
        before, after = self._text[at - 1], self._text[at]
        word = before.isalnum() and after.isalnum() and max(before, after) < "\u2e80"
        return word or inside_character(self._text, at)


def _likeness(one: Set[str], other: Set[str]) -> float:
    shared = len(one & other)
    return shared / max(1, len(one) + len(other) - shared)
