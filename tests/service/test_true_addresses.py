"""Documents are told apart by their true addresses, of which only the redacted form is stored."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

import wenyuan
from wenyuan.catalog.storage import ADOPTED
from wenyuan.core.redaction import LEVELS
from wenyuan.service.ingest.corrections import CorrectionRequest
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


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Any]:
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"}) as made:
        yield made


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
