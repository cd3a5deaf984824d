"""Checking the nodes of a book of rules against the schema."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import replace

from wenyuan.core.errors import msg
from wenyuan.core.rules.book import BookFault, Severity
from wenyuan.core.rules.model import EntryPlace, Node
from wenyuan.core.rules.names import IdsByName, folded, looks_like_sentence, suggestion

# The nodes of a book: kinds known, names that are names, doubles put together.


class NodeCheck:
    """Checks nodes one by one; ``accepted`` by key, ``merged`` and ``refused`` as counts."""

    def __init__(
        self, kinds: IdsByName, known: Mapping[str, Node], machine: Set[str], faults: list[BookFault]
    ) -> None:
        self.kinds, self.known, self.machine, self.faults = kinds, known, machine, faults
        self.accepted: dict[str, Node] = {}
        self.merged = self.refused = 0
        self.names_refused: dict[str, EntryPlace] = {}
        self._named: dict[tuple[str, str], str] = {}
        self._known_names: dict[tuple[str, str], list[str]] = {}
        for node in known.values():
            self._known_names.setdefault((node.kind, folded(node.name)), []).append(node.key)

    def _fault(self, code: str, message: str, place: EntryPlace, severity: Severity = "error") -> None:
        self.faults.append(BookFault(code, message, place, severity))

    def _refuse(self, code: str, message: str, node: Node) -> None:
        self._fault(code, message, node.place)
        self.refused += 1
        self.names_refused.setdefault(node.name, node.place)
        for alias in node.aliases:
            self.names_refused.setdefault(alias.text, node.place)

    def take(self, node: Node) -> None:
        """Check a node; accept it, merge it with an earlier entry, or refuse it."""
        found = self.kinds.find(node.kind)
        if len(found) != 1:
            why = f" may mean each of {', '.join(found)}" if found else f" is no kind{self.kinds.near(node.kind)}"
            self._refuse("unknown_kind", f"{node.kind!r}{why}", node)
            return
        named = node.key == f"{node.kind}/{node.name}"  # it was given no key
        kind = found[0]
        node = replace(node, kind=kind, key=f"{kind}/{node.name}" if named else node.key)
        if looks_like_sentence(node.name):
            name = f"{node.name!r:.60}"
            message = msg("the name of a node names a thing, and this is a sentence: {name}", name=name)
            if node.place.file in self.machine:
                self._refuse("sentence_as_name", message, node)
                return
            self._fault("sentence_as_name", message, node.place, "note")
        self._place(node, named)

    def _place(self, node: Node, named: bool) -> None:
        double = self._named.get((node.kind, folded(node.name)))
        known = self._known_names.get((node.kind, folded(node.name)), [])
        if double is not None and (named or node.key == double):
            self._together(self.accepted[double], node)
            return
        if node.key in self.accepted:
            first = self.accepted[node.key]
            self._refuse(
                "duplicate_node",
                msg(
                    "the key {key} is {name}'s already, at {place}",
                    key=repr(node.key),
                    name=repr(first.name),
                    place=first.place,
                ),
                node,
            )
            return
        if named and len(known) == 1:
            node = replace(node, key=known[0])
        old = self.known.get(node.key)
        if old is not None and old.kind != node.kind:
            self._refuse("kind_changed", f"the graph has {node.key!r} as a {old.kind!r}, not a {node.kind!r}", node)
            return
        others = [key for key in (double, *known) if key is not None and key != node.key]
        if others:
            message = msg(
                "another {kind} of that name has the key {others}: both are kept",
                kind=node.kind,
                others=repr(others[0]),
            )
            self._fault("duplicate_node", message, node.place, "note")
        self._named.setdefault((node.kind, folded(node.name)), node.key)
        self.accepted[node.key] = node

    def _together(self, first: Node, again: Node) -> None:
        other = _contradictions(first, again)
        if other and not {first.place.file, again.place.file} <= set(self.machine):
            message = msg(
                "{name} stands already at {place}, with another {other}",
                name=repr(again.name),
                place=first.place,
                other=" and ".join(other),
            )
            self._refuse("duplicate_node", message, again)
            return
        self.merged += 1
        message = msg("{name} stands already at {place}: put together", name=repr(again.name), place=first.place)
        self._fault("duplicate_node", message, again.place, "note")
        texts = {alias.text for alias in first.aliases}
        self.accepted[first.key] = replace(
            first,
            labels={**again.labels, **first.labels},
            codes={**again.codes, **first.codes},
            attributes={**again.attributes, **first.attributes},
            aliases=(*first.aliases, *(a for a in again.aliases if a.text not in texts)),
        )

    def finish(self, scope_kind: str) -> None:
        """Checks that need all nodes: ambiguous aliases, and scopes that name no node."""
        everything = {**self.known, **self.accepted}
        self._report_aliases(everything)
        if scope_kind:
            self._report_scopes(node for node in everything.values() if node.kind == scope_kind)

    def _report_aliases(self, everything: Mapping[str, Node]) -> None:
        owners: dict[tuple[str, str], str] = {}
        for node in everything.values():
            for word in (node.name, *node.labels.values()):
                owners.setdefault((node.kind, folded(word)), node.key)
        for node in everything.values():
            for word in dict.fromkeys(folded(alias.text) for alias in node.aliases):
                owner = owners.setdefault((node.kind, word), node.key)
                if owner != node.key and (node.key in self.accepted or owner in self.accepted):
                    message = msg(
                        "{word} of {name} also means {other}: both are kept",
                        word=repr(word),
                        name=repr(node.name),
                        other=repr(everything[owner].name),
                    )
                    place = node.place if node.key in self.accepted else everything[owner].place
                    self._fault("alias_collision", message, place, "note")

    def _report_scopes(self, types: Iterable[Node]) -> None:
        words = {folded(word) for node in types for word in (node.key, node.name, *node.labels.values())}
        for node in self.accepted.values():
            for name in node.scope:
                if folded(name) not in words:
                    message = msg(
                        "the scope {name} is no node{name2}", name=repr(name), name2=suggestion(folded(name), words)
                    )
                    self._fault("unknown_scope", message, node.place, "note")


def _contradictions(first: Node, again: Node) -> list[str]:
    """The fields in which two entries for the same node contradict each other."""
    found = [
        name
        for name in ("codes", "attributes")
        if any(getattr(first, name).get(k, v) != v for k, v in getattr(again, name).items())
    ]
    if any(folded(first.labels.get(tag, text)) != folded(text) for tag, text in again.labels.items()):
        found.append("labels")
    if set(first.scope) != set(again.scope):
        found.append("scope")
    return found
