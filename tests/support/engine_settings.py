"""The settings of a library of a test on each engine; those of servers are started."""

from __future__ import annotations

import secrets
from typing import Any

import pytest

import milvus_server

ON_SERVERS = [
    pytest.param("postgres", marks=pytest.mark.integration),
    pytest.param("milvus", marks=pytest.mark.integration),
]


def settings_of(engine: str, request: pytest.FixtureRequest) -> dict[str, Any]:
    """The settings of a new library: on PostgreSQL its catalog lies there, too."""
    if engine == "postgres":
        database, schema = request.getfixturevalue("database"), f"engine_{secrets.token_hex(4)}"
        return {
            "engine": engine,
            "catalog": {"dsn": database, "schema_name": schema},
            "postgres": {"dsn": database},
        }
    if engine == "milvus":
        place = {"uri": request.getfixturevalue("milvus"), "prefix": milvus_server.PREFIX}
        return {"engine": engine, "milvus": place}
    return {"engine": engine}
