"""The library as a table of contents: what it hands on is what its parts do, and it fits on two screens."""

from __future__ import annotations

import inspect
from dataclasses import fields
from pathlib import Path

import wenyuan
from wenyuan.service import library
from wenyuan.service.library_parts import LibraryParts


def test_each_part_is_there_once_it_is_open(tmp_path: Path) -> None:
    """An open library has every part that is declared, and two that ask the same question share one retriever."""
    with wenyuan.open(tmp_path / "library", create=True) as opened:
        assert [field.name for field in fields(LibraryParts) if not hasattr(opened, field.name)] == []
        askers = (opened.fragment_search, opened.rule_search, opened.answerer, opened.verifier, opened.replays)
        assert {id(asker.retriever) for asker in askers} == {id(opened._retriever)}


def test_what_is_handed_on_says_what_it_does() -> None:
    """Every public method has the words of the part that does it, or its own."""
    public = [name for name in dir(wenyuan.Library) if not name.startswith("_")]
    calls = [getattr(wenyuan.Library, name) for name in public]
    assert [
        name for name, call in zip(public, calls, strict=True) if not inspect.getdoc(call) and name != "sources"
    ] == []


def test_the_contents_fit_on_two_screens() -> None:
    """The library's own module stays a table of contents of at most 150 lines."""
    assert len(inspect.getsource(library).splitlines()) <= 150
