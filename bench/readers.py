"""What readers cost a question: asked by an administrator, and by somebody with thousands of groups, one after the other in turn.

    python bench/readers.py [--documents 2000] [--readers 10000] [--groups 5000] [--members 100000] [--questions 300]

A library is made in which every third document has a list of its own, one of them with that many readers; the principal's key has
that many groups, and the library knows a group with that many members, of which the principal is one. Each question is asked by both, one
right after the other, whoever's turn it is to be first. Printed are the medians of both in milliseconds, of the clock and of the
processor (which says more on a busy machine), the medians' ratios with their 95 % intervals (bootstrap over the questions), and what
the first question after a change of each kind costs.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import wenyuan
from wenyuan.core.access import Principal
from wenyuan.core.model import Source
from wenyuan.core.principals import AccessList
from wenyuan.service.search.searcher import SearchRequest

WORDS = (
    "工资",
    "绩效",
    "设备",
    "检修",
    "安全",
    "培训",
    "采购",
    "合同",
    "会议",
    "纪要",
    "年假",
    "报销",
    "投诉",
    "响应",
    "登记",
    "验收",
)


def made(folder: Path, given: argparse.Namespace, drawn: random.Random) -> Any:
    """The library, its documents taken in."""
    docs = folder / "docs"
    docs.mkdir()
    for number in range(given.documents):
        about = "、".join(drawn.choices(WORDS, k=12))
        (docs / f"{number:05d}.md").write_text(f"# 文件 {number}\n\n{about}。编号 {number}。\n", "utf-8")
    settings: dict[str, Any] = {"encoder": {"kind": "hashing"}, "cache": {"seconds": 0}, "audit": {"enabled": False}}
    library = wenyuan.open(folder / "library", create=True, **settings)
    library.add(Source(source_id="docs", path=str(docs)))
    return library


def closed(library: Any, given: argparse.Namespace, drawn: random.Random) -> None:
    """Give every third document readers: groups, half of which the principal is in."""
    uris = sorted(library.catalog.live_documents("docs"))[::3]
    lists = {}
    for number, uri in enumerate(uris):
        names = {f"group:g{drawn.randrange(2 * given.groups)}" for _ in range(5)}
        if not number:
            names = {f"user:r{reader}" for reader in range(given.readers - 1)} | {"user:li"}
        lists[uri] = {"permissions/file": (AccessList(readers=frozenset(names)), "")}
    library.catalog.keep_access("docs", lists, ("permissions/",))
    members = [f"user:m{member}" for member in range(given.members - 1)] + ["user:li"]
    library.catalog.set_group("all", members)


def seconds(library: Any, question: str, who: Principal) -> tuple[float, float]:
    """How long a question takes, by the clock and by the processor."""
    begun = time.perf_counter(), time.process_time()
    library.find(SearchRequest(query=question, limit=10), who)
    return time.perf_counter() - begun[0], time.process_time() - begun[1]


def compared(plain: Sequence[float], restricted: Sequence[float]) -> str:
    """The medians, and their ratio with its interval."""
    one, other = np.array(plain), np.array(restricted)
    drawn = np.random.default_rng(7).integers(0, len(one), (2_000, len(one)))
    ratios = np.median(other[drawn], axis=1) / np.median(one[drawn], axis=1)
    low, high = np.quantile(ratios, [0.025, 0.975])
    medians = float(np.median(one)), float(np.median(other))
    return (
        f"administrator {1e3 * medians[0]:.2f} ms, principal {1e3 * medians[1]:.2f} ms, "
        f"ratio {medians[1] / medians[0]:.2f} ({low:.2f}, {high:.2f})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=2_000)
    parser.add_argument("--readers", type=int, default=10_000)
    parser.add_argument("--groups", type=int, default=5_000)
    parser.add_argument("--members", type=int, default=100_000)
    parser.add_argument("--questions", type=int, default=300)
    given = parser.parse_args()
    drawn = random.Random(7)
    reading = frozenset({"search"})
    groups = frozenset(f"group:g{number}" for number in range(given.groups))
    li = Principal(key_id="li", rights=reading, user="user:li", groups=groups)
    with tempfile.TemporaryDirectory() as folder, made(Path(folder), given, drawn) as library:
        asked = ["、".join(drawn.choices(WORDS, k=3)) for _ in range(given.questions)]
        for question in asked[:20]:
            seconds(library, question, Principal())
        closed(library, given, drawn)
        first = {"readers and members": seconds(library, asked[0], li)}
        for question in asked[:20]:
            seconds(library, question, li)
        took: dict[str, list[tuple[float, float]]] = {"local": [], "li": []}
        for question in asked:
            for who in drawn.sample([Principal(), li], 2):
                took[who.key_id].append(seconds(library, question, who))
        library.catalog.change_group("all", add=["user:new"])
        first["one member more"] = seconds(library, asked[0], li)
        uri = sorted(library.catalog.live_documents("docs"))[1]
        library.catalog.set_document_access("docs", uri, AccessList(readers=frozenset({"group:g1"})), "bench")
        first["one list more"] = seconds(library, asked[0], li)
    print(
        f"{given.documents} documents, {given.readers} readers of one, {given.groups} groups, {given.members} members, n {len(asked)}"
    )
    for clock, name in enumerate(("clock", "processor")):
        print(f"{name}: {compared([one[clock] for one in took['local']], [one[clock] for one in took['li']])}")
    for change, (by_clock, _) in first.items():
        print(f"the first question after {change}: {1e3 * by_clock:.1f} ms")


if __name__ == "__main__":
    main()
