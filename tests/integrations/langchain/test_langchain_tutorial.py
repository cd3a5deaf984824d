"""The tutorial for LangChain, followed in the framework's own environment."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tutorial_steps import followed

PAGES = Path(__file__).parents[3] / "docs" / "tutorials"


@pytest.mark.parametrize("page", ["langchain.md", "langchain.zh.md"])
def test_the_tutorial_can_be_followed(page: str, tmp_path: Path) -> None:
    """Every command is run, and prints what the page shows; `wenyuan` is that of this checkout."""
    programs = tmp_path / "programs"
    programs.mkdir()
    command = programs / "wenyuan"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m wenyuan.cli "$@"\n', "utf-8")
    command.chmod(0o755)
    folder = tmp_path / "begun"
    folder.mkdir()
    source = str(PAGES.parents[1] / "src")
    path = os.pathsep.join([str(programs), str(Path(sys.executable).parent), os.environ["PATH"]])
    language = "zh_CN.UTF-8" if ".zh" in page else "C.UTF-8"
    assert followed(PAGES / page, folder, PATH=path, PYTHONPATH=source, LANG=language, PYTHONUTF8="1") >= 5
