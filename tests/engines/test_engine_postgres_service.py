"""A whole library on the engine of PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

import postgres_server
from server_library_laws import Broken, ServerLibraryLaws, Settings

pytestmark = pytest.mark.integration


class TestPostgresLibrary(ServerLibraryLaws):
    """Every law, on a real server."""

    engine = "postgres"

    @pytest.fixture
    def settings(self, database: str) -> Settings:
        return {"postgres": {"dsn": database}}

    @pytest.fixture
    def breakable(self) -> Broken:
        @contextmanager
        def made() -> Iterator[tuple[Settings, postgres_server.Server]]:
            with postgres_server.own() as server:
                yield {"postgres": {"dsn": server.dsn}}, server

        return made
