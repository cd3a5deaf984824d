"""What a task was given is counted by all processes together, survives them, and is forgotten in time."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from wenyuan.catalog.tasks import TaskLedger
from wenyuan.core.errors import CatalogError, CatalogUnavailable, InvalidRequest
from wenyuan.service.context import ContextRequest

LONG = "".join(
    f"第{n}条 客户投诉第{n}类由{n}号窗口负责，complaints of kind {n} go to desk {n}。\n\n" for n in range(1, 61)
)
LIMIT = 120
OPTIONS: dict[str, Any] = {"encoder": {"kind": "hashing"}, "search": {"floor": 0, "deadline": 60}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A library with one text of which little may be quoted, and one without limits."""
    with wenyuan.open(tmp_path / "library", create=True, **OPTIONS) as library:
        for name, terms in (("guarded", f"excerpt<={LIMIT}"), ("free", "")):
            (tmp_path / name).mkdir()
            (tmp_path / name / "a.md").write_text(f"{name} {LONG}")
            library.add(wenyuan.Source(source_id=name, domain=name, path=str(tmp_path / name), copyright=terms))
    return tmp_path / "library"


def given(folder: Path, numbers: range, task: str = "ticket 4711", domain: str = "guarded") -> list[str]:
    """What contexts of a task quote, asked for by a process of its own."""
    with wenyuan.open(folder, **OPTIONS) as library:
        contexts = [
            library.get_context(
                ContextRequest(retrieval_query=f"客户投诉第{n}类 desk {n}", top_k={domain: 3}, task_id=task)
            )
            for n in numbers
        ]
    return [s.content for c in contexts for s in c.build.snippets]


def quoted(contents: list[str]) -> int:
    return sum(not c.isspace() and c != "…" for c in "".join(contents))


def test_two_processes_keep_one_limit(folder: Path) -> None:
    """Two processes that serve one task at once give together what one may give, and not less than half of it."""
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        parts = list(pool.map(given, [folder] * 2, [range(1, 30), range(30, 59)]))
    assert LIMIT / 2 < quoted([text for part in parts for text in part]) <= LIMIT


def test_a_restart_forgets_nothing(folder: Path) -> None:
    """A library that is opened again goes on counting; another task begins anew."""
    first = given(folder, range(1, 9))
    assert 0 < quoted(first) <= LIMIT
    assert quoted(first + given(folder, range(20, 28))) <= LIMIT
    assert quoted(given(folder, range(1, 9), task="another")) == quoted(first)


def test_what_has_no_limit_is_not_counted(folder: Path) -> None:
    """Contexts of sources without limits of copyright, and those without a task, make no file."""
    assert quoted(given(folder, range(1, 4), domain="free")) > LIMIT
    assert given(folder, range(1, 4), task="")
    assert not (folder / "tasks.db").exists()


def test_a_count_that_fails_gives_nothing(folder: Path) -> None:
    """When it cannot be counted there is no context, the error names the file, and the failure is audited."""
    (folder / "tasks.db").write_bytes(b"no database at all" * 300)
    asked = ContextRequest(retrieval_query="客户投诉 desk", top_k={"guarded": 3}, task_id="t")
    with wenyuan.open(folder, **OPTIONS) as library:
        with pytest.raises(CatalogUnavailable) as caught:
            library.get_context(asked)
        library.audit.flush()
        (record,) = library.audit.list(kind="retrieval")
    assert caught.value.component == "tasks"
    assert "tasks.db" in caught.value.hint
    assert (record.record["status"], record.record["fragments"]) == ("FAILED", [])


class Clock:
    """A clock that tests set."""

    at = 1_000_000.0

    def __call__(self) -> float:
        return self.at


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ledger(tmp_path: Path, clock: Clock) -> Iterator[TaskLedger]:
    made = TaskLedger(tmp_path, clock=clock, kept=100.0, most=600)
    yield made
    made.close()


def add(ledger: TaskLedger, task: str, characters: int, document: str = "urn:a", agent: str | None = None) -> int:
    """Give so many characters more; returns how many there are then."""
    with ledger.reserved(agent, task, {document}) as counts:
        counts[document] = counts.get(document, 0) + characters
    return counts[document]


def test_counts_are_apart(ledger: TaskLedger) -> None:
    """Each document of each task of each agent has a count of its own."""
    assert [add(ledger, "t", 5), add(ledger, "t", 5)] == [5, 10]
    assert add(ledger, "u", 1) == add(ledger, "t", 1, "urn:b") == add(ledger, "t", 1, agent="a") == 1
    assert add(ledger, "任务", 7, agent="客服") == 7


def test_only_what_is_counted_is_written(ledger: TaskLedger) -> None:
    """Documents that were not named are not written down, though the mapping says something of them."""
    with ledger.reserved(None, "t", {"urn:a"}) as counts:
        counts.update({"urn:a": 3, "urn:b": 4})
    assert (add(ledger, "t", 0), add(ledger, "t", 0, "urn:b")) == (3, 0)


def test_what_fails_is_not_counted(ledger: TaskLedger) -> None:
    """A decision that raises has given nothing, and its error comes out as it is."""
    with pytest.raises(InvalidRequest, match="no"), ledger.reserved(None, "t", {"urn:a"}) as counts:
        counts["urn:a"] = 9
        raise InvalidRequest("no")
    assert add(ledger, "t", 0) == 0


def test_neither_names_nor_texts_are_kept(ledger: TaskLedger, tmp_path: Path) -> None:
    """No file holds the name of an agent, a task or a document."""
    add(ledger, "ticket-of-zhang-san", 5, "urn:secret-dossier", "agent-cobalt")
    ledger.close()
    held = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert held
    assert not any(name in held for name in (b"zhang-san", b"dossier", b"cobalt"))


def test_old_tasks_are_forgotten(ledger: TaskLedger, clock: Clock) -> None:
    """A task that was not used for so long is forgotten; one that was is not, however old."""
    add(ledger, "old", 5)
    for task in ("kept", "kept"):
        add(ledger, task, 5)
        clock.at += 60
    for n in range(500):
        add(ledger, f"{n}", 1)
    assert (add(ledger, "old", 0), add(ledger, "kept", 0)) == (0, 10)


def test_the_oldest_of_too_many_are_forgotten(tmp_path: Path, clock: Clock) -> None:
    """Of more documents than are remembered, those used longest ago go."""
    ledger = TaskLedger(tmp_path, clock=clock, kept=1e9, most=100)
    for n in range(501):
        clock.at += 1
        add(ledger, f"task {n}", 1)
    assert (add(ledger, "task 10", 0), add(ledger, "task 450", 0)) == (0, 1)
    ledger.close()


def test_a_folder_that_is_gone(tmp_path: Path) -> None:
    """Where no file can be made, nothing is given."""
    ledger = TaskLedger(tmp_path / "gone")
    with pytest.raises(CatalogError), ledger.reserved(None, "t", {"urn:a"}):
        pytest.fail("it may not come so far")
