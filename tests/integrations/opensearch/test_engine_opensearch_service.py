"""A whole library on the engine of OpenSearch."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

import opensearch_cluster
from opensearch_cluster import Cluster
from server_library_laws import Broken, ServerLibraryLaws, Settings


class Urls(list[str]):
    """Addresses, which the environment has as JSON."""

    def __str__(self) -> str:
        return json.dumps(self)


def placed(urls: Sequence[str], deadline: float) -> Settings:
    return {
        "opensearch": {"urls": Urls(urls), "prefix": opensearch_cluster.PREFIX},
        "search": {"deadline": deadline},
    }


class Whole:
    """All nodes at once."""

    def __init__(self, nodes: Cluster) -> None:
        self._nodes = nodes

    def crash(self) -> None:
        self._nodes.end()

    def start(self) -> None:
        self._nodes.start()


class TestOpenSearchLibrary(ServerLibraryLaws):
    """Every law, on a real cluster."""

    engine = "opensearch"

    @pytest.fixture
    def settings(self, made: Sequence[str]) -> Settings:
        return placed(made, 20.0)

    @pytest.fixture
    def breakable(self, nodes: Cluster) -> Broken:
        @contextmanager
        def broken() -> Iterator[tuple[Settings, Whole]]:
            yield placed(nodes.urls, 5.0), Whole(nodes)

        return broken
