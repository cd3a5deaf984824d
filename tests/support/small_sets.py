"""Judged sets in BEIR layout that are small enough to be asked in a test: sections of handbooks, in Chinese and English."""

from __future__ import annotations

import json
from pathlib import Path

_SETS = {
    "zh": (
        "员工手册",
        "第{n}条 {who}应当在{days}天内提交{what}，逾期不予受理。{who}的{what}保存三十年。",
        "员工 供应商 项目经理 承租人 施工单位 安全员".split(),
        "报销单 验收记录 请假申请 合同副本".split(),
        "{who}在{days}天内要提交什么，{what}保存多久？",
    ),
    "en": (
        "Staff handbook",
        "{n}. The {who} must hand in the {what} within {days} days. A late {what} is not accepted. The {who} keeps it for {days} years.",
        "employee supplier manager tenant contractor inspector".split(),
        "report record request contract".split(),
        "Within {days} days, what must the {who} do with the {what}?",
    ),
}


def write_set(folder: Path, language: str) -> Path:
    """A set of 24 passages of six documents, each asked for once; entries are named ``document#part``."""
    title, form, people, things, question = _SETS[language]
    corpus, queries, judged = [], [], ["query-id\tcorpus-id\tscore"]
    pairs = [(who, part, what) for who in people for part, what in enumerate(things)]
    for n, (who, part, what) in enumerate(pairs, 1):
        words = {"n": n, "who": who, "what": what, "days": 3 + n % 17}
        facts = {"headings": [f"{title} {who}", what], "chapter": what}
        entry = {
            "_id": f"{who}.md#{part}",
            "title": f"{title} {who}",
            "text": form.format(**words),
            "metadata": facts,
        }
        corpus.append(entry)
        queries.append({"_id": f"q{n}", "text": question.format(**words)})
        judged.append(f"q{n}\t{entry['_id']}\t1")
    folder.mkdir(parents=True)
    for name, rows in (("corpus", corpus), ("queries", queries)):
        lines = (json.dumps(row, ensure_ascii=False) for row in rows)
        folder.joinpath(f"{name}.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    folder.joinpath("qrels.tsv").write_text("\n".join(judged) + "\n", "utf-8")
    return folder
