"""What a library that answers while it is written to holds in memory: a few states of it, however many there were."""

from __future__ import annotations

import gc
import threading
from pathlib import Path

import wenyuan
from wenyuan.core.model import Source
from wenyuan.engines.local.engine import _View
from wenyuan.service.search.searcher import SearchRequest

WRITES = 200
WARM = 20


def held() -> dict[str, int]:
    """Open files, threads, and states of an index that are alive in this process."""
    gc.collect()
    views = sum(type(one) is _View for one in gc.get_objects())
    return {"files": len(list(Path("/proc/self/fd").iterdir())), "threads": threading.active_count(), "views": views}


def test_states_of_the_index_do_not_pile_up(tmp_path: Path) -> None:
    """After two hundred changes, each followed by questions, as many files, threads and states of the index are held as
    after twenty; and answers of the last state alone.
    """
    text = tmp_path / "notes.md"
    text.write_text("# Notes\n", "utf-8")
    source = Source(source_id="notes", path=str(text))
    others = held()["views"]  # of libraries that other tests have open in this process
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "hashing"}) as library:
        after: dict[str, int] = {}
        for number in range(WRITES):
            text.write_text(f"# Notes\n\nThe valve was checked for the {number}th time.\n", "utf-8")
            library.add(source)
            for query in ("valve checked", "notes"):
                assert library.find(SearchRequest(query=query)).passages
            if number == WARM:
                after = held()
        assert held()["views"] <= others + 2
        assert all(now <= after[name] + 2 for name, now in held().items()), (after, held())
        assert library.health.searcher.cache_counts().values <= 2
