"""A person is erased from a library whose tables and index lie on a PostgreSQL, and from an index in Milvus."""

from __future__ import annotations

import secrets
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from erased_person import NAME, OTHER, VALUES, fill, forms, found_in, opened

pytestmark = pytest.mark.integration


def tables_with(database: str, values: tuple[str, ...], vectors: list[bytes]) -> list[str]:
    """Every column of every table of a database, of every schema but the server's own, in which a value stands."""
    import psycopg

    sought = {f"{value}: {name}": form for value in values for name, form in forms(value).items()}
    sought |= {f"vector {number}": vector for number, vector in enumerate(vectors)}
    hits = set()
    with psycopg.connect(database) as connection:
        names = connection.execute(
            "SELECT table_schema, table_name FROM information_schema.tables WHERE table_type = 'BASE TABLE' "
            "AND table_schema NOT IN ('pg_catalog', 'information_schema')"
        ).fetchall()
        assert len(names) > 20
        for schema, table in names:
            for row in connection.execute(f'SELECT * FROM "{schema}"."{table}"'):
                for value in row:
                    content = (
                        bytes(value)
                        if isinstance(value, bytes | memoryview)
                        else str(value).encode("utf-8", "replace")
                    )
                    hits |= {f"{name} in {schema}.{table}" for name, form in sought.items() if form in content}
    return sorted(hits)


@pytest.fixture
def library(tmp_path: Path, database: str) -> Iterator[Any]:
    schema = f"erasure_{secrets.token_hex(4)}"
    settings = {
        "catalog": {"dsn": database, "schema_name": schema},
        "postgres": {"dsn": database},
        "engine": "postgres",
    }
    with opened(tmp_path, **settings) as made:
        yield made


def test_nothing_is_left_in_any_table(library: Any, tmp_path: Path, database: str) -> None:
    """Tables of the catalog, of the audit and of the index on PostgreSQL hold nothing more, nor does the folder of this server."""
    vectors = fill(library, tmp_path)
    before = tables_with(database, VALUES, vectors)
    assert {one.rpartition(".")[2] for one in before} >= {"passages", "audit_queries", "rule_evidences", "synonyms"}
    done = library.erasures.erase(library.erasures.person(VALUES))
    assert any("write-ahead log" in one for one in done.report["left"])
    assert tables_with(database, VALUES, vectors) == []
    assert found_in(library.folder, VALUES) == []
    assert library.audit.verify().ok
    assert all(check.ok for check in library.erasures.verify(done.erasure_id, VALUES))
    for source in ("files", "up", "shut"):
        library.ingest(source)
    assert tables_with(database, VALUES, vectors) == []
    assert any(OTHER in one.text for one in library.search("交接班", sources=("files",)).passages.values())


def test_tombstones_on_a_server(library: Any, tmp_path: Path, database: str) -> None:
    """The server refuses to edit a record that no erasure names, and what passes its guards is found by verifying."""
    import psycopg

    fill(library, tmp_path)
    library.erasures.erase(library.erasures.person(VALUES))
    schema = library.settings.catalog.schema_name
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(f'SET search_path TO "{schema}"')
        with pytest.raises(psycopg.errors.RaiseException):
            connection.execute('UPDATE audit SET record = \'{"erased":"e-1"}\' WHERE seq = 1')
        with pytest.raises(psycopg.errors.RaiseException):
            connection.execute("DELETE FROM audit_erased")
        connection.execute("DROP TRIGGER audit_not_edited ON audit")
        connection.execute('UPDATE audit SET record = \'{"erased":"e-1"}\' WHERE seq = 1')
    fault = library.audit.verify().first_fault
    assert fault is not None
    assert fault.seq == 1


def test_an_audit_of_the_first_format_on_a_server(library: Any, tmp_path: Path, database: str) -> None:
    """An audit on a server that was made before there were erased records is brought to the present format."""
    import psycopg

    schema = library.settings.catalog.schema_name
    library.search("x")
    library.close()
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(f'SET search_path TO "{schema}"')
        connection.execute(
            "DROP TABLE audit_erased; DROP TRIGGER audit_not_edited ON audit; DROP FUNCTION audit_erases()"
        )
        connection.execute(
            "CREATE TRIGGER audit_not_edited BEFORE UPDATE ON audit FOR EACH ROW "
            "EXECUTE FUNCTION audit_refused('audit records are not edited')"
        )
        connection.execute("UPDATE library SET value = '1' WHERE key = 'audit'")
    settings = {
        "catalog": {"dsn": database, "schema_name": schema},
        "postgres": {"dsn": database},
        "engine": "postgres",
    }
    with opened(tmp_path, **settings) as again:
        fill(again, tmp_path)
        again.erasures.erase(again.erasures.person(VALUES))
        assert again.audit.verify().ok


def test_each_server_rewrites_its_own_index_files(tmp_path: Path, database: str) -> None:
    """Two servers have index files of their own: the one that did not erase rewrites them when it looks, once, and the check of the
    certificate says which have.
    """
    catalog = {"dsn": database, "schema_name": f"erasure_{secrets.token_hex(4)}"}
    (tmp_path / "other").mkdir()
    with opened(tmp_path, catalog=catalog) as erasing, opened(tmp_path / "other", catalog=catalog) as other:
        vectors = fill(erasing, tmp_path)
        other.ingestion.ingester.follow()
        other.ingestion.ingester.engine.checkpoint(always=True)
        assert not other.erasures.copies.follow()
        before = found_in(other.folder, VALUES, vectors)
        assert before
        done = erasing.erasures.erase(erasing.erasures.person(VALUES))
        assert not erasing.erasures.copies.follow()

        def servers() -> Any:
            checks = {one.name: one for one in erasing.erasures.verify(done.erasure_id, VALUES)}
            assert checks["absence"].ok
            return checks["servers"]

        assert (servers().ok, other.erasures.copies.server in servers().detail) == (False, True)
        assert other.erasures.copies.follow()
        assert not other.erasures.copies.follow()
        assert (servers().ok, servers().detail) == (True, "2 servers have rewritten their index files")
        assert found_in(other.folder, VALUES, vectors) == []
        assert any(OTHER in one.text for one in other.search("交接班", sources=("files",)).passages.values())


def test_nothing_is_left_in_milvus(tmp_path: Path, milvus: str) -> None:
    """No row of the index in Milvus has a vector that was made of the person, nor a field in which the person stands."""
    import milvus_server

    settings = {
        "engine": "milvus",
        "milvus": {"uri": milvus, "prefix": milvus_server.PREFIX},
        "search": {"deadline": 10.0},
    }
    with opened(tmp_path, **settings) as library:
        vectors = fill(library, tmp_path)
        done = library.erasures.erase(library.erasures.person(VALUES))
        assert done.state == "done"
        assert found_in(library.folder, VALUES, vectors) == []
        found = library.search(f"{NAME}的电话")
        assert not any(NAME in one.text for one in found.passages.values())
        live = {n for n, _ in library.catalog.live_documents("files").values()}
        assert {one.document_id for one in found.passages.values() if one.source_id == "files"} <= live


def decoded(folder: Path) -> list[bytes]:
    """What the columns of Milvus' own packed files hold: texts and vectors, each by itself."""
    from pyarrow import parquet

    found = []
    for file in folder.rglob("*.parquet"):
        for value in (
            one for column in parquet.read_table(file).columns for one in column.to_pylist() if one is not None
        ):
            if isinstance(value, list) and value and isinstance(value[0], float):
                found.append(struct.pack(f"<{len(value)}f", *value))
            else:
                found.append(value if isinstance(value, bytes) else str(value).encode())
    return found


def test_nothing_is_left_in_the_files_of_milvus(tmp_path: Path) -> None:
    """After it was compacted its own files, packed ones too, have no form of the person and no vector that was made of them."""
    import milvus_server

    pytest.importorskip("milvus_lite")
    data = tmp_path / "milvus"
    data.mkdir()
    server = milvus_server.Server(data)
    server.start()
    try:
        settings = {
            "engine": "milvus", "milvus": {"uri": server.address, "prefix": milvus_server.PREFIX}, "search": {"deadline": 10.0},
        }  # fmt: skip
        with opened(tmp_path, **settings) as library:
            vectors = fill(library, tmp_path)
            assert any(one.startswith("vector") for one in found_in(data, VALUES, vectors))
            assert library.erasures.erase(library.erasures.person(VALUES)).state == "done"
            assert found_in(data, VALUES, vectors) == []
            sought = [*vectors, *(form for value in VALUES for form in forms(value).values())]
            held = decoded(data)
            assert len(held) > 100
            assert not [one for one in held for form in sought if form in one]
    finally:
        server.crash()
