"""The LangChain retriever against the real package, and its own suite for retrievers."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda
from langchain_tests.integration_tests import RetrieversIntegrationTests

from adapter_laws import QUERIES, AdapterLaws, library, url
from doors import attach_optional, broken, foreign_library
from wenyuan import RetrievalFailed
from wenyuan.integrations.langchain import WenyuanRetriever

__all__ = ["library", "url"]


def read(documents: list[Document]) -> list[tuple[str, str, dict[str, Any]]]:
    return [(str(d.id), d.page_content, d.metadata) for d in documents]


class TestLangChain(AdapterLaws):
    def ask(self, service: Any, query: str, k: int, **restrictions: Any) -> Any:
        return read(WenyuanRetriever(service=service, k=k, **restrictions).invoke(query))

    def ask_async(self, service: Any, query: str, k: int) -> Any:
        return read(asyncio.run(WenyuanRetriever(service=service, k=k).ainvoke(query)))


class TestTheirOwnSuite(RetrieversIntegrationTests):
    """The suite of ``langchain-tests``."""

    @pytest.fixture(autouse=True)
    def _served(self, url: str) -> None:
        type(self).url = url

    @property
    def retriever_constructor(self) -> type[WenyuanRetriever]:
        return WenyuanRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"service": self.url}

    @property
    def retriever_query_example(self) -> str:
        return "customer complaint 客户投诉"


class Seen(BaseCallbackHandler):
    def __init__(self) -> None:
        self.errors: list[BaseException] = []
        self.texts: list[str] = []

    def on_retriever_error(self, error: BaseException, **_: Any) -> None:
        self.errors.append(error)

    def on_text(self, text: str, **_: Any) -> None:
        self.texts.append(text)


def test_callbacks_hear_of_a_failure(library: Any) -> None:
    """`on_retriever_error` is called with the failure."""
    seen = Seen()
    with broken(library), pytest.raises(RetrievalFailed):
        WenyuanRetriever(service=library).invoke(QUERIES[0], config={"callbacks": [seen]})
    assert [type(error) for error in seen.errors] == [RetrievalFailed]


def test_callbacks_hear_what_is_degraded(tmp_path: Path) -> None:
    """The run is told in `on_text` what did not answer."""
    seen = Seen()
    with foreign_library(tmp_path) as library:
        attach_optional(library)
        WenyuanRetriever(service=library).invoke(QUERIES[0], config={"callbacks": [seen]})
    assert seen.texts == ["degraded: source elsewhere did not answer"]


def test_it_stands_in_a_chain(url: str) -> None:
    """As any runnable."""
    chain = WenyuanRetriever(service=url, k=1) | RunnableLambda(lambda documents: documents[0].page_content)
    assert "24 小时" in chain.invoke(QUERIES[0])


def test_the_key_is_not_shown(url: str) -> None:
    """Neither in its representation nor in its dump."""
    retriever = WenyuanRetriever(service=url, key="wy_secret")
    assert "wy_secret" not in f"{retriever!r} {retriever.model_dump()}"


def test_search_kwargs_are_applied_or_refused(library: Any) -> None:
    """As vector stores of the framework take them; and a filter for one call is met besides."""
    given = {"k": 10, "filter": {"metadata.year": {"ge": 2000}}}
    retriever = WenyuanRetriever(service=library, search_kwargs=given)
    assert {d.metadata["source_id"] for d in retriever.invoke(QUERIES[3])} == {"policy", "law"}
    once = retriever.invoke(QUERIES[3], filter={"source_id": "law"})
    assert {d.metadata["source_id"] for d in once} == {"law"}
    for wrong in ({"score_threshold": 0.5}, {"fetch_k": 20}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            WenyuanRetriever(service=library, search_kwargs=wrong)
    with pytest.raises(TypeError):
        retriever.invoke(QUERIES[3], domain="law")
