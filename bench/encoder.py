"""How fast the built-in encoder is on this machine.

    python bench/encoder.py

Every measurement runs in a process of its own: loading, queries on one core, passages on one core and on all.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
import sys
import time
from pathlib import Path

TOKENS = 200
SENTENCE = (
    "出差人员应当在返回后十五个工作日内提交报销单据，逾期不予受理。Receipts must show the date and the amount. "
)
QUERIES = (
    "差旅费多久内要报销？",
    "How long is the warranty of the pump?",
    "GB 50300 验收 需要哪些记录",
    "安全帽 谁负责检查",
)


def memory() -> dict[str, int]:
    """Resident MiB now: private, and mapped from files (which the system may take back)."""
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":" in line)
    return {name: int(lines[name].split()[0]) // 1024 for name in ("RssAnon", "RssFile")}


def load() -> None:
    import numpy as np  # noqa: F401  (part of any program; not what is measured)

    before = memory()
    start = time.perf_counter()
    from wenyuan.encoders.builtin import load_builtin

    encoder = load_builtin()
    took = time.perf_counter() - start
    encoder.encode_queries(QUERIES)
    print(f"load, imports included    {took:6.2f} s")
    print(f"memory                    before {before}, loaded {memory()} MiB")


def queries() -> None:
    import numpy as np

    from wenyuan.encoders.builtin import load_builtin

    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    encoder = load_builtin(threads=1)
    times = []
    for i in range(240):
        start = time.perf_counter()
        encoder.encode_queries([QUERIES[i % len(QUERIES)]])
        times.append(1000 * (time.perf_counter() - start))
    p50, p95 = np.percentile(times[40:], (50, 95))
    print(f"query, one core           p50 {p50:.1f} ms, p95 {p95:.1f} ms")


def passages(threads: int) -> None:
    from wenyuan.encoders.builtin import load_builtin

    if threads == 1:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    encoder = load_builtin(threads=threads)
    text = SENTENCE
    while encoder.count_tokens(text) < TOKENS:
        text += SENTENCE[len(text) % len(SENTENCE)]
    texts = [text] * (60 * threads)
    start = time.perf_counter()
    encoder.encode_passages(texts)
    rate = len(texts) / (time.perf_counter() - start)
    print(
        f"passages of {encoder.count_tokens(text)} tokens    {rate:6.1f} /s with {threads} thread(s); {memory()} MiB"
    )


def environment() -> None:
    model = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    names = ("numpy", "onnxruntime", "sentencepiece")
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in names)
    print(f"{model[0].split(':')[1].strip() if model else platform.machine()}, {len(os.sched_getaffinity(0))} cores, "
          f"load {os.getloadavg()[0]:.1f}; Python {platform.python_version()}, {versions}")  # fmt: skip


def main() -> None:
    if len(sys.argv) > 1:
        name, *numbers = sys.argv[1:]
        {"load": load, "queries": queries, "passages": passages}[name](*map(int, numbers))
        return
    environment()
    cores = len(os.sched_getaffinity(0))
    for part in (["load"], ["load"], ["queries"], ["passages", "1"], ["passages", str(cores)]):
        subprocess.run([sys.executable, __file__, *part], check=True)


if __name__ == "__main__":
    main()
