"""Only what says that it is a success is one, at every question; what a service says of a failure is shown as plain text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from wenyuan.client.context_replies import read_answered, read_context, read_passages, read_verdicts
from wenyuan.client.replies import Reply, read_answer
from wenyuan.client.rules import read_proposed, read_rules, read_united
from wenyuan.core.contract import failure
from wenyuan.core.errors import InvalidRequest, NotPermitted, RetrievalFailed

COVERAGE = {"legs": [], "degraded": []}
GOOD: tuple[tuple[Callable[[Mapping[str, Any]], Any], dict[str, Any]], ...] = (
    (read_passages, {"passages": [], "coverage": COVERAGE, "reasons": {}, "metadata": {}}),
    (read_context, {"CONTEXT_DATA": {"knowledge_snippets": []}, "coverage": COVERAGE, "withheld": {}, "tokens": 1}),
    (read_verdicts, {"claims": []}),
    (read_answered, {"claims": [], "answer": None}),
    (read_united, {"items": [], "regulations": [], "cases": [], "query_context": {}}),
    (read_proposed, {"proposed": []}),
    (read_rules, {"items": [], "recognised": [], "unmatched_processes": [], "truncated": [], "notes": []}),
)
OTHERS = (
    "failed",
    "Failed",
    "FAILED ",
    "FAILURE",
    "PARTIAL",
    "success",
    "SUCCESS ",
    "SUCCESS\u200b",
    "",
    None,
    True,
    1,
    ["SUCCESS"],
)
ODD = "gone\u202e\x1b[31m\nWARNING all is well\u200b"
PLAIN = "gone[31m WARNING all is well"


@pytest.mark.parametrize(("read", "body"), GOOD)
def test_only_success_is_success(read: Callable[[Mapping[str, Any]], Any], body: dict[str, Any]) -> None:
    """Any other word, another type, none at all, and a success beside an error are refused."""
    read({**body, "status": "SUCCESS"})
    refused = [{**body, "status": status} for status in OTHERS]
    for odd in (body, *refused, {**body, "status": "SUCCESS", "error_message": "one shard is down"}):
        with pytest.raises(ValueError, match="SUCCESS"):
            read(odd)


def test_reasons_are_plain_text() -> None:
    """What a service says of its failure, or why it refuses, cannot steer a terminal or write a line of a log."""
    assert failure({"status": "FAILED", "error_message": ODD}) == PLAIN
    body = '{"detail": "gone\\u202e\\u001b[31m\\nWARNING all is well\\u200b", "errors": [{"path": "a\\nb", "message": "no\\u202e"}]}'
    for status, kind in ((401, NotPermitted), (400, InvalidRequest), (500, RetrievalFailed)):
        with pytest.raises(kind) as caught:
            read_answer(Reply(status, body.encode()), dict, component="service")
        assert PLAIN in str(caught.value)
        assert str(caught.value).isprintable()
