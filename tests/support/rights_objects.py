"""Of what kind of object each route, tool and command speaks: the rows of the table of rights."""

from __future__ import annotations

import re
from collections.abc import Mapping

from wenyuan.server.app import ROUTES

OBJECTS: Mapping[str, str] = {
    "upload": r"POST /v1/preview|(POST) /v1/sources/{source_id}/documents|(PUT|PATCH|DELETE) /v1/documents/{document_id}|POST /v1/documents/{document_id}/(restore|move)",
    "readers of documents": r"\w+ /v1/readers|\w+ /v1/documents/{document_id}/readers",
    "page picture": r"\w+ /v1/documents/{document_id}/pages/{page}",
    "passage": r"\w+ /v1/passages/\S+|\w+ /v1/documents/{document_id}/passages",
    "document": r"\w+ /v1/documents(/\S*)?|\w+ /v1/tree(/\S*)?|\w+ /v1/sources/{source_id}/files/{path}",
    "source": r"\w+ /v1/sources(/\S*)?",
    "question": r"\w+ (/v1)?/(retrieve_fragments|search|context|retrieve|answer)|\w+ /retrieval|\w+ /mcp|\w+ /v1/vector_stores\S*",
    "answer of others": r"\w+ /v1/verify",
    "rule": r"\w+ /v1/(rules|infer_rules)(/\S*)?",
    "correction": r"\w+ /v1/corrections(/\S*)?",
    "conflict": r"\w+ /v1/conflicts(/\S*)?",
    "impact": r"\w+ /v1/impact(/\S*)?",
    "gap": r"\w+ /v1/gaps(/\S*)?",
    "golden question": r"\w+ /v1/evaluations(/\S*)?",
    "language model": r"\w+ /v1/model",
    "feedback": r"\w+ /v1/feedback",
    "synonym": r"\w+ /v1/synonyms(/\S*)?",
    "task": r"\w+ /v1/tasks(/\S*)?",
    "agent": r"\w+ /v1/agents(/\S*)?",
    "backup": r"\w+ /v1/backups(/\S*)?",
    "file set aside": r"\w+ /v1/quarantine(/\S*)?",
    "key": r"\w+ /v1/keys(/\S*)?",
    "group": r"\w+ /v1/groups(/\S*)?",
    "person": r"\w+ /v1/people",
    "audit record": r"\w+ /v1/(audit|overview)(/\S*)?",
    "erasure, legal hold": r"\w+ /v1/(erasures|holds)(/\S*)?",
    "metrics": r"\w+ /metrics",
    "description of the server": r"\w+ /(livez|readyz|openapi\.json|openapi-tools\.json|llms\.txt|\.well-known/\S+)",
}
"""By kind of object, the routes that speak of it; the first that fits counts."""
OF_TOOLS: Mapping[str, str] = {
    "search": "question", "fetch": "document", "retrieve_fragments": "question", "infer_rules": "rule", "get_context": "question",
    "verify": "answer of others", "answer": "question", "list_sources": "source",
    "list": "document", "read": "document", "grep": "document",
}  # fmt: skip
OF_COMMANDS: Mapping[str, tuple[str, str]] = {"context --url": ("question", "retrieve")}
"""Commands that ask a server, with the key of ``WENYUAN_KEY``: object and right. All others work in the library's own folder."""


def object_of(method: str, path: str) -> str:
    """The kind of object of a route."""
    return next(kind for kind, routes in OBJECTS.items() if re.fullmatch(routes, f"{method} {path}"))


def routes_by_row() -> Mapping[tuple[str, str], tuple[str, ...]]:
    """By object and right, the routes: ``GET`` and ``POST /v1/…`` of one path together."""
    found: dict[tuple[str, str], dict[str, list[str]]] = {}
    for one in ROUTES:
        row = found.setdefault((object_of(one.method, one.path), one.right or ""), {})
        row.setdefault(one.path, []).append(one.method)
    order = {kind: number for number, kind in enumerate(OBJECTS)}
    return {
        row: tuple(f"{', '.join(methods)} {path}" for path, methods in found[row].items())
        for row in sorted(found, key=lambda row: (order[row[0]], row[1]))
    }
