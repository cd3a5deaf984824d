"""What is wrong with a request is said in our words, never in the library's that found it, and in both languages."""

from __future__ import annotations

from typing import Any

import pytest

from wenyuan.core.errors import InvalidRequest
from wenyuan.i18n.translation import translated
from wenyuan.service.rules.unified import UnifiedRequest
from wenyuan.wire.dify import DifyRequestShape
from wenyuan.wire.gaps import GapAnswerShape
from wenyuan.wire.rules import ReviewShape
from wenyuan.wire.search import ContextRequestShape, SearchRequestShape
from wenyuan.wire.search_requests import checked
from wenyuan.wire.vector_stores import StoreRequestShape

REVIEW = {"statement_ids": [1], "action": "approve"}
CASES: list[tuple[type[Any], dict[str, Any], str, str, str]] = [
    (SearchRequestShape, {"query": "x", "min_trust": 0}, "min_trust", "must be at least 1", "不能小于 1"),
    (SearchRequestShape, {"query": "x", "min_trust": 6}, "min_trust", "must be at most 5", "不能大于 5"),
    (SearchRequestShape, {"query": "x", "limit": 101}, "limit", "must be at most 100", "不能大于 100"),
    (SearchRequestShape, {"query": "x", "limit": 1.5}, "limit", "must be an integer", "应为整数"),
    (SearchRequestShape, {"query": "x", "summary": "no"}, "summary", "must be true or false, or generated",
     "应为 true、false 或 generated"),
    (ContextRequestShape, {"retrieval_query": "x", "allow_low_trust": "no"}, "allow_low_trust", "must be true or false",
     "应为 true 或 false"),
    (SearchRequestShape, {"query": "x", "filters": []}, "filters", "must be an object", "应为对象"),
    (SearchRequestShape, {"query": "x", "knowledge_scope": []}, "knowledge_scope", "must not be empty", "不能为空"),
    (SearchRequestShape, {"query": "x", "as_of": "soon"}, "as_of", "must be a date such as 2024-05-20",
     "应为 2024-05-20 这样的日期"),
    (SearchRequestShape, {}, "query", "is required", "必须提供"),
    (ContextRequestShape, {"retrieval_query": "x", "token_budget": 0}, "token_budget", "must be at least 1",
     "不能小于 1"),
    (ContextRequestShape, {"retrieval_query": "x", "extra_queries": ["y"] * 1000}, "extra_queries",
     "must have at most 8 entries", "最多 8 项"),
    (ReviewShape, REVIEW | {"reason": "x" * 2001}, "reason", "must have at most 2000 characters", "最多 2000 个字符"),
    (ReviewShape, REVIEW | {"action": "x"}, "action", "must be one of 'approve', 'reject' or 'retire'",
     "应为以下之一：'approve', 'reject' or 'retire'"),
    (StoreRequestShape, {"query": 3}, "query", "must be a string or an array", "应为字符串或数组"),
    (StoreRequestShape, {"query": ["x", " "]}, "query[1]", "must not be blank", "不能为空"),
    (StoreRequestShape, {"query": "x\0"}, "query", "must not contain NUL", "不能含有 NUL"),
    (ReviewShape, REVIEW | {"reason": "x\0"}, "reason", "must not contain NUL", "不能含有 NUL"),
    (StoreRequestShape, {"query": []}, "query", "must not be empty", "不能为空"),
    (DifyRequestShape, {"knowledge_id": "x", "query": "x", "metadata_condition": {"conditions": [
        {"name": "x", "comparison_operator": "is", "value": {"y": 1}}]}}, "metadata_condition.conditions[0].value",
     "must be a string, an integer, a number or an array", "应为字符串、数字或数组"),
    *((GapAnswerShape, {"answer": "x", "review_on": day}, "review_on", "must be a date such as 2024-05-20",
       "应为 2024-05-20 这样的日期") for day in ("", "x", "2024-05-20T10:00:00", "2024-13-01", 3.5)),
    (GapAnswerShape, {"answer": "x", "days": 0}, "days", "must be above 0", "应大于 0"),
    (UnifiedRequest, {"query": "x", "threshold": "x"}, "threshold", "must be a number", "应为数字"),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "body", "path", "english", "chinese"), CASES)
def test_a_fault_is_said_in_our_words_in_both_languages(
    shape: type[Any], body: dict[str, Any], path: str, english: str, chinese: str
) -> None:
    """Ranges, lengths and types: the place, the limit that was broken, and the same in Chinese."""
    with pytest.raises(InvalidRequest) as refused:
        checked(shape, body)
    (fault,) = (fault for fault in refused.value.faults if fault.path == path)
    assert fault.message == english
    assert translated(fault.message) == chinese
    assert translated(f"{path} {english}") == f"{path} {chinese}"


def test_of_several_kinds_only_the_one_that_was_meant_is_told() -> None:
    """A text that is too long is not told that it should be an array."""
    with pytest.raises(InvalidRequest) as refused:
        checked(StoreRequestShape, {"query": "长" * 8_001})
    assert [(f.path, f.message) for f in refused.value.faults] == [("query", "has 8001 characters; at most 8000")]
