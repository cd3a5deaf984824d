"""Readers that are given with an uploaded file hold for all that is read of it, for its next versions and under its next name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import console_door
import wenyuan
from command_line import run
from doors import served
from governed_door import key
from reader_library import LI, WU
from wenyuan.client import Client
from wenyuan.client.documents import form_of
from wenyuan.core.errors import InvalidRequest
from wenyuan.core.model import Source
from wenyuan.core.principals import AccessList, parse_access_list, reading_as
from wenyuan.server.routes.uploads import MAX_FIELD
from wenyuan.service.uploads import Given

HR = ["group:hr"]
SHEET = b"name,pay\nZhang,100\n"


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Any]:
    settings: dict[str, Any] = {"encoder": {"kind": "hashing"}, "search": {"floor": 0.0, "deadline": 30}}
    with wenyuan.open(tmp_path / "library", create=True, uploads={"keep_versions": 2}, **settings) as made:
        made.catalog.put_source(Source(source_id="desk"))
        yield made


@pytest.fixture
def client(library: Any) -> Iterator[Client]:
    with served(library, needs_keys=True) as url, Client(url, key=key(library, "admin")) as made:
        yield made


def seen(library: Any, who: Any) -> set[str]:
    """The file names of the documents that somebody sees, with those of former days."""
    return {one.uri.rpartition("/")[2].partition("?")[0] for one in library.documents(who)}


def held(library: Any) -> dict[str, list[str]]:
    """Who may read each live document, by the end of its address."""
    return {
        uri.rpartition("/")[2]: sorted(
            f"{one.origin} {','.join(sorted(one.access.readers or ()))}"
            for one in library.catalog.document_access("desk", uri)
        )
        for uri in library.catalog.live_documents("desk")
    }


def test_they_hold_before_anybody_sees_it(library: Any, client: Client) -> None:
    """For each of several files, by names in any form; who is not named never sees them, who is does at once."""
    told = client.upload(
        "desk", {"pay.md": b"# Pay\n\nSecret.", "bonus.csv": SHEET}, readers=["Group:HR"], deny=["user:zhao"]
    )
    assert [one["state"] for one in told["files"]] == ["added", "added"]
    assert seen(library, WU) == set()
    assert seen(library, LI) == {"pay.md", "bonus.csv"}
    assert seen(library, replace(LI, user="user:zhao")) == set()


def test_a_new_version_keeps_them_unless_others_are_given(library: Any, client: Client) -> None:
    """By its name, by replacing it with a file of the same kind or of another, and for the version that is kept."""
    number = client.upload("desk", {"pay.md": b"# Pay\n\nOne."}, readers=HR)["files"][0]["documents"][0]
    number = client.upload("desk", {"pay.md": b"# Pay\n\nTwo."})["files"][0]["documents"][0]
    assert seen(library, WU) == set()
    number = client.replace_document(number, "new.md", b"# Pay\n\nThree.")["files"][0]["documents"][0]
    assert seen(library, WU) == set()
    client.replace_document(number, "pay.txt", b"Pay: four.")
    assert seen(library, WU) == set(), held(library)
    with reading_as(WU.sight):
        assert not library.search("pay").hits
    client.upload("desk", {"pay.txt": b"Pay: five."}, readers=["everyone"])
    assert seen(library, WU) == {"pay.txt"}


def test_what_comes_into_a_file_later_has_them_too(library: Any, client: Client) -> None:
    """A sheet that a new version of a workbook has more is for the same readers; so it is after a run without an upload."""
    import io

    from openpyxl import Workbook

    def book(*sheets: str) -> bytes:
        made, kept = Workbook(), io.BytesIO()
        made.remove(made.active)
        for name in sheets:
            sheet = made.create_sheet(name)
            sheet.append(["name", "pay"])
            sheet.append([f"Zhang {name}", 100])
        made.save(kept)
        return kept.getvalue()

    client.upload("desk", {"pay.xlsx": book("2025")}, readers=HR)
    client.upload("desk", {"pay.xlsx": book("2025", "2026")})
    library.ingest("desk")
    assert len(held(library)) >= 2
    assert seen(library, WU) == set(), held(library)


def test_a_file_that_is_refused_changes_nothing(library: Any, client: Client) -> None:
    """The version before it stays, for its own readers."""
    client.upload("desk", {"pay.csv": SHEET}, readers=HR)
    told = client.upload("desk", {"pay.csv": b"\x00\xff" * 50}, readers=["everyone"])
    assert told["files"][0]["state"] == "failed"
    assert (seen(library, WU), seen(library, LI)) == (set(), {"pay.csv"})


@pytest.mark.parametrize(
    ("field", "value"),
    [("readers", "hr"), ("readers", "group:a b"), ("deny", "5"), ("reader", "group:hr"), ("Readerss", "group:hr"), ("denys", "user:li"), ("readers", "user:" + "x" * 200)],
)  # fmt: skip
def test_lists_that_say_nothing_are_refused(library: Any, client: Client, field: str, value: str) -> None:
    """With their place, before anything is kept; a field that is nearly called so is not passed over."""
    with pytest.raises(InvalidRequest):
        posted(client, {field: value})
    assert held(library) == {}


def test_an_empty_field_says_nothing(library: Any, client: Client) -> None:
    """As browsers send it; several fields, and names between commas of both languages, are one list. One too large is refused."""
    posted(client, {"readers": "", "deny": " "})
    assert seen(library, WU) == {"a.md"}
    posted(client, {"ＲＥＡＤＥＲＳ": "group:hr，user:a、user:b\nuser:c;"})
    assert held(library)["a.md"] == ["upload group:hr,user:a,user:b,user:c"]
    with pytest.raises(wenyuan.KnowledgeError):
        posted(client, {"readers": "user:a," * MAX_FIELD})


def posted(client: Client, fields: dict[str, str]) -> Any:
    body, kind = form_of({"a.md": b"# A\n\nPay."})
    fence = kind.rpartition("=")[2].encode()
    for name, value in fields.items():
        body = (
            b'--%b\r\nContent-Disposition: form-data; name="%b"\r\n\r\n%b\r\n'
            % (fence, name.encode(), value.encode())
            + body
        )
    return client._send("POST", "/v1/sources/desk/documents", body, kind, lambda told: told)


def test_the_console_sends_them(library: Any) -> None:
    """Its form has fields for both lists."""
    with console_door.served(library, needs_keys=True) as url:
        browser = console_door.Browser(url)
        browser.sign_in(key(library, "admin"))
        page = browser.get("/console/sources/desk/documents")
        assert 'name="readers"' in page.body and 'name="deny"' in page.body
        browser.upload("/console/sources/desk/documents", {"readers": "group:hr", "deny": ""}, "pay.csv", SHEET)
        assert (seen(library, WU), seen(library, LI)) == (set(), {"pay.csv"})


def test_the_command_line_says_them(tmp_path: Path) -> None:
    """With an upload, a new version, and a source that is added; what a source says already is not replaced."""
    home, file = tmp_path / "library", tmp_path / "pay.md"
    file.write_text("# Pay\n\nSecret.\n", "utf-8")

    def done(*words: object) -> int:
        return run(*words, "--library", home).exit_code

    assert done("init") == 0
    assert done("document", "upload", "desk", file, "--readers", "group:hr", "--deny", "user:wu") == 0
    assert done("document", "upload", "desk", file, "--readers", "hr") != 0
    assert done("add", tmp_path / "pay.md", "--source", "docs", "--readers", "group:hr") == 0
    assert done("add", tmp_path / "pay.md", "--source", "docs", "--readers", "everyone", "--yes") != 0
    with wenyuan.open(home, encoder={"kind": "hashing"}) as library:
        assert seen(library, WU) == set()
        assert seen(library, LI) == {"pay.md"}
        source = library.catalog.source("docs")
        assert source.settings["readers"] == {"documents": [{"path": "**", "readers": ["group:hr"]}]}


def test_python_gives_each_file_its_own(library: Any) -> None:
    """A list of its own for each file of one upload."""
    with library.uploads.incoming() as folder:
        files = []
        for name, access in {"a.md": AccessList(readers=frozenset(HR)), "b.md": None}.items():
            (folder / name).write_bytes(b"# A\n\nPay.")
            files.append(Given(name=name, path=folder / name, access=access))
        library.upload("desk", files)
    assert (seen(library, WU), seen(library, LI)) == ({"b.md"}, {"a.md", "b.md"})


def test_what_was_given_is_taken_back(library: Any, client: Client) -> None:
    """By the same command that takes back a list given by name."""
    number = client.upload("desk", {"pay.csv": SHEET}, readers=HR)["files"][0]["documents"][0]
    library.set_readers(number, None)
    assert seen(library, WU) == {"pay.csv"}
    library.ingest("desk")
    assert seen(library, WU) == {"pay.csv"}


# -- lists that are given by name go with the words ------------------------------------------------------------------


@pytest.mark.parametrize("way", ["rename", "move", "copy", "gone for a run", "back"])
def test_a_list_goes_with_the_words(tmp_path: Path, way: str) -> None:
    """A file that is renamed, moved, copied, or comes again under another name has the list that was given for it by name."""
    folder = tmp_path / "docs"
    (folder / "sub").mkdir(parents=True)
    (folder / "pay.md").write_text("# Pay\n\nSecret.\n", "utf-8")
    (folder / "open.md").write_text("# Open\n\nFor all.\n", "utf-8")
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "hashing"}) as library:
        library.add(Source(source_id="desk", path=str(folder)))
        number = next(one.document_id for one in library.documents() if one.title == "Pay")
        library.set_readers(number, {"readers": HR})
        match way:
            case "rename":
                (folder / "pay.md").rename(folder / "a-new-name.md")
            case "move" | "back":
                (folder / "pay.md").rename(folder / "sub" / "pay.md")
            case "copy":
                (folder / "copy.md").write_bytes((folder / "pay.md").read_bytes())
            case _:
                (folder / "pay.md").rename(tmp_path / "aside.md")
                library.ingest("desk")
                (tmp_path / "aside.md").rename(folder / "z.md")
        library.ingest("desk")
        if way == "back":
            (folder / "sub" / "pay.md").rename(folder / "pay.md")
            library.ingest("desk")
        assert {one.title for one in library.documents(WU)} == {"Open"}
        assert {one.title for one in library.documents(LI)} == {"Open", "Pay"}


def test_a_list_that_was_taken_back_stays_so(tmp_path: Path) -> None:
    """Who opens a copy by hand has it open after the next run, too; a list that it had itself stays within both."""
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "pay.md").write_text("# Pay\n\nSecret.\n", "utf-8")
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "hashing"}) as library:
        library.add(Source(source_id="desk", path=str(folder)))
        [one] = library.documents()
        library.set_readers(one.document_id, {"readers": ["group:hr", "user:wu"], "deny": ["user:a"]})
        (folder / "copy.md").write_bytes((folder / "pay.md").read_bytes())
        library.ingest("desk")
        copy = next(one for one in library.documents() if one.uri.endswith("copy.md"))
        library.set_readers(copy.document_id, None)
        library.ingest("desk")
        assert seen(library, replace(WU, user="user:b")) == {"copy.md"}
    both = parse_access_list({"readers": HR}).narrowed(
        parse_access_list({"readers": ["user:wu"], "deny": ["user:a"]})
    )
    assert both == AccessList(readers=frozenset(), deny=frozenset({"user:a"}))
    assert AccessList().narrowed(parse_access_list({"deny": HR})) == parse_access_list({"deny": HR})
