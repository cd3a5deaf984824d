"""Replaced documents: earlier versions answer as of their days, and a history says what changed. All in a library that is
named by a relative path, as it is by default.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from wenyuan.core.errors import InvalidRequest, NotFound
from wenyuan.core.model import RetrievalRequest
from wenyuan.service.ingest import versions
from wenyuan.service.uploads import Given

OPTIONS: dict[str, Any] = {"encoder": {"kind": "none"}}
FIRST = "# 收费\n\n## 一、金额\n\n手续费为 5 元。\n\n## 二、期限\n\n期限为三天。\n"
SECOND = (
    "# 收费\n\n## 一、金额\n\n手续费为 9 元。\n\n## 二、期限\n\n期限为三天。\n\n## 三、减免\n\n学生可以减免手续费。\n"
)
TODAY = date.today()


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[wenyuan.Library]:
    monkeypatch.chdir(tmp_path)
    with wenyuan.open("library", create=True, **OPTIONS) as made:
        made.catalog.put_source(wenyuan.Source(source_id="desk"))
        yield made


def given(name: str, text: str) -> Given:
    path = Path("given")
    path.write_text(text, "utf-8")
    return Given(name=name, path=path)


def uploaded(library: wenyuan.Library, name: str, text: str) -> int:
    """The number of the document of a file that is uploaded."""
    (file,) = library.upload("desk", [given(name, text)]).files
    (number,) = file.documents
    return number


def replaced(library: wenyuan.Library, number: int, name: str, text: str) -> int:
    (file,) = library.replace_document(number, given(name, text)).files
    return file.documents[0]


def arrive(monkeypatch: pytest.MonkeyPatch, day: date) -> None:
    """What is uploaded from now on comes on another day."""

    class Day(date):
        @classmethod
        def today(cls) -> date:
            return day

    monkeypatch.setattr("wenyuan.service.uploads.date", Day)


def said(library: wenyuan.Library, day: date, query: str = "手续费") -> list[str]:
    """The fees that are found as of a day."""
    texts = [one.text for one in library.search(query, as_of=day, limit=20).passages.values()]
    return sorted({text[text.index("费为 ") + 3 :][:3] for text in texts if "费为 " in text})


def states(library: wenyuan.Library) -> list[tuple[str, str | None, str | None]]:
    """State, first and last day of all documents, the oldest first."""
    found = [
        (one["state"], one["effective_from"], one["effective_until"]) for one in library.list_documents().documents
    ]
    return sorted(found, key=lambda one: one[1] or "")


def test_the_version_of_a_day_answers_as_of_it(library: wenyuan.Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of three versions each answers as of its days: before, between and after; the older ones are superseded."""
    number = uploaded(library, "fees.md", FIRST)
    arrive(monkeypatch, TODAY - timedelta(20))
    number = replaced(library, number, "x.md", FIRST.replace("5 元", "7 元"))
    arrive(monkeypatch, TODAY - timedelta(10))
    number = replaced(library, number, "y.md", SECOND)
    assert [said(library, TODAY - timedelta(days)) for days in (30, 21, 20, 15, 11, 10, 0)] == [
        ["5 元"], ["5 元"], ["7 元"], ["7 元"], ["7 元"], ["9 元"], ["9 元"]
    ]  # fmt: skip
    assert [one[0] for one in states(library)] == ["superseded", "superseded", "live"]
    assert said(library, date(2000, 1, 1)) == ["5 元"]
    library.ingest("desk")  # which changes nothing
    assert [one[0] for one in states(library)] == ["superseded", "superseded", "live"]


def test_the_old_one_stays_until_a_later_one_begins(library: wenyuan.Library) -> None:
    """A new version that says it counts from a later day leaves the old one in force until the day before."""
    number = uploaded(library, "fees.md", FIRST)
    begins = TODAY + timedelta(30)
    replaced(library, number, "fees.md", f"---\nvalid_from: {begins}\n---\n{SECOND}")
    assert said(library, TODAY) == ["5 元"]
    assert said(library, begins - timedelta(1)) == ["5 元"]
    assert said(library, begins) == ["9 元"]
    assert states(library) == [("live", None, str(begins - timedelta(1))), ("not_yet", str(begins), None)]


def test_a_third_version_takes_the_place_of_one_that_has_not_begun(library: wenyuan.Library) -> None:
    """Who replaces a version that was to count later means the document: the new one counts, and none beside it."""
    number = uploaded(library, "fees.md", FIRST)
    number = replaced(library, number, "fees.md", f"---\nvalid_from: {TODAY + timedelta(30)}\n---\n{SECOND}")
    replaced(library, number, "fees.md", FIRST.replace("5 元", "7 元"))
    assert said(library, TODAY) == said(library, TODAY + timedelta(40)) == ["7 元"]
    assert said(library, TODAY - timedelta(1)) == ["5 元"]


def test_an_upload_over_a_name_and_another_kind_keep_the_old_one_too(
    library: wenyuan.Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever way a version comes, and whatever its file is called, those before it are versions of the same document."""
    uploaded(library, "a/fees.md", FIRST)
    arrive(monkeypatch, TODAY - timedelta(9))
    number = uploaded(library, "a/fees.md", FIRST.replace("5 元", "7 元"))
    arrive(monkeypatch, TODAY - timedelta(3))
    number = replaced(library, number, "fees.txt", "手续费为 9 元。")
    assert [said(library, TODAY - timedelta(days)) for days in (20, 5, 0)] == [["5 元"], ["7 元"], ["9 元"]]
    assert len(library.document_history(number)["versions"]) == 3
    assert not Path("library/uploads/desk/a/fees.md").exists()


def test_the_same_file_again_is_no_version(library: wenyuan.Library) -> None:
    """Bytes that are there already change nothing."""
    number = uploaded(library, "fees.md", FIRST)
    replaced(library, number, "fees.md", FIRST)
    assert len(states(library)) == 1


def test_a_version_that_cannot_be_read_leaves_no_trace(library: wenyuan.Library) -> None:
    """The old one is in its place, in force, and nothing is kept of it besides."""
    number = uploaded(library, "fees.md", FIRST)
    (file,) = library.replace_document(number, given("fees.md", "\x00\x01\x00\x02" * 50)).files
    assert file.state == "failed"
    assert states(library) == [("live", None, None)]
    assert not list(Path("library/uploads/desk").rglob(f"{versions.FOLDER}/**/*.md"))
    assert said(library, TODAY) == ["5 元"]


def test_deletion_takes_all_versions(library: wenyuan.Library) -> None:
    """A deleted document does not come to life again as what it was."""
    number = uploaded(library, "fees.md", FIRST)
    number = replaced(library, number, "fees.md", SECOND)
    library.delete_document(number)
    assert states(library) == []
    assert said(library, TODAY - timedelta(9)) == said(library, TODAY) == []
    assert not list(Path("library/uploads").rglob("*.md"))


def test_an_old_version_alone_can_be_deleted_and_not_replaced(library: wenyuan.Library) -> None:
    """Its number is told in the history; what is in its place now stays."""
    number = replaced(library, uploaded(library, "fees.md", FIRST), "fees.md", SECOND)
    old = library.document_history(number)["versions"][-1]["document_id"]
    with pytest.raises(InvalidRequest, match="earlier version"):
        library.replace_document(old, given("fees.md", FIRST))
    library.delete_document(old)
    assert [one[0] for one in states(library)] == ["live"]
    assert said(library, TODAY - timedelta(9)) == []


def test_no_more_versions_are_kept_than_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest goes first; with 0 none is kept, and the new one counts as the old one did."""
    monkeypatch.chdir(tmp_path)
    for most, seen in ((2, [[], ["12 "], ["13 "]]), (0, [["13 "], ["13 "], ["13 "]])):
        with wenyuan.open(f"library{most}", create=True, uploads={"keep_versions": most}, **OPTIONS) as library:
            library.catalog.put_source(wenyuan.Source(source_id="desk"))
            number = uploaded(library, "fees.md", FIRST.replace("5 元", "10 元"))
            for at in range(1, 4):
                arrive(monkeypatch, TODAY - timedelta(40 - 10 * at))
                number = replaced(library, number, "fees.md", FIRST.replace("5 元", f"{10 + at} 元"))
            assert len(states(library)) == most + 1
            assert [said(library, TODAY - timedelta(days)) for days in (35, 15, 5)] == seen


def test_the_history_says_what_changed(library: wenyuan.Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """Clause by clause, with the words that went and came; the newest version first."""
    number = uploaded(library, "fees.md", FIRST)
    arrive(monkeypatch, TODAY - timedelta(10))
    number = replaced(library, number, "fees.md", SECOND)
    told = library.document_history(number)
    newest, oldest = told["versions"]
    assert (newest["state"], newest["effective_from"]) == ("live", str(TODAY - timedelta(10)))
    assert (oldest["state"], oldest["effective_until"], oldest["first"]) == (
        "superseded",
        str(TODAY - timedelta(11)),
        True,
    )
    assert newest["counts"] == {"added": 1, "removed": 0, "changed": 1}
    (changed,) = [one for one in newest["changes"] if one["kind"] == "changed"]
    assert [(kind, text) for kind, text in changed["pieces"] if kind != "same"] == [("out", "5"), ("in", "9")]
    assert "金额" in changed["place"]
    (added,) = [one for one in newest["changes"] if one["kind"] == "added"]
    assert "学生可以减免" in added["pieces"][0][1]
    assert library.document_history(oldest["document_id"]) == told
    with pytest.raises(NotFound):
        library.document_history(10_000)


def test_a_file_that_is_read_anew_has_a_history_too(library: wenyuan.Library) -> None:
    """Of a folder no earlier file is kept: what was read before is told, and answers no more."""
    docs = Path("docs")
    docs.mkdir()
    (docs / "a.md").write_text(FIRST, "utf-8")
    library.add(wenyuan.Source(source_id="folder", path=str(docs)))
    (docs / "a.md").write_text(SECOND, "utf-8")
    library.ingest("folder")
    [(number, _)] = library.catalog.live_documents("folder").values()
    newest, oldest = library.document_history(number)["versions"]
    assert (newest["state"], oldest["state"], oldest["document_id"]) == ("live", "replaced", None)
    assert newest["counts"]["changed"] == 1


def test_every_change_of_a_document_is_audited(library: wenyuan.Library) -> None:
    """Upload, replacement, deletion and refresh leave a record with what they changed, and no text."""
    from wenyuan.service.operations.refresh import Worker

    number = uploaded(library, "fees.md", FIRST)
    number = replaced(library, number, "fees.md", SECOND)
    Worker(library).refresh("desk")
    library.delete_document(number)
    records = [one for one in reversed(library.audit.list(limit=50)) if one.kind in ("document", "refresh")]
    assert [(one.kind, one.record["action"]) for one in records] == [
        ("refresh", "ingested"), ("document", "uploaded"), ("refresh", "ingested"), ("document", "replaced"), ("refresh", "ingested"),
        ("refresh", "ingested"), ("document", "deleted"),
    ]  # fmt: skip
    assert records[-1].record["changes"]["versions"] == [None, 1]
    assert "手续费" not in str([one.record for one in records])


def test_a_replay_knows_what_was_answered_before(library: wenyuan.Library) -> None:
    """A recorded answer is given again as it was, after its document was replaced."""
    number = uploaded(library, "fees.md", FIRST)
    answer = library.retrieve_fragments(RetrievalRequest(query="手续费", max_results=3))
    audit_id = str(answer.fragments[0].metadata["audit_id"])
    replaced(library, number, "fees.md", SECOND)
    assert library.replay(audit_id, exact=True).identical
    assert not library.replay(audit_id).identical


def test_the_command_line_names_the_history(library: wenyuan.Library) -> None:
    """Upload, replacement, history and deletion, each with the library named by a relative path."""
    from command_line import runner

    run = runner(Path("library"), WENYUAN_ENCODER__KIND="none")
    Path("fees.md").write_text(FIRST, "utf-8")
    Path("new.md").write_text(SECOND, "utf-8")
    run("document", "upload", "desk", "fees.md")
    run("document", "replace", 1, "new.md")
    (number,) = [one["document_id"] for one in library.list_documents(state="live").documents]
    told = run("--lang", "zh", "document", "history", number).output
    assert "[-5-]{+9+}" in told
    assert "新增 1 条，删除 0 条，修改 1 条" in told
    run("document", "delete", number, "--yes")


def test_every_route_of_documents_works_with_a_relative_library(library: wenyuan.Library) -> None:
    """Upload, replacement, listing, history and deletion over HTTP."""
    from http_door import call
    from wenyuan.server.app import create_app
    from wenyuan.server.running import start_in_thread

    url, stop = start_in_thread(create_app(library))
    try:
        number = uploaded(library, "fees.md", FIRST)
        form = (
            b'--b\r\nContent-Disposition: form-data; name="file"; filename="n.md"\r\n\r\n'
            + SECOND.encode()
            + b"\r\n--b--\r\n"
        )
        kind = {"Content-Type": "multipart/form-data; boundary=b"}
        done = call(url, "PUT", f"/v1/documents/{number}", form, kind)
        assert done.status == 200, done.body
        number = done.json["files"][0]["documents"][0]
        told = call(url, "GET", f"/v1/documents/{number}/history").json
        assert [one["state"] for one in told["versions"]] == ["live", "superseded"]
        assert call(url, "GET", f"/v1/documents/{told['versions'][1]['document_id']}/original").status == 200
        assert call(url, "DELETE", f"/v1/documents/{number}").status == 200
    finally:
        stop()


def test_what_could_not_be_read_stays_listed_until_it_is(library: wenyuan.Library) -> None:
    """A new file that was refused is named with what helps, through other uploads and refreshes, until its name is taken in."""
    (file,) = library.upload("desk", [given("broken.pdf", "%PDF-1.4 nothing")]).files
    assert file.state == "failed"
    uploaded(library, "fees.md", FIRST)
    library.ingest("desk")
    (listed,) = library.list_documents(state="failed").documents
    assert listed["uri"].endswith("/broken.pdf")
    assert "wenyuan document upload desk" in listed["failure"]["remedy"]
    library.upload("desk", [given("broken.pdf", "%PDF-1.4 nothing")])
    assert len(library.list_documents(state="failed").documents) == 1
    library.catalog.record_failure("desk", library.list_documents().documents[1]["uri"], "not_kept", "x")
    uploaded(library, "fees.md", SECOND)
    assert len(library.list_documents(state="failed").documents) == 1


def test_an_upload_counts_its_own_files(library: wenyuan.Library) -> None:
    """Of twelve files in the folder one is uploaded anew: progress and report speak of that one."""
    library.upload("desk", [given_as(f"{n}.md", f"# {n}\n\n文字 {n}。") for n in range(12)])
    seen: list[tuple[int, int]] = []
    told = library.upload("desk", [given("z.md", FIRST)], lambda at: seen.append((at.files, at.files_total)))
    assert {total for _, total in seen} == {1}
    assert max(done for done, _ in seen) <= 1
    assert told.report is not None
    assert (told.report.files, told.report.added, told.report.unchanged) == (1, 1, 0)


def given_as(name: str, text: str) -> Given:
    path = Path(f"given-{name}")
    path.write_text(text, "utf-8")
    return Given(name=name, path=path)
