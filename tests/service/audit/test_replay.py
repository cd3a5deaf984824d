"""Replaying recorded answers on the library as it is: identical, or differing for a reason that is named."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from replay_parts import DAY, TOPICS, Desk, new_desk, write
from wenyuan.core.access import Principal
from wenyuan.core.errors import KnowledgeError
from wenyuan.core.filters import Not, Or, Range, Scope
from wenyuan.core.model import Source
from wenyuan.core.records import AuditRecord
from wenyuan.service.audit.replay import replay
from wenyuan.service.audit.request_entry import request_of
from wenyuan.service.audit.rerun import Replay
from wenyuan.service.audit.retrieval_entry import retrieval_record
from wenyuan.service.query import Query


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with new_desk(tmp_path) as made:
        yield made


def causes(found: Replay) -> dict[str, list[str]]:
    """Passages by what is said of them."""
    assert not found.identical
    assert found.differences
    said: dict[str, list[str]] = {}
    for difference in found.differences:
        assert difference.detail
        said.setdefault(difference.what, []).append(difference.ref)
    return said


QUESTIONS = [
    f"{topic} {word}" for topic in TOPICS for word in ("期限", "第几号规定", "rule", "几日内处理", "范围 scope")
]
QUESTIONS += (
    [f"第{n}号 {TOPICS[n % len(TOPICS)]}" for n in range(12)] + [f"{t}多少天" for t in TOPICS] + ["安全", "备份"]
)


def test_identical_at_once(desk: Desk) -> None:
    """Fifty of fifty answers are identical when they are replayed on the same library."""
    assert len(QUESTIONS) == 50
    ids = [desk.ask(text, limit=1 + n % 10) for n, text in enumerate(QUESTIONS)]
    assert [desk.replay(i) for i in ids] == [Replay(identical=True)] * 50
    assert desk.audit.verify().ok


def test_identical_in_context(desk: Desk) -> None:
    """A filter, a day, named sources and a document at work are part of what is asked again."""
    more = {
        "as_of": date(2025, 1, 2), "sources": ("docs",), "task_id": "投诉处理", "min_trust": 2,
        "source_document_uri": next(iter(desk.catalog.live_documents("docs"))),
        "filter": Not(Or((Range("metadata.year", ge=3), Range("document_id", le=2)))),
    }  # fmt: skip
    audit_id = desk.ask("客户投诉期限", **more)
    desk.day = date(2026, 7, 1)
    assert desk.replay(audit_id).identical
    assert desk.audit.show(audit_id).record["scope"]["as_of"] == "2025-01-02"


def test_document_changed(desk: Desk) -> None:
    """A passage whose document has a new version is named, with that version; another's score has only moved."""
    audit_id = desk.ask("客户投诉 第0号")
    first = desk.first(audit_id)
    number = int(first["uri"].partition(".md")[0][-2:])
    write(desk.docs, number, "整篇重新写过，与原来没有关系。")
    desk.reread()
    said = causes(desk.replay(audit_id))
    assert first["ref"] in said["document changed"]
    details = [d.detail for d in desk.replay(audit_id).differences if d.what == "document changed"]
    assert all("new version" in detail and "UTC" in detail for detail in details)
    assert "unexplained" not in said


def test_same_text_in_new_version(desk: Desk) -> None:
    """Where the new version still has the passage's text, its new id is told."""
    audit_id = desk.ask("客户投诉 期限 0 天", limit=1)
    write(desk.docs, 0, "只有第一节改了。")
    desk.reread()
    (difference,) = [d for d in desk.replay(audit_id).differences if d.what == "document changed"]
    assert difference.ref == desk.first(audit_id)["ref"]
    new = int(difference.detail.rpartition("#")[2])
    assert desk.catalog.passages([new])[new].sha256 == desk.first(audit_id)["sha256"]


def test_document_removed(desk: Desk) -> None:
    """A passage whose document is gone is named as that."""
    audit_id = desk.ask("数据备份 第5号")
    (desk.docs / "policy-05.md").unlink()
    desk.reread()
    said = causes(desk.replay(audit_id))
    gone = [f["ref"] for f in desk.audit.show(audit_id).record["fragments"] if "policy-05" in f["uri"]]
    assert gone
    assert said["document removed"] == gone


def test_source_removed(desk: Desk) -> None:
    """All passages of a source that was removed are named, though nothing of their text is left."""
    audit_id = desk.ask("travel expenses")
    refs = [f["ref"] for f in desk.audit.show(audit_id).record["fragments"]]
    desk.library.remove("docs")
    assert causes(desk.replay(audit_id)) == {"source removed": refs}


def test_trust_changed(desk: Desk) -> None:
    """A source whose trust was changed is named, with both levels."""
    audit_id = desk.ask("安全培训")
    desk.catalog.put_source(replace(desk.catalog.source("docs"), trust=1))
    found = desk.replay(audit_id)
    assert set(causes(found)) == {"source changed"}
    assert all("trust was 4, is 1" in d.detail for d in found.differences)


@pytest.mark.parametrize(
    ("change", "said"),
    [({"effective_until": date(2026, 1, 1)}, "until 2026-01-01"), ({"status": "retired"}, "retired")],
)
def test_source_not_in_force(desk: Desk, change: dict[str, Any], said: str) -> None:
    """A source that was ended or retired after the answer is what took the passages away."""
    audit_id = desk.ask("安全培训", limit=2)
    desk.catalog.put_source(replace(desk.catalog.source("docs"), **change))
    found = desk.replay(audit_id)
    assert list(causes(found)) == ["source changed"]
    assert all(said in d.detail for d in found.differences)


def test_day_passed(desk: Desk) -> None:
    """When only the day has come on, the end of validity is what is named."""
    desk.catalog.put_source(replace(desk.catalog.source("docs"), effective_until=date(2026, 6, 30)))
    audit_id = desk.ask("安全培训")
    desk.day = date(2026, 7, 1)
    found = desk.replay(audit_id)
    assert list(causes(found)) == ["validity"]
    assert "in force on 2026-06-01, not on 2026-07-01" in found.differences[0].detail


def test_end_amended(desk: Desk) -> None:
    """A document that was only given another last day is not called changed: its validity is."""
    audit_id = desk.ask("安全培训 第2号", limit=1)
    uri = desk.first(audit_id)["uri"].partition("#")[0]
    document_id, _ = desk.catalog.live_documents("docs")[uri]
    desk.catalog.amend_ends("docs", {document_id: date(2026, 3, 1)})
    found = desk.replay(audit_id)
    assert causes(found)["validity"] == [desk.first(audit_id)["ref"]]
    assert "until 2026-03-01" in found.differences[0].detail


def test_old_passage_moves_up(desk: Desk) -> None:
    """A passage that only moves up, where another went, is not called added."""
    audit_id = desk.ask("安全培训 第2号", limit=1)
    (desk.docs / "policy-02.md").unlink()
    desk.reread()
    assert set(causes(desk.replay(audit_id))) == {"document removed"}


def test_superseded(desk: Desk) -> None:
    """A source that another one supersedes has left the scope."""
    audit_id = desk.ask("安全培训")
    desk.catalog.put_source(Source(source_id="new", supersedes=("docs",), effective_from=date(2026, 1, 1)))
    assert list(causes(desk.replay(audit_id))) == ["left the scope"]


def test_settings_changed(desk: Desk) -> None:
    """Other settings are named as the cause of other scores."""
    audit_id = desk.ask("安全培训")
    desk.settings = desk.settings.model_copy(update={"vector_weight": 0.2})
    assert "settings changed" in causes(desk.replay(audit_id))


def test_settings_that_change_nothing(desk: Desk) -> None:
    """An answer that is the same under other settings is identical."""
    audit_id = desk.ask("安全培训")
    desk.settings = desk.settings.model_copy(update={"deadline": 5.0})
    assert desk.replay(audit_id).identical


def test_encoder_changed(desk: Desk) -> None:
    """A missing encoder is named as the cause."""
    audit_id = desk.ask("安全培训")
    desk.encoder = None
    found = desk.replay(audit_id)
    assert "encoder changed" in causes(found)
    assert any(d.detail.endswith("is none") for d in found.differences)


def test_passages_added(desk: Desk) -> None:
    """New passages that push an old one out are named, and so is the one that they pushed out."""
    audit_id = desk.ask("安全培训 第2号", limit=1)
    ref = desk.first(audit_id)["ref"]
    (desk.docs / "new.md").write_text("# 安全培训 第2号\n\n安全培训 第2号\n", "utf-8")
    desk.reread()
    said = causes(desk.replay(audit_id))
    assert len(said["passages added"]) == 1
    assert said["outranked"] == [ref]


def test_scores_changed(desk: Desk) -> None:
    """Scores that moved because the library has grown are told from scores that moved without a cause."""
    audit_id = desk.ask("安全培训", limit=2)
    for n in range(8):
        (desk.docs / f"other-{n}.md").write_text(f"# 安全 {n}\n\nunrelated words about gardening {n}\n", "utf-8")
    desk.reread()
    found = desk.replay(audit_id)
    assert "scores changed" in causes(found)
    assert "unexplained" not in causes(found)
    kept = desk.audit.show(desk.ask("安全培训", limit=2))
    forged = json.loads(json.dumps(dict(kept.record)))
    forged["fragments"][0]["score"] -= 0.01
    again = replay(forged, kept.query, rerun=desk.rerun, describe_passage=desk.catalog.passage_fate)
    assert "unexplained" in causes(again)


def test_tolerance(desk: Desk) -> None:
    """Scores may differ by a hundred-thousandth and no more, and the order not at all."""
    kept = desk.audit.show(desk.ask("安全培训"))

    def differs(change: Callable[[list[dict[str, Any]]], object]) -> bool:
        record = json.loads(json.dumps(dict(kept.record)))
        change(record["fragments"])
        again = replay(record, kept.query, rerun=desk.rerun, describe_passage=desk.catalog.passage_fate)
        return not again.identical

    assert not differs(lambda fragments: fragments[0].update(score=fragments[0]["score"] + 9e-6))
    assert differs(lambda fragments: fragments[0].update(score=fragments[0]["score"] + 2e-5))
    assert differs(lambda fragments: fragments[0].update(sha256="0" * 64))
    assert differs(lambda fragments: fragments.reverse())
    assert differs(lambda fragments: fragments.pop())


def test_other_library(desk: Desk) -> None:
    """A passage that the library has never held is said to be unknown."""
    kept = desk.audit.show(desk.ask("安全培训", limit=1))
    record = json.loads(json.dumps(dict(kept.record)))
    record["fragments"][0].update(passage_id=10**9, ref=f"docs#{10**9}")
    again = replay(record, kept.query, rerun=desk.rerun, describe_passage=desk.catalog.passage_fate)
    assert causes(again)["unknown passage"] == [f"docs#{10**9}"]


def test_failed_before(desk: Desk) -> None:
    """An answer that was FAILED, and is none now, differs by its status, with the error of that time."""
    query = Query(text="安全培训", limit=2)
    record = retrieval_record(
        principal=Principal(), request=request_of(query), scope=Scope(sources=frozenset({"docs"}), as_of=DAY),
        generation=desk.catalog.seq(), status="FAILED", error="engine local: the deadline passed", **desk.facts,
    )  # fmt: skip
    again = replay(record, request_of(query), rerun=desk.rerun, describe_passage=desk.catalog.passage_fate)
    assert "status" in causes(again)
    assert "deadline" in again.differences[0].detail


def test_erased(desk: Desk) -> None:
    """A record whose query was erased cannot be asked again; it is said what became of its passages."""
    audit_id = desk.ask("数据备份 第5号")
    assert desk.audit.erase_queries(audit_ids=[audit_id]) == 1
    assert list(causes(desk.replay(audit_id))) == ["query erased"]
    (desk.docs / "policy-05.md").unlink()
    desk.reread()
    assert set(causes(desk.replay(audit_id))) == {"query erased", "document removed"}


def test_failing_again(desk: Desk) -> None:
    """When asking again fails, that is raised, and is no difference."""
    audit_id = desk.ask("安全培训")
    kept = desk.audit.show(audit_id)
    with pytest.raises(KnowledgeError):
        replay(
            kept.record, {**(kept.query or {}), "sources": ["nothing"]},
            rerun=desk.rerun, describe_passage=desk.catalog.passage_fate,
        )  # fmt: skip


def test_no_retrieval() -> None:
    """Only retrievals can be replayed."""
    with pytest.raises(ValueError, match="retrievals"):
        replay({"action": "put"}, {}, rerun=lambda _: pytest.fail(), describe_passage=lambda _: {})


def test_record_is_typed(desk: Desk) -> None:
    """A shown record is a value with all that a replay needs."""
    kept = desk.audit.show(desk.ask("安全培训"))
    assert isinstance(kept, AuditRecord)
    needed = {"fragments", "scope", "generation", "settings", "encoder", "status", "legs", "preview", "query_sha256"}
    assert needed <= kept.record.keys()
