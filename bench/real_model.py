"""What becomes of what a real model writes: every feature that asks one, over a small library in Chinese and English.

    python bench/real_model.py --url http://127.0.0.1:8080/v1 --model NAME [--timeout 600] [--most-tokens 300]

It shows the plumbing: whether the endpoint takes a schema, how often an answer is not of the form even when asked again, how
many claims are kept, quoted in the source's words instead, or dropped, and that none is given that does not stand in the
library. How good a model's answers are it does not show: for that ask your own questions (``wenyuan eval --golden``).
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import wenyuan
from wenyuan.core.access import Principal
from wenyuan.core.errors import LlmError
from wenyuan.knowledge_retriever import KGRetriever, KnowledgeRetriever
from wenyuan.packs.shipped import located
from wenyuan.readers.rulebooks.selection import read_book
from wenyuan.service.generation.answers import AnswerRequest
from wenyuan.service.search.searcher import SearchRequest

TEXTS = {
    "en": {
        "complaints": "# Handling of complaints\n\n## Responses\n\nComplaints must be answered within 24 hours and are registered with a number. "
        "Complaints about safety must be answered within two hours.\n\n## Fees\n\nA fee of five euros is charged for each copy of a file.\n",
        "leave": "# Leave\n\n## Annual leave\n\nAnnual leave is requested five working days ahead and approved by the head of the department.\n\n"
        "## Sick leave\n\nA certificate of a doctor is handed in within three days.\n",
    },
    "zh": {
        "投诉": "# 投诉处理办法\n\n## 第一章 响应\n\n客户投诉应当在24小时内首次响应，并登记投诉编号。涉及安全的投诉应当在两小时内响应。\n\n"
        "## 第二章 收费\n\n复制档案每份收取工本费五元。\n",
        "请假": "# 请假制度\n\n## 第一章 年假\n\n年假须提前五个工作日申请，由部门负责人批准。\n\n## 第二章 病假\n\n病假须在三日之内补交医院证明。\n",
    },
}  # fmt: skip
QUESTIONS = {
    "en": ("How soon are complaints answered?", "Who approves annual leave?"),
    "zh": ("客户投诉多久响应？", "年假由谁批准？"),
}
SITES = {"en": "Tomorrow they dig a hole of six metres on the site", "zh": "明天工地上要往地下挖一个六米深的大坑"}


def counted(call: Callable[[], Counter[str]], model: Any) -> tuple[Counter[str], int, int, float]:
    """What came of some calls, tokens in and out, and seconds; a failure is counted by its code."""
    before, begun = model.use(), time.perf_counter()
    try:
        came = call()
    except LlmError as error:
        came = Counter({f"failed: {error.code}": 1})
    after = model.use()
    used = after.tokens_in - before.tokens_in, after.tokens_out - before.tokens_out
    return came, *used, time.perf_counter() - begun


def answers(library: wenyuan.Library, language: str, texts: str) -> Counter[str]:
    """Claims of the model by what became of them; `texts`: all that the library of this language holds."""
    came: Counter[str] = Counter()
    for question in QUESTIONS[language]:
        try:
            told = library.answer(AnswerRequest(query=question, limit=3), Principal())
        except LlmError as error:
            came[f"failed: {error.code}"] += 1
            continue
        came["questions answered by the model" if told.origin == "model" else "by extracts or not at all"] += 1
        came += Counter(f"claim {one.origin}" for one in told.claims if one.origin in ("model", "quote"))
        came += Counter(f"dropped: {one.reason}" for one in told.dropped)
        came["unsupported"] += sum(one.text not in texts for one in told.claims if one.origin != "rule")
    return came


def summaries(library: wenyuan.Library, language: str, texts: str) -> Counter[str]:
    """Passages by the origin of their summary."""
    result = library.find(SearchRequest(query=QUESTIONS[language][0], summary="generated", limit=3))
    came = Counter(f"summary {one.summary_origin}" for one in result.passages)
    parts = (part.strip() for one in result.passages for part in (one.summary or "").split("…"))
    came["unsupported"] += sum(part not in texts for part in parts)
    if result.legs[-1].error:
        came["leg llm failed"] += 1
    return came


def names(library: wenyuan.Library, language: str) -> Counter[str]:
    """Rules that follow from the names which the model chose."""
    found = KnowledgeRetriever(None, KGRetriever(library)).infer_rules(SITES[language], use_llm=True)
    return Counter({"rules": len(found), "no rule follows": int(not found)})


def contexts(library: wenyuan.Library, folder: Path, language: str) -> Counter[str]:
    """Sentences by what became of them."""
    source = wenyuan.Source(source_id=f"placed-{language}", path=str(folder), settings={"llm": {"context": True}})
    report = library.add(source)
    came = Counter({"sentences": report.context_sentences, "waiting": report.context_waiting})
    return came + Counter({f"left out: {why}": count for why, count in report.context_left_out.items()})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--key", default="")
    parser.add_argument("--timeout", type=float, default=600.0)
    parser.add_argument("--most-tokens", type=int, default=300)
    options = parser.parse_args()
    llm = {
        "url": options.url, "model": options.model, "key": options.key, "timeout": options.timeout,
        "most_tokens": options.most_tokens, "concurrency": 1,
    }  # fmt: skip
    print(
        "| feature | language | what came of it | unsupported | tokens in, out | seconds |\n|---|---|---|---|---|---|",
        flush=True,
    )
    with tempfile.TemporaryDirectory() as made:
        for language, documents in TEXTS.items():
            folder, texts = Path(made) / language, "\n".join(documents.values())
            (folder / "docs").mkdir(parents=True)
            for name, text in documents.items():
                (folder / "docs" / f"{name}.md").write_text(text, "utf-8")
            with wenyuan.open(folder / "library", create=True, llm=llm, search={"deadline": 60}) as library:
                library.add(wenyuan.Source(source_id="docs", path=str(folder / "docs")))
                with located("construction") as pack:
                    library.rules.take(read_book(pack))
                model = library.answerer.llm
                assert model is not None
                features: dict[str, Callable[[], Counter[str]]] = {
                    "answer": lambda: answers(library, language, texts),  # noqa: B023  (called within the turn)
                    "summary": lambda: summaries(library, language, texts),  # noqa: B023
                    "use_llm": lambda: names(library, language),  # noqa: B023
                    "context": lambda: contexts(library, folder / "docs", language),  # noqa: B023
                }
                for feature, call in features.items():
                    came, asked, written, seconds = counted(call, model)
                    unsupported = came.pop("unsupported", 0)
                    told = ", ".join(f"{what} {count}" for what, count in came.items() if count)
                    print(
                        f"| {feature} | {language} | {told} | {unsupported} | {asked}, {written} | {seconds:.0f} |",
                        flush=True,
                    )
                calls = ", ".join(f"{code} {count}" for code, count in model.use().calls.items())
        print(f"\ncalls of the last language: {calls}")


if __name__ == "__main__":
    main()
