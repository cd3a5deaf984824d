"""Which relation or kind a question about rules asks for."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

from wenyuan.core.rules.inference import DerivedRule
from wenyuan.core.rules.schema import Kind, Relation, Schema
from wenyuan.core.rules.spelling import form_of, only_as_whole, spell
from wenyuan.core.text.analysis import terms
from wenyuan.core.text.folding import fold, has_han

# What a question asks for besides the thing that it asks about, and how far a rule answers it.
#
# ``高支模要不要专家论证`` asks about 高支模, for the requirement 专家论证; ``有哪些危险源`` asks for a kind. Kinds and
# relations are recognised by their labels, aliases and the words of questions that the schema lists (`asks`); what is
# left of the question is compared with the words of each rule.


T = TypeVar("T")
Span = tuple[int, int]
Names = Callable[[Collection[int]], Mapping[int, Sequence[str]]]
"""Every way to write each of some nodes."""

_LETTERS, _BEGINNING = 6, 4  # of a Latin word that are compared, at most and at least
_FUNCTION_WORDS = frozenset(
    "the and for who whom what which when where how doe do did have has had need must may can with from that this there"
    " they them you your are was were will would should not any out into over under been much many".split()
)
_ASKING = frozenset("需要 有哪 哪些 哪个 哪里 什么 怎么 么办 怎样 如何 咋办 要不 能不 是不".split())
"""Pairs of characters in which anything is asked."""
_OF_KIND = 0.9  # relevance by what is recognised of a rule, at most 1
_THROUGH = 0.5
_BY_WORDS = 0.95
_UNKNOWN = 0.1  # what a word that no rule says counts, of the mean of the others: mostly two words side by side
_TOLD_APART = 0.4  # of the relevance, for the words: they tell rules of one kind apart


_INDIFFERENT, _ELSEWHERE = 0.85, 0.5  # least weight of a rule, where none is what is asked for, and where one is
_LIKELY, _ASKING_NEAR = 0.3, 0.8


@dataclass(frozen=True, slots=True)
class Weight:
    """The factor of a rule's score for its relevance, 0..1; ``answers``: it is (nearly) the most relevant."""

    factor: float
    answers: bool


def weighed(relevance: Sequence[float]) -> list[Weight]:
    """The weight of each rule by its relevance: 1 for the most relevant. The better the best one answers, the lower
    the others.

    The better that one answers, the less is left of one that does not.
    """
    best = max(relevance, default=0.0)
    least = _INDIFFERENT - (_INDIFFERENT - _ELSEWHERE) * best
    parts = [one / best if best else 0.0 for one in relevance]
    return [Weight(least + (1.0 - least) * part**2, best >= _LIKELY and part >= _ASKING_NEAR) for part in parts]


@dataclass(frozen=True, slots=True)
class QuestionIntent:
    """What a question asks for.

    Attributes:
        nodes: Things that it names.
        parts: Kinds and relations of the schema that it names or means.
        words: The terms of what is left of it without names; ``others``: without the words for `parts` too;
            ``all_words``: with the names of `nodes`.
        characters: The Chinese characters of what `words` are of: who 批 asks for 审批, where no word is shared.
    """

    nodes: frozenset[int] = frozenset()
    parts: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()
    others: frozenset[str] = frozenset()
    all_words: frozenset[str] = frozenset()
    characters: frozenset[str] = frozenset()


class IntentReader:
    """Recognises what questions ask for. Immutable and thread-safe."""

    def __init__(self, schema: Schema) -> None:
        things: tuple[Kind | Relation, ...] = (*schema.kinds.values(), *schema.relations.values())
        self._ways = {thing.id: _forms((*thing.names[1:], *thing.asks)) for thing in things}
        self._phrases = {thing.id: [_terms(label) for label in thing.labels.values()] for thing in things}

    def of(self, text: str, about: Iterable[Span], rules: Sequence[DerivedRule], names: Names) -> QuestionIntent:
        """What a question asks for, restricted to what the derived rules can answer.

        What none of them speaks of is not looked for: it may be none of the asker's business that it is known.

        Args:
            about: Where it names what it is about.
        """
        nodes = {end.node_id for rule in rules for end in (rule.start, *(step.edge.end for step in rule.steps))}
        parts = {part for rule in rules for part in (rule.relation, rule.end.kind)}
        about = list(about)
        written = _exact_names(text, {node: _forms(ways) for node, ways in names(nodes).items()})
        beside = [one for one in written if not any(_within(one, span) for span in about)]
        rest = _text_outside(text, [*about, *((start, end) for start, end, _ in beside)])
        words = _terms_of(rest)
        meant = {part for part in parts if any(len(p) > 1 and p <= words for p in self._phrases.get(part, ()))}
        others: list[str] = []
        for piece in rest:
            said = _exact_names(piece, {part: self._ways.get(part, ()) for part in parts})
            meant |= {part for *_, ids in said for part in ids}
            others += _text_outside(piece, [(start, end) for start, end, _ in said])
        named = frozenset(node for *_, ids in beside for node in ids)
        characters = _characters(rest)
        return QuestionIntent(
            named, frozenset(meant), words, _terms_of(others), _terms_of(_text_outside(text, about)), characters
        )


def _forms(words: Iterable[str]) -> tuple[str, ...]:
    """Searchable forms; single characters and bare numbers are skipped."""
    return tuple(form for form in dict.fromkeys(map(form_of, words)) if form and not only_as_whole(form))


def _exact_names(text: str, ways: Mapping[T, Iterable[str]]) -> list[tuple[int, int, set[T]]]:
    """Exact occurrences of names as whole words, without those inside longer ones."""
    spelling = spell(text)
    found: dict[Span, set[T]] = {}
    for name, forms in ways.items():
        for form in forms:
            start = spelling.text.find(form)
            while start >= 0:
                if end := spelling.is_word(start, start + len(form)):
                    found.setdefault((start, end), set()).add(name)
                start = spelling.text.find(form, start + 1)
    outer = [span for span in found if not any(_within(span, other) for other in found)]
    return [(*spelling.original(*span), found[span]) for span in sorted(outer)]


def _within(span: tuple[int, int, *tuple[object, ...]], other: Span) -> bool:
    """Whether a span is a proper part of another."""
    return other[0] <= span[0] and span[1] <= other[1] and span[1] - span[0] < other[1] - other[0]


def relevances(asked: QuestionIntent, rules: Sequence[DerivedRule], names: Names) -> list[float]:
    """The relevance of each rule to what is asked for, 0..1."""
    written = names({rule.end.node_id for rule in rules})
    ways = [written.get(rule.end.node_id, ()) for rule in rules]
    texts = [_rule_terms(rule, names) for rule, names in zip(rules, ways, strict=True)]
    told = [_Told.of(asked, rule) for rule in rules]
    narrowed = any(one.part and one.through for one in told)
    bases = [one.base(narrowed) for one in told]
    alike = _word_relevance(asked.words, asked.all_words, texts, ways)
    best: dict[float, float] = {}  # of the rules that are as near otherwise, the one that shares most words
    for base, share in zip(bases, alike, strict=True):
        best[base] = max(share, best.get(base, 0.0))
    longer = _longer(asked.words, texts).keys()
    whole = [_said_whole(own, asked.all_words | longer) for own in ways]
    spoken = asked.others if any(one.part for one in told) else asked.words
    spoken = asked.all_words if any(whole) else spoken  # "sign the special plan" asks for no warning signs
    besides = _word_relevance(spoken, asked.all_words if spoken is asked.words else spoken, texts, ways)
    if asked.words and not any((*bases, *alike)):
        return [_BY_WORDS * share for share in _shares(asked.characters, [_characters(own) for own in ways])]
    return [
        1.0 if called else max(base * (1.0 - _TOLD_APART * (best[base] - share)), _BY_WORDS * other)
        for called, base, share, other in zip(whole, bases, alike, besides, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class _Told:
    """Which aspect of a rule is asked for: its end, a node on the path, its kind or relation."""

    end: bool
    through: bool
    part: bool

    @classmethod
    def of(cls, asked: QuestionIntent, rule: DerivedRule) -> _Told:
        through = any(step.edge.end.node_id in asked.nodes for step in rule.steps[:-1])
        part = rule.relation in asked.parts or rule.end.kind in asked.parts
        return cls(rule.end.node_id in asked.nodes, through, part)

    def base(self, narrowed: bool) -> float:
        """``narrowed``: the kind is asked for of one thing (how to prevent a *fall*)."""
        if self.end or (self.part and self.through):
            return 1.0
        if self.part:
            return _THROUGH if narrowed else _OF_KIND
        return _THROUGH if self.through else 0.0


def _word_relevance(
    words: frozenset[str],
    with_names: frozenset[str],
    texts: Sequence[frozenset[str]],
    names: Sequence[Iterable[str]],
) -> list[float]:
    """Relevance by words: the share of the question's words that each rule contains, or of its name that they
    contain, 0..1.
    """
    longer = _longer(words, texts)
    shares = _shares(words, [text | {longer[t] for t in text & longer.keys()} for text in texts])
    spoken = with_names | longer.keys()
    called = (_best_name_share(ways, spoken) if words else 0.0 for ways in names)
    return [max(pair) for pair in zip(called, shares, strict=True)]


def _longer(words: frozenset[str], texts: Iterable[frozenset[str]]) -> Mapping[str, str]:
    """Latin words of the texts that extend one of `words`: who *signs* asks for a *signature*."""
    short = [word for word in words if word.isascii() and _BEGINNING <= len(word) < _LETTERS]
    every = frozenset().union(*texts) - words if short else frozenset()
    return {term: word for word in short for term in every if term.startswith(word)}


def _shares(words: frozenset[str], texts: Sequence[frozenset[str]]) -> list[float]:
    """The share of the words' information that each text contains; idf over these texts."""
    count = Counter(word for text in texts for word in text & words)
    told = {word: math.log(len(texts) / n) for word, n in count.items()}
    unknown = sum(1 for word in words if word not in told)
    whole = sum(told.values()) + _UNKNOWN * unknown * (sum(told.values()) / len(told) if told else 0.0)
    return [sum(told[word] for word in text & words) / whole if whole else 0.0 for text in texts]


def _said_whole(names: Iterable[str], words: frozenset[str]) -> bool:
    """Whether the words contain all words of one of the names, in any order."""
    return any(len(own) > 1 and own <= words for own in map(_terms, names))


def _characters(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(c for text in texts for c in fold(text) if has_han(c))


def _best_name_share(names: Iterable[str], words: frozenset[str]) -> float:
    """The largest share of one of the names that the words contain."""
    return max((len(own & words) / len(own) for own in map(_terms, names) if own), default=0.0)


def _rule_terms(rule: DerivedRule, names: Iterable[str]) -> frozenset[str]:
    """Terms of a rule's end, its own sentences, and its quotes."""
    edge = rule.steps[-1].edge
    texts = (*names, *edge.sentence.values(), *(e.quote for e in edge.evidences))
    return _terms_of(texts)


@lru_cache(maxsize=8_192)
def _terms(text: str) -> frozenset[str]:
    """Pairs of Chinese characters, and prefixes of Latin words: supervises matches supervision."""
    found = (t[:_LETTERS] if t.isascii() and t.isalpha() else t for t in terms(text) if len(t) > 1)
    return frozenset(
        t for t in found if (t not in _ASKING if not t.isascii() else len(t) > 2 and t not in _FUNCTION_WORDS)
    )


def _terms_of(texts: Iterable[str]) -> frozenset[str]:
    return frozenset().union(*map(_terms, texts))


def _text_outside(text: str, spans: Iterable[Span]) -> list[str]:
    """The text outside of these spans."""
    kept, reached = [], 0
    for start, end in sorted(spans):
        kept.append(text[reached:start])
        reached = max(reached, end)
    return [*kept, text[reached:]]
