"""How documents were read, as both databases hold it."""

from __future__ import annotations

import secrets
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import event

from catalog_parts import BOTH, new_catalog, put, raw
from engine_laws import document
from wenyuan.catalog import Catalog
from wenyuan.catalog.listings import Remembered
from wenyuan.catalog.rows import pack_lines, recognition_of, recognition_text, unpack_lines
from wenyuan.core.connectors import Entry
from wenyuan.core.corrections import Correction, corrected
from wenyuan.core.fidelity import Fidelity, Line, Recognised, Recognition, Uncertain, part_of, together
from wenyuan.core.model import Corrected

TODAY = date(2026, 11, 25)
LINES = (Line(0, 4, 1, (0.1, 0.2, 0.9, 0.25), 0.5), Line(5, 9, 2, (0.0, 0.0, 1.0, 1.0)))


@BOTH
def test_readings_follow_their_documents(catalog: Catalog) -> None:
    """Kept with the document, taken over by another end of it, and gone with it."""
    told = Fidelity(pages=2, source_characters=10, read_characters=9, lost=1, warnings=("印章未读",))
    put(catalog, 1, lines=LINES, fidelity=told, uncertain=(Uncertain(1, 2, "number", 0.3),))
    put(catalog, 2)
    (first, plain) = catalog.listed_documents(["s1"], today=TODAY)
    assert (first.fidelity, plain.fidelity) == (told, None)
    assert catalog.document_lines(first.document_id, 4, 9) == [LINES[1]]
    assert catalog.document_lines(first.document_id, 0, 99) == list(LINES)
    assert catalog.worst_read(3) == [("s1", first.uri, 0.9)]
    catalog.amend_ends("s1", {first.document_id: TODAY})
    (again,) = catalog.listed_documents(["s1"], today=TODAY, words="urn:t:s1:1")
    assert (again.fidelity, again.effective_until) == (told, TODAY)
    assert again.document_id != first.document_id
    assert catalog.document_lines(again.document_id, 0, 99) == list(LINES)
    assert catalog.held_document(first.document_id, TODAY) is None
    catalog.retire_documents("s1", [again.document_id])
    assert catalog.worst_read(3) == []


@BOTH
def test_lists_go_by_source_and_address(catalog: Catalog) -> None:
    """Documents and failures of several sources, a page at a time; a failure beside what is held stands with it."""
    put(catalog, 1, 3)
    put(catalog, 2, source="s2")
    catalog.record_failure("s1", "urn:t:s1:2", "unreadable", "gone")
    catalog.record_failure("s1", "urn:t:s1:3", "document_rejected", "damaged")
    whole = catalog.listed_documents(["s2", "s1"], today=TODAY)
    assert [(one.uri, one.state, one.failure) for one in whole] == [
        ("urn:t:s1:1", "live", None),
        ("urn:t:s1:2", "failed", ("unreadable", "gone")),
        ("urn:t:s1:3", "live", ("document_rejected", "damaged")),
        ("urn:t:s2:2", "live", None),
    ]
    paged, after = [], None
    while page := catalog.listed_documents(["s1", "s2"], today=TODAY, after=after, limit=1):
        paged += page
        after = (page[0].source_id, page[0].uri)
    assert paged == whole
    failed = catalog.listed_documents(["s1", "s2"], today=TODAY, state="failed")
    assert [one.uri for one in failed] == ["urn:t:s1:2"]
    assert catalog.listed_documents(["s1"], today=TODAY, words="DOCUMENT 3")[0].title == "document 3"


@BOTH
def test_titles_are_searched_in_either_case(catalog: Catalog) -> None:
    """Of the letters of a question and of a title alike, as far as the database knows them."""
    made, vectors = document(1, source="s1", text="a")
    catalog.commit_documents([replace(made, title="École 100% Åland")], vectors)
    for words in ("École", "COLE", "100%", "ÅLAND"):
        assert [one.title for one in catalog.listed_documents(["s1"], today=TODAY, words=words)], words
    assert catalog.listed_documents(["s1"], today=TODAY, words="100_") == []


@BOTH
def test_titles_are_searched_in_either_width(catalog: Catalog) -> None:
    """Brackets and numbers of Chinese titles stand in both, and people type the other one."""
    for number, title in enumerate(("采购管理办法（试行）", "采购管理办法(2013年)", "ＧＢ　５０３００　验收"), 1):
        made, vectors = document(number, source="s1", text=title)
        catalog.commit_documents([replace(made, title=title)], vectors)
    for words, found in (
        ("办法(试行)", 1),
        ("（试行）", 1),
        ("（2013年）", 1),
        ("GB 50300 验收", 1),
        ("５０３００", 1),
        ("办法", 2),
    ):
        assert len(catalog.listed_documents(["s1"], today=TODAY, words=words)) == found, words


@BOTH
def test_a_title_may_be_long(catalog: Catalog) -> None:
    """Longer than a key of an index may be."""
    title = secrets.token_hex(20_000)
    made, vectors = document(1, source="s1")
    catalog.commit_documents([replace(made, title=title)], vectors)
    assert catalog.listed_documents(["s1"], today=TODAY, words=title[-40:])[0].title == title


@pytest.mark.parametrize("asked", [{"words": "in no title"}, {"state": "not_yet"}, {"state": "expired"}])
def test_lists_are_answered_from_an_index(tmp_path: Path, asked: dict[str, Any]) -> None:
    """Where hardly a document of very many is meant, none of their rows are read."""
    with new_catalog(tmp_path) as catalog:
        put(catalog, 1, 2)
        told: list[tuple[str, Any]] = []
        event.listen(catalog.database.reader, "before_cursor_execute", lambda *call: told.append((call[2], call[3])))
        assert catalog.listed_documents(["s1"], today=TODAY, **asked) == []
        statement, values = next(one for one in told if "FROM documents" in one[0])
        with raw(catalog) as connection:
            ((*_, plan),) = connection.execute(f"EXPLAIN QUERY PLAN {statement}", values).fetchall()
        assert "COVERING INDEX documents_named" in plan


@BOTH
def test_the_entry_of_a_document_is_looked_up(catalog: Catalog) -> None:
    """By its address, whether it is the entry's, that of a part of it, or one that it states itself."""
    own = 'urn:own:制度/100%_"1"'
    listed = {
        "https://h/a.html": ("https://h/a.html",),
        "https://h/b.zip": ("https://h/b.zip?entry=x.md", "https://h/b.zip?entry=y.xlsx&sheet=1"),
        "https://h/c?id=1": ("https://h/c?id=1&entry=z.md",),
        "https://h/rows.jsonl": ("urn:own:100", own, "https://h/a.html#top"),
    }
    for source in ("s1", "s2"):
        entries = [Entry(key=f"{source} {uri}", uri=uri, name="n") for uri in listed]
        catalog.keep_listed(source, [
            Remembered(entry=one, how="h", documents=listed[one.uri] if source == "s1" else ()) for one in entries
        ])  # fmt: skip
    for uri, documents in listed.items():
        for document_uri in documents:
            found = catalog.listed_for("s1", document_uri)
            assert found is not None
            assert found.key == f"s1 {uri}"
            assert catalog.listed_for("s2", document_uri) is None
    assert catalog.listed_for("s1", "URN:OWN:100") is None
    assert catalog.listed_for("s1", "https://h/b.zip") is None


confidences = st.floats(0, 1).map(lambda value: round(value, 4))


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 9), st.none() | confidences), max_size=8), st.data())
@settings(deadline=None)
def test_packed_lines_come_back(spans: list[tuple[int, int, float | None]], data: st.DataObject) -> None:
    """Those that share a character with what is asked for, and no others."""
    lines = [Line(a, a + n, 1, (0.25, 0.5, 0.75, 1.0), sure) for a, n, sure in sorted(spans, key=lambda s: s[:2])]
    start, end = sorted((data.draw(st.integers(0, 70)), data.draw(st.integers(0, 70))))
    assert unpack_lines(pack_lines(lines), start, end) == [
        one for one in lines if one.start < end and start < one.end
    ]


@given(st.lists(st.integers(1, 9), min_size=1, max_size=8), st.data())
@settings(deadline=None)
def test_doubts_stand_at_the_same_characters(sizes: list[int], data: st.DataObject) -> None:
    """Of any part of a text, and of parts put together again; what is stored comes back equal."""
    total = sum(sizes)
    marks = data.draw(st.sets(st.integers(0, total - 1)))
    whole = Recognised(
        [Line(0, total, 1, (0, 0, 1, 1), 0.8)], [Uncertain(m, m + 1, "number", 0.2) for m in sorted(marks)]
    )
    parts, at = [], 0
    for size in sizes:
        told = whole.of(at, at + size)
        assert isinstance(told, Recognition)
        assert {at + one.start for one in told.uncertain} == {m for m in marks if at <= m < at + size}
        assert recognition_of(recognition_text(told)) == told
        parts.append((at, size, told))
        at += size
    joined = together(parts)
    assert joined is not None
    assert (joined.uncertain, joined.confidence) == (whole.of(0, total).uncertain, 0.8)  # type: ignore[union-attr]
    cut = part_of(joined, 1, total)
    assert cut is not None
    assert {one.start + 1 for one in cut.uncertain} == {m for m in marks if m >= 1}


def test_scores_are_the_least_of_what_is_known() -> None:
    """Kept, the file's own, and surely read; nothing known, no score; no line recognised, nothing told."""
    assert Fidelity().score is None
    assert Fidelity(source_characters=10, read_characters=8, lost=1, invented=4).score == 0.5
    assert Fidelity(source_characters=10, read_characters=9, lost=1, confidence=0.95).score == 0.9
    assert Fidelity(confidence=0.5).score == 0.5
    assert Recognised([Line(0, 5, 1, (0, 0, 1, 1))], ()).of(0, 5) is None
    assert together([(0, 5, None)]) is None
    assert part_of(None, 0, 1) is None


@BOTH
def test_corrections_follow_their_documents(catalog: Catalog) -> None:
    """Kept as they were cut, served as corrected, also with another end of the document; a replay sees what was served then."""
    put(catalog, 1, text="第一句。第二句。")
    (held,) = catalog.listed_documents(["s1"], today=TODAY)
    document = catalog.cut_document(held.document_id)
    assert document is not None
    (cut,) = document.passages
    begun = catalog.seq()
    made = Correction(action="split", actor="k1", old=cut.text, at=4)

    def served(*counting: Correction) -> Any:
        return lambda number: tuple(
            corrected(document.passages, [replace(c, correction_id=c.correction_id or number) for c in counting])
        )

    number = catalog.correct(document, served(made), {}, made=(made, "两句"))
    first, second = catalog.passages_of_document(held.document_id)[0]
    assert [first.text, second.text] == ["第一句。", "第二句。"]
    assert first.corrected == Corrected(ids=(number,), by="k1")
    assert set(catalog.passages_at([1, first.passage_id], begun)) == {1}
    assert [c.passage_id for c in catalog.changes(begun, catalog.seq()) if c.row is None] == [1]
    catalog.amend_ends("s1", {held.document_id: date(2999, 1, 1)})
    (again,) = catalog.listed_documents(["s1"], today=TODAY)
    assert (again.corrections, again.passages, catalog.counts()["passages"]) == (1, 2, 2)
    document = catalog.cut_document(again.document_id)
    assert document is not None
    assert [one.text for one in document.passages] == [cut.text]
    catalog.correct(document, served(), {}, undone=(number, "k2"))
    assert [one.text for one in catalog.passages_of_document(again.document_id)[0]] == [cut.text]
    (kept,) = catalog.corrections(source_id="s1")
    assert (kept.reason, kept.undone_by, kept.lost, kept.correction.at) == ("两句", "k2", False, 4)
    assert catalog.counting_corrections("s1") == {}
    catalog.retire_documents("s1", [again.document_id])
    catalog.forget_removed("s1")
    catalog.remove_source("s1")
    assert catalog.corrections() == []


@BOTH
def test_what_a_file_held_is_known_of_all_its_parts(catalog: Catalog) -> None:
    """By the address of the file: marks are no patterns, a name that only begins alike is another file, and what is gone counts no more."""
    parts = {"?entry=a": "plain", "?entry=b": "100% ⟦phone⟧", "x": "a_b", "#1": "c"}
    for number, (part, text) in enumerate(parts.items()):
        made, vectors = document(number, source="s1", text=text)
        catalog.commit_documents([replace(made, uri=f"file:///all.zip{part}")], vectors)
    assert catalog.file_held("s1", "file:///all.zip", ("⟦",))
    assert catalog.file_held("s1", "file:///all.zip", ("0%",))
    assert not catalog.file_held("s1", "file:///all.zip", ("_", "%c", "a_b"))
    assert catalog.file_held("s1", "file:///all.zipx", ("a_b",))
    assert not catalog.file_held("s2", "file:///all.zip", ("⟦",))
    assert not catalog.file_excluded("s1", "file:///all.zip")
    catalog.retire_documents("s1", [catalog.live_documents("s1")["file:///all.zip?entry=b"][0]])
    assert not catalog.file_held("s1", "file:///all.zip", ("⟦",))
