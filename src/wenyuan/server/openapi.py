"""The OpenAPI 3.1 document: what the server takes and gives, made from the models that enforce it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from http import HTTPStatus
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from pydantic.json_schema import models_json_schema

from wenyuan import wire as shapes
from wenyuan.server.access import RIGHT_OF
from wenyuan.server.problems import DIFY, PROBLEM_JSON
from wenyuan.server.routes.audit import DESCRIBED, parameters_of
from wenyuan.server.routes.evaluations import EVALUATIONS_DESCRIBED, FEEDBACK_DESCRIBED
from wenyuan.server.routes.governance import KEYS_DESCRIBED, SYNONYMS_DESCRIBED, TASKS_DESCRIBED
from wenyuan.server.routes.registry import REGISTRY_DESCRIBED
from wenyuan.server.routes.rules import RULES_DESCRIBED
from wenyuan.server.settings import ServerSettings
from wenyuan.wire import protocols
from wenyuan.wire import rules as rule_shapes
from wenyuan.wire import search as knowledge
from wenyuan.wire.strict_json import MAX_DEPTH, MAX_INTEGER

_REF = "#/components/schemas/"
_WIRE_RULES = (
    "Bodies are strict JSON (RFC 8259, UTF-8): no NaN or Infinity, no key twice, no NUL, no half surrogate pair, "
    f"at most {MAX_DEPTH} levels, integers up to 2^53, and `3.0` is not an integer."
)


def _any_json() -> dict[str, Any]:
    """What a further key of the context may hold: any JSON that the strict reader lets in."""
    text = {"type": "string", "pattern": r"^[^\u0000]*$"}
    return {
        "title": "Json",
        "anyOf": [
            {"type": "null"},
            {"type": "boolean"},
            {"type": "number", "minimum": -MAX_INTEGER, "maximum": MAX_INTEGER},
            text,
            {"type": "array", "items": {"$ref": f"{_REF}Json"}},
            {"type": "object", "additionalProperties": {"$ref": f"{_REF}Json"}, "propertyNames": text},
        ],
    }


def _schemas() -> dict[str, Any]:
    requests = (
        shapes.RetrievalRequestShape,
        shapes.ContextShape,
        knowledge.SearchRequestShape,
        knowledge.ContextRequestShape,
        rule_shapes.UnifiedRequestShape,
        rule_shapes.InferRequestShape,
        protocols.DifyRequestShape,
        protocols.StoreRequestShape,
        rule_shapes.FileShape,
    )
    answers = (
        shapes.RetrievalResponseShape,
        shapes.ProblemShape,
        shapes.ReadinessShape,
        shapes.SourceListShape,
        knowledge.SearchAnswerShape,
        knowledge.ContextAnswerShape,
        rule_shapes.UnifiedAnswerShape,
        rule_shapes.InferAnswerShape,
        protocols.DifyAnswerShape,
        protocols.DifyErrorShape,
        protocols.StoreListShape,
        protocols.StorePageShape,
        protocols.StoreErrorShape,
    )
    _, document = models_json_schema(
        [*((m, "validation") for m in requests), *((m, "serialization") for m in answers)],
        ref_template=f"{_REF}{{model}}",
    )
    schemas: dict[str, Any] = document["$defs"]
    schemas["ContextShape"]["additionalProperties"] = {"$ref": f"{_REF}Json"}
    schemas["ContextShape"]["propertyNames"] = {"pattern": r"^[^\u0000]*$"}
    schemas["ContextShape"]["maxProperties"] = shapes.MAX_CONTEXT_KEYS
    return {**schemas, "Json": _any_json()}


_OBJECT = {"type": "object"}
_REGISTRY_RIGHTS = frozenset(("registry", "ingest", "admin", "audit"))
_PARAMETER = re.compile(r"\{([a-z_]+)\}")
_HEADERS = {
    "X-Request-Id": {
        "description": "Names the request in the server's log.",
        "schema": {"type": "string"},
        "required": True,
    }
}
_STATUS_HEADER = {
    "X-Retrieval-Status": {"schema": {"type": "string", "enum": ["SUCCESS", "FAILED"]}, "required": True}
}
_RETRY_AFTER = {"Retry-After": {"description": "Seconds.", "schema": {"type": "integer"}}}


def _content(shape: str, media_type: str = "application/json") -> dict[str, Any]:
    return {media_type: {"schema": {"$ref": f"{_REF}{shape}"}}}


def _problem(status: int) -> dict[str, Any]:
    headers = {**_HEADERS, **(_RETRY_AFTER if status in (429, 503) else {})}
    return {
        "description": HTTPStatus(status).phrase,
        "headers": headers,
        "content": _content("ProblemShape", PROBLEM_JSON),
    }


def _problems(*statuses: int) -> dict[str, Any]:
    return {str(status): _problem(status) for status in statuses}


def _get(name: str, summary: str, answer: Mapping[str, Any], *problems: int) -> dict[str, Any]:
    ok = {"description": summary, "headers": _HEADERS, "content": answer}
    return {"get": {"operationId": name, "summary": summary, "responses": {"200": ok, **_problems(*problems)}}}


def _ask(
    name: str, summary: str, request: str, answer_shape: str, failed_http_status: int, *problems: int
) -> dict[str, Any]:
    """A question whose answer may say FAILED."""
    answer = {
        "description": "The answer: read `status` first.",
        "headers": {**_HEADERS, **_STATUS_HEADER},
        "content": _content(answer_shape),
    }
    responses = {"200": answer, **_problems(400, 401, 403, *problems, 408, 413, 415, 429, 500, 503)}
    if failed_http_status != 200:
        key = str(failed_http_status)
        problem = responses.get(key) or _problem(failed_http_status)
        responses[key] = {
            **problem,
            "description": "The answer has status FAILED, or there is none.",
            "content": {**answer["content"], **problem["content"]},  # type: ignore[dict-item]
        }
    return {
        "post": {
            "operationId": name,
            "summary": summary,
            "description": _WIRE_RULES,
            "requestBody": {"required": True, "content": _content(request)},
            "responses": responses,
        }
    }


def _contract(name: str, failed: int) -> dict[str, Any]:
    summary = "Fragments that answer a query, best first"
    return _ask(name, summary, "RetrievalRequestShape", "RetrievalResponseShape", failed)


def _knowledge(failed: int) -> dict[str, Any]:
    search = ("SearchRequestShape", "SearchAnswerShape", failed, 404)
    context = ("ContextRequestShape", "ContextAnswerShape", failed, 404)
    united = ("UnifiedRequestShape", "UnifiedAnswerShape", failed)
    rules = ("InferRequestShape", "InferAnswerShape", failed)
    return {
        "/v1/search": _ask("search", "Passages within a knowledge scope", *search),
        "/search": _ask("search_unversioned", "Passages within a knowledge scope", *search),
        "/v1/context": _ask("get_context", "Knowledge snippets for a prompt", *context),
        "/v1/retrieve": _ask("retrieve", "Rules above similar cases above templates", *united),
        "/v1/infer_rules": _ask("infer_rules", "Rules that follow for processes", *rules),
    }


def _foreign() -> dict[str, Any]:
    """The routes that speak other protocols, whose errors have shapes of their own."""
    anything = {"application/json": {"schema": _OBJECT}}
    dify_shapes = ("DifyRequestShape", "DifyAnswerShape", "DifyErrorShape")
    stores = _told(
        "search_vector_store",
        "OpenAI's vector-store search",
        "StoreRequestShape",
        "StorePageShape",
        "StoreErrorShape",
    )
    named = {"name": "vector_store_id", "in": "path", "required": True, "schema": {"type": "string"}}
    stores["post"]["parameters"] = [named]
    listed = _get("list_vector_stores", "OpenAI's list of vector stores", _content("StoreListShape"))
    listed["get"]["parameters"] = parameters_of(protocols.StoresQueryShape)
    listed["get"]["responses"] |= _in_words_of("StoreErrorShape", 400, 401, 403, 429, 500, 503)
    return {
        DIFY: _told("dify_retrieval", "Dify's External Knowledge API", *dify_shapes),
        "/v1/vector_stores": listed,
        "/v1/vector_stores/{vector_store_id}/search": stores,
        "/mcp": _mcp(),
        "/openapi-tools.json": _get(
            "openapi_tools", "This document for tool builders, in OpenAPI 3.0", anything, 500
        ),
        "/llms.txt": _get("llms", "How a model asks", {"text/plain": {"schema": {"type": "string"}}}, 500),
    }


def _mcp() -> dict[str, Any]:
    """One route for a protocol of its own: https://modelcontextprotocol.io."""
    anything = {"application/json": {"schema": {"type": "object"}}}
    answer = {"description": "A JSON-RPC response.", "headers": _HEADERS, "content": anything}
    problems = _problems(400, 401, 403, 404, 406, 408, 413, 415, 429, 500, 501, 503)
    for status in ("400", "404", "406", "500"):  # by what of the protocol is wrong, in its own words
        problems[status]["content"] = {**anything, **problems[status]["content"]}
    return {
        "post": {
            "operationId": "mcp",
            "summary": "The Model Context Protocol, stateless",
            "requestBody": {"required": True, "content": anything},
            "responses": {
                "200": answer, "202": {"description": "A notification was taken.", "headers": _HEADERS},
                **problems,
            },
        }
    }  # fmt: skip


def _in_words_of(error: str, *statuses: int) -> dict[str, Any]:
    """Answers that are errors of another protocol."""
    return {
        str(status): {"description": HTTPStatus(status).phrase, "headers": _HEADERS, "content": _content(error)}
        for status in statuses
    }


def _told(name: str, summary: str, request: str, answer: str, error: str) -> dict[str, Any]:
    """A question whose failure is an error of its protocol."""
    headers = {**_HEADERS, **_STATUS_HEADER}
    responses = _in_words_of(error, 400, 401, 403, 404, 408, 413, 415, 429, 500, 503)
    ok = {"description": "What was found, perhaps nothing.", "headers": headers, "content": _content(answer)}
    return {
        "post": {
            "operationId": name,
            "summary": summary,
            "requestBody": {"required": True, "content": _content(request)},
            "responses": {"200": ok, **responses},
        }
    }


def _registry() -> dict[str, Any]:
    """The routes of the registry, of keys, of rules and of the audit, as the table of rights names them."""
    described = {
        **DESCRIBED, **RULES_DESCRIBED, **FEEDBACK_DESCRIBED, **TASKS_DESCRIBED, **SYNONYMS_DESCRIBED, **EVALUATIONS_DESCRIBED,
        **REGISTRY_DESCRIBED, **KEYS_DESCRIBED,
    }  # fmt: skip
    paths: dict[str, Any] = {}
    for (method, path), right in RIGHT_OF.items():
        if (right not in _REGISTRY_RIGHTS and path != "/v1/feedback") or (method, path) in (
            ("GET", "/v1/sources"),
            ("GET", "/metrics"),
        ):
            continue
        names = _PARAMETER.findall(path)
        words = [method.lower(), *(part for part in path.split("/")[2:] if not part.startswith("{"))]
        told = described.get((method, path), {})
        answer = {"application/json": {"schema": told.get("answer", _OBJECT)}}
        ok = {"description": "Done.", "headers": _HEADERS, "content": answer}
        entry: dict[str, Any] = {
            "operationId": "_".join([*words, *(["one"] if names else [])]),
            "summary": told.get("summary", f"Needs the right {right}"),
            "responses": {
                **{str(status): ok for status in told.get("statuses", (200,))},
                **_problems(400, 401, 403, 404, 408, 409, 413, 415, 429, 500, 503),
            },
        }
        if names:
            entry["parameters"] = [
                {"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names
            ]
        entry |= {name: told[name] for name in ("parameters", "requestBody") if name in told}
        paths.setdefault(path, {})[method.lower()] = entry
    return paths


def _package_version() -> str:
    try:
        return version("wenyuan")
    except PackageNotFoundError:  # run from a source tree
        return "0"


def openapi_document(settings: ServerSettings, *, governed: bool = True) -> dict[str, Any]:
    """The document for a server with these settings.

    Args:
        governed: Whether the service behind it knows agents, sources and keys.
    """
    live = {"application/json": {"schema": {"type": "object", "properties": {"live": {"const": True}}}}}
    text = {"text/plain": {"schema": {"type": "string"}}}
    ready = _get("readyz", "Whether the service can answer", _content("ReadinessShape"), 500, 503)
    ready["get"]["responses"]["503"]["content"] = {
        **_content("ReadinessShape"),
        **_content("ProblemShape", PROBLEM_JSON),
    }
    failed = settings.failed_http_status
    registry = _registry() if governed else {}
    sources = _get("list_sources", "The registered sources", _content("SourceListShape"), 401, 403, 429, 500, 503)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Wenyuan", "version": _package_version(), "description": _WIRE_RULES},
        "paths": {
            "/v1/retrieve_fragments": _contract("retrieve_fragments", failed),
            "/retrieve_fragments": _contract("retrieve_fragments_unversioned", failed),
            **registry,
            "/v1/sources": sources | registry.get("/v1/sources", {}),
            **({**_knowledge(failed), **_foreign()} if governed else {}),
            "/livez": _get("livez", "Whether the process runs", live, 500),
            "/readyz": ready,
            "/metrics": _get(
                "metrics", "Numbers for Prometheus; needs the right audit", text, 401, 403, 429, 500, 503
            ),
        },
        "components": {"schemas": _schemas()},
    }
