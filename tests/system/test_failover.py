"""A PostgreSQL is lost in the middle of an ingest and of questions, and its standby promoted: FAILED or right, and nothing acknowledged lost."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "bench"))  # behind: it has modules of the names of tests/support

import failover

pytestmark = [pytest.mark.integration, pytest.mark.slow]


def test_the_standby_goes_on(tmp_path: Path) -> None:
    """With a standby that has each commit first, every answer is explained, every acknowledged document is there, the audit verifies,
    and nobody starts anything anew.
    """
    found = failover.one_round(tmp_path, 1, synchronous=True, seconds=1.0)
    assert found["examples"] == {}
    assert found["answers"] >= 6
    assert found["runs taken in"] >= 5
