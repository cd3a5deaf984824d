"""A cluster for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import opensearch_cluster
from opensearch_cluster import Cluster


@pytest.fixture(scope="session")
def own_cluster() -> Iterator[Cluster]:
    """Three nodes that tests may kill."""
    with opensearch_cluster.own() as made:
        yield made


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest) -> list[str]:
    """The addresses of the nodes of a cluster: of one that is given, or of our own."""
    if opensearch_cluster.GIVEN:
        return opensearch_cluster.GIVEN.split(",")
    nodes: Cluster = request.getfixturevalue("own_cluster")
    return nodes.urls


@pytest.fixture
def made(cluster: list[str]) -> Iterator[list[str]]:
    """The same; what a test makes there is deleted with it, for many small indices are a load."""
    yield cluster
    opensearch_cluster.clear(cluster[0])


@pytest.fixture
def nodes(own_cluster: Cluster) -> Iterator[Cluster]:
    """A cluster of our own, whole again at the end of a test."""
    yield own_cluster
    own_cluster.start()
    opensearch_cluster.clear(own_cluster.nodes[0].url)
