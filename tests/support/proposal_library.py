"""Libraries with a source of clauses, a schema, and a model of liars, for the tests of proposed rules at every door."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import wenyuan
from answer_library import SECRET
from liars_server import KEY, Asked, Server
from proposal_parts import CLAUSES, SCHEMAS, TITLE
from wenyuan.core.rules.book import Book
from wenyuan.core.rules.proposals import Proposal

MORE = {
    "zh": "第十四条 混凝土浇筑工程，施工单位应当安排旁站监督。",
    "en": "Article 8 Contracts must be subject to annual review.",
}
"""A clause that is added later."""


def write(folder: Path, language: str, *more: str) -> Path:
    """The file of the clauses."""
    (folder / "law").mkdir(exist_ok=True)
    path = folder / "law" / "law.md"
    path.write_text("\n\n".join((f"# {TITLE[language]}", *CLAUSES[language], *more)) + "\n", "utf-8")
    return path


@contextmanager
def proposing(folder: Path, language: str, server: Server | None, **more: Any) -> Iterator[wenyuan.Library]:
    """A library in a language with the source ``law`` and two that the model may not be shown; without a server no model is set up."""
    llm = {} if server is None else {"url": server.url, "model": "m-7b", "key": KEY, "timeout": 30}
    chosen: dict[str, Any] = {
        "encoder": {"kind": "hashing"}, "search": {"deadline": 60, "abstain": "lenient"}, "cache": {"seconds": 0},
        "llm": {**llm, **more.pop("llm", {})}, **more,
    }  # fmt: skip
    with wenyuan.open(folder / "library", create=True, **chosen) as library:
        if not library.sources():
            write(folder, language)
            library.add(wenyuan.Source(source_id="law", path=str(folder / "law"), trust=5))
            for name, bounds in (("denied", {"settings": {"llm": "deny"}}), ("private", {"sensitivity": "internal"})):
                (folder / name).mkdir()
                (folder / name / "x.md").write_text(SECRET[language], "utf-8")
                library.add(wenyuan.Source(source_id=name, path=str(folder / name), **bounds))
            library.rules.take(Book(pack="kinds", schema_tree=SCHEMAS[language]))
        yield library


def saying(language: str, *said: Proposal) -> Callable[[Asked], Mapping[str, Any]]:
    """A model that proposes these, each where its clause is among what it is shown; ``law#1`` is the first clause."""

    def lie(asked: Asked) -> Mapping[str, Any]:
        found = []
        for one in said:
            number = int(one.passage.rpartition("#")[2])
            if number > len(CLAUSES[language]):
                found.append(one._asdict())
                continue
            clause = CLAUSES[language][number - 1]
            ids = [passage["id"] for passage in asked["passages"] if clause in passage["text"]]
            found += [one._asdict() | {"passage": name} for name in ids[:1]]
        return {"statements": found}

    return lie
