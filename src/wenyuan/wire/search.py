"""JSON models of search, context and feedback."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Annotated, Any, Literal, Protocol, TypeVar, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, WithJsonSchema
from pydantic.json_schema import SkipJsonSchema

from wenyuan.core.access import AUTO, CONFIDENCE, MAX_DOMAINS, MAX_TOP_K, DomainScope, parse_scope
from wenyuan.core.answering import MOST_TURNS, Turn, conversation
from wenyuan.core.contract import required_query
from wenyuan.core.errors import Fault, InvalidRequest, did_you_mean, listed, msg
from wenyuan.core.filters import parse_filter
from wenyuan.core.model import MAX_RESULTS
from wenyuan.core.prompt import Snippet
from wenyuan.service import Confidence, FollowUp
from wenyuan.service.context import MAX_EXTRA_QUERIES, Context, ContextRequest
from wenyuan.service.fragments import about_hit
from wenyuan.service.generation.answers import Answered, as_data, rewritten
from wenyuan.service.learning.tuning import MAX_JUDGED
from wenyuan.service.search.searcher import Found, SearchRequest, SearchResult
from wenyuan.wire import HISTORY, NEAREST, REWRITE, Day, MayFail, QueryText, Text, TurnShape, no_default
from wenyuan.wire.strict_json import MAX_FAULTS, ROOT, shown, unbranched, wrong

# The JSON shapes of the knowledge service (``/search``) and of the context service (``/context``).
#
# The published models are those that validate requests, and all faults are reported at once.


MAX_TOKEN_BUDGET = 100_000
S = TypeVar("S", bound=BaseModel)


class Rewritable(Protocol):
    """A body whose question a language model may say in other words."""

    rewrite: bool
    history: list[TurnShape] | None


def _top_k(value: object) -> object:
    if value not in (AUTO, CONFIDENCE) and (type(value) is not int or not 1 <= value <= MAX_TOP_K):
        said = msg('must be an integer from 1 to {max_top_k}, "auto" or "confidence"', max_top_k=MAX_TOP_K)
        raise wrong("top_k", said)
    return value


TopK = Annotated[
    Any,
    AfterValidator(_top_k),
    WithJsonSchema(
        {"anyOf": [{"type": "integer", "minimum": 1, "maximum": MAX_TOP_K}, {"enum": [AUTO, CONFIDENCE]}]}
    ),
]


def _summary(value: Any) -> Any:
    if not isinstance(value, bool) and value != GENERATED:
        raise wrong("summary", "must be true or false, or generated")
    return value


GENERATED = "generated"
Summary = Annotated[
    Any, AfterValidator(_summary), WithJsonSchema({"anyOf": [{"type": "boolean"}, {"const": GENERATED}]})
]


History = Annotated[list[TurnShape], Field(max_length=MOST_TURNS)] | None


class Strict(BaseModel):
    """A body that has no members but these, of these types and no others."""

    model_config = ConfigDict(extra="forbid", strict=True)


class ScopeShape(Strict):
    """A knowledge domain, and how many passages of it."""

    domain: str = Field(min_length=1)
    top_k: TopK = 3


class SearchRequestShape(Strict):
    """What to search for. It may narrow what the caller may see, never widen it."""

    query: QueryText
    agent_id: Text | None = Field(None, description="Whose knowledge scope counts.")
    knowledge_scope: Annotated[list[ScopeShape], Field(min_length=1, max_length=MAX_DOMAINS)] | None = Field(
        None, description="Each domain once. Without it, all of the agent's; without an agent, every source."
    )
    min_trust: int = Field(1, ge=1, le=5)
    filters: dict[str, Any] | None = Field(
        None, description='{"field": value | [values] | {"ge": …, "le": …}}, joined by AND; "and", "or", "not".'
    )
    summary: Summary = Field(
        True, description="Whether each passage has its extract of 50-100 tokens; `generated`: a language model chooses its sentences.",
    )  # fmt: skip
    as_of: Day | None = Field(None, description="Answer as of this day (YYYY-MM-DD).")
    source_document_uri: Text | None = None
    task_id: Text | None = None
    limit: int = Field(10, ge=1, le=MAX_RESULTS, description="Passages in all, where no domain is named.")
    nearest: bool = Field(False, description=NEAREST)
    rewrite: bool = Field(False, description=REWRITE)
    history: History = Field(None, description=HISTORY)


class ContextRequestShape(Strict):
    """What an agent needs to know now."""

    agent_id: Text | None = None
    retrieval_query: QueryText | None = Field(None, description="Required, or `query`, which means the same.")
    query: QueryText | None = Field(None, description="The same as `retrieval_query`; both must not differ.")
    extra_queries: list[QueryText] = Field(default_factory=list, max_length=MAX_EXTRA_QUERIES)
    top_k: dict[str, TopK] | None = Field(None, description="By domain, another number than the agent's scope has.")
    allow_low_trust: bool | None = Field(None, description="Let passages of trust below 3 in.")
    token_budget: int | None = Field(None, ge=1, le=MAX_TOKEN_BUDGET, description="At most the agent's own.")
    task_id: Text | None = Field(None, description="Copyright limits count over all contexts of one task.")
    source_document_uri: Text | None = None
    summary: Literal["extractive", "generated"] = Field(
        "extractive",
        description="What is given of a passage: its extract, or sentences that a language model chooses.",
    )
    rewrite: bool = Field(False, description=REWRITE)
    history: History = Field(None, description=HISTORY)


class LegShape(BaseModel):
    """How one leg of the search did."""

    name: str
    state: str
    ms: float
    hits: int
    withheld: int | SkipJsonSchema[None] = Field(
        None, json_schema_extra=no_default, description="Hits of a source elsewhere that are not in force on the day."
    )
    remembered: bool | SkipJsonSchema[None] = Field(
        None, json_schema_extra=no_default, description="The query was not embedded anew: its vector was remembered."
    )
    error: str | SkipJsonSchema[None] = Field(None, json_schema_extra=no_default)


class CoverageShape(BaseModel):
    """Which legs answered, and the names of those that failed though the answer stands without them."""

    legs: list[LegShape]
    degraded: list[str]
    answerable: float | SkipJsonSchema[None] = Field(
        None,
        description="The probability that what was searched holds an answer, 0..1; not there where nothing had to be asked.",
        json_schema_extra=no_default,
    )
    missing_terms: list[str] | SkipJsonSchema[None] = Field(
        None,
        description="Codes that the question names and that stand nowhere in what was searched; not there for none.",
        json_schema_extra=no_default,
    )
    confidence: dict[str, dict[str, Any]] | SkipJsonSchema[None] = Field(
        None,
        description="By domain whose `top_k` is `confidence`: how many passages suffice, by which judge, at which risk it may be believed, and what it said is missing.",
        json_schema_extra=no_default,
    )
    stale_by: float | SkipJsonSchema[None] = Field(
        None,
        description="Seconds since the oldest change that was not searched, while somebody writes; not there for none.",
        json_schema_extra=no_default,
    )


_STALE = "Since when the refresh of its source is overdue (ISO 8601, UTC); not there while it is not."


class PassageShape(BaseModel):
    """A passage that was found."""

    model_config = ConfigDict(extra="allow")

    source: str = Field(description="Short address: crm_policy#42.")
    source_id: str
    uri: str
    title: str
    heading: str
    content: str
    summary: str
    trust: int
    score: Annotated[float, Field(ge=0.0, le=1.0)]
    domain: str
    origin: str
    priority: int
    scores: dict[str, float]
    summary_origin: Literal["generated", "extractive"] | SkipJsonSchema[None] = Field(
        None, description="Who chose the summary, where a language model was to.", json_schema_extra=no_default
    )
    rule: dict[str, Any] | SkipJsonSchema[None] = Field(
        None, description="Of a derived rule: its path, evidence and condition.", json_schema_extra=no_default
    )
    stale_since: str | SkipJsonSchema[None] = Field(None, description=_STALE, json_schema_extra=no_default)
    calibrated: bool | SkipJsonSchema[None] = Field(
        None, description="false: probabilities were not measured with the library's encoder.",
        json_schema_extra=no_default,
    )  # fmt: skip
    also_in: list[dict[str, Any]] | SkipJsonSchema[None] = Field(
        None, description="Where else the same stands: passages that are not given themselves.",
        json_schema_extra=no_default,
    )  # fmt: skip


class SearchAnswerShape(MayFail):
    """SUCCESS with passages by falling score; or FAILED with a reason, without passages."""

    status: Literal["SUCCESS", "FAILED"]
    passages: list[PassageShape]
    coverage: CoverageShape | SkipJsonSchema[None] = Field(None, json_schema_extra=no_default)
    metadata: dict[str, Any] | SkipJsonSchema[None] = Field(None, json_schema_extra=no_default)
    reasons: dict[str, str] | SkipJsonSchema[None] = Field(
        None, description="By domain, why nothing was found there.", json_schema_extra=no_default
    )
    nearest: list[PassageShape] | SkipJsonSchema[None] = Field(
        None,
        description="Where the request wants it, the nearest passage of each domain in which an answer is too unlikely: no answer and no evidence.",
        json_schema_extra=no_default,
    )


class SnippetShape(BaseModel):
    """What enters a prompt."""

    source: str
    content: str
    trust: int
    uri: str
    title: str
    heading: str
    score: float
    origin: str
    priority: int
    refs: list[str]
    attribution: str
    flags: list[str]
    tokens: int
    stale_since: str | SkipJsonSchema[None] = Field(None, description=_STALE, json_schema_extra=no_default)


class ContextDataShape(BaseModel):
    """The member CONTEXT_DATA of a prompt."""

    knowledge_snippets: list[SnippetShape]


class ContextAnswerShape(MayFail):
    """SUCCESS with snippets, perhaps none; or FAILED with a reason and none."""

    status: Literal["SUCCESS", "FAILED"]
    CONTEXT_DATA: ContextDataShape
    withheld: dict[str, int] | SkipJsonSchema[None] = Field(
        None, description="Passages kept back, by reason.", json_schema_extra=no_default
    )
    tokens: int | SkipJsonSchema[None] = Field(None, json_schema_extra=no_default)
    coverage: CoverageShape | SkipJsonSchema[None] = Field(None, json_schema_extra=no_default)
    metadata: dict[str, Any] | SkipJsonSchema[None] = Field(None, json_schema_extra=no_default)


# --- in -------------------------------------------------------------------------------------------------
def checked(shape: type[S], payload: object) -> S:
    """Validate a body against a model.

    Raises:
        InvalidRequest: listing every fault, an unknown member with the one that may have been meant.
    """
    try:
        return shape.model_validate(payload)
    except ValidationError as error:
        details = error.errors(include_url=False, include_input=False)
        faults = [_fault(*told, shape) for told in unbranched(details[:MAX_FAULTS], payload)]
        raise _invalid(faults) from error


def _fault(steps: Sequence[str | int], kind: str, said: str, shape: type[BaseModel]) -> Fault:
    path = "".join(f"[{step}]" if isinstance(step, int) else f".{shown(step)}" for step in steps)
    path = path.removeprefix(".") or ROOT
    if kind == "extra_forbidden":
        return Fault(path, msg("is unknown{near}", near=did_you_mean(str(steps[-1]), _known(shape, steps[:-1]))))
    return Fault(path, said)


def _known(shape: type[BaseModel], steps: Iterable[str | int]) -> Iterable[str]:
    """The member names of the model at a place within a model."""
    for step in steps:
        if isinstance(step, str):
            shape = _model_in(shape.model_fields[step].annotation) or shape
    return shape.model_fields


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := _model_in(part))), None)


def _invalid(faults: list[Fault]) -> InvalidRequest:
    return InvalidRequest(listed(faults[:3]), faults=tuple(faults))


def search_from_wire(payload: object) -> SearchRequest:
    """Parse a search request; InvalidRequest lists every fault."""
    body = checked(SearchRequestShape, payload)
    scope = None
    if body.knowledge_scope is not None:
        scope = parse_scope([entry.model_dump() for entry in body.knowledge_scope])
    return SearchRequest(
        query=body.query,
        agent_id=body.agent_id,
        knowledge_scope=scope,
        min_trust=body.min_trust,
        filter=None if body.filters is None else parse_filter(body.filters),
        as_of=None if body.as_of is None else date.fromisoformat(body.as_of),
        source_document_uri=body.source_document_uri or "",
        task_id=body.task_id or "",
        limit=body.limit,
        summary=body.summary,
        conversation=conversation_of(body),
        nearest=body.nearest,
    )


def context_from_wire(payload: object) -> ContextRequest:
    """Parse a context request; InvalidRequest lists every fault."""
    body = checked(ContextRequestShape, payload)
    if body.top_k is not None:
        # The same rules as for a scope that is written out; an empty object changes nothing.
        parse_scope([{"domain": d, "top_k": k} for d, k in body.top_k.items()] or [{"domain": "-"}], "top_k")
    return ContextRequest(
        retrieval_query=required_query("retrieval_query", body.retrieval_query, body.query),
        agent_id=body.agent_id,
        extra_queries=tuple(body.extra_queries),
        top_k=body.top_k or None,
        allow_low_trust=body.allow_low_trust,
        token_budget=body.token_budget,
        task_id=body.task_id or "",
        source_document_uri=body.source_document_uri or "",
        summary=body.summary,
        conversation=conversation_of(body),
    )


def conversation_of(body: Rewritable) -> tuple[Turn, ...] | None:
    """What was said before a question that is to be reworded; None where it is not to be."""
    turns = None if body.history is None else [turn.model_dump() for turn in body.history]
    return conversation(turns, wanted=body.rewrite)


def domains_of(scope: Iterable[DomainScope] | None, top_k: Mapping[str, object] | None = None) -> frozenset[str]:
    """The domains that a request names."""
    return frozenset([entry.domain for entry in scope or ()] + list(top_k or ()))


# --- out ------------------------------------------------------------------------------------------------
def search_to_wire(result: SearchResult) -> dict[str, Any]:
    """The body of a successful search."""
    return {
        "status": "SUCCESS",
        "passages": [_passage(found, result.stale) for found in result.passages],
        "coverage": _coverage([result]),
        "metadata": {
            "cache": {"hit": result.cache_hit, "age_ms": round(result.cache_age_ms, 1)},
            "generation": result.generation,
            "mode": result.mode,
            "audit_ids": list(result.audit_ids),
            **rewritten(result.rewriting),
        },
        "reasons": dict(result.reasons),
        **({"nearest": [_passage(found, result.stale) for found in result.nearest]} if result.nearest else {}),
    }


def answer_to_wire(answered: Answered) -> dict[str, Any]:
    """The body of a successful answer, with the fragments found for it."""
    found = answered.found
    return as_data(answered, [_passage(one, found.stale) for one in found.passages])


def context_to_wire(context: Context) -> dict[str, Any]:
    """The body of a successful context."""
    first = context.results[0]
    return {
        "status": "SUCCESS",
        "CONTEXT_DATA": {
            "knowledge_snippets": [_snippet(snippet, first.stale) for snippet in context.build.snippets]
        },
        "withheld": dict(context.build.withheld),
        "tokens": context.build.tokens,
        "coverage": _coverage(context.results),
        "metadata": {
            "generation": first.generation,
            "mode": first.mode,
            "audit_ids": [name for result in context.results for name in result.audit_ids],
            **rewritten(first.rewriting),
        },
    }


def _passage(found: Found, stale: Mapping[str, str]) -> dict[str, Any]:
    return {
        "source": found.passage.ref,
        "uri": found.passage.uri,
        "content": found.passage.text,
        "summary": found.summary,
        "score": found.hit.score,
        "domain": found.domain,
        **about_hit(found.hit, found.passage, stale, found.copies),
        **({"rule": dict(found.derivation)} if found.derivation else {}),
        **({} if found.calibrated else {"calibrated": False}),
        **({"summary_origin": found.summary_origin} if found.summary_origin else {}),
    }


def _snippet(snippet: Snippet, stale: Mapping[str, str]) -> dict[str, Any]:
    shape = SnippetShape.model_validate(snippet, from_attributes=True)
    source_id = snippet.source.rpartition("#")[0]
    since = {"stale_since": stale[source_id]} if source_id in stale else {}
    return shape.model_dump(exclude_unset=True) | since


def confidence_to_wire(found: Confidence) -> dict[str, Any]:
    """How many passages suffice, and why that is believed."""
    told: dict[str, Any] = {"state": found.state, "k": found.k}
    if found.state == "auto":
        return told | {"reason": found.reason}
    asked = [{"k": k, "raw": round(raw, 6), "p": round(p, 6)} for k, raw, p in found.asked]
    return told | {
        "judge": found.judge, "asked": asked, "threshold": round(found.threshold, 6), "risk": found.risk,
        "questions": found.questions, "calibration": found.calibration,
        **({} if found.follow_up is None else {"follow_up": _follow_up_to_wire(found.follow_up)}),
    }  # fmt: skip


def _follow_up_to_wire(found: FollowUp) -> dict[str, Any]:
    if found.state == "searched":
        return {"state": found.state, "query": found.query, "found": found.found}
    also = {"refused": found.refused, "error": found.error}
    return {"state": found.state, **{name: value for name, value in also.items() if value}}


def _coverage(results: Iterable[SearchResult]) -> dict[str, Any]:
    legs: list[dict[str, Any]] = []
    degraded: list[str] = []
    stale_by = 0.0
    likely: list[float] = []
    missing: dict[str, None] = {}
    confidence: dict[str, Any] = {}
    for result in results:
        for domain, one in result.confidence.items():
            confidence.setdefault(domain, confidence_to_wire(one))
        likely += [] if result.answerable is None else [round(result.answerable, 6)]
        missing |= dict.fromkeys(result.missing_terms)
        degraded += result.degraded
        stale_by = max(stale_by, round(result.stale_by, 1))
        for leg in result.legs:
            entry = {"name": leg.name, "state": leg.state, "ms": round(leg.ms, 2), "hits": leg.hits}
            also = {"withheld": leg.withheld, "remembered": leg.remembered, "error": leg.error}
            legs.append(entry | {name: value for name, value in also.items() if value})
    told: dict[str, Any] = {"legs": legs, "degraded": list(dict.fromkeys(degraded))}
    told |= {"answerable": max(likely)} if likely else {}
    told |= {"missing_terms": list(missing)} if missing else {}
    told |= {"confidence": confidence} if confidence else {}
    return told | ({"stale_by": stale_by} if stale_by else {})


# The JSON shapes of feedback (``/v1/feedback``).


Parts = Annotated[list[Text], Field(max_length=MAX_JUDGED)]


class FeedbackRequestShape(Strict):
    """Which parts of an answer are right or wrong."""

    audit_id: Text = Field(description="Of the answer; fragments have it in their metadata.")
    good: Parts = Field(default_factory=list, description="Refs (`metadata.passage_id`) or addresses of fragments.")
    bad: Parts = Field(default_factory=list)


class FeedbackAnswerShape(BaseModel):
    """What was kept: by ref, whether it is right."""

    audit_id: str
    kept: dict[str, bool]
