"""The entries that every format is brought to: a node, a statement, a source, each a mapping with known keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from wenyuan.core.errors import InvalidRequest, msg
from wenyuan.core.model import Source
from wenyuan.core.rules.book import Book, BookFault, DeclaredSource, Direction, RawEvidence, RawStatement, Tally
from wenyuan.core.rules.model import Alias, AliasType, EntryPlace, Node, StatementStatus, Strength
from wenyuan.core.text.folding import language_of
from wenyuan.readers.rulebooks.form import EntryForm, place_in
from wenyuan.readers.rulebooks.trees import doubled_keys

LANGUAGES = ("zh", "en", "zh-Hant", "zh-Hans", "ja", "ko", "fr", "de", "es", "pt", "it", "ru", "ar", "vi", "th")
"""The tags that a node may have among its keys; any other language goes under ``labels``."""

NODE_KEYS = ("kind", "name", "key", "labels", "aliases", "scope", "codes", "attributes", *LANGUAGES)
STATEMENT_KEYS = (
    "src", "rel", "dst", "when", "strength", "sentence", "valid_from", "valid_until", "weight", "status", "evidence",
)  # fmt: skip
EVIDENCE_KEYS = ("source", "clause", "uri", "quote", "trust", "reviewer")
SOURCE_KEYS = (
    "id", "title", "uri", "trust", "domain", "collection", "language", "copyright", "owner", "status",
    "effective_from", "effective_until",
)  # fmt: skip

STRENGTHS: Mapping[str, str] = {
    **dict.fromkeys(("mandatory", "强制", "强制性", "必须", "应", "严禁", "must", "shall"), "mandatory"),
    **dict.fromkeys(("recommended", "推荐", "推荐性", "建议", "宜", "should"), "recommended"),
    **dict.fromkeys(("informative", "参考", "提示", "可", "may"), "informative"),
}
STATUSES: Mapping[str, str] = {
    **dict.fromkeys(("proposed", "待审", "待审核", "建议稿"), "proposed"),
    **dict.fromkeys(("approved", "已批准", "批准", "通过"), "approved"),
    **dict.fromkeys(("rejected", "已驳回", "驳回"), "rejected"),
    **dict.fromkeys(("retired", "已停用", "停用", "废止"), "retired"),
}
ALIAS_TYPES: Mapping[str, str] = {t: t for t in ("pref", "alt", "abbr", "typo", "code")}
_IN_FORCE: Mapping[str, str] = {t: t for t in ("in_force", "draft", "retired")}


class Writing:
    """Collects the entries of one file into a `Book`."""

    def __init__(self, pack: str, file: str, *, machine: bool = False) -> None:
        self.pack = pack
        self.file = file
        self.machine = machine
        self.schema_tree: Mapping[str, Any] | None = None
        self.sources: list[DeclaredSource] = []
        self.nodes: list[Node] = []
        self.links: list[RawStatement] = []
        self.faults: list[BookFault] = []
        self.refused = Tally()

    def fault(self, code: str, message: str, place: EntryPlace) -> None:
        self.faults.append(BookFault(code, message, place))

    def note(self, code: str, message: str, place: EntryPlace) -> None:
        self.faults.append(BookFault(code, message, place, "note"))

    def refuse(self, code: str, message: str, place: EntryPlace, *, nodes: int = 0, statements: int = 0) -> None:
        """Record an entry that cannot be read at all."""
        self.fault(code, message, place)
        self.refused += Tally(nodes, statements)

    def node(self, tree: object, place: EntryPlace, kind: str = "") -> None:
        """Add a node: a mapping, or a bare name where the context gives its kind."""
        if kind and isinstance(tree, (str, int, float)) and not isinstance(tree, bool):
            tree = {"name": tree}
        if not isinstance(tree, Mapping):
            self.refuse("bad_value", f"a node is a mapping of keys to values, not {tree!r:.80}", place, nodes=1)
            return
        form = EntryForm(tree, place, self.faults, NODE_KEYS)
        name, of = form.text("name", required=True), form.text("kind", required=not kind) or kind
        labels = form.languages("labels") | {tag: form.text(tag) for tag in LANGUAGES if tag in tree}
        labels = {tag: text for tag, text in labels.items() if text}
        if language := language_of(name):
            labels.setdefault(language, name)
        values = {
            "key": form.text("key") or f"{of}/{name}",
            "labels": labels,
            "aliases": self._aliases(form),
            "codes": {scheme: str(code) for scheme, code in form.table("codes").items()},
            "scope": form.texts("scope"),
            "attributes": form.table("attributes"),
        }
        if form.sound:
            self.nodes.append(Node(kind=of, name=name, place=form.place, **values))  # type: ignore[arg-type]
        else:
            self.refused += Tally(nodes=1)

    def _aliases(self, form: EntryForm) -> tuple[Alias, ...]:
        written = form.tree.get("aliases")
        items = written if isinstance(written, list) else [] if written is None else [written]
        found: dict[str, Alias] = {}
        for item in items:
            tree = item if isinstance(item, Mapping) else {"text": item}
            part = EntryForm(tree, form.place, self.faults, ("text", "language", "type", "weight"))
            text = part.text("text", required=True)
            language = part.text("language") if "language" in tree else language_of(text)
            kind = cast("AliasType", part.word("type", ALIAS_TYPES, "alt"))
            weight = part.number("weight", 1.0, 0.01, 1.0)
            form.sound = form.sound and part.sound
            found.setdefault(text, Alias(text=text, language=language, type=kind, weight=weight))
        return tuple(found.values())

    def statement(
        self, tree: object, place: EntryPlace, *, under: str = "", direction: Direction = "stated"
    ) -> RawStatement | None:
        """Add a statement; None when it is refused."""
        if not isinstance(tree, Mapping):
            self.refuse(
                "bad_value", f"a statement is a mapping of keys to values, not {tree!r:.80}", place, statements=1
            )
            return None
        form = EntryForm(tree, place, self.faults, STATEMENT_KEYS)
        values: dict[str, Any] = {
            "src": form.text("src", required=True),
            "rel": form.text("rel", required=True),
            "dst": form.text("dst", required=True),
            "condition": form.text("when"),
            "strength": cast("Strength", form.word("strength", STRENGTHS, "mandatory")),
            "sentence": form.languages("sentence"),
            "valid_from": form.day("valid_from"),
            "valid_until": form.day("valid_until"),
            "weight": form.number("weight", 1.0, 0.0, 1.0),
            "status": cast("StatementStatus | None", form.word("status", STATUSES, "") or None),
            "evidences": self._evidences(form),
        }
        first, last = values["valid_from"], values["valid_until"]
        if first and last and last < first:
            form.wrong("valid_until", msg("no earlier than valid_from, {first}", first=first), "bad_date")
        if not form.sound:
            self.refused += Tally(statements=1)
            return None
        made = RawStatement(under=under, direction=direction, place=form.place, **values)
        self.links.append(made)
        return made

    def _evidences(self, form: EntryForm) -> tuple[RawEvidence, ...]:
        found = []
        for tree in form.entries("evidence"):
            part = EntryForm(tree, form.place, self.faults, EVIDENCE_KEYS)
            texts = {key: part.text(key) for key in EVIDENCE_KEYS if key != "trust"}
            found.append(RawEvidence(**texts, trust=part.trust(), place=part.place))
            form.sound = form.sound and part.sound
        return tuple(found)

    def source(self, tree: object, place: EntryPlace) -> None:
        """Add a source declaration."""
        if not isinstance(tree, Mapping):
            self.fault("bad_value", f"a source is a mapping of keys to values, not {tree!r:.80}", place)
            return
        form = EntryForm(tree, place, self.faults, SOURCE_KEYS)
        texts = {k: form.text(k) for k in ("title", "domain", "collection", "language", "copyright", "owner")}
        trust, status = form.trust(), form.word("status", _IN_FORCE, "in_force")
        days = {key: form.day(key) for key in ("effective_from", "effective_until")}
        source_id, uri = form.text("id", required=True), form.text("uri")
        if not form.sound:
            return
        try:
            source = Source(
                source_id=source_id,
                status=status,  # type: ignore[arg-type]
                **({} if trust is None else {"trust": trust}),  # type: ignore[arg-type]
                **texts,  # type: ignore[arg-type]
                **days,  # type: ignore[arg-type]
            )
        except InvalidRequest as error:
            self.fault("bad_value", error.message, form.place)
            return
        if any(s.source.source_id == source_id for s in self.sources):
            self.fault("duplicate_source", f"source {source_id!r} is declared already in this file", form.place)
            return
        self.sources.append(DeclaredSource(source=source, uri=uri, place=form.place))

    def schema(self, tree: object, place: EntryPlace) -> None:
        """Add the pack's schema, as a tree."""
        if not isinstance(tree, Mapping):
            self.fault("bad_value", f"the schema is a mapping of keys to values, not {tree!r:.80}", place)
        elif self.schema_tree is not None:
            self.fault("duplicate_schema", "the schema is declared already in this file", place_in(tree, place))
        else:
            self.schema_tree = tree
            for key, line in doubled_keys(tree):
                at = place if line is None or place.cell else replace(place, line=line)
                self.fault("duplicate_key", f"the key {key!r} stands twice in one part of the schema", at)

    def book(self) -> Book:
        """The book of all entries added."""
        return Book(
            pack=self.pack,
            schema_tree=self.schema_tree,
            sources=tuple(self.sources),
            nodes=tuple(self.nodes),
            links=tuple(self.links),
            faults=tuple(self.faults),
            refused=self.refused,
            machine_files=frozenset({self.file} if self.machine else ()),
        )
