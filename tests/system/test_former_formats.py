"""A library of each former format of the catalog is opened, asked and written to by this program.

Former programs themselves have made them (`scripts/make_former_formats.py`); two formats were in no program that was kept.
"""

from __future__ import annotations

import json
import shutil
import tarfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from catalog_parts import tables_of
from wenyuan.catalog import Catalog
from wenyuan.catalog.format_upgrades import SCHEMA_VERSION

ARCHIVE = Path(__file__).parents[1] / "data" / "former_formats.tar.xz"
KEPT = range(1, 31)
"""Formats of which there is a library: those up to that of the last release."""
NEVER = {3, 29}
SETTINGS: dict[str, Any] = {"encoder": {"kind": "hashing"}, "audit": {"retention_days": 36_500}}
PARKING = "# Parking\n\nVisitors park on level two.\n"


@pytest.fixture(scope="module")
def formats(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with a library of each."""
    folder = tmp_path_factory.mktemp("formats")
    with tarfile.open(ARCHIVE) as packed:
        packed.extractall(folder, filter="data")
    return folder


def test_each_former_format_is_there(formats: Path) -> None:
    """Of each program that was kept; and the program of today knows none of them as a later one."""
    assert {int(one.name) for one in formats.iterdir()} == set(KEPT) - NEVER
    assert max(KEPT) <= SCHEMA_VERSION


@pytest.mark.parametrize("number", sorted(set(KEPT) - NEVER))
def test_it_becomes_a_library_of_today(formats: Path, number: int, tmp_path: Path) -> None:
    """It has a new library's tables, answers as it did, verifies its record, takes in more, and does all of that
    once more when it is opened again.
    """
    folder = tmp_path / "library"
    shutil.copytree(formats / str(number), folder)
    asked = json.loads((folder / "asked.json").read_text("utf-8"))["answers"]
    with wenyuan.open(folder, **SETTINGS) as library:
        assert library.catalog._version() == SCHEMA_VERSION
        assert [(one.source_id, one.title, one.trust) for one in library.sources()] == [("handbook", "Handbook", 4)]
        assert len(library.documents()) == 2
        assert {question: answer(library, question) for question in asked} == asked
        assert library.audit.verify().ok
        with closing(Catalog.create(tmp_path / "new")) as new:
            assert tables_of_one(library.catalog) == tables_of_one(new)
        (tmp_path / "notes").mkdir()
        (tmp_path / "notes" / "parking.md").write_text(PARKING, "utf-8")
        assert not library.add(wenyuan.Source(source_id="notes", path=str(tmp_path / "notes"), trust=3)).failed
    with wenyuan.open(folder, **SETTINGS) as library:
        assert "level two" in answer(library, "Where do visitors park?")
        assert {question: answer(library, question) for question in asked} == asked
        assert library.audit.verify().ok


def answer(library: wenyuan.Library, question: str) -> str:
    """The words of the first fragment."""
    given = library.retrieve_fragments(wenyuan.RetrievalRequest(query=question, max_results=1))
    assert given.status == "SUCCESS", given.error_message
    return given.fragments[0].content


def tables_of_one(catalog: Any) -> Any:
    with catalog.database.reader.begin() as connection:
        return tables_of(connection)
