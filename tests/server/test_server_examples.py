"""The OpenAPI document shows how each question is asked, and with what key; the examples are taken as they stand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest

from doors import foreign_library, served
from governed_door import send
from rules_door import BOOK
from wenyuan.readers.rulebooks.selection import read_book
from wenyuan.server.app import openapi_document
from wenyuan.server.examples import ANSWERS, EXAMPLES
from wenyuan.settings import ServerSettings

DOCUMENT = openapi_document(ServerSettings())
OPERATIONS = {
    operation["operationId"]: (path, method, operation)
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
}


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("examples")
    (folder / "book.yaml").write_text(BOOK, encoding="utf-8")
    with foreign_library(folder) as library:
        library.rules.take(read_book(folder / "book.yaml"))
        with served(library) as address:
            yield address


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_a_question_that_the_server_takes(url: str, name: str) -> None:
    """As it stands in the document; what needs a language model says that there is none."""
    path, method, operation = OPERATIONS[name]
    example = operation["requestBody"]["content"]["application/json"]["example"]
    answer = send(url, method.upper(), path.replace("{vector_store_id}", "all"), example)
    assert answer.status == 200, answer.body


def test_every_question_has_an_example() -> None:
    """Whatever is asked and answers SUCCESS or FAILED."""
    asked = {
        name
        for name, (_, _, operation) in OPERATIONS.items()
        if "X-Retrieval-Status" in operation["responses"].get("200", {}).get("headers", {})
    }
    assert asked == set(EXAMPLES)


@pytest.mark.parametrize("name", ANSWERS)
def test_an_example_of_an_answer_is_one(name: str) -> None:
    """It keeps the schema beside it."""
    content = OPERATIONS[name][2]["responses"]["200"]["content"]["application/json"]
    pointer = {**content["schema"], "components": DOCUMENT["components"]}
    for example in content["examples"].values():
        jsonschema_rs.Draft202012Validator(pointer).validate(example["value"])


def test_every_operation_says_whether_it_needs_a_key() -> None:
    """Pages that are open to all need none; all others a bearer token, where the library has keys."""
    assert DOCUMENT["components"]["securitySchemes"]["key"]["scheme"] == "bearer"
    needs: dict[str, Any] = {
        path: op["security"] for path, methods in DOCUMENT["paths"].items() for op in methods.values()
    }
    assert needs["/livez"] == needs["/llms.txt"] == []
    assert all({"key": []} in one for path, one in needs.items() if path.startswith("/v1/"))
