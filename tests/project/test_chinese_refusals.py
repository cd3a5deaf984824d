"""Refusals in Chinese keep no English word of ours."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from wenyuan import server
from wenyuan.i18n.translation import translated

MISSING = re.compile(r'missing\("([a-z ]+)"\)')


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        (
            "engine local: behind the catalog (2 of 3), and the library is being written by process 4711",
            "engine local：落后于目录库（2/3），且进程 4711 正在写入知识库",
        ),
        (
            "line 4: it is not well-formed YAML: did not find expected node content",
            "第 4 行：YAML 格式有误：此处应有内容",
        ),
        (
            "line 2: it is not well-formed YAML: did not find expected ',' or '}'",
            "第 2 行：YAML 格式有误：缺少 , 或 }",
        ),
        ("no answer: ConnectError: [Errno 111] Connection refused", "没有答复：无法连接：连接被拒绝"),
        (
            "cannot copy the library to /x: /x.partial: No such file or directory",
            "无法将知识库复制到 /x：/x.partial：没有这个文件或目录",
        ),
        ("it is named .pdf but is not a PDF", "扩展名为 .pdf，但内容不是 PDF"),
        (
            "search.floor: Input should be a valid number, unable to parse string as a number",
            "search.floor：应为数字",
        ),
        ("name the folder of a judged set (BEIR layout)", "请指定评测集目录（BEIR 格式）"),
        ("restore the library's catalog.db from a backup", "请从备份恢复知识库的 catalog.db"),
        ("opening /srv/lib: file is not a database", "打开 /srv/lib：文件不是数据库（file is not a database）"),
        ("the library is being written by an unknown process", "未知进程正在写入知识库"),
        (
            "another process is writing (wenyuan, process 12 of host7)",
            "另一个进程正在写入（host7 上的 wenyuan 进程 12）",
        ),
        (
            "sensitivity: is 'hush'; it must be one of public, internal",
            "sensitivity：值为 'hush'；应为以下之一：public, internal",
        ),
    ],
)
def test_a_refusal_is_chinese_throughout(english: str, chinese: str) -> None:
    """Who is writing, and which value is not among those allowed, are told in Chinese too."""
    assert translated(english) == chinese


def test_what_is_not_there_is_named_in_chinese() -> None:
    """Whatever a path may lack, a page that is not found says so without a word of English."""
    rooms = Path(str(server.__file__)).parent.rglob("*.py")
    kinds = {kind for room in rooms for kind in MISSING.findall(room.read_text("utf-8"))}
    assert len(kinds) > 9
    assert [kind for kind in kinds if re.search("[a-z]", translated(f"there is no such {kind}"))] == []
