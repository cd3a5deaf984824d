"""A query and its answer: the input and output of a search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any, Literal

from wenyuan.core.filters import Filter, Scope
from wenyuan.core.json_values import described
from wenyuan.core.model import Passage
from wenyuan.core.ports import Hit, Ranking
from wenyuan.core.scoring.answerable import Strictness

if TYPE_CHECKING:
    from wenyuan.core.query_rewriting import Turn
    from wenyuan.core.scoring.copies import Copies
    from wenyuan.core.scoring.probability import Curve
    from wenyuan.core.text.wordings import Wording
    from wenyuan.service.rules.derive import Derived


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewriting:
    """The result of query rewriting by a language model.

    Attributes:
        wordings: What passed the checks; it is asked besides the question.
        follows: Whether there was a conversation before the question.
        left_out: How many did not pass, by reason.
        model, tokens_in, tokens_out, cost: What was used for it; of a replay nothing.
        ms: How long it took.
        error: Why there is none; ``""`` where the model answered.
        late: Whether it did not answer in its time: for the same request it is not asked again.
    """

    wordings: tuple[str, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)
    model: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0
    ms: float = 0.0
    error: str = ""
    late: bool = False
    follows: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A validated search query.

    Attributes:
        sources: Only these; None for all that are in force.
        seen: The sources that the caller may see, those asked for or not: in them ``source_document_uri`` is looked
            up; None for all.
        min_trust: Sources below are not searched, and no rule rests on evidence below.
        partial: It is a part of a wider question, which alone can say whether nothing was found.
        rules: Derived rules compete with passages for the limit, come beside them, or are not asked for.
        by_meaning: Whether a text that names nothing in the graph may be embedded to guess what it is about.
        engineering_type, processes, parameters: See `service.rules.unified.RuleQuestion`; the type limits passages, too.
        conversation: What was said before a question that is still to be reworded; None where it is not to be.
        rewriting: What came of that.
        follow_up: A query for what the passages lacked according to the judge, which is searched, too (`FollowUp`).
        abstain: Takes the place of the setting `search.abstain`; ``""`` for the setting.
        nearest: Whether the nearest passage is wanted where nothing is given, see `SearchAnswer.nearest`.
    """

    text: str
    limit: int
    sources: tuple[str, ...] | None = None
    seen: tuple[str, ...] | None = None
    min_trust: int = 1
    filter: Filter | None = None
    as_of: date | None = None
    source_document_uri: str = ""
    task_id: str = ""
    partial: bool = False
    rules: Literal["within", "beside", "none"] = "within"
    engineering_type: str = ""
    processes: tuple[str, ...] | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    by_meaning: bool = True
    conversation: tuple[Turn, ...] | None = None
    rewriting: Rewriting | None = None
    follow_up: str = ""
    nearest: bool = False
    abstain: Strictness | Literal[""] = ""

    @property
    def texts(self) -> tuple[str, ...]:
        """The question, and its other wordings by a language model."""
        return (self.text, *(self.rewriting.wordings if self.rewriting else ()))

    @property
    def whole(self) -> str:
        """The question as somebody understands it who does not know the conversation: within one, or without a word of its
        own, in the first of its other wordings.
        """
        if self.rewriting is None or not self.rewriting.wordings:
            return self.text
        alone = not self.rewriting.follows and any(map(str.isalnum, self.text))
        return self.text if alone else self.rewriting.wordings[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class LegReport:
    """How one leg of the search did.

    Attributes:
        state: ``ok``, ``failed`` or ``skipped``; of the latter two `error` is the reason.
        ms: Time it took, in milliseconds.
        withheld: These are not among `hits`.
        remembered: Then nothing is known of the encoder's health.
    """

    name: str
    state: str
    ms: float
    hits: int
    withheld: Annotated[int, described("Hits of a source elsewhere that are not in force on the day.")] = 0
    remembered: Annotated[bool, described("The query was not embedded anew: its vector was remembered.")] = False
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowUp:
    """The result of asking the judge what the passages lack.

    Attributes:
        state: ``searched``: its query was searched, too; ``nothing``: it says that nothing is missing; ``refused``: its query
            did not pass the checks; ``failed``: it, or the search, failed.
        query: What was searched, redacted as questions are.
        found: How many of the passages that are given were found by it alone.
        refused: Why the query did not pass, see `core.query_rewriting.Left`.
        error: Why it failed.
    """

    state: Literal["searched", "nothing", "refused", "failed"]
    query: str = ""
    found: int = 0
    refused: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Confidence:
    """How many passages are given where ``top_k`` is ``confidence``, and why.

    Attributes:
        state: ``stopped``: the judge's calibrated probability reached the threshold; ``all``: it never did, and all that may be given
            is; ``auto``: scores decided, for the `reason`.
        k: Passages that are given, derived rules not counted.
        judge: Its model.
        asked: Of each question to it: the number of passages, its raw number, and its calibrated probability.
        threshold, risk, questions: See `core.scoring.risk.Calibration`.
        calibration: The number of the calibration.
        follow_up: The result of asking it what is missing; None where it was not asked.
    """

    state: Literal["stopped", "all", "auto"]
    k: int = 0
    reason: str = ""
    judge: str = ""
    asked: tuple[tuple[int, float, float], ...] = ()
    threshold: float = 0.0
    risk: float = 0.0
    questions: int = 0
    calibration: int = 0
    follow_up: FollowUp | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchAnswer:
    """A ranking with its passages. Empty only when nothing was found; `reason` then says why.

    Attributes:
        generation: The change of the catalog that was searched.
        scope, trusts, floors: What was searched in the end, how it was weighed, and what was too little; for the audit.
        stale: Since when each overdue source is, by its id.
        stale_by: Seconds since the oldest change not yet in the index; 0 for none.
        audit_id: Of its record; ``""`` while there is none.
        derived: What the rules leg answered; None when it was not asked, or there are no rules.
        degraded: Names of the legs that failed though they were allowed to.
        weight: Of the vector leg, where it was asked.
        curve: How the scores of our own passages became probabilities; None where they did not.
        tuning: Fingerprint of what was learned from judged questions and counted; ``""`` for nothing.
        wordings: Other wordings in which the question was asked, too: those of the keyword leg by the library's synonyms, and
            those by a language model, which have no entries; part ``wording`` of a hit is the number of the one that fits it
            best, counted from 1.
        answerable: The probability that what was searched of our own holds an answer; None where nothing was searched.
        missing_terms: Codes and things that the question names and that stand nowhere in what was searched of our own.
        calibrated: Whether probabilities were measured with the library's encoder; false for all but the built-in one.
        copies: Passages that say the same as one of `hits`, or as `nearest`, and are not given themselves.
        nearest: The best of our own passages where nothing is given since an answer is too unlikely, for who wants to see it;
            no answer and no evidence. None elsewhere.
        confidence: How many of the passages suffice; None where that was not asked.
        rewriting: The result of query rewriting; None where none were asked for.
    """

    hits: Ranking
    passages: Mapping[int, Passage]
    mode: str
    floor: float
    legs: tuple[LegReport, ...]
    generation: int = 0
    scope: Scope | None = None
    trusts: Mapping[str, int] = field(default_factory=dict)
    floors: Mapping[str, float] = field(default_factory=dict)
    reason: str = ""
    ms: Mapping[str, float] = field(default_factory=dict)
    stale: Mapping[str, str] = field(default_factory=dict)
    stale_by: float = 0.0
    audit_id: str = ""
    derived: Derived | None = None
    weight: float = 0.0
    curve: Curve | None = None
    tuning: str = ""
    wordings: tuple[Wording, ...] = ()
    answerable: float | None = None
    missing_terms: tuple[str, ...] = ()
    calibrated: bool = True
    copies: Copies = field(default_factory=dict)
    confidence: Confidence | None = None
    rewriting: Rewriting | None = None
    nearest: tuple[Hit, Passage] | None = None

    def wording_of(self, hit: Hit) -> str:
        """The other wording of the question that matches a hit best; ``""`` where the question itself does."""
        number = int(hit.parts.get("wording", 0))
        return self.wordings[number - 1].text if number else ""

    @property
    def with_copies(self) -> list[Hit]:
        """The hits, each followed by its copies, for measuring."""
        return [
            hit._replace(passage_id=number)
            for hit in self.hits
            for number in (hit.passage_id, *(copy.passage_id for copy in self.copies.get(hit.passage_id, ())))
        ]

    @property
    def degraded(self) -> tuple[str, ...]:
        return tuple(leg.name for leg in self.legs if leg.state == "failed")
