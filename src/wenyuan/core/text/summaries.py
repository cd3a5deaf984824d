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

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, takewhile
from typing import Any

from wenyuan.core.model import ORIGIN_PRIORITY, Block, Document, Passage
from wenyuan.core.text import (
    OWN,
    Span,
    clauses,
    fold,
    inside_character,
    language_of,
    query_terms,
    sentences,
    table_headers,
    terms,
    trimmed,
)
from wenyuan.core.text.chunking import Meter
from wenyuan.core.text.structure import opening

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
def _asked(query: str) -> frozenset[str]:
    """The query's terms, kept: one query is asked of many passages."""
    return frozenset(term for term in query_terms(query) if not term.startswith(OWN))


class _Selection:
    """Chooses sentences of one passage for one query."""

    def __init__(self, text: str, meter: Meter, query: str, weights: Mapping[str, float], mark: str) -> None:
        from wenyuan.core.scoring import idf

        self._text = text
        self._meter = meter
        self._mark = Meter(mark)(0, len(mark))
        self._headers = table_headers(text)
        self._sentences = [part for sentence in sentences(text) for part in self._rows(sentence)]
        self._terms = [frozenset(terms(text[a:b])) for a, b in self._sentences]
        asked = _asked(query)
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


# Retrieved text is material, not orders: what hides in it is removed, what reads like an order is flagged.


_BREAK = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
# Written as escapes: they cannot be seen otherwise. A joiner stays where it shapes what is seen: inside emoji and
# between letters of Arabic and Indic scripts.
_SHAPED = "\u0600-\u1fff\u2600-\u27bf\ufe0f\U0001f000-\U0001faff"
_HIDDEN = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b\u200e\u200f\u202a-\u202e"
    "\u2060-\u2069\u206a-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e01ef]"
    f"|(?<![{_SHAPED}])[\u200c\u200d]|[\u200c\u200d](?![{_SHAPED}])"
)
_ORDERS = re.compile(
    r"""
    (?<![a-z])(?:ignore|disregard|forget|override|bypass)\s(?:[a-z']+\s){0,3}?
        (?:previous|prior|above|earlier|preceding|all|any|your|system)\s(?:[a-z']+\s){0,3}?
        (?:instruction|prompt|rule|guideline|direction|message|context)
    | (?<![a-z])(?:ignore|disregard|forget)\s(?:everything|all|what)\s(?:[a-z']+\s){0,4}?
        (?:above|before|previous|said|told)
    | (?<![a-z])system\sprompt(?![a-z]) | (?<![a-z])new\s(?:system\s)?instructions?\s?:
    | (?<![a-z])you\sare\snow\s(?:an?|the|in|no\slonger|free)(?![a-z]) | (?<![a-z])(?:developer|dan|jailbreak)\smode
    | (?<![a-z])(?:do\snot|don't|never)\s(?:tell|inform|(?:mention|reveal)\s(?:this|it)\sto)\s(?:the\s)?user
    | (?<![a-z])(?:reveal|print|repeat|output|show)\s(?:me\s)?your\s(?:[a-z]+\s){0,2}?(?:prompt|instruction)
    | <\|?/?(?:im_start|im_end|system|endoftext)\|?> | \[/?inst\] | (?:^|\n)(?:[#>]|[^\S\n])*(?:system|assistant)\s?:
    | (?:忽略|无视|忘记|忘掉|不要理会|不必理会|不要遵守|抛开|绕过)[^。！？\n]{0,6}
        (?:以上|上述|上面|之前|前面|先前|此前|所有|全部|一切|任何|系统|你的|你收到|原有)[^。！？\n]{0,8}
        (?:指令|指示|提示|规则|设定|命令|内容|对话|约束|限制)
    | (?<![a-z])(?:note|message|instructions?|attention|reminder)(?:\s(?:to|for)|\s?[,:])?\s(?:the\s|any\s|all\s)?
        (?:ai|a\.i\.|llms?|assistants?|chat\s?bots?|(?:language\s)?models?)(?:\s(?:assistants?|models?|agents?))?\s?[,:!]
    | (?:给|致|请|告诉|提醒)(?:ai|人工智能|大?模型|助手|语言模型)(?:助手|模型)?(?:的(?:提示|说明|备注|话))?[,:，：]
    | (?:ai|人工智能|语言模型|大模型)助?手?(?:请注意|注意(?!力|事项)|须知|应当?回答)
    | 系统提示(?:词|语)|提示词注入|(?:你现在是|从现在(?:开始|起),?你)|(?:不要|不得|别)(?:告诉|告知|让)用户
    | (?:输出|显示|透露|泄露|重复)你的(?:提示|指令|设定)|开发者模式|越狱模式
    """,
    re.VERBOSE,
)
# What is addressed to a model, or takes its task over.
_MODEL = r"(?:ai|llms?|chatbots?|(?:large\s)?language\smodels?|ai\s(?:assistants?|models?|agents?|language\smodels?))"
_MODEL_ZH = "(?:人工智能|ai|大模型|大语言模型|语言模型|聊天机器人|智能助手)(?:助手|模型)?"
_EARLIER_ZH = "(?:之前|以上|上述|上面|前面|先前|此前|原来|原有)"
_ADDRESSED = re.compile(
    rf"""
    (?<![a-z])(?:ignore|disregard|forget)\sthe\s(?:above|foregoing)\sand\s(?:answer|say|reply|respond|output|print|write|tell)
    | (?<![a-z])(?:ignore|disregard)\s(?:what\sthe\suser|the\suser(?:'s)?\s(?:question|request|message|input))
    | (?<![a-z])do\snot\sfollow\s(?:the|your|any)\s(?:rules|instructions|guidelines)\s(?:given|above|earlier|before|you)
    | (?<![a-z])you\sare\snow\sdan(?![a-z]) | (?<![a-z])your\s(?:only\s)?task\s(?:has\schanged|is\snow\sto)
    | (?<![a-z]){_MODEL}\s(?:reading|processing|seeing|summari[sz]ing)\sth(?:is|ese)(?![a-z])
    | (?<![a-z])(?:note|message|instructions?|reminder|attention)\s(?:to|for)\s(?:the\s|any\s|all\s)?{_MODEL}\s?[:,;!]
    | (?<![a-z])is\s(?:meant\s)?for\sthe\s{_MODEL}\s?[:;!] | (?<![a-z])dear\s{_MODEL}\s?[:,;!]
    | (?<![a-z])(?:as|if\syou\sare)\san?\s{_MODEL}(?:\s(?:assistant|model))?,?\s(?:you|answer|reply|respond|say|write)(?![a-z])
    | (?<![a-z])instead\sof\sanswering,?\s(?:output|print|write|say|reply) | (?<![a-z])pretend\s(?:that\s)?you\sare(?![a-z])
    | (?<![a-z])(?:respond|reply|answer)\swith\sthe\sfollowing\stext
    | (?<![a-z])override\s(?:your|all|any)\s(?:[a-z]+\s)?guidelines?
    | (?<![a-z])(?:ai\s)?(?:assistants?|chatbots?|models?)\s(?:must|should|shall|has\sto|have\sto|are\sto|is\sto|will|need\sto)\s(?:always\s|only\s)?
        (?:answer|say|reply|respond|state|claim|tell\s[a-z]+)\sthat(?![a-z])
    | (?:助手|{_MODEL_ZH})(?:必须|务必|应当?|须|需要?|只能|要)(?:回答|回复|答复|声称|宣称|说)(?!问题|电话|来电|来信|客户|用户|咨询|询问)
    | 致{_MODEL_ZH}\s?[:,] | 作为(?:一个|一名)?{_MODEL_ZH},?你(?:必须|应|要|需|只能|可以) | {_MODEL_ZH}(?:请)?注意\s?:
    | (?:阅读|读到|看到|处理)(?:本文|这段|此文|本段|以上)[^。！？\n]{{0,6}}的{_MODEL_ZH}|如果你是(?:一个|一名)?{_MODEL_ZH}
    | 你的任务已经?(?:改变|变更|改为)|新的?指令\s?:|假装你是|停止当前任务,?改为
    | (?:不要|不得|别)(?:按照?|遵循|遵守){_EARLIER_ZH}[^。！？\n]{{0,6}}(?:规则|指令|指示|设定)
    | (?:无视|忽略|不要理会)用户的?(?:问题|提问|请求|输入)|[把将]以下内容作为(?:最终|你的|唯一)的?(?:答案|回答|回复)
    """,
    re.VERBOSE,
)


def visible(text: str) -> str:
    r"""Text without control, bidirectional, zero-width and other hidden characters; line ends as ``\n``."""
    return _HIDDEN.sub("", _BREAK.sub("\n", text))


def instruction_like(text: str) -> bool:
    """Whether a text speaks to a model: “ignore previous instructions”, “忽略以上指令”."""
    read = re.sub(r"[ \t\u3000]+", " ", fold(text)).replace("’", "'")
    return _ORDERS.search(read) is not None or _ADDRESSED.search(read) is not None


# What of a passage is given: its own words at their place in the document, or a summary in other words.


Place = tuple[Any, ...]
_ELISION = re.compile(r"\s*…+\s*")
_MARK = r"[\s,.:;!?'\"“”‘’()\[\]{}、。《》【】「」|#`…·*_]"
# Left out of comparison, but not between digits: 3.5 is not 35.
_MARKS = re.compile(rf"(?:(?<![0-9]){_MARK}|{_MARK}(?![0-9]))+")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredPassage:
    """A passage on its way into a context.

    Attributes:
        score: 0..1.
        summary: Of the passage; ``""`` gives its whole text. A summary that is not made of the passage's own words,
            such as a language model's, is returned unchanged and flagged ``generated``.
        answers: It is a rule that the question asks for.
    """

    passage: Passage
    score: float
    origin: str = "vector"
    summary: str = ""
    answers: bool = False

    def __post_init__(self) -> None:
        if not 0.0 <= self.score <= 1.0:  # false for NaN too
            raise ValueError(f"score {self.score!r} is not in 0..1")
        if self.origin not in ORIGIN_PRIORITY:
            raise ValueError(f"there is no origin {self.origin!r}")


def size(spans: Iterable[Span]) -> int:
    """Characters in spans that do not overlap."""
    return sum(b - a for a, b in spans)


def without(spans: Iterable[Span], taken: Iterable[Span]) -> list[Span]:
    """What is left of spans outside others."""
    left = list(spans)
    for c, d in taken:
        left = [part for a, b in left for part in ((a, min(b, c)), (max(a, d), b)) if part[0] < part[1]]
    return left


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A passage with what would be given of it.

    Attributes:
        text: What the spans are of, beginning at offset `start`: the passage, or a summary in other words.
        spans: Offsets of what would be given, in order.
        key: Equal for passages that say the same.
        located: Whether offsets count in the document's text, so that passages can touch.
        generated: The text is a summary in other words.
    """

    item: ScoredPassage
    text: str
    start: int
    spans: tuple[Span, ...]
    key: str
    located: bool
    generated: bool

    @classmethod
    def of(cls, item: ScoredPassage) -> Candidate:
        """The candidate that an item makes."""
        passage = item.passage
        own = _pieces(item.summary, passage.text) if item.summary else _all(passage.text)
        generated = item.summary != "" and not own
        located = not generated and passage.end - passage.start == len(passage.text)
        start = passage.start if located else 0
        text = item.summary if generated else passage.text
        spans = tuple((start + a, start + b) for a, b in (_all(text) if generated else own))
        return cls(item, text, start, spans, compared(passage.text) or passage.text, located, generated)

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def order(self) -> tuple[Any, ...]:
        """Among equals: rules first, then trust, then whatever settles it."""
        item, passage = self.item, self.item.passage
        return (ORIGIN_PRIORITY[item.origin], -passage.trust, -item.score, passage.ref, passage.uri, item.summary)

    @property
    def place(self) -> Place:
        """Origin and document: where passages must be together to touch."""
        passage = self.item.passage
        if self.located:
            return (self.item.origin, passage.source_id, passage.document_id)
        return (self.item.origin, passage.ref, passage.uri)

    def tidy(self, spans: Iterable[Span]) -> tuple[Span, ...]:
        """The spans without white space at their ends, those of white space left out."""
        cut = (trimmed(self.text, a - self.start, b - self.start) for a, b in spans)
        return tuple((self.start + a, self.start + b) for a, b in cut if a < b)

    def shortened(self, spans: Sequence[Span], room: int) -> tuple[Span, ...]:
        """The beginning of the spans, no more than `room` characters, up to the end of a sentence.

        Where not even the first sentence has room, up to the end of one of its clauses.
        """
        kept: list[Span] = []
        for start, end in spans:
            if end - start > room:
                reached = [b for b in self._stops(start, end, bool(kept)) if b - start <= room]
                kept += [(start, max(reached))] if reached else []
                break
            kept.append((start, end))
            room -= end - start
        return tuple(kept)

    def _stops(self, start: int, end: int, whole: bool) -> list[int]:
        """Ends of sentences in a span; unless `whole`, also of the clauses of the first."""
        found = sentences(self.text, start - self.start, end - self.start)
        parts = [] if whole else clauses(self.text, *found[0])[:-1]
        return [self.start + b for _, b in (*parts, *found)]


def document_key(passage: Passage) -> str:
    """The document that a passage is of, as copyright counts it: its URI without a fragment."""
    return passage.uri.partition("#")[0]


def _all(text: str) -> tuple[Span, ...]:
    span = trimmed(text, 0, len(text))
    return (span,) if span[0] < span[1] else ()


def _pieces(summary: str, text: str) -> tuple[Span, ...]:
    """Spans of the summary's pieces in the passage, in order; () if it has other words."""
    spans: list[Span] = []
    at = 0
    for piece in (p for p in _ELISION.split(summary.strip()) if p):
        start = text.find(piece, at)
        if start < 0:
            return ()
        at = start + len(piece)
        if spans and _ELISION.fullmatch(text, spans[-1][1], start):
            spans[-1] = (spans[-1][0], at)  # the passage's own mark, not one of the summary
        else:
            spans.append((start, at))
    return merged(text, spans)


@lru_cache(maxsize=1_024)
def compared(text: str, between: str = "") -> str:
    """What texts that say the same have in common: marks and white space do not count, numbers and signs do.

    Args:
        between: Stands where there were marks or white space.
    """
    return _MARKS.sub(between, fold(visible(text)))


# The lead of a document: its first words, which stand for a title where it has none.
#
# Most passages of a report or a judgment do not say what they are part of: its first sentences do (whose it is, of when,
# about what). They are indexed and embedded with every passage of a document that has neither title nor heading. A lead is
# no title: nobody is shown it, and a clause that it mentions is not the passage's own.


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
    words = text[start : _cut(text, start, end)].rstrip()
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


def _cut(text: str, start: int, end: int) -> int:
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
