"""How time, memory and disk grow with the library, each size in a process of its own.

    python bench/scale.py [--sizes 10000 100000 1000000] [--folder DIR] [--corpus FILE.jsonl …] [--json FILE]

Vectors are synthetic (see bench/search.py), and so are texts beyond those of the corpus. A million passages need
about 6 GB of disk and memory, and a quarter of an hour to write; with ``--folder`` they are kept for the next time.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

_ROWS = (
    ("keyword, p50 ms", "keyword all ms"),
    ("keyword, 10 % filter, p50 ms", "keyword 10 % ms"),
    ("vector, p50 ms", "vector all ms"),
    ("vector, 10 % filter, p50 ms", "vector 10 % ms"),
    ("hybrid without embedding, p50 ms", "hybrid without embedding ms"),
    ("hybrid, p50 ms", "hybrid ms"),
    ("recall@10", "recall@10 all"),
    ("recall@10, 10 % filter", "recall@10 10 %"),
    ("cold open, s", "cold_open_s"),
    ("upsert visible, p50 ms", "upsert visible ms"),
    ("memory, MB", "rss_mb"),
    ("disk, MB", "disk_mb"),
)


def measured(size: int, folder: Path, corpus: list[Path], rounds: int) -> dict[str, object]:
    """What bench/search.py says of one size."""
    print(f"{size:,} passages …", file=sys.stderr, flush=True)
    command = [sys.executable, str(Path(__file__).with_name("search.py")), "--passages", str(size)]
    command += ["--folder", str(folder / str(size)), "--rounds", str(rounds), "--json", "--corpus", *map(str, corpus)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"measuring {size:,} passages failed:\n{done.stderr}")
    return dict(json.loads(done.stdout))


def table(results: dict[int, dict[str, object]]) -> str:
    """Markdown, one column a size."""
    head = "| | " + " | ".join(f"{size:,}" for size in results) + " |"
    lines = [head, "|---" * (len(results) + 1) + "|"]
    for title, key in _ROWS:
        values = [result[key] for result in results.values()]
        shown = [f"{v['p50'] if isinstance(v, dict) else v:,}" for v in values]
        lines.append(f"| {title} | " + " | ".join(shown) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--corpus", type=Path, nargs="*", default=[])
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="wenyuan-scale-"))
    results = {size: measured(size, folder, options.corpus, options.rounds) for size in options.sizes}
    if options.json:
        options.json.write_text(json.dumps(results, indent=1), encoding="utf-8")
    print(json.dumps(next(iter(results.values()))["environment"]))
    print(table(results))


if __name__ == "__main__":
    main()
