"""The metadata of fragments: what is written is declared, and doors show what is declared."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_type_hints

import wenyuan
from doors import foreign_library
from wenyuan.core.arguments import fits
from wenyuan.core.fragment_metadata import NAMES, NO_FACETS, OF_STORES, OF_TOOLS, FragmentMetadata
from wenyuan.wire.search import PassageShape

OWN_OF_SEARCH = {"source", "uri", "content", "summary", "score", "summary_origin", "rule"}


def undeclared(metadata: Mapping[str, Any]) -> set[str]:
    """The names of metadata that is not declared, or has another type than the declared one."""
    types = get_type_hints(FragmentMetadata)
    return {name for name, value in metadata.items() if name not in types or not fits(value, types[name])}


def test_what_fragments_have_is_declared(tmp_path: Path) -> None:
    """Names and types of all metadata of an answer with a copy, days in force and a restriction are the declared ones."""
    with foreign_library(tmp_path) as library:
        twin = tmp_path / "twin"
        twin.mkdir()
        (twin / "again.md").write_text((tmp_path / "policy" / "policy.md").read_text("utf-8"), encoding="utf-8")
        (twin / "dated.md").write_text(
            "---\neffective_from: 2024-05-20\n---\n# 客户投诉\n\n客户投诉的响应时限为两天。\n", encoding="utf-8"
        )
        library.add(wenyuan.Source(source_id="twin", path=str(twin), trust=3))
        request = wenyuan.RetrievalRequest(query="客户投诉的响应时限", max_results=5, context={"min_trust": 2})
        found = library.retrieve_fragments(request).fragments
    seen: set[str] = set()
    for fragment in found:
        assert not undeclared(fragment.metadata)
        seen |= fragment.metadata.keys()
    assert {"also_in", "effective_from", "restrictions", "char_start", "audit_id", "calibrated"} <= seen


def test_another_name_would_be_seen() -> None:
    """Metadata with a name or of a type that is not declared does not pass for it."""
    assert undeclared({"title": "Leave", "colour": "red", "trust": "high"}) == {"colour", "trust"}


def test_doors_show_what_is_declared() -> None:
    """What stores, tools and searches name of a fragment is among its metadata, as is what is no facet."""
    shown = {*OF_STORES, *OF_TOOLS, *NO_FACETS, *(PassageShape.model_fields.keys() - OWN_OF_SEARCH)}
    assert shown <= NAMES
