"""Numbers of unified retrieval. A library's own settings, section ``rules``, come before them."""

from __future__ import annotations

from wenyuan.core.model import ORIGIN_PRIORITY
from wenyuan.core.rules.retrieval_item import PRIORITY_FREE_GEN
from wenyuan.settings import RulesSettings

__all__ = [
    "CHAPTERS_NEED_KG",
    "DEFAULT_VECTOR_THRESHOLD",
    "DEFAULT_VECTOR_TOP_K",
    "PRIORITY_FREE_GEN",
    "PRIORITY_KG_RULE",
    "PRIORITY_TEMPLATE",
    "PRIORITY_VECTOR_CASE",
    "TEMPLATE_COLLECTION",
]

_DEFAULTS = RulesSettings()

PRIORITY_KG_RULE = ORIGIN_PRIORITY["kg_rule"]
PRIORITY_VECTOR_CASE = ORIGIN_PRIORITY["vector"]
PRIORITY_TEMPLATE = ORIGIN_PRIORITY["template"]

DEFAULT_VECTOR_TOP_K: int = _DEFAULTS.case_top_k
DEFAULT_VECTOR_THRESHOLD: float = _DEFAULTS.case_threshold
"""Least score of a case, 0..1: of the score that it is given with; not of a raw cosine."""

CHAPTERS_NEED_KG: set[str] = set(_DEFAULTS.chapters_need_rules)
TEMPLATE_COLLECTION: str = _DEFAULTS.template_collection
