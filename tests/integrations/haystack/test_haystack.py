"""The Haystack component against the real package, in pipelines that are saved and loaded."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from haystack import Document, Pipeline, component
from haystack.utils import Secret

from adapter_laws import QUERIES, AdapterLaws, library, url
from wenyuan.core.errors import ConfigError, InvalidRequest
from wenyuan.integrations.haystack import WenyuanRetriever

__all__ = ["library", "url"]
MODULES = [__name__, "wenyuan.integrations.haystack"]


def read(documents: list[Document]) -> list[tuple[str, str, dict[str, Any]]]:
    return [(d.id, d.content, d.meta) for d in documents]


class TestHaystack(AdapterLaws):
    def ask(self, service: Any, query: str, k: int, **restrictions: Any) -> Any:
        if "filter" in restrictions:
            restrictions["filters"] = restrictions.pop("filter")
        return read(WenyuanRetriever(service, **restrictions).run(query=query, top_k=k)["documents"])

    def ask_async(self, service: Any, query: str, k: int) -> Any:
        return read(asyncio.run(WenyuanRetriever(service, top_k=k).run_async(query=query))["documents"])


@component
class First:
    @component.output_types(text=str)
    def run(self, documents: list[Document]) -> dict[str, str]:
        return {"text": documents[0].content}


def pipeline(retriever: WenyuanRetriever) -> Pipeline:
    made = Pipeline()
    made.add_component("knowledge", retriever)
    made.add_component("first", First())
    made.connect("knowledge.documents", "first.documents")
    return made


def test_it_stands_in_a_pipeline_that_is_saved(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is loaded again answers the same, and the file holds the name of the key's variable, not the key."""
    monkeypatch.setenv("KNOWLEDGE_KEY", "wy_secret")
    keyed = WenyuanRetriever(url, key=Secret.from_env_var("KNOWLEDGE_KEY")).to_dict()
    assert "wy_secret" not in str(keyed)
    assert WenyuanRetriever.from_dict(keyed).key.resolve_value() == "wy_secret"
    saved = pipeline(WenyuanRetriever(url, top_k=1)).dumps()
    for made in (pipeline(WenyuanRetriever(url, top_k=1)), Pipeline.loads(saved, allowed_modules=MODULES)):
        assert "24 小时" in made.run({"knowledge": {"query": QUERIES[0]}})["first"]["text"]


YEAR = "meta.year"
FILTERS = [
    ({"field": YEAR, "operator": "==", "value": 2024}, {"policy"}),
    ({"field": YEAR, "operator": ">", "value": 2021}, {"policy"}),
    ({"field": YEAR, "operator": "<=", "value": 2021}, {"law"}),
    ({"field": YEAR, "operator": "!=", "value": 2021}, {"policy", "wiki"}),
    ({"field": YEAR, "operator": "in", "value": [2021, 2024]}, {"policy", "law"}),
    (
        {
            "operator": "AND",
            "conditions": [
                {"field": YEAR, "operator": ">=", "value": 2000},
                {"operator": "NOT", "conditions": [{"field": "source_id", "operator": "==", "value": "law"}]},
            ],
        },
        {"policy"},
    ),
]


@pytest.mark.parametrize(("filters", "expected"), FILTERS)
def test_filters_of_the_framework_are_applied(library: Any, filters: dict[str, Any], expected: set[str]) -> None:
    """For one call, and for all calls of a retriever that was saved."""
    once = WenyuanRetriever(library).run(query=QUERIES[3], filters=filters, top_k=10)["documents"]
    assert {d.meta["source_id"] for d in once} == expected
    always = WenyuanRetriever(library, filters=filters).run(query=QUERIES[3], top_k=10)["documents"]
    assert {d.meta["source_id"] for d in always} == expected


def test_filters_that_cannot_be_applied_are_refused(url: str) -> None:
    """To ignore them would widen the answer."""
    for filters in (
        {"field": "a", "operator": "==", "value": 1},
        {"field": YEAR, "operator": "~", "value": 1},
        {"operator": "XOR", "conditions": [{"field": YEAR, "operator": "==", "value": 1}]},
    ):
        with pytest.raises(InvalidRequest):
            WenyuanRetriever(url).run(query="x", filters=filters)


def test_an_object_cannot_be_saved(library: Any) -> None:
    """It says so, and what to give instead."""
    with pytest.raises(ConfigError, match="cannot be saved"):
        WenyuanRetriever(library).to_dict()
