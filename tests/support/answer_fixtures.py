"""Fixtures of tests that ask a language model in both languages: a server that lies on demand, and libraries of complaints.

A test module names those that it imports in its ``__all__``.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import wenyuan
from answer_library import answering
from liars_server import Server, lying
from wenyuan.runtime import json_endpoint

LANGUAGES = ("zh", "en")


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with lying() as server:
        yield server


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory, running: Server) -> Iterator[dict[str, wenyuan.Library]]:
    made = {name: answering(tmp_path_factory.mktemp(name), name, running) for name in LANGUAGES}
    with made["zh"] as zh, made["en"] as en:
        yield {"zh": zh, "en": en}


@pytest.fixture
def server(running: Server, libraries: dict[str, wenyuan.Library], monkeypatch: pytest.MonkeyPatch) -> Server:
    """The server of both libraries, as it is before it was asked anything."""
    running.begin("perfect")
    monkeypatch.setattr(json_endpoint, "_BACKOFF", 0.01)
    for library in libraries.values():
        library.answerer.llm._guard._breaker.worked()  # type: ignore[union-attr]
        library.summarizer._kept.clear()
    return running


@pytest.fixture(params=LANGUAGES)
def language(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def library(libraries: dict[str, wenyuan.Library], language: str, server: Server) -> wenyuan.Library:
    return libraries[language]
