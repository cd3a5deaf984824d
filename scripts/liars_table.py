"""Prints the table of liars, features and outcomes that docs/liars.md shows; ``--lang zh``: that of docs/liars.zh.md.

It is made of the table that the tests hold the program to, ``tests/support/liars_outcomes.py``:
``python scripts/liars_table.py --lang en``.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from liars_outcomes import FAILING, OUTCOMES, WORDED, Outcome
from liars_wordings import LIES, MISSING

FEATURES = {
    "en": {
        "answer": "answer",
        "summary": "summary",
        "link": "choice of names",
        "context": "context sentence",
        "rewrite": "question in other words",
        "proposal": "rule proposed",
        "judge": "whether passages suffice",
        "missing": "what is missing",
    },
    "zh": {
        "answer": "回答",
        "summary": "摘要",
        "link": "选择名称",
        "context": "语境句",
        "rewrite": "改写问题",
        "proposal": "提议的规则",
        "judge": "段落是否足够",
        "missing": "缺少什么",
    },
}
KINDS = {
    "en": {
        "said": "given", "quoted": "the source's sentences", "extract": "extract", "nothing": "nothing, and the reason",
        "indexed": "indexed, never shown", "asked": "asked, too", "alone": "the question alone", "left out": "left out", "waiting": "waits", "failed": "FAILED",
        "counted": "its calibrated number decides", "not adopted": "not adopted", "scores": "the scores decide", "as it was": "the answer without it",
    },
    "zh": {
        "said": "给出", "quoted": "原文整句", "extract": "摘录", "nothing": "无结果并说明原因", "indexed": "只用于索引，从不展示",
        "asked": "一并检索", "alone": "只用原问题",
        "left out": "舍弃", "waiting": "待生成", "failed": "FAILED",
        "counted": "按其校准后的数值", "not adopted": "不启用", "scores": "按分数", "as it was": "回答不变",
    },
}  # fmt: skip
HEADS = {
    "en": ("who answers", "{liars} liars and {faults} failing endpoints, {outcomes} outcomes in each of two languages: "
           "masked failures {masked}, unsupported claims {unsupported}."),
    "zh": ("由谁回答", "{liars} 种说谎者和 {faults} 种故障服务，中英文各 {outcomes} 个结果：被掩盖的失败 {masked}，无依据的论断 {unsupported}。"),
}  # fmt: skip
WORDINGS = {
    "en": ("what is changed", "lies", "{liars} more liars, each in two languages, say a sentence of a manual with something changed, and {missing} what is "
           "missing: words of a model that were given {said}, unsupported claims {said}."),
    "zh": ("改动的内容", "谎言", "另有 {liars} 种说谎者（中英文各一），把手册中的一句话改动后说出；还有 {missing} 种谎称缺少什么：给出的模型文字 {said}，无依据的论断 {said}。"),
}  # fmt: skip
LIE_KINDS = {
    "sign": "正负号", "unit": "单位、币种", "number": "数字", "wording": "其他措辞", "invisible": "不可见字符", "markup": "标记、表情、删除线",
    "look-alike": "形近字符", "frame": "套上疑问、假设、否定", "cut": "去掉前提", "negation": "否定", "entity": "其他对象", "modality": "应当、可以、不得",
    "only": "“只有”", "bound": "界限", "code": "编号", "parties": "双方对调", "order": "先后", "quantity": "全部、部分", "date": "日期、时刻",
    "instruction": "对模型下的指令",
}  # fmt: skip
SHOWN = ("quoted", "extract", "nothing", "said")
GROUPS = (("answer", "summary", "link", "context", "rewrite"), ("proposal",), ("judge", "missing"))
"""Features whose liars are much the same stand in one table."""
FAILED_AS = ("failed", "extract", "waiting", "left out", "alone", "scores", "as it was")
"""What may become of an endpoint that fails: each is said to whoever asks."""
GIVEN_AS = ("said",)
"""A model's own words are given; of liars, only to one who is right."""


def cell(outcome: Outcome | None, language: str) -> str:
    """An outcome, with what it is due to."""
    if outcome is None:
        return "—"
    said = KINDS[language][outcome.kind]
    return f"{said}: `{outcome.reason}`" if outcome.reason else said


def wordings(language: str) -> str:
    """What becomes of lies about one sentence, by what they change."""
    head, count, total = WORDINGS[language]
    lines = [
        f"| {head} | {count} | {' | '.join(KINDS[language][kind] for kind in SHOWN)} |",
        f"|{'---|' * (len(SHOWN) + 2)}",
    ]
    for kind in dict.fromkeys(lie.kind for lie in LIES.values()):
        found = [outcome for name, lie in LIES.items() if lie.kind == kind for outcome in WORDED[name]]
        cells = []
        for what in SHOWN:
            why = Counter(outcome.reason for outcome in found if outcome.kind == what)
            cells.append(", ".join(f"{n} `{reason}`" for reason, n in why.most_common()) or "—")
        name = kind if language == "en" else LIE_KINDS[kind]
        lines.append(f"| {name} | {len(found)} | {' | '.join(cells)} |")
    said = sum(outcome.kind == "said" for pair in WORDED.values() for outcome in pair)
    return "\n".join([*lines, "", total.format(liars=len(LIES), missing=len(MISSING), said=said)])


def table(language: str) -> str:
    """The tables, and what they come to."""
    head, total = HEADS[language]
    liars = list(dict.fromkeys(who for of in OUTCOMES.values() for who in of if who not in FAILING))
    lines = []
    for group in GROUPS:
        shown = {feature: OUTCOMES[feature] for feature in group}
        lines += ["", f"| {head} | {' | '.join(FEATURES[language][feature] for feature in shown)} |"]
        lines.append(f"|{'---|' * (len(shown) + 1)}")
        for who in [*(who for who in liars if any(who in of for of in shown.values())), *FAILING]:
            lines.append(f"| {who} | {' | '.join(cell(of.get(who), language) for of in shown.values())} |")
    told = [(who, outcome) for of in OUTCOMES.values() for who, outcome in of.items()]
    masked = sum(who in FAILING and outcome.kind not in FAILED_AS for who, outcome in told)
    unsupported = sum(who != "perfect" and outcome.kind in GIVEN_AS for who, outcome in told)
    counts = {"liars": len(liars), "faults": len(FAILING), "outcomes": len(told)}
    return "\n".join([*lines[1:], "", total.format(**counts, masked=masked, unsupported=unsupported)])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lang", choices=list(HEADS), default="en")
    lang = parser.parse_args().lang
    print(table(lang))
    print(f"\n{wordings(lang)}")
