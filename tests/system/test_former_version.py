"""A library that a former version made is opened by this one, and every answer that it gave is given again."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from catalog_parts import tables_of
from wenyuan.catalog import Catalog
from wenyuan.catalog.format_upgrades import SCHEMA_VERSION
from wenyuan.service.audit.rerun import Replay

ARCHIVE = Path(__file__).parents[1] / "data" / "former_library.zip"
ASKED, ASKED_LAST = 38, 9
PROBABILITIES = 31
"""Of these answers have probabilities, or ranks of rules, of a former form, which the present program does not make."""
OF_THE_FORM = {"program changed", "calibration changed", "measured anew", "settings changed", "scores changed"}


def others(replay: Replay) -> set[str]:
    """What differs, but for what a former form of the probabilities explains."""
    found = {one.what for one in replay.differences}
    return found - OF_THE_FORM if "program changed" in found else found


@pytest.fixture(scope="module")
def former(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, list[Any]]]:
    """It is opened by this one, with the records of its answers, oldest first."""
    folder = tmp_path_factory.mktemp("former")
    with zipfile.ZipFile(ARCHIVE) as packed:
        packed.extractall(folder)
    kept = {"retention_days": 36_500}  # its records are of 2026, and would be removed when they are half a year old
    with wenyuan.open(folder, encoder={"kind": "builtin"}, cache={"seconds": 0}, audit=kept) as library:
        asked = [r for r in library.audit.list(limit=1000) if r.kind == "retrieval"]
        yield library, asked[::-1]


def test_it_is_of_the_present_format_and_whole(former: tuple[Any, list[Any]]) -> None:
    """It was migrated when it was opened; its documents, agents, rules and records are all there."""
    library, asked = former
    assert library.catalog._version() == SCHEMA_VERSION
    assert {s.source_id: s.trust for s in library.sources()} == {
        "handbook": 5,
        "policy": 4,
        "notes": 2,
        "pit_code": 5,
    }
    assert len(library.documents()) == 11
    assert {agent.agent_id for agent in library.catalog.agents()} == {"support", "builder"}
    assert len(library.catalog.synonyms()) == 1
    assert library.audit.verify().ok
    assert len(asked) == ASKED


def test_its_tables_are_those_of_a_new_library(former: tuple[Any, list[Any]], tmp_path: Path) -> None:
    """Columns, keys and indexes."""
    library, _ = former
    with (
        closing(Catalog.create(tmp_path)) as new,
        new.database.reader.begin() as expected,
        library.catalog.database.reader.begin() as migrated,
    ):
        assert tables_of(migrated) == tables_of(expected)


def test_every_answer_is_given_again_by_the_library_as_it_was(former: tuple[Any, list[Any]]) -> None:
    """Search, context, cases and rules, before and after documents changed: the same passages, words and order; where it gave
    probabilities of a former form, that is said.
    """
    library, asked = former
    replayed = {(r.seq, r.record["preview"]): library.replay(r.audit_id, exact=True) for r in asked}
    assert {text: r.differences for text, r in replayed.items() if others(r)} == {}
    assert sum(r.identical for r in replayed.values()) == ASKED - PROBABILITIES


def test_what_was_asked_of_the_last_state_is_answered_alike_today(former: tuple[Any, list[Any]]) -> None:
    """Nothing has changed in the library since: the answer of today has the passages, words and order of the record."""
    library, asked = former
    last = [r for r in asked if r.record["generation"] == library.catalog.seq()]
    assert len(last) == ASKED_LAST
    replayed = {(r.seq, r.record["preview"]): library.replay(r.audit_id) for r in last}
    assert {text: r.differences for text, r in replayed.items() if others(r)} == {}
