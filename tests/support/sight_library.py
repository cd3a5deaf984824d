"""The same library twice, with documents that are hidden from almost everybody and without them, and questions to compare them by."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import wenyuan
from wenyuan.core.access import Principal
from wenyuan.core.model import Source
from wenyuan.service.search.searcher import SearchRequest
from wenyuan.wire.search_answers import search_to_wire

WU = Principal(key_id="w", rights=frozenset({"retrieve", "search"}), user="user:wu")
_CHINESE = (
    "年假", "加班", "投诉", "响应时间", "连接池", "备份", "采购合同", "付款", "验收", "高温作业", "安全培训", "差旅费",
    "发票", "试用期", "绩效考核", "会议纪要", "密码", "设备检修", "噪声", "食堂",
)  # fmt: skip
_ENGLISH = (
    "annual leave", "overtime", "complaint", "response time", "connection pool", "backup", "purchase order", "payment",
    "inspection", "hot work", "safety training", "travel expenses", "invoice", "probation", "appraisal", "minutes",
    "password", "maintenance", "noise", "canteen",
)  # fmt: skip
_ASKED_ZH = (
    "{}怎么办理？",
    "{}有什么规定",
    "请问{}和{}由谁负责",
    "{}最多几天",
    "第三条 {}",
    "不知道的{}龘靐",
    "{} {} 编号 KX-77",
)
_ASKED_EN = (
    "How do I apply for {}?", "what are the rules on {}", "who is responsible for {} and {}", "{} within 3 days",
    "{} quetsar flombic", "printign of {}", "{} under code KX-77", "resreved {}", "does the Gobbledon treaty cover {}",
)  # fmt: skip


def _chinese(about: str, other: str, number: int) -> str:
    return (
        f"# {about}办法\n\n{about}由第{number}部门负责，应当在{number % 9 + 2}个工作日内办理。\n\n"
        f"## 例外\n\n遇有{other}的，{about}可以延期{number % 5 + 1}天，并登记编号 KX-{number}。\n"
    )


def _english(about: str, other: str, number: int) -> str:
    return (
        f"# Rules on {about}\n\nOffice {number} is responsible for {about} and answers within {number % 9 + 2} working days.\n\n"
        f"## Exceptions\n\nWhere there is {other}, {about} may be put off by {number % 5 + 1} days under number EX-{number}.\n"
    )


def _write(folder: Path, *, with_hidden: bool, english: bool) -> None:
    """Documents in view; and hidden ones, which are longer, in both languages, full of the same words, and of articles of law."""
    folder.mkdir()
    drawn = random.Random(5)
    for number, about in enumerate(_CHINESE):
        (folder / f"{2 * number:03d}-v.md").write_text(_chinese(about, drawn.choice(_CHINESE), number), "utf-8")
    for number, about in enumerate(_ENGLISH if english else ()):
        (folder / f"{2 * number:03d}-w.md").write_text(_english(about, drawn.choice(_ENGLISH), number), "utf-8")
    for number in range(40 if with_hidden else 0):
        words = drawn.choices(_CHINESE[:9] if number % 2 else _ENGLISH[:9], k=60)
        said = "，".join(words) if number % 2 else " printing reserved ".join(words)
        law = f"\n\n第{number + 1}条 为了规范{words[0]}，制定本法。\n\n第三条 {words[1]}依照本法办理，编号 KX-77。"
        more = " Gobbledon quetsar flombic" if number % 3 else " 龘靐"
        (folder / f"{2 * number + 1:03d}-h.md").write_text(f"# {words[0]} {words[1]}\n\n{said}{more}{law}\n", "utf-8")


@contextmanager
def twice(
    folder: Path, *, english: bool, engine: Callable[[], dict[str, Any]] = dict, **more: Any
) -> Iterator[tuple[Any, Any]]:
    """A library with hidden documents, and one without; of one language that can be seen, or of both.

    Args:
        engine: Gives the settings of the engine of each.
    """
    with ExitStack() as stack:
        made = []
        for name in ("with", "without"):
            docs = folder / f"docs-{name}"
            _write(docs, with_hidden=name == "with", english=english)
            settings: dict[str, Any] = {"search": {"deadline": 30}, "cache": {"seconds": 60}, **engine(), **more}
            library = stack.enter_context(wenyuan.open(folder / name, create=True, **settings))
            readers = {"documents": [{"path": "*-h.md", "readers": ["group:board"]}]}
            library.add(Source(source_id="docs", path=str(docs), settings={"readers": readers}))
            made.append(library)
        yield made[0], made[1]


def questions(count: int, seed: int = 3) -> list[str]:
    """Questions in both languages: plain ones, misspelled ones, with codes, articles and words that stand nowhere."""
    drawn = random.Random(seed)
    found = []
    for number in range(count):
        words, forms = (_CHINESE, _ASKED_ZH) if number % 2 else (_ENGLISH, _ASKED_EN)
        found.append(drawn.choice(forms).format(*drawn.sample(words, 2)))
    return found


def request(question: str, number: int) -> SearchRequest:
    task = ("", "task/contract-review-printing", "")[number % 3]
    return SearchRequest(query=question, limit=(5, 20)[number % 2], nearest=True, task_id=task)


def answer(library: Any, question: str, number: int, who: Principal = WU) -> Any:
    """What somebody is answered, as it goes over the wire, but for what counts changes and documents, or tells the time."""
    return _told(search_to_wire(library.find(request(question, number), who)))


_COUNTED = {"generation", "audit_ids", "cache", "source", "ms"}


def _told(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _told(one) for name, one in value.items() if name not in _COUNTED}
    if isinstance(value, list):
        return [_told(one) for one in value]
    if isinstance(value, str) and value.startswith("file://"):
        return value.rpartition("/")[2]
    return round(value, 4) if isinstance(value, float) else value
