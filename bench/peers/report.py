"""The tables and the chart of a comparison, in English and Chinese."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Measured", "written"]

SHOWN = {
    "wenyuan": "**Wenyuan**",
    "llamaindex": "LlamaIndex",
    "haystack": "Haystack",
    "lancedb": "LanceDB",
    "chroma": "Chroma",
    "txtai": "txtai",
    "lightrag": "LightRAG, naive",
    "plain_tantivy": "tantivy alone",
    "plain_numpy": "numpy alone",
}
OWN, OTHER, GRID, TEXT = "#3b6ea5", "#b9b4a7", "#ddd8cc", "#6b675e"


@dataclass(frozen=True)
class Measured:
    """The circumstances of a run.

    Attributes:
        load: Of the machine when it began; it makes times longer.
        reused: Whether some of it was measured in earlier runs.
    """

    load: float
    reused: bool


@dataclass(frozen=True)
class Language:
    """How a report speaks; `faults` says what became of an index that was harmed."""

    title: str
    head: str
    quality: str
    costs: str
    cost_heads: tuple[str, ...]
    honesty: str
    honesty_heads: tuple[str, ...]
    faults: dict[str, str]
    failed: str
    notes: str
    peer: str
    versions: str
    machine: str
    mean: str
    sets: str
    left: str
    load: str
    reused: str
    chain: str
    chain_heads: tuple[str, ...]


EN = Language(
    title="# Beside what one would take instead",
    head="""Written by `make bench-peers DATA="FOLDER…"`; do not edit. The same texts, questions, vectors (made once by
Wenyuan's built-in encoder and handed to every peer) and machine; what was measured together is said at the end. Each peer has its own
environment, pinned in `bench/peers/NAME/requirements.txt`, and is used by its documented defaults: how exactly, its
`run.py` says in some fifty lines.""",
    quality="## How good the answers are: nDCG@10",
    costs="## What they cost",
    cost_heads=("ingest, texts/s", "disk, MB", "memory, MB", "p50, ms", "p95, ms"),
    honesty="## What is said when there is nothing to say",
    honesty_heads=(
        "Chinese questions with no result",
        "nonsense answered with nothing",
        "biggest file damaged",
        "biggest file gone",
    ),
    faults={
        "raised": "fails visibly",
        "same": "same answers",
        "other": "**other answers, no error**",
        "empty": "**nothing found, no error**",
        "": "—",
    },
    failed="could not be run",
    notes="""Read with care:

- The sets were judged by others; how they were made is in their folders. The mean is over the sets shown.
- *Ingest* is without embedding, with writing to disk. *Memory* is the process that asks, after all questions, with the
  libraries it loads. Times are of one question in process, vector given, one after another.
- Wenyuan's times include what the others do not do: a record in its audit for every answer, a check of every row that
  is scored, the catalog asked again for what it may give. It cuts documents into passages; the others were given each text
  whole.
- *Nonsense*: random Han characters and random codes, made otherwise than those by which Wenyuan measures its floor. A
  vector always has neighbours, so whoever has no floor answers anything.
- *Damaged*: 4 KB in the middle of the index's biggest file inverted; *gone*: that file deleted; then opened in a new
  process and asked the questions of the first set. "Same answers" means rebuilt, or not hit where it hurts.
- tantivy and LlamaIndex's BM25 split words at spaces by default, so in Chinese they match little. They can be given an
  analyser.
- LightRAG would have a language model read every text; here a stub finds no entity, so only its vector mode is compared.
  Its tokenizer is downloaded on first use; one that counts characters is given instead.
- Chroma and numpy are asked by vector alone, tantivy by words alone.""",
    peer="peer",
    versions="Versions",
    machine="Machine",
    mean="mean",
    left="Not asked in this run",
    sets="Sets (texts / questions asked)",
    load="load average {:.1f} at the start",
    reused="""Parts of this were measured in earlier runs on the same machine, some of them at once and while others worked
on it: the answers are what they are, but compare the times with care.""",
    chain="""## From a process to what follows from it

The shipped rules of construction, given whole to both; every process is asked for. Wenyuan infers, LightRAG gives the
neighbourhood (`get_knowledge_graph`, depth 3). What *follows* can be reached in the direction of the statements within
three steps; a hazard that two processes share leads back to the other one, which does not follow.""",
    chain_heads=("nodes given", "of these, follow", "links in their direction", "p50, ms"),
)
ZH = Language(
    title="# 与同类工具并列对比",
    head="""由 `make bench-peers DATA="目录…"` 生成，请勿手改。文本、问题、向量（由文渊内置编码器一次算好，交给每个对手）和机器都相同；哪些是一起测的，见文末。每个对手有自己的环境，版本固定在 `bench/peers/名称/requirements.txt`，均按其文档的默认方式使用，具体做法见各自约五十行的 `run.py`。""",
    quality="## 答案质量：nDCG@10",
    costs="## 代价",
    cost_heads=("收录，篇/秒", "磁盘，MB", "内存，MB", "p50，毫秒", "p95，毫秒"),
    honesty="## 无话可说时怎么说",
    honesty_heads=("中文问题无结果的比例", "无意义问题得到空结果的比例", "最大文件受损", "最大文件丢失"),
    faults={
        "raised": "明确报错",
        "same": "答案不变",
        "other": "**答案变了，却不报错**",
        "empty": "**什么也没找到，却不报错**",
        "": "—",
    },
    failed="未能运行",
    notes="""阅读须知：

- 数据集均由他人标注，来历见各自目录。平均值只对列出的数据集计算。
- *收录*不含向量计算，含写盘。*内存*为提问进程问完全部问题之后的占用，含其加载的库。时间为进程内逐个提问、向量已给定的单次用时。
- 文渊的用时包含别人不做的事：每个答案写一条审计记录，每个参与打分的行都校验，给出之前再向目录核对。文渊把文档切成段落；其他工具拿到的是整篇文本。
- *无意义问题*：随机汉字与随机编码，生成方式与文渊测定门槛所用的不同。向量总有近邻，没有门槛就什么都会答。
- *受损*：把索引最大文件中间的 4 KB 取反；*丢失*：删除该文件；然后在新进程中打开，再问第一个数据集的问题。“答案不变”表示已重建，或损伤没有落在要害处。
- tantivy 与 LlamaIndex 的 BM25 默认按空格切词，中文关键词很难匹配；它们可以另配分词器。
- LightRAG 本应由大模型阅读每篇文本；这里用不产生实体的替身，因此只比较其向量模式。其分词器首次使用时需要下载，这里换成按字计数的分词器。
- Chroma 与 numpy 只按向量检索，tantivy 只按词检索。""",
    peer="工具",
    versions="版本",
    machine="机器",
    mean="平均",
    left="本次未参与",
    sets="数据集（文本数 / 提问数）",
    load="开始时的平均负载 {:.1f}",
    reused="部分结果取自同一台机器上先前的运行，其间有的同时进行，机器也另有任务：答案不受影响，用时请谨慎比较。",
    chain="""## 从一道工序到由它推出的要求

随程序提供的施工规则，完整交给双方，逐道工序提问。文渊做推导，LightRAG 给出邻域（`get_knowledge_graph`，深度 3）。*推出*指顺着陈述的方向三步之内可达；
两道工序共有的危险源会引回另一道工序，那不算推出。""",
    chain_heads=("给出的节点数", "其中推出的", "方向正确的连线", "p50，毫秒"),
)


def written(
    rows: Sequence[Any], sets: Sequence[Any], walked: Mapping[str, Any], out: Path, measured: Measured
) -> list[Path]:
    """Write both pages and the chart; returns their paths.

    Args:
        walked: By peer: how it went from a process to what follows from it.
        measured: When and how, which bears on the times.
    """
    out.mkdir(parents=True, exist_ok=True)
    rows = sorted(rows, key=lambda row: list(SHOWN).index(row.name))
    pages = {
        "benchmarks.md": page(EN, rows, sets, walked, measured),
        "benchmarks.zh.md": page(ZH, rows, sets, walked, measured),
        "benchmarks.svg": chart(rows),
    }
    for name, content in pages.items():
        (out / name).write_text(content, "utf-8")
    return [out / name for name in pages]


def page(
    said: Language, rows: Sequence[Any], sets: Sequence[Any], walked: Mapping[str, Any], measured: Measured
) -> str:
    whole = [row for row in rows if not row.error]
    names = [one.name for one in sets]
    left = ", ".join(shown for name, shown in SHOWN.items() if name not in {row.name for row in rows})
    told = ", ".join(f"`{one.name}` ({one.documents:,} / {len(one.judged.questions):,})" for one in sets)
    parts = [
        said.title,
        said.head,
        "![nDCG@10](benchmarks.svg)",
        said.quality,
        f"{said.sets}: {told}.",
        table(
            (said.peer, *names, said.mean),
            rows,
            said,
            lambda row: [f"{row.sets[name].ndcg:.3f}" for name in names] + [f"{mean_ndcg(row):.3f}"],
        ),
        said.costs,
        table((said.peer, *said.cost_heads), rows, said, lambda row: costs(row, sets)),
        said.honesty,
        table((said.peer, *said.honesty_heads), rows, said, lambda row: honesty(row, sets, said)),
        *([said.chain, chains(said, walked)] if walked else []),
        said.notes,
        *([f"{said.left}: {left}."] if left else []),
        f"{said.versions}: " + ", ".join(versions(whole)) + f". Python {platform.python_version()}.",
        f"{said.machine}: {processor()}, {os.cpu_count()} CPU, {platform.system()} {platform.machine()}; "
        f"{said.load.format(measured.load)}." + (f" {said.reused}" if measured.reused else ""),
    ]
    return "\n\n".join(parts) + "\n"


def table(heads: Sequence[str], rows: Sequence[Any], said: Language, cells: Callable[[Any], Sequence[str]]) -> str:
    lines = ["| " + " | ".join(heads) + " |", "|---|" + "---:|" * (len(heads) - 1)]
    for row in rows:
        told = [f"{said.failed}: {row.error}", *[""] * (len(heads) - 2)] if row.error else cells(row)
        lines.append("| " + " | ".join((SHOWN[row.name], *told)) + " |")
    return "\n".join(lines)


def chains(said: Language, walked: Mapping[str, Any]) -> str:
    lines = ["| " + " | ".join((said.peer, *said.chain_heads)) + " |", "|---|" + "---:|" * len(said.chain_heads)]
    for name, walk in walked.items():
        shown = SHOWN[name].partition(",")[0]
        told = (f"{walk.given:.0f}", f"{walk.following:.0%}", f"{walk.directed:.0%}", f"{walk.ms:.1f}")
        lines.append("| " + " | ".join((shown, *told)) + " |")
    return "\n".join(lines)


def mean_ndcg(row: Any) -> float:
    return sum(outcome.ndcg for outcome in row.sets.values()) / len(row.sets)


def costs(row: Any, sets: Sequence[Any]) -> list[str]:
    outcomes = row.sets.values()
    rate = sum(one.documents for one in sets) / sum(outcome.build["seconds"] for outcome in outcomes)
    times = sorted(ms for outcome in outcomes for ms in outcome.ask["ms"])
    return [
        f"{rate:,.0f}",
        f"{sum(outcome.disk for outcome in outcomes) / 1e6:,.1f}",
        f"{max(outcome.ask['memory_mb'] for outcome in outcomes):,.0f}",
        f"{times[len(times) // 2]:.2f}",
        f"{times[int(len(times) * 0.95)]:.2f}",
    ]


def honesty(row: Any, sets: Sequence[Any], said: Language) -> list[str]:
    found = [len(ids) for one in sets if one.chinese for ids in row.sets[one.name].ask["ranked"]]
    junk = [count for outcome in row.sets.values() for count in outcome.ask["junk"]]
    return [
        share(sum(not count for count in found), len(found)),
        share(sum(not count for count in junk), len(junk)),
        said.faults[row.faults.get("damaged", "")],
        said.faults[row.faults.get("gone", "")],
    ]


def share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "—"


def versions(rows: Sequence[Any]) -> Iterator[str]:
    for row in rows:
        found = next(iter(row.sets.values())).build["versions"]
        yield from (f"{name} {number}".strip() for name, number in found.items())


def processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "?")


def chart(rows: Sequence[Any]) -> str:
    """Mean nDCG@10 as bars, best first, by hand: no library is needed for rectangles."""
    whole = sorted((row for row in rows if not row.error), key=mean_ndcg, reverse=True)
    left, width, step, top = 130, 470, 26, 34
    height = top + step * len(whole) + 16
    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 660 {height}" role="img" '
        f'aria-label="mean nDCG@10 of each peer" font-family="sans-serif" font-size="13">',
        f'<rect width="660" height="{height}" fill="#fffdf8"/>',
        f'<text x="{left}" y="18" fill="{TEXT}">nDCG@10, mean of the sets · 各数据集平均</text>',
    ]
    for tenth in range(0, 11, 2):
        x = left + width * tenth / 10
        drawn.append(f'<path d="M{x:.0f} {top - 8}V{height - 14}" stroke="{GRID}"/>')
        drawn.append(
            f'<text x="{x:.0f}" y="{height - 2}" fill="{TEXT}" font-size="10" text-anchor="middle">{tenth / 10}</text>'
        )
    for place, row in enumerate(whole):
        y, value = top + step * place, mean_ndcg(row)
        colour = OWN if row.name == "wenyuan" else OTHER
        name = SHOWN[row.name].strip("*")
        drawn += [
            f'<text x="{left - 8}" y="{y + 13}" fill="#333" text-anchor="end">{name}</text>',
            f'<rect x="{left}" y="{y}" width="{width * value:.1f}" height="18" rx="2" fill="{colour}"/>',
            f'<text x="{left + width * value + 6:.1f}" y="{y + 13}" fill="{TEXT}">{value:.3f}</text>',
        ]
    return "\n".join([*drawn, "</svg>"]) + "\n"
