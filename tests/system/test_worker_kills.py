"""kill -9 of workers that take one source in together: nothing is lost, nothing is there twice, and nobody has to help."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from catalog_parts import dropped, dsn_of, on_server
from wenyuan.core.sources import SourceState

pytestmark = [pytest.mark.slow, pytest.mark.integration]

DOCUMENTS = 24
COUNTS = {
    "SELECT count(*) FROM documents WHERE removed_seq IS NULL": DOCUMENTS,
    "SELECT count(*) FROM documents": DOCUMENTS + 1,  # the one that is gone; none was committed twice
    "SELECT count(*) FROM passages": DOCUMENTS + 1,
    "SELECT count(*) FROM passages p LEFT JOIN vectors v USING (vector_key) WHERE v.vector_key IS NULL": 0,
    "SELECT count(*) FROM embedding_batches": 0,
}
Round = Callable[[list[dict[str, Any]]], dict[str, Any]]


@pytest.fixture(scope="module")
def workers() -> Iterator[Round]:
    """Lets workers run, and returns how they ended."""
    arguments = [sys.executable, str(Path(__file__).parents[1] / "support" / "worker_child.py")]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def run(commands: list[dict[str, Any]]) -> dict[str, Any]:
            assert process.stdin is not None
            assert process.stdout is not None
            print(json.dumps(commands), file=process.stdin, flush=True)
            answer: dict[str, Any] = json.loads(process.stdout.readline())
            assert not any(answer["failed"]), "a worker raised; see its standard error"
            return answer

        yield run
        process.stdin.close()


def taken_in(
    folder: Path, catalog: dict[str, Any] | None, killed: list[dict[str, Any]], run: Round
) -> dict[str, Any]:
    """A round in a new library: workers of which some are killed, and one that goes on; then everything is compared."""
    docs, more = folder.with_suffix(".docs"), {"catalog": catalog} if catalog else {}
    docs.mkdir()
    (docs / "gone.md").write_text("# Gone\n\nIt was here before.\n", "utf-8")
    with wenyuan.open(folder, create=True, encoder={"kind": "hashing"}, **more) as library:
        library.add(wenyuan.Source(source_id="docs", path=str(docs), refresh_cycle="P365D"))
        library.catalog.put_source_state(SourceState(source_id="docs", next_refresh=0.0))
    (docs / "gone.md").unlink()
    for number in range(DOCUMENTS):
        text = f"# 第 {number} 章\n\nRule {number}: a complaint is answered within {number + 1} days.\n"
        (docs / f"{number:02}.md").write_text(text, "utf-8")
    where = {"folder": str(folder), "catalog": catalog}
    answer = run([*({**where, **one} for one in killed), where])
    with wenyuan.open(folder, encoder={"kind": "hashing"}, **more) as library:
        live = library.catalog.live_documents("docs")
        assert sorted(uri[-5:] for uri in live) == [f"{n:02}.md" for n in range(DOCUMENTS)]
        with library.catalog.database.reading("comparing") as connection:
            counts = {query: connection.exec_driver_sql(query).scalar_one() for query in COUNTS}
            numbers = (
                connection.exec_driver_sql("SELECT passage_id FROM passages ORDER BY passage_id").scalars().all()
            )
        assert counts == COUNTS
        assert not library.catalog.failures("docs")
        # A server gives no number twice, those of a change that was given up neither: their order is what is kept.
        found = library.search("rule 17 complaint").hits[0].passage_id
        assert numbers.index(found) == 18, "in the order of one worker's run"
        assert catalog is not None or found == 1 + 18
        library.audit.verify()
    return answer


def places(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Path, dict[str, Any] | None]]:
    """New places for libraries, one after the other."""
    number = 0
    while True:
        number += 1
        folder = tmp_path / f"library{number}"
        if kind == "files":
            yield folder, None
            continue
        made = on_server(request.getfixturevalue("database"), folder)
        yield folder, {"dsn": dsn_of(made), "schema_name": made.schema, "sessions": 4}
        dropped(made)


@pytest.mark.parametrize("kind", ["files", "server"])
def test_killed_after_each_effect(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path, workers: Round, thorough: bool
) -> None:
    """A worker ends right after its nth effect on the catalog, for every nth that there is: the other one ends the work."""
    found = places(kind, request, tmp_path)
    alone = taken_in(*next(found), [], workers)
    effects = alone["effects"][0]
    assert effects > 20
    step = 1 if thorough else max(1, effects // 8)
    deaths = 0
    for die_at in range(1, effects, step):
        answer = taken_in(*next(found), [{"die_at": die_at}], workers)
        deaths += answer["killed"][0]
    assert deaths


@pytest.mark.parametrize("kind", ["files", "server"])
def test_killed_at_random(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path, workers: Round, thorough: bool
) -> None:
    """Two of three workers are killed at random moments."""
    found, chance = places(kind, request, tmp_path), random.Random(7)
    for _ in range(30 if thorough else 3):
        killed = [{"after": chance.uniform(0.0, 0.8)} for _ in range(2)]
        taken_in(*next(found), killed, workers)
