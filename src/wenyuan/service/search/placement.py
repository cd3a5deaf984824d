"""Places of derived rules among the passages of an answer.

A rule that answers what was asked for competes by its score, and goes first where scores are equal; one that says as much of
the question as any passage that probably answers goes first, with the highest of their scores. Where no passage probably
answers, a rule of what the question names competes by its score, and one whose subject was guessed only where it says something of the
question, and as much as they do. One that does not answer has at most a reserved share of the places, behind every passage that
probably answers, or the first where none does, and no higher score than that, so that scores fall.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set

from wenyuan.core.likelihood import LIKELY
from wenyuan.core.model import Passage
from wenyuan.core.ports import Hit
from wenyuan.core.text.analysis import OWN, search_terms
from wenyuan.core.text.injection import visible
from wenyuan.service.search.wordings import order

Ranked = list[tuple[Hit, Passage]]
Information = Callable[[Sequence[str]], Mapping[str, float]]
"""The inverse document frequency of terms."""

_RESERVE = 5
"""One place of so many is reserved for rules that do not answer."""
_COVERS = 0.6
"""A rule must say so much of the question, in proportion to the passage that says most, to answer instead of it."""
ASIDE = "aside"
"""Among the parts of a rule's score: 1 for a rule that stands behind the passages that probably answer."""
_GUESSED = 0.95
"""Below this confidence in what the question names, what a rule is about was guessed, or only leads to what is named."""
_SAYS = 0.1
"""So much of the question such a rule must say to answer it where no passage probably does."""
_FIRST = 5
"""Passages that are compared with a guessed rule where none probably answers."""
_COMPARED = 4
"""Rules that are compared with the question, for each place that there is."""


def merge_by_score(
    passages: Ranked, rules: Ranked, answering: Set[int], question: str, limit: int, information: Information
) -> Ranked:
    """Passages and rules in one order, at most `limit`, scores falling.

    Args:
        passages: Best first.
        rules: Best first.
        answering: Numbers of the rules that answer what the question asks for, or that it names without asking.
        information: Weighs the question's words.
    """
    if not passages or not rules:
        return sorted([*passages, *rules], key=order)[:limit]
    first, others = _parted(passages, rules, answering, question, _COMPARED * limit, information)
    reserved = others[: limit // _RESERVE]
    main = sorted([*passages, *first], key=order)[: limit - len(reserved)]
    probable = [pair for pair in main if pair[0].origin == "kg_rule" or pair[0].score >= LIKELY]
    behind = min((hit.score for hit, _ in probable or main[:1]), default=1.0)
    at = max((number for number, pair in enumerate(main, 1) if pair[0].score >= behind), default=0)
    lowered = [(hit._replace(score=min(hit.score, behind)), passage) for hit, passage in reserved]
    return [*main[:at], *sorted([*lowered, *main[at:]], key=order)]


def unbounded(
    passages: Ranked, rules: Ranked, answering: Set[int], question: str, information: Information
) -> Ranked:
    """Passages and rules by their scores, all of them; rules that `merge_by_score` would put behind the passages are marked `ASIDE`."""
    marked = rules
    if passages and rules:
        _, others = _parted(passages, rules, answering, question, len(rules), information)
        behind = {hit.passage_id: hit for hit, _ in others}
        marked = [(behind.get(hit.passage_id, hit), passage) for hit, passage in rules]
    return sorted([*passages, *marked], key=order)


def _parted(
    passages: Ranked, rules: Ranked, answering: Set[int], question: str, most: int, information: Information
) -> tuple[Ranked, Ranked]:
    """The rules that answer, of the first `most`, with the scores of their places; and the others, marked `ASIDE`."""
    named = [pair for pair in rules if pair[0].passage_id in answering]
    first = _answering(passages, named[:most], question, information)
    chosen = {hit.passage_id for hit, _ in first}
    others = [(hit, passage) for hit, passage in rules if hit.passage_id not in chosen]
    return first, [(hit._replace(parts={**hit.parts, ASIDE: 1.0}), passage) for hit, passage in others]


def _answering(passages: Ranked, rules: Ranked, question: str, information: Information) -> Ranked:
    """The rules that say about as much of the question as the passages that probably answer it, or else as the first ones."""
    likely = [_text(passage) for hit, passage in passages if hit.score >= LIKELY]
    share = _share(question, information)
    if not likely:
        most = max((share(_text(passage)) for _, passage in passages[:_FIRST]), default=0.0)
        return [one for one in rules if not _guessed(one[0]) or share(_text(one[1])) >= max(_SAYS, most)]
    highest = max(hit.score for hit, _ in passages)
    most = max(map(share, likely))
    told = [(hit, passage, share(_text(passage))) for hit, passage in rules]
    return [
        (hit._replace(score=max(hit.score, highest)) if said >= most and "asked" in hit.parts else hit, passage)
        for hit, passage, said in told
        if said >= (1.0 if _guessed(hit) else _COVERS) * most
    ]


def _guessed(rule: Hit) -> bool:
    """Whether the question does not name what it is about."""
    return rule.parts.get("link", 1.0) < _GUESSED


def _text(passage: Passage) -> str:
    return "\n".join((passage.title, *passage.headings, visible(passage.text)))


def _share(question: str, information: Information) -> Callable[[str], float]:
    """A function that says how much of the question's information is said in a text, 0..1."""
    wanted = [term for term in dict.fromkeys(search_terms(question)) if "~" not in term and not term.startswith(OWN)]
    weights = information(wanted)
    whole = sum(weights.values())

    def share(text: str) -> float:
        held = set(search_terms(text))
        return sum(weight for term, weight in weights.items() if term in held) / whole if whole else 1.0

    return share
