"""Requests and results of answers by a language model, and their JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Annotated, Any, Literal

from wenyuan.core.access import DomainScope
from wenyuan.core.arguments import checking_fields
from wenyuan.core.errors import Fault, InvalidRequest, LlmError, msg
from wenyuan.core.filters import Filter
from wenyuan.core.json_values import as_json, described
from wenyuan.core.places import ClaimDifference
from wenyuan.core.ports import ModelReply
from wenyuan.core.prompt_parts import LOW_TRUST
from wenyuan.core.query_rewriting import Turn
from wenyuan.service.query import Rewriting
from wenyuan.service.search.searcher import SearchRequest, SearchResult
from wenyuan.service.verification import ContradictedRule

Origin = Literal["model", "quote", "rule", "extractive"]
MOST_PASSAGES = 20


@checking_fields
@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRequest:
    """A question to answer, with limits as in `SearchRequest`.

    Attributes:
        limit: Passages that the model is shown, where neither agent nor scope says how many.
        task_id: Copyright limits count over everything given to one task of the agent.
        on_failure: What happens when the model fails: the request fails, or is answered by extracts.
        stream: Whether an interface that can do so sends stages as events.
        conversation: See `SearchRequest`.
    """

    query: str
    agent_id: str | None = None
    knowledge_scope: tuple[DomainScope, ...] | None = None
    min_trust: int = LOW_TRUST
    filter: Filter | None = None
    as_of: date | None = None
    task_id: str = ""
    limit: int = 8
    on_failure: Literal["fail", "extract"] = "fail"
    stream: bool = False
    conversation: tuple[Turn, ...] | None = None

    def __post_init__(self) -> None:
        if type(self.limit) is not int or not 1 <= self.limit <= MOST_PASSAGES:
            said = msg("must be 1 to {most}, not {count}", most=MOST_PASSAGES, count=repr(self.limit))
            fault = Fault("limit", said)
            raise InvalidRequest(msg("{place} {fault}", place="limit", fault=said), faults=(fault,))

    @property
    def search(self) -> SearchRequest:
        """The search for the question, restricted to stored passages, since only these can be quoted."""
        return SearchRequest(
            query=self.query, agent_id=self.agent_id, knowledge_scope=self.knowledge_scope, min_trust=self.min_trust,
            filter=self.filter, as_of=self.as_of, task_id=self.task_id, limit=self.limit, summary=False, rules="beside",
            own=True, conversation=self.conversation,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """What a claim rests on: the source's own words; offsets into the passage's text, null for the clause of a rule.

    Attributes:
        source: Address.
        ref: Short address of the passage or rule.
    """

    source: str
    quote: str
    start: int | None
    end: int | None
    ref: str
    source_id: str
    title: str
    trust: int
    clause: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerClaim:
    """A claim of an answer.

    Attributes:
        origin: Whose words it has: the model's, which are the source's; the source's in place of the model's (``quote``);
            a rule's; or those of an extract, without a model.
        checks: What it passed.
    """

    text: str
    citation: Citation
    origin: Origin
    checks: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class DroppedClaim:
    """What the model said that is not in the answer, and why.

    Attributes:
        passage: What it cited.
        changes, rule: As in `verify`.
    """

    text: str
    passage: str
    reason: str
    replaced: Annotated[bool, described("The quoted sentences are in the answer in its place.")]
    changes: tuple[ClaimDifference, ...]
    rule: ContradictedRule | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """The result of an answer request.

    Attributes:
        origin: ``model``, ``extractive`` or ``rules``; ``""`` where there is none.
        reason: Why there is none, or why it is extractive.
        missing: The words of the question that the model says the passages have no answer to.
        failure: What failed, where the answer is extractive for that.
        withheld: Passages that the model was not shown, by reason.
        shown: Those that it was shown.
        reply: Usage of the model; None where it was not asked.
        rules_left: Number of further mandatory rules that apply and are not in the answer.
    """

    claims: tuple[AnswerClaim, ...]
    dropped: tuple[DroppedClaim, ...]
    found: SearchResult
    as_of: date
    origin: Literal["model", "extractive", "rules", ""] = ""
    reason: str = ""
    missing: str = ""
    failure: LlmError | None = None
    withheld: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    shown: tuple[str, ...] = ()
    model: str = ""
    reply: ModelReply[Any] | None = None
    rules_left: int = 0
    audit_id: str = ""

    @property
    def text(self) -> str | None:
        """The claims as text, each with the number of its citation; None without an answer."""
        return "\n".join(f"{claim.text} [{n}]" for n, claim in enumerate(self.claims, 1)) or None


def fates(claims: Sequence[AnswerClaim], dropped: Sequence[DroppedClaim]) -> dict[str, Any]:
    """The results of a model's claims without texts: cited passages, or the reason for dropping."""
    return {
        "claims": [
            {"passage": c.citation.ref, "start": c.citation.start, "end": c.citation.end, "origin": c.origin}
            for c in claims
        ],
        "dropped": [{"passage": d.passage, "reason": d.reason, "replaced": d.replaced} for d in dropped],
    }


def as_data(answered: Answered, fragments: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """JSON values of an answer, the same for all interfaces."""
    reply = answered.reply
    return {
        "answer": answered.text,
        "origin": answered.origin or None,
        "reason": answered.reason,
        "missing": answered.missing,
        "claims": [claim_as_data(claim) for claim in answered.claims],
        "dropped": as_json(answered.dropped),
        "counts": dict(Counter(one.reason for one in answered.dropped)),
        "withheld": {why: list(refs) for why, refs in answered.withheld.items()},
        "rules_left": answered.rules_left,
        "fragments": list(fragments),
        "model": None if reply is None else {
            "name": answered.model, "tokens_in": reply.tokens_in, "tokens_out": reply.tokens_out, "cost": reply.cost,
        },
        "as_of": answered.as_of.isoformat(),
        "generation": answered.found.generation,
        "degraded": list(answered.found.degraded),
        "audit_id": answered.audit_id or None,
        **rewritten(answered.found.rewriting),
    }  # fmt: skip


def rewritten(rewriting: Rewriting | None) -> dict[str, Any]:
    """The member that says in which words the question was asked, too; nothing where none were asked for."""
    if rewriting is None:
        return {}
    return {"rewritten": {"questions": list(rewriting.wordings), "left_out": dict(rewriting.left_out)}}


def claim_as_data(claim: AnswerClaim) -> dict[str, Any]:
    """JSON values of a claim."""
    return {
        "text": claim.text, "origin": claim.origin, "citations": [as_json(claim.citation)], "checks": dict(claim.checks),
    }  # fmt: skip
