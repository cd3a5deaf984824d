"""What the tests of rule books share: a small schema, files on disk, and counts of faults."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from wenyuan.core.rules.book import Book, BookFault
from wenyuan.core.rules.checking import CheckedBook, check_book
from wenyuan.core.rules.schema import Schema
from wenyuan.core.rules.schema_parser import parse_schema
from wenyuan.readers.rulebooks.selection import read_book

SCHEMA_TREE: dict[str, Any] = {
    "scope_kind": "engineering_type",
    "kinds": {
        "engineering_type": {"zh": "工程类型", "en": "engineering type"},
        "process": {"zh": "工序", "en": "process"},
        "equipment": {"zh": "设备", "en": "equipment"},
        "hazard": {"zh": "危险源", "en": "hazard"},
        "accident": {"zh": "事故", "en": "accident"},
        "safety_measure": {"zh": "安全措施", "en": "safety measure"},
        "requirement": {"zh": "强制要求", "en": "requirement"},
    },
    "relations": {
        "is_a": {"zh": "属于", "en": "is a"},
        "requires_equipment": {"zh": "需要设备", "en": "requires equipment", "from": ["process"], "to": ["equipment"]},
        "produces_hazard": {"zh": "产生危险源", "en": "produces hazard", "from": ["process"], "to": ["hazard"]},
        "may_lead_to": {"zh": "可能导致", "en": "may lead to", "from": ["hazard"], "to": ["accident"]},
        "mitigated_by": {
            "zh": "防控措施", "en": "mitigated by", "from": ["hazard", "accident"], "to": ["safety_measure"],
        },
        "triggers": {"zh": "触发", "en": "triggers", "from": ["process"], "to": ["requirement"]},
    },
    "parameters": {"depth_m": {"type": "number", "unit": "m", "zh": "开挖深度", "en": "excavation depth"}},
    "patterns": {
        "process_requirements": {
            "start": "process",
            "inherit": {"via": ["is_a"], "max_depth": 3},
            "collect": {"safety_measures": ["produces_hazard", "mitigated_by"], "mandatory": ["triggers"]},
        }
    },
}  # fmt: skip


def schema() -> Schema:
    return parse_schema(SCHEMA_TREE)


def book_of(folder: Path, name: str, content: str | bytes) -> Book:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_book(path)


def checked(book: Book, **options: Any) -> CheckedBook:
    """A checked book, of which the sums have been checked too."""
    options.setdefault("sources", {"order37"})
    result = check_book(book, schema(), **options)
    for part in ("nodes", "statements"):
        written, imported, merged, refused = (
            getattr(getattr(result, name), part) for name in ("written", "imported", "merged", "refused")
        )
        assert written == imported + merged + refused, f"{part}: {written} != {imported} + {merged} + {refused}"
    assert bool(result.errors) or not (result.refused.nodes or result.refused.statements)
    return result


def codes(faults: tuple[BookFault, ...], severity: str = "error") -> dict[str, int]:
    return dict(Counter(fault.code for fault in faults if fault.severity == severity))


def fault(result: CheckedBook | Book, code: str) -> BookFault:
    """The only fault with this code."""
    (found,) = [f for f in result.faults if f.code == code]
    return found
