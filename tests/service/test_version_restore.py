"""Earlier versions of uploaded documents: put back into their place, and told with who uploaded them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from command_line import run
from governed_door import governed_server, key, send
from http_door import assert_problem
from wenyuan.core.access import Principal
from wenyuan.core.errors import InvalidRequest, NotFound
from wenyuan.core.model import RetrievalRequest
from wenyuan.service.audit.recorder import ACTING
from wenyuan.service.document_details import DetailsRequest
from wenyuan.service.uploads import Given

FIRST, SECOND = "# 收费\n\n手续费为 5 元。\n", "# 收费\n\n手续费为 9 元。\n"


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Any]:
    with wenyuan.create(tmp_path / "library", encoder={"kind": "none"}) as made:
        made.catalog.put_source(wenyuan.Source(source_id="desk"))
        yield made


def given(folder: Path, text: str, name: str = "fees.md") -> Given:
    path = folder / "given"
    path.write_text(text, "utf-8")
    return Given(name=name, path=path)


def two_versions(library: Any, folder: Path) -> tuple[int, int]:
    """The numbers of the earlier version and of the present one."""
    (first,) = library.upload("desk", [given(folder, FIRST)]).files
    library.replace_document(first.documents[0], given(folder, SECOND))
    now = next(uri for uri in library.catalog.live_documents("desk") if "/.versions/" not in uri)
    then = next(uri for uri in library.catalog.live_documents("desk") if "/.versions/" in uri)
    live = library.catalog.live_documents("desk")
    return live[then][0], live[now][0]


def found(library: Any) -> list[str]:
    asked = RetrievalRequest(query="手续费", max_results=5)
    return [one.content for one in library.retrieve_fragments(asked).fragments]


def test_a_version_that_is_put_back_answers_and_the_present_one_is_kept(library: Any, tmp_path: Path) -> None:
    """What is asked today gets the old words again; both stand in the history, the newest first."""
    then, _ = two_versions(library, tmp_path)
    assert "9 元" in str(found(library))
    (file,) = library.version_restore.restore(then).files
    assert file.state == "changed"
    assert "5 元" in str(found(library)) and "9 元" not in str(found(library))
    versions = library.document_history(file.documents[0])["versions"]
    assert len(versions) == 3 and versions[0]["state"] == "live"
    (change,) = versions[0]["changes"]
    assert [text for kind, text in change["pieces"] if kind != "same"] == ["9", "5"]


def test_what_is_no_earlier_version_is_not_put_back(library: Any, tmp_path: Path) -> None:
    """The version that counts, a document of a folder, and what is not there: refused, and nothing changes."""
    _, now = two_versions(library, tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text(FIRST, "utf-8")
    library.add(wenyuan.Source(source_id="docs", path=str(tmp_path / "docs")))
    folder = next(iter(library.catalog.live_documents("docs").values()))[0]
    for number, error in ((now, InvalidRequest), (folder, InvalidRequest), (999, NotFound)):
        with pytest.raises(error):
            library.version_restore.restore(number)
    assert "9 元" in str(found(library))


def test_the_history_says_who_uploaded_a_version(library: Any, tmp_path: Path) -> None:
    """By the record of the audit; without one, nothing is made up."""
    acting = ACTING.set(Principal(key_id="k-li"))
    try:
        _, now = two_versions(library, tmp_path)
    finally:
        ACTING.reset(acting)
    assert {one["by"] for one in library.document_history(now)["versions"]} == {"k-li"}
    with wenyuan.create(tmp_path / "silent", encoder={"kind": "none"}, audit={"enabled": False}) as silent:
        silent.catalog.put_source(wenyuan.Source(source_id="desk"))
        (file,) = silent.upload("desk", [given(tmp_path, FIRST)]).files
        assert [one["by"] for one in silent.document_history(file.documents[0])["versions"]] == [""]


def test_over_http_and_on_the_command_line(tmp_path: Path) -> None:
    """Who may upload puts back; others may not."""
    with governed_server(tmp_path) as (url, library):
        library.catalog.put_source(wenyuan.Source(source_id="desk"))
        then, _ = two_versions(library, tmp_path)
        assert_problem(
            send(url, "POST", f"/v1/documents/{then}/restore", None, key(library, "search")), 403, "not_permitted"
        )
        told = send(url, "POST", f"/v1/documents/{then}/restore", None, key(library, "ingest")).json
        assert [one["state"] for one in told["files"]] == ["changed"]
        assert_problem(send(url, "POST", "/v1/documents/999/restore", None, key(library, "ingest")), 404, "not_found")
        now = next(uri for uri in library.catalog.live_documents("desk") if "/.versions/" not in uri)
        number = str(library.catalog.live_documents("desk")[now][0])
    at = ["--library", str(tmp_path / "library"), "--lang", "zh"]
    refused = run("document", "restore", number, *at, WENYUAN_ENCODER__KIND="hashing")
    assert refused.exit_code == 2 and "就是现行的版本" in refused.output


def test_a_number_that_is_over_leads_to_its_history(library: Any, tmp_path: Path) -> None:
    """Where a document was read again, its number is none any more; its history knows the present one, a list the others."""
    two_versions(library, tmp_path)
    with pytest.raises(NotFound) as refused:
        library.version_restore.restore(7777)
    assert "wenyuan document history 7777" in str(refused.value.hint)


def as_of(library: Any, day: str) -> str:
    asked = RetrievalRequest(query="手续费", context={"as_of": day}, max_results=5)
    return str([one.content for one in library.retrieve_fragments(asked).fragments])


def test_days_that_were_set_stay_with_the_version_of_which_they_were_said(library: Any, tmp_path: Path) -> None:
    """A first day set for the old text neither becomes that of the text that replaces it nor ends the old one before it began;
    title and tags are the document's.
    """
    (first,) = library.upload("desk", [given(tmp_path, FIRST)]).files
    number = library.details_desk.set_details(
        first.documents[0], DetailsRequest(title="收费办法", effective_from="2024-01-01", tags={"部门": "财务"})
    )
    library.replace_document(number, given(tmp_path, SECOND))
    assert "5 元" in as_of(library, "2025-06-01") and "9 元" not in as_of(library, "2025-06-01")
    assert "5 元" not in as_of(library, "2023-06-01")
    assert "9 元" in str(found(library)) and "5 元" not in str(found(library))
    live = library.catalog.live_documents("desk")
    told = {("/.versions/" in uri): library.document(one) for uri, (one, _) in live.items()}
    assert told[True]["effective_from"] == "2024-01-01" and told[False]["effective_from"] != "2024-01-01"
    assert {one["title"] for one in told.values()} == {"收费办法"}
    assert sorted(told[False]["details"]["said"]) == ["tags", "title"]
    assert sorted(told[True]["details"]["said"]) == ["effective_from", "tags", "title"]


def test_each_version_keeps_its_own_days_when_all_are_read_again(library: Any, tmp_path: Path) -> None:
    """The new version is given its day, a third one comes: each keeps its own, also when every file is read anew."""
    (first,) = library.upload("desk", [given(tmp_path, FIRST)]).files
    number = library.details_desk.set_details(first.documents[0], DetailsRequest(effective_from="2024-01-01"))
    (second,) = library.replace_document(number, given(tmp_path, SECOND)).files
    number = library.details_desk.set_details(second.documents[0], DetailsRequest(effective_from="2025-01-01"))
    library.replace_document(number, given(tmp_path, "# 收费\n\n手续费为 12 元。\n"))
    for size in (100, 200):  # by which every file is read anew
        assert "5 元" in as_of(library, "2024-06-01")
        assert "9 元" in as_of(library, "2025-06-01") and "5 元" not in as_of(library, "2025-06-01")
        assert "12 元" in str(found(library)) and "9 元" not in str(found(library))
        library.catalog.put_source(wenyuan.Source(source_id="desk", settings={"passage_size": size}))
        assert library.ingest("desk").changed == 3
