"""A whole library on the engine of Milvus."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

import milvus_server
from server_library_laws import Broken, ServerLibraryLaws, Settings

pytestmark = pytest.mark.integration


def placed(address: str, deadline: float) -> Settings:
    return {"milvus": {"uri": address, "prefix": milvus_server.PREFIX}, "search": {"deadline": deadline}}


class TestMilvusLibrary(ServerLibraryLaws):
    """Every law, on a real server; milvus-lite takes its time to answer at first."""

    engine = "milvus"

    @pytest.fixture
    def settings(self, milvus: str) -> Settings:
        return placed(milvus, 10.0)

    @pytest.fixture
    def breakable(self) -> Broken:
        @contextmanager
        def made() -> Iterator[tuple[Settings, milvus_server.Server]]:
            with milvus_server.own() as server:
                yield placed(server.address, 3.0), server

        return made
