"""ARCHITECTURE.md is short, and what it names is there."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

from wenyuan.plugins import EXTENSION_POINTS

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
HOMES = [
    ROOT,
    ROOT / "src" / "wenyuan" / "i18n" / "zh",
    ROOT / "src" / "wenyuan" / "i18n" / "en",
    ROOT / "src" / "wenyuan",
    ROOT / "src" / "wenyuan" / "service",
    *(ROOT / "src" / "wenyuan").glob("*/"),
]
MADE = {"quarantine/", "ocr/", "backups/"}
"""Folders of a library."""


def test_it_is_read_in_one_sitting() -> None:
    """Two hundred and fifty lines at most."""
    assert len(TEXT.splitlines()) <= 250


def test_every_file_and_folder_that_it_names_is_there() -> None:
    """Below the project, the package or a room of it; what a recipe makes has its name in capitals."""
    names = {
        name
        for name in re.findall(r"`([\w./-]+(?:\.py|\.md|\.json|\.toml|/))`", TEXT)
        if not re.search("[A-Z]{3}", name)
    }
    lost = {name for name in names - MADE if not any((home / name).exists() for home in HOMES)}
    assert len(names) > 50
    assert lost == set()


def test_every_name_of_the_code_that_it_says_is_there() -> None:
    """A class or method such as `Tuner.tune` is defined in the package."""
    code = "\n".join(file.read_text("utf-8") for file in (ROOT / "src").rglob("*.py"))
    names = set(re.findall(r"(?<![\w./])([A-Z][a-z]\w+)\.([a-z_]\w+)(?![\w/])", TEXT))
    lost = {
        (cls, name)
        for cls, name in names
        if not re.search(rf"^\s*class {cls}\b", code, re.MULTILINE) or not re.search(rf"\b{name}\b", code)
    }
    assert len(names) > 15
    assert lost == set()


def test_the_table_of_extension_points_is_that_of_the_code() -> None:
    """A row for each, in the order of the list, with a port that is there."""
    rows = re.findall(r"^\| `(wenyuan\.\w+)` \| [^|]+ \| `([\w.]+)`", TEXT, re.MULTILINE)
    assert [group for group, _ in rows] == [point.group for point in EXTENSION_POINTS]
    for point, (_, port) in zip(EXTENSION_POINTS, rows, strict=True):
        module, _, name = port.rpartition(".")
        assert getattr(import_module(f"wenyuan.{module}"), name) is point.port


def test_the_glossary_is_short() -> None:
    """Sixty words at most, each once."""
    table = TEXT.partition("## Glossary")[2].partition("\n## ")[0]
    words = [
        word for row in re.findall(r"^\| ([a-z][^|]+) \|", table, re.MULTILINE) for word in row.strip().split(", ")
    ]
    words.remove("word")
    assert 30 < len(words) <= 60
    assert len(set(words)) == len(words)
