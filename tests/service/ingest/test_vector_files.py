"""Passages that were cut and embedded elsewhere: what is taken in of a file, what is refused, and that it is governed like any source."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import wenyuan
from wenyuan.core.errors import DocumentRejected, KnowledgeError, SourceError
from wenyuan.core.vector_files import is_vector_file
from wenyuan.encoders.checking import HashingEncoder
from wenyuan.readers.vector_rows import describe, read_rows
from wenyuan.service.library import Library

DIMENSION = 32
ENCODER = {"kind": "hashing", "dimension": DIMENSION}
TEXTS = [
    f"第 {n} 条 Rule {n} of the {word} office: answered within {n + 2} days."
    for n, word in enumerate("north south east west upper lower inner outer old new".split())
]


def vectors_of(texts: Sequence[str]) -> Any:
    return np.asarray(HashingEncoder(DIMENSION).encode_passages(list(texts)), np.float32)


def table(texts: Sequence[str] = TEXTS, *, encoder: str | None = "hashing", **columns: Any) -> pa.Table:
    """A file's rows: ids, texts and their vectors, three times as long as they should be; or other columns."""
    given = {
        "id": [f"r{n}" for n in range(len(texts))],
        "text": list(texts),
        "vector": (3 * vectors_of(texts)).tolist(),
        **columns,
    }
    made = pa.table({name: values for name, values in given.items() if values is not None})
    return made.replace_schema_metadata({} if encoder is None else {"wenyuan.encoder": encoder})


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    with wenyuan.open(tmp_path / "library", create=True, encoder=ENCODER) as found:
        yield found


@pytest.fixture
def take(library: Library, tmp_path: Path) -> Callable[..., Any]:
    """Takes a table in, as a file of a source."""

    def taken(rows: pa.Table | None = None, *, settings: Mapping[str, Any] = {}, **more: Any) -> Any:
        file = tmp_path / "passages.parquet"
        if rows is not None:
            pq.write_table(rows, file)
        source = wenyuan.Source(source_id="wiki", path=str(file), settings={"format": "vectors", **settings}, **more)
        return library.add(source)

    return taken


def stored(library: Library) -> dict[str, tuple[str, Any]]:
    """By id of the row: the text and the vector that are live."""
    query = (
        "SELECT p.uri, p.text, v.vector FROM passages p JOIN vectors v USING (vector_key) WHERE p.removed_seq IS NULL"
    )
    with library.catalog.database.reading("comparing") as connection:
        rows = connection.exec_driver_sql(query).all()
    return {
        uri.partition("?id=")[2].partition("#")[0]: (text, np.frombuffer(vector, "<f4")) for uri, text, vector in rows
    }


def test_taken_in(library: Library, take: Callable[..., Any]) -> None:
    """Each row is one passage with its own vector, of length 1, found by it; nothing is embedded."""
    long = "A very long passage that was cut elsewhere. " * 80
    report = take(table([*TEXTS, long], title=[f"Title {n}" for n in range(len(TEXTS) + 1)]))
    assert (report.added, report.passages, report.embedded, report.vectors_given) == (11, 11, 0, 11)
    assert not report.failed
    found = stored(library)
    assert found["r10"][0] == long.strip()
    for n, vector in enumerate(vectors_of([*TEXTS, long])):
        assert found[f"r{n}"][1] == pytest.approx(vector, abs=1e-6)
    hit = library.search(TEXTS[3]).hits[0]
    assert hit.passage_id == 4
    assert library.readiness().ready


@pytest.mark.parametrize("kind", ["arrow", "feather", "groups", "double", "half", "large", "fixed", "folder"])
def test_kinds_of_files(library: Library, tmp_path: Path, kind: str) -> None:
    """Parquet in groups of rows, Arrow, numbers of other widths, and a folder of files, which Spark writes."""
    value = {"double": pa.float64(), "half": pa.float16()}.get(kind, pa.float32())
    of = {"large": pa.large_list(value), "fixed": pa.list_(value, DIMENSION)}.get(kind, pa.list_(value))
    given = vectors_of(TEXTS).astype(np.float16 if kind == "half" else np.float32)
    rows = table(vector=pa.array(list(given), of))
    path = tmp_path / "passages.parquet"
    if kind in ("arrow", "feather"):
        path = path.with_suffix(f".{kind}")
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, rows.schema) as writer:
            writer.write_table(rows, max_chunksize=3)
    elif kind == "folder":
        path = tmp_path / "parts"
        path.mkdir()
        for n in range(2):
            pq.write_table(rows.slice(5 * n, 5), path / f"part-{n}.parquet")
        (path / "_SUCCESS").write_text("")
    else:
        pq.write_table(rows, path, row_group_size=3 if kind == "groups" else None)
    report = library.add(wenyuan.Source(source_id="wiki", path=str(path), settings={"format": "vectors"}))
    assert (report.added, report.failed) == (len(TEXTS), {})
    found = stored(library)
    for n, vector in enumerate(vectors_of(TEXTS)):
        assert found[f"r{n}"][1] == pytest.approx(vector, abs=1e-3 if kind == "half" else 1e-6)


def test_rows_that_are_refused(take: Callable[..., Any], library: Library) -> None:
    """By their places, with the reason; the others are taken."""
    given: list[Any] = vectors_of(TEXTS).tolist()
    given[1] = given[1][:-1]
    given[2][5] = float("nan")
    given[3][0] = float("-inf")
    given[4] = [0.0] * DIMENSION
    given[5] = None
    texts: list[Any] = [*TEXTS]
    texts[6] = None
    ids = [f"r{n}" for n in range(10)]
    ids[8] = "r7"
    report = take(table(texts=TEXTS, text=texts, vector=given, id=ids))
    assert report.added == 3
    assert set(stored(library)) == {"r0", "r7", "r9"}
    told = sorted((uri.rpartition("?")[2].replace("%3D", "="), reason) for uri, reason in report.failed.items())
    reasons = dict(told)
    assert "its vector has 31 dimensions, not 32" in reasons["id=r1"]
    assert "no number" in reasons["id=r2"]
    assert "no number" in reasons["id=r3"]
    assert "its vector is zero" in reasons["id=r4"]
    assert "its vector has 0 dimensions" in reasons["id=r5"]
    assert "row 7: it has no text" in reasons["id=r6"]
    assert "stands twice" in reasons["id=r7"]


def test_rows_whose_values_cannot_be_read(take: Callable[..., Any], library: Library) -> None:
    """One row's metadata that is none, text that is no UTF-8, or day that no calendar has, is that row's fault alone."""
    metadata = ['{"a": 1}', "{", "[1]", "[" * 5000, '"word"', "null", "", None, '{"b": 2}', '{"c": 3}']
    words = pa.array([text.encode() for text in TEXTS[:8]] + [b"\xff\xfe not UTF-8", TEXTS[9].encode()], pa.binary())
    days = pa.array([0] * 9 + [2**31 - 1], pa.int32()).cast(pa.date32())
    report = take(table(text=words.view(pa.string()), metadata=metadata, effective_from=days))
    assert set(stored(library)) == {"r0", "r5", "r6", "r7"}
    told = {uri.rpartition("?id=")[2]: reason for uri, reason in report.failed.items()}
    assert {row: told[row].partition(": ")[2] for row in told} == {
        **dict.fromkeys(("r1", "r2", "r3", "r4"), "'metadata' is not an object"),
        "r8": "its column 'text' holds what cannot be read",
        "r9": "its column 'effective_from' holds what cannot be read",
    }


def test_a_row_that_is_refused_later_keeps_what_it_had(take: Callable[..., Any], library: Library) -> None:
    """It is not gone: it could not be read, as with a vector that does not fit."""
    take(table())
    texts: list[Any] = [*TEXTS]
    texts[6] = None
    report = take(table(text=texts, vector=vectors_of(TEXTS).tolist()))
    assert (report.retired, len(report.failed)) == (0, 1)
    assert stored(library)["r6"][0] == TEXTS[6]


@pytest.mark.parametrize("kind", ["an encrypted Parquet file", "an Arrow stream", "a Feather file of version 1"])
def test_kinds_of_files_that_are_not_read(take: Callable[..., Any], tmp_path: Path, kind: str) -> None:
    """What other programs write under the same endings is named, so that nobody looks for damage that is not there."""
    file = tmp_path / "passages.parquet"
    if kind == "an Arrow stream":
        with pa.OSFile(str(file), "wb") as sink, pa.ipc.new_stream(sink, table().schema) as writer:
            writer.write_table(table())
    else:
        mark = b"PARE" if "encrypted" in kind else b"FEA1"
        file.write_bytes(mark + bytes(100) + mark)
    with pytest.raises(KnowledgeError, match=f"it is {kind}; write it"):
        take()


def test_a_column_that_stands_twice(take: Callable[..., Any]) -> None:
    """Nobody can say which one counts."""
    rows = table()
    with pytest.raises(KnowledgeError, match="its column 'text' stands twice"):
        take(rows.append_column("text", rows["text"]))


def test_many_rows_that_are_refused(take: Callable[..., Any]) -> None:
    """Beyond some they are counted."""
    texts = [f"{TEXTS[n % 10]} {n}" for n in range(500)]
    given: list[Any] = vectors_of(texts).tolist()
    given[20:] = [[1.0]] * 480
    report = take(table(texts, vector=given))
    assert report.added == 20
    assert len(report.failed) == 201
    assert any("280 more rows were refused" in reason for reason in report.failed.values())


@pytest.mark.parametrize(
    ("rows", "settings", "told"),
    [
        (
            lambda: table(encoder=None),
            {},
            "does not say what made its vectors; if it was this library's encoder: --encoder 'hashing'",
        ),
        (lambda: table(encoder="bge-m3"), {}, "its vectors are of 'bge-m3', and the library embeds with 'hashing'"),
        (table, {"encoder": "bge-m3"}, "its vectors are of 'bge-m3'"),
        (lambda: table(vector=None), {}, "it has no column 'vector' or 'embedding'"),
        (lambda: table(vector=TEXTS), {}, "holds no lists of numbers"),
        (lambda: table(vector=[[1, 2]] * 10), {}, "holds no lists of numbers"),
        (lambda: table(vector=vectors_of(TEXTS[::-1]).tolist()), {}, "another encoder made them"),
        (lambda: table(text=None, body=TEXTS), {}, "it has no text"),
        (lambda: table([]), {}, "it holds no rows"),
    ],
)
def test_files_that_are_refused(
    library: Library, take: Callable[..., Any], rows: Callable[[], pa.Table], settings: dict[str, str], told: str
) -> None:
    """What is not this library's own is refused by name, and no source is left behind."""
    with pytest.raises(SourceError) as caught:
        take(rows(), settings=settings)
    assert told in str(caught.value)
    assert not library.sources()


def test_the_encoder_by_setting(take: Callable[..., Any]) -> None:
    """Where the file does not say what made its vectors, the source may."""
    assert take(table(encoder=None), settings={"encoder": "hashing"}).added == 10


def test_a_library_without_an_encoder(tmp_path: Path) -> None:
    """Nobody could ask for vectors there."""
    pq.write_table(table(), tmp_path / "p.parquet")
    source = wenyuan.Source(source_id="wiki", path=str(tmp_path / "p.parquet"), settings={"format": "vectors"})
    with (
        wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"}) as plain,
        pytest.raises(SourceError, match="no encoder"),
    ):
        plain.add(source)


@pytest.mark.parametrize("harm", ["noise", "cut", "empty", "header"])
def test_damaged_files(take: Callable[..., Any], tmp_path: Path, harm: str) -> None:
    """They cost one reading process at most, and are refused."""
    take(table())
    file = tmp_path / "passages.parquet"
    whole = file.read_bytes()
    middle = len(whole) // 2
    file.write_bytes(
        {
            "noise": whole[:100] + os.urandom(middle) + whole[100 + middle :], "cut": whole[:middle], "empty": b"",
            "header": b"PAR1" + os.urandom(2_000) + b"PAR1",
        }[harm]
    )  # fmt: skip
    report = take()
    assert report.failed
    assert report.retired == 0


@pytest.mark.parametrize("column", ["readers", "Deny", "copyright", "sensitivity", "trust"])
def test_a_column_that_restricts_rows_is_refused(take: Callable[..., Any], column: str) -> None:
    """What a row says of who may have it is not read: passed over, its rows would be everybody's."""
    with pytest.raises(KnowledgeError, match=f"its column '{column}' restricts its rows") as told:
        take(table(**{column: ["board"] * len(TEXTS)}))
    assert "sources of their own" in str(told.value)


def test_unknown_columns_are_told(take: Callable[..., Any]) -> None:
    """Columns that nobody reads are named."""
    report = take(table(score=[0.5] * 10, 备注=["x"] * 10))
    assert [note for notes in report.notes.values() for note in notes] == ["left out columns: score, 备注"]


@pytest.mark.parametrize("written", ["structure", "json", "map"])
def test_facets_and_days(library: Library, take: Callable[..., Any], written: str) -> None:
    """A row says what a line of JSON Lines says: facets, in whatever way; a collection; days from and until which it counts."""
    facets = {"tag": "a", "more": "b"}
    given: Any = [facets] * 10 if written == "structure" else [json.dumps(facets)] * 10
    if written == "map":
        given = pa.array([list(facets.items())] * 10, pa.map_(pa.string(), pa.string()))
    day = date(2020, 1, 1)
    take(table(metadata=given, collection=["forms"] * 10, effective_from=[day] * 10))
    with library.catalog.database.reading("looking") as connection:
        rows = connection.exec_driver_sql("SELECT DISTINCT facets, collection, effective_from FROM documents").all()
    ((held, collection, begins),) = rows
    assert facets.items() <= json.loads(held).items()
    assert (collection, begins) == ("forms", day.toordinal())


def test_redaction_makes_vectors_anew(library: Library, take: Callable[..., Any]) -> None:
    """Where something is taken out of a text, the vector that came with it goes, too, and is made of what is left."""
    texts = [*TEXTS]
    texts[4] = "Write to mary.jones@example.org or call 13812345678 about the harbour."
    report = take(table(texts), sensitivity="confidential")
    assert (report.vectors_given, report.vectors_made) == (9, 1)
    assert report.redacted
    text, vector = stored(library)["r4"]
    assert "13812345678" not in text
    assert vector != pytest.approx(vectors_of(texts)[4], abs=1e-3)


def test_vectors_belong_to_their_source(library: Library, take: Callable[..., Any], tmp_path: Path) -> None:
    """The same text of another source has the vector that is made here: nobody's file decides where it is found."""
    given = vectors_of(TEXTS)
    given[0] = -given[0]
    take(table(vector=given.tolist()))
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "a.txt").write_text(TEXTS[0], "utf-8")
    report = library.add(wenyuan.Source(source_id="own", path=str(folder)))
    assert report.embedded == 1
    query = "SELECT v.vector FROM passages p JOIN vectors v USING (vector_key) WHERE p.source_id = 'own'"
    with library.catalog.database.reading("looking") as connection:
        vector = np.frombuffer(connection.exec_driver_sql(query).scalar_one(), "<f4")
    assert float(vector @ given[0]) < 0.0


def test_again(library: Library, take: Callable[..., Any]) -> None:
    """What is as before is left; a vector that has changed is a change, and a row that is gone is retired."""
    take(table())
    assert take().unchanged == 10
    given = 3 * vectors_of(TEXTS)
    given[2] = given[2] + 0.1
    report = take(table(vector=given.tolist()).slice(0, 9))
    assert (report.unchanged, report.changed, report.retired) == (8, 1, 1)
    assert stored(library)["r2"][1] == pytest.approx(given[2] / np.linalg.norm(given[2]), abs=1e-6)


def test_with_a_scanner(tmp_path: Path) -> None:
    """It sees whole files alone, so files that are read in parts are refused."""
    pq.write_table(table(), tmp_path / "p.parquet")
    source = wenyuan.Source(source_id="wiki", path=str(tmp_path / "p.parquet"), settings={"format": "vectors"})
    with (
        wenyuan.open(tmp_path / "library", create=True, encoder=ENCODER, redaction={"scanner": "true"}) as scanned,
        pytest.raises(SourceError, match="scanner sees whole files"),
    ):
        scanned.add(source)


KILLED = """
import os, signal, sys
import wenyuan
from wenyuan.catalog import Catalog
from wenyuan.service.ingest import source_run
source_run._BATCH_PLAIN = 100
commit, left = Catalog.commit_documents, [int(sys.argv[3])]
def dying(self, *given, **named):
    found = commit(self, *given, **named)
    left[0] -= 1
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
    return found
Catalog.commit_documents = dying
with wenyuan.open(sys.argv[1], encoder={"kind": "hashing", "dimension": 32}) as library:
    library.add(wenyuan.Source(source_id="wiki", path=sys.argv[2], settings={"format": "vectors"}))
"""


@pytest.mark.slow
def test_killed_and_gone_on_with(library: Library, tmp_path: Path) -> None:
    """After kill -9 behind any commit, another run takes in what is left: nothing is lost, and nothing is there twice."""
    texts = [f"{TEXTS[n % 10]} number {n}" for n in range(1_000)]
    file = tmp_path / "p.parquet"
    pq.write_table(table(texts), file, row_group_size=300)
    for number in (1, 4, 8):
        made = tmp_path / f"library{number}"
        wenyuan.open(made, create=True, encoder=ENCODER).close()
        ended = subprocess.run([sys.executable, "-c", KILLED, str(made), str(file), str(number)], check=False)
        assert ended.returncode == -signal.SIGKILL
        with wenyuan.open(made, encoder=ENCODER) as found:
            report = found.add(wenyuan.Source(source_id="wiki", path=str(file), settings={"format": "vectors"}))
            assert report.unchanged == 100 * number
            assert (report.added, len(stored(found))) == (1_000 - 100 * number, 1_000)
            assert found.catalog.counts("wiki")["passages"] == 1_000


def test_rows_are_read_in_any_order(tmp_path: Path) -> None:
    """The reading process begins anew at whichever row is asked for."""
    texts = [f"{TEXTS[n % 10]} number {n}" for n in range(2_000)]
    file = tmp_path / "p.parquet"
    pq.write_table(table(texts), file, row_group_size=700)
    assert describe(b"", path=str(file))["rows"] == 2_000
    for first in (0, 1_900, 699, 700, 1_401, 3):
        asked = read_rows(b"", path=str(file), uri="file:///p.parquet", name="p.parquet", first=first, count=5)
        assert [one["text"] for one in asked["documents"]] == texts[first : first + 5]


def test_no_such_file(tmp_path: Path) -> None:
    """What is no table is refused with its name."""
    (tmp_path / "p.parquet").write_bytes(b"PAR1 nothing")
    with pytest.raises(DocumentRejected, match="no Parquet or Arrow file"):
        describe(b"", path=str(tmp_path / "p.parquet"))
    assert is_vector_file("P.Parquet")
    assert not is_vector_file("parquet")


def test_from_elsewhere(library: Library) -> None:
    """A connector does not read them."""
    source = wenyuan.Source(source_id="wiki", path="https://127.0.0.1:9/p.parquet", settings={"format": "vectors"})
    with pytest.raises(KnowledgeError, match="from this machine alone"):
        library.add(source)


def test_a_public_id_is_not_what_made_the_vectors(
    library: Library, take: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under the id of a model that has weights here others embed with other ones: the name must carry which."""
    assert library.encoder is not None
    own = replace(library.encoder.fingerprint, id="multilingual-e5-small", sha256="ab" * 32)
    monkeypatch.setattr(library.encoder, "fingerprint", own, raising=False)
    with pytest.raises(
        SourceError, match=r"of 'multilingual-e5-small', and .* with 'multilingual-e5-small@abababababababab'"
    ):
        take(table(encoder="multilingual-e5-small"))
    assert take(table(encoder="multilingual-e5-small@abababababababab")).added == 10
