"""Replaying recorded answers on the library as it was, rebuilt from the catalog."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from replay_parts import Desk, new_desk, write
from wenyuan.core.model import Source
from wenyuan.core.ports import Engine, IndexSpec
from wenyuan.core.scoring.probability import Curve
from wenyuan.core.text.analysis import ANALYZER
from wenyuan.engines.local.engine import LocalEngine
from wenyuan.engines.memory import MemoryEngine
from wenyuan.service.audit.past_library import FeedAt
from wenyuan.service.audit.rerun import Replay


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with new_desk(tmp_path) as made:
        yield made


def spec(desk: Desk) -> IndexSpec:
    return IndexSpec(analyzer=ANALYZER, encoder=desk.encoder.fingerprint if desk.encoder else None)


def engines(desk: Desk, folder: Path) -> dict[str, Callable[[], Engine]]:
    return {
        "memory": lambda: MemoryEngine(spec(desk)),
        "local": lambda: LocalEngine(folder / "past", spec(desk), exclusive=desk.catalog.writing),
    }


@pytest.mark.parametrize("name", ["memory", "local"])
def test_exact(desk: Desk, tmp_path: Path, name: str) -> None:
    """After documents were changed, removed and added, and trust was changed, the past gives the recorded answers."""
    asked = ["安全培训 第2号", "数据备份期限", "incident response", "第0号 客户投诉"]
    ids = [desk.ask(text, limit=4) for text in asked]
    ids.append(
        desk.ask("退货换货", source_document_uri=next(iter(desk.catalog.live_documents("docs"))), task_id="安全")
    )
    for n in (0, 2):
        write(desk.docs, n, "整篇重新写过，与原来没有关系。")
    (desk.docs / "policy-05.md").unlink()
    (desk.docs / "new.md").write_text("# 安全培训 第2号\n\n安全培训 第2号\n", "utf-8")
    desk.reread()
    desk.catalog.put_source(replace(desk.catalog.source("docs"), trust=1, status="retired"))
    assert not any(desk.replay(i).identical for i in ids)
    for audit_id in ids:
        assert desk.exact(audit_id, engines(desk, tmp_path)[name]) == Replay(identical=True)


def test_exact_after_another_source_came_and_went(desk: Desk, tmp_path: Path) -> None:
    """Vectors that were dropped with a later source are made again from the texts, which are kept."""
    audit_id = desk.ask("客户投诉 第0号")
    write(desk.docs, 0, "整篇重新写过。")
    desk.reread()
    desk.library.add(Source(source_id="later", path=str(desk.docs)))
    desk.library.remove("later")
    rows = [c.row for c in desk.catalog.changes(0, desk.audit.show(audit_id).record["generation"])]
    assert any(row is not None and row.vector is None for row in rows)
    assert desk.exact(audit_id, engines(desk, tmp_path)["memory"]).identical


def test_exact_without_texts(desk: Desk, tmp_path: Path) -> None:
    """When a source of that time was removed, the past cannot be asked: that is the outcome, with what became of each passage."""
    audit_id = desk.ask("安全培训")
    desk.library.remove("docs")
    desk.library.add(Source(source_id="docs", path=str(desk.docs)))
    again = desk.exact(audit_id, engines(desk, tmp_path)["memory"])
    assert (again.identical, again.asked) == (False, False)
    why, *rest = again.differences
    assert (why.what, why.ref) == ("texts not kept", "")
    assert "not kept any more: docs was removed" in why.detail
    given = desk.audit.show(audit_id).record["fragments"]
    assert [(one.what, one.ref) for one in rest] == [("source removed", entry["ref"]) for entry in given]


def test_exact_without_what_was_not_measured(desk: Desk, tmp_path: Path) -> None:
    """What of a collection was measured only since an answer does not count when the past is asked."""
    older, newer = {"bridge": 0.0, "law": 0.0}, {"bridge": 0.3, "law": 0.1}
    desk.catalog.set_value("floor", {"hybrid": {"han": older, "latin": older}})
    audit_id = desk.ask("安全培训", limit=4)
    desk.catalog.set_value("floor", {"hybrid": {"han": newer, "latin": newer}})
    assert not desk.replay(audit_id).identical
    assert desk.exact(audit_id, engines(desk, tmp_path)["memory"]).identical


def test_an_answer_of_a_former_version_says_so(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores were told otherwise before there was a probability that anything answers: a replay names that as the reason."""
    with monkeypatch.context() as then:
        then.setattr("wenyuan.service.search.retriever.VERSION", 0)
        then.setattr("wenyuan.service.search.retriever.curve_of", lambda known, mode: Curve(1.0, 1.42))
        then.setattr(Curve, "measured", lambda self: {"calibration": 1, "intercept": 0.36, "slope": 1.42})
        audit_id = desk.ask("安全培训")
    for told in (desk.replay(audit_id), desk.exact(audit_id, engines(desk, tmp_path)["memory"])):
        causes = {d.what for d in told.differences}
        assert {"program changed", "calibration changed"} <= causes
        assert "unexplained" not in causes


def test_exact_before_copies_were_left_out(desk: Desk, tmp_path: Path) -> None:
    """An answer of a time when copies were given is replayed with them; asked now, the replay says that they are left out."""
    text = "# 安全培训\n\n新员工上岗前须接受安全培训，考核合格后方可独立作业；转岗和复工人员应当重新培训，培训记录保存三年，由安全管理部门检查。\n"
    for name in ("one", "two", "three"):
        (desk.docs / f"{name}.md").write_text(text, "utf-8")
    desk.library.ingest("docs")
    then = desk.catalog.floor("hybrid") or {"han": {}, "latin": {}}
    desk.catalog.set_value("floor", {"hybrid": {s: {**m, "distinct": 0.0} for s, m in then.items()}, "passages": 0})
    audit_id = desk.ask("新员工上岗前的安全培训", limit=4)
    shas = [f["sha256"] for f in desk.audit.show(audit_id).record["fragments"]]
    assert len(set(shas)) < len(shas)
    desk.catalog.set_value("floor", {"hybrid": dict(then), "passages": 0})
    assert any("all given then" in d.detail for d in desk.replay(audit_id).differences if d.what == "program changed")
    assert desk.exact(audit_id, engines(desk, tmp_path)["memory"]).identical


def test_an_answer_from_before_labels_counted(desk: Desk, tmp_path: Path) -> None:
    """It is proven as it was given, without them; asked now, the replay says that labels are why it differs."""
    then = desk.catalog.floor("hybrid")
    without = {script: {k: v for k, v in known.items() if k != "labels"} for script, known in then.items()}
    desk.catalog.set_value("floor", {"hybrid": without})
    audit_id = desk.ask("安全培训 2")
    desk.catalog.set_value("floor", {"hybrid": dict(then)})
    now = desk.ask("安全培训 2")
    assert desk.audit.show(audit_id).record["fragments"] != desk.audit.show(now).record["fragments"]
    causes = {d.what for d in desk.replay(audit_id).differences}
    assert "measured anew" in causes and "unexplained" not in causes
    for made in engines(desk, tmp_path).values():
        assert desk.exact(audit_id, made).identical
        assert desk.exact(now, made).identical


def test_copies_that_were_told_otherwise_are_the_reason(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer in which other passages were copies than today differs, and the replay says that this is why."""
    text = "新员工上岗前须接受安全培训，考核合格后方可独立作业；转岗和复工人员应当重新培训，培训记录保存三年，由安全管理部门检查。"
    for mark in "-*•":
        (desk.docs / f"{ord(mark)}.md").write_text(f"# 安全培训\n\n{mark} {text}\n", "utf-8")
    desk.library.ingest("docs")
    with monkeypatch.context() as then:
        then.setattr("wenyuan.service.search.retriever.COPIES", 1)
        then.setattr("wenyuan.service.search.own_search.distinct", lambda found, known: (list(found), {}))
        audit_id = desk.ask("新员工上岗前的安全培训", limit=4)
    replay = desk.replay(audit_id)
    assert not replay.identical
    assert "copies are told otherwise since: by revision 1 then, by 2 now" in {d.detail for d in replay.differences}


def test_what_the_index_has_not_merged_is_the_reason(desk: Desk, tmp_path: Path) -> None:
    """Scores that removed passages in the index had moved differ in an exact replay, which says so; right after, none does."""
    for number in range(12, 20):
        write(desk.docs, number)
    desk.library.ingest("docs")
    for number in range(12, 16):
        write(desk.docs, number, "完全另外的文字，讲的是食堂。The canteen.")
    desk.library.ingest("docs")
    removed = desk.library.engine.removed_share()
    assert 0.0 < removed < 0.5
    audit_id = desk.ask("安全培训 期限", limit=5)
    assert desk.audit.show(audit_id).record["floor"]["removed"] == pytest.approx(removed)
    assert desk.replay(audit_id).identical
    exact = desk.exact(audit_id, engines(desk, tmp_path)["memory"])
    assert not exact.identical
    assert {d.what for d in exact.differences} == {"index merged", "scores changed"}


def test_what_was_measured_since_is_the_reason(desk: Desk) -> None:
    """Where the library was measured anew at the same change, a replay says what is another."""
    older = {"bridge": 0.0, "law": 0.0}
    desk.catalog.set_value("floor", {"hybrid": {"han": older, "latin": older}})
    audit_id = desk.ask("安全培训", limit=4)
    newer = older | {"bridge": 0.3}
    desk.catalog.set_value("floor", {"hybrid": {"han": newer, "latin": newer}, "passages": 0})
    found = desk.replay(audit_id).differences
    assert "unexplained" not in {d.what for d in found}
    assert [d.detail for d in found if d.what == "measured anew"] == ["bridge 0 → 0.3"]


def test_feed_ends(desk: Desk) -> None:
    """A feed of the past gives nothing that came later, even to who asks for it, and has no lag."""
    write(desk.docs, 50)
    before = desk.catalog.seq()
    desk.reread()
    feed = FeedAt(desk.catalog, before)
    assert (feed.seq(), feed.lag(0)) == (before, 0.0)
    assert len(list(feed.changes(0, 10**9))) == len(list(desk.catalog.changes(0, before)))
    assert len(list(feed.changes(0, 10**9))) < len(list(desk.catalog.changes(0, desk.catalog.seq())))


def test_exact_keyword_only(desk: Desk, tmp_path: Path) -> None:
    """A library without an encoder is rebuilt without vectors."""
    desk.encoder = None
    audit_id = desk.ask("安全培训")
    write(desk.docs, 2, "整篇重新写过。")
    desk.reread()
    assert desk.exact(audit_id, engines(desk, tmp_path)["memory"]).identical
