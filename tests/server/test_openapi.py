"""The published document says what the server does, and a generator of requests finds no difference."""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import jsonschema_rs
import pytest
import schemathesis
from schemathesis.engine import events, from_schema

from wenyuan.core.model import Fragment, RetrievalRequest, RetrievalResponse
from wenyuan.core.restrictions import faults_of
from wenyuan.server.app import create_app, openapi_document
from wenyuan.server.service_port import open_to_all
from wenyuan.settings import ServerSettings
from wenyuan.wire.contract import MAX_CONTEXT_DEPTH
from wenyuan.wire.strict_json import MAX_INTEGER

POSTS = ("/v1/retrieve_fragments", "/retrieve_fragments")


class HashService:
    """Answers every query, differently by its length: found, nothing, failed."""

    def retrieve_fragments(self, request: RetrievalRequest) -> RetrievalResponse:
        match len(request.query) % 3:
            case 0:
                return RetrievalResponse(status="FAILED", error_message="the index is gone")
            case 1:
                return RetrievalResponse(status="SUCCESS")
        fragment = Fragment(source="urn:x", content=request.query, retrieval_score=0.25, metadata={"trust": 5})
        return RetrievalResponse(status="SUCCESS", fragments=(fragment,) * min(request.max_results, 3))

    def readiness(self) -> SimpleNamespace:
        return SimpleNamespace(ready=True, parts={"engine": {"state": "ok", "detail": ""}})

    def list_sources(self) -> list[dict[str, object]]:
        return [{"source_id": "a"}]


def beyond_schemas(body: object) -> bool:
    """What the rules of the service say and JSON Schema cannot: see the document's description.

    Schema knows no white space to trim, takes 3.0 for an integer, cannot tell 2^60 from 1.15e18 or 2^53 + 2 from
    9007199254740994.0, and has no word for how deeply a value may be nested.
    """
    if not isinstance(body, dict):
        return False
    query, count, context = (body.get(name) for name in ("query", "max_results", "context"))
    padded = isinstance(query, str) and len(query) > 8000 >= len(query.strip())
    trust = context.get("min_trust") if isinstance(context, dict) else None
    return (
        padded
        or isinstance(count, float)
        or isinstance(trust, float)
        or large_float(context)
        or depth(context) > MAX_CONTEXT_DEPTH
        or (isinstance(context, dict) and (isinstance(context.get("filter"), dict) or not not_restricting(context)))
    )


def not_restricting(context: dict[str, Any]) -> bool:
    """Whether no key looks like a restriction, however it is written, and none of the restrictions is too long."""
    return not faults_of({name: value for name, value in context.items() if name != "filter"})


def _filtering(failure: Any) -> bool:
    """Whether a refused request holds a filter, whose tree a schema without references cannot say."""
    return failure[0] == "positive_data_acceptance" and b'"filter": {' in (failure[-1].body or b"")


def large_float(value: object) -> bool:
    """Whether a number written with a point or an exponent, here or inside, is beyond the integers allowed."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return (isinstance(value, float) and abs(value) > MAX_INTEGER) or any(map(large_float, inner))


def depth(value: object) -> int:
    """How deeply arrays and objects are nested; 0 for neither."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(depth, inner), default=0)


@pytest.mark.slow
@pytest.mark.parametrize(("failed_http_status", "examples"), [(200, 12), (503, 8)])
def test_generated_requests_meet_the_document(failed_http_status: int, examples: int, thorough: bool) -> None:
    """Hundreds of generated requests, valid and not, are answered as the document says."""
    settings = ServerSettings(failed_http_status=failed_http_status)
    app = create_app(HashService(), authenticate=open_to_all, settings=settings)
    schema = schemathesis.openapi.from_asgi("/openapi.json", app)

    @schema.hook
    def filter_body(context, body):
        return not beyond_schemas(body)

    schema.config.generation.update(max_examples=150 if thorough else examples)
    cases, failures, seen = 0, [], set()
    for event in from_schema(schema).execute():
        assert not isinstance(event, events.NonFatalError | events.FatalError), event
        if isinstance(event, events.ScenarioFinished):
            cases += len(event.recorder.checks)
            seen |= {i.response.status_code for i in event.recorder.interactions.values() if i.response}
            failures += [
                (check.name, check.failure_info.failure.message, event.recorder.interactions[case].request)
                for case, checks in event.recorder.checks.items()
                for check in checks
                if check.failure_info
            ]
    if failed_http_status == 503:  # a failure of the service is then meant to be an error of the server
        failures = [failure for failure in failures if failure[0] != "not_a_server_error"]
    assert "\n".join(f"{one[0]}: {one[-1].body!r}" for one in failures if not _filtering(one)) == ""
    assert cases >= 200, cases
    assert {200, 400, 405} <= seen


TOO_LARGE = 2**53 + 1


def request_schemas(document: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The schema of each JSON body, with the path that takes it and the components that it refers to."""
    components = {"components": document["components"]}
    return [
        (path, {**told["requestBody"]["content"]["application/json"]["schema"], **components})
        for path, methods in document["paths"].items()
        for told in methods.values()
        if "application/json" in told.get("requestBody", {}).get("content", {})
    ]


def test_no_body_is_said_to_take_a_number_that_strict_json_refuses() -> None:
    """Wherever a body may hold any number, or any value, the document says how large: in no place is 2^53 + 1 valid."""
    schemas = request_schemas(openapi_document(ServerSettings()))
    assert len(schemas) >= 15

    def places(schema: dict[str, Any], seen: frozenset[str] = frozenset()) -> Iterator[dict[str, Any]]:
        yield schema
        for name in ("anyOf", "oneOf", "allOf"):
            for one in schema.get(name, ()):
                yield from places(one, seen)
        for one in (*schema.get("properties", {}).values(), schema.get("items"), schema.get("additionalProperties")):
            if isinstance(one, dict):
                yield from places(one, seen)
            assert one is not True, schema
        if (reference := schema.get("$ref", "")) and reference not in seen:
            target = document["schemas"][reference.rpartition("/")[2]]
            yield from places(target, seen | {reference})

    for path, whole in schemas:
        document = whole["components"]
        body = {name: value for name, value in whole.items() if name != "components"}
        for schema in places(body):
            valid = jsonschema_rs.Draft202012Validator({**schema, "components": document}).is_valid
            assert not valid(TOO_LARGE), (path, schema)
            assert not valid(-TOO_LARGE), (path, schema)
            assert not valid([TOO_LARGE]), (path, schema)


def test_every_answer_is_documented_and_422_is_not():
    """The retrieval routes declare exactly the statuses that they use."""
    paths = openapi_document(ServerSettings())["paths"]
    for path in POSTS:
        declared = set(paths[path]["post"]["responses"])
        assert declared == {"200", "400", "401", "403", "408", "413", "415", "429", "500", "503"}
    assert not any("422" in op["responses"] for path in paths.values() for op in path.values())


def test_a_configured_failure_status_is_documented_with_the_answer():
    """A FAILED answer with another HTTP status is declared in its own media type beside the problem."""
    document = openapi_document(ServerSettings(failed_http_status=503))
    content = document["paths"][POSTS[0]]["post"]["responses"]["503"]["content"]
    assert set(content) == {"application/json", "application/problem+json"}


def test_the_document_is_valid_and_its_references_resolve():
    """Each schema of the document is a valid JSON Schema 2020-12 whose references are there."""
    document = openapi_document(ServerSettings())
    schemas = document["components"]["schemas"]
    for name in schemas:
        pointer = {"$ref": f"#/components/schemas/{name}", "components": document["components"]}
        jsonschema_rs.Draft202012Validator(pointer)


@pytest.mark.parametrize(
    ("payload", "valid"),
    [
        ({"query": "x", "max_results": 1}, True),
        ({"query": " 规范 ", "max_results": 100, "context": None}, True),
        ({"query": "x", "max_results": 1, "context": {"task_id": None, "租户": [{"a": 1}]}}, True),
        ({"query": "　\u0085\u001c", "max_results": 1}, False),
        ({"query": "a\0b", "max_results": 1}, False),
        ({"query": "", "max_results": 1}, False),
        ({"query": "x" * 8001, "max_results": 1}, False),
        ({"query": "x", "max_results": 0}, False),
        ({"query": "x", "max_results": 101}, False),
        ({"query": "x", "max_results": "1"}, False),
        ({"query": "x", "max_results": 1, "top_k": 1}, False),
        ({"query": "x", "max_results": 1, "context": {"task_id": 1}}, False),
        ({"query": "x", "max_results": 1, "context": {"domain": "law", "filter": {"language": "zh"}}}, True),
        ({"query": "x", "max_results": 1, "context": {"sources": ["law"]}}, False),
        ({"query": "x", "max_results": 1, "context": {"a\0": 1}}, False),
        ({"query": "x", "max_results": 1, "context": {"a": {"b": ["\0"]}}}, False),
        ({"query": "x", "max_results": 1, "context": {"a": 2**53 + 1}}, False),
        ({"query": "x", "max_results": 1, "context": {f"k{i}": 1 for i in range(65)}}, False),
        ({"max_results": 1}, False),
        ([], False),
    ],
)
def test_the_request_schema_knows_good_from_bad(payload, valid):
    """The published request schema accepts and refuses what the server does."""
    document = openapi_document(ServerSettings())
    pointer = {"$ref": "#/components/schemas/RetrievalRequestShape", "components": document["components"]}
    assert jsonschema_rs.Draft202012Validator(pointer).is_valid(payload) is valid


def operations() -> Iterator[tuple[str, dict[str, Any]]]:
    """Each operation of the document, with its method and path."""
    for path, methods in openapi_document(ServerSettings())["paths"].items():
        yield from ((f"{method.upper()} {path}", told) for method, told in methods.items())


def schemas_in(value: Any) -> Iterator[dict[str, Any]]:
    """Every object of the document that may be a schema."""
    if isinstance(value, dict):
        yield value
        for one in value.values():
            yield from schemas_in(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from schemas_in(one)


def test_every_name_in_a_path_is_a_parameter() -> None:
    """Also one with a number in it: a generated client could not call the operation."""
    for where, told in operations():
        named = {one["name"] for one in told.get("parameters", ()) if one["in"] == "path"}
        assert named == set(re.findall(r"\{([^}]+)\}", where)), where


def test_defaults_are_values_that_their_schemas_take() -> None:
    """And what must be there is described; a number has one bound at each end."""
    for schema in schemas_in(openapi_document(ServerSettings())):
        if "default" in schema and isinstance(schema.get("type"), str):
            told = {name: one for name, one in schema.items() if name in ("type", "enum", "minimum", "maximum")}
            assert jsonschema_rs.Draft202012Validator(told).is_valid(schema["default"]), schema
        if isinstance(schema.get("required"), list) and schema.get("type") == "object":
            assert set(schema["required"]) <= set(schema.get("properties", {})), schema
        assert not {"minimum", "exclusiveMinimum"} <= set(schema), schema


def test_an_answer_may_be_told_as_events_and_by_no_model() -> None:
    """Both happen, and both are documented; a stream's status is in its last event, and in no header."""
    document = openapi_document(ServerSettings())
    ok = document["paths"]["/v1/answer"]["post"]["responses"]["200"]
    assert set(ok["content"]) == {"application/json", "text/event-stream"}
    assert ok["headers"]["X-Retrieval-Status"]["required"] is False
    model = {"$ref": "#/components/schemas/AnswerShape/properties/model", "components": document["components"]}
    assert jsonschema_rs.Draft202012Validator(model).is_valid(None)
