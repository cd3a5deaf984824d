"""Documents are told apart by their true addresses, of which only the redacted form is stored."""

from __future__ import annotations

import random
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

import wenyuan
from catalog_parts import dropped, dsn_of, on_server
from wenyuan.catalog.format_upgrades import ADOPTED
from wenyuan.core.connectors import Entry
from wenyuan.core.redaction.policy import LEVELS
from wenyuan.service.ingest.corrections import CorrectionRequest
from wenyuan.service.ingest.redaction import Redactor
from wenyuan.service.ingest.remote_files import Memory
from wenyuan.service.uploads import Given

ALIKE = {
    "a/13800138000.md": "# One\n\nAlpha text of it.", "a/138-0013-8000.md": "# Two\n\nBeta text of it.",
    "password=Xk29vhqT.md": "# Three\n\nGamma text of it.", "password=Zr83mwpL.md": "# Four\n\nDelta text of it.",
}  # fmt: skip


def files(folder: Path, texts: dict[str, str]) -> Path:
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(params=["folder", pytest.param("server", marks=pytest.mark.integration)])
def library(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """A library in a folder, and one whose catalog is on PostgreSQL."""
    options: dict[str, Any] = {"encoder": {"kind": "none"}}
    if request.param == "folder":
        with wenyuan.open(tmp_path / "library", create=True, **options) as made:
            yield made
        return
    server = on_server(request.getfixturevalue("database"), tmp_path / "library")
    options["catalog"] = {"dsn": dsn_of(server), "schema_name": server.schema}
    try:
        with wenyuan.open(tmp_path / "library", create=True, **options) as made:
            yield made
    finally:
        dropped(server)


def live(library: Any, source: str = "s") -> dict[str, int]:
    return {uri: number for uri, (number, _) in library.catalog.live_documents(source).items()}


def found(library: Any, word: str) -> list[str]:
    return [one.text for one in library.search(word).passages.values()]


@pytest.mark.parametrize("level", LEVELS)
def test_files_whose_names_are_redacted_alike_are_documents_of_their_own(
    library: Any, tmp_path: Path, level: str
) -> None:
    """Each is found, has an address that no other one has, and its own file; nothing secret is in the addresses."""
    docs = files(tmp_path / "docs", ALIKE)
    report = library.add(wenyuan.Source(source_id="s", path=str(docs), sensitivity=level))
    assert (report.added, report.failed) == (4, {})
    assert len(live(library)) == 4
    assert not [uri for uri in live(library) if "Xk29" in uri or "Zr83" in uri]
    given = {library.original(number).content.decode() for number in live(library).values()}
    assert given == set(ALIKE.values())
    again = library.ingest("s")
    assert (again.unchanged, again.added, again.changed, again.retired) == (4, 0, 0, 0)


def test_uploads_whose_names_are_redacted_alike_do_not_replace_one_another(library: Any, tmp_path: Path) -> None:
    """Each answer names its own document, which is replaced and deleted alone."""
    library.catalog.put_source(wenyuan.Source(source_id="s", sensitivity="internal"))
    numbers = {}
    for count, (name, text) in enumerate(ALIKE.items()):
        files(tmp_path, {f"came{count}": text})
        [one] = library.upload("s", [Given(name=name, path=tmp_path / f"came{count}")]).files
        assert one.state == "added"
        [numbers[name]] = one.documents
    assert len(set(numbers.values())) == 4
    assert library.delete_document(numbers["password=Xk29vhqT.md"]) == ("s", 1)
    assert found(library, "gamma") == []
    assert len(found(library, "delta")) == 1


def test_parts_of_a_file_whose_names_are_redacted_alike_are_documents_of_their_own(
    library: Any, tmp_path: Path
) -> None:
    """Of an archive each entry is read."""
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as packed:
        for name, text in ALIKE.items():
            packed.writestr(name, text)
    report = library.add(wenyuan.Source(source_id="s", path=str(tmp_path / "all.zip"), sensitivity="internal"))
    assert (report.added, report.failed) == (4, {})
    assert library.ingest("s").unchanged == 4


def test_a_correction_stays_with_its_document(library: Any, tmp_path: Path) -> None:
    """When another file with an address alike comes, and when a stricter redaction gives it another address."""
    docs = files(tmp_path / "docs", {"Zr 13800138000.md": "# One\n\nAlpha text of it."})
    library.add(wenyuan.Source(source_id="s", path=str(docs)))
    [number] = live(library).values()
    library.correction_desk.correct(CorrectionRequest(action="exclude", document_id=number))
    files(docs, {"Aa password=Zr83mwpL.md": "# B\n\nBeta text of it.", "Zr 138-0013-8000.md": "# C\n\nGamma text."})
    library.ingest("s")
    assert found(library, "alpha") == []
    assert len(found(library, "gamma")) == 1
    library.catalog.put_source(wenyuan.Source(source_id="s", path=str(docs), sensitivity="restricted"))
    library.ingest("s")
    assert found(library, "alpha") == []
    assert len(found(library, "gamma")) == 1
    assert not [one for one in live(library) if "13800138000" in one]


def test_a_file_that_is_named_like_a_stored_address_is_another_document(library: Any, tmp_path: Path) -> None:
    """Whoever writes a pseudonym takes no document's place."""
    docs = files(tmp_path / "docs", {"13800138000.md": "# One\n\nAlpha text of it."})
    source = wenyuan.Source(source_id="s", path=str(docs), sensitivity="internal")
    library.add(source)
    [stored] = live(library)
    files(docs, {unquote(stored.rpartition("/")[2]): "# Two\n\nBeta text of it."})
    library.ingest("s")
    assert len(live(library)) == 2
    assert stored in live(library)
    assert len(found(library, "alpha")) == len(found(library, "beta")) == 1


def test_what_a_former_version_read_keeps_its_address_and_its_corrections(library: Any, tmp_path: Path) -> None:
    """It is not read again; a file whose address is alike, and which that version left out, comes beside it."""
    docs = files(tmp_path / "docs", {"password=Xk29vhqT.md": "# One\n\nAlpha text of it."})
    library.add(wenyuan.Source(source_id="s", path=str(docs), sensitivity="internal"))
    before = live(library)
    [number] = before.values()
    library.correction_desk.correct(CorrectionRequest(action="exclude", document_id=number))
    library.catalog.keep_addresses("s", {}, list(library.catalog.addresses("s")))
    library.catalog.set_value(ADOPTED, number)
    files(docs, {"password=Zr83mwpL.md": "# Two\n\nBeta text of it."})
    report = library.ingest("s")
    assert (report.unchanged, report.added, report.retired) == (1, 1, 0)
    assert before.items() <= live(library).items()
    assert found(library, "alpha") == []


def test_addresses_go_with_what_had_them(library: Any, tmp_path: Path) -> None:
    """With the file, and with the source."""
    docs = files(tmp_path / "docs", ALIKE)
    library.add(wenyuan.Source(source_id="s", path=str(docs), sensitivity="internal"))
    assert len(library.catalog.addresses("s")) == 4
    (docs / "password=Xk29vhqT.md").unlink()
    library.ingest("s")
    assert len(library.catalog.addresses("s")) == 3
    library.remove("s")
    assert library.catalog.addresses("s") == {}


@pytest.mark.parametrize("name", ["plain", "password=Xk29vhqT"])
def test_an_address_that_no_index_takes_keeps_no_other_file_out(library: Any, tmp_path: Path, name: str) -> None:
    """A file at great depth is taken in, or on PostgreSQL named with the reason; the one beside it is read."""
    chance = random.Random(8)
    deep = "/".join("".join(chance.choices("bcdfghjklmnpqrst", k=200)) for _ in range(17))
    docs = files(tmp_path / "docs", {f"{deep}/{name}.md": "# One\n\nAlpha.", "b.md": "# Two\n\nBeta."})
    report = library.add(wenyuan.Source(source_id="s", path=str(docs), sensitivity="internal"))
    most = library.catalog.database.place.longest_key
    assert (report.added, len(report.failed)) == ((2, 0) if most is None else (1, 1))
    assert len(library.catalog.failures("s")) == len(report.failed)
    for reason in report.failed.values():
        assert "2,400 bytes" in reason
    assert len(found(library, "beta")) == 1
    again = library.ingest("s")
    assert (again.unchanged, len(again.failed)) == (report.added, len(report.failed))
    for file in docs.rglob("*.md"):
        if file.name != "b.md":
            file.unlink()
    library.ingest("s")
    assert library.catalog.failures("s") == {}


def test_an_entry_that_no_index_takes_is_fetched_again(library: Any) -> None:
    """What a connector lists under a longer key than PostgreSQL can index is not remembered there, and stops nothing."""
    chance = random.Random(9)
    library.catalog.put_source(wenyuan.Source(source_id="s"))
    memory = Memory(library.catalog, "s", "how", Redactor.of(wenyuan.Source(source_id="s")))
    memory.begin()
    for key in ("short", "".join(chance.choices("bcdfghjklmnpqrst", k=5_000))):
        memory.note(Entry(key=key, uri=f"git:///{key}", name="a.md", version="1"), ["git:///a"])
    memory.end(whole=True)
    known = Memory(library.catalog, "s", "how", Redactor.of(wenyuan.Source(source_id="s"))).known
    everything = library.catalog.database.place.longest_key is None
    assert (len(known.entries), known.complete) == ((2, True) if everything else (1, False))
