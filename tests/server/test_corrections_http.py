"""Corrections over HTTP, from one end to the other: read, correct, search, undo, read again, replay."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from governed_door import key, send
from http_door import assert_problem
from scanned import SCAN, scans
from wenyuan.client import Client
from wenyuan.core.access import parse_agent
from wenyuan.core.errors import InvalidRequest, NotPermitted, RetrievalFailed
from wenyuan.server.app import create_app
from wenyuan.server.keys import KeyRing
from wenyuan.server.running import start_in_thread
from wenyuan.settings import ServerSettings

Served = tuple[str, Any, Path]
RIGHTS = ("ingest", "registry", "search", "retrieve", "audit")
ASKED = "客户投诉多久首次响应"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with scans(tmp_path, search={"deadline": 60}, engine="memory") as library:
        library.catalog.put_agent(parse_agent({"agent_id": "desk", "knowledge_scope": [{"domain": "duty"}]}))
        ring = KeyRing(library.catalog, open_without_keys=False)
        url, stop = start_in_thread(create_app(library, authenticate=ring, settings=ServerSettings()), grace=1)
        try:
            yield url, library, tmp_path / "duty"
        finally:
            stop()


@pytest.fixture
def client(served: Served) -> Iterator[Client]:
    with Client(served[0], key=key(served[1], *RIGHTS)) as made:
        yield made


def scan_of(client: Client) -> tuple[int, list[Any]]:
    (document,) = client.documents(q="scan.md")["documents"]
    return document["document_id"], client.document_passages(document["document_id"])["passages"]


def refused(call: Any, error: type[Exception], *words: str) -> None:
    with pytest.raises(error) as found:
        call()
    assert all(word in str(found.value) for word in words), str(found.value)


def test_from_one_end_to_the_other(served: Served, client: Client) -> None:
    """A correction counts at once, is carried over, is undone; the answer of before is given again by a replay."""
    _, library, docs = served
    (before,) = client.retrieve_fragments(ASKED, max_results=1)
    assert "24 小时" in before.content
    _, (passage,) = scan_of(client)
    new = passage["text"].replace("24", "48")
    made = client.correct("text", passage["ref"], text=new, reason="识别有误")
    assert (made["state"], made["original"], made["text"]) == ("counts", passage["text"], new)
    (after,) = client.retrieve_fragments(ASKED, max_results=1)
    assert "48 小时" in after.content
    assert after.metadata["corrected_by"] == made["actor"]
    assert "uncertain" not in after.metadata
    assert library.replay(before.metadata["audit_id"], exact=True).identical
    told = library.replay(before.metadata["audit_id"])
    assert [one.what for one in told.differences][:1] == ["passage corrected"]
    # Read again with other words around: the correction is found by its words.
    (docs / "scan.md").write_text(SCAN + "\n# 附则\n\n本规定自发布之日起施行。\n", "utf-8")
    report = library.ingest("duty")
    assert (report.changed, report.corrections_lost) == (1, {})
    (again,) = client.retrieve_fragments(ASKED, max_results=1)
    assert "48 小时" in again.content
    # Undone: what was read is served, and as doubtful as before.
    undone = client.undo_correction(made["correction_id"])
    assert (undone["state"], bool(undone["undone_by"])) == ("undone", True)
    (back,) = client.retrieve_fragments(ASKED, max_results=1)
    assert "24 小时" in back.content
    assert "uncertain" in back.metadata
    assert "corrected_by" not in back.metadata
    for fragment in (before, after, again, back):
        assert library.replay(fragment.metadata["audit_id"], exact=True).identical
    records = library.audit.list(kind="correction", limit=10)
    assert [one.record["action"] for one in records] == ["undone", "made"]
    assert "客户投诉" not in str([one.record for one in records])


def test_words_that_are_gone_are_reported(served: Served, client: Client) -> None:
    """A correction whose words were rewritten is lost, says so, and counts again when they are back."""
    _, library, docs = served
    number, (passage,) = scan_of(client)
    client.correct("exclude", passage["ref"])
    assert scan_of(client)[1] == []
    assert client.document(number)["excluded"] is True
    (docs / "scan.md").write_text(SCAN.replace("24 小时", "两天"), "utf-8")
    report = library.ingest("duty")
    assert list(map(len, report.corrections_lost.values())) == [1]
    number, (rewritten,) = scan_of(client)
    assert "两天" in rewritten["text"]
    assert client.document(number)["corrections_lost"] == 1
    assert [one["state"] for one in client.corrections(document_id=number)["corrections"]] == ["lost"]
    (docs / "scan.md").write_text(SCAN, "utf-8")
    library.ingest("duty")
    assert scan_of(client)[1] == []
    (kept,) = client.corrections(source="duty")["corrections"]
    assert kept["state"] == "counts"
    client.undo_correction(kept["correction_id"])
    assert [one["text"] for one in scan_of(client)[1]] == [passage["text"]]


def test_questions_split_and_join(served: Served, client: Client) -> None:
    """A passage is found by a question that it has no word of; it is cut in two, and put together again."""
    _, library, _ = served
    number, (passage,) = scan_of(client)
    question = "报修时限龘靐"
    assert "ocr" not in str(library.search(question).passages)
    client.correct("questions", passage["ref"], questions=[question])
    (asked,) = scan_of(client)[1]
    assert asked["questions"] == [question]
    assert question not in asked["text"]
    best = library.search(question, limit=1)
    assert [p.ref for p in best.passages.values()] == [asked["ref"]]
    assert best.hits[0].parts["keyword"] > 0
    at = asked["text"].index("夜间")
    client.correct("split", asked["ref"], at=at)
    first, second = scan_of(client)[1]
    assert (first["text"], second["text"]) == (asked["text"][:at].strip(), asked["text"][at:])
    assert second["boxes"][0]["start"] >= second["start"] - 1
    joined = client.correct("join", first["ref"], joined_with=second["ref"])
    (whole,) = scan_of(client)[1]
    assert whole["text"] == f"{first['text']}\n{second['text']}"
    refused(
        lambda: client.undo_correction(joined["correction_id"] - 1), RetrievalFailed, str(joined["correction_id"])
    )
    for one in client.corrections(document_id=number)["corrections"]:
        client.undo_correction(one["correction_id"])
    assert [one["text"] for one in scan_of(client)[1]] == [passage["text"]]
    assert client.document(number)["corrections"] == 0


def test_a_document_is_excluded_as_a_whole(served: Served, client: Client) -> None:
    """None of it is found, also when it is read again, until that is undone."""
    _, library, docs = served
    number, (passage,) = scan_of(client)
    made = client.correct("exclude", document_id=number)
    assert all("投诉编号" not in one.content for one in client.retrieve_fragments(ASKED, max_results=5))
    refused(lambda: client.correct("exclude", document_id=number), InvalidRequest, "excluded already")
    (docs / "scan.md").write_text(SCAN + "\n另行通知。\n", "utf-8")
    library.ingest("duty")
    assert all("投诉编号" not in one.content for one in client.retrieve_fragments(ASKED, max_results=5))
    client.undo_correction(made["correction_id"])
    assert passage["text"] in scan_of(client)[1][0]["text"]


def test_what_cannot_be_corrected_is_refused(served: Served, client: Client) -> None:
    """What is gone says what to do; faults are named; others' keys correct nothing."""
    url, library, _ = served
    operator = key(library, *RIGHTS)
    number, (passage,) = scan_of(client)
    client.correct("text", passage["ref"], text="夜间请找前台。")
    (now,) = scan_of(client)[1]
    gone = send(url, "POST", "/v1/corrections", {"action": "exclude", "ref": passage["ref"]}, operator)
    assert_problem(gone, 404, "not_found")
    assert "wenyuan document show" in gone.json["detail"]
    bad: list[dict[str, Any]] = [
        {"action": "exclude"}, {"action": "exclude", "ref": now["ref"], "document_id": number},
        {"action": "text", "document_id": number, "text": "x"}, {"action": "text", "ref": now["ref"]},
        {"action": "text", "ref": now["ref"], "text": now["text"]}, {"action": "questions", "ref": now["ref"]},
        {"action": "questions", "ref": now["ref"], "questions": [" "]}, {"action": "split", "ref": now["ref"], "at": 9_999},
        {"action": "join", "ref": now["ref"], "with": now["ref"]}, {"action": "exclude", "ref": now["ref"], "at": 3},
        {"action": "burn", "ref": now["ref"]}, {"action": "exclude", "ref": now["ref"], "reason": "x" * 2_001},
    ]  # fmt: skip
    for body in bad:
        assert_problem(send(url, "POST", "/v1/corrections", body, operator), 400, "invalid_request")
    (made,) = client.corrections(document_id=number)["corrections"]
    path = f"/v1/corrections/{made['correction_id']}"
    agent = key(library, "admin", agent="desk")
    assert_problem(send(url, "DELETE", path, token=agent), 404, "not_found")
    assert_problem(send(url, "POST", "/v1/corrections", bad[0], agent), 403, "not_permitted")
    assert_problem(send(url, "DELETE", path, token=key(library, "search")), 403, "not_permitted")
    assert send(url, "DELETE", path, token=operator).json["state"] == "undone"
    assert_problem(send(url, "DELETE", path, token=operator), 409, "conflict")
    assert_problem(send(url, "DELETE", "/v1/corrections/987654", token=operator), 404, "not_found")
    with Client(url, key=key(library, "search")) as other, pytest.raises(NotPermitted):
        other.correct("exclude", now["ref"])


def test_what_people_write_is_redacted(served: Served, client: Client) -> None:
    """As the documents of its source are, and again when the source becomes more sensitive."""
    _, library, _ = served
    _, (passage,) = scan_of(client)
    text = "夜间请拨打 13812345678，找前台。"
    client.correct("text", passage["ref"], text=text, reason="电话 13812345678")
    assert scan_of(client)[1][0]["text"] == text
    library.catalog.put_source(replace(library.catalog.source("duty"), sensitivity="restricted"))
    library.ingest("duty")
    (made,) = client.corrections(source="duty")["corrections"]
    (now,) = scan_of(client)[1]
    assert made["state"] == "counts"
    assert now["corrected_by"] == made["actor"]
    client.correct("questions", now["ref"], questions=["13812345678 是谁的"])
    assert "13812345678" not in str(client.corrections(source="duty")) + str(scan_of(client))
    held = (file.read_bytes() for file in library.folder.rglob("*") if file.is_file())
    assert not any(b"13812345678" in content for content in held)
