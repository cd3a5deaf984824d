"""Sources with an address, as they are registered and read: other people's connectors, interruptions, what is remembered."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from governed_door import governed_server, send
from other_packages import install_package
from wenyuan.connectors.selection import schemes
from wenyuan.core.errors import InvalidRequest, SourceError
from wenyuan.i18n.translation import translated
from wenyuan.service.ingest.registry import plan, read_registry

MODULE = """
from hashlib import sha256

from wenyuan.core.connectors import Entry
from wenyuan.core.errors import SourceError

HELD, FETCHED, BREAKS = {}, [], []


class Shelf:
    def __init__(self, opening):
        self.word = opening.secret(opening.settings["word_env"]) if "word_env" in opening.settings else ""

    def list(self, known):
        for count, (key, text) in enumerate(sorted(HELD.items())):
            if BREAKS and count >= BREAKS[0]:
                raise SourceError("the shelf fell over")
            yield Entry(key=key, uri=f"shelf://a/{key}", name=key, version=sha256(text.encode()).hexdigest())

    def fetch(self, entry, most):
        FETCHED.append(entry.key)
        return HELD[entry.key].encode()

    def close(self):
        pass
"""


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Another package with a connector, installed for this test; its module."""
    packages = tmp_path / "packages"
    install_package(packages, "shelf-connector", {"wenyuan.connectors": {"shelf": "shelf_connector:Shelf"}}, MODULE)
    monkeypatch.syspath_prepend(packages)
    import shelf_connector  # type: ignore[import-not-found]

    shelf_connector.HELD.clear()
    shelf_connector.FETCHED.clear()
    shelf_connector.BREAKS.clear()
    shelf_connector.HELD |= {f"{n}.md": f"# Page {n}\n\nText of page {n}.\n" for n in range(4)}
    yield shelf_connector
    monkeypatch.delitem(__import__("sys").modules, "shelf_connector")


@pytest.fixture
def library(tmp_path: Path) -> Iterator[wenyuan.Library]:
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"}) as library:
        yield library


class Unfetchable(str):
    """A text that can be listed once, and not fetched."""

    times = 0

    def encode(self, *_: Any) -> bytes:  # type: ignore[override]
        self.times += 1
        return str.encode(self) if self.times == 1 else bytes(1 // 0)


SOURCE = wenyuan.Source(source_id="shelf", path="shelf://a/")


def test_a_connector_of_another_package_is_found(shelf: Any, library: wenyuan.Library) -> None:
    """By its entry point; what it lists is taken in and found like anything else."""
    assert "shelf" in schemes()
    assert library.add(SOURCE).added == 4
    assert library.search("page 2").hits


def test_what_was_read_before_a_break_stays(shelf: Any, library: wenyuan.Library) -> None:
    """A listing that breaks off is a failure that retires nothing; the next run fetches what is left."""
    library.add(SOURCE)
    shelf.FETCHED.clear()
    shelf.HELD |= {"0.md": "# Other\n\nAnother text.\n", "3.md": "# Third\n\nAnother text of three.\n"}
    shelf.BREAKS.append(2)
    with pytest.raises(SourceError, match="fell over"):
        library.ingest("shelf")
    assert shelf.FETCHED == ["0.md"]
    assert len(library.catalog.live_documents("shelf")) == 4
    assert library.search("Another text").hits
    shelf.BREAKS.clear()
    report = library.ingest("shelf")
    assert (report.changed, report.unchanged) == (1, 3)
    assert shelf.FETCHED == ["0.md", "3.md"]


def test_a_connector_that_is_broken_is_told_by_name(shelf: Any, library: wenyuan.Library) -> None:
    """Whatever it raises is a reason: in listing, of the source; in fetching, of that document. Nothing is retired."""
    library.add(SOURCE)
    shelf.HELD["1.md"] = None
    with pytest.raises(SourceError, match=r"its connector failed \(AttributeError\)"):
        library.ingest("shelf")
    assert len(library.catalog.live_documents("shelf")) == 4
    shelf.HELD["1.md"] = Unfetchable("# Page 1\n\nAnother text.\n")
    report = library.ingest("shelf")
    assert report.failed == {"shelf://a/1.md": "1.md: its connector failed (ZeroDivisionError)"}
    assert len(library.catalog.live_documents("shelf")) == 4


def test_what_is_read_in_another_way_is_fetched_again(shelf: Any, library: wenyuan.Library) -> None:
    """With another redaction the texts are other ones, though the versions are the same."""
    library.add(SOURCE)
    shelf.FETCHED.clear()
    library.catalog.put_source(wenyuan.Source(source_id="shelf", path="shelf://a/", sensitivity="internal"))
    library.ingest("shelf")
    assert len(shelf.FETCHED) == 4


def test_nothing_is_remembered_that_redaction_takes_out(shelf: Any, library: wenyuan.Library) -> None:
    """An entry with an identity number in its name leaves no trace of it, and is fetched at every run."""
    number = "11010519491231002X"
    shelf.HELD[f"{number}.md"] = "# Somebody\n\nText.\n"
    library.add(SOURCE)
    shelf.FETCHED.clear()
    assert len(library.catalog.listed("shelf")) == 4
    assert library.ingest("shelf").unchanged == 5
    assert [f"{number}.md"] == shelf.FETCHED
    assert number not in str(library.catalog.live_documents("shelf"))
    assert not any(number.encode() in file.read_bytes() for file in library.folder.rglob("*") if file.is_file())


def test_a_removed_source_leaves_nothing(shelf: Any, library: wenyuan.Library) -> None:
    """What was listed goes with the source."""
    library.add(SOURCE)
    library.remove("shelf")
    assert library.catalog.listed("shelf") == {}


def test_a_registry_file_names_a_scheme_that_is_not_known(tmp_path: Path, library: wenyuan.Library) -> None:
    """Before anything is changed, in both languages."""
    file = tmp_path / "registry.yaml"
    file.write_text("sources:\n  - source_id: a\n    path: nosuch://x/y\n")
    with pytest.raises(
        InvalidRequest, match="source a: there is no connector for nosuch://; known are: http"
    ) as caught:
        plan(library, read_registry(library, file))
    assert translated(caught.value.faults[0].message).startswith("来源 a：没有 nosuch:// 的连接器")
    assert library.sources() == ()


def test_over_http_local_places_are_those_that_are_allowed(tmp_path: Path, shelf: Any) -> None:
    """An address that reads from this machine must lie below a folder of the settings; others may be named."""
    with governed_server(tmp_path, needs_keys=False) as (url, library):
        for path in ("git+file:///etc", "git+file:///%65tc#path=a", "zip:///etc/a.zip", "zip://a::file:///etc/a.zip"):
            answer = send(url, "POST", "/v1/sources", {"source_id": "x", "path": path})
            assert answer.status == 403, answer.json
        archive = tmp_path.parent / f"{tmp_path.name}.zip"
        with zipfile.ZipFile(archive, "w") as packed:
            packed.writestr("a.md", "# Secret\n\nOutside of every root.\n")
        for chain in (
            "zip://::zip://{}", "zip://a.md::zip://{}", "simplecache::zip://{}", "simplecache::file://{}", "zip://::local://{}",
            "zip://::simplecache::file://{}", "ZIP://::FILE://{}", "zip://::{}", "zip://::file:{}", "dir://::file://{}", "zip://{}::",
            "zip://::%2F{}", "filecache://::zip://{}", "zip://::file%3A//{}", "tar://::zip://{}", "zip://::blockcache::file://{}",
        ):  # fmt: skip
            answer = send(url, "POST", "/v1/sources", {"source_id": "x", "path": chain.format(archive)})
            assert answer.status in (400, 403), (chain, answer.json)
        answer = send(url, "POST", "/v1/sources", {"source_id": "shelf", "path": "shelf://a/"})
        assert (answer.status, answer.json["report"]["added"]) == (201, 4)
        answer = send(url, "POST", "/v1/sources", {"source_id": "y", "path": "https://127.0.0.1:9/"})
        assert (answer.status, "private address" in str(answer.json)) == (400, True)
        assert {"x", "y"}.isdisjoint(s.source_id for s in library.sources())
