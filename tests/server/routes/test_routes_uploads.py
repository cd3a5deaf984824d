"""Uploading over HTTP: forms are bounded before they are read, and nothing is kept that was not asked for."""

from __future__ import annotations

import asyncio
import http.client
import shutil
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

import wenyuan
from governed_door import governed_server, key, send
from http_door import Answer, assert_problem, call
from wenyuan.server.problems import Problem
from wenyuan.server.routes import uploads

Served = tuple[str, Any]
FENCE = "----fence7MA4YWxkTrZu0gW"
GOOD, BROKEN = b"# Leave\n\nFive days of leave a year.\n", b"%PDF-1.4 nothing"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with governed_server(tmp_path_factory.mktemp("uploads")) as found:
        yield found


@pytest.fixture
def served(server: Served) -> Iterator[Served]:
    server[1].catalog.put_source(wenyuan.Source(source_id="desk"))
    yield server
    server[1].remove("desk")


def form(*files: tuple[str, bytes]) -> bytes:
    """As browsers write it, with a field that is no file before them."""
    field = f'--{FENCE}\r\nContent-Disposition: form-data; name="note"\r\n\r\nx\r\n'
    parts = [
        f'--{FENCE}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
        f"Content-Type: application/octet-stream\r\n\r\n".encode()
        + content
        + b"\r\n"
        for name, content in files
    ]
    return field.encode() + b"".join(parts) + f"--{FENCE}--\r\n".encode()


def sent(served: Served, method: str, path: str, body: bytes, *rights: str, **more: Any) -> Answer:
    url, library = served
    headers: Mapping[str, str] = {
        "Content-Type": f"multipart/form-data; boundary={FENCE}",
        "Authorization": f"Bearer {key(library, *(rights or ('ingest',)), agent=more.get('agent'))}",
    }
    return call(url, method, path, body, {**headers, **more.get("headers", {})})


def kept(served: Served) -> list[str]:
    home = served[1].folder / "uploads"
    files = (file for file in home.rglob("*") if file.is_file() and file != home / ".lock")
    return sorted(file.relative_to(home).as_posix() for file in files)


def test_several_files_are_taken_and_told_of(served: Served) -> None:
    """Each with what became of it; the source's last run tells the same."""
    told = sent(served, "POST", "/v1/sources/desk/documents", form(("制度/a.md", GOOD), ("b.pdf", BROKEN)))
    assert told.status == 200
    assert [(one["name"], one["state"]) for one in told.json["files"]] == [
        ("制度/a.md", "added"),
        ("b.pdf", "failed"),
    ]
    assert told.json["report"]["added"] == 1
    assert kept(served) == ["desk/制度/a.md"]
    last = send(served[0], "GET", "/v1/sources/desk/refresh", token=key(served[1], "ingest")).json["last"]
    assert [one["state"] for one in last["files"]] == ["added", "failed"]
    number = told.json["files"][0]["documents"][0]
    changed = sent(served, "PUT", f"/v1/documents/{number}", form(("new.md", GOOD.replace(b"Five", b"Nine"))))
    assert [one["state"] for one in changed.json["files"]] == ["changed"]
    assert_problem(sent(served, "PUT", f"/v1/documents/{number}", form(("new.md", GOOD))), 404, "not_found")
    number = changed.json["files"][0]["documents"][0]
    two = form(("a.md", GOOD), ("b.md", GOOD))
    assert_problem(sent(served, "PUT", f"/v1/documents/{number}", two), 400, "invalid_request")
    gone = send(served[0], "DELETE", f"/v1/documents/{number}", token=key(served[1], "ingest"))
    assert gone.json == {"source_id": "desk", "documents": 1}
    assert kept(served) == []


def test_what_is_no_form_is_refused(served: Served) -> None:
    """Another type, no boundary, no end, no file; nothing is left of it."""
    where = "/v1/sources/desk/documents"
    whole = form(("a.md", GOOD))
    for kind in ("application/json", "multipart/form-data", "text/plain"):
        answer = sent(served, "POST", where, whole, headers={"Content-Type": kind})
        assert_problem(answer, 415, "unsupported_media_type")
    for body in (whole[:-30], b"x" * 1_000, form(), b""):
        assert_problem(sent(served, "POST", where, body), 400, "invalid_request")
    assert kept(served) == []
    assert list((served[1].folder / "uploads").glob(".incoming/*")) == []


def test_forms_are_bounded(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """In size, said or sent, and in the number of files; one file that is too large is passed over, and the others taken."""
    where = "/v1/sources/desk/documents"
    monkeypatch.setattr(uploads, "MAX_FILE", 1_000)
    told = sent(served, "POST", where, form(("large.md", GOOD * 400), ("a.md", GOOD)))
    assert [(one["state"], one["reason"]) for one in told.json["files"]] == [
        ("failed", "has more than 1,000 bytes"), ("added", ""),
    ]  # fmt: skip
    monkeypatch.setattr(uploads, "MAX_FILES", 2)
    three = form(*((f"{n}.md", GOOD) for n in range(3)))
    assert_problem(sent(served, "POST", where, three), 413, "too_many_files")
    monkeypatch.setattr("wenyuan.server.routes.uploads.MAX_FORM", 100)
    assert_problem(sent(served, "POST", where, form(("c.md", GOOD))), 413, "body_too_large")
    assert kept(served) == ["desk/a.md"]
    sent_in_pieces(served[0], where, key(served[1], "ingest"), form(("c.md", GOOD)))
    assert kept(served) == ["desk/a.md"]


@pytest.mark.parametrize(
    ("part", "code", "most"),
    [
        (f"--{FENCE}\r\n\r\n\r\n", "too_many_parts", 402),
        (f'--{FENCE}\r\nContent-Disposition: form-data; name="n"\r\n\r\nx\r\n', "too_many_parts", 402),
        (f"--{FENCE}\r\n\r\n" + "x" * 100_000, "field_too_large", 2),
        (f"--{FENCE}\r\nX: " + "x" * 10_000, "invalid_request", 2),
        (f"--{FENCE}\r\n" + "X: y\r\n" * 100, "invalid_request", 2),
    ],
    ids=["empty parts", "fields", "large field", "long header", "many headers"],
)  # fmt: skip
def test_a_form_is_read_no_further_than_it_is_taken(tmp_path: Path, part: str, code: str, most: int) -> None:
    """The first part, field or header too many ends the reading: what would come after it is not asked for."""
    read = 0

    async def chunks() -> AsyncIterator[bytes]:
        nonlocal read
        for _ in range(100_000):
            read += 1
            yield part.encode()

    with pytest.raises(Problem) as caught:
        asyncio.run(uploads.receive_files(chunks(), FENCE.encode(), tmp_path))
    assert caught.value.code == code
    assert read <= most


def test_a_form_of_too_many_parts_is_told_so(served: Served) -> None:
    """A problem document says that there are too many; of the files before it none is kept."""
    many = form(("a.md", GOOD)).replace(f"--{FENCE}--".encode(), f"--{FENCE}\r\n\r\n\r\n".encode() * 1_000)
    answer = sent(served, "POST", "/v1/sources/desk/documents", many)
    assert_problem(answer, 413, "too_many_parts")
    assert "400 parts" in answer.json["detail"]
    assert kept(served) == []


def sent_in_pieces(url: str, path: str, token: str, body: bytes) -> None:
    """Without a length: only counting tells that it is too much."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
    headers = {
        "Content-Type": f"multipart/form-data; boundary={FENCE}", "Authorization": f"Bearer {token}",
        "Transfer-Encoding": "chunked",
    }  # fmt: skip
    connection.request("POST", path, iter([body[:60], body[60:]]), headers, encode_chunked=True)
    assert connection.getresponse().status == 413
    connection.close()


def test_only_who_may_take_in_uploads(served: Served, tmp_path: Path) -> None:
    """The right ``ingest``, and no agent; sources that are read from elsewhere, and none, are told before a byte is received."""
    whole = form(("a.md", GOOD))
    for path, method in (
        ("/v1/sources/desk/documents", "POST"),
        ("/v1/documents/1", "PUT"),
        ("/v1/documents/1", "DELETE"),
    ):
        assert_problem(sent(served, method, path, whole, "search", "registry"), 403, "not_permitted")
        assert sent(served, method, path, whole, "ingest", agent="support").status in (403, 404)
        assert_problem(
            sent(served, method, path, whole, headers={"Origin": "https://evil.example"}), 403, "not_permitted"
        )
    assert_problem(sent(served, "POST", "/v1/sources/none/documents", whole), 404, "not_found")
    assert_problem(sent(served, "POST", "/v1/sources/wiki/documents", whole), 400, "invalid_request")
    assert_problem(sent(served, "DELETE", "/v1/documents/3", b""), 400, "invalid_request")
    assert_problem(sent(served, "DELETE", "/v1/documents/999999", b""), 404, "not_found")


def test_a_source_for_uploads_is_registered_without_a_folder(served: Served) -> None:
    """No folder of the server has to be named for it, and nothing is read."""
    made = send(served[0], "POST", "/v1/sources", {"source_id": "fresh"}, key(served[1], "registry"))
    assert (made.status, made.json["counts"]["documents"]) == (201, 0)
    told = sent(served, "POST", "/v1/sources/fresh/documents", form(("a.md", GOOD)))
    assert told.json["files"][0]["state"] == "added"
    send(served[0], "DELETE", "/v1/sources/fresh", token=key(served[1], "registry"))
    assert not [name for name in kept(served) if name.startswith("fresh")]


def test_the_event_loop_waits_for_no_disk(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder of what comes in is made and removed in threads: all other requests would wait for it."""
    looping: list[tuple[str, bool]] = []

    def noted(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def noting(path: Path, *args: Any, **more: Any) -> Any:
            if ".incoming" in str(path):
                looping.append((name, asyncio._get_running_loop() is not None))
            return call(path, *args, **more)

        return noting

    monkeypatch.setattr(Path, "mkdir", noted("made", Path.mkdir))
    monkeypatch.setattr(shutil, "rmtree", noted("removed", shutil.rmtree))
    assert sent(served, "POST", "/v1/sources/desk/documents", form(("a.md", GOOD))).status == 200
    assert {name for name, _ in looping} == {"made", "removed"}
    assert not any(looped for _, looped in looping)
