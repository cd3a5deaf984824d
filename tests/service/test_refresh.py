"""Reading a source again: the work is that of what changed, and readers never notice the swap."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from wenyuan.core.model import Source
from wenyuan.service.search.searcher import SearchRequest

FILES = 1_000


def opened(folder: Path, **more: Any) -> tuple[wenyuan.Library, list[str]]:
    """A library, and the texts that it embeds from now on."""
    library = wenyuan.open(folder, create=True, encoder={"kind": "hashing", "dimension": 64}, **more)
    embedded: list[str] = []
    encoder: Any = library.encoder
    encode = encoder.encode_passages

    def counting(texts: Sequence[str], **options: Any) -> Any:
        embedded.extend(texts)
        return encode(texts, **options)

    encoder.encode_passages = counting
    return library, embedded


def card(number: int, deadline: str = "five days") -> str:
    return (
        f"# Card {number}\n\n## Deadline\n\nComplaint {number} 投诉 is answered within {deadline}.\n\n"
        f"## Owner\n\nDesk {number} 负责处理。\n"
    )


def test_one_changed_file_of_a_thousand(tmp_path: Path) -> None:
    """Of 1,000 files one of which changed, only its changed passage is embedded, in a fraction of the first time."""
    docs = tmp_path / "docs"
    docs.mkdir()
    for number in range(FILES):
        (docs / f"{number}.md").write_text(card(number))
    library, embedded = opened(tmp_path / "library")
    with library:
        first = library.add(Source(source_id="docs", path=str(docs)))
        assert (first.added, first.embedded) == (FILES, first.passages)
        assert len(embedded) == 2 * first.passages  # each has a label of its own
        embedded.clear()
        (docs / "500.md").write_text(card(500, "seven days 七天"))
        begun = time.monotonic()
        report = library.ingest("docs")
        seconds = time.monotonic() - begun
        assert (report.changed, report.unchanged, report.embedded) == (1, FILES - 1, 1)
        assert ["seven days" in text for text in embedded] == [True]
        assert report.passages == first.passages / FILES
        assert seconds < first.seconds
        hit = library.search("complaint 500 seven days 七天").passages.values()
        assert any("seven days" in passage.text for passage in hit)
        embedded.clear()
        library.ingest("docs")
        assert embedded == []


VERSIONS = 12


def text_of(version: int) -> str:
    """Three sections that all name their version."""
    return "".join(f"# Part {part}\n\nComplaint 投诉 part {part}: version v{version}x.\n\n" for part in range(3))


@pytest.mark.parametrize(("engine", "kept"), [("local", 0), ("local", 60), ("memory", 0)])
def test_readers_during_the_swap(tmp_path: Path, engine: str, kept: int) -> None:
    """While a document is replaced readers find the old one or the new one: never a mix, never nothing, never older."""
    docs = tmp_path / "docs"
    docs.mkdir()
    file = docs / "a.md"
    file.write_text(text_of(0))
    library, _ = opened(
        tmp_path / "library", engine=engine, cache={"seconds": kept}, search={"floor": 0, "deadline": 30}
    )
    with library:
        library.add(Source(source_id="docs", path=str(docs)))
        stop, wrong, seen = threading.Event(), list[str](), set[int]()

        def read() -> None:
            last = 0
            while not stop.is_set():
                try:
                    found = library.find(SearchRequest(query="complaint 投诉 part version", summary=False)).passages
                except Exception as error:
                    wrong.append(repr(error))
                    return
                versions = {int(f.passage.text.partition("version v")[2].partition("x")[0]) for f in found}
                if len(found) != 3 or len(versions) != 1 or max(versions) < last:
                    wrong.append(f"{len(found)} passages of {sorted(versions)} after {last}")
                last = max(versions, default=last)
                seen.add(last)

        threads = [threading.Thread(target=read) for _ in range(4)]
        for thread in threads:
            thread.start()
        for version in range(1, VERSIONS + 1):
            file.write_text(text_of(version))
            library.ingest("docs")
        stop.set()
        for thread in threads:
            thread.join(30)
        assert wrong == []
        assert len(seen) > 1
        final = library.find(SearchRequest(query="complaint 投诉 part version"))
        assert all(f"version v{VERSIONS}x" in f.passage.text for f in final.passages)
        assert len(final.passages) == 3
