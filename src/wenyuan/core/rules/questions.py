"""Interpretation of questions about rules: the relation or kind asked for, stated quantities, and parameters."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeVar

from wenyuan.core.errors import Fault, InvalidRequest, did_you_mean, listed, msg
from wenyuan.core.rules.conditions import WORDS
from wenyuan.core.rules.inference import DerivedRule
from wenyuan.core.rules.names import form_of, only_as_whole, spell
from wenyuan.core.rules.schema import Kind, Parameter, Relation, Schema
from wenyuan.core.text import fold, has_han, terms
from wenyuan.core.text.numbers import Quantity, measured, unit_of

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
class Asked:
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


class Asks:
    """Recognises what questions ask for. Immutable and thread-safe."""

    def __init__(self, schema: Schema) -> None:
        things: tuple[Kind | Relation, ...] = (*schema.kinds.values(), *schema.relations.values())
        self._ways = {thing.id: _forms((*thing.names[1:], *thing.asks)) for thing in things}
        self._phrases = {thing.id: [_terms(label) for label in thing.labels.values()] for thing in things}

    def of(self, text: str, about: Iterable[Span], rules: Sequence[DerivedRule], names: Names) -> Asked:
        """What a question asks for, restricted to what the derived rules can answer.

        What none of them speaks of is not looked for: it may be none of the asker's business that it is known.

        Args:
            about: Where it names what it is about.
        """
        nodes = {end.node_id for rule in rules for end in (rule.start, *(step.edge.end for step in rule.steps))}
        parts = {part for rule in rules for part in (rule.relation, rule.end.kind)}
        about = list(about)
        written = _written(text, {node: _forms(ways) for node, ways in names(nodes).items()})
        beside = [one for one in written if not any(_within(one, span) for span in about)]
        rest = _cut(text, [*about, *((start, end) for start, end, _ in beside)])
        words = _terms_of(rest)
        meant = {part for part in parts if any(len(p) > 1 and p <= words for p in self._phrases.get(part, ()))}
        others: list[str] = []
        for piece in rest:
            said = _written(piece, {part: self._ways.get(part, ()) for part in parts})
            meant |= {part for *_, ids in said for part in ids}
            others += _cut(piece, [(start, end) for start, end, _ in said])
        named = frozenset(node for *_, ids in beside for node in ids)
        characters = _characters(rest)
        return Asked(named, frozenset(meant), words, _terms_of(others), _terms_of(_cut(text, about)), characters)


def _forms(words: Iterable[str]) -> tuple[str, ...]:
    """Searchable forms; single characters and bare numbers are skipped."""
    return tuple(form for form in dict.fromkeys(map(form_of, words)) if form and not only_as_whole(form))


def _written(text: str, ways: Mapping[T, Iterable[str]]) -> list[tuple[int, int, set[T]]]:
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


def relevances(asked: Asked, rules: Sequence[DerivedRule], names: Names) -> list[float]:
    """The relevance of each rule to what is asked for, 0..1."""
    written = names({rule.end.node_id for rule in rules})
    ways = [written.get(rule.end.node_id, ()) for rule in rules]
    texts = [_said(rule, names) for rule, names in zip(rules, ways, strict=True)]
    told = [_Told.of(asked, rule) for rule in rules]
    narrowed = any(one.part and one.through for one in told)
    bases = [one.base(narrowed) for one in told]
    alike = _alike(asked.words, asked.all_words, texts, ways)
    best: dict[float, float] = {}  # of the rules that are as near otherwise, the one that shares most words
    for base, share in zip(bases, alike, strict=True):
        best[base] = max(share, best.get(base, 0.0))
    longer = _longer(asked.words, texts).keys()
    whole = [_said_whole(own, asked.all_words | longer) for own in ways]
    spoken = asked.others if any(one.part for one in told) else asked.words
    spoken = asked.all_words if any(whole) else spoken  # "sign the special plan" asks for no warning signs
    besides = _alike(spoken, asked.all_words if spoken is asked.words else spoken, texts, ways)
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
    def of(cls, asked: Asked, rule: DerivedRule) -> _Told:
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


def _alike(
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
    called = (_called(ways, spoken) if words else 0.0 for ways in names)
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


def _called(names: Iterable[str], words: frozenset[str]) -> float:
    """The largest share of one of the names that the words contain."""
    return max((len(own & words) / len(own) for own in map(_terms, names) if own), default=0.0)


def _said(rule: DerivedRule, names: Iterable[str]) -> frozenset[str]:
    """Terms of a rule's end, its own sentences, and its quotes."""
    edge = rule.steps[-1].edge
    texts = (*names, *edge.sentence.values(), *(e.quote for e in edge.evidences))
    return _terms_of(texts)


@lru_cache(maxsize=8_192)
def _terms(text: str) -> frozenset[str]:
    """Pairs of Chinese characters, and prefixes of Latin words: supervises matches supervision."""
    found = (t[:_LETTERS] if t.isascii() and t.isalpha() else t for t in terms(text) if len(t) > 1)
    return frozenset(t for t in found if not t.isascii() or (len(t) > 2 and t not in _FUNCTION_WORDS))


def _terms_of(texts: Iterable[str]) -> frozenset[str]:
    return frozenset().union(*map(_terms, texts))


def _cut(text: str, spans: Iterable[Span]) -> list[str]:
    """The text outside of these spans."""
    kept, reached = [], 0
    for start, end in sorted(spans):
        kept.append(text[reached:start])
        reached = max(reached, end)
    return [*kept, text[reached:]]


# Quantities that a question states → the parameters whose values they are: 基坑挖6米深 says ``depth_m = 6``.
#
# A quantity is a parameter's value when it has the parameter's unit and is said with one of its words (深, 花了, deep), or
# when no other parameter that the rules ask for has that unit. Times, amounts of money and counts need a word, as
# questions name them for many reasons. What is no exact value (超过5米), or may be that of several parameters, is none.


_MASK = "|"
_BORDER = re.compile(r"[,.;:?!。、；：？！\n]")
_FAR, _NEAR = 24, 4  # characters around a quantity that may tell of what it is: by a word, by a dimension
_NEEDS_WORD = frozenset("day workday week month year hour minute second 元 日元 $ € 人 次 倍 % 岁 月 号".split())
_DIMENSIONS: Sequence[frozenset[str]] = tuple(
    frozenset(words.split())
    for words in (
        "深 deep depth", "高 high height tall", "宽 wide width broad", "长 long length", "厚 thick thickness",
        "跨 span", "径 diameter radius", "距 离 away apart distance from", "重 heavy weight weigh",
    )
)  # fmt: skip
_BEFORE = re.compile(
    "(?:超过|超出|大于|高于|多于|深于|不足|不到|不够|小于|少于|低于|不超过|不大于|至少|至多|最多|最少|大约|大概|差不多|将近|接近|约|近"
    r"|over|above|exceeding|exceeds|than|under|below|up to|at least|at most|within|about|around|roughly|nearly|almost"
    r"|[\d一二三四五六七八九十两] ?[-~至到或]|\d to) ?(?:了|a|an)? ?\Z"
)
_AFTER = re.compile(
    "[ -]?(?:及|含|或)?(?:以上|以下|以内|之内|之上|之下|以外|左右|上下|内|多|or more|or less|or (?:deeper|higher|longer|over)|plus|\\+)"
)
_NO_CUES = frozenset("with from since were that must when this have what which".split())


@dataclass(frozen=True, slots=True)
class Stated:
    """Parameter values that a question states.

    Attributes:
        values: By parameter; ``said``: in which words of the question.
        doubtful: Words that may state several parameters, with their names; without names: words that state no
            exact value.
    """

    values: Mapping[str, float | int] = field(default_factory=dict)
    said: Mapping[str, str] = field(default_factory=dict)
    doubtful: tuple[tuple[str, tuple[str, ...]], ...] = ()


def stated(question: str, names: Iterable[tuple[int, int]], parameters: Collection[Parameter]) -> Stated:
    """Extract the parameters whose values a question states.

    Args:
        names: Where names of things stand in it: numbers within them (七天无理由退货) are parts of the names.
        parameters: Those that are not known and matter to the rules.
    """
    text = _without(question, names)
    found: dict[str, list[tuple[float, str]]] = {}
    doubtful: list[tuple[str, tuple[str, ...]]] = []
    quantities = measured(text)
    for at, quantity in enumerate(quantities):
        fitting = {p: factor for p in parameters if (factor := _factor(p, quantity.unit)) is not None}
        if not fitting:
            continue
        said = text[quantity.start : quantity.end]
        around = _around(text, quantity, quantities[at - 1].end if at else 0)
        meant = _meant(quantity.unit, around, tuple(fitting))
        if meant and not _is_exact(text, quantity):
            doubtful.append((said, ()))
        elif len(meant) > 1:
            doubtful.append((said, tuple(p.name for p in meant)))
        for parameter in meant if len(meant) == 1 and _is_exact(text, quantity) else ():
            found.setdefault(parameter.name, []).append((quantity.value / fitting[parameter], said))
    types = {p.name: p.type for p in parameters}
    values, words = {}, {}
    for name, ways in found.items():
        value = round(ways[0][0], 9)
        if len({round(way, 9) for way, _ in ways}) > 1:
            doubtful += [(said, (name,)) for _, said in ways]
        elif types[name] == "number" or value == int(value):
            values[name], words[name] = (value if types[name] == "number" else int(value)), ways[0][1]
    return Stated(values, words, tuple(doubtful))


def _without(question: str, names: Iterable[tuple[int, int]]) -> str:
    """The normalised question, with a placeholder for each name."""
    kept, reached = [], 0
    for start, end in sorted(names):
        if start >= reached:
            kept.append(question[reached:start])
        reached = max(reached, end)
    return _MASK.join(fold(part) for part in (*kept, question[reached:]))


def _factor(parameter: Parameter, unit: str) -> float | None:
    """Conversion factor from `unit` to the parameter's unit; None if they measure different quantities."""
    known = unit_of(fold(parameter.unit)) if parameter.unit and parameter.type in ("number", "integer") else None
    return known[1] if known is not None and known[0] == unit else None


@dataclass(frozen=True, slots=True)
class _Around:
    """The context of a quantity: words of its clause, and adjacent dimensions."""

    words: frozenset[str]
    dimensions: frozenset[frozenset[str]]


def _around(text: str, quantity: Quantity, reached: int) -> _Around:
    before = _BORDER.split(text[max(reached, quantity.start - _FAR) : quantity.start])[-1]
    after = _BORDER.split(text[quantity.end : quantity.end + _FAR])[0]
    near = f"{_last(before)} {_first(after)}"
    return _Around(_cues(f"{before} {after}"), _dimensions(near))


def _last(text: str) -> str:
    return " ".join(text.split()[-3:]) if text.isascii() else text[-_NEAR:]


def _first(text: str) -> str:
    return " ".join(re.split(r"[ -]+", text.strip(" -"))[:3]) if text.isascii() else text[:2]


def _cues(text: str) -> frozenset[str]:
    """Pairs of Chinese characters, and stems of longer Latin words."""
    return frozenset(t for t in terms(text) if (len(t) > 1 and not t.isascii()) or (len(t) > 3 and t not in _NO_CUES))


def _dimensions(text: str) -> frozenset[frozenset[str]]:
    words = {*text, *re.findall("[a-z]+", text)}
    return frozenset(dimension for dimension in _DIMENSIONS if dimension & words)


def _meant(unit: str, around: _Around, fitting: Sequence[Parameter]) -> tuple[Parameter, ...]:
    """The parameters that a quantity may state; empty if it belongs to something else."""
    points = {}
    for parameter in fitting:
        called = fold(" , ".join(parameter.names[1:]))
        dimensions = _dimensions(called)
        words, beside = around.words & _cues(called), around.dimensions & dimensions
        if words or beside or not around.dimensions:
            points[parameter] = len(words) + 2 * len(beside)
    best = max(points.values(), default=0)
    if best == 0 and (unit in _NEEDS_WORD or around.dimensions):
        return ()
    return tuple(parameter for parameter, count in points.items() if count == best)


def _is_exact(text: str, quantity: Quantity) -> bool:
    before, after = text[max(0, quantity.start - 16) : quantity.start], text[quantity.end :]
    said = text[quantity.start : quantity.end]
    return not (_BEFORE.search(before) or _AFTER.match(after) or re.search("[余多]", said))


# Parameters as people name them: by their name, a label, an alias, or a part that only one of them has.


_WORD = re.compile(r"(?P<string>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")|(?P<word>[^\W\d]\w*)")
_NUMBER = re.compile(r"(?<![\w.])\d+(?![\w.])")
_LEAF = re.compile(r"&&|\|\||'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")


def by_name(word: str, declared: Mapping[str, Parameter]) -> tuple[str, ...]:
    """The parameters that a word names: the one with this name, else those with a label that contains it.

    ``depth_m``, ``开挖深度``, ``深度`` and ``depth`` all mean ``depth_m`` where no other parameter is about a depth.
    """
    if word in declared:
        return (word,)
    said = _form(word)
    ways = {name: {_form(way) for way in parameter.names} for name, parameter in declared.items()}
    exact = tuple(name for name, forms in ways.items() if said in forms)
    if exact or len(said) < 2:
        return exact
    return tuple(name for name, forms in ways.items() if any(_part(said, form) for form in forms))


def meant_parameters(given: Mapping[str, object], declared: Mapping[str, Parameter]) -> dict[str, object]:
    """The given values under their canonical parameter names; unknown names are kept.

    Raises:
        InvalidRequest: a name may mean several parameters, or two names mean one and have different values.
    """
    meant: dict[str, object] = {}
    faults = []
    for word, value in given.items():
        names = by_name(word, declared)
        if len(names) > 1:
            faults.append(Fault(f"parameters.{word}", msg("may mean each of {names}", names=", ".join(names))))
            continue
        name = names[0] if names else word
        if name in meant and meant[name] != value:
            faults.append(
                Fault(
                    f"parameters.{word}",
                    msg(
                        "is {value}, and {name} is given as {meant}",
                        value=f"{value!r:.60}",
                        name=name,
                        meant=f"{meant[name]!r:.60}",
                    ),
                )
            )
        meant[name] = value
    if faults:
        raise InvalidRequest(listed(faults), faults=tuple(faults))
    return meant


def plain_condition(text: str, declared: Mapping[str, Parameter]) -> str:
    """A condition with the names of parameters in place of their labels, and 5.0 for 5 beside a number: ``高度 >= 5`` → ``height_m >= 5.0``.

    What is no label of one parameter stays, and so does a text in quotes: faults are reported when the condition is
    checked.
    """

    def named(found: re.Match[str]) -> str:
        names = by_name(found["word"], declared) if found["word"] and found["word"] not in WORDS else ()
        return names[0] if len(names) == 1 else found[0]

    renamed = _WORD.sub(named, text)
    kept, reached = [], 0
    for border in _LEAF.finditer(renamed):
        kept += [_with_decimals(renamed[reached : border.start()], declared), border[0]]
        reached = border.end()
    return "".join((*kept, _with_decimals(renamed[reached:], declared)))


def suggestion(word: str, declared: Mapping[str, Parameter]) -> str:
    """The parameter that was probably meant by an unknown name."""
    ways = {way for parameter in declared.values() for way in parameter.names}
    # Of two Chinese characters one may be wrong: 深渡 for 深度.
    return did_you_mean(word, declared) or did_you_mean(word, ways, cutoff=0.6 if word.isascii() else 0.5)


def _with_decimals(piece: str, declared: Mapping[str, Parameter]) -> str:
    types = {declared[found["word"]].type for found in _WORD.finditer(piece) if found["word"] in declared}
    return _NUMBER.sub(lambda found: f"{found[0]}.0", piece) if types == {"number"} else piece


def _form(word: str) -> str:
    return re.sub(r"[\s_-]+", " ", fold(word)).strip()


def _part(said: str, form: str) -> bool:
    """Whether a word is part of a name; Latin words must match whole words."""
    return f" {said} " in f" {form} " if form.isascii() else said in form


# Which rules are meant, as people write it: ``3,7``, ``1-50``, ``all``.


NumberSpan = tuple[int, int | None]
"""First and last number of what waits for a review; None: to the end."""
_SEPARATORS = re.compile(r"\s*[,，、;；]\s*")
_RANGE = re.compile(r"([0-9]{1,18})(?:\s*[-–—~～]\s*([0-9]{1,18}))?")
_EVERY = frozenset(("all", "全部"))


def written_numbers(text: str) -> list[int | NumberSpan]:
    """Rule numbers, and spans of rules that wait for review, in the order given.

    Raises:
        ValueError: it is none of these.
    """
    parts = [part for part in _SEPARATORS.split(unicodedata.normalize("NFKC", text).strip()) if part]
    if [part.casefold() for part in parts] in [[word] for word in _EVERY]:
        return [(1, None)]
    found = [_RANGE.fullmatch(part) for part in parts]
    if not parts or None in found:
        raise ValueError(msg("{text} is no list of rule numbers: 3,7 or 1-50, or all", text=repr(text)))
    return [int(one[1]) if one[2] is None else (int(one[1]), int(one[2])) for one in found if one]
