"""Uploaded documents moved between sources: with versions, readers and what was said of them; or the reason why one stays."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from command_line import runner
from console_door import Browser, served
from governed_door import governed_server, key, send
from http_door import assert_problem
from wenyuan.core.errors import CatalogUnavailable, Conflict, InvalidRequest, NotFound
from wenyuan.core.model import RetrievalRequest
from wenyuan.core.principals import AccessList
from wenyuan.service.document_details import DetailsRequest
from wenyuan.service.ingest.corrections import CorrectionRequest
from wenyuan.service.uploads import Given, Uploads

FIRST, SECOND = "# 收费\n\n手续费为 5 元。\n", "# 收费\n\n手续费为 9 元。\n"


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Any]:
    with wenyuan.create(tmp_path / "library", encoder={"kind": "none"}) as made:
        for name in ("desk", "rules"):
            made.catalog.put_source(wenyuan.Source(source_id=name))
        yield made


def uploaded(library: Any, folder: Path, text: str = FIRST, name: str = "fees.md", **more: Any) -> int:
    path = folder / "given"
    path.write_text(text, "utf-8")
    (taken,) = library.upload(more.pop("source", "desk"), [Given(name=name, path=path, **more)]).files
    return int(taken.documents[0])


def found(library: Any) -> set[tuple[str, str]]:
    answer = library.retrieve_fragments(RetrievalRequest(query="手续费", max_results=5))
    return {(one.metadata["source_id"], one.content) for one in answer.fragments}


def test_it_answers_from_its_new_place_alone(library: Any, tmp_path: Path) -> None:
    """The file, the answer and the audit's record are of the other source; nothing is left in the first."""
    number = uploaded(library, tmp_path, name="2026/fees.md")
    before = library.retrieve_fragments(RetrievalRequest(query="手续费", max_results=5)).fragments[0]
    moved = library.document_move.move(number, "rules")
    assert (moved.source_id, moved.moved_from, moved.versions) == ("rules", "desk", 0)
    assert {source for source, _ in found(library)} == {"rules"}
    assert not library.catalog.live_documents("desk")
    assert not [file for file in library.uploads.home(library.catalog.source("desk")).rglob("*") if file.is_file()]
    assert library.document(moved.documents[0])["uri"].endswith("/rules/2026/fees.md")
    library.audit.flush()
    record = next(one.record for one in library.audit.list(kind="document") if one.record["action"] == "moved")
    assert record["object"].endswith("/desk/2026/fees.md") and record["changes"]["source_id"] == ["desk", "rules"]
    told = library.replay(before.metadata["audit_id"], exact=True)
    assert told.identical, told.differences


def test_versions_come_with_it(library: Any, tmp_path: Path) -> None:
    """An earlier version answers as of its day from the new place, and can be put back there."""
    number = uploaded(library, tmp_path)
    path = tmp_path / "new"
    path.write_text(SECOND, "utf-8")
    (file,) = library.replace_document(number, Given(name="fees.md", path=path)).files
    moved = library.document_move.move(file.documents[0], "rules")
    assert moved.versions == 1
    history = library.document_history(moved.documents[-1])["versions"]
    assert len(history) == 2
    then = next(
        number for uri, (number, *_) in library.catalog.live_documents("rules").items() if "/.versions/" in uri
    )
    library.version_restore.restore(then)
    assert "5 元" in str(found(library)) and "9 元" not in str(found(library))
    with pytest.raises(InvalidRequest, match="earlier version"):
        later = next(n for uri, (n, *_) in library.catalog.live_documents("rules").items() if "/.versions/" in uri)
        library.document_move.move(later, "desk")


def test_what_was_said_of_it_holds_there(library: Any, tmp_path: Path) -> None:
    """Title, days, tags and readers are as people set them, now and when it is read again."""
    number = uploaded(library, tmp_path, access=AccessList(readers=frozenset({"group:hr"})))
    wanted = DetailsRequest(title="收费标准", effective_until="2027-01-31", tags={"year": 2026}, reason="letter 3")
    number = library.details_desk.set_details(number, wanted)
    (number,) = library.document_move.move(number, "rules").documents
    for _ in range(2):
        told = library.document(next(iter(library.catalog.live_documents("rules").values()))[0])
        assert (told["title"], told["effective_until"], told["tags"]["year"]) == ("收费标准", "2027-01-31", 2026)
        assert told["details"]["reason"] == "letter 3"
        uri = next(iter(library.catalog.live_documents("rules")))
        assert [one.access.readers for one in library.catalog.document_access("rules", uri)] == [
            frozenset({"group:hr"})
        ]
        library.ingest("rules")


def test_what_would_be_lost_stays_and_says_so(library: Any, tmp_path: Path) -> None:
    """Corrections, another file of the name, a laxer source, a folder of the owner's: each is refused, with what to do."""
    number = uploaded(library, tmp_path)
    with pytest.raises(InvalidRequest, match="already"):
        library.document_move.move(number, "desk")
    with pytest.raises(NotFound):
        library.document_move.move(number, "nowhere")
    with pytest.raises(NotFound):
        library.document_move.move(987_654, "rules")
    uploaded(library, tmp_path, SECOND, source="rules")
    with pytest.raises(Conflict, match=r"another file fees\.md"):
        library.document_move.move(number, "rules")
    other = uploaded(library, tmp_path, "# 报销\n\n三十日内报销。\n", "trips.md")
    made = library.correct(CorrectionRequest(action="exclude", document_id=other))
    with pytest.raises(Conflict, match="corrections"):
        library.document_move.move(other, "rules")
    library.undo_correction(made["correction_id"])
    library.catalog.put_source(wenyuan.Source(source_id="secret", sensitivity="restricted"))
    kept = uploaded(library, tmp_path, "# 名单\n\n无。\n", "list.md", source="secret")
    with pytest.raises(Conflict, match="less would be taken out"):
        library.document_move.move(kept, "rules")
    closed = {"readers": {"documents": [{"path": "**", "readers": ["group:board"]}]}}
    library.catalog.put_source(wenyuan.Source(source_id="closed", settings=closed))
    minutes = uploaded(library, tmp_path, "# 纪要\n\n董事会。\n", "minutes.md", source="closed")
    with pytest.raises(Conflict, match="more might read"):
        library.document_move.move(minutes, "rules")
    library.catalog.put_source(wenyuan.Source(source_id="closed_too", settings=closed))
    assert library.document_move.move(minutes, "closed_too").source_id == "closed_too"
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "own.md").write_text(FIRST, "utf-8")
    library.add(wenyuan.Source(source_id="folder", path=str(tmp_path / "docs")))
    own = next(iter(library.catalog.live_documents("folder").values()))[0]
    with pytest.raises(InvalidRequest, match="would come back from there") as told:
        library.document_move.move(own, "rules")
    assert "wenyuan refresh folder" in told.value.hint
    with pytest.raises(InvalidRequest, match="nothing is uploaded to it"):
        library.document_move.move(number, "folder")
    assert len(library.catalog.live_documents("desk")) == 2


def test_one_that_was_cut_off_is_ended_by_another(
    library: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What fails behind the upload leaves it in both; the same move once more leaves it in one."""
    number = uploaded(library, tmp_path)

    def broken(*_: object) -> None:
        raise CatalogUnavailable("gone", component="catalog")

    with monkeypatch.context() as patch:
        patch.setattr(Uploads, "delete", broken)
        with pytest.raises(CatalogUnavailable):
            library.document_move.move(number, "rules")
    assert {source for source, _ in found(library)} <= {"desk", "rules"}
    assert len(library.catalog.live_documents("desk")) == len(library.catalog.live_documents("rules")) == 1
    library.document_move.move(number, "rules")
    assert not library.catalog.live_documents("desk") and {source for source, _ in found(library)} == {"rules"}


def test_over_http(tmp_path: Path) -> None:
    """The route moves it; what a key may not see is not found, a foreign source as one that is not there."""
    with governed_server(tmp_path) as (url, library):
        for name in ("left", "right"):
            library.catalog.put_source(wenyuan.Source(source_id=name))
        number = uploaded(library, tmp_path, source="left")
        token = key(library, "ingest")
        assert_problem(send(url, "POST", f"/v1/documents/{number}/move", {"to": "none"}, token), 404, "not_found")
        assert_problem(send(url, "POST", "/v1/documents/987654/move", {"to": "right"}, token), 404, "not_found")
        assert send(url, "POST", f"/v1/documents/{number}/move", {"to": "right", "x": 1}, token).status == 400
        assert (
            send(url, "POST", f"/v1/documents/{number}/move", {"to": "right"}, key(library, "search")).status == 403
        )
        moved = send(url, "POST", f"/v1/documents/{number}/move", {"to": "right"}, token).json
        assert (moved["source_id"], moved["moved_from"], len(moved["documents"])) == ("right", "left", 1)


def test_in_the_console_and_on_the_command_line(library: Any, tmp_path: Path) -> None:
    """Many are chosen and moved at once; those that stay say why, and the others go."""
    numbers = [uploaded(library, tmp_path, f"# 收费 {n}\n\n手续费为 {n} 元。\n", f"{n}.md") for n in range(3)]
    library.correct(CorrectionRequest(action="exclude", document_id=numbers[2]))
    with served(library) as url:
        page = Browser(url).post("/console/documents", {"action": "move", "to": "rules", "document": numbers[1:]})
        assert "1 document moved" in page.text() and "it has corrections" in page.text()
        assert Browser(url).get("/console/documents").count("select[name=to] option") == 3
        assert "Nothing" in Browser(url).post("/console/documents", {"action": "move", "document": numbers[:1]}).text(
            "main"
        )
    assert {len(library.catalog.live_documents(name)) for name in ("desk", "rules")} == {2, 1}
    run = runner(tmp_path / "library")
    told = run("document", "move", numbers[0], numbers[2], "--to", "rules", "--json", code=3)
    assert [one["moved_from"] for one in json.loads(told.stdout)["moved"]] == ["desk"]
    assert "它有更正" in run("document", "move", numbers[2], "--to", "rules", "--lang", "zh", code=2).output
