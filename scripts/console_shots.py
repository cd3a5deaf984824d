"""Pictures of the console for the documentation, and how long a search takes from the key to the painted answer.

    python scripts/console_shots.py /srv/wenyuan               # makes the demo library there if there is none
    python scripts/console_shots.py /srv/wenyuan document      # only these pictures, and no times

Needs Chromium on the machine. Pictures go to docs/console: page, language, and ``phone`` where it is one.
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

import wenyuan
from wenyuan.cli.snippets import marks
from wenyuan.console import with_console
from wenyuan.core.access import parse_agent
from wenyuan.core.learning_records import QuestionAddress
from wenyuan.readers.rulebooks.selection import read_book
from wenyuan.server.app import create_app
from wenyuan.server.running import start_in_thread
from wenyuan.service.uploads import Given

DOCUMENTS = Path(wenyuan.__file__).parent / "cli" / "demo" / "documents"
OUT = Path(__file__).parents[1] / "docs" / "console"
SIZES = {"": {"width": 1000, "height": 600}, "-phone": {"width": 390, "height": 780}}
QUESTION = {"zh": "深基坑开挖有哪些危险源", "en": "how long until a complaint is answered"}
PAGES = {
    "search": "/console/search?q={question}",
    "context": "/console/context?q={question}&agent=support&budget=300",
    "sources": "/console/sources",
    "rules": "/console/rules/nodes/6?p.depth_m=6",
    "review": "/console/review",
    "audit": "/console/audit?kind=rule",
    "evaluation": "/console/evaluation",
    "evaluation-run": "/console/evaluation/3?against=1",
    "people": "/console/people",
    "health": "/console/health",
    "sign-in": "/console/sign-in",
}
MANUAL = """\
<h1>增压泵维护手册 Booster pump manual</h1>
<h2>3 检查 Inspection</h2>
<p>增压泵每运行 500 小时须检查一次，检查内容包括轴封、轴承温度与进出口压力。</p>
<p>The booster pump is inspected every 500 hours of operation: shaft seal, bearing temperature, inlet and outlet pressure.</p>
<h2>4 停机 Shutdown</h2>
<p>轴承温度超过 85 ℃ 时必须立即停机，冷却 30 分钟后方可重新启动。</p>
<p>Above 85 ℃ at the bearing the pump must be stopped at once, and is started again after 30 minutes at the earliest.</p>
"""
CHECKED = {"zh": "增压泵多久检查一次", "en": "how often is the booster pump inspected"}
PROPOSED = """\
pack: proposals
nodes: [{kind: process, name: 深基坑开挖}, {kind: equipment, name: 气体检测仪, en: Gas detector}]
statements:
  - src: 深基坑开挖
    rel: requires_equipment
    dst: 气体检测仪
    when: toxic_gas == true
    status: proposed
    evidence: [{source: mohurd_37, clause: 第十四条, quote: 并在危险区域设置安全警示标志}]
"""
QUERIES = (
    "投诉分几级", "年假可以结转几天", "红灯快闪是什么意思", "individual data breach notice", "who approves overtime",
    "基坑监测由谁负责", "固件升级失败怎么办", "complaint deadline", "personal data retention", "高处坠落的防控措施",
    "夜间接到投诉", "incident report template", "脚手架验收", "refund policy", "数据泄露要在多久内报告",
    "专家论证的人数", "toolbox talk excavation", "客服热线", "error code E-207", "有限空间作业要准备什么",
)  # fmt: skip
GOLDEN = {
    "投诉分几级": "complaints.zh.md", "客户投诉几天内答复": "complaints.zh.md", "夜间接到投诉怎么办": "complaints.zh.md",
    "数据泄露要在多久内报告": "data-protection.zh.txt", "个人信息保存多久": "data-protection.zh.txt",
    "who approves overtime": "handbook.en.md", "how many days of leave can be carried over": "handbook.en.md",
    "what goes into an incident report": "incident-guide.en.txt", "基坑监测由谁负责": "excavation.zh.md",
    "toolbox talk before an excavation": "toolbox-talk.en.md", "红灯快闪是什么意思": "zh-frequent-questions.csv",
    "error code E-207": "frequent-questions.csv",
}  # fmt: skip


def evaluated(library: Any) -> None:
    """The same questions, asked while two sources, one and none are out of force."""
    pairs = [QuestionAddress(question=question, answer=answer) for question, answer in GOLDEN.items()]
    for hidden in (("handbook", "site"), ("site",), ()):
        for source in library.sources():
            if source.type == "static_doc":
                status = "draft" if source.source_id in hidden else "in_force"
                library.catalog.put_source(replace(source, status=status))
        library.evaluate(pairs, name="questions.csv")


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, Any]]:
    """The demo library behind a server, with an agent and a rule that waits for a review."""
    if not (folder / "library").exists():
        program = [sys.executable, "-m", "wenyuan.cli"]
        subprocess.run([*program, "demo", "--lang", "en", "--keep", str(folder)], check=True)
        for file in (DOCUMENTS / "zh").rglob("*.*"):  # the pages are shown in both languages
            name = file.name if ".zh." in file.name else f"zh-{file.name}"
            (folder / "documents" / file.parent.name / name).write_bytes(file.read_bytes())
        subprocess.run([*program, "--library", str(folder / "library"), "refresh", "--all"], check=True)
    with wenyuan.open(folder / "library", cache={"seconds": 0}) as library:
        scope = [
            {"domain": "policy", "top_k": 3},
            {"domain": "faq", "top_k": 2},
            {"domain": "construction", "top_k": 3},
        ]
        library.catalog.put_agent(
            parse_agent({"agent_id": "support", "title": "客服 Support", "knowledge_scope": scope})
        )
        (folder / "proposed.yaml").write_text(PROPOSED, encoding="utf-8")
        library.rules.take(read_book(folder / "proposed.yaml"))
        if not library.evaluations():
            evaluated(library)
        url, stop = start_in_thread(with_console(create_app(library), marks))
        try:
            yield url, library
        finally:
            stop()


def printed(browser: Any, library: Any) -> dict[str, str]:
    """A manual, printed and uploaded; the addresses of its source's documents, and of a passage in it."""
    library.catalog.put_source(wenyuan.Source(source_id="manuals", title="手册 Manuals", copyright="allow", trust=4))
    page = browser.new_page()
    page.set_content(MANUAL)
    with library.uploads.incoming() as folder:
        page.pdf(path=str(folder / "0"), format="A5")
        (folder / "1").write_bytes(next(DOCUMENTS.rglob("complaints.zh.md")).read_bytes())
        files = [Given(name="pump.pdf", path=folder / "0"), Given(name="complaints.md", path=folder / "1")]
        library.upload("manuals", files)
    page.close()
    found = library.search(CHECKED["zh"], sources=["manuals"]).hits[0].passage_id
    return {
        "documents": "/console/sources/manuals/documents",
        "document": f"/console/passages/{found}?q={{checked}}",
    }


def shoot(browser: Any, url: str, names: dict[str, str]) -> None:
    for name, path in names.items():
        for language, locale in (("zh", "zh-CN"), ("en", "en-US")):
            for suffix, size in SIZES.items():
                context = browser.new_context(viewport=size, locale=locale)
                page = context.new_page()
                page.goto(url + path.format(question=QUESTION[language], checked=CHECKED[language]))
                page.wait_for_load_state("networkidle")
                file = OUT / f"{name}-{language}{suffix}.png"
                page.screenshot(path=str(file))
                print(f"{file.name}: {file.stat().st_size / 1024:.0f} kB")
                context.close()


def measure(browser: Any, url: str) -> None:
    """Milliseconds from the Enter key to the frame after the answer was swapped in."""
    page = browser.new_page()
    page.goto(f"{url}/console/search")
    page.evaluate(
        """() => {
            addEventListener("keydown", (e) => { if (e.key === "Enter") window.begun = e.timeStamp; }, true);
            document.addEventListener("htmx:after:swap", () =>
                requestAnimationFrame(() => requestAnimationFrame(() => { window.painted = performance.now(); })));
        }"""
    )
    took = []
    for query in ("warm up", *QUERIES):
        page.evaluate("window.painted = 0")
        page.fill("#q", query)
        page.press("#q", "Enter")
        while not page.evaluate("window.painted"):  # the page's own policy lets no expression be watched
            page.wait_for_timeout(5)
        took.append(page.evaluate("window.painted - window.begun"))
    took = sorted(took[1:])
    print(
        f"search, key to paint, {len(took)} questions: median {statistics.median(took):.0f} ms, "
        f"p95 {took[int(len(took) * 0.95) - 1]:.0f} ms, longest {took[-1]:.0f} ms"
    )


def main() -> None:
    OUT.mkdir(exist_ok=True)
    with sync_playwright() as playwright, served(Path(sys.argv[1])) as (url, library):
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        pages = PAGES | printed(browser, library)
        if wanted := sys.argv[2:]:
            shoot(browser, url, {name: pages[name] for name in wanted})
            return
        measure(browser, url)
        shoot(browser, url, pages)
        broken = {"url": "http://127.0.0.1:9/v1/retrieve_fragments", "allow_private": True}
        away = {"source_id": "partner", "title": "Partner", "type": "api", "path": ""}
        library.catalog.put_source(wenyuan.Source(**away, settings={**broken, "required": False}))
        shoot(browser, url, {"degraded": "/console/search?q={question}"})
        library.catalog.put_source(wenyuan.Source(**away, settings=broken))
        shoot(browser, url, {"failed": "/console/search?q={question}"})
        library.remove("partner")
        browser.close()


if __name__ == "__main__":
    main()
