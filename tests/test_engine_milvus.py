"""The engine on Milvus: the laws of `engine_laws` against a real gRPC server, and what is special about it."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import milvus_server
from engine_laws import SPEC, EngineLaws
from wenyuan.catalog import Catalog
from wenyuan.core.ports import Engine
from wenyuan.engines.milvus import MilvusEngine, Place

PREFIX = f"wenyuan_test_{secrets.token_hex(4)}"


@pytest.fixture(scope="module", autouse=True)
def leave_nothing(milvus: str) -> Iterator[None]:
    """Collections of these tests are dropped at the end: the server may be somebody's."""
    yield
    client = milvus_server.client(milvus)
    for name in client.list_collections():
        if name.startswith(PREFIX):
            client.drop_collection(name)
    client.close()


def opened(address: str, catalog: Catalog) -> MilvusEngine:
    place = Place(uri=address)
    return MilvusEngine(place, SPEC, library_id=catalog.library_id(), exclusive=catalog.writing, prefix=PREFIX)


@pytest.fixture
def make_engine(milvus: str) -> Callable[[Path, Catalog], Engine]:
    return lambda _, catalog: opened(milvus, catalog)


class TestMilvusEngine(EngineLaws):
    """Every law, on a real server."""
