"""Documents by their addresses, at sizes at which a folder must not be read whole."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from governed_door import SETTINGS

TODAY = date(2026, 1, 1)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("addresses")
    for name in ("a.md", "a/x.md", "a/y/z.md", "a-b/c.md", "b/1.md", "b/2.md", "中/文.md"):
        (folder / "docs" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "docs" / name).write_text(f"# {name}\n\nText of {name}.\n", "utf-8")
    with wenyuan.open(folder / "library", create=True, **SETTINGS) as found:
        found.add(wenyuan.Source(source_id="docs", path=str(folder / "docs")))
        yield found, (folder / "docs").as_uri() + "/"


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
def test_each_child_stands_once(library: tuple[Any, str], limit: int) -> None:
    """However long a page is, and though a document has a folder's name or begins as one."""
    found, top = library
    names, after = list[tuple[str, bool]](), ""
    while True:
        page = found.catalog.addressed.children("docs", top, today=TODAY, after=after, limit=limit)
        names += [(one.name, one.document is None) for one in page]
        if len(page) < limit:
            break
        after = page[-1].behind
    assert names == [("a-b", True), ("a.md", False), ("a", True), ("b", True), ("中", True)]


def test_a_folder_of_many_is_one_step(library: tuple[Any, str]) -> None:
    """What lies below a folder is passed over, and not read."""
    found, top = library
    seen: list[str] = []
    whole = found.catalog.addressed.documents_below("docs", top, today=TODAY, limit=100)
    for one in whole:
        seen.append(one.uri)
    assert seen == sorted(seen)
    assert len(seen) == 7
    assert found.catalog.addressed.document_at("docs", top + "a", today=TODAY) is None
    assert found.catalog.addressed.document_at("docs", top + "a.md", today=TODAY).title == "a.md"


def test_documents_of_another_day_are_not_there(library: tuple[Any, str], tmp_path: Path) -> None:
    """What begins later or has ended is neither listed nor found."""
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "later.md").write_text("---\neffective_from: 2027-01-01\n---\n# L\n\nLater.\n", "utf-8")
    (tmp_path / "d" / "now.md").write_text("# N\n\nNow.\n", "utf-8")
    with wenyuan.open(tmp_path / "library", create=True, **SETTINGS) as found:
        found.add(wenyuan.Source(source_id="d", path=str(tmp_path / "d")))
        top = (tmp_path / "d").as_uri() + "/"
        names = [
            [one.name for one in found.catalog.addressed.children("d", top, today=day)]
            for day in (TODAY, date(2027, 5, 1))
        ]
        assert names == [["now.md"], ["later.md", "now.md"]]
