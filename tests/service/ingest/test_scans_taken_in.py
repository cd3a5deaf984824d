"""A scanned file in a source: its passages say that they were recognised, progress counts pages, and nothing is left behind."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

import wenyuan
from pdf_files import make_pdf
from scans import draw
from wenyuan.core.errors import SourceError
from wenyuan.service.ingest.progress import Progress


def _scan(path: Path, *texts: str) -> None:
    texts = texts or ("Complaints are answered in 30 days.", "Fees: USD 4,250.75")
    pages = [draw([(40, 60, text)], area=(900, 160)) for text in texts]
    made = io.BytesIO()
    pages[0].save(made, "PDF", save_all=True, append_images=pages[1:])
    path.write_bytes(made.getvalue())


def test_a_scan_is_taken_in_page_by_page(tmp_path: Path) -> None:
    _scan(tmp_path / "scan.pdf")
    seen: list[Progress] = []
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"}, ocr={"workers": 1}) as library:
        source = wenyuan.Source(source_id="a", path=str(tmp_path / "scan.pdf"))
        report = library.add(source, progress=seen.append)
        assert report.added == 1 and not report.failed
        answer = library.retrieve_fragments(wenyuan.RetrievalRequest(query="complaints answered", max_results=3))
        assert answer.fragments and "30 days" in answer.fragments[0].content
        assert answer.fragments[0].metadata["ocr"] is True
        assert not (tmp_path / "library" / "ocr").exists()
    assert {(at.pages, at.pages_total) for at in seen} >= {(0, 2), (1, 2), (2, 2)}


def test_pages_left_unread_are_read_once_there_is_an_ocr(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are read when one is installed, without any change of the file."""
    (tmp_path / "mixed.pdf").write_bytes(make_pdf([[(72, 700, "This page has a text layer.")], []]))
    source = wenyuan.Source(source_id="a", path=str(tmp_path / "mixed.pdf"))
    where = tmp_path / "library"
    with monkeypatch.context() as without:
        without.setattr("wenyuan.readers.ocr.weights.missing", lambda: "rapidocr")
        with wenyuan.open(where, create=True, encoder={"kind": "none"}) as library:
            assert library.add(source).added == 1
            assert library.list_documents().documents[0]["fidelity"]["unread_pages"] == 1
            assert library.ingest("a").unchanged == 1
    with wenyuan.open(where, encoder={"kind": "none"}) as library:
        assert library.ingest("a").changed == 1
        assert library.list_documents().documents[0]["fidelity"]["unread_pages"] == 0
        assert library.ingest("a").unchanged == 1


def test_a_run_that_was_ended_goes_on_with_the_next_page(tmp_path: Path) -> None:
    _scan(tmp_path / "scan.pdf")
    source = wenyuan.Source(source_id="a", path=str(tmp_path / "scan.pdf"))

    def stop(at: Progress) -> None:
        if at.pages == 1:
            raise KeyboardInterrupt

    with (
        wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"}, ocr={"workers": 1}) as library,
        pytest.raises(KeyboardInterrupt),
    ):
        library.add(source, progress=stop)
    seen: list[Progress] = []
    with wenyuan.open(tmp_path / "library", encoder={"kind": "none"}, ocr={"workers": 1}) as library:
        library.ingest("a", progress=seen.append)
        assert library.catalog.counts()["passages"] > 0
    assert min(at.pages for at in seen if at.pages_total) == 1
    assert not (tmp_path / "library" / "ocr").exists()


def test_no_page_is_kept_of_which_something_is_taken_out(tmp_path: Path) -> None:
    _scan(tmp_path / "scan.pdf", "Write to mei.lin@example.com.", "Or to a.b@example.com.")
    kept: list[bool] = []
    folder = tmp_path / "library"
    with wenyuan.open(folder, create=True, encoder={"kind": "none"}, ocr={"workers": 1}) as library:
        source = wenyuan.Source(source_id="a", path=str(tmp_path / "scan.pdf"), sensitivity="internal")
        library.add(source, progress=lambda _at: kept.append((folder / "ocr").exists()))
    assert kept and not any(kept)


def test_pictures_without_an_ocr_are_named_with_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wenyuan.readers.ocr.weights.missing", lambda: "rapidocr")
    draw([(40, 60, "text")], area=(200, 100)).save(tmp_path / "a.png")
    with (
        wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"}) as library,
        pytest.raises(SourceError, match=r"nothing to read in .*: 1 × \.png") as caught,
    ):
        library.add(wenyuan.Source(source_id="a", path=str(tmp_path / "a.png")))
    assert "ocr" in caught.value.hint
