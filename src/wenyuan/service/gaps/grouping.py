"""Questions that mean the same, in groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from wenyuan.core.gaps import GapDecision, GapState, KnowledgeGap, UnansweredQuestion, state_of
from wenyuan.core.text.alternatives import Alternatives, alternatives_in, exclude
from wenyuan.core.text.analysis import search_terms

SAME = 0.58
"""Two questions mean the same from this cosine on, after the mean of general questions is taken from their vectors."""
_SAME_TERMS = 0.6
"""Without vectors: from this share of common terms on."""
_MOST_LISTED = 20


class QuestionGroups:
    """Gives each distinct text the number of its group: that of the first one which it is like, or a new one."""

    def __init__(self) -> None:
        self._of_name: dict[frozenset[str], _Leaders] = {}
        self._count = 0

    def add(self, texts: Sequence[str], vectors: np.ndarray | None) -> list[int]:
        """The numbers of texts, which are new.

        Args:
            vectors: Of the texts, centred and of length 1; None where there is no encoder.
        """
        return [self._number(text, None if vectors is None else vectors[at]) for at, text in enumerate(texts)]

    def _number(self, text: str, vector: np.ndarray | None) -> int:
        # E-34 and E-75 mean different things in equal words, and so do the north gate and the south gate
        leaders = self._of_name.setdefault(_names(text), _Leaders())
        ways = alternatives_in(text)
        terms = _words(text) if vector is None else frozenset()
        found = leaders.nearest(ways, vector, terms)
        if found is not None:
            return found
        self._count += 1
        leaders.add(self._count - 1, ways, vector, terms)
        return self._count - 1


class _Leaders:
    """The first questions of groups that name the same numbers and codes."""

    def __init__(self) -> None:
        self._numbers: list[int] = []
        self._ways: list[Alternatives] = []
        self._terms: list[frozenset[str]] = []
        self._vectors = np.zeros((0, 0), np.float32)

    def add(self, number: int, ways: Alternatives, vector: np.ndarray | None, terms: frozenset[str]) -> None:
        at = len(self._numbers)
        self._numbers.append(number)
        self._ways.append(ways)
        self._terms.append(terms)
        if vector is not None:
            if at >= len(self._vectors):
                grown = np.zeros((max(16, 2 * at), len(vector)), np.float32)
                if at:
                    grown[:at] = self._vectors
                self._vectors = grown
            self._vectors[at] = vector

    def nearest(self, ways: Alternatives, vector: np.ndarray | None, terms: frozenset[str]) -> int | None:
        """The number of the group that a question belongs to; None: of none of these."""
        count = len(self._numbers)
        if not count:
            return None
        if vector is not None:
            near, least = self._vectors[:count] @ vector, SAME
        else:
            near = np.array([len(terms & own) / max(1, len(terms | own)) for own in self._terms])
            least = _SAME_TERMS
        enough = np.flatnonzero(near >= least)
        best: list[int] = enough[np.argsort(-near[enough], kind="stable")].tolist()
        for at in best:
            if not exclude(ways, self._ways[at]):
                return self._numbers[at]
        return None


def groups_of(texts: Sequence[str], vectors: np.ndarray | None) -> list[int]:
    """For each distinct text the number of its group.

    Args:
        vectors: Of the texts, centred and of length 1; None where there is no encoder.
    """
    return QuestionGroups().add(texts, vectors)


def _names(text: str) -> frozenset[str]:
    """Its numbers and codes."""
    return frozenset(term for term in _words(text) if "_" in term or any(c.isdigit() for c in term))


def _words(text: str) -> frozenset[str]:
    return frozenset(term for term in search_terms(text) if "~" not in term)  # without pairs of words


def gaps_of(
    questions: Sequence[UnansweredQuestion],
    number_of: Mapping[str, int],
    decisions: Mapping[str, GapDecision],
    owners: Mapping[str, str],
    *,
    state: GapState | None = None,
    wanted: str = "",
    limit: int | None = None,
) -> tuple[list[KnowledgeGap], int]:
    """The gaps of questions, those asked most often first, and how many there are.

    Args:
        questions: Oldest first.
        number_of: The group of each question, by its digest.
        decisions: By digest; the newest one on any wording of a group counts for the group.
        owners: Who answers for a source, by its id.
        state: Only those in this state.
        wanted: Only the one with a wording of this digest.
        limit: At most so many; those that are left out are counted.
    """
    # Arrays, not objects for each group: of a hundred thousand that would cost more than all else.
    numbers = np.fromiter((number_of[one.digest] for one in questions), np.int64, len(questions))
    groups, group_of, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    decided = _decisions(questions, group_of, decisions)
    there = np.full(len(groups), state in (None, state_of(None)))
    for group, decision in decided.items():
        there[group] = state in (None, state_of(decision))
    if wanted:
        of_it = [group_of[at] for at, one in enumerate(questions) if one.digest == wanted]
        there &= np.isin(np.arange(len(groups)), of_it)
    last = np.zeros(len(groups))
    last[group_of] = np.fromiter((one.at for one in questions), np.float64, len(questions))  # the last of each stays
    candidates = np.flatnonzero(there)
    order = candidates[np.lexsort((-last[candidates], -counts[candidates]))]
    shown: list[int] = order[:limit].tolist()
    members: dict[int, list[UnansweredQuestion]] = {group: [] for group in shown}
    for at in np.flatnonzero(np.isin(group_of, shown)).tolist():
        members[int(group_of[at])].append(questions[at])
    return [_gap(of, decided.get(group), owners) for group, of in members.items()], len(order)


def _decisions(
    questions: Sequence[UnansweredQuestion], group_of: np.ndarray, decisions: Mapping[str, GapDecision]
) -> dict[int, GapDecision]:
    """By group, the newest decision on any of its wordings; groups without one are absent."""
    found: dict[int, GapDecision] = {}
    for at, one in enumerate(questions) if decisions else ():
        if (decision := decisions.get(one.digest)) is not None:
            group = int(group_of[at])
            found[group] = max(found.get(group, decision), decision, key=lambda each: each.at)
    return found


def _gap(
    questions: Sequence[UnansweredQuestion], decision: GapDecision | None, owners: Mapping[str, str]
) -> KnowledgeGap:
    shown = {question.digest: question.text for question in questions}
    often = Counter(question.digest for question in reversed(questions))
    best = max(questions, key=lambda question: question.score)
    return KnowledgeGap(
        gap_id=questions[0].digest,
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
        decision=decision,
        owner=owners.get(best.source_id, ""),
    )
