"""Former versions of documents are kept as long as their source says, and longer where something holds them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import wenyuan
from wenyuan.cli.root import app
from wenyuan.core.errors import InvalidRequest
from wenyuan.core.model import Source
from wenyuan.core.retention import retention_of
from wenyuan.service.ingest.version_retention import VersionExpiry


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Any]:
    (tmp_path / "docs").mkdir()
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"}) as made:
        made.catalog.put_source(Source(source_id="s", path=str(tmp_path / "docs")))
        for number in range(5):
            (tmp_path / "docs" / "a.md").write_text(f"# 泵\n\n第{number}版写着沙漏{number}。\n", "utf-8")
            (tmp_path / "docs" / "b.md").write_text("# 阀\n\n阀门从不更换。\n", "utf-8")
            made.ingest("s")
        yield made


def limited(library: Any, **told: int) -> Source:
    source = replace(library.catalog.source("s"), settings={"retention": told})
    library.catalog.put_source(source)
    return source


def kept(library: Any) -> list[str]:
    """Which versions are in the catalog's file."""
    content = (library.folder / "catalog.db").read_bytes() + (library.folder / "catalog.db-wal").read_bytes()
    return [f"{number}" for number in range(5) if f"沙漏{number}".encode() in content]


def test_all_is_kept_where_nothing_is_said(library: Any) -> None:
    """Without the setting, nothing is erased by a refresh."""
    library.ingest("s")
    assert kept(library) == ["0", "1", "2", "3", "4"]


def test_the_newest_versions_are_kept(library: Any) -> None:
    """Of each document so many former versions stay; the present one always does; the audit says so."""
    source = limited(library, keep_versions=2)
    assert len(VersionExpiry(ingester=library.ingestion.ingester).expired(source).documents) == 2
    assert kept(library) == ["0", "1", "2", "3", "4"]
    library.ingest("s")
    assert kept(library) == ["2", "3", "4"]
    (record,) = library.audit.list(kind="erasure")
    assert (record.record["action"], record.record["object"]) == ("expired", "s")
    assert record.record["changes"]["versions"] == [None, 2]
    assert library.search("沙漏4").hits


def test_versions_are_kept_for_days(library: Any) -> None:
    """Versions that were replaced within so many days stay, and go when these are over."""
    import time

    source = limited(library, keep_days=10)
    now = VersionExpiry(ingester=library.ingestion.ingester)
    assert now.erase(source).documents == ()
    later = VersionExpiry(ingester=library.ingestion.ingester, clock=lambda: time.time() + 11 * 86_400)
    assert len(later.erase(source).documents) == 4
    assert kept(library) == ["4"]


@pytest.mark.parametrize("what", ["source", "document", "person"])
def test_what_is_held_stays(library: Any, what: str) -> None:
    """A hold on the source, the document or a person in it keeps versions past their retention; the refresh says who holds them."""
    limited(library, keep_versions=0)
    uri = next(uri for uri in library.catalog.live_documents("s") if "a.md" in uri)
    erasures = library.erasures
    target = {
        "source": lambda: erasures.source("s"), "document": lambda: erasures.document("s", uri),
        "person": lambda: erasures.person(["沙漏1。"[:3]]),
    }[what]()  # fmt: skip
    hold = erasures.hold(target, "case 9")
    report = library.ingest("s")
    assert kept(library) == (["1", "4"] if what == "person" else ["0", "1", "2", "3", "4"])
    assert any("held by local: case 9" in note for notes in report.notes.values() for note in notes)
    erasures.lift(hold.hold_id)
    library.ingest("s")
    assert kept(library) == ["4"]


@pytest.mark.parametrize(
    "told",
    [7, [], {"keep_versions": -1}, {"keep_versions": True}, {"keep_versions": "3"}, {"keep_days": 1.5}, {"keep": 1}],
)
def test_a_wrong_setting_is_refused(library: Any, told: Any) -> None:
    """What cannot be understood is refused when a source is registered, and keeps everything until then."""
    with pytest.raises(InvalidRequest, match="retention"):
        retention_of({"retention": told})
    with pytest.raises(InvalidRequest, match="retention"):
        library.add(replace(library.catalog.source("s"), settings={"retention": told}))


def test_by_command(library: Any, tmp_path: Path) -> None:
    """The command tells what would go before it does, and erases nothing that is not confirmed."""
    limited(library, keep_versions=1)
    runner, base = CliRunner(), ["--library", str(library.folder), "forget", "expired"]
    env = {"WENYUAN_ENCODER__KIND": "none"}
    assert "3 former versions would go" in runner.invoke(app, [*base, "--plan"], env=env).output
    refused = runner.invoke(app, [*base, "s"], env=env)
    assert refused.exit_code == 2
    assert kept(library) == ["0", "1", "2", "3", "4"]
    assert runner.invoke(app, [*base, "s", "--yes"], env=env).exit_code == 0
    assert kept(library) == ["3", "4"]
