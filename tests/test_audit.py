"""The audit log: a chain that shows every change to it, written in groups, by several processes, through kills."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pysqlite3.dbapi2 as driver
import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog_parts import script
from wenyuan.catalog import grouped
from wenyuan.catalog.audit_chain import GENESIS, Head, HeadFile, Ids, canonical
from wenyuan.catalog.audit_log import KINDS, RETENTION, AuditLog, verify_export
from wenyuan.core.errors import CatalogUnavailable, CatalogVersion, InvalidRequest, NotPermitted

DAY = 86_400.0
CANARY = "canary7金丝雀机密"


class Clock:
    def __init__(self, at: float = 1_800_000_000.0) -> None:
        self.at = at

    def __call__(self) -> float:
        return self.at


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def audit(tmp_path: Path, clock: Clock) -> Iterator[AuditLog]:
    log = AuditLog(tmp_path, flush_after=0.005, clock=clock)
    yield log
    log.close()


def record(n: int = 1, kind: str = "retrieval", principal: str = "key1", **more: Any) -> dict[str, Any]:
    return {"kind": kind, "principal": principal, "n": n, "说明": f"第{n}条", **more}


def fill(audit: AuditLog, count: int, **more: Any) -> list[str]:
    ids = [audit.append(record(n, **more), {"query": f"客户投诉 {n}"}) for n in range(1, count + 1)]
    audit.flush()
    return ids


@contextmanager
def raw(folder: Path, *, guarded: bool = False) -> Iterator[Any]:
    """The database without our code, and (unless `guarded`) without its triggers."""
    connection = driver.connect(str(folder / "audit.db"), isolation_level=None)
    try:
        if not guarded:
            names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall()
            for (name,) in names:
                connection.execute(f"DROP TRIGGER {name}")
        yield connection
    finally:
        connection.close()


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
        audit = AuditLog(audit.path.parent)
    audit.close()


def test_unknown_id(audit: AuditLog) -> None:
    """An id that was never given is not permitted, rather than an empty record."""
    with pytest.raises(NotPermitted, match="a-nothing"):
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
    """An unknown kind, a limit out of bounds and an unknown id to go on from are refused."""
    for wrong in ({"kind": "gossip"}, {"limit": 0}, {"limit": 1_001}):
        with pytest.raises(InvalidRequest):
            audit.list(**wrong)  # type: ignore[arg-type]
    with pytest.raises(NotPermitted):
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


# -- the chain ------------------------------------------------------------------------------------------------


def test_empty_chain(audit: AuditLog) -> None:
    """An audit without records is whole."""
    found = audit.verify()
    assert (found.ok, found.records, found.head) == (True, 0, str(GENESIS))


def test_guarded(audit: AuditLog, tmp_path: Path) -> None:
    """The database itself refuses to edit, remove or replace records, and to edit queries or cuts."""
    fill(audit, 3)
    with raw(tmp_path, guarded=True) as connection:
        for statement in (
            "UPDATE audit SET principal = 'x' WHERE seq = 2",
            "DELETE FROM audit WHERE seq = 2",
            "DELETE FROM audit",
            "INSERT OR REPLACE INTO audit SELECT * FROM audit WHERE seq = 2",
            "INSERT INTO audit SELECT 0, 'a-x', at, kind, principal, record, prev_hash, hash FROM audit WHERE seq = 1",
            "UPDATE audit_queries SET query = '{}'",
        ):
            with pytest.raises(driver.IntegrityError):
                connection.execute(statement)
    assert audit.verify().ok


def rehash(connection: Any, seq: int) -> None:
    """Give a record the hash that its content asks for, as a clever forger would."""
    from wenyuan.catalog.audit_chain import row_hash

    columns = connection.execute(
        "SELECT prev_hash, seq, audit_id, at, kind, principal, record FROM audit WHERE seq = ?", (seq,)
    ).fetchone()
    connection.execute("UPDATE audit SET hash = ? WHERE seq = ?", (row_hash(*columns), seq))


def edit(connection: Any) -> None:
    connection.execute("UPDATE audit SET record = replace(record, '第4条', '第9条') WHERE seq = 4")


def edit_type(connection: Any) -> None:
    connection.execute("UPDATE audit SET record = x'00ff' WHERE seq = 4")


def edit_time(connection: Any) -> None:
    connection.execute("UPDATE audit SET at = at + 1 WHERE seq = 4")


def edit_and_rehash(connection: Any) -> None:
    edit(connection)
    rehash(connection, 4)


def delete(connection: Any) -> None:
    connection.execute("DELETE FROM audit WHERE seq IN (4, 5)")


def delete_first(connection: Any) -> None:
    connection.execute("DELETE FROM audit WHERE seq = 1")


def delete_and_close_ranks(connection: Any) -> None:
    connection.execute("DELETE FROM audit WHERE seq = 4")
    connection.execute("UPDATE audit SET seq = seq - 1 WHERE seq > 4")
    rehash(connection, 4)


def reorder(connection: Any) -> None:
    for a, b in ((4, 99), (5, 4), (99, 5)):
        connection.execute("UPDATE audit SET seq = ? WHERE seq = ?", (b, a))


def insert(connection: Any) -> None:
    for seq in range(10, 3, -1):
        connection.execute("UPDATE audit SET seq = seq + 1 WHERE seq = ?", (seq,))
    connection.execute(
        "INSERT INTO audit SELECT 4, 'a-x', at, kind, principal, record, hash, hash FROM audit WHERE seq = 3"
    )
    rehash(connection, 4)


def truncate(connection: Any) -> None:
    connection.execute("DELETE FROM audit WHERE seq > 8")


def forget_all(connection: Any) -> None:
    connection.execute("DELETE FROM audit")


def edit_query(connection: Any) -> None:
    connection.execute("""UPDATE audit_queries SET query = '{"query":"x"}'
        WHERE audit_id = (SELECT audit_id FROM audit WHERE seq = 4)""")


def false_cut(connection: Any) -> None:
    connection.execute("INSERT INTO audit_cuts SELECT seq, hash, at FROM audit WHERE seq = 4")
    connection.execute("DELETE FROM audit WHERE seq <= 4")


@pytest.mark.parametrize(
    ("harm", "seq", "what"),
    [
        (edit, 4, "edited"),
        (edit_type, 4, "edited"),
        (edit_time, 4, "edited"),
        (edit_and_rehash, 5, "does not follow"),
        (delete, 4, "missing: the records 4 to 5"),
        (delete_first, 1, "missing: the records 1 to 1"),
        (delete_and_close_ranks, 4, "does not follow"),
        (reorder, 4, "moved"),
        (insert, 5, "edited or moved"),
        (truncate, 9, "truncated"),
        (forget_all, 1, "truncated"),
        (edit_query, 4, "query was edited"),
        (false_cut, 4, "no record says so"),
    ],
)
def test_harm_is_found(audit: AuditLog, tmp_path: Path, harm: Callable[[Any], None], seq: int, what: str) -> None:
    """Whatever is done to the database without its guards is found, at the record where it begins."""
    fill(audit, 10)
    with raw(tmp_path) as connection:
        harm(connection)
    found = audit.verify()
    assert not found.ok
    assert found.first_fault is not None
    assert found.first_fault.seq == seq
    assert what in found.first_fault.what


def test_cut_off_end_and_head_file(audit: AuditLog, tmp_path: Path) -> None:
    """Who cuts off the end and sets the head file back is found out by a head that was kept elsewhere."""
    fill(audit, 8)
    older = audit.verify().head
    fill(audit, 2)
    head = audit.verify().head
    with raw(tmp_path) as connection:
        truncate(connection)
    (tmp_path / "audit.head").write_text(older)
    assert audit.verify().ok
    found = audit.verify(head)
    assert found.first_fault is not None
    assert "truncated" in found.first_fault.what
    assert audit.verify(older).ok


def test_whole_new_chain(audit: AuditLog, tmp_path: Path) -> None:
    """A chain that was made anew from an early record on has another hash than the head that was kept elsewhere."""
    fill(audit, 6)
    head = audit.verify().head
    fill(audit, 2)
    with raw(tmp_path) as connection:
        edit(connection)
        for seq in range(4, 9):
            before = connection.execute("SELECT hash FROM audit WHERE seq = ?", (seq - 1,)).fetchone()
            connection.execute("UPDATE audit SET prev_hash = ? WHERE seq = ?", (*before, seq))
            rehash(connection, seq)
        last = connection.execute("SELECT seq, hash FROM audit ORDER BY seq DESC").fetchone()
    (tmp_path / "audit.head").write_text(str(Head(*last)))
    assert audit.verify().ok
    found = audit.verify(head)
    assert found.first_fault is not None
    assert (found.first_fault.seq, "rewritten" in found.first_fault.what) == (6, True)


def test_no_head_file(audit: AuditLog, tmp_path: Path) -> None:
    """Without its head file nobody can say that the end is there, and verifying says that."""
    fill(audit, 2)
    (tmp_path / "audit.head").unlink()
    found = audit.verify()
    assert found.first_fault is not None
    assert "audit.head is missing" in found.first_fault.what
    fill(audit, 1)
    assert audit.verify().ok


@pytest.mark.parametrize("text", ["", "nonsense", "5", "5:abc", f"-1:{'0' * 64}", f"٣:{'0' * 64}"])
def test_expected_head_refused(audit: AuditLog, text: str) -> None:
    """What is no head is refused, not compared."""
    with pytest.raises(InvalidRequest, match="no head"):
        audit.verify(text)


def test_damaged_head_file(audit: AuditLog, tmp_path: Path) -> None:
    """A head file that cannot be understood stops writing and verifying, with its name."""
    fill(audit, 1)
    (tmp_path / "audit.head").write_text("garbage\n")
    with pytest.raises(CatalogUnavailable, match=r"audit\.head"):
        audit.verify()
    audit.append(record())
    with pytest.raises(CatalogUnavailable, match=r"audit\.head"):
        audit.flush()
    (tmp_path / "audit.head").unlink()
    audit.flush()
    assert audit.verify().records == 2


def test_cut_off_end_stops_writing(audit: AuditLog, tmp_path: Path) -> None:
    """After the end was cut off nothing is appended, for that would hide it; moving the head file away allows it."""
    fill(audit, 10)
    with raw(tmp_path) as connection:
        truncate(connection)
    audit.append(record(11))
    with pytest.raises(CatalogUnavailable, match=r"ends at record 8, but audit.head says 10"):
        audit.flush()
    with pytest.raises(CatalogUnavailable):
        audit.append(record(12))
    (tmp_path / "audit.head").unlink()
    audit.flush()
    assert audit.list(limit=1)[0].record["n"] == 11


def test_head_file_only_rises(tmp_path: Path) -> None:
    """Of two processes that write the head at once, the later head stays."""
    file = HeadFile(tmp_path / "audit.head")
    later, earlier = Head(12, "b" * 64), Head(9, "a" * 64)
    file.advance(later)
    file.advance(earlier)
    assert file.read() == later


def test_exported(audit: AuditLog, tmp_path: Path) -> None:
    """An exported audit can be verified by itself; each change to it is found; queries come only when asked for."""
    fill(audit, 5)
    path = tmp_path / "export.jsonl"
    head = audit.export(path)
    assert head == audit.verify().head
    found = verify_export(path, head)
    assert (found.ok, found.records, found.head) == (True, 5, head)
    assert "客户投诉" not in path.read_text("utf-8")
    lines = path.read_text("utf-8").splitlines()
    assert json.loads(lines[-1])["head"] == head
    for harmed in (
        lines[:1] + lines[2:],
        lines[:3] + lines[5:],
        [lines[1], lines[0], *lines[2:]],
        [line.replace("第2条", "第3条") for line in lines],
    ):
        path.write_text("\n".join(harmed), "utf-8")
        assert not verify_export(path).ok
    path.write_text("\n".join(lines[:-1]), "utf-8")
    with pytest.raises(InvalidRequest, match="no whole export"):
        verify_export(path)
    audit.export(tmp_path / "full.jsonl", with_queries=True)
    assert "客户投诉 3" in (tmp_path / "full.jsonl").read_text("utf-8")
    assert verify_export(tmp_path / "full.jsonl").ok


def test_export_refused(audit: AuditLog, tmp_path: Path) -> None:
    """An export overwrites nothing, and says when it cannot be written."""
    (tmp_path / "taken").write_text("evidence")
    with pytest.raises(InvalidRequest, match="already"):
        audit.export(tmp_path / "taken")
    assert (tmp_path / "taken").read_text() == "evidence"
    with pytest.raises(CatalogUnavailable, match="cannot write"):
        audit.export(tmp_path / "nowhere" / "file")


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
    with pytest.raises(NotPermitted):
        audit.show(old[0])
    assert audit.expire(clock.at - RETENTION) == 0
    fill(audit, 2)
    clock.at += 300 * DAY
    assert audit.expire(clock.at - RETENTION) == 6
    assert audit.verify().ok
    assert audit.verify().records == 1
    assert not found_in(tmp_path, CANARY)


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


def found_in(folder: Path, text: str) -> list[str]:
    needles = (text.encode(), json.dumps(text)[1:-1].encode(), text.encode("utf-16-le"))
    return [f.name for f in folder.iterdir() if f.is_file() and any(n in f.read_bytes() for n in needles)]


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
    monkeypatch.setattr(grouped, "_RETRY", 0.05)
    with raw(audit.path.parent, guarded=True) as connection:
        connection.execute("ALTER TABLE audit RENAME TO elsewhere")
        audit.append(record(1))
        with pytest.raises(CatalogUnavailable, match="audit: cannot be written: .*no such table"):
            audit.flush()
        with pytest.raises(CatalogUnavailable, match="no such table"):
            audit.append(record(2))
        connection.execute("ALTER TABLE elsewhere RENAME TO audit")
    until = time.monotonic() + 5
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
    monkeypatch.setattr(grouped, "_MOST_WAITING", 5)
    with raw(audit.path.parent, guarded=True) as connection:
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
    with raw(audit.path.parent, guarded=True) as connection:
        connection.execute("BEGIN IMMEDIATE")
        audit.append(record())
        begun = time.monotonic()
        with pytest.raises(CatalogUnavailable, match=r"within 0\.1 s"):
            audit.flush(timeout=0.1)
        assert time.monotonic() - begun < 2
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


# -- many at once ---------------------------------------------------------------------------------------------


def test_threads(audit: AuditLog) -> None:
    """Eight threads lose nothing, and each finds its own records."""
    barrier = threading.Barrier(8)

    def work(n: int) -> list[str]:
        barrier.wait()
        return [audit.append(record(i, principal=f"thread{n}")) for i in range(100)]

    with ThreadPoolExecutor(8) as pool:
        given_ids = list(pool.map(work, range(8)))
    found = audit.verify()
    assert (found.ok, found.records) == (True, 800)
    for n, ids in enumerate(given_ids):
        assert [r.audit_id for r in audit.list(principal=f"thread{n}", limit=200)] == sorted(ids, reverse=True)


WRITER = """
import sys
from pathlib import Path
from wenyuan.catalog.audit_log import AuditLog
sys.stdin.readline()
log = AuditLog(Path(sys.argv[1]), flush_after=0.001)
for n in range(int(sys.argv[3])):
    log.append({"kind": "retrieval", "principal": sys.argv[2], "n": n}, {"query": "客户投诉"})
    if n % 10 == 0:
        log.flush()
        print(n, flush=True)
log.close()
"""


def test_processes(tmp_path: Path) -> None:
    """Three processes that make and write one audit at once write one whole chain of all their records."""
    writers = [script(WRITER, tmp_path, f"p{n}", 200) for n in range(3)]
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    for writer in writers:
        writer.communicate(timeout=60)
        assert writer.returncode == 0
    audit = AuditLog(tmp_path)
    found = audit.verify()
    assert (found.ok, found.records) == (True, 600)
    for n in range(3):
        assert [r.record["n"] for r in audit.list(principal=f"p{n}", limit=300)] == list(range(199, -1, -1))
    audit.close()


@pytest.mark.parametrize("after", [3, 11, 17, 30])
def test_killed(tmp_path: Path, after: int) -> None:
    """A writer that is killed leaves a whole chain with all that it had flushed, and another goes on with it."""
    writer = script(WRITER, tmp_path, "p", 1_000_000)
    assert writer.stdin is not None
    assert writer.stdout is not None
    writer.stdin.write("go\n")
    writer.stdin.flush()
    flushed = [int(writer.stdout.readline()) for _ in range(after)][-1]
    os.kill(writer.pid, signal.SIGKILL)
    writer.communicate()
    audit = AuditLog(tmp_path)
    found = audit.verify()
    assert found.ok, found.first_fault
    assert found.records > flushed
    audit.append(record())
    assert audit.verify().records == found.records + 1
    assert audit.verify(found.head).ok
    audit.close()


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
