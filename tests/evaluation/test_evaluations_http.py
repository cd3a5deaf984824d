"""Evaluations over HTTP: begun, followed, listed, compared, and files that come with a request."""

from __future__ import annotations

import threading
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from governed_door import governed_server, key, send
from http_door import assert_problem
from rules_door import BOOK

GOLDEN = "问题,来源\n客户投诉几天答复,crm_policy.md\n值班表在哪里,wiki.md\n"
PATH = "/v1/evaluations"


def file(text: str | bytes, name: str = "golden.csv") -> dict[str, Any]:
    content = text.encode() if isinstance(text, str) else text
    return {"file": {"name": name, "base64": b64encode(content).decode()}}


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[str, Any, str]]:
    roots = (tmp_path / "allowed",)
    roots[0].mkdir()
    with governed_server(tmp_path, ingest_roots=roots) as (url, library):
        yield url, library, key(library, "registry")


def test_a_file_is_asked_and_asked_again(served: tuple[str, Any, str]) -> None:
    """A table sent along makes an evaluation; asked again, it can be compared question by question."""
    url, _, token = served
    first = send(url, "POST", PATH, file(GOLDEN), token)
    assert first.status == 201, first.body
    assert (first.json["name"], first.json["questions"], first.json["against"]) == ("golden.csv", 2, None)
    assert [one["question"] for one in first.json["asked"]] == ["客户投诉几天答复", "值班表在哪里"]
    number = first.json["evaluation_id"]
    second = send(url, "POST", PATH, {"again": number}, token).json
    assert (second["set_id"], second["name"]) == (first.json["set_id"], "golden.csv")
    listed = send(url, "GET", PATH, token=token).json
    assert [one["evaluation_id"] for one in listed["evaluations"]] == [second["evaluation_id"], number]
    assert (listed["running"], listed["failed"], listed["next"]) == (None, None, None)
    assert "asked" not in listed["evaluations"][0]
    page = send(url, "GET", f"{PATH}?limit=1", token=token).json
    assert page["next"] == second["evaluation_id"]
    rest = send(url, "GET", f"{PATH}?before={page['next']}", token=token).json
    assert [one["evaluation_id"] for one in rest["evaluations"]] == [number]
    beside = send(url, "GET", f"{PATH}/{second['evaluation_id']}?against={number}", token=token).json
    assert beside["against"]["change"]["verdict"] == "no difference"
    assert beside["asked"][0]["before"] == {name: beside["asked"][0][name] for name in ("ndcg", "rank")}
    assert send(url, "DELETE", f"{PATH}/{number}", token=token).json == {"evaluation_id": number}
    assert_problem(send(url, "GET", f"{PATH}/{number}", token=token), 404, "not_found")


@pytest.mark.parametrize("name", ["问" * 196 + ".csv", "..hidden: *?.csv", "😀.csv"])
def test_files_of_any_name(served: tuple[str, Any, str], name: str) -> None:
    """A name that no file system would take is no obstacle, and is told as it was given."""
    url, _, token = served
    answer = send(url, "POST", PATH, file(GOLDEN, name), token)
    assert (answer.status, answer.json.get("name")) == (201, name), answer.body


def test_a_path_must_be_allowed(served: tuple[str, Any, str], tmp_path: Path) -> None:
    """A golden file below an allowed folder is read; one elsewhere is refused."""
    url, _, token = served
    (tmp_path / "allowed" / "golden.csv").write_text(GOLDEN, "utf-8")
    (tmp_path / "golden.csv").write_text(GOLDEN, "utf-8")
    assert send(url, "POST", PATH, {"path": str(tmp_path / "allowed" / "golden.csv")}, token).status == 201
    assert_problem(send(url, "POST", PATH, {"path": str(tmp_path / "golden.csv")}, token), 403, "not_permitted")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({}, "file is required"),
        ({"again": 1, "path": "/x"}, "file is required"),
        (file("question\nx\n"), "golden.csv has no header"),
        (file("x", "golden.doc"), "golden.doc is no golden file"),
        (file("问题,来源\n客户投诉,nowhere.md\n"), "none of 1 addresses"),
        ({"file": {"name": "a.csv", "base64": "%%%"}}, "must be base64"),
        ({"file": {"name": "../a.csv", "base64": ""}}, "file.name"),
        ({"file": {"name": "..", "base64": ""}}, "no golden file"),
        ({"again": "1"}, "again"),
    ],
)
def test_what_cannot_be_asked_is_told(served: tuple[str, Any, str], body: dict[str, Any], said: str) -> None:
    """A body or file at fault is 400 with what is wrong, and never with where a file lay on the server."""
    answer = send(served[0], "POST", PATH, body, served[2])
    assert answer.status == 400, answer.body
    assert said in answer.json["detail"]
    assert "wenyuan-upload" not in answer.body.decode()


def waiting(library: Any, patched: pytest.MonkeyPatch) -> tuple[threading.Event, threading.Event]:
    """Keyword searches wait from now on: set when the first has begun; to be set for them to go on."""
    entered, gate = threading.Event(), threading.Event()
    real = library.engine.keyword

    def slow(*args: Any, **named: Any) -> Any:
        entered.set()
        assert gate.wait(60)
        return real(*args, **named)

    patched.setattr(library.engine, "keyword", slow)
    return entered, gate


def test_one_runs_at_a_time_and_can_be_followed(
    served: tuple[str, Any, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """While one runs the list says how far it is, and a second one is refused; why it failed is told afterwards."""
    url, library, token = served
    entered, gate = waiting(library, monkeypatch)
    answers: list[Any] = []
    caller = threading.Thread(target=lambda: answers.append(send(url, "POST", PATH, file(GOLDEN), token)))
    caller.start()
    assert entered.wait(60)
    running = send(url, "GET", PATH, token=token).json["running"]
    assert (running["name"], running["stage"], running["total"]) == ("golden.csv", "read", 1)
    assert_problem(send(url, "POST", PATH, file(GOLDEN), token), 409, "conflict")
    gate.set()
    caller.join(60)
    assert answers[0].status == 201

    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("password=hunter2")

    monkeypatch.setattr(library.engine, "keyword", broken)
    assert send(url, "POST", PATH, file(GOLDEN), token).status >= 500
    listed = send(url, "GET", PATH, token=token).json
    assert listed["running"] is None
    assert listed["failed"]
    assert len(listed["evaluations"]) == 1


def test_a_running_one_is_stopped(served: tuple[str, Any, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends after its question, says so to who waits and in the list, keeps nothing, and another may begin."""
    url, library, token = served
    running = f"{PATH}/running"
    assert_problem(send(url, "DELETE", running, token=token), 404, "not_found")
    with monkeypatch.context() as patched:
        entered, gate = waiting(library, patched)
        answers: list[Any] = []
        caller = threading.Thread(target=lambda: answers.append(send(url, "POST", PATH, file(GOLDEN), token)))
        caller.start()
        assert entered.wait(60)
        bound = key(library, "admin", agent="support")
        assert_problem(send(url, "DELETE", running, token=bound), 403, "not_permitted")
        assert not send(url, "GET", PATH, token=token).json["running"]["stopping"]
        assert (told := send(url, "DELETE", running, token=token)).status == 202
        assert told.json["stopping"]
        assert send(url, "GET", PATH, token=token).json["running"]["stopping"]
        gate.set()
        caller.join(60)
    assert_problem(answers[0], 409, "stopped")
    listed = send(url, "GET", PATH, token=token).json
    assert (listed["evaluations"], listed["running"], listed["failed"]) == ([], None, None)
    assert (listed["stopped"]["name"], listed["stopped"]["stage"], listed["stopped"]["done"]) == (
        "golden.csv",
        "ask",
        1,
    )
    assert send(url, "POST", PATH, file(GOLDEN), token).status == 201
    assert send(url, "GET", PATH, token=token).json["stopped"] is None


def test_others_are_not_compared(served: tuple[str, Any, str]) -> None:
    """Two evaluations of different questions are refused beside one another, and one that is not there is 404."""
    url, _, token = served
    first = send(url, "POST", PATH, file(GOLDEN), token).json["evaluation_id"]
    other = send(url, "POST", PATH, file(GOLDEN.replace("几天", "何时")), token).json["evaluation_id"]
    assert_problem(send(url, "GET", f"{PATH}/{first}?against={other}", token=token), 400, "invalid_request")
    assert_problem(send(url, "GET", f"{PATH}/{first}?against=99", token=token), 404, "not_found")
    for odd in ("0", "x", "9" * 30):
        assert_problem(send(url, "GET", f"{PATH}/{odd}", token=token), 404, "not_found")


def test_an_agents_key_sees_none(served: tuple[str, Any, str]) -> None:
    """Questions that people ask are the operator's business, whatever else an agent's key may do."""
    url, library, token = served
    number = send(url, "POST", PATH, file(GOLDEN), token).json["evaluation_id"]
    bound = key(library, "admin", agent="support")
    for method, body in (("GET", None), ("POST", file(GOLDEN))):
        assert_problem(send(url, method, PATH, body, bound), 403, "not_permitted")
    for method in ("GET", "DELETE"):
        assert_problem(send(url, method, f"{PATH}/{number}", None, bound), 404, "not_found")
    assert send(url, "GET", f"{PATH}/{number}", token=token).status == 200


def test_rules_come_with_the_request(served: tuple[str, Any, str]) -> None:
    """A pack in one file is imported without lying on the server; its name is that of the pack, or of the file."""
    url, library, token = served
    body = {**file(BOOK, "book.yaml"), "dry_run": True}
    told = send(url, "POST", "/v1/rules/import", body, token).json
    assert (told["pack"], told["dry_run"], told["counts"]["added"]) == ("little", True, 5)
    assert library.rules.packs() == ()
    assert send(url, "POST", "/v1/rules/import", file(BOOK, "book.yaml"), token).status == 200
    assert tuple(library.rules.packs()) == ("little",)
    unnamed = file(BOOK.replace("pack: little\n", ""), "其他 book.yaml")
    assert send(url, "POST", "/v1/rules/import", {**unnamed, "dry_run": True}, token).json["pack"] == "其他 book"
    for wrong, said in (
        ({**file(BOOK, "book.yaml"), "pack": "construction"}, "file cannot be given beside pack"),
        (file("x", "book.txt"), "book.txt is of no kind that is read"),
    ):
        answer = send(url, "POST", "/v1/rules/import", wrong, token)
        assert answer.status == 400
        assert said in answer.json["detail"]
