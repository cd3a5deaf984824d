"""The comparison with other tools, on a tiny set and with the peers that need no environment of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

COMPARE = Path(__file__).resolve().parents[2] / "bench" / "peers" / "compare.py"
TEXTS = {
    "a": ("年假", "员工每年有五天年假，可以结转到下一年度。"),
    "b": ("Travel", "Travel costs are paid within thirty days."),
    "c": ("验收", "检验批的质量验收按照规范进行，由监理工程师组织。"),
}
QUERIES = {"1": ("年假可以结转吗", "a"), "2": ("质量验收由谁组织", "c")}


def lines(path: Path, entries: list[dict[str, str]]) -> None:
    path.write_text("".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries), "utf-8")


@pytest.mark.integration
@pytest.mark.slow
def test_a_comparison_writes_what_it_measured(tmp_path: Path) -> None:
    """Both pages and the chart are written; a peer that fails is a line that says so, not a missing one."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    lines(folder / "corpus.jsonl", [{"_id": i, "title": t, "text": x} for i, (t, x) in TEXTS.items()])
    lines(folder / "queries.jsonl", [{"_id": i, "text": text} for i, (text, _) in QUERIES.items()])
    judged = "".join(f"{i}\t{right}\t1\n" for i, (_, right) in QUERIES.items())
    (folder / "qrels.tsv").write_text(f"query-id\tcorpus-id\tscore\n{judged}", "utf-8")
    command = [sys.executable, COMPARE, "--data", folder, "--cache", tmp_path / "cache", "--out", tmp_path / "out"]
    done = subprocess.run(
        [*command, "--only", "wenyuan", "plain_numpy"],
        env={**os.environ, "WENYUAN_ENCODER__KIND": "hashing"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "out" / "benchmarks.md").read_text("utf-8")
    own, floor = ([x for x in page.splitlines() if x.startswith(f"| {n} |")] for n in ("**Wenyuan**", "numpy alone"))
    assert "could not be run" not in page, page
    quality, _, honesty, chain = own
    assert quality == "| **Wenyuan** | 1.000 | 1.000 |"
    assert honesty.count("fails visibly") + honesty.count("same answers") == 2
    assert "| 0.0% |" in floor[2]
    assert chain.split(" | ")[2:4] == ["98%", "100%"]
    assert "明确报错" in (tmp_path / "out" / "benchmarks.zh.md").read_text("utf-8")
    assert ">numpy alone<" in (tmp_path / "out" / "benchmarks.svg").read_text("utf-8")
