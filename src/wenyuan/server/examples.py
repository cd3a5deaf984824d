"""Examples of questions, and of what is answered, for the OpenAPI document, and the keys with which they are asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_QUESTION = "How soon is a complaint answered?"
_CONTRACT = {"query": _QUESTION, "max_results": 3, "context": {"domain": "policy", "min_trust": 3}}
_SEARCH = {"query": _QUESTION, "min_trust": 3, "limit": 5}
EXAMPLES: Mapping[str, Mapping[str, Any]] = {
    "retrieve_fragments": _CONTRACT,
    "retrieve_fragments_unversioned": _CONTRACT,
    "search": _SEARCH,
    "search_unversioned": _SEARCH,
    "get_context": {"query": _QUESTION, "token_budget": 1500},
    "verify": {"answer": "Complaints are answered within 48 hours [1].", "citations": {"1": "policy#1"}},
    "answer": {"query": _QUESTION, "on_failure": "extract"},
    "retrieve": {"query": "深基坑开挖的安全措施", "parameters": {"depth_m": 6}},
    "infer_rules": {"context": "深基坑开挖", "parameters": {"depth_m": 6}},
    "dify_retrieval": {"knowledge_id": "all", "query": _QUESTION, "retrieval_setting": {"top_k": 3}},
    "search_vector_store": {"query": _QUESTION, "max_num_results": 3},
}
"""By operation, a body that a server takes as it stands."""
_ANSWERED = {
    "found": {
        "summary": "What was found, best first",
        "value": {
            "status": "SUCCESS",
            "fragments": [
                {
                    "source": "file:///policies/complaints.md#response-times",
                    "content": "A customer complaint is answered within 24 hours.",
                    "retrieval_score": 0.93,
                    "metadata": {"title": "Complaints", "trust": 5, "restrictions": ["domain", "min_trust"]},
                }
            ],
        },
    },
    "nothing": {
        "summary": "Everything answered, and nothing has it",
        "value": {"status": "SUCCESS", "fragments": []},
    },
    "failed": {
        "summary": "There is no answer",
        "value": {"status": "FAILED", "fragments": [], "error_message": "engine local: the index cannot be read"},
    },
}
ANSWERS: Mapping[str, Mapping[str, Any]] = dict.fromkeys(
    ("retrieve_fragments", "retrieve_fragments_unversioned"), _ANSWERED
)
SECURITY: Mapping[str, Any] = {
    "key": {
        "type": "http",
        "scheme": "bearer",
        "description": "A key of the library: `wenyuan key create`. While it has none, a server on this machine needs none.",
    },
    "token": {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "JWT",
        "description": "An access token of the issuer that the server's settings name; "
        "`/.well-known/oauth-protected-resource` says who it is.",
    },
}
_NEEDED: list[dict[str, list[str]]] = [{"key": []}, {"token": []}, {}]


def told_by_example(operation: Mapping[str, Any], *, open_to_all: bool) -> dict[str, Any]:
    """An operation with its examples, and whether it needs a key."""
    name, told = operation.get("operationId", ""), {**operation, "security": [] if open_to_all else _NEEDED}
    if name in EXAMPLES:
        body = told["requestBody"]
        content = {**body["content"]["application/json"], "example": EXAMPLES[name]}
        told["requestBody"] = {**body, "content": {**body["content"], "application/json": content}}
    if name in ANSWERS:
        ok = told["responses"]["200"]
        content = {**ok["content"]["application/json"], "examples": ANSWERS[name]}
        told["responses"] = {
            **told["responses"],
            "200": {**ok, "content": {**ok["content"], "application/json": content}},
        }
    return told
