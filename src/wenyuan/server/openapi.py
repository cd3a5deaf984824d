"""The OpenAPI 3.1 document, generated from the models that validate requests and responses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from http import HTTPStatus
from typing import Any

from pydantic import BaseModel, TypeAdapter

from wenyuan.core.restrictions import REFUSED
from wenyuan.core.version import VERSION
from wenyuan.server.examples import SECURITY, told_by_example
from wenyuan.server.problems import PROBLEM_JSON
from wenyuan.server.request_schemas import JSON, REF, any_json, as_strict_json
from wenyuan.server.route import Operation, Route
from wenyuan.settings import ServerSettings
from wenyuan.wire import contract
from wenyuan.wire.files import FileShape, body_schema
from wenyuan.wire.published_schema import PublishedSchema, component
from wenyuan.wire.strict_json import MAX_DEPTH

# Generates the OpenAPI 3.1 document from the models that validate requests and responses.

_WIRE_RULES = (
    "Bodies are strict JSON (RFC 8259, UTF-8): no NaN or Infinity, no key twice, no NUL, no half surrogate pair, "
    f"at most {MAX_DEPTH} levels, integers up to 2^53, and `3.0` is not an integer. "
    "The header `X-Wenyuan-On-Behalf-Of: user:li` asks for somebody, with a key that has the right `on_behalf_of`."
)


@cache
def _schemas(routes: tuple[Route, ...]) -> dict[str, Any]:
    """Schemas of the request and response models used by routes, and of those common to all routes."""
    takes: dict[type[Any], None] = {contract.ContextShape: None, FileShape: None}
    gives: dict[type[Any], None] = {contract.ProblemShape: None}
    for declared in routes:
        if declared.operation is not None:
            takes |= dict.fromkeys(declared.operation.takes)
            gives |= dict.fromkeys(declared.operation.gives)
    _, document = TypeAdapter.json_schemas(
        [
            *((component(one), "validation", TypeAdapter(one)) for one in takes),
            *((component(one), "serialization", TypeAdapter(one)) for one in gives),
        ],
        ref_template=f"{REF}{{model}}",
        schema_generator=PublishedSchema,
    )
    schemas: dict[str, Any] = document["$defs"]
    schemas["ContextShape"]["additionalProperties"] = JSON
    schemas["ContextShape"]["propertyNames"] = {"pattern": r"^[^\u0000]*$", "not": {"enum": list(REFUSED)}}
    schemas["ContextShape"]["maxProperties"] = contract.MAX_CONTEXT_KEYS
    return {**schemas, "Json": any_json()}


_OBJECT = {"type": "object"}
_PARAMETER = re.compile(r"\{([a-z0-9_]+)\}")
_HEADERS = {
    "X-Request-Id": {
        "description": "Names the request in the server's log.",
        "schema": {"type": "string"},
        "required": True,
    }
}
_VERSION = {
    "ETag": {"description": "The version of what is shown.", "schema": {"type": "string"}, "required": True},
}
_SEEN = (
    {
        "name": "If-Match", "in": "header", "required": False, "schema": {"type": "string"},
        "description": "The `ETag` of what the caller has seen; where it was changed since, 409 and nothing is changed.",
    },
)  # fmt: skip
_STATUS_HEADER = {
    "X-Retrieval-Status": {"schema": {"type": "string", "enum": ["SUCCESS", "FAILED"]}, "required": True}
}
_STATUS_OF_WHOLE = {
    "X-Retrieval-Status": {
        **_STATUS_HEADER["X-Retrieval-Status"], "required": False, "description": "Not of a stream, which is not whole yet."
    }
}  # fmt: skip
_EVENTS = {
    "text/event-stream": {
        "schema": {
            "type": "object",
            "required": ["event", "data"],
            "description": "Of each event; in the end comes `answer`, with all of it.",
            "properties": {
                "event": {"type": "string", "enum": ["stage", "claim", "dropped", "answer"]},
                "data": {"type": "string", "contentMediaType": "application/json"},
            },
        }
    }
}
_FILES = {
    "multipart/form-data": {
        "schema": {
            "type": "object",
            "required": ["file"],
            "properties": {"file": {"type": "array", "items": {"type": "string", "format": "binary"}}},
        }
    }
}
_RETRY_AFTER = {"Retry-After": {"description": "Seconds.", "schema": {"type": "integer"}}}


def object_of(**members: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of an object that has all these members."""
    return {"type": "object", "properties": members, "required": list(members)}


def content_of(shape: type[Any], media_type: str = "application/json") -> dict[str, Any]:
    """Content with a schema that is a component of the document."""
    return {media_type: {"schema": {"$ref": f"{REF}{component(shape)}"}}}


def _problem(status: int) -> dict[str, Any]:
    headers = {**_HEADERS, **(_RETRY_AFTER if status in (429, 503) else {})}
    return {
        "description": HTTPStatus(status).phrase,
        "headers": headers,
        "content": content_of(contract.ProblemShape, PROBLEM_JSON),
    }


def _problems(*statuses: int) -> dict[str, Any]:
    return {str(status): _problem(status) for status in statuses}


def _in_words_of(error: type[Any], *statuses: int) -> dict[str, Any]:
    """Error responses in the format of another protocol."""
    return {
        str(status): {"description": HTTPStatus(status).phrase, "headers": _HEADERS, "content": content_of(error)}
        for status in statuses
    }


def _in_path(route: Route) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in _PARAMETER.findall(route.path)
    ]


@cache
def _in_query(shape: type[BaseModel] | None) -> list[dict[str, Any]]:
    properties = {} if shape is None else shape.model_json_schema()["properties"]
    return [
        {"name": name, "in": "query", "required": False, "schema": without_odd_default(told)}
        for name, told in properties.items()
    ]


def without_odd_default(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema whose default, where it has one, is a value that it takes: what stands for *not given* is none."""
    default, kinds = schema.get("default"), schema.get("type", ())
    odd = (default is None and "type" in schema and "null" not in kinds) or default not in schema.get(
        "enum", (default,)
    )
    return {name: told for name, told in schema.items() if name != "default" or not odd}


def _parameters(route: Route, query: type[BaseModel] | None, more: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
    told = [*_in_path(route), *_in_query(query), *more]
    return {"parameters": told} if told else {}


def read_operation(
    name: str,
    summary: str,
    answer: Mapping[str, Any] | type[Any],
    *problems: int,
    also: Mapping[str, Any] | None = None,
) -> Operation:
    """A GET operation without a body.

    Args:
        answer: Its shape, or its content by media type.
        problems: The statuses of other answers.
        also: Further content of the last of them.
    """
    gives, content = ((answer,), content_of(answer)) if isinstance(answer, type) else ((), answer)
    responses = {"200": {"description": summary, "headers": _HEADERS, "content": content}, **_problems(*problems)}
    if also is not None:
        last = responses[str(problems[-1])]
        responses[str(problems[-1])] = {**last, "content": {**also, **last["content"]}}
    return Operation(
        lambda _route, _failed: {"operationId": name, "summary": summary, "responses": responses}, gives=gives
    )


def question_operation(
    name: str, summary: str, takes: type[Any], gives: type[Any], *problems: int, streams: bool = False
) -> Operation:
    """A question whose response may have status FAILED.

    Args:
        streams: Whether it is told as events, too, where the request wants that; a stream's status is in its last event.
    """

    def described(_route: Route, failed: int) -> dict[str, Any]:
        answer = {
            "description": "The answer: read `status` first.",
            "headers": {**_HEADERS, **(_STATUS_OF_WHOLE if streams else _STATUS_HEADER)},
            "content": {**content_of(gives), **(_EVENTS if streams else {})},
        }
        responses = {"200": answer, **_problems(400, 401, 403, *problems, 408, 413, 415, 429, 500, 503)}
        if failed != 200:
            problem = responses.get(str(failed)) or _problem(failed)
            responses[str(failed)] = {
                **problem,
                "description": "The answer has status FAILED, or there is none.",
                "content": {**content_of(gives), **problem["content"]},
            }
        return {
            "operationId": name,
            "summary": summary,
            "description": _WIRE_RULES,
            "requestBody": {"required": True, "content": content_of(takes)},
            "responses": responses,
        }

    return Operation(described, takes=(takes,), gives=(gives,))


def foreign(
    name: str,
    summary: str,
    takes: type[Any] | None,
    gives: type[Any],
    error: type[Any],
    *,
    query: type[BaseModel] | None = None,
) -> Operation:
    """A question in another protocol, which has its own error format."""

    def described(route: Route, _failed: int) -> dict[str, Any]:
        if takes is None:
            ok = {"description": summary, "headers": _HEADERS, "content": content_of(gives)}
            errors = _in_words_of(error, 400, 401, 403, 429, 500, 503)
        else:
            headers = {**_HEADERS, **_STATUS_HEADER}
            ok = {"description": "What was found, perhaps nothing.", "headers": headers, "content": content_of(gives)}
            errors = _in_words_of(error, 400, 401, 403, 404, 408, 413, 415, 429, 500, 503)
        body = {} if takes is None else {"requestBody": {"required": True, "content": content_of(takes)}}
        told = {"operationId": name, "summary": summary, "responses": {"200": ok, **errors}}
        return {**told, **body, **_parameters(route, query)}

    return Operation(described, takes=() if takes is None else (takes,), gives=(gives, error))


def storage_operation(
    summary: str = "",
    answer: Mapping[str, Any] = _OBJECT,
    *,
    statuses: Sequence[int] = (200,),
    query: type[BaseModel] | None = None,
    body: type[Any] | Mapping[str, Any] | None = None,
    required: bool = True,
    files: bool = False,
    versioned: bool = False,
) -> Operation:
    """An operation that reads or changes stored data.

    Args:
        answer: The schema of the answer.
        query: The parameters of its query.
        body: The shape, or the schema, of its body.
        required: Whether there must be one.
        files: Whether its body is a form with files.
        versioned: Whether what it answers has a version, which a change may name.
    """
    takes = body_schema(body) if isinstance(body, type) else {"content": {"application/json": {"schema": body}}}

    def described(route: Route, _failed: int) -> dict[str, Any]:
        headers = {**_HEADERS, **_VERSION} if versioned and route.method != "DELETE" else _HEADERS
        ok = {"description": "Done.", "headers": headers, "content": {"application/json": {"schema": answer}}}
        return {
            "operationId": _operation_name(route),
            "summary": summary or f"Needs the right {route.right}",
            "responses": {
                **{str(status): ok for status in statuses},
                **_problems(400, 401, 403, 404, 408, 409, 413, 415, 429, 500, 503),
            },
            **_parameters(route, query, _SEEN if versioned and route.method != "GET" else ()),
            **({"requestBody": {"required": True, "content": _FILES}} if files else {}),
            **({} if body is None else {"requestBody": {**takes, "required": required}}),
        }

    return Operation(described)


def file_given(summary: str, types: Iterable[str], *, query: type[BaseModel] | None = None) -> Operation:
    """An operation that returns a file.

    Args:
        types: Its media types.
    """
    content = {kind: {"schema": {"type": "string", "format": "binary"}} for kind in sorted(types)}

    def described(route: Route, _failed: int) -> dict[str, Any]:
        ok = {"description": summary, "headers": _HEADERS, "content": content}
        return {
            "operationId": _operation_name(route),
            "summary": summary,
            "responses": {"200": ok, **_problems(400, 401, 403, 404, 409, 429, 500, 503)},
            **_parameters(route, query),
        }

    return Operation(described)


def _operation_name(route: Route) -> str:
    words = [part for part in route.path.split("/")[2:] if not part.startswith("{")]
    return "_".join([route.method.lower(), *words, *(["one"] if _in_path(route) else [])])


def _protocol(_route: Route, _failed: int) -> dict[str, Any]:
    anything = {"application/json": {"schema": {"type": "object"}}}
    answer = {"description": "A JSON-RPC response.", "headers": _HEADERS, "content": anything}
    problems = _problems(400, 401, 403, 404, 406, 408, 413, 415, 429, 500, 501, 503)
    for status in ("400", "404", "406", "500"):  # by what of the protocol is wrong, in its own words
        problems[status]["content"] = {**anything, **problems[status]["content"]}
    taken = {"description": "A notification was taken.", "headers": _HEADERS}
    return {
        "operationId": "mcp",
        "summary": "The Model Context Protocol, stateless",
        "requestBody": {"required": True, "content": anything},
        "responses": {"200": answer, "202": taken, **problems},
    }


MCP = Operation(_protocol)
"""A protocol of its own: https://modelcontextprotocol.io."""

SOURCES_LISTED = read_operation(
    "list_sources", "The registered sources", contract.SourceListShape, 401, 403, 429, 500, 503
)


_SUBJECTS = {
    **dict.fromkeys(
        ("retrieve_fragments", "search", "context", "verify", "answer", "retrieve", "infer_rules", "feedback"),
        "questions",
    ),
    **dict.fromkeys(("mcp", "retrieval", "vector_stores"), "other protocols"),
    **dict.fromkeys(
        ("livez", "readyz", "metrics", "llms.txt", "openapi-tools.json", ".well-known"), "the service itself"
    ),
}


def _subject(path: str) -> str:
    """What a path is about: by its first name that is no version."""
    name = next(part for part in path.split("/") if part and part != "v1")
    return _SUBJECTS.get(name, name)


def document_of(settings: ServerSettings, served: Iterable[Route], known: Iterable[Route]) -> dict[str, Any]:
    """The document of a server with these settings.

    Args:
        served: The routes that it has.
        known: All that a server can have: whose shapes are described.
    """
    paths: dict[str, dict[str, Any]] = {}
    for declared in served:
        if declared.operation is not None:
            told = declared.operation.described(declared, settings.failed_http_status)
            told = told_by_example(told, open_to_all=declared.right is None)
            told["tags"] = [_subject(declared.path)]
            paths.setdefault(declared.path, {})[declared.method.lower()] = told
    paths, schemas = as_strict_json(paths, _schemas(tuple(known)))
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Wenyuan", "version": VERSION, "description": _WIRE_RULES,
            "license": {"name": "Apache License 2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/", "description": "Where this document was read from."}],
        "tags": [{"name": name} for name in dict.fromkeys(_subject(path) for path in paths)],
        "paths": paths,
        "components": {"schemas": schemas, "securitySchemes": dict(SECURITY)},
    }  # fmt: skip
