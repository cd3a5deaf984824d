"""What the model is told, and the form of what it gives."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, get_args

from wenyuan.core.answering import Shown
from wenyuan.core.rules.model import Node, Strength
from wenyuan.core.rules.proposals import (
    MOST_ANCHOR,
    MOST_NAME,
    MOST_PROPOSALS,
    MOST_TEXT,
    SYSTEM,
    KnownRules,
    Proposal,
)
from wenyuan.core.rules.schema import Schema
from wenyuan.core.text.folding import fold
from wenyuan.core.text.injection import visible


def messages(holdings: KnownRules, shown: Sequence[Shown]) -> list[Mapping[str, str]]:
    """The prompt. Of the graph it contains the schema, and only names that occur in the passages."""
    data = {
        "task": "propose",
        "schema": _schema_text(holdings.schema),
        "names": _names_in(holdings.nodes.values(), shown),
        "passages": [
            {
                "id": one.passage.ref, "title": visible(one.passage.title),
                "heading": visible(" > ".join(one.passage.headings)), "text": one.text,
            }
            for one in shown
        ],
    }  # fmt: skip
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": json.dumps(data, ensure_ascii=False)}]


def _schema_text(schema: Schema) -> dict[str, Any]:
    return {
        "kinds": {kind.id: list(kind.labels.values()) for kind in schema.kinds.values()},
        "relations": {
            one.id: {"labels": list(one.labels.values()), "from": list(one.sources), "to": list(one.targets)}
            for one in schema.relations.values()
        },
        "parameters": {
            one.name: {"type": one.type, "unit": one.unit, "labels": list(one.labels.values())}
            for one in schema.parameters.values()
        },
    }


_MOST_NAMES = 100


def _names_in(nodes: Iterable[Node], shown: Sequence[Shown]) -> list[dict[str, str]]:
    """Known names that occur in the passages, so that nothing of other sources is revealed; longest first."""
    text = fold("\n".join(" ".join((one.text, *one.passage.headings)) for one in shown))
    found = {
        (name, node.kind)
        for node in nodes
        for name in (node.name, *node.labels.values(), *(alias.text for alias in node.aliases))
        if fold(name) in text
    }
    return [{"name": name, "kind": kind} for name, kind in sorted(found, key=lambda one: (-len(one[0]), one))][
        :_MOST_NAMES
    ]


def form_of(schema: Schema) -> Mapping[str, Any]:
    """The JSON schema of a reply; kinds and relations are enumerations."""
    text = {"type": "string"}
    kind, relation = ({"type": "string", "enum": list(ids)} for ids in (schema.kinds, schema.relations))
    members: dict[str, Any] = dict.fromkeys(Proposal._fields, text) | {
        "src_kind": kind, "dst_kind": kind, "relation": relation, "strength": {"type": "string", "enum": list(get_args(Strength))},
    }  # fmt: skip
    item = {"type": "object", "properties": members, "required": list(members), "additionalProperties": False}
    return {
        "type": "object", "properties": {"statements": {"type": "array", "items": item}},
        "required": ["statements"], "additionalProperties": False,
    }  # fmt: skip


def read_proposals(value: Any) -> tuple[Proposal, ...]:
    """Parse the model's JSON.

    Raises:
        ValueError: it is not of the form, with where.
    """
    found = value.get("statements") if isinstance(value, dict) else None
    if not isinstance(found, list) or len(found) > MOST_PROPOSALS:
        raise ValueError(f"it must be an object whose statements are an array of at most {MOST_PROPOSALS}")
    return tuple(_read(one, number) for number, one in enumerate(found))


_BOUNDS = dict.fromkeys(Proposal._fields, MOST_NAME) | {
    "condition": MOST_TEXT, "text": MOST_TEXT, "first": MOST_ANCHOR, "last": MOST_ANCHOR, "passage": MOST_ANCHOR,
}  # fmt: skip


def _read(one: Any, number: int) -> Proposal:
    if not isinstance(one, dict):
        raise ValueError(f"statements[{number}] is no object")
    for name, most in _BOUNDS.items():
        value, least = one.get(name), 0 if name == "condition" else 1
        if not isinstance(value, str) or not least <= len(value.strip()) or len(value) > most or "\0" in value:
            raise ValueError(f"statements[{number}].{name} must be a text of {least} to {most} characters")
    if one["strength"] not in get_args(Strength):
        raise ValueError(f"statements[{number}].strength must be one of {', '.join(get_args(Strength))}")
    return Proposal(*(visible(one[name]).strip() for name in Proposal._fields))
