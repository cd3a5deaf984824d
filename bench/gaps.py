"""How well questions that were not answered are found, and how well those of one meaning are grouped.

    python bench/gaps.py [FOLDER …]

Each folder is a small library with questions: ``docs`` and ``questions.tsv`` (columns kind and question; kinds that begin
with ``na_`` have no answer there). All its questions are asked of a new library, and what is listed is counted by kind
and reason. Groups are measured on questions written for this, below: pairs within a group and pairs across.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np

import wenyuan
from wenyuan.core.gaps import digest_of
from wenyuan.core.model import Source
from wenyuan.service.gaps.grouping import SAME

GROUPS = (
    ("食堂几点开门", "食堂什么时候开", "食堂的开放时间是几点", "公司食堂几点营业"),
    ("健身房怎么办卡", "健身卡在哪里办", "办健身卡的流程"),
    ("停车位怎么申请", "想申请一个车位", "车位申请要找谁"),
    ("年会什么时候开", "今年年会是哪天", "年会时间定了吗"),
    ("宠物能带来上班吗", "可以带狗去公司吗", "上班能带宠物吗"),
    ("加班费怎么算", "加班工资是多少倍", "周末加班给多少钱"),
    ("打印机怎么连", "打印机连接不上怎么办", "办公室打印机如何设置"),
    ("VPN连不上怎么办", "VPN无法连接", "VPN怎么登录不了"),
    ("when does the canteen open", "what are the canteen's opening hours", "canteen opening time?"),
    ("how do I get a parking space", "who do I ask for a parking permit", "request parking spot"),
    ("can I bring my dog to work", "are pets allowed in the office", "is it ok to bring a pet"),
    ("how much is overtime paid", "overtime rate on weekends", "what do we get for working Saturdays"),
    ("printer does not print", "how to connect to the printer", "printer setup"),
    ("can I work from abroad", "working remotely from another country", "is remote work abroad allowed"),
    ("when is the christmas party", "date of the year-end party", "christmas party date"),
    ("how to reset my badge", "my badge does not open the door", "lost my access badge"),
)  # fmt: skip
"""Questions of one meaning in each row; four rows mean the same as a row in the other language, and count as across."""


def grouped(library: wenyuan.Library) -> None:
    """Print how many pairs of one meaning, and of different ones, are near enough to be one gap."""
    texts = [text for row in GROUPS for text in row]
    row_of = np.array([number for number, row in enumerate(GROUPS) for _ in row])
    vectors = library.gaps.vectors(texts)
    assert vectors is not None
    near = (vectors @ vectors.T >= SAME)[np.triu_indices(len(texts), 1)]
    same = (row_of[:, None] == row_of)[np.triu_indices(len(texts), 1)]
    print(f"{len(texts)} questions in {len(GROUPS)} groups, near from {SAME}")
    print(
        f"  of one meaning: {near[same].mean():.3f} of {same.sum()} pairs; of others: {near[~same].mean():.3f} of {(~same).sum()}"
    )


def listed(library: wenyuan.Library, folder: Path) -> Counter[str]:
    """Ask the questions of a folder, and count those that are listed, by kind and reason."""
    library.add(Source(source_id=folder.name, path=str(folder / "docs")))
    with (folder / "questions.tsv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    for row in rows:
        library.search(row["question"])
    reasons = {digest_of(text): "/".join(gap.reasons) for gap in library.gaps.find().gaps for text in gap.wordings}
    counts: Counter[str] = Counter()
    for row in rows:
        kind = row["kind"] if row["kind"].startswith("na_") else "answer there"
        counts[kind] += 1
        if reason := reasons.get(digest_of(row["question"])):
            counts[f"{kind}: listed"] += 1
            counts[f"{kind}: {reason}"] += 1
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="*")
    options = parser.parse_args()
    total: Counter[str] = Counter()
    for folder in [None, *options.folders]:
        with (
            tempfile.TemporaryDirectory(prefix="wenyuan-bench-") as scratch,
            wenyuan.open(Path(scratch) / "library", create=True) as library,
        ):
            if folder is None:
                grouped(library)
            else:
                total += listed(library, folder)
    for name, count in sorted(total.items()):
        print(f"{name}: {count}")


if __name__ == "__main__":
    main()
