"""Whatever a caller gives a public call, a mistake is told as one: never as an error of our inside, or a failed engine."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator
from datetime import date, datetime
from typing import Any

import pytest

from doors import foreign_library, served
from wenyuan import AsyncClient, Client, InvalidRequest, KnowledgeError, Library, Source
from wenyuan.core.errors import ConfigError, EngineError, NotPermitted
from wenyuan.knowledge_retriever import KGRetriever, KnowledgeRetriever, VectorRetriever
from wenyuan.service.context import ContextRequest
from wenyuan.service.fragment_search import FragmentsRequest
from wenyuan.service.generation.answers import AnswerRequest
from wenyuan.service.generation.proposals import ProposeRequest
from wenyuan.service.ingest.corrections import CorrectionRequest
from wenyuan.service.rules.unified import CaseQuestion, RuleQuestion, UnifiedRequest
from wenyuan.service.search.searcher import SearchRequest
from wenyuan.service.uploads import Given
from wenyuan.service.verification import VerifyRequest

WRONG: tuple[Any, ...] = (
    None, True, 0, -1, 10**20, 1.5, float("nan"), "", " ", "text", "a\0b", b"bytes", [], ["x"], [1], {}, {"x": 1}, (),
    object(), date(2026, 1, 1), datetime(2026, 1, 1), set(), lambda *_: None,
)  # fmt: skip
REQUESTS = (
    ContextRequest, FragmentsRequest, AnswerRequest, ProposeRequest, CorrectionRequest, CaseQuestion, RuleQuestion,
    UnifiedRequest, SearchRequest, Given, VerifyRequest,
)  # fmt: skip
LASTING = ("close", "hire", "follow")
"""They start or end something, and are asked with nothing."""
RIGHT: dict[str, Any] = {
    "query": "客户投诉", "request": None, "source_id": "law", "document_id": 1, "audit_id": "x", "ref": "law#1",
    "name": "x", "action": "exclude", "content": b"x", "files": {}, "statement_ids": [1], "page": 1, "width": 100,
    "correction_id": 1, "evaluation_id": 1, "source": "law", "pairs": [], "given": [], "node_id": 1, "limit": 5,
    "curve": {}, "passage_id": 1, "answer": "x",
}  # fmt: skip


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with foreign_library(tmp_path_factory.mktemp("arguments")) as found:
        yield found


@pytest.fixture(scope="module")
def client(library: Any) -> Iterator[Client]:
    with served(library) as url, Client(url) as found:
        yield found


def calls(cls: type) -> list[str]:
    return [
        name
        for name in dir(cls)
        if not name.startswith("_") and inspect.isfunction(getattr(cls, name)) and name not in LASTING
    ]


def outcome(call: Callable[..., Any], given: dict[str, Any]) -> str:
    """What is wrong with how a call takes its arguments; ``""`` for nothing."""
    try:
        call(**given)
    except EngineError as error:
        return f"{type(error).__name__}: {error}"
    except KnowledgeError as error:
        return "internal error" if "internal error" in str(error) else ""
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def arguments_of(call: Callable[..., Any]) -> tuple[dict[str, Any], list[str]]:
    """Right values for what a call needs, and the names of all that it takes."""
    parameters = {
        one: parameter
        for one, parameter in inspect.signature(call).parameters.items()
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    }
    needed = {
        one: RIGHT.get(one) for one, parameter in parameters.items() if parameter.default is inspect.Parameter.empty
    }
    return needed, list(parameters)


def faults_of(thing: Any, names: list[str]) -> list[str]:
    found = []
    for name in names:
        call = getattr(thing, name)
        needed, parameters = arguments_of(call)
        for wrong in parameters:
            for value in WRONG:
                if said := outcome(call, {**needed, wrong: value}):
                    found.append(f"{name}({wrong}={value!r:.40}): {said:.200}")
    return found


def test_a_library_tells_a_wrong_argument(library: Library) -> None:
    """Each public method, each argument, each kind of wrong value."""
    assert "\n".join(faults_of(library, calls(Library))) == ""


def test_a_client_tells_a_wrong_argument(client: Client) -> None:
    """As the library."""
    assert "\n".join(faults_of(client, calls(Client))) == ""


def test_an_async_client_tells_a_wrong_argument(library: Any) -> None:
    """As the other one, whether it says so at once or when it is awaited."""

    async def asked(url: str) -> list[str]:
        found = []
        async with AsyncClient(url) as client:
            for name in calls(AsyncClient):
                call = getattr(client, name)
                if not inspect.iscoroutinefunction(inspect.unwrap(call)):
                    continue
                given, parameters = arguments_of(call)
                for wrong in parameters:
                    for value in (None, 5, -1, float("nan"), "", [1], {"x": 1}, object()):
                        try:
                            await call(**{**given, wrong: value})
                        except EngineError as error:
                            found.append(f"{name}({wrong}={value!r:.40}): {error!r:.200}")
                        except KnowledgeError as error:
                            found += [f"{name}({wrong}={value!r:.40}): {error}"] * ("internal error" in str(error))
                        except Exception as error:
                            found.append(f"{name}({wrong}={value!r:.40}): {error!r:.200}")
        return found

    with served(library) as url:
        assert "\n".join(asyncio.run(asked(url))) == ""


def test_the_retriever_and_its_engines_tell_a_wrong_argument(library: Library) -> None:
    """As the library that they ask."""
    cases, rules = VectorRetriever(library), KGRetriever(library)
    found = []
    for thing in (cases, rules, KnowledgeRetriever(cases, rules)):
        found += faults_of(thing, [name for name in calls(type(thing)) if name != "from_storage"])
    assert "\n".join(found) == ""


def test_a_client_cannot_be_made_of_wrong_values() -> None:
    """The refusal is one of the settings."""
    for given in ({"url": 5}, {"key": 5}, {"timeout": "3"}, {"timeout": 10**20}, {"retries": 1.5}):
        with pytest.raises(ConfigError):
            Client(**{"url": "http://127.0.0.1:9", **given})  # type: ignore[arg-type]


@pytest.mark.parametrize("shape", REQUESTS, ids=lambda shape: shape.__name__)
def test_a_request_tells_a_wrong_field(shape: Any) -> None:
    """It cannot be made."""
    assert faults_of(type("Maker", (), {"made": staticmethod(shape)}), ["made"]) == []


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({"filter": "year"}, "filter"), ({"filter": {"year": 1}}, "filter.year"), ({"sources": "law"}, "sources"),
        ({"limit": 0}, "limit"), ({"limit": "5"}, "limit"), ({"as_of": "soon"}, "as_of"), ({"as_of": 5}, "as_of"),
        ({"context": "x"}, "context"), ({"min_trust": 7}, "context.min_trust"), ({"domain": 5}, "domain"),
    ],
)  # fmt: skip
def test_the_fault_names_the_argument(library: Library, given: dict[str, Any], fault: str) -> None:
    """By the name that the caller used."""
    with pytest.raises(InvalidRequest) as refused:
        library.search("客户投诉", **given)
    assert [one.path for one in refused.value.faults] == [fault]


def test_a_text_is_no_request(library: Library) -> None:
    """The contract's method takes a request."""
    with pytest.raises(InvalidRequest, match="RetrievalRequest"):
        library.retrieve_fragments("客户投诉")  # type: ignore[arg-type]


def test_an_unknown_source_is_named(library: Library) -> None:
    """Whole, not by its first letter."""
    with pytest.raises(NotPermitted, match="'git'"):
        library.search("x", sources=["git"])
    assert Source(source_id="law").source_id == "law"
