"""Backups over HTTP and in the console: made, checked, fetched, opened and deleted by administrators alone, and recorded."""

from __future__ import annotations

import hashlib
import io
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from console_door import Browser, console
from governed_door import key, send
from http_door import assert_problem
from wenyuan.core.access import parse_agent
from wenyuan.core.errors import CatalogBusy, CatalogError, KnowledgeError
from wenyuan.service.operations import backups as module

Opened = tuple[str, Any]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    with console(tmp_path) as found:
        yield found


def fetched(url: str, name: str, token: str, length: int) -> bytes:
    parts = []
    while part := send(
        url, "GET", f"/v1/backups/{name}?offset={sum(map(len, parts))}&length={length}", None, token
    ).body:
        parts.append(part)
    return b"".join(parts)


def test_one_is_made_fetched_and_opened(opened: Opened, tmp_path: Path) -> None:
    """What is fetched part by part has the sum that was told, and is a library that answers and whose audit is whole."""
    url, library = opened
    admin = key(library, "admin")
    (told,) = send(url, "POST", "/v1/backups", {}, admin).json["backups"]
    content = fetched(url, told["name"], admin, 100_000)
    assert (len(content), hashlib.sha256(content).hexdigest()) == (told["bytes"], told["sha256"])
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        assert {one.name.split("/")[0] for one in archive.getmembers()} == {told["name"]}
        assert all((one.uid, one.uname) == (0, "") for one in archive.getmembers())
        archive.extractall(tmp_path / "fetched", filter="data")
    with wenyuan.open(tmp_path / "fetched" / told["name"], encoder={"kind": "hashing"}) as copy:
        assert copy.audit.verify().ok
        assert [one.source_id for one in copy.sources()] == [one.source_id for one in library.sources()]
    library.audit.flush()
    records = [one for one in library.audit.list(kind="registry") if one.record["object"].startswith("backup")]
    assert [one.record["action"] for one in records][::-1] in (
        ["begun", "made", "fetched"],
        ["made", "begun", "fetched"],
    )
    assert {one.principal for one in records if one.record["action"] != "made"} == {records[0].principal} != {"local"}
    assert send(url, "DELETE", f"/v1/backups/{told['name']}", None, admin).json["backups"] == []
    assert_problem(send(url, "GET", f"/v1/backups/{told['name']}", None, admin), 404, "not_found")


def test_who_may(opened: Opened) -> None:
    """No other right, and no key of an agent, makes, sees or fetches one."""
    url, library = opened
    library.catalog.put_agent(parse_agent({"agent_id": "desk", "knowledge_scope": [{"domain": "duty"}]}))
    name = send(url, "POST", "/v1/backups", {}, key(library, "admin")).json["backups"][0]["name"]
    paths = (("GET", ""), ("POST", ""), ("GET", f"/{name}"), ("DELETE", f"/{name}"))
    for method, rest in paths:
        body = {} if method == "POST" else None
        one = send(url, method, f"/v1/backups{rest}", body, key(library, "ingest", "registry", "audit"))
        assert one.status == 403
        bound = send(url, method, f"/v1/backups{rest}", body, key(library, "admin", agent="desk"))
        assert bound.status == (404 if rest else 403)
    assert len(library.backups.made()) == 1


@pytest.mark.parametrize(
    "name", ["..", ".lock", "library-20260101T000000Z", "library-1", "%2e%2e%2fcatalog", "x" * 300]
)
def test_no_other_file_is_given(opened: Opened, name: str) -> None:
    """Names of other files, and of none, are not found; a link in the place of a backup is none."""
    url, library = opened
    (library.folder / "backups").mkdir(exist_ok=True)
    (library.folder / "backups" / "library-20260101T000000Z.tar").symlink_to(library.folder / "catalog.db")
    for method in ("GET", "DELETE"):
        assert send(url, method, f"/v1/backups/{name}", None, key(library, "admin")).status in (404, 405)
    assert (library.folder / "catalog.db").is_file()


def test_one_at_a_time(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    """While one is made another is refused, in this process and in another one."""
    _, library = opened
    begun, go_on = threading.Event(), threading.Event()
    real = module.back_up

    def slow(folder: Path, to: Path) -> int:
        begun.set()
        go_on.wait(60)
        return real(folder, to)

    monkeypatch.setattr(module, "back_up", slow)
    assert library.backups.begin().running
    begun.wait(60)
    with pytest.raises(CatalogBusy):
        library.backups.begin()
    with pytest.raises(CatalogBusy):
        module.Backups(library.folder, library.catalog).begin(wait=60)
    go_on.set()
    library.backups.stop()
    assert len(library.backups.made()) == 1 and not library.backups.state.running


def test_a_copy_that_is_damaged_is_not_offered(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copied database that cannot be read, or a member that differs, is told; nothing is left of it."""
    _, library = opened
    real, packed = module.back_up, module._digest

    def broken(folder: Path, to: Path) -> int:
        size = real(folder, to)
        file = to / "catalog.db"
        content = bytearray(file.read_bytes())
        content[4096:8192] = b"\xff" * 4096
        file.write_bytes(bytes(content))
        return size

    monkeypatch.setattr(module, "back_up", broken)
    with pytest.raises(CatalogError, match=r"catalog\.db is damaged"):
        library.backups.begin(wait=60)
    monkeypatch.setattr(module, "back_up", real)
    monkeypatch.setattr(module, "_digest", lambda file: "" if file.name == "catalog.db" else packed(file))
    with pytest.raises(CatalogError, match="not packed whole"):
        library.backups.begin(wait=60)
    assert library.backups.made() == () and library.backups.state.failure
    assert [one.name for one in (library.folder / "backups").iterdir()] == [".lock"]


def test_a_full_disk_is_told_as_one(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no room the error says to make some, and what was begun is gone."""
    _, library = opened

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "_digest", full)
    with pytest.raises(KnowledgeError) as told:
        library.backups.begin(wait=60)
    assert "make room" in told.value.hint
    assert [one.name for one in (library.folder / "backups").iterdir()] == [".lock"]


def test_the_last_three_are_kept(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest goes where there are more, with the note of its sum; what a killed process left is removed."""
    _, library = opened
    (library.folder / "backups" / ".making-library-1").mkdir(parents=True)
    names = [f"library-2026010{day}T000000Z" for day in range(1, 6)]
    for name in names:
        monkeypatch.setattr(module.time, "strftime", lambda *_, name=name: name)
        library.backups.begin(wait=60)
    assert [one.name for one in library.backups.made()] == names[:1:-1]
    assert len(list((library.folder / "backups").iterdir())) == 2 * 3 + 1


def test_an_erasure_deletes_them(opened: Opened) -> None:
    """What is erased must not stay in a copy that the library keeps."""
    _, library = opened
    library.backups.begin(wait=60)
    library.erasures.erase(library.erasures.person(["zorvath-quill"]))
    assert library.backups.made() == ()


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_page(opened: Opened, language: str) -> None:
    """A button makes one, a link fetches it whole, another deletes it; restoring is told as commands with its name."""
    url, library = opened
    browser = Browser(url, language)
    browser.sign_in(key(library, "admin", "search"))
    assert all(browser.get("/console/health").count(f"a[href='/console/{one}']") == 1 for one in ("backups", "model"))
    assert browser.get("/console/backups").count("li.card") == 0
    assert browser.post("/console/backups").location == "/console/backups"
    page = browser.get("/console/backups")
    (made,) = library.backups.made()
    assert page.count("li.card") == 1 and made.sha256 in page.text() and f"tar -xf {made.name}.tar" in page.text()
    file = browser.get(f"/console/backups/{made.name}")
    assert file.headers["Content-Length"] == str(made.size)
    assert file.headers["Content-Disposition"].startswith("attachment")
    browser.post("/console/backups", {"delete": made.name})
    assert browser.get("/console/backups").count("li.card") == 0
    other = Browser(url, language)
    other.sign_in(key(library, "search"))
    assert other.get("/console/health").count("a[href='/console/backups']") == 0
    assert other.get("/console/backups").status == 403
