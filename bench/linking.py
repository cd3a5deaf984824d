"""Speed of linking: build time, memory, exact links, guesses and long texts, on made-up names.

Run: ``PYTHONPATH=src python bench/linking.py [aliases]``
"""

from __future__ import annotations

import random
import resource
import sys
import time
from collections.abc import Callable

from wenyuan.core.rules.graph import LexiconEntry
from wenyuan.core.rules.linking import Linked, Linker

CHARACTERS = "基坑开挖支护降水土方模板脚手架起重吊装拆除隧道盾构顶管幕墙钢结构预制构件桩水下作业混凝浇筑焊接防水保温"
WORDS = "deep excavation tower crane formwork scaffold tunnel shield lifting steel curtain wall pile concrete".split()
KINDS = ("process", "hazard", "equipment", "safety_measure")


def names(count: int, rng: random.Random) -> list[str]:
    """Distinct names, one in five English."""
    found: dict[str, None] = {}
    while len(found) < count:
        if rng.random() < 0.2:
            found[f"{' '.join(rng.choices(WORDS, k=3))} {rng.randrange(10_000)}"] = None
        else:
            found["".join(rng.choices(CHARACTERS, k=rng.randint(4, 10)))] = None
    return list(found)


def timed(what: str, texts: list[str], call: Callable[[str], Linked]) -> None:
    """Print median, 95th percentile and the share of texts in which something was found."""
    took, found = [], 0
    for text in texts:
        began = time.perf_counter()
        found += bool(call(text).spans)
        took.append(1e3 * (time.perf_counter() - began))
    took.sort()
    middle, high = took[len(took) // 2], took[int(len(took) * 0.95)]
    print(f"{what:28} p50 {middle:8.3f} ms  p95 {high:8.3f} ms  worst {took[-1]:8.3f}  found {found}/{len(texts)}")


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    rng = random.Random(7)
    lexicon = names(count, rng)
    entries = [
        LexiconEntry(node_id=i, kind=KINDS[i % 4], text=name, type="alt", weight=1.0, scope=())
        for i, name in enumerate(lexicon)
    ]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.perf_counter()
    linker = Linker(entries)
    took = time.perf_counter() - began
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(f"{count} names: built in {took:.2f} s, memory +{grown:.0f} MB at its peak")
    exact = [f"本工程位于市区{rng.choice(lexicon)}前应做好哪些准备工作并办理手续" for _ in range(1_000)]
    timed("one name in 30 characters", exact, linker.link)
    timed("the same, one kind", exact, lambda text: linker.link(text, kinds={"process", "hazard"}))
    typos = [f"请问{name[:2]}的{name[2:]}要注意什么" for name in rng.choices(lexicon, k=300)]
    timed("misspelt", typos, linker.link)
    timed("misspelt, one kind", typos, lambda text: linker.link(text, kinds={"process"}))
    strange = [
        "".join(rng.choices(CHARACTERS, k=300)).translate({ord(c): "某" for c in "基土模"}) for _ in range(100)
    ]
    timed("300 characters, few names", strange, lambda text: linker.link(text, kinds={"none"}))
    timed(
        "repeated, guessed",
        [("基坑开挖" * 100)[i:] for i in range(50)],
        lambda text: linker.link(text, kinds={"hazard"}),
    )
    timed("50,000 characters", ["".join(rng.choices(CHARACTERS, k=50_000)) for _ in range(5)], linker.link)


if __name__ == "__main__":
    main()
