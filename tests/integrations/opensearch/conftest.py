"""A cluster for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import opensearch_cluster


@pytest.fixture(scope="session")
def cluster() -> Iterator[list[str]]:
    """The addresses of the nodes of a cluster."""
    with opensearch_cluster.running() as urls:
        yield urls


@pytest.fixture
def made(cluster: list[str]) -> Iterator[list[str]]:
    """The same; what a test makes there is deleted with it, for many small indices are a load."""
    yield cluster
    opensearch_cluster.clear(cluster[0])
