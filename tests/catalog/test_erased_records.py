"""Records of the audit whose content was erased: the chain stays whole, and no other change passes for an erasure."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pysqlite3.dbapi2 as driver
import pytest

from audit_parts import CANARY, Clock, fill, found_in, raw, record
from wenyuan.catalog.audit.chain import AuditRow
from wenyuan.catalog.audit.log import AuditLog
from wenyuan.catalog.audit.reads import verify_export
from wenyuan.catalog.audit.tombstones import remains_hash, tombstone
from wenyuan.core.errors import CatalogVersion


@pytest.fixture
def audit(tmp_path: Path) -> Iterator[AuditLog]:
    log = AuditLog(tmp_path, flush_after=0.005, clock=Clock())
    yield log
    log.close()


def about(row: AuditRow) -> bool:
    return CANARY in row.record or CANARY in row.principal or CANARY in (row.query or "")


def erase(audit: AuditLog, erasure_id: str = "e-1") -> int:
    return audit.erase_records(erasure_id, about, lambda name: "erased" if CANARY in name else name, principal="ops")


def filled(audit: AuditLog) -> list[str]:
    """Ten records, of which 3, 6 and 7 are about somebody: in the record, the principal and the query."""
    ids = fill(audit, 2)
    ids.append(audit.append(record(3, preview=f"wer ist {CANARY}?"), {"query": "x"}))
    ids += fill(audit, 2)
    ids.append(audit.append(record(6, principal=CANARY)))
    ids.append(audit.append(record(7), {"query": f"… {CANARY} …"}))
    ids += fill(audit, 3)
    return ids


def test_erased(audit: AuditLog, tmp_path: Path) -> None:
    """What was about somebody is nowhere any more, the rest is as it was, and the chain is whole."""
    ids = filled(audit)
    assert [row.seq for row in audit.wanted_records(about)] == [3, 6, 7]
    assert erase(audit) == 3
    audit.compact()
    assert found_in(tmp_path, CANARY) == []
    assert audit.verify().ok
    for number, audit_id in enumerate(ids, 1):
        found = audit.show(audit_id)
        erased = number in (3, 6, 7)
        assert (found.erasure, found.query_state) == (("e-1", "erased") if erased else ("", found.query_state))
        assert (found.record == {"erased": "e-1"}) is erased
        assert found.query is None or not erased
        assert found.principal == ("erased" if number == 6 else "key1")
    assert audit.list(kind="audit")[0].record["action"] == "erase records"


def test_erased_again(audit: AuditLog) -> None:
    """A second erasure finds nothing of the first, and what came since goes as well."""
    filled(audit)
    assert (erase(audit), erase(audit)) == (3, 0)
    audit.append(record(1, preview=CANARY))
    assert erase(audit, "e-2") == 1
    assert audit.verify().ok
    fill(audit, 2)
    assert audit.verify().ok


def test_exported_with_erased_records(audit: AuditLog, tmp_path: Path) -> None:
    """An export has the tombstones, and is verified by itself; one without the record that names them is not."""
    filled(audit)
    erase(audit)
    head = audit.export(tmp_path / "export.jsonl")
    assert verify_export(tmp_path / "export.jsonl", head).ok
    lines = (tmp_path / "export.jsonl").read_text("utf-8").splitlines()
    last = json.loads(lines[-1]) | {"head": f"10:{json.loads(lines[9])['hash']}", "records": 10}
    (tmp_path / "short.jsonl").write_text("\n".join([*lines[:10], json.dumps(last)]), "utf-8")
    found = verify_export(tmp_path / "short.jsonl").first_fault
    assert found is not None
    assert (found.seq, found.what) == (3, "erased, and no later record says so")


def test_expired_erased_records(tmp_path: Path) -> None:
    """Retention removes erased records as any others, and what names those that are gone proves nothing else."""
    clock = Clock()
    with closing(AuditLog(tmp_path, flush_after=0.005, clock=clock)) as audit:
        filled(audit)
        clock.at += 10
        erase(audit)
        clock.at += 10
        fill(audit, 2)
        assert audit.expire(clock.at - 15, early=True) == 10
        assert audit.verify().ok
        assert audit.expire(clock.at - 5, early=True) == 1
        assert audit.verify().ok


def forged(connection: Any, seq: int = 5) -> None:
    connection.execute("UPDATE audit SET record = ? WHERE seq = ?", (tombstone("e-1"), seq))
    connection.execute(
        "DELETE FROM audit_queries WHERE audit_id = (SELECT audit_id FROM audit WHERE seq = ?)", (seq,)
    )


def forged_with_row(connection: Any) -> None:
    forged(connection)
    connection.execute("INSERT INTO audit_erased SELECT seq, hash, 'e-1' FROM audit WHERE seq = 5")


def row_alone(connection: Any) -> None:
    connection.execute("INSERT INTO audit_erased SELECT seq, hash, 'e-1' FROM audit WHERE seq = 5")


def row_removed(connection: Any) -> None:
    connection.execute("DELETE FROM audit_erased WHERE seq = 6")


def row_rehashed(connection: Any) -> None:
    connection.execute("UPDATE audit_erased SET hash = 'x' WHERE seq = 6")


def other_principal(connection: Any) -> None:
    connection.execute("UPDATE audit SET principal = 'someone else' WHERE seq = 6")


def other_time(connection: Any) -> None:
    connection.execute("UPDATE audit SET at = at + 1 WHERE seq = 6")


def other_hash(connection: Any) -> None:
    connection.execute("UPDATE audit SET hash = ? WHERE seq = 6", ("0" * 64,))


def other_erasure(connection: Any) -> None:
    connection.execute("UPDATE audit SET record = ? WHERE seq = 6", (tombstone("e-2"),))


def other_content(connection: Any) -> None:
    connection.execute('UPDATE audit SET record = \'{"preview":"another"}\' WHERE seq = 6')


def query_put_back(connection: Any) -> None:
    connection.execute("INSERT INTO audit_queries SELECT audit_id, at, 'salt', '{}' FROM audit WHERE seq = 6")


def more_than_a_tombstone(connection: Any) -> None:
    connection.execute('UPDATE audit SET record = \'{"erased":"e-1","more":1}\' WHERE seq = 6')


def spaced_tombstone(connection: Any) -> None:
    connection.execute('UPDATE audit SET record = \'{"erased": "e-1"}\' WHERE seq = 6')


def naming_removed(connection: Any) -> None:
    connection.execute('UPDATE audit SET record = \'{"action":"erase records","records":[]}\' WHERE seq = 11')


@pytest.mark.parametrize(
    ("harm", "seq", "what"),
    [
        (forged, 5, "no later record says so"),
        (forged_with_row, 5, "no later record says so"),
        (row_alone, 5, "table of erased records"),
        (row_removed, 6, "table of erased records"),
        (row_rehashed, 6, "table of erased records"),
        (other_principal, 6, "not the erased record"),
        (other_time, 6, "not the erased record"),
        (other_hash, 7, "does not follow"),
        (other_erasure, 6, "not the erased record"),
        (other_content, 6, "edited"),
        (query_put_back, 6, "its query is there"),
        (more_than_a_tombstone, 6, "edited"),
        (spaced_tombstone, 6, "edited"),
        (naming_removed, 11, "edited"),
    ],
)
def test_forged_tombstones_are_found(
    audit: AuditLog, tmp_path: Path, harm: Callable[[Any], None], seq: int, what: str
) -> None:
    """Exactly what the chain says was erased passes for erased: nothing that somebody makes look like it."""
    filled(audit)
    erase(audit)
    assert audit.verify().ok
    with raw(tmp_path) as connection:
        harm(connection)
    found = audit.verify().first_fault
    assert found is not None
    assert (found.seq, what in found.what) == (seq, True), found


def test_erasure_undone_from_a_backup(audit: AuditLog, tmp_path: Path) -> None:
    """A record that is said to be erased and has its content again is named, though its own hash is right."""
    filled(audit)
    with raw(tmp_path, guarded=True) as connection:
        before = connection.execute("SELECT record, principal FROM audit WHERE seq = 6").fetchone()
    erase(audit)
    with raw(tmp_path) as connection:
        connection.execute("UPDATE audit SET record = ?, principal = ? WHERE seq = 6", before)
    found = audit.verify().first_fault
    assert found is not None
    assert (found.seq, "not the erased record" in found.what) == (6, True)


def test_guards_of_erased_records(audit: AuditLog, tmp_path: Path) -> None:
    """The database itself lets nothing change but what the table of erased records names, and only into a tombstone."""
    filled(audit)
    erase(audit)
    with raw(tmp_path, guarded=True) as connection:
        for statement in (
            'UPDATE audit SET record = \'{"erased":"e-1"}\' WHERE seq = 5',
            'UPDATE audit SET record = \'{"erased":"e-2"}\' WHERE seq = 6',
            "UPDATE audit SET record = '{}' WHERE seq = 6",
            "UPDATE audit SET hash = 'x' WHERE seq = 6",
            "UPDATE audit SET at = 0 WHERE seq = 6",
            "UPDATE audit_erased SET hash = 'x'",
            "DELETE FROM audit_erased",
        ):
            with pytest.raises(driver.IntegrityError):
                connection.execute(statement)
    assert audit.verify().ok


def test_log_of_the_first_format(tmp_path: Path) -> None:
    """A log that was made before there were erased records is brought to the present format, and loses nothing."""
    with closing(AuditLog(tmp_path, flush_after=0.005)) as audit:
        fill(audit, 4)
    with raw(tmp_path, guarded=True) as connection:
        for name in ("audit_not_edited", "audit_erased_not_edited", "audit_erased_not_removed"):
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute("DROP TABLE audit_erased")
        connection.execute(
            "CREATE TRIGGER audit_not_edited BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'not edited'); END"
        )
        connection.execute("PRAGMA user_version = 1")
    with closing(AuditLog(tmp_path, flush_after=0.005)) as audit:
        assert audit.verify().records == 4
        audit.append(record(5, preview=CANARY))
        assert erase(audit) == 1
        assert audit.verify().ok
    with raw(tmp_path, guarded=True) as connection:
        connection.execute("PRAGMA user_version = 4")
    with pytest.raises(CatalogVersion, match="format 4"):
        AuditLog(tmp_path)


def test_what_names_a_row(audit: AuditLog) -> None:
    """The hash by which an erased row is named covers all that is left of it, and its former hash."""
    row = AuditRow(3, "a-1", 1.0, "retrieval", "key1", tombstone("e-1"), "0" * 64, "1" * 64)
    others = (
        row._replace(seq=4), row._replace(audit_id="a-2"), row._replace(at=2.0), row._replace(kind="fetch"),
        row._replace(principal="key2"), row._replace(record=tombstone("e-2")), row._replace(hash="2" * 64),
    )  # fmt: skip
    assert len({remains_hash(one) for one in (row, *others)}) == 8
