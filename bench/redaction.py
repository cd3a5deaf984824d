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

from wenyuan.core.redaction.findings import findings
from wenyuan.core.redaction.policy import KINDS, RedactionPolicy
from wenyuan.core.redaction.redact import redact

EVERYTHING = RedactionPolicy(level="restricted", actions=dict.fromkeys(KINDS, "drop"))
UNTOLD = {"PERSON", "STREET_ADDRESS", "GPE", "ORGANIZATION", "DATE_TIME", "TITLE", "AGE", "NRP", "ZIP_CODE", "ORG",
          "DOMAIN_NAME", "US_DRIVER_LICENSE"}  # fmt: skip
FORMS = ("as is", "full-width", "zero-width", "references", "spaced", "dashed", "dotted", "strokes", "one by one", "two lines",
         "numerals", "capitals", "spoken", "mixed")  # fmt: skip
DIGITS = {"numerals": "〇一二三四五六七八九", "capitals": "零壹贰叁肆伍陆柒捌玖", "spoken": "洞幺两三四五六拐八勾"}
MAIL_FORMS = {
    "[at]": ("[at]", "."), "[at] [dot]": (" [at] ", " [dot] "), "(at)": ("(at)", "."), "艾特": ("艾特", "."), "艾特 点": (" 艾特 ", " 点 "),
    "&#64;": ("&#64;", "."), "a @ b": (" @ ", "."), "＠": ("＠", "．"), "【at】": ("【at】", "【dot】"), "new line": ("\n@", "."),
    "at dot": (" at ", " dot "),
}  # fmt: skip
WRITTEN_OUT = {"CN_ID", "CN_MOBILE", "CN_BANKCARD", "CREDIT_CARD"}
NUMBERS = {"CN_ID", "CN_MOBILE", "CN_BANKCARD", "CREDIT_CARD", "CN_USCC", "IBAN_CODE"}


def read(folder: Path) -> list[dict[str, Any]]:
    files = sorted(folder.glob("*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines() if line.strip()]


def written(value: str, form: str) -> str:
    """A value in one of the forms."""
    prefix, plain = re.fullmatch(r"([+＋](?:86|８６))?(.*)", re.sub(r"[\s\-]", "", value), re.DOTALL).groups(
        default=""
    )
    if form == "full-width":
        return "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in value)
    if form == "zero-width":
        return "\u200b".join(value)
    if form == "references":
        return "".join(f"&#{ord(c)};" for c in value)
    if form in DIGITS:
        return prefix + plain.translate(dict(zip(map(ord, "0123456789"), DIGITS[form], strict=True)))
    if form == "mixed":
        return prefix + "".join(c if at % 2 else written(c, "numerals") for at, c in enumerate(plain))
    if form == "two lines":
        return f"{prefix}{plain[:7]}\n{plain[7:]}"
    joint = {"spaced": " ", "dashed": "-", "dotted": ".", "strokes": "/"}.get(form)
    if joint:
        cut = (6, 14) if len(plain) == 18 else (3, 7) if len(plain) == 11 else range(4, len(plain), 4)
        edges = [0, *cut, len(plain)]
        return prefix + joint.join(plain[a:b] for a, b in pairwise(edges))
    return " ".join(prefix + plain) if form == "one by one" else value


def split(kind: str, form: str) -> bool:
    """Whether values of a type are written in a form; the others are left as they are."""
    if form in {"as is", "full-width", "zero-width", "references"}:
        return True
    return kind in (NUMBERS if form in {"spaced", "dashed", "one by one"} else WRITTEN_OUT)


def rewritten(row: dict[str, Any], form: str) -> tuple[str, list[tuple[str, int, int]]]:
    """A row's text with its values in another form, and where they are then."""
    text, spans, at = "", [], 0
    for span in sorted(row["spans"], key=lambda s: s["start"]):
        if span["start"] < at:
            continue
        text += row["text"][at : span["start"]]
        value = written(span["value"], form) if split(span["type"], form) else span["value"]
        spans.append((span["type"], len(text), len(text) + len(value)))
        text += value
        at = span["end"]
    return text + row["text"][at:], spans


def covered(text: str) -> list[tuple[int, int, str]]:
    return [(f.start, f.end, f.kind) for f in findings(text, EVERYTHING, None)]


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
    print(f"{'recall':18}{'n':>5}" + "".join(f"{form:>11}" for form in FORMS))
    for kind in kinds:
        shown = (hits[kind, form] if split(kind, form) else [] for form in FORMS)
        cells = "".join(f"{sum(c) / len(c):11.3f}" if c else f"{'–':>11}" for c in shown)
        print(f"{kind:18}{len(hits[kind, FORMS[0]]):5}{cells}")


def mails(rows: list[dict[str, Any]]) -> None:
    """Recall of mail addresses whose marks are written out."""
    values = [s["value"] for row in rows for s in row["spans"] if s["type"].startswith("EMAIL")]
    for name, (at, dot) in MAIL_FORMS.items():
        texts = [f"邮箱 {value.replace('.', dot).replace('@', at)}，谢谢" for value in values]
        hits = [redact(text, EVERYTHING).text == "邮箱 ⟦邮箱⟧，谢谢" for text in texts]
        print(f"  mail written {name:12}{sum(hits) / len(hits):8.3f} of {len(hits)}")


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
        lambda: f"ISBN 978-7-{digits(3)}-{digits(5)}-{digits(1)}，定价{digits(2)}.00元。",
        lambda: (
            f"二〇二{draw.choice('一二三四五')}年{draw.choice('一二三四五六七八九')}月，共{draw.choice('一二三四五六七八九')}千{draw.choice('一二三四五六七八九')}百人。"
        ),
        lambda: "评分：" + "、".join(draw.choices("12345", k=11)) + "。",
        lambda: f"图号{digits(4)}、{digits(4)}、{digits(4)}、{digits(4)}，共四张。",
        lambda: f"合计\n{draw.randint(10_000, 19_999)}\n{draw.randint(100_000, 199_999)}\n",
        lambda: f"| {draw.randint(13_000, 19_999)}\n{draw.randint(100_000, 999_999)} |",
        lambda: (
            f"{draw.randint(1000, 9999)}\n{draw.randint(1000, 9999)}\n{draw.randint(1000, 9999)}\n{draw.randint(1000, 9999)}\n"
        ),
        lambda: "一、二、三、四、五、六、七、八、九、十、十一各条"[draw.randint(0, 4) * 2 :],
        lambda: (
            f"We meet at {draw.choice(['noon', 'the gate', 'example.com', 'amazon dot com'])} on the dot, at last."
        ),
        lambda: f"y = a @ {draw.choice('bcdwx')}.T + w @ self.{draw.choice(['weight', 'shape', 'net(x)'])}",
        lambda: f"群里艾特{draw.choice(['管理员', 'admin', '所有人'])}，{draw.randint(1, 9)}点 com 口调试。",
        lambda: f"pip install pkg @ git+https://example.com/x{digits(2)}.git",
        lambda: (
            "安全员"
            + draw.choice(
                ["培训", "应当持证上岗", "安排", "配备标准", "向项目经理报告", "包括专职和兼职", "高处作业"]
            )
        ),
        lambda: f"坐标 {digits(4)}.{digits(3)} {digits(4)}.{digits(3)} {digits(4)}.{digits(2)}",
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
        mails(rows)
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
