"""What somebody is answered does not move with documents that are hidden from them: scores, probabilities, refusals, missing terms."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from engine_settings import ON_SERVERS, settings_of
from sight_library import WU, answer, questions, request, twice
from wenyuan.core.access import Principal
from wenyuan.core.hidden_documents import HiddenDocuments

BOARD = Principal(
    key_id="b", rights=frozenset({"retrieve", "search"}), user="user:li", groups=frozenset({"group:board"})
)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, Any]]:
    with twice(tmp_path_factory.mktemp("sight"), english=True) as made:
        yield made


def compare(both: tuple[Any, Any], count: int) -> None:
    """Ask both libraries the same questions."""
    refused = 0
    for number, question in enumerate(questions(count)):
        found, expected = (answer(library, question, number) for library in both)
        assert found == expected, question
        refused += not expected["passages"]
    assert refused > count // 20


def test_answers_are_those_of_a_library_without_the_hidden_documents(both: tuple[Any, Any], thorough: bool) -> None:
    """Passages, scores to four digits, probabilities, reasons, missing terms and nearest passages are the same."""
    compare(both, 2_000 if thorough else 220)


def test_so_they_are_where_only_hidden_documents_are_in_english(tmp_path: Path, thorough: bool) -> None:
    """That a library has both languages counts only where both are in view."""
    with twice(tmp_path, english=False) as made:
        compare(made, 2_000 if thorough else 220)


@pytest.mark.parametrize("engine", ON_SERVERS)
def test_so_they_are_on_servers(engine: str, request: pytest.FixtureRequest, tmp_path: Path, thorough: bool) -> None:
    """PostgreSQL and Milvus count what is in view, too."""
    with twice(tmp_path, english=True, engine=lambda: settings_of(engine, request)) as made:
        compare(made, 220 if thorough or engine == "postgres" else 80)


def test_whom_the_hidden_documents_are_for_is_answered_with_them(both: tuple[Any, Any]) -> None:
    """The comparison is of something: who may read them gets other scores from the same questions, asked in turn."""
    differ, asked = 0, questions(40, seed=8)
    for number, question in enumerate(asked):
        found, others, expected = (
            answer(both[0], question, number),
            answer(both[0], question, number, BOARD),
            answer(both[1], question, number),
        )
        assert found == expected
        differ += others != found
    assert differ > len(asked) // 2


def test_caches_do_not_cross(both: tuple[Any, Any]) -> None:
    """Asked by both at once, from several threads, each is answered as alone."""
    asked = list(enumerate(questions(40, seed=9)))
    alone = {
        who.key_id: [answer(both[0], question, number, who) for number, question in asked] for who in (WU, BOARD)
    }
    both[0]._searcher.forget_answers()
    start = threading.Barrier(4)

    def ask(who: Principal) -> list[Any]:
        start.wait()
        return [answer(both[0], question, number, who) for number, question in asked]

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(ask, [WU, BOARD, WU, BOARD]))
    assert found == [alone["w"], alone["b"], alone["w"], alone["b"]]


def test_a_change_of_readers_counts_for_the_next_question(both: tuple[Any, Any]) -> None:
    """As soon as the hidden documents may be read, they count; as soon as they may not, no more."""
    (number, question) = next(
        (n, q) for n, q in enumerate(questions(40, seed=8)) if answer(both[0], q, n) != answer(both[0], q, n, BOARD)
    )
    hidden, board = answer(both[0], question, number), answer(both[0], question, number, BOARD)
    both[0].catalog.set_group("board", ["user:wu"])
    assert answer(both[0], question, number) == board
    both[0].catalog.set_group("board", [])
    assert answer(both[0], question, number) == hidden


def test_a_replay_has_the_statistics_of_then(both: tuple[Any, Any]) -> None:
    """A recorded question is replayed with the sight of whoever asked it, and finds the same."""
    library = both[0]
    for number, question in list(enumerate(questions(12, seed=4)))[::3]:
        found = library.find(request(question, number), WU)
        for exact in (False, True):
            outcome = library.replay(found.audit_ids[0], exact=exact)
            assert outcome.identical, (question, outcome.differences)


def test_statistics_may_be_shared(tmp_path: Path) -> None:
    """`search.shared_statistics` takes them of the whole library; still nothing hidden is given, or meant by a misspelled word."""
    with twice(tmp_path, english=True, search={"deadline": 30, "shared_statistics": True}) as (shared, alone):
        differ = 0
        for number, question in enumerate(questions(60)):
            found, expected = answer(shared, question, number), answer(alone, question, number)
            differ += found != expected
            assert not [one for one in found["passages"] if "-h.md" in one["uri"]]
        assert differ > 20


def test_who_may_read_all_is_scored_by_the_index_itself(
    both: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is counted anew for whom nothing is hidden from."""
    library = both[0]

    def fail(*args: Any, **more: Any) -> Any:
        raise AssertionError("counted within a sight")

    sight = library._retriever._engine._view.sight
    for name in ("information", "best", "scores", "mean_cosine", "chinese_share"):
        monkeypatch.setattr(type(sight), name, fail)
    assert isinstance(library.catalog.hidden(), HiddenDocuments | None)
    answer(library, "年假怎么办理？还有多少天", 0, BOARD)
    answer(library, "年假怎么办理？还有多少天", 0, Principal())
    with pytest.raises(AssertionError):
        answer(library, "年假怎么办理？还有多少天", 0)
