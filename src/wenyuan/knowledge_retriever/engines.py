"""The two engines of unified retrieval, each on an open library: similar cases, and rules of the graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import wenyuan
from wenyuan.core.errors import InvalidRequest, NotPermitted
from wenyuan.core.filters import In
from wenyuan.knowledge_retriever.config import DEFAULT_VECTOR_THRESHOLD, DEFAULT_VECTOR_TOP_K
from wenyuan.knowledge_retriever.models import ProcessRequirements, RetrievalItem, RetrievalResult
from wenyuan.service.facade import Library
from wenyuan.service.unified import CaseQuestion, RuleItems, RuleQuestion

__all__ = ["KGRetriever", "VectorRetriever"]

_Engine = TypeVar("_Engine", bound="_OnLibrary")


class _OnLibrary:
    """An engine over a library; closes the library if it has opened it."""

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
        """Let go of the library, if it was opened here; may be called twice."""
        if self._own:
            self._own = False
            self.library.close()

    def __enter__(self: _Engine) -> _Engine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class VectorRetriever(_OnLibrary):
    """Finds similar cases: hybrid search over the library's passages."""

    def search(
        self,
        query: str,
        collection: str | None = None,
        engineering_type: str | None = None,
        limit: int = DEFAULT_VECTOR_TOP_K,
        threshold: float = DEFAULT_VECTOR_THRESHOLD,
    ) -> list[RetrievalResult]:
        """The best passages that score at least `threshold`, best first.

        Args:
            collection: Only of this one.
            engineering_type: Leaves out documents that say they are for another type.

        Raises:
            KnowledgeError: the search failed.
        """
        collections = None if collection is None else [collection]
        return self._search(query, collections, engineering_type, limit, threshold)

    def search_multi_collection(
        self,
        query: str,
        collections: Sequence[str],
        engineering_type: str | None = None,
        limit: int = DEFAULT_VECTOR_TOP_K,
        threshold: float = DEFAULT_VECTOR_THRESHOLD,
    ) -> list[RetrievalResult]:
        """As `search`, over several collections at once: the best `limit` of all of them."""
        if not collections:
            raise InvalidRequest("collections is empty: name at least one")
        return self._search(query, collections, engineering_type, limit, threshold)

    def _search(
        self,
        query: str,
        collections: Sequence[str] | None,
        engineering_type: str | None,
        limit: int,
        threshold: float,
    ) -> list[RetrievalResult]:
        within = None if collections is None else In("collection", tuple(collections))
        question = CaseQuestion(
            query=query, engineering_type=engineering_type or "", limit=limit, threshold=threshold
        )
        return [result_of(item) for item in self.library.find_cases(question, within=within)]

    def get_collection_stats(self) -> dict[str, dict[str, int]]:
        """By collection (``""`` for none): its documents and passages."""
        return {name: dict(counts) for name, counts in self.library.catalog.collections().items()}


def result_of(item: RetrievalItem) -> RetrievalResult:
    """A case as the engine's own result."""
    known = item.metadata
    return RetrievalResult(
        content=item.content,
        score=item.score,
        collection=known.get("collection", ""),
        file_id=known.get("file_id", ""),
        context=known.get("context", ""),
    )


class KGRetriever(_OnLibrary):
    """Derives rules: walks the library's rules graph, without a language model."""

    def infer(self, question: RuleQuestion) -> RuleItems:
        """All rules that follow, with their scores, paths and evidence."""
        return self.library.infer_rules(question)

    def infer_process_chain(
        self, name: str, engineering_type: str | None = None, parameters: Mapping[str, Any] | None = None
    ) -> ProcessRequirements:
        """What a process demands: equipment, hazards with measures, quality points.

        Raises:
            NotPermitted: the graph knows no such process; one that is known and demands nothing is empty.
        """
        answer = self.library.infer_rules(
            RuleQuestion(processes=(name,), engineering_type=engineering_type or "", parameters=parameters or {})
        )
        if answer.unmatched:
            raise NotPermitted(f"the rules graph knows no process {name!r}", hint="wenyuan rules list")
        return requirements_of(name, answer.items)

    def infer_hazard_measures(self, hazard: str) -> list[str]:
        """The measures against a hazard."""
        reached = self.get_neighbors(hazard)
        return [n["name"] for n in reached if n["group"] == "safety_measures"]

    def get_neighbors(self, name: str, relation: str | None = None) -> list[dict[str, Any]]:
        """What the graph says of a node, in both directions: ``{name, kind, relation, direction, group, trust}``."""
        return self.library.rule_neighbors(name, relation)


_NAMED = ("equipment", "hazards", "quality_points")


def requirements_of(name: str, items: Iterable[RetrievalItem]) -> ProcessRequirements:
    """Derived rules by what they demand."""
    found = ProcessRequirements(process_name=name, items=list(items))
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
