"""No renaming of a class went through texts, and the image of the container holds the package alone."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from wenyuan.encoders.checking import PREFIXES

HOME = Path(__file__).parents[2]
TEXTS = [*HOME.glob("*.md"), *(HOME / "docs").rglob("*.md")]
CLASSES = {
    node.name
    for file in (HOME / "src").rglob("*.py")
    for node in ast.walk(ast.parse(file.read_text("utf-8")))
    if isinstance(node, ast.ClassDef) and re.fullmatch(r"[A-Z][a-z]+(?:[A-Z][a-z]+)+", node.name)
}
_BEFORE_ARTICLES = re.compile(r"([A-Z][A-Za-z]+) (?:a|an|the|my|your|some|each|this|that) [a-z]")


def test_no_class_name_stands_where_a_word_did() -> None:
    """In a sentence of the documentation, the name of a class before an article was another word."""
    found = [
        (file.name, match[0])
        for file in TEXTS
        for match in _BEFORE_ARTICLES.finditer(file.read_text("utf-8"))
        if match[1] in CLASSES
    ]
    assert found == []


def test_prompts_of_models_are_those_that_are_tried() -> None:
    """What the pages on encoders say of prompts is what `encoder check` puts before texts."""
    known = {text.replace("\n", "\\n") for pair in PREFIXES for text in pair}
    for name in ("encoders.md", "encoders.zh.md"):
        said = re.findall(r"`(Instruct: [^`]*)`", (HOME / "docs" / name).read_text("utf-8"))
        assert said and {text for text in said if text not in known} == set()


def test_the_image_is_made_of_the_package_alone() -> None:
    """History, environments and libraries stay outside; what the package is built of does not."""
    left_out = (HOME / ".dockerignore").read_text("utf-8").split()
    assert {".git", ".venv*", "library"} <= set(left_out)
    built = {"pyproject.toml", "src", "README.md", "LICENSE", "NOTICE"}
    assert not built & set(left_out)
