"""Three servers before one PostgreSQL while documents, scopes and keys change and servers are killed: each answer is explained."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "bench"))  # behind: it has modules of the names of tests/support

import one_record
import postgres_server

pytestmark = [pytest.mark.integration, pytest.mark.slow]


def test_every_answer_is_explained(tmp_path: Path, thorough: bool) -> None:
    """By a state between its beginning and its end; no request fails but those of the server that was killed."""
    seconds = 300 if thorough else 30
    with postgres_server.own() as own:
        found = one_record.run(tmp_path, own.dsn, seconds=seconds, servers=3, kill_every=10, askers=2)
    assert found["wrong, examples"] == {}
    assert found["failed elsewhere"] == {}
    assert found["answers"] > 0
    assert found["changes"]["documents"] > 0
    assert found["killed"] > 0
