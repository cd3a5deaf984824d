"""The documentation site as a reader has it: in Chromium, from a server and from a folder, in both languages."""

from __future__ import annotations

import functools
import html
import json
import re
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

import chromium

SITE = Path(__file__).parents[3] / "build" / "site" / "html"
ASK = """async (questions) => {
  const config = JSON.parse(document.getElementById('__config').textContent);
  const base = new URL(config.base + '/', location);
  const worker = new Worker(new URL(config.search, base));
  const answer = () => new Promise((done, failed) => { worker.onmessage = (said) => done(said.data); worker.onerror = failed; });
  const asked = (message) => { const said = answer(); worker.postMessage(message); return said; };
  await asked({ type: 0, data: await (await fetch(new URL('search.json', base))).json() });
  const found = {};
  for (const input of questions) {
    const { items, pagination } = (await asked({ type: 2, data: { input, page: {} } })).data;
    found[input] = [pagination.total, items.map((item) => item.id)];
  }
  worker.terminate();
  return found;
}"""
"""What the search of a page answers: question → how many sections, and the numbers of the first ten."""

CHINESE = """库 权 钥 表 删 年 权限 审计 失败 规则 知识库 得分 脱敏 身份证 向量 备份 升级 重排序 密钥 矛盾 召回 片段 来源 智能体 引用 原文
扫描件 邮件 表格 节点 同义词 编码器 缓存 集群 版本 生效 期限 个人信息 强制规则 有效期 可信度 控制台 年假 许可证 手机号""".split()
ENGLISH = """audit redaction passage synonyms reranker encoder PostgreSQL OpenSearch erasure trust validity snippet Dify LangChain
conformance deadline upgrade backup leave scans workbook""".split()


class Quiet(SimpleHTTPRequestHandler):
    """Serves the site, and says nothing."""

    def log_message(self, *_: Any) -> None:
        """Nobody reads it."""


@pytest.fixture(scope="module")
def served() -> Iterator[str]:
    """The address of the site on the loopback."""
    assert SITE.is_dir(), "make site builds it"
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(SITE))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium.started() as found:
        yield found


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """A window that has asked for nothing yet."""
    context = browser.new_context()
    yield context.new_page()
    context.close()


def sections(tree: str) -> list[str]:
    """The plain texts of what the search of a tree knows."""
    items = json.loads((SITE / tree / "search.json").read_text("utf-8"))["items"]
    return [html.unescape(re.sub(r"<[^>]+>", "", f"{item['title']}\n{item['text']}")) for item in items]


@pytest.mark.parametrize(("tree", "words"), [("zh", CHINESE), ("", ENGLISH)], ids=["Chinese", "English"])
def test_the_search_finds_words_of_one_and_two_characters(
    page: Any, served: str, tree: str, words: list[str]
) -> None:
    """Of the sections that have a word at least four of five are found, and most of the first ten have it."""
    texts = sections(tree)
    page.goto(f"{served}{tree}/index.html")
    found = page.evaluate(ASK, words)
    short = {}
    for word, (count, first) in found.items():
        having = sum(word.casefold() in text.casefold() for text in texts)
        right = sum(word.casefold() in texts[one].casefold() for one in first)
        assert having, f"no section has {word}: another word belongs here"
        if count < 0.75 * having or right < 0.5 * min(len(first), having):
            short[word] = (having, count, right)
    assert short == {}


@pytest.mark.parametrize(("tree", "question", "title"), [("zh", "脱敏", "脱敏"), ("", "redaction", "Redaction")])
def test_the_search_works_from_a_folder(page: Any, tree: str, question: str, title: str) -> None:
    """Opened from files, without a server, what is typed is found; nothing at all is asked of a network."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{(SITE / tree / 'index.html').as_uri()}")
    page.locator(".md-search__button").click()
    page.get_by_role("combobox").fill(question)
    page.get_by_role("option").first.wait_for(timeout=60_000)
    assert title in page.get_by_role("listbox").inner_text()
    assert [address for address in asked if not address.startswith(("file:", "data:", "blob:"))] == []


def test_a_page_leads_to_itself_in_the_other_language(page: Any, served: str) -> None:
    """The switch in the head goes from a page to the same one, and back."""
    page.goto(f"{served}redaction.html")
    page.get_by_role("banner").get_by_text("中文").click()
    assert page.url == f"{served}zh/redaction.html"
    assert page.locator("html").get_attribute("lang") == "zh"
    page.get_by_role("banner").get_by_text("English").click()
    assert page.url == f"{served}redaction.html"


def test_nothing_comes_from_another_host(page: Any, served: str) -> None:
    """Neither a page nor what its scripts load."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for address in ("index.html", "zh/index.html", "explanation/scoring.html", "zh/console.html"):
        page.goto(f"{served}{address}", wait_until="networkidle")
    assert {address for address in asked if not address.startswith((served, "data:", "blob:"))} == set()


@pytest.mark.parametrize(
    "address",
    ["index.html", "zh/index.html", "reference/errors.html", "zh/tutorials/five-minutes.html", "settings.html"],
)
def test_pages_are_accessible(page: Any, served: str, address: str) -> None:
    """axe finds nothing on a wide and on a narrow window, in both lights; the page is no wider than the window."""
    page.goto(f"{served}{address}")
    page.evaluate((files("axe_playwright_python") / "axe.min.js").read_text("utf-8"))
    found = {}
    for size, scheme in (("phone", "light"), ("desktop", "light"), ("desktop", "dark")):
        page.set_viewport_size(chromium.SIZES[size])
        page.emulate_media(color_scheme=scheme)
        page.reload()
        page.evaluate((files("axe_playwright_python") / "axe.min.js").read_text("utf-8"))
        page.evaluate("document.getAnimations().forEach((fading) => fading.finish())")
        violations = page.evaluate(
            "axe.run(document, {resultTypes: ['violations']}).then((found) => found.violations.map("
            "(one) => [one.id, one.nodes.length, one.nodes.slice(0, 2).map((node) => node.html.slice(0, 160))]))"
        )
        if violations or page.evaluate("document.documentElement.scrollWidth") > chromium.SIZES[size]["width"]:
            found[f"{size}, {scheme}"] = violations or "wider than the window"
    assert found == {}
