"""What a kept answer costs: the knowledge service with the cache and without, and the cache alone.

    python bench/cache.py [--passages 2000] [--repeats 500] [--json]

The library is the embedded one with the hashing encoder; an agent with two domains asks.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import wenyuan
from wenyuan.core.access import Agent, DomainScope
from wenyuan.core.model import Source
from wenyuan.service.search.answer_cache import AnswerCache, OwnMemory
from wenyuan.service.search.searcher import SearchRequest

REQUEST = SearchRequest(query="客户投诉处理的期限是多少天 complaint deadline", agent_id="clerk")


def timed(repeats: int, call: Callable[[], Any]) -> dict[str, float]:
    """Percentiles of the time of one call, in ms."""
    times = []
    for _ in range(repeats):
        begun = time.perf_counter()
        call()
        times.append(time.perf_counter() - begun)
    ranked = sorted(times)
    shown = {"p50": ranked[len(ranked) // 2], "p99": ranked[len(ranked) * 99 // 100], "max": ranked[-1]}
    return {name: round(value * 1e3, 4) for name, value in shown.items()}


def fill(folder: Path, passages: int) -> None:
    with wenyuan.open(folder / "library", create=True, encoder={"kind": "hashing"}) as library:
        for domain in ("policy", "law"):
            docs = folder / domain
            docs.mkdir()
            lines = (
                json.dumps({"id": n, "text": f"第{n}类投诉的处理期限是{n % 30}天。Complaint {n} has a deadline."})
                for n in range(passages // 2)
            )
            (docs / "cards.jsonl").write_text("\n".join(lines))
            library.add(Source(source_id=domain, path=str(docs), trust=4))
        scope = (DomainScope(domain="policy", top_k=5), DomainScope(domain="law", top_k=5))
        library.catalog.put_agent(Agent(agent_id="clerk", knowledge_scope=scope))  # type: ignore[attr-defined]


def measure(folder: Path, repeats: int) -> dict[str, dict[str, float]]:
    measured = {}
    for name, seconds in (("computed", 0), ("kept", 300)):
        with wenyuan.open(folder / "library", encoder={"kind": "hashing"}, cache={"seconds": seconds}) as library:
            library.find(REQUEST)
            measured[name + ", audited"] = timed(repeats, lambda: library.find(REQUEST))
            measured[name] = timed(repeats, lambda: library._searcher.search(REQUEST))
    cache = AnswerCache[str](OwnMemory(seconds=300, max_bytes=1_000, size=len), keep=lambda _key, _value: True)
    measured["cache alone"] = timed(repeats, lambda: cache.get("key", lambda: "value"))
    return measured


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--passages", type=int, default=2_000)
    options.add_argument("--repeats", type=int, default=500)
    options.add_argument("--json", action="store_true")
    asked = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        fill(Path(folder), asked.passages)
        measured = measure(Path(folder), asked.repeats)
    if asked.json:
        print(json.dumps(measured))
        return
    for name, times in measured.items():
        print(f"{name:18}", "  ".join(f"{part} {value:9.4f} ms" for part, value in times.items()))


if __name__ == "__main__":
    main()
