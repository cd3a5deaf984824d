"""How much redaction finds, what it wrongly finds, and how fast it is.

    python bench/redaction.py FOLDER [FOLDER …]

A folder holds JSON lines files of ``{"text", "spans": [{"type", "start", "end", "value"}], "kind"?}``. Printed: recall
per type and written form (a value counts as found when none of its characters is left outside a finding), texts
without spans in which something is found, and characters per second.
"""

from __future__ import annotations

import json
import random
import re
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from wenyuan.core.redact import KINDS, RedactionPolicy, redact
from wenyuan.core.redaction.rounds import findings
from wenyuan.core.redaction.view import view_of

EVERYTHING = RedactionPolicy(level="restricted", actions=dict.fromkeys(KINDS, "drop"))
UNTOLD = {"PERSON", "STREET_ADDRESS", "GPE", "ORGANIZATION", "DATE_TIME", "TITLE", "AGE", "NRP", "ZIP_CODE", "ORG",
          "DOMAIN_NAME", "US_DRIVER_LICENSE"}  # fmt: skip
FORMS = ("as is", "full-width", "zero-width", "spaced", "dashed", "one by one")
NUMBERS = {"CN_ID", "CN_MOBILE", "CN_BANKCARD", "CREDIT_CARD", "CN_USCC", "IBAN_CODE"}


def read(folder: Path) -> list[dict[str, Any]]:
    files = sorted(folder.glob("*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines() if line.strip()]


def written(value: str, form: str) -> str:
    """A value in one of the forms."""
    plain = re.sub(r"[\s\-]", "", value)
    if form == "full-width":
        return "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in value)
    if form == "zero-width":
        return "\u200b".join(value)
    joint = {"spaced": " ", "dashed": "-"}.get(form)
    if joint:
        cut = (6, 14) if len(plain) == 18 else (3, 7) if len(plain) == 11 else range(4, len(plain), 4)
        edges = [0, *cut, len(plain)]
        return joint.join(plain[a:b] for a, b in pairwise(edges))
    return " ".join(plain) if form == "one by one" else value


def rewritten(row: dict[str, Any], form: str) -> tuple[str, list[tuple[str, int, int]]]:
    """A row's text with its values in another form, and where they are then."""
    text, spans, at = "", [], 0
    for span in sorted(row["spans"], key=lambda s: s["start"]):
        if span["start"] < at:
            continue
        text += row["text"][at : span["start"]]
        splits = form in {"as is", "full-width", "zero-width"} or span["type"] in NUMBERS
        value = written(span["value"], form) if splits else span["value"]
        spans.append((span["type"], len(text), len(text) + len(value)))
        text += value
        at = span["end"]
    return text + row["text"][at:], spans


def covered(text: str) -> list[tuple[int, int, str]]:
    view = view_of(text)
    return [(*view.original(f.start, f.end), f.kind) for f in findings(view, EVERYTHING, None)]


def recall(rows: list[dict[str, Any]], show: str) -> None:
    hits: dict[tuple[str, str], list[int]] = defaultdict(list)
    for form in FORMS:
        for row in rows:
            text, spans = rewritten(row, form)
            found = covered(text)
            for kind, start, end in spans:
                hit = any(a <= start and b >= end for a, b, _ in found)
                hits[kind, form].append(hit)
                if not hit and kind == show:
                    print(f"  missed [{form}] {text[start:end]!r} in {text!r}")
    kinds = sorted({kind for kind, _ in hits}, key=lambda k: (k in UNTOLD, k))
    print(f"{'recall':20}{'n':>6}" + "".join(f"{form:>12}" for form in FORMS))
    for kind in kinds:
        cells = (hits[kind, form] for form in FORMS)
        print(f"{kind:20}{len(hits[kind, FORMS[0]]):6}" + "".join(f"{sum(c) / len(c):12.3f}" for c in cells))


def flagged(rows: list[dict[str, Any]], show: str) -> None:
    bare = [row["text"] for row in rows if not row["spans"]]
    hits = [(text, found) for text in bare if (found := covered(text))]
    print(f"texts without spans: {len(bare)}, something found in {len(hits)} ({len(hits) / max(1, len(bare)):.1%})")
    if show == "decoys":
        for text, found in hits:
            print("  ", [(text[a:b], kind) for a, b, kind in found], text[:100])


def decoys(count: int = 2_000) -> Iterator[str]:
    """Numbers that identify nobody, in sentences that say what they are."""
    draw = random.Random(7)

    def digits(n: int) -> str:
        return "".join(draw.choices("0123456789", k=n))

    makers = (
        lambda: f"订单号{digits(18)}已发货。",
        lambda: f"Order no. {digits(16)} has been shipped.",
        lambda: f"流水号：{digits(16)}，金额{draw.randint(1, 10**9):,}.00元。",
        lambda: (
            f"依据第{draw.randint(1, 12)}.{draw.randint(1, 12)}.{draw.randint(1, 12)}.{draw.randint(1, 12)}条验收。"
        ),
        lambda: (
            f"版本 {draw.randint(1, 20)}.{draw.randint(0, 30)}.{draw.randint(0, 900)}.{draw.randint(0, 200)} 已发布。"
        ),
        lambda: (
            f"2024-0{draw.randint(1, 9)}-1{draw.randint(0, 9)} 1{draw.randint(0, 9)}:30:0{draw.randint(0, 9)} 采样值 {digits(3)}.{digits(8)}"
        ),
        lambda: (
            f"GB/T {draw.randint(1000, 59999)}-20{draw.randint(10, 25)}、JGJ{draw.randint(10, 400)}-2011第3.0.{draw.randint(1, 9)}条。"
        ),
        lambda: "测点数据：" + " ".join(str(draw.randint(10, 99)) for _ in range(9)),
        lambda: f"合同编号HT-{digits(11)}，图号{digits(4)}-{digits(3)}-{digits(2)}。",
        lambda: f"sha256 {''.join(draw.choices('0123456789abcdef', k=64))}",
        lambda: f"检验批编号为{digits(13)}，时间戳17{digits(8)}。",
        lambda: f"id {digits(20)}, uuid {digits(8)}-{digits(4)}-4{digits(3)}-9{digits(3)}-{digits(12)}",
        lambda: f"客服热线400-{digits(3)}-{digits(4)}，邮编{digits(6)}。",
        lambda: f"产品型号 E{digits(4)}，批号{digits(11)}。",
    )
    for i in range(count):
        yield makers[i % len(makers)]()


def speed(texts: list[str], name: str) -> None:
    text = "\n".join(texts)
    text *= max(1, 400_000 // max(1, len(text)))
    best = min(_timed(text) for _ in range(3))
    print(f"{name}: {len(text) / best / 1e6:.2f} Mchar/s over {len(text):,} characters")


def _timed(text: str) -> float:
    begun = time.process_time()
    redact(text, EVERYTHING)
    return time.process_time() - begun


def main() -> None:
    show = next((a.removeprefix("--show=") for a in sys.argv if a.startswith("--show=")), "")
    for folder in (Path(a) for a in sys.argv[1:] if not a.startswith("--")):
        rows = read(folder)
        print(f"\n== {folder.name}: {len(rows)} texts")
        recall(rows, show)
        flagged(rows, show)
        speed([row["text"] for row in rows], "with all values")
        speed([row["text"] for row in rows if not row["spans"]], "texts without values")
    made = list(decoys())
    hits = [(text, found) for text in made if (found := covered(text))]
    print(f"\n== decoys made here: {len(made)}, something found in {len(hits)} ({len(hits) / len(made):.1%})")
    if show == "decoys":
        for text, found in hits[:60]:
            print("  ", [(text[a:b], kind) for a, b, kind in found], text)


if __name__ == "__main__":
    main()
