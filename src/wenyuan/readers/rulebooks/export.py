"""Export: nodes and statements as files that are read back as the same nodes and statements."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import yaml

from wenyuan.core.model import Source
from wenyuan.core.rules.book import DeclaredSource
from wenyuan.core.rules.model import Alias, Evidence, Node, Statement
from wenyuan.core.text.folding import language_of


def book_to_yaml(
    pack: str,
    *,
    schema_tree: Mapping[str, Any] | None = None,
    sources: Iterable[DeclaredSource] = (),
    nodes: Iterable[Node] = (),
    statements: Iterable[Statement] = (),
) -> str:
    """A YAML pack. Reading and checking it gives equal nodes and statements."""
    tree: dict[str, Any] = {"pack": pack}
    if schema_tree is not None:
        tree["schema"] = schema_tree
    parts = {
        "sources": [_source_tree(declared) for declared in sources],
        "nodes": [node_tree(node) for node in nodes],
        "statements": [statement_tree(statement) for statement in statements],
    }
    tree |= {name: items for name, items in parts.items() if items}
    return yaml.dump(_plain(tree), Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=1_000)


def book_to_jsonl(
    pack: str,
    *,
    schema_tree: Mapping[str, Any] | None = None,
    sources: Iterable[DeclaredSource] = (),
    nodes: Iterable[Node] = (),
    statements: Iterable[Statement] = (),
) -> Iterator[str]:
    """The same as `book_to_yaml`, as lines of JSON with line ends; iterators are consumed one item at a time."""
    yield _line({"pack": pack})
    if schema_tree is not None:
        yield _line({"schema": schema_tree})
    yield from (_line({"source": _source_tree(declared)}) for declared in sources)
    yield from (_line({"node": node_tree(node)}) for node in nodes)
    yield from (_line({"statement": statement_tree(statement)}) for statement in statements)


class _Dumper(yaml.CSafeDumper):
    """Writes repeated values in full: the reader refuses aliases."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def _line(tree: Mapping[str, Any]) -> str:
    return json.dumps(_plain(tree), ensure_ascii=False, separators=(",", ":"), allow_nan=False) + "\n"


def _plain(value: Any) -> Any:
    """A copy made of plain dicts and lists, from any mappings and sequences."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(item) for item in value]
    return value


def _filled(**fields: Any) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value not in (None, "", (), [], {})}


def node_tree(node: Node) -> dict[str, Any]:
    """A node as an entry, without values that the reader would derive."""
    own = language_of(node.name)
    labels = {tag: text for tag, text in node.labels.items() if (tag, text) != (own, node.name)}
    return _filled(
        kind=node.kind,
        name=node.name,
        key="" if node.key == f"{node.kind}/{node.name}" else node.key,
        labels=labels,
        aliases=[_alias_tree(alias) for alias in node.aliases],
        codes=dict(node.codes),
        scope=list(node.scope),
        attributes=dict(node.attributes),
    )


def _alias_tree(alias: Alias) -> str | dict[str, Any]:
    if alias == Alias(text=alias.text, language=language_of(alias.text)):
        return alias.text
    return {"text": alias.text, "language": alias.language, "type": alias.type, "weight": alias.weight}


def statement_tree(statement: Statement) -> dict[str, Any]:
    """A statement as an entry; its ends are keys."""
    tree = _filled(
        src=statement.src,
        rel=statement.rel,
        dst=statement.dst,
        when=statement.condition,
        strength=statement.strength,
        sentence=dict(statement.sentence),
        valid_from=statement.valid_from and statement.valid_from.isoformat(),
        valid_until=statement.valid_until and statement.valid_until.isoformat(),
        status=statement.status if statement.status != "approved" else "",
        evidence=[_evidence_tree(evidence) for evidence in statement.evidences],
    )
    return tree if statement.weight == 1.0 else {**tree, "weight": statement.weight}


def _evidence_tree(evidence: Evidence) -> dict[str, Any]:
    return _filled(
        source=evidence.source_id,
        clause=evidence.clause,
        uri=evidence.uri,
        quote=evidence.quote,
        trust=evidence.trust,
        reviewer=evidence.reviewer,
    )


def _source_tree(declared: DeclaredSource) -> dict[str, Any]:
    source: Source = declared.source
    return _filled(
        id=source.source_id,
        title=source.title,
        uri=declared.uri,
        trust=source.trust,
        domain=source.domain,
        collection=source.collection,
        language=source.language,
        copyright=source.copyright,
        owner=source.owner,
        status=source.status if source.status != "in_force" else "",
        effective_from=source.effective_from and source.effective_from.isoformat(),
        effective_until=source.effective_until and source.effective_until.isoformat(),
    )
