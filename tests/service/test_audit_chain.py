"""The chain of the audit: every change to it is found; several processes write it, and kills leave it whole."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pysqlite3.dbapi2 as driver
import pytest

from audit_parts import Clock, fill, raw, record
from wenyuan.catalog.audit.chain import GENESIS, Head
from wenyuan.catalog.audit.head_file import HeadFile
from wenyuan.catalog.audit.log import AuditLog
from wenyuan.catalog.audit.reads import verify_export
from wenyuan.core.errors import CatalogUnavailable, InvalidRequest


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def audit(tmp_path: Path, clock: Clock) -> Iterator[AuditLog]:
    log = AuditLog(tmp_path, flush_after=0.005, clock=clock)
    yield log
    log.close()


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
    from wenyuan.catalog.audit.chain import row_hash

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


@pytest.mark.parametrize("emptied", [False, True], ids=["removed", "emptied"])
def test_no_head_file(audit: AuditLog, tmp_path: Path, emptied: bool) -> None:
    """Without its head file nobody can say that the end is there; verifying says so, whatever is written after that."""
    fill(audit, 2)
    file = tmp_path / "audit.head"
    file.write_bytes(b"") if emptied else file.unlink()
    for count in (2, 3):
        found = audit.verify()
        assert found.first_fault is not None
        assert "audit.head is missing or empty" in found.first_fault.what
        assert found.records == count
        fill(audit, 1)
    with closing(AuditLog(tmp_path)) as again:
        assert not again.verify().ok


def test_the_end_is_accepted(audit: AuditLog, tmp_path: Path) -> None:
    """Whoever goes on with what there is says so: the head file is made anew, and the chain tells what it said."""
    fill(audit, 4)
    said = (tmp_path / "audit.head").read_text().strip()
    with raw(tmp_path) as connection:
        truncate(connection)
    head = audit.renew_head(principal="key:ops")
    found = audit.verify()
    assert (found.ok, found.head) == (True, head)
    (told,) = audit.list(kind="audit")
    assert (told.principal, told.record["action"], told.record["had"]) == ("key:ops", "renew head", said)
    fill(audit, 1)
    (tmp_path / "audit.head").unlink()
    audit.renew_head()
    assert audit.list(limit=1)[0].record["had"] == ""
    (tmp_path / "audit.head").write_text("garbage " * 40)
    audit.renew_head()
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
    file.create(later)
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


def children(*arguments: object) -> str:
    file = Path(__file__).parents[1] / "support" / "audit_child.py"
    done = subprocess.run(
        [sys.executable, file, *map(str, arguments)], stdout=subprocess.PIPE, text=True, timeout=120, check=True
    )
    return done.stdout


def test_processes(tmp_path: Path) -> None:
    """Three processes that make and write one audit at once write one whole chain of all their records."""
    children(tmp_path, 3, 200)
    audit = AuditLog(tmp_path)
    found = audit.verify()
    assert (found.ok, found.records) == (True, 600)
    for n in range(3):
        assert [r.record["n"] for r in audit.list(principal=f"p{n}", limit=300)] == list(range(199, -1, -1))
    audit.close()


def test_killed(tmp_path: Path) -> None:
    """A writer that is killed leaves a whole chain with all that it had flushed, and another goes on with it."""
    flushes = (1, 2, 3, 5, 8, 13, 21)
    for count, flushed in zip(flushes, children(tmp_path, "kill", *flushes).split(), strict=True):
        audit = AuditLog(tmp_path / str(count))
        found = audit.verify()
        assert found.ok, found.first_fault
        assert found.records >= int(flushed)
        audit.append(record())
        assert audit.verify().records == found.records + 1
        assert audit.verify(found.head).ok
        audit.close()
