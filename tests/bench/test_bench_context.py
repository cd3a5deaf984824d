"""The measurement of what a request's context is worth, on two handbooks that share their headings."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

CONTEXT = Path(__file__).resolve().parents[2] / "bench" / "context.py"
PAGES = {
    "a/leave": ("Leave", ("Who decides", "Your manager decides on vacation within two days.")),
    "b/travel": ("Travel", ("Who decides", "The travel desk decides on flights and hotels.")),
    "c/年假": ("年假", ("第二章 审批流程", "员工提交年假申请，由主管在两天内批准。")),
    "d/采购": ("采购", ("第三章 审批流程", "采购申请由财务部门在一周内批准。")),
}
QUERIES = {"1": ("who decides on flights", "b/travel#1"), "2": ("年假申请由谁批准", "c/年假#1")}


def lines(path: Path, entries: list[dict[str, object]]) -> None:
    path.write_text("".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries), "utf-8")


@pytest.mark.integration
def test_the_document_at_hand_settles_what_a_question_is_about(tmp_path: Path) -> None:
    """Headings that two documents share are found in the right one first, once the request says which; in both languages."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    entries = [
        {"_id": f"{page}#1", "title": title, "text": text, "metadata": {"headings": [heading]}}
        for page, (title, (heading, text)) in PAGES.items()
    ]
    lines(folder / "corpus.jsonl", [dict(entry) for entry in entries])
    lines(folder / "queries.jsonl", [{"_id": i, "text": text} for i, (text, _) in QUERIES.items()])
    judged = "".join(f"{i}\t{right}\t1\n" for i, (_, right) in QUERIES.items())
    (folder / "qrels.tsv").write_text(f"query-id\tcorpus-id\tscore\n{judged}", "utf-8")
    done = subprocess.run(
        [sys.executable, CONTEXT, folder, "--cache", tmp_path / "cache"],
        env={**os.environ, "WENYUAN_ENCODER__KIND": "hashing"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    found = {(row["questions"], row["context"]): row for row in rows}
    assert found["ambiguous", "none"]["asked"] == 4
    assert found["own", "none"]["asked"] == 2
    assert found["ambiguous", "none"]["hit@1"] == 0.5
    assert found["ambiguous", "document"]["hit@1"] == 1.0
    of_others = found["own", "other document"]["each"]  # one of them speaks of who approves, too
    assert len(of_others) == len(PAGES) - 1
    assert found["own", "none"]["ndcg@10"] == 1.0
    assert of_others.count(1.0) == len(of_others) - 1
    assert found["own", "other document"]["ndcg@10"] == pytest.approx(sum(of_others) / len(of_others))
