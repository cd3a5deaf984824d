"""What is said in Chinese is Chinese: no word of code or of English stands in it but names, units and what one types."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from selectolax.lexbor import LexborHTMLParser
from typer.testing import CliRunner

from console_door import Browser, console
from listening import listening
from parsed import PACKAGE, code
from wenyuan.cli.audit_records import _DID
from wenyuan.cli.root import app
from wenyuan.conformance.runner import CASES
from wenyuan.core import errors
from wenyuan.core.model import RetrievalRequest
from wenyuan.core.text.folding import has_han
from wenyuan.i18n.translation import texts, translated

_LATIN = re.compile(r"(?<![A-Za-z0-9_./:=%<>-])[A-Za-z][A-Za-z_-]+(?![A-Za-z0-9_./:=%-])")
NAMES = frozenset(
    """
    English Wenyuan UTC URL URI JSON CSV TSV XLSX PDF MCP API HTTP Python PostgreSQL Milvus SQLite Linux curl token tokens cron
    kB MB GB wenyuan Wilson nDCG ECE MRR id
    """.split()
)
"""Names, units and what has no Chinese word; what is typed on a command line stands in ``code`` on pages."""
PAGES = (
    "search", "search?q=客户投诉", "context", "context?q=客户投诉&agent_id=support", "verify", "sources", "sources/wiki", "sources/+new",
    "rules", "review", "rules/import", "audit", "evaluation", "people", "health",
)  # fmt: skip
_NO_WORDS = "code, pre, script, style, input, textarea, blockquote, h3, .brand, .uri, .text, .badge.domain, .why, .bounds select[name=domain], select[name=agent_id], td.first, .facts dd"


def latin(text: str) -> set[str]:
    return set(_LATIN.findall(text)) - NAMES


def test_pages_in_chinese(tmp_path: Path) -> None:
    """Every page of the console in Chinese has Latin words only where it quotes what is stored, or what one types."""
    with console(tmp_path) as (url, library):
        mine = {word for s in library.sources() for word in re.split(r"[^A-Za-z_-]+", f"{s.source_id} {s.domain}")}
        mine |= {"support", "other", "script", "alert"}
        browser, found = Browser(url, "zh-CN"), {}
        for page in PAGES:
            tree = LexborHTMLParser(browser.get(f"/console/{page}").body)
            for quoted in tree.css(_NO_WORDS):
                quoted.decompose()
            assert tree.body is not None
            if words := latin(tree.body.text(separator=" ")) - mine:
                found[page] = words
    assert found.pop("people", set()) <= {"task"}  # the example of a task's id
    assert found.pop("sources/+new", set()) <= {"never", "daily", "excerpt"}  # what may be typed
    assert found.pop("rules/import", set()) <= {"construction", "customer_service"}  # ids of packs
    assert found.pop("evaluation", set()) <= {"question", "uri"}  # columns of a file
    assert found.pop("health", set()) <= {"hashing", "local"}  # kinds, as they are set
    assert not found


def test_failures_of_the_command_line_in_chinese(tmp_path: Path) -> None:
    """A refusal says in Chinese what failed, where and why; only the next command is what one types."""
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "投诉.md").write_text("# 投诉\n\n客户投诉应当在三个工作日内答复。\n", "utf-8")
    (docs / "坏.pdf").write_bytes(b"%PDF-1.4 broken")
    world = {"WENYUAN_ENCODER__KIND": "hashing", "LC_ALL": "C.UTF-8", "WENYUAN_LIBRARY": str(tmp_path / "lib")}

    def said(*args: object) -> list[str]:
        done = CliRunner().invoke(app, [*map(str, args), "--lang", "zh"], env=world, prog_name="wenyuan")
        text = done.output.replace(str(tmp_path), "").replace("坏.pdf", "")
        return [line for line in text.splitlines() if "下一步" not in line and not line.startswith("失败：wenyuan")]

    said("init")
    refused = [
        said("add", docs, "--source", "p"), said("source", "show", "p"), said("source", "show", "p2"), said("search", ""),
        said("add", "/没有", "--source", "q"), said("key", "create", "--rights", "fly"), said("source", "set", "p", "--trust", "9"),
        said("audit", "replay", "a-0"), said("search", "投诉", "--source", "zz"), said("rules", "infer", "没有的工序"),
        said("agent", "show", "nobody"), said("eval", "--golden", "没有.csv"),
    ]  # fmt: skip
    lines = [line for output in refused for line in output]
    assert any("已损坏" in line for line in lines)
    assert any("部位：请求内容" in line for line in lines)
    odd = {
        line: words
        for line in lines
        if (words := latin(re.sub(r"'[^']*'|file://\S+", "", line)) - {"p", "source_id", "trust_level"})
    }
    assert not odd


def test_what_is_recorded_and_what_can_fail_have_names(tmp_path: Path) -> None:
    """Every action of a record and every part of health is called by a word on the pages, and not by its code."""
    assert {f"action_{done}" for done in _DID} <= texts("console", "zh").keys()
    with console(tmp_path) as (url, _):
        parts = json.loads(Browser(url).get("/readyz").body)["parts"]
        assert "search" in parts
        assert {f"component_{name}" for name in parts} <= texts("console", "zh").keys()


def test_a_form_that_is_refused_in_chinese(tmp_path: Path) -> None:
    """What is wrong with several fields is said by their labels, all of it in Chinese."""
    with console(tmp_path) as (url, _):
        refused = Browser(url, "zh-CN").post(
            "/console/people/agents", {"agent_id": "my agent", "title": "", "min_trust": "1"}
        )
        said = refused.text(".notice.bad")
        assert "编号" in said and "知识范围" in said
        assert not latin(said)


_ROOMS = (
    "server", "service", "readers", "catalog", "core", "settings.py", "engines", "encoders", "evaluation", "client",
    "conformance", "connectors", "knowledge_retriever", "llm", "runtime",
)  # fmt: skip
_VARIES = "甲"
_SPOKEN_ELSEWHERE = re.compile(
    f"[a-z]{_VARIES}$|{_VARIES}[a-z]|{_VARIES} ?{_VARIES}"
)  # in what varies, and translated with it
_ENGLISH = re.compile(r"(?<![A-Za-z_.])(?:the|is|are|no|not|of|must|may|it|to)(?![a-z_.])")
_ERRORS = {name for name in dir(errors) if isinstance(getattr(errors, name), type)} | {"rejected"}


def _spoken(node: ast.expr) -> str:
    """A message as it is written, with a sign for what varies in it."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(_spoken(part) if isinstance(part, ast.Constant) else _VARIES for part in node.values)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "msg":
        return re.sub(r"\{\w+\}", _VARIES, _spoken(node.args[0]))
    if isinstance(node, ast.BinOp):
        return (_spoken(node.left) or _VARIES) + (_spoken(node.right) or _VARIES)
    return ""


def _messages() -> Iterator[tuple[str, str]]:
    for file, tree in code().items():
        for node in ast.walk(tree) if file.relative_to(PACKAGE).parts[0] in _ROOMS else ():
            if not isinstance(node, ast.Raise) or not isinstance(node.exc, ast.Call) or not node.exc.args:
                continue
            name = node.exc.func.id if isinstance(node.exc.func, ast.Name) else ""
            if name in _ERRORS and (message := _spoken(node.exc.args[0])).strip(_VARIES + " "):
                yield f"{file.name}:{node.lineno}", message


def test_every_refusal_of_the_rooms_is_known_in_chinese() -> None:
    """Whatever an error says that is raised with a message of its own is translated, not left half in English."""
    unknown = {
        where: message
        for where, message in _messages()
        if not _SPOKEN_ELSEWHERE.search(message)
        and ((said := translated(message)) == message or _ENGLISH.search(said))
    }
    assert unknown == {}


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        ("its host leads to a private address, which is refused", "其主机指向内网地址，不予访问"),
        ("the reranker's URL holds a password; use the key instead", "重排序模型的地址中含有密码；请改用密钥"),
        (
            "column 'v' holds vectors of 768 dimensions, the settings say 384",
            "列 'v' 的向量为 768 维，设置中为 384 维",
        ),
        ("answered HTTP 502", "返回了 HTTP 502"),
        ("q.tsv, line 3: the id 'a' stands twice", "q.tsv 第 3 行：标识 'a' 重复"),
    ],
)
def test_what_adapters_refuse_is_told_with_what_varies(english: str, chinese: str) -> None:
    """A refusal of an engine, an encoder, a reranker or an evaluation is one Chinese sentence with its values in place."""
    assert translated(english) == chinese


CLAUSES = "# 投诉办法\n\n第一条 客户投诉应当在三个工作日内答复。\n\n第二条 投诉由客服部登记编号。\n\n第三条 重大投诉报总经理。\n"
ARTICLES = "# Complaints\n\nArticle 1. A complaint is answered within three days.\n\nArticle 2. The desk registers complaints.\n"
_TYPED = frozenset(
    "retrieve search context infer_rules local hashing never public tantivy faiss-cpu onnxruntime numpy SQLAlchemy".split()
)
"""Doors of the HTTP API, kinds, values that one types and packages, as they are written."""
_DATA = re.compile(
    r"'[^']*'|“[^”]*”|(?:file|urn|https?):\S+|--\S+( [A-Z]+)?|wenyuan [a-z]+( [a-z]+)*|(?<![0-9a-z])(?:a|p)-[0-9a-z]+"
)
Say = Callable[..., list[str]]


def speaker(folder: Path, language: str) -> Say:
    """Commands on a library in a folder, in a language: what they print, without the folder's own name."""
    world = {
        "WENYUAN_ENCODER__KIND": "hashing", "LC_ALL": "C.UTF-8", "COLUMNS": "200",
        "WENYUAN_LIBRARY": str(folder / "lib"),
    }  # fmt: skip

    def say(*args: object) -> list[str]:
        done = CliRunner().invoke(app, [*map(str, args), "--lang", language], env=world, prog_name="wenyuan")
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        return done.output.replace(str(folder), "").splitlines()

    return say


def walked(say: Say, folder: Path, text: str, other: tuple[str, str], asked: tuple[str, ...]) -> list[str]:
    """What a person sees who takes documents in, asks, changes them, and asks the audit why answers differ."""
    docs = folder / "docs"
    docs.mkdir()
    (docs / "1.md").write_text(text, "utf-8")
    say("init")
    lines = [*say("add", docs, "--source", "p", "--trust", "5"), *say("doctor")]
    for question in asked:
        lines += [*say("search", question, "--explain"), *say("context", question)]
        lines += say("retrieve", question, "--explain", "--threshold", "0")
    (docs / "1.md").write_text(text.replace(*other), "utf-8")
    (docs / "2.md").write_text(f"# 2\n\n{asked[0]} 2\n", "utf-8")
    lines += [*say("ingest", "p"), *say("source", "set", "p", "--trust", "2"), *say("source", "show", "p")]
    lines += say("key", "create", "--rights", "search")
    records = [line.split()[0] for line in say("audit", "list", "--limit", "50") if re.match(r"a-[0-9a-z]{26}", line)]
    assert len(records) > len(asked)
    for name in records:
        lines += [
            *say("audit", "show", name),
            *say("audit", "replay", name),
            *say("audit", "replay", name, "--exact"),
        ]
    lines += [*say("source", "remove", "p", "--yes"), *say("audit", "verify")]
    for name in records:
        lines += say("audit", "replay", name)
    return lines


def test_what_the_command_line_explains_in_chinese(tmp_path: Path) -> None:
    """Formulas of scores, what was measured, records of the audit and why a replay differs are told in Chinese words."""
    say = speaker(tmp_path, "zh")
    lines = walked(say, tmp_path, CLAUSES, ("三个", "五个"), ("投诉多久答复", "投诉办法第二条", "重大投诉报谁"))
    lines += say("rules", "import", "construction")
    lines += [
        *say("search", "深基坑开挖有哪些危险源", "--explain"),
        *say("retrieve", "深基坑开挖", "--explain"),
        *say("rules", "review"),
    ]
    shown = "\n".join(lines)
    for word in (
        "向量 0.",
        "关键词 0.",
        "离散度",
        "指明的条款",
        "识别 1.00 ×",
        "门槛 0.",
        "文档已更新",
        "来源已移除",
        "权限: ",
    ):
        assert word in shown
    named = {"p", "rules", "construction", "WENYUAN_ENCODER__KIND", "WENYUAN_SEARCH__DEADLINE"}
    assert not {
        line: words
        for line in lines
        if "下一步" not in line
        and not line.startswith(("失败：wenyuan", "    + ", "+ "))  # rules are quoted as their files have them
        and (words := latin(_DATA.sub("", line)) - _TYPED - named - _stored(line))
    }


def _stored(line: str) -> set[str]:
    """Ids of sources and of parameters in conditions, which stand as the file of rules has them."""
    return set(re.findall(r"[a-z]+(?:_[a-z0-9]+)+", line)) | {"true", "false"}


def test_what_the_command_line_explains_in_english(tmp_path: Path) -> None:
    """No Chinese word stands in what is told in English of English documents."""
    say = speaker(tmp_path, "en")
    lines = walked(
        say, tmp_path, ARTICLES, ("three", "five"), ("how soon is a complaint answered", "who registers complaints")
    )
    assert "document changed" in "\n".join(lines)
    assert not [line for line in lines if has_han(line)]


def test_why_a_replay_differs_on_a_page_in_chinese(tmp_path: Path) -> None:
    """The console names the causes and what is to be known of them in Chinese; in English it does as before."""
    with console(tmp_path) as (url, library):
        answer = library.retrieve_fragments(RetrievalRequest(query="客户投诉多久响应", max_results=3))
        name = answer.fragments[0].metadata["audit_id"]
        library.remove("crm_policy")
        for language, cause in (("zh-CN", "来源已移除"), ("en", "source removed")):
            browser = Browser(url, language)
            browser.get(f"/console/audit/{name}")
            tree = LexborHTMLParser(browser.post(f"/console/audit/{name}", {}).body)
            causes = [node.text() for node in tree.css("b")]
            assert cause in causes
            assert language == "en" or not [one for one in causes if latin(one)]


def test_what_the_conformance_kit_found_in_chinese(tmp_path: Path) -> None:
    """Every case has a title, and of a service that keeps nothing what was expected and what came is told in Chinese."""
    assert [case.title for case in CASES.values() if not has_han(translated(case.title))] == []

    class Broken(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            body = b'{"status": "SUCCESS", "fragments": [{"source": "x y", "content": 3, "retrieval_score": "1"}]}'
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    with listening(ThreadingHTTPServer(("127.0.0.1", 0), Broken)) as url:
        lines = speaker(tmp_path, "zh")("conformance", url)
    shown = re.sub(r"HTTP 200 \{.*?\]\}", "", "\n".join(lines).replace("\n        ", ""))
    assert "应为：每个 source 都是 URI；实为：fragments[0].source x y 没有协议（契约 §3.1）" in shown
    contract = "source content retrieval_score metadata fragments max_results context query status error_message SUCCESS FAILED".split()
    contract += "RetrievalResponse KnowledgeFragment true false null NaN Infinity text plain Content-Type UTF- GB RFC MiB x y".split()
    for line in shown.splitlines():
        said = re.sub(r"(通过|失败)  [A-Za-z0-9-]+", "", _DATA.sub("", line))
        assert not latin(said) - set(contract) - {"CMD", "NAME", "VALUE"}, line
