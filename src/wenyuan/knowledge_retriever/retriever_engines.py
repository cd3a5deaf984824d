"""The two engines of unified retrieval, each on an open library: similar cases, and rules of the graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar, overload

import wenyuan
from wenyuan.core.arguments import checking_arguments
from wenyuan.core.errors import InvalidRequest, UnknownName, msg, refusing_once_closed
from wenyuan.core.filters import In
from wenyuan.knowledge_retriever.models import Items, ProcessRequirements, RetrievalItem, RetrievalResult
from wenyuan.service.library import Library
from wenyuan.service.rules.unified import CaseQuestion, RuleItems, RuleQuestion

_Engine = TypeVar("_Engine", bound="_OnLibrary")


class _OnLibrary:
    """Base of engines on a library; closes the library if it opened it."""

    _closed = False

    def __init__(self, library: Library) -> None:
        self.library = library
        self._own = False

    @classmethod
    def from_storage(cls: type[_Engine], folder: str | Path, **settings: Any) -> _Engine:
        """Open the library in `folder`; `settings` as for `wenyuan.open`."""
        engine = cls(wenyuan.open(folder, **settings))
        engine._own = True
        return engine

    def close(self) -> None:
        """Release the library, and close it if it was opened here; may be called twice. Later calls raise `Closed`."""
        self._closed = True
        if self._own:
            self.library.close()

    def __enter__(self: _Engine) -> _Engine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@refusing_once_closed()
@checking_arguments()
class VectorRetriever(_OnLibrary):
    """Finds similar cases: hybrid search over the library's passages."""

    def search(
        self,
        query: str,
        collection: str | None = None,
        engineering_type: str | None = None,
        limit: int | None = None,
        threshold: float | None = None,
    ) -> list[RetrievalResult]:
        """The best passages that score at least `threshold`, best first.

        Args:
            collection: Only of this one.
            engineering_type: Leaves out documents that say they are for another type.
            limit: At most so many; None: `rules.case_top_k` of the library.
            threshold: Least score, 0..1, as it is given; None: `rules.case_threshold` of the library.

        Raises:
            Closed: it was closed.
            KnowledgeError: the search failed.
        """
        return self._search(query, None if collection is None else (collection,), engineering_type, limit, threshold)

    @overload
    def search_multi_collection(
        self,
        query: str,
        collections: Sequence[str],
        engineering_type: str | None = None,
        limit_per_collection: int | None = None,
        threshold: float | None = None,
    ) -> dict[str, list[RetrievalResult]]: ...

    @overload
    def search_multi_collection(
        self,
        query: str,
        collections: Sequence[str],
        engineering_type: str | None = None,
        *,
        threshold: float | None = None,
        limit: int,
    ) -> list[RetrievalResult]: ...

    def search_multi_collection(
        self,
        query: str,
        collections: Sequence[str],
        engineering_type: str | None = None,
        limit_per_collection: int | None = None,
        threshold: float | None = None,
        *,
        limit: int | None = None,
    ) -> dict[str, list[RetrievalResult]] | list[RetrievalResult]:
        """As `search`, over several collections.

        Args:
            limit_per_collection: So many of each; None: `rules.case_top_k` of the library.
            limit: Instead, the best so many of all of them.

        Returns:
            The results by collection, in the order of `collections`; with `limit` one list.
        """
        names = (collections,) if isinstance(collections, str) else tuple(dict.fromkeys(collections))
        if not names:
            raise InvalidRequest("collections is empty: name at least one")
        if limit is None:
            return {
                name: self._search(query, (name,), engineering_type, limit_per_collection, threshold)
                for name in names
            }
        if limit_per_collection is not None:
            raise InvalidRequest("limit and limit_per_collection are given: one of them says how many")
        return self._search(query, names, engineering_type, limit, threshold)

    def find_cases(self, question: CaseQuestion) -> Items:
        """Cases, those of the chapter first, and templates, which have their own limit."""
        return self.library.find_cases(question)

    def _search(
        self,
        query: str,
        collections: tuple[str, ...] | None,
        engineering_type: str | None,
        limit: int | None,
        threshold: float | None,
    ) -> list[RetrievalResult]:
        usual = self.library.settings.rules
        question = CaseQuestion(
            query=query,
            engineering_type=engineering_type or "",
            limit=usual.case_top_k if limit is None else limit,
            threshold=usual.case_threshold if threshold is None else threshold,
        )
        within = None if collections is None else In("collection", collections)
        return [result_of(item) for item in self.library.find_cases(question, within=within)]

    def get_collection_stats(self) -> dict[str, dict[str, int]]:
        """By collection (``""`` for none): its documents and passages."""
        return {name: dict(counts) for name, counts in self.library.catalog.collections().items()}


def result_of(item: RetrievalItem) -> RetrievalResult:
    """A case as `RetrievalResult`."""
    known = item.metadata
    return RetrievalResult(
        content=item.content,
        score=item.score,
        collection=known.get("collection", ""),
        file_id=known.get("file_id", ""),
        context=known.get("context") or None,
        uri=known.get("uri", ""),
        title=known.get("title", ""),
        trust=known.get("trust"),
        audit_id=known.get("audit_id", ""),
        probability=known.get("probability"),
    )


@refusing_once_closed()
@checking_arguments()
class KGRetriever(_OnLibrary):
    """Derives rules by traversing the library's rules graph, without a language model."""

    def infer(self, question: RuleQuestion) -> RuleItems:
        """All rules that apply, with scores, paths and evidence."""
        return self.library.infer_rules(question)

    def infer_process_chain(
        self, name: str, engineering_type: str | None = None, parameters: Mapping[str, Any] | None = None
    ) -> ProcessRequirements:
        """The requirements of a process: equipment, hazards with measures, quality points.

        Raises:
            Closed: it was closed.
            UnknownName: the graph knows no such process; one that is known and demands nothing is empty.
        """
        answer = self.library.infer_rules(
            RuleQuestion(processes=(name,), engineering_type=engineering_type or "", parameters=parameters or {})
        )
        if answer.unmatched:
            raise UnknownName(
                msg("the rules graph knows no process {name}", name=repr(name)), hint="wenyuan rules list"
            )
        return requirements_of(name, answer.items, answer.truncated)

    def infer_hazard_measures(self, hazard: str) -> list[str]:
        """The measures against a hazard.

        Raises:
            UnknownName: the graph knows no such hazard.
        """
        reached = self.get_neighbors(hazard)
        return [n["name"] for n in reached if n["group"] == "safety_measures" and n["direction"] == "out"]

    def get_neighbors(
        self, name: str, relation_type: str | None = None, *, relation: str | None = None
    ) -> list[dict[str, Any]]:
        """What the graph says of a node, in both directions: ``{name, kind, relation, direction, group, trust}``.

        Args:
            name: Of the node: its name, a label, an alias or a code.
            relation_type: Only this relation, by its name, a label in any language, or an alias; `relation` is the same.

        Raises:
            UnknownName: the graph knows no such node, or the schema no such relation.
        """
        return self.library.rule_neighbors(name, relation_type if relation is None else relation)

    def get_all_entities(self, entity_type: str | None = None) -> list[dict[str, Any]]:
        """All nodes: ``{name, type, description, labels}`` each, by number.

        Args:
            entity_type: Only of this kind, by its name, a label in any language, or an alias.

        Raises:
            UnknownName: the schema knows no such kind.
        """
        return self.library.rule_entities(entity_type)

    def get_graph_stats(self) -> dict[str, int]:
        """How many ``nodes`` there are, and how many ``edges``: approved statements between them."""
        counts = self.library.catalog.rules.counts()
        return {"nodes": counts["nodes"], "edges": counts["statements"].get("approved", 0)}


_NAMED = ("equipment", "hazards", "quality_points")


def requirements_of(name: str, items: Iterable[RetrievalItem], cut: Sequence[str] = ()) -> ProcessRequirements:
    """Derived rules grouped by what they require."""
    found = ProcessRequirements(process_name=name, items=list(items), cut=tuple(cut))
    for item in found.items:
        group, end = str(item.metadata["group"]), str(item.metadata["name"])
        if group == "safety_measures":
            listed = found.safety_measures.setdefault(str(item.metadata["subject"]), [])
        elif group in _NAMED:
            listed = getattr(found, group)
        else:
            listed = found.other.setdefault(group, [])
        if end not in listed:
            listed.append(end)
    return found
