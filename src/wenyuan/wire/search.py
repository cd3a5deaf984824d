"""JSON models of search, context and feedback."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Protocol, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema
from pydantic.json_schema import SkipJsonSchema

from wenyuan.contract.bodies import Strict
from wenyuan.contract.fields import Day, QueryText, Text, wrong
from wenyuan.core.access import AUTO, CONFIDENCE, MAX_DOMAINS, MAX_TOP_K
from wenyuan.core.errors import msg
from wenyuan.core.model import MAX_RESULTS
from wenyuan.core.query_rewriting import MOST_TURNS
from wenyuan.core.scoring.answerable import Strictness
from wenyuan.service.context import MAX_EXTRA_QUERIES
from wenyuan.service.query import LegReport
from wenyuan.wire.contract import ABSTAIN, HISTORY, NEAREST, REWRITE, MayFail, TurnShape, no_default

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
    abstain: Strictness | None = Field(None, description=ABSTAIN)
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


class CoverageShape(BaseModel):
    """Which legs answered, and the names of those that failed though the answer stands without them."""

    legs: list[LegReport]
    degraded: list[str]
    answerable: float | SkipJsonSchema[None] = Field(
        None,
        description="The probability that what was searched holds an answer, 0..1; not there where nothing had to be asked.",
        json_schema_extra=no_default,
    )
    missing_terms: list[str] | SkipJsonSchema[None] = Field(
        None,
        description="Codes and things that the question names and that stand nowhere in what was searched; not there for none.",
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


_STALE = "Since when the refresh of its source is overdue, or what its document says is stale (ISO 8601, UTC); not there while neither is so."


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
    conflicts: list[dict[str, Any]] | SkipJsonSchema[None] = Field(
        None, description="Statements elsewhere that contradict one of it.", json_schema_extra=no_default
    )


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
