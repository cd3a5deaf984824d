"""From a process to what follows from it: the shipped rules of construction, walked by us and by LightRAG."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wenyuan.app import create_library
from wenyuan.core.rules.book import Book
from wenyuan.packs.shipped import located
from wenyuan.readers.rulebooks.selection import read_book
from wenyuan.service.rules.unified import RuleQuestion

__all__ = ["Walk", "walks"]

DEPTH = 3
HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Walk:
    """How the questions were answered.

    Attributes:
        given: Nodes for one process, on average.
        following: The share of them that can be reached from the process in the direction of the statements.
        directed: The share of the links given that run in the direction in which they were stated.
        ms: Median of one question.
    """

    given: float
    following: float
    directed: float
    ms: float


def walks(python: Path | None, cache: Path) -> dict[str, Walk]:
    """By peer. `python`: of LightRAG's environment, where there is one."""
    with located("construction") as pack:
        book = read_book(pack)
    links = [(link.src, link.rel, link.dst) for link in book.links]
    processes = [node.name for node in book.nodes if node.kind == "process"]
    follows = {process: _reached(process, links) for process in processes}
    told = {"wenyuan": _own(book, processes, cache)}
    if python is not None:
        given = {"nodes": [(node.name, node.kind) for node in book.nodes], "links": links}
        told["lightrag"] = _lightrag(python, given | {"processes": processes, "depth": DEPTH}, cache)
    stated = {(a, b) for a, _, b in links}
    return {name: _walk(answers, follows, stated) for name, answers in told.items()}


def _own(book: Book, processes: list[str], cache: Path) -> Mapping[str, Any]:
    folder = cache / "chain" / "wenyuan"
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    found, milliseconds, edges = {}, [], []
    with create_library(folder, encoder={"kind": "none"}) as library:
        library.rules.take(book)
        library.infer_rules(RuleQuestion(processes=(processes[0],)))
        for process in processes:
            begun = time.perf_counter()
            answer = library.infer_rules(RuleQuestion(processes=(process,)))
            milliseconds.append((time.perf_counter() - begun) * 1e3)
            found[process] = list(dict.fromkeys(item.metadata["name"] for item in answer.items))
            edges += [(step["from"], step["to"]) for item in answer.items for step in item.metadata["path"]]
    return {"found": found, "ms": milliseconds, "edges": edges}


def _lightrag(python: Path, given: Mapping[str, Any], cache: Path) -> Any:
    folder = cache / "chain"
    shutil.rmtree(folder / "lightrag", ignore_errors=True)
    (folder / "given.json").write_text(json.dumps(given, ensure_ascii=False), "utf-8")
    arguments = (folder / "given.json", folder / "lightrag", folder / "found.json")
    subprocess.run([python, HERE / "lightrag" / "chain.py", *arguments], check=True, capture_output=True)
    return json.loads((folder / "found.json").read_text("utf-8"))


def _reached(start: str, links: Iterable[tuple[str, str, str]]) -> set[str]:
    """What can be reached in the direction of the statements within `DEPTH` steps."""
    stated = list(links)
    reached, rim = {start}, {start}
    for _ in range(DEPTH):
        rim = {b for a, _, b in stated if a in rim} - reached
        reached |= rim
    return reached - {start}


def _walk(told: Mapping[str, Any], follows: Mapping[str, set[str]], stated: Collection[tuple[str, str]]) -> Walk:
    found, ms, edges = told["found"], sorted(told["ms"]), {tuple(edge) for edge in told["edges"]}
    given = sum(map(len, found.values()))
    return Walk(
        given=given / len(found),
        following=sum(name in follows[process] for process, names in found.items() for name in names) / max(given, 1),
        directed=sum(edge in stated for edge in edges) / max(len(edges), 1),
        ms=ms[len(ms) // 2],
    )
