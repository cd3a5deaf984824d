"""Prints the table of doors, objects and rights that docs/rights.md shows; ``--lang zh``: that of docs/rights.zh.md.

It is made of what routes and tools declare, and of ``tests/support/rights_objects.py``, which says of what each speaks:
``python scripts/rights_table.py --lang en``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from rights_objects import OBJECTS, OF_COMMANDS, OF_TOOLS, routes_by_row
from wenyuan.mcp.tools import TOOLS
from wenyuan.server.app import ROUTES, is_filtered

CHINESE: Mapping[str, str] = {
    "upload": "上传的文件", "readers of documents": "文档的读者", "page picture": "页面图像", "passage": "段落", "document": "文档",
    "source": "来源", "question": "提问", "answer of others": "他人的回答", "rule": "规则", "correction": "更正", "conflict": "矛盾",
    "impact": "改动的影响", "gap": "未答问题", "golden question": "标准问题", "language model": "语言模型", "feedback": "反馈", "synonym": "同义词", "task": "任务画像", "agent": "智能体",
    "backup": "备份", "file set aside": "隔离的文件", "key": "密钥", "group": "组", "person": "人员", "audit record": "审计记录",
    "erasure, legal hold": "抹除与法律保留", "metrics": "指标", "description of the server": "服务说明",
}  # fmt: skip
HEADS = {
    "en": ("object", "right", "HTTP", "tools of MCP, commands with a key"),
    "zh": ("对象", "权限", "HTTP 路由", "MCP 工具与带密钥的命令"),
}
OPEN = {"en": "none", "zh": "不需要"}


def table(language: str) -> str:
    """The table in Markdown."""
    shut = {f"{one.method} {one.path}" for one in ROUTES if not is_filtered(one)}
    rows = routes_by_row()
    others: dict[tuple[str, str], list[str]] = {}
    for tool in TOOLS:
        others.setdefault((OF_TOOLS[tool.name], tool.right), []).append(f"`{tool.name}`")
    for command, row in OF_COMMANDS.items():
        others.setdefault(row, []).append(f"`wenyuan {command}`")
    order = list(OBJECTS)
    lines = ["| " + " | ".join(HEADS[language]) + " |", "|---|---|---|---|"]
    for row in sorted({*rows, *others}, key=lambda row: (order.index(row[0]), row[1])):
        kind, right = row
        routes = "<br>".join(_routes(told, shut) for told in rows.get(row, ()))
        name = kind if language == "en" else CHINESE[kind]
        needed = f"`{right}`" if right else OPEN[language]
        lines.append(f"| {name} | {needed} | {routes} | {', '.join(others.get(row, ()))} |")
    return "\n".join(lines)


def _routes(told: str, shut: set[str]) -> str:
    """The methods of a path, with a mark where whom something is hidden from is refused."""
    methods, _, path = told.rpartition(" ")
    mark = "†" if all(f"{one} {path}" in shut for one in methods.split(", ")) else ""
    return f"`{methods} {path}`{mark}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lang", choices=("en", "zh"), default="en")
    print(table(parser.parse_args().lang))
