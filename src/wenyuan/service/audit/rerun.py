"""A recorded request, run once more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Literal

from wenyuan.core.scoring.probability import key_of
from wenyuan.service.audit.request_entry import synonyms_of
from wenyuan.service.audit.retrieval_entry import fragment_entries
from wenyuan.service.query import SearchAnswer

# Asking a recorded question again: the same answer, or what has changed since and made it another.
#
# The question is asked of the library as it is now, which says *why* an answer differs, or of the library as it was
# (`past_library.rerun_at`), which shows that the answer was right then.


Cause = Literal[
    "record erased", "query erased", "query not kept", "query redacted", "texts not kept", "status", "settings changed", "encoder changed", "document changed",
    "document removed", "passage corrected", "context sentence changed", "source removed", "source changed", "validity", "left the scope", "passages added",
    "outranked", "order", "scores changed", "outside source", "unknown passage", "unexplained", "measured anew",
    "index merged",
    "tuning changed", "rule retired", "rule expired", "rule withdrawn", "rule not derived", "rule changed",
    "reranker changed", "calibration changed", "program changed", "synonyms changed", "verdict changed",
    "judge changed",
]  # fmt: skip

TOLERANCE = 1e-5
"""Scores that differ by less are the same: floating-point sums may be made in another order, and a probability changes
up to forty times as fast as what it is made of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One difference between the answers, or a cause of it; `ref` names the passage concerned."""

    what: Cause
    detail: str
    ref: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """The result of a replay: whether passages, texts, scores and order are those of the record.

    Attributes:
        asked: Whether the question could be asked again. Where it could not, `differences` say why, and what has
            become of the passages; nothing is identical then.
    """

    identical: bool
    differences: tuple[Difference, ...] = ()
    asked: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Rerun:
    """An answer given now, in the form of a record.

    Attributes:
        fragments: As `audit.retrieval_entry.fragment_entries` makes them.
        nearest: Likewise, of what was shown as the nearest passage where nothing was given.
        sources: Ids of what was searched.
        synonyms: Numbers of the library's synonyms that gave the question other wordings.
        reranker: How it did: ``ok``, ``failed``, ``skipped``; ``""`` without one.
        curve: How scores became probabilities; ``""`` where they did not.
        measured: What was measured of the library, and how it counts; see `SearchAnswer.floors`.
        sufficed: Where the recorded numbers of a judge lead now, see `service.search.sufficiency.k_again`; ``""`` without any.
    """

    fragments: Sequence[Mapping[str, Any]]
    generation: int
    settings_digest: str
    encoder_key: str
    sources: frozenset[str]
    as_of: date
    nearest: Sequence[Mapping[str, Any]] = ()
    status: str = "SUCCESS"
    error: str = ""
    tuning: str = ""
    synonyms: Sequence[int] = ()
    reranker: str = ""
    curve: str = ""
    measured: Mapping[str, float] = field(default_factory=dict)
    sufficed: str = ""


def rerun_of(
    answer: SearchAnswer, *, settings_digest: str, encoder_key: str, sources: Iterable[str], as_of: date
) -> Rerun:
    """An answer of `Retriever.retrieve` as a `Rerun`."""
    return Rerun(
        fragments=fragment_entries((hit, answer.passages[hit.passage_id]) for hit in answer.hits),
        nearest=fragment_entries(filter(None, [answer.nearest])),
        generation=answer.generation,
        settings_digest=settings_digest,
        encoder_key=encoder_key,
        sources=frozenset(sources),
        as_of=as_of,
        tuning=answer.tuning,
        synonyms=synonyms_of(answer),
        reranker=next((leg.state for leg in answer.legs if leg.name == "reranker"), ""),
        curve=key_of(answer.floors),
        measured=answer.floors,
    )
