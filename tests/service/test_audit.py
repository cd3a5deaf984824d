"""The audit log: appending, reading, letting go, and failing loudly."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wenyuan
from audit_parts import CANARY, DAY, Clock, fill, found_in, raw, record
from patience import in_time
from wenyuan.catalog.audit import group_writer
from wenyuan.catalog.audit.chain import Ids, canonical
from wenyuan.catalog.audit.log import RETENTION, AuditLog
from wenyuan.core.errors import CatalogUnavailable, CatalogVersion, InvalidRequest, NotFound
from wenyuan.core.records import KINDS


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def audit(tmp_path: Path, clock: Clock) -> Iterator[AuditLog]:
    log = AuditLog(tmp_path, flush_after=0.005, clock=clock)
    yield log
    log.close()


# -- appending and reading ------------------------------------------------------------------------------------


def test_shown(audit: AuditLog, clock: Clock) -> None:
    """A record is shown as it was appended, with its query, at once and after opening again."""
    audit_id = audit.append(record(7, scores=[0.5, 1e-9]), {"query": "客戶投訴 response time", "max_results": 3})
    for _ in range(2):
        shown = audit.show(audit_id)
        assert (shown.seq, shown.at, shown.kind, shown.principal) == (1, clock.at, "retrieval", "key1")
        assert dict(shown.record) == {"n": 7, "说明": "第7条", "scores": [0.5, 1e-9]} | {
            "query_sha256": shown.record["query_sha256"]
        }
        assert shown.query == {"query": "客戶投訴 response time", "max_results": 3}
        assert shown.query_state == "kept"
        audit.close()
        audit = AuditLog(audit._head.path.parent)
    audit.close()


def test_unknown_id(audit: AuditLog) -> None:
    """An id that was never given is not permitted, rather than an empty record."""
    with pytest.raises(NotFound, match="a-nothing"):
        audit.show("a-nothing")


def test_listed(audit: AuditLog, clock: Clock) -> None:
    """Records are listed newest first, by kind, principal and time, page by page."""
    ids = []
    for n in range(1, 11):
        clock.at += 10
        kind = "agent" if n % 5 == 0 else "retrieval"
        ids.append(audit.append(record(n, kind=kind, principal="key2" if n > 7 else "key1")))
    listed = audit.list()
    assert [r.audit_id for r in listed] == ids[::-1]
    assert [r.record["n"] for r in audit.list(kind="agent")] == [10, 5]
    assert [r.record["n"] for r in audit.list(principal="key2")] == [10, 9, 8]
    assert [r.record["n"] for r in audit.list(since=listed[4].at, until=listed[1].at)] == [8, 7, 6]
    assert [r.record["n"] for r in audit.list(limit=3, before=ids[5])] == [5, 4, 3]
    assert [r.record["n"] for r in audit.list(principal="key1", kind="agent")] == [5]
    assert audit.list(principal="nobody") == ()


def test_listing_refused(audit: AuditLog) -> None:
    """An unknown kind, a limit out of bounds, a time that ends before it begins, and an unknown id to go on from are refused."""
    for wrong in ({"kind": "gossip"}, {"limit": 0}, {"limit": 1_001}, {"since": 9.0, "until": 9.0}):
        with pytest.raises(InvalidRequest):
            audit.list(**wrong)  # type: ignore[arg-type]
    with pytest.raises(NotFound):
        audit.list(before="a-nothing")


@pytest.mark.parametrize(
    "wrong",
    [
        {"principal": "k", "n": 1},
        {"kind": "gossip", "principal": "k"},
        {"kind": "key"},
        {"kind": "key", "principal": ""},
        {"kind": "key", "principal": "a\udc80"},
        {"kind": "key", "principal": "k", "score": float("nan")},
        {"kind": "key", "principal": "k", "when": object()},
    ],
)
def test_no_record(audit: AuditLog, wrong: dict[str, Any]) -> None:
    """What cannot be stored is refused when it is appended, not later in another thread."""
    with pytest.raises((TypeError, ValueError)):
        audit.append(wrong)
    audit.append(record())
    assert audit.verify().records == 1


def test_odd_text(audit: AuditLog) -> None:
    """Control characters, half surrogate pairs and characters beyond the first plane come back as they were."""
    odd = "a\x00b\ud83d𠮷\u2028⟦"
    audit_id = audit.append(record(odd=odd), {"query": odd})
    shown = audit.show(audit_id)
    assert (shown.record["odd"], shown.query) == (odd, {"query": odd})
    assert audit.verify().ok


@given(st.lists(st.floats(0, 4e9), min_size=2, max_size=50))
def test_ids_sort(times: list[float]) -> None:
    """Ids rise in the order in which they were given, whatever the clock does, and are all of one length."""
    make = Ids()
    made = [make(at) for at in times]
    assert made == sorted(set(made))
    assert {len(i) for i in made} == {28}


def test_ids_tell_time() -> None:
    """Ids of two processes sort by their time."""
    assert Ids()(1_800_000_000.0) < Ids()(1_800_000_000.002) < Ids()(1_800_000_001.0)


# -- letting go -----------------------------------------------------------------------------------------------


def test_expired(audit: AuditLog, clock: Clock, tmp_path: Path) -> None:
    """What is older than the retention can go; what stays is verifiable, and a record says what went."""
    old = fill(audit, 4, text=CANARY)
    clock.at += 100 * DAY
    fill(audit, 3)
    clock.at += 100 * DAY
    assert audit.expire(clock.at - RETENTION, principal="admin") == 4
    found = audit.verify()
    assert (found.ok, found.records) == (True, 4)
    said = audit.list(limit=1)[0]
    assert (said.kind, said.principal, said.record["action"], said.record["records"]) == (
        "audit",
        "admin",
        "expire",
        4,
    )
    with pytest.raises(NotFound):
        audit.show(old[0])
    assert audit.expire(clock.at - RETENTION) == 0
    fill(audit, 2)
    clock.at += 300 * DAY
    assert audit.expire(clock.at - RETENTION) == 6
    assert audit.verify().ok
    assert audit.verify().records == 1
    assert not found_in(tmp_path, CANARY)


def test_goes_by_itself(tmp_path: Path, clock: Clock) -> None:
    """Records past their retention go with what is written later, a day's at a time, and what stays is verified; those
    within it stay, and without one all do.
    """
    kept = 200 * DAY

    def written(retention: float | None) -> list[int]:
        with closing(AuditLog(tmp_path, flush_after=0.005, clock=clock, retention=retention)) as audit:
            fill(audit, 1)
            fill(audit, 1)
            assert audit.verify().ok
            return [shown.seq for shown in audit.list(limit=100)][::-1]

    assert written(kept) == [1, 2]
    clock.at += 10 * DAY
    assert written(kept) == [1, 2, 3, 4]
    clock.at += 190.5 * DAY
    assert written(kept) == [1, 2, 3, 4, 5, 6]
    clock.at += 20 * DAY
    assert written(None) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert written(kept) == [3, 4, 5, 6, 7, 8, 9, 10, 11]
    assert written(kept) == [5, 6, 7, 8, 9, 10, 11, 12, 13, 14]
    with closing(AuditLog(tmp_path, clock=clock)) as audit:
        (last, first) = audit.list(kind="audit")
        assert (first.record["action"], first.record["records"], last.record["records"]) == ("expire", 2, 2)


def test_many_go_a_few_at_a_time(tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many records of a day no more go at once than answers can wait for; the others follow."""
    monkeypatch.setattr("wenyuan.catalog.audit.log._AT_ONCE", 3)
    monkeypatch.setattr("wenyuan.catalog.audit.log._SOON", 0.0)
    with closing(AuditLog(tmp_path, clock=clock)) as audit:
        fill(audit, 7)
    clock.at += 400 * DAY
    with closing(AuditLog(tmp_path, flush_after=0.001, clock=clock, retention=200 * DAY)) as audit:
        for _ in range(6):
            fill(audit, 1)
        assert audit.verify().ok
        assert [shown.record["records"] for shown in audit.list(kind="audit")] == [1, 3, 3]
        assert min(shown.seq for shown in audit.list(limit=100)) == 8


def test_library_lets_its_audit_expire(tmp_path: Path) -> None:
    """A library removes the records that its setting ``audit.retention_days`` says shall go."""
    plain: dict[str, Any] = {"encoder": {"kind": "none"}, "cache": {"seconds": 0}}
    wenyuan.open(tmp_path, create=True, **plain).close()
    with closing(AuditLog(tmp_path, clock=Clock(time.time() - 400 * DAY))) as audit:
        old = fill(audit, 3)
    for days, left in ((500, 3), (180, 0)):
        with wenyuan.open(tmp_path, audit={"retention_days": days}, **plain) as library:
            library.search("年假几天")
            library.audit.flush()
            assert len([shown for shown in library.audit.list(limit=100) if shown.audit_id in old]) == left
            assert library.audit.verify().ok


def test_kept_for_180_days(audit: AuditLog, clock: Clock) -> None:
    """Records younger than 180 days go only when that is said."""
    fill(audit, 3)
    clock.at += 179 * DAY
    with pytest.raises(InvalidRequest, match="180 days"):
        audit.expire(clock.at - 178 * DAY)
    assert audit.verify().records == 3
    assert audit.expire(clock.at, early=True) == 3
    assert audit.verify().ok


def test_expiry_leaves_no_hole(audit: AuditLog, clock: Clock) -> None:
    """When the clock was set back, an old record behind a younger one stays with it."""
    fill(audit, 2)
    clock.at += 300 * DAY
    fill(audit, 1)
    clock.at -= 300 * DAY
    fill(audit, 1)
    clock.at += 300 * DAY
    assert audit.expire(clock.at - RETENTION) == 2
    assert audit.verify().records == 3
    assert audit.verify().ok


def test_older_head_after_expiry(audit: AuditLog, clock: Clock) -> None:
    """A head that is older than the cut proves nothing any more, and that is said, not passed over."""
    fill(audit, 2)
    head = audit.verify().head
    fill(audit, 2)
    newer = audit.verify().head
    clock.at += 300 * DAY
    audit.expire(clock.at - RETENTION)
    fill(audit, 1)
    assert audit.verify(newer).ok
    found = audit.verify(head)
    assert found.first_fault is not None
    assert "expired" in found.first_fault.what


def test_erased_queries(audit: AuditLog, clock: Clock, tmp_path: Path) -> None:
    """Queries can be erased by time and by id: no byte of them stays, the chain does, and each record says so."""
    first = audit.append(record(1), {"query": f"{CANARY} 1"})
    second = audit.append(record(2), {"query": f"{CANARY} 2"})
    third = audit.append(record(3))
    audit.flush()
    clock.at += 10
    young = audit.append(record(4), {"query": "young"})
    assert found_in(tmp_path, CANARY)
    assert audit.erase_queries(audit_ids=[first, third, "a-nothing"]) == 1
    states = [audit.show(i).query_state for i in (first, second, third, young)]
    assert states == ["erased", "kept", "none", "kept"]
    assert audit.erase_queries(before=clock.at, principal="admin") == 1
    assert [audit.show(i).query_state for i in (second, young)] == ["erased", "kept"]
    assert not found_in(tmp_path, CANARY)
    assert audit.verify().ok
    said = audit.list(kind="audit")
    assert [(r.principal, r.record["queries"]) for r in said] == [("admin", 1), ("local", 1)]
    with pytest.raises(InvalidRequest):
        audit.erase_queries()


def test_queries_not_kept(tmp_path: Path) -> None:
    """Where queries are not kept, their text is nowhere, and the record says that it is not kept."""
    with_none = AuditLog(tmp_path, keep_queries=False)
    audit_id = with_none.append(record(), {"query": CANARY})
    shown = with_none.show(audit_id)
    assert (shown.query, shown.query_state) == (None, "not kept")
    assert with_none.verify().ok
    with_none.close()
    assert not found_in(tmp_path, CANARY)


def test_same_query_other_hash(audit: AuditLog) -> None:
    """Two records of one query do not show that it was the same, so an erased one cannot be guessed."""
    a, b = (audit.append(record(), {"query": "110101199003071233"}) for _ in range(2))
    assert audit.show(a).record["query_sha256"] != audit.show(b).record["query_sha256"]


# -- failing --------------------------------------------------------------------------------------------------


def test_closed(tmp_path: Path) -> None:
    """What was appended before closing is durable; closing twice is harmless; appending afterwards raises."""
    log = AuditLog(tmp_path, flush_after=30)
    log.append(record())
    log.close()
    log.close()
    with pytest.raises(CatalogUnavailable, match="closed"):
        log.append(record())
    again = AuditLog(tmp_path)
    assert again.verify().records == 1
    again.close()


def test_failure_surfaces(audit: AuditLog, monkeypatch: pytest.MonkeyPatch) -> None:
    """When writing fails, flush and the next append raise, nothing taken is lost, and it is tried again."""
    monkeypatch.setattr(group_writer, "_RETRY", 0.05)
    with raw(audit._head.path.parent, guarded=True) as connection:
        connection.execute("ALTER TABLE audit RENAME TO elsewhere")
        audit.append(record(1))
        with pytest.raises(CatalogUnavailable, match=r"audit: cannot be written: .*no such table"):
            audit.flush()
        with pytest.raises(CatalogUnavailable, match="no such table"):
            audit.append(record(2))
        connection.execute("ALTER TABLE elsewhere RENAME TO audit")
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            audit.append(record(3))
            break
        except CatalogUnavailable:
            time.sleep(0.02)
    assert [r.record["n"] for r in audit.list()] == [3, 1]
    assert audit.verify().ok


def test_failure_at_close(tmp_path: Path) -> None:
    """Closing a log that cannot be written raises: what was appended is lost, and that is said."""
    log = AuditLog(tmp_path, flush_after=30)
    log.append(record())
    with raw(tmp_path, guarded=True) as connection:
        connection.execute("ALTER TABLE audit RENAME TO elsewhere")
    with pytest.raises(CatalogUnavailable, match="cannot be written"):
        log.close()


def test_failing_head_file_repeats_nothing(audit: AuditLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When only the head file cannot be written, that is a failure, and trying again writes no record twice."""
    real = os.pwrite

    def full(*_: Any) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    audit.append(record(1))
    with pytest.raises(CatalogUnavailable, match="No space left"):
        audit.flush()
    monkeypatch.setattr(os, "pwrite", real)
    audit.flush()
    assert audit.verify().records == 1
    assert audit.verify().ok


def test_too_much_waits(audit: AuditLog, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the disk is too slow, records are refused rather than heaped up without end."""
    monkeypatch.setattr(group_writer, "_MOST_WAITING", 5)
    with raw(audit._head.path.parent, guarded=True) as connection:
        connection.execute("BEGIN IMMEDIATE")
        for n in range(5):
            audit.append(record(n))
        with pytest.raises(CatalogUnavailable, match="5 entries wait"):
            audit.append(record(5))
        connection.execute("ROLLBACK")
    audit.flush()
    assert audit.verify().records == 5


def test_flush_in_time(audit: AuditLog) -> None:
    """A flush does not wait longer than it was told to."""
    with raw(audit._head.path.parent, guarded=True) as connection:
        connection.execute("BEGIN IMMEDIATE")
        audit.append(record())
        with in_time(), pytest.raises(CatalogUnavailable, match=r"within 0\.1 s"):
            audit.flush(timeout=0.1)
        connection.execute("ROLLBACK")
    audit.flush()


def test_no_folder(tmp_path: Path) -> None:
    """An audit is not opened where there is no library folder."""
    with pytest.raises(CatalogUnavailable, match="no folder"):
        AuditLog(tmp_path / "nowhere")


def test_newer_format(audit: AuditLog, tmp_path: Path) -> None:
    """An audit of a newer format is refused."""
    audit.close()
    with raw(tmp_path, guarded=True) as connection:
        connection.execute("PRAGMA user_version = 9")
    with pytest.raises(CatalogVersion, match="format 9"):
        AuditLog(tmp_path)


def test_not_a_database(tmp_path: Path) -> None:
    """A file that is no database is named as what must be restored."""
    (tmp_path / "audit.db").write_bytes(b"no database at all" * 300)
    with pytest.raises(CatalogUnavailable) as caught:
        AuditLog(tmp_path)
    assert "audit.db" in caught.value.hint


def test_synchronous_full(audit: AuditLog) -> None:
    """Records are written with a write-ahead log and FULL: an acknowledged group survives a power loss."""
    with audit._writer.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"


def test_kinds(audit: AuditLog) -> None:
    """Every kind of record can be appended and listed."""
    for kind in KINDS:
        audit.append(record(kind=kind))
    assert {r.kind for r in audit.list()} == set(KINDS)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False, allow_infinity=False), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8))  # fmt: skip
def test_canonical(value: Any) -> None:
    """The canonical text of a value is that of the value read back from it, and can be encoded."""
    text = canonical(value)
    assert canonical(json.loads(text)) == text
    text.encode()
