"""Questions that mean the same, in groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from wenyuan.core.gaps import GapDecision, KnowledgeGap, UnansweredQuestion, digest_of
from wenyuan.core.text.alternatives import alternatives_in, exclude
from wenyuan.core.text.analysis import search_terms

SAME = 0.58
"""Two questions mean the same from this cosine on, after the mean of general questions is taken from their vectors."""
_SAME_TERMS = 0.6
"""Without vectors: from this share of common terms on."""
_MOST_LISTED = 20


def groups_of(texts: Sequence[str], vectors: np.ndarray | None) -> list[int]:
    """For each distinct text the number of its group: that of the first one which it is like, or a new one.

    Args:
        vectors: Of the texts, centred and of length 1; None where there is no encoder.
    """
    alike = _LikeVectors(vectors) if vectors is not None else _LikeTerms(texts)
    leaders: list[int] = []
    numbers: list[int] = []
    named = [_names(text) for text in texts]  # E-34 and E-75 mean different things in equal words
    ways = [alternatives_in(text) for text in texts]  # and so do the north gate and the south gate
    of_name: dict[frozenset[str], list[int]] = {}
    for at in range(len(texts)):
        every = of_name.setdefault(named[at], [])
        known = [number for number in every if not exclude(ways[at], ways[leaders[number]])]
        nearest = alike.nearest(at, [leaders[number] for number in known])
        if nearest is None:
            every.append(len(leaders))
            numbers.append(len(leaders))
            leaders.append(at)
        else:
            numbers.append(known[nearest])
    return numbers


def _names(text: str) -> frozenset[str]:
    """Its numbers and codes."""
    return frozenset(term for term in _words(text) if "_" in term or any(c.isdigit() for c in term))


def _words(text: str) -> frozenset[str]:
    return frozenset(term for term in search_terms(text) if "~" not in term)  # without pairs of words


class _LikeVectors:
    def __init__(self, vectors: np.ndarray) -> None:
        self._vectors = vectors

    def nearest(self, at: int, leaders: Sequence[int]) -> int | None:
        if not leaders:
            return None
        near = self._vectors[leaders] @ self._vectors[at]
        best = int(np.argmax(near))
        return best if near[best] >= SAME else None


class _LikeTerms:
    def __init__(self, texts: Sequence[str]) -> None:
        self._terms = [_words(text) for text in texts]

    def nearest(self, at: int, leaders: Sequence[int]) -> int | None:
        own = self._terms[at]
        shares = [len(own & self._terms[one]) / max(1, len(own | self._terms[one])) for one in leaders]
        best = max(range(len(shares)), key=shares.__getitem__, default=None)
        return best if best is not None and shares[best] >= _SAME_TERMS else None


def gaps_of(
    questions: Sequence[UnansweredQuestion],
    number_of: Mapping[str, int],
    decisions: Mapping[str, GapDecision],
    owners: Mapping[str, str],
) -> list[KnowledgeGap]:
    """The gaps of questions, those asked most often first.

    Args:
        questions: Oldest first.
        number_of: The group of each question, by its digest.
        decisions: By digest; the newest one on any wording of a group counts for the group.
        owners: Who answers for a source, by its id.
    """
    members: dict[int, list[UnansweredQuestion]] = {}
    for question in questions:
        members.setdefault(number_of[digest_of(question.text)], []).append(question)
    found = [_gap(of, decisions, owners) for of in members.values()]
    return sorted(found, key=lambda gap: (-gap.count, -gap.last_at, gap.gap_id))


def _gap(
    questions: Sequence[UnansweredQuestion], decisions: Mapping[str, GapDecision], owners: Mapping[str, str]
) -> KnowledgeGap:
    shown = {digest_of(question.text): question.text for question in questions}
    often = Counter(digest_of(question.text) for question in reversed(questions))
    best = max(questions, key=lambda question: question.score)
    decided = [decisions[digest] for digest in shown if digest in decisions]
    return KnowledgeGap(
        gap_id=digest_of(questions[0].text),
        question=shown[often.most_common(1)[0][0]],
        wordings=tuple(shown[digest] for digest, _ in often.most_common()),
        count=len(questions),
        reasons=dict(Counter(question.reason for question in questions).most_common()),
        agents=tuple(sorted({question.agent for question in questions})),
        first_at=questions[0].at,
        last_at=questions[-1].at,
        score=best.score,
        address=best.address,
        source_id=best.source_id,
        audit_ids=tuple(question.audit_id for question in reversed(questions[-_MOST_LISTED:])),
        decision=max(decided, key=lambda decision: decision.at, default=None),
        owner=owners.get(best.source_id, ""),
    )
