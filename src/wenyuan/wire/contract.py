"""The JSON models of the contract: requests, fragments and responses."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from datetime import date
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SkipValidation, ValidationError
from pydantic.config import JsonDict
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import ErrorDetails

from wenyuan.contract.fields import Day, QueryText, Text
from wenyuan.core.errors import MOST_CHARS, MOST_DEPTH, MOST_PARTS, Fault, InvalidRequest, as_sent, listed, msg
from wenyuan.core.model import MAX_QUERY_CHARS, MAX_RESULTS, Fragment, RetrievalRequest, RetrievalResponse
from wenyuan.core.query_rewriting import MOST_TURNS
from wenyuan.core.restrictions import faults_of
from wenyuan.core.scoring.answerable import Strictness
from wenyuan.wire.strict_json import MAX_FAULTS, ROOT, safe_key, said_of, walk

# The JSON shapes of the contract: what comes in is checked whole, what goes out is made in one place.
#
# `request_from_wire` and `response_to_wire` serve the server, their inverses the client. The models are
# the source of the OpenAPI document too, so that what is published is what is enforced.


MAX_CONTEXT_KEYS = 64
MAX_CONTEXT_DEPTH = 8
MAX_CONTEXT_BYTES = 16 * 1024

FILTER_KEYS = r"^(source_id|document_id|language|collection|metadata\..{1,128}|and|or|not)$"


def no_default(schema: JsonDict) -> None:
    """Schema hook: an optional member that is left out when empty has no default to publish."""
    schema.pop("default", None)


FilterTree = Annotated[
    dict[str, Any],
    Field(
        min_length=1,
        description='{"field": value | [values] | {"ge": …, "le": …}}, joined by AND; "and", "or", "not".',
        json_schema_extra={"propertyNames": {"pattern": FILTER_KEYS}, "examples": [{"metadata.year": {"ge": 2024}}]},
    ),
]


REWRITE = "Whether a language model says the question in other words, which are asked, too."
HISTORY = f"What was said before, the latest last; at most {MOST_TURNS} turns, read where rewrite is true."


NEAREST = (
    "Whether the nearest passage is shown, as `nearest`, where nothing is found since an answer is too unlikely: it is no answer "
    "and no evidence."
)


ABSTAIN = (
    "How likely there must be an answer, in place of the setting `search.abstain`; who is bound to an agent may only be stricter "
    "than that."
)


class TurnShape(BaseModel):
    """A turn of the conversation before a question."""

    model_config = ConfigDict(extra="forbid", strict=True, title="Turn")

    role: Literal["user", "assistant"]
    text: Text = Field(min_length=1, max_length=MAX_QUERY_CHARS)


class ContextShape(BaseModel):
    """Background of the query, and what restricts it. Further keys are accepted and ignored, but for those that look like a
    restriction: they are refused.
    """

    model_config = ConfigDict(extra="allow", strict=True, title="Context")

    source_document_uri: Text | None = Field(None, description="URI of the document being worked on.")
    task_id: Text | None = Field(None, description="Identifier of the task that asks.")
    as_of: Day | None = Field(None, description="Answer as of this day (YYYY-MM-DD).")
    min_trust: Annotated[int, Field(ge=1, le=5)] | None = Field(
        None, description="Sources that are trusted less are not asked."
    )
    domain: Text | None = Field(
        None, min_length=1, max_length=200, description="Only sources of this knowledge domain."
    )
    filter: FilterTree | None = None
    agent_id: Text | None = Field(
        None, min_length=1, max_length=200, description="Only what this agent may see, as it trusts it."
    )
    nearest: bool | None = Field(None, description=NEAREST)
    abstain: Strictness | None = Field(None, description=ABSTAIN)
    rewrite: bool = Field(False, description=REWRITE)
    history: Any = Field(
        None, description=f"{HISTORY} Each is a `Turn`: its role, user or assistant, and its text. Else ignored."
    )


class RetrievalRequestShape(BaseModel):
    """A request of the contract."""

    model_config = ConfigDict(extra="forbid", strict=True, title="RetrievalRequest")

    query: QueryText
    context: ContextShape | None = Field(
        None,
        description=f"At most {MAX_CONTEXT_KEYS} keys, {MAX_CONTEXT_DEPTH} levels and {MAX_CONTEXT_BYTES} bytes.",
    )
    max_results: int = Field(ge=1, le=MAX_RESULTS, description="How many fragments at most.")


class FragmentShape(BaseModel):
    """One piece of evidence."""

    # A reader is more lenient than the writer: later versions may add keys.
    model_config = ConfigDict(extra="ignore", strict=True, title="KnowledgeFragment")

    source: str = Field(description="URI of the fragment, down to the clause or heading.")
    content: str
    retrieval_score: Annotated[float, Field(ge=0.0, le=1.0)]
    metadata: dict[str, Any] | SkipJsonSchema[None] = Field(None, json_schema_extra=no_default)


class TranslatableShape(BaseModel):
    """What a message beside it is made of, for whoever shows it in another language."""

    model_config = ConfigDict(title="Translatable")

    template: str = Field(description="The message in English, with a `{name}` for each value.")
    values: dict[str, str | TranslatableShape | list[str | TranslatableShape]] = Field(
        description=(
            "The values by name; several in an array are joined by `; `. Filled in, the template is the text beside it. "
            f"At most {MOST_CHARS} characters, {MOST_PARTS} parts and {MOST_DEPTH} levels: a larger message has none."
        )
    )


Translatable = SkipValidation[TranslatableShape | SkipJsonSchema[None]]
"""A member that is not believed: `core.errors.received` reads it, and takes the text where it is wrong."""


class MayFail(BaseModel):
    """The members of an answer that say why it is FAILED."""

    error_message: str | SkipJsonSchema[None] = Field(
        None, description="Only when FAILED.", json_schema_extra=no_default
    )
    translatable: Translatable = Field(None, json_schema_extra=no_default)


def failed_body(why: str, **members: Any) -> dict[str, Any]:
    """The body of an answer that says FAILED.

    Args:
        members: What such an answer has besides, empty.
    """
    return {"status": "FAILED", **members, "error_message": why, **as_sent(why)}


class RetrievalResponseShape(MayFail):
    """SUCCESS with fragments by falling score, perhaps none; or FAILED with a reason and no fragments."""

    model_config = ConfigDict(extra="ignore", strict=True, title="RetrievalResponse")

    status: Literal["SUCCESS", "FAILED"]
    fragments: list[FragmentShape]
    nearest: FragmentShape | SkipJsonSchema[None] = Field(
        None, description="The nearest passage, below the threshold, where the request wants it and nothing was found.",
        json_schema_extra=no_default,
    )  # fmt: skip
    reason: str | SkipJsonSchema[None] = Field(
        None, description="Why nothing is given, where all that was found was withheld.", json_schema_extra=no_default
    )


class FaultShape(BaseModel):
    """One thing that is wrong in a request."""

    model_config = ConfigDict(title="Fault")

    path: str = Field(description=f"Where, such as context.task_id; {ROOT} is the whole body.")
    message: str
    translatable: Translatable = Field(None, json_schema_extra=no_default)


class ProblemShape(BaseModel):
    """Why there is no answer (RFC 9457)."""

    model_config = ConfigDict(title="Problem")

    type: str
    title: str
    status: int
    code: str = Field(description="For programs: invalid_request, unsupported_media_type, overloaded …")
    detail: str = Field(description="For people.")
    translatable: Translatable = Field(None, json_schema_extra=no_default)
    errors: list[FaultShape]
    request_id: str


class PartShape(BaseModel):
    """The state of one part of the service."""

    model_config = ConfigDict(extra="allow", title="Part")

    state: Literal["ok", "degraded", "failed"]
    detail: str


class ReadinessShape(BaseModel):
    """Whether the service can answer, and the state of each of its parts."""

    model_config = ConfigDict(title="Readiness")

    ready: bool
    parts: dict[str, PartShape]


class SourceListShape(BaseModel):
    """The registered sources."""

    model_config = ConfigDict(title="SourceList")

    sources: list[dict[str, Any]]


_MESSAGES = {
    "missing": "is required",
    "string_type": "must be a string",
    "int_type": "must be an integer",
    "model_type": "must be an object",
    "greater_than_equal": msg("must be from 1 to {max_results}", max_results=MAX_RESULTS),
    "less_than_equal": msg("must be from 1 to {max_results}", max_results=MAX_RESULTS),
}


def _unknown(key: str) -> Fault:
    close = difflib.get_close_matches(key[:40].lower(), list(RetrievalRequestShape.model_fields), n=1)
    hint = (
        msg("; did you mean {close}?", close=repr(close[0]))
        if close
        else "; unknown keys are accepted only inside context"
    )
    return Fault(safe_key(key), msg("is unknown{near}", near=hint))


def _fault(error: ErrorDetails) -> Fault:
    if error["type"] == "extra_forbidden":
        return _unknown(str(error["loc"][-1]))
    path = ".".join(str(part) for part in error["loc"])
    own = None if path.startswith("context.") and "than_equal" in error["type"] else _MESSAGES.get(error["type"])
    return Fault(path or ROOT, own or said_of(error))


def _context_faults(context: dict[str, Any]) -> list[Fault]:
    faults = []
    if len(context) > MAX_CONTEXT_KEYS:
        faults.append(
            Fault(
                "context",
                msg(
                    "has {count} keys; at most {max_context_keys}",
                    count=len(context),
                    max_context_keys=MAX_CONTEXT_KEYS,
                ),
            )
        )
    # The context itself is level 1, and a scalar inside it is no level of its own.
    levels = 1 + max(depth for _, depth, value in walk(context) if isinstance(value, dict | list))
    if levels > MAX_CONTEXT_DEPTH:
        faults.append(
            Fault(
                "context",
                msg(
                    "is nested {levels} levels deep; at most {max_context_depth}",
                    levels=levels,
                    max_context_depth=MAX_CONTEXT_DEPTH,
                ),
            )
        )
    size = len(json.dumps(context, ensure_ascii=False, separators=(",", ":")).encode())
    if size > MAX_CONTEXT_BYTES:
        faults.append(
            Fault(
                "context",
                msg(
                    "takes {size} bytes; at most {max_context_bytes}", size=size, max_context_bytes=MAX_CONTEXT_BYTES
                ),
            )
        )
    return faults


def request_from_wire(payload: object) -> RetrievalRequest:
    """Parse and validate a request body.

    Args:
        payload: What `strict_json.loads` made of the body.

    Raises:
        InvalidRequest: `faults` lists everything that is wrong, each with its path.
    """
    faults = []
    try:
        RetrievalRequestShape.model_validate(payload)
    except ValidationError as error:
        details = error.errors(include_url=False, include_input=False)
        faults = [_fault(detail) for detail in details[:MAX_FAULTS]]
    context = payload.get("context") if isinstance(payload, dict) else None
    if isinstance(context, dict):
        faults += _context_faults(context)
        known = {fault.path for fault in faults}
        faults += [fault for fault in faults_of(context) if fault.path not in known]
    if faults or not isinstance(payload, dict):
        raise InvalidRequest(listed(faults[:3]), faults=tuple(faults))
    return RetrievalRequest(query=payload["query"], max_results=payload["max_results"], context=context)


def request_to_wire(request: RetrievalRequest) -> dict[str, Any]:
    """The body for a request: the inverse of `request_from_wire`."""
    body: dict[str, Any] = {"query": request.query, "max_results": request.max_results}
    if request.context is not None:
        body["context"] = dict(request.context)
    return body


def response_to_wire(response: RetrievalResponse) -> dict[str, Any]:
    """The body of a response; `error_message` is present only with status FAILED."""
    if response.status == "FAILED":
        return failed_body(response.error_message or "", fragments=[])
    return {
        "status": response.status,
        "fragments": list(map(fragment_to_wire, response.fragments)),
        **nearest_to_wire(response.nearest),
        **({} if response.reason is None else {"reason": response.reason}),
    }


def fragment_to_wire(fragment: Fragment) -> dict[str, Any]:
    """The members of a fragment."""
    return {
        "source": fragment.source,
        "content": fragment.content,
        "retrieval_score": fragment.retrieval_score,
        "metadata": fragment.metadata,
    }


def nearest_to_wire(nearest: Fragment | None) -> dict[str, Any]:
    """The member that shows the nearest passage; empty where there is none."""
    return {} if nearest is None else {"nearest": fragment_to_wire(nearest)}


def response_from_wire(payload: object) -> RetrievalResponse:
    """Parse a response body; ``error_message: null`` is read as absent.

    Raises:
        ValueError: the body breaks the contract (a pydantic `ValidationError` is one too).
    """
    shape = RetrievalResponseShape.model_validate(payload)
    return RetrievalResponse(
        status=shape.status,
        fragments=tuple(map(_fragment_of, shape.fragments)),
        error_message=shape.error_message,
        nearest=None if shape.nearest is None else _fragment_of(shape.nearest),
        reason=shape.reason,
    )


def _fragment_of(shape: FragmentShape) -> Fragment:
    return Fragment(
        source=shape.source,
        content=shape.content,
        retrieval_score=shape.retrieval_score,
        metadata=shape.metadata or {},
    )


def encode(payload: Mapping[str, Any]) -> bytes:
    """Serialise a payload as JSON in UTF-8, dates in ISO form, no NaN.

    Raises:
        ValueError: NaN, an infinity, or half of a surrogate pair.
        TypeError: a value that JSON has no form for.
    """
    text = json.dumps(payload, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_plain)
    return text.encode()


def _plain(value: object) -> object:
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")
