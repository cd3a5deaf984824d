"""Refusals in Chinese keep no English word of ours."""

from __future__ import annotations

import pytest

from wenyuan.cli.translate import translated


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        (
            "engine local: behind the catalog (2 of 3), and the library is being written by process 4711",
            "engine local：落后于目录库（2/3），且 进程 4711 正在写入知识库",
        ),
        ("the library is being written by an unknown process", "未知进程正在写入知识库"),
        ("another process is writing (wenyuan, process 12 of host7)", "host7 上的 wenyuan 进程 12 正在写入"),
        (
            "sensitivity: is 'hush'; it must be one of public, internal",
            "sensitivity：值为 'hush'；应为以下之一：public, internal",
        ),
    ],
)
def test_a_refusal_is_chinese_throughout(english: str, chinese: str) -> None:
    """Who is writing, and which value is not among those allowed, are told in Chinese too."""
    assert translated(english) == chinese
