"""Erasing a person, a document and a source: nothing is left of it anywhere, the rest is as it was, and it is proven."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from erased_person import MAIL, NAME, NUMBER, OTHER, VALUES, fill, forms, found_in, opened
from wenyuan.core.errors import InvalidRequest, NotFound, NotPermitted
from wenyuan.core.model import RetrievalRequest


@pytest.fixture
def filled(tmp_path: Path) -> Iterator[tuple[Any, list[bytes]]]:
    with opened(tmp_path) as library:
        yield library, fill(library, tmp_path)


def index_files(folder: Path) -> set[str]:
    """The larger files of the index, by their hash: what is packed in them cannot be searched byte by byte."""
    files = [file for file in (folder / "index").rglob("*") if file.is_file() and file.stat().st_size > 200]
    assert files
    return {hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def test_the_search_of_this_test_finds_the_person_before(filled: tuple[Any, list[bytes]]) -> None:
    """Before anything is erased, the person is found in many files and forms: the search is no empty one."""
    library, vectors = filled
    assert len(vectors) >= 5
    assert len(forms(NAME)) >= 20
    found = found_in(library.folder, VALUES, vectors)
    files = {one.rpartition(" in ")[2].partition("/")[0] for one in found}
    assert {"catalog.db", "audit.db", "uploads"} <= {name.removesuffix("-wal") for name in files}
    assert sum("vector" in one for one in found) > 2


def test_a_person_is_erased(filled: tuple[Any, list[bytes]], tmp_path: Path) -> None:
    """Of a person nothing is found in any file of the library, in more than twenty forms; others are as they were."""
    library, vectors = filled
    target = library.erasures.person(VALUES)
    plan = library.erasures.plan(target)
    for place in ("documents", "versions", "passages", "originals", "audit", "registry", "corrections", "rules", "evidence",
                  "agents", "keys", "synonyms", "gaps", "failures"):  # fmt: skip
        assert plan.places.get(place, 0) > 0 or place == "failures", (place, plan.places)
    assert any("files of source files" in one for one in plan.left)
    assert NAME not in repr(plan)
    segments = index_files(library.folder)
    done = library.erasures.erase(target, reference="request 7")
    assert done.state == "done"
    assert segments.isdisjoint(index_files(library.folder))
    assert found_in(library.folder, VALUES, vectors) == []
    assert library.audit.verify().ok
    assert not library.erasures.plan(target).places
    texts = " ".join(one.text for one in library.search("谁负责交接班", sources=("files",)).passages.values())
    assert OTHER in texts
    assert "⟦已删除⟧" in " ".join(
        one.text for one in library.search("夜班检修", sources=("files",)).passages.values()
    )


def test_it_does_not_come_back(filled: tuple[Any, list[bytes]], tmp_path: Path) -> None:
    """After an erasure the person comes back neither by a refresh, nor by a new file, nor by a question."""
    library, vectors = filled
    library.erasures.erase(library.erasures.person(VALUES))
    (tmp_path / "docs" / "new.md").write_text(f"# 新\n\n{NAME}又来了，电话 {NUMBER}，{MAIL}。\n", "utf-8")
    for source in ("files", "up", "shut"):
        library.ingest(source)
    library.retrieve_fragments(RetrievalRequest(query=f"{NAME}在哪里", max_results=5))
    library.audit.flush()
    assert found_in(library.folder, VALUES, vectors) == []
    assert any("⟦已删除⟧又来了" in one.text for one in library.search("又来了", sources=("files",)).passages.values())
    with opened(tmp_path / "again") as other:  # another library has another key, and knows nothing of it
        assert other.catalog.erased_values() == ()


def test_what_was_read_of_a_deleted_original_stays(filled: tuple[Any, list[bytes]]) -> None:
    """Of an uploaded file that held the person the redacted reading stays, refresh after refresh; the file is given to nobody."""
    library, _ = filled
    before = {uri.rpartition("/")[2].partition("?")[0] for uri in library.catalog.live_documents("up")}
    library.erasures.erase(library.erasures.person(VALUES))
    library.ingest("up")
    live = library.catalog.live_documents("up")
    assert len({uri.rpartition("/")[2].partition("?")[0] for uri in live}) == len(before)
    number = next(number for uri, (number, _) in live.items() if "plan.xlsx" in uri)
    assert not library.original_state(number).download
    with pytest.raises(NotPermitted, match="nobody is given it"):
        library.original(number)
    assert (library.folder / "uploads" / "up" / "plain.txt").is_file()
    assert not (library.folder / "uploads" / "up" / "plan.xlsx").exists()


def test_replays_say_erased(filled: tuple[Any, list[bytes]]) -> None:
    """A replay of an erased record says that it was erased; one of another record goes on as before."""
    library, _ = filled
    about = next(one for one in library.audit.list(kind="retrieval") if one.query and NAME in str(one.query))
    other = next(one for one in library.audit.list(kind="retrieval") if one.query and "交接班几点" in str(one.query))
    library.erasures.erase(library.erasures.person(VALUES))
    for exact in (False, True):
        replay = library.replay(about.audit_id, exact=exact)
        assert (replay.asked, [one.what for one in replay.differences]) == (False, ["record erased"])
    assert library.audit.show(about.audit_id).erasure
    assert library.audit.show(other.audit_id).erasure == ""


def test_a_certificate_is_checked(filled: tuple[Any, list[bytes]]) -> None:
    """A certificate says what by hashes, by whom and how many; it is checked against the audit, and what is said to be erased."""
    library, _ = filled
    done = library.erasures.erase(library.erasures.person(VALUES), reference="request 7")
    told = library.erasures.certificate(done.erasure_id)
    assert (told["kind"], told["reference"], told["actor"]) == ("person", "request 7", "local")
    assert told["erased"]["audit"] >= 4
    assert not any(value in repr(told) for value in VALUES)
    assert all(check.ok for check in library.erasures.verify(done.erasure_id, VALUES))
    checks = {one.name: one.ok for one in library.erasures.verify(done.erasure_id, [OTHER])}
    assert checks == {"seal": True, "audit": True, "record": True, "values": False, "absence": True}


def test_a_changed_certificate_is_found(filled: tuple[Any, list[bytes]]) -> None:
    """Whoever changes a stored certificate is found out by its seal, and by the record of the audit."""
    library, _ = filled
    done = library.erasures.erase(library.erasures.person([NUMBER]))
    report = {**done.report, "certificate": {**done.report["certificate"], "actor": "someone else"}}
    library.catalog.note_erasure(done.erasure_id, "done", report, done_at=done.done_at)
    assert not {one.name: one.ok for one in library.erasures.verify(done.erasure_id)}["seal"]
    forged = {**report["certificate"], "seal": "0" * 64}
    library.catalog.note_erasure(done.erasure_id, "done", {**report, "certificate": forged}, done_at=done.done_at)
    assert not {one.name: one.ok for one in library.erasures.verify(done.erasure_id)}["record"]


def test_a_part_of_another_value_stays(filled: tuple[Any, list[bytes]], tmp_path: Path) -> None:
    """A longer name of somebody else stays where it is said to; a longer number is another number anyway."""
    library, _ = filled
    (tmp_path / "docs" / "two.md").write_text(f"# 二\n\n{NAME}言是另一个人。编号 9{NUMBER}4。\n", "utf-8")
    library.ingest("files")
    library.erasures.erase(library.erasures.person(VALUES, stays=[f"{NAME}言"]))
    text = " ".join(one.text for one in library.search("另一个人", sources=("files",)).passages.values())
    assert f"{NAME}言" in text
    assert f"9{NUMBER}4" in text


def test_what_people_write_beside_an_erasure(filled: tuple[Any, list[bytes]]) -> None:
    """A reference that names the person is refused; the reason of an older hold that does so is masked, in the audit too."""
    library, _ = filled
    hold = library.erasures.hold(library.erasures.source("up"), f"{NAME} asked")
    library.erasures.lift(hold.hold_id)
    target = library.erasures.person(VALUES)
    with pytest.raises(InvalidRequest, match="call the request another way"):
        library.erasures.erase(target, reference=f"of {NAME}")
    library.erasures.erase(target, reference="no. 7")
    assert found_in(library.folder, VALUES) == []
    assert library.erasures.holds(lifted=True)[0].reason == "⟦已删除⟧ asked"


def test_unchanged_files_are_not_read_again(filled: tuple[Any, list[bytes]]) -> None:
    """After an erasure a refresh finds all files as they were: none is read again and again for what it held."""
    library, _ = filled
    library.erasures.erase(library.erasures.person(VALUES))
    library.ingest("files")
    report = library.ingest("files")
    assert (report.added, report.changed, report.retired) == (0, 0, 0)
    assert report.unchanged > 5


@pytest.mark.parametrize("value", ["", "李", "白", "Bo", "Amy", "12", "1234", " . ", "x" * 201])
def test_what_would_be_found_everywhere_is_refused(filled: tuple[Any, list[bytes]], value: str) -> None:
    """A name of one character, a short number and nothing at all are refused before anything is looked for."""
    with pytest.raises(InvalidRequest):
        filled[0].erasures.person([value])


def test_a_document_is_erased(filled: tuple[Any, list[bytes]], tmp_path: Path) -> None:
    """A document is gone with its versions, corrections and records; its file is not taken in again; others are as before."""
    library, _ = filled
    uri = next(uri for uri in library.catalog.live_documents("files") if uri.endswith("clean.md"))
    others = library.catalog.live_documents("files").keys() - {uri}
    target = library.erasures.document("files", uri)
    assert library.erasures.plan(target).places["documents"] == 1
    done = library.erasures.erase(target)
    assert found_in(library.folder, [OTHER + "负责", "交接班由"]) == []
    assert library.catalog.live_documents("files").keys() == others
    report = library.ingest("files")
    assert library.catalog.live_documents("files").keys() == others
    assert any("not taken in" in note for notes in report.notes.values() for note in notes)
    assert all(check.ok for check in library.erasures.verify(done.erasure_id))
    with pytest.raises(NotFound):
        library.erasures.document("files", uri)


def test_whole_documents_are_erased(filled: tuple[Any, list[bytes]]) -> None:
    """Where it is asked for, the documents of a person go as a whole, and are not taken in again."""
    library, vectors = filled
    library.erasures.erase(library.erasures.person(VALUES, whole=True))
    library.ingest("files")
    assert found_in(library.folder, VALUES, vectors) == []
    live = {uri.rpartition("/")[2] for uri in library.catalog.live_documents("files")}
    assert "old.md" in live
    assert not any("rule.md" in uri or "table.csv" in uri for uri in live)


def test_a_source_is_erased(filled: tuple[Any, list[bytes]]) -> None:
    """A source is gone with its uploads, its documents and the records that give something of it."""
    library, _ = filled
    done = library.erasures.erase(library.erasures.source("up"))
    assert "up" not in {source.source_id for source in library.catalog.sources()}
    assert not (library.folder / "uploads" / "up").exists()
    assert library.audit.verify().ok
    assert all(check.ok for check in library.erasures.verify(done.erasure_id))


def test_erased_twice(filled: tuple[Any, list[bytes]]) -> None:
    """An erasure that is asked for again finds nothing, and leaves a certificate that says so."""
    library, _ = filled
    library.erasures.erase(library.erasures.person(VALUES))
    again = library.erasures.erase(library.erasures.person(VALUES))
    assert (again.state, dict(again.report["places"])) == ("done", {})


def test_a_key_that_reads_as_the_person(filled: tuple[Any, list[bytes]]) -> None:
    """As long as a key reads as the person, nothing is erased: lists that deny the person would let that key in."""
    library, _ = filled
    key, _ = library.catalog.create_key(None, frozenset({"search"}), None, user=f"user:{NAME}")
    with pytest.raises(InvalidRequest, match="revoke it first"):
        library.erasures.erase(library.erasures.person(VALUES))
    library.catalog.revoke_key(key.key_id)
    assert library.erasures.erase(library.erasures.person(VALUES)).state == "done"


def test_what_is_held_is_not_erased(filled: tuple[Any, list[bytes]]) -> None:
    """A hold on a document, a source or a person forbids every erasure that touches it, with its reason, until it is lifted."""
    library, _ = filled
    erasures = library.erasures
    uri = next(uri for uri in library.catalog.live_documents("files") if uri.endswith("rule.md"))
    holds = [
        erasures.hold(erasures.document("files", uri), "case 1"),
        erasures.hold(erasures.source("files"), "case 2"),
        erasures.hold(erasures.person([NAME]), "case 3"),
    ]
    assert len(erasures.plan(erasures.person(VALUES)).holds) == 3
    for hold in holds[::-1]:
        with pytest.raises(InvalidRequest, match=f"local: {hold.reason}"):
            erasures.erase(erasures.person(VALUES))
        with (
            pytest.raises(InvalidRequest, match="held by local")
            if hold is not holds[2]
            else pytest.raises(InvalidRequest)
        ):
            erasures.erase(erasures.source("files"))
        erasures.lift(hold.hold_id)
    with pytest.raises(NotFound):
        erasures.lift(holds[0].hold_id)
    assert erasures.erase(erasures.person(VALUES)).state == "done"
    said = [(one.record["action"], one.record["object"]) for one in library.audit.list(kind="erasure")]
    assert ("held", holds[0].hold_id) in said
    assert ("lifted", holds[0].hold_id) in said
