"""`KnowledgeRetriever`: one entrance to rules and cases.

1. rules of the graph → priority 1; 2. similar cases → priority 2; 3. templates → priority 3.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

import wenyuan
from wenyuan.core.errors import ConfigError, EngineUnavailable, KnowledgeError, NotPermitted
from wenyuan.core.score import support_factor
from wenyuan.knowledge_retriever.config import (
    CHAPTERS_NEED_KG,
    DEFAULT_VECTOR_TOP_K,
    PRIORITY_KG_RULE,
    PRIORITY_TEMPLATE,
    PRIORITY_VECTOR_CASE,
    TEMPLATE_COLLECTION,
)
from wenyuan.knowledge_retriever.engines import KGRetriever, VectorRetriever
from wenyuan.knowledge_retriever.models import ProcessRequirements, RetrievalItem, RetrievalResponse, RetrievalResult
from wenyuan.service.unified import CaseQuestion, RuleItems, RuleQuestion, UnifiedRequest, Unifier
from wenyuan.settings import RulesSettings

__all__ = ["KnowledgeRetriever"]

_UNKNOWN_TRUST = 3  # of a rule whose engine does not say what it rests on


class Vectors(Protocol):
    """What is asked of an engine for cases; `VectorRetriever` is one."""

    def search(self, query: str, *, engineering_type: str | None, limit: int, threshold: float) -> list[Any]: ...

    def close(self) -> None: ...


class Graph(Protocol):
    """What is asked of an engine for rules; `KGRetriever` is one, and can do more."""

    def infer_process_chain(self, name: str) -> Any: ...

    def close(self) -> None: ...


class KnowledgeRetriever:
    """Coordinates an engine for cases and one for rules; either may be None. A context manager.

    Args:
        vector_retriever: Finds cases: `VectorRetriever`, or anything with its ``search``.
        kg_retriever: Derives rules: `KGRetriever`, or anything with its ``infer_process_chain``.
        optional: Engines (``"vector"``, ``"kg_rule"``) that may fail without failing the request. Where a
            chapter needs rules, the rules engine never may.
        settings: Chapters, templates, thresholds; the library's own when an engine has a library.
    """

    def __init__(
        self,
        vector_retriever: Vectors | None = None,
        kg_retriever: Graph | None = None,
        *,
        optional: Collection[str] = (),
        settings: RulesSettings | None = None,
    ) -> None:
        self.vector_retriever = vector_retriever
        self.kg_retriever = kg_retriever
        self._settings = settings or _settings_of(vector_retriever, kg_retriever)
        self._library: Any = None
        self._unifier = Unifier(
            None if kg_retriever is None else self._rules,
            None if vector_retriever is None else self._cases,
            self._settings,
            optional,
        )

    @classmethod
    def from_storage(
        cls, folder: str | Path, *, optional: Collection[str] = (), **settings: Any
    ) -> KnowledgeRetriever:
        """Open the library in `folder` for both engines; `settings` as for `wenyuan.open`."""
        library = wenyuan.open(folder, **settings)
        retriever = cls(VectorRetriever(library), KGRetriever(library), optional=optional)
        retriever._library = library
        return retriever

    def __enter__(self) -> KnowledgeRetriever:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of both engines, and of the library when it was opened here; may be called twice."""
        engines = [e for e in (self.vector_retriever, self.kg_retriever) if e is not None]
        self.vector_retriever = self.kg_retriever = None
        library, self._library = self._library, None
        try:
            for engine in engines:
                engine.close()
        finally:
            if library is not None:
                library.close()

    # -- what can be asked ----------------------------------------------------------------------------

    def retrieve(
        self,
        query: str,
        chapter: str | None = None,
        engineering_type: str | None = None,
        processes: list[str] | None = None,
        *,
        parameters: Mapping[str, Any] | None = None,
        limit: int | None = None,
    ) -> RetrievalResponse:
        """Rules (where the chapter needs them) above cases above templates.

        Args:
            chapter: Chapters outside ``CHAPTERS_NEED_KG`` skip the graph; None asks it.
            engineering_type: Filters both engines.
            processes: Names; None: they are recognised in the query.
            parameters: What the conditions of rules are checked with, such as ``{"depth_m": 6}``.
            limit: How many cases.

        Raises:
            InvalidRequest: the request.
            KnowledgeError: an engine failed that may not; never an empty answer instead.
        """
        request = UnifiedRequest(
            query=query, chapter=chapter, engineering_type=engineering_type,
            processes=None if processes is None else tuple(processes), parameters=parameters or {}, limit=limit,
        )  # fmt: skip
        return self._unifier.retrieve(request).response

    def retrieve_regulations(
        self, engineering_type: str | None = None, processes: list[str] | None = None
    ) -> list[RetrievalItem]:
        """What the rules demand of processes; without names, of the engineering type's own."""
        names = None if processes is None else tuple(processes)
        if names is None and not engineering_type:
            return []
        question = RuleQuestion(
            text=engineering_type if names is None and engineering_type else "",
            processes=names,
            engineering_type=engineering_type or "",
        )
        return list(self._rules(question).items) if self.kg_retriever is not None else []

    def retrieve_cases(
        self,
        query: str,
        chapter: str | None = None,
        engineering_type: str | None = None,
        limit: int = DEFAULT_VECTOR_TOP_K,
    ) -> list[RetrievalItem]:
        """Similar cases (priority 2) and templates (priority 3), best first."""
        if self.vector_retriever is None:
            return []
        request = UnifiedRequest(query=query, chapter=chapter, engineering_type=engineering_type, limit=limit)
        self._unifier.needs_rules(chapter)  # an unknown chapter is an error here too
        return self._cases(self._unifier.case_question(request))

    def infer_rules(
        self,
        context: str,
        processes: list[str] | None = None,
        use_llm: bool = False,
        *,
        engineering_type: str | None = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> list[RetrievalItem]:
        """Rules that follow for the processes named, or recognised in `context`; the graph is walked, no more.

        Raises:
            ConfigError: `use_llm`, and no language model is configured.
        """
        if use_llm:
            raise ConfigError(
                "use_llm asks for a language model, and none is configured",
                component="llm",
                hint="leave use_llm out: the graph is walked without one",
            )
        question = RuleQuestion(
            text=context, processes=None if processes is None else tuple(processes),
            engineering_type=engineering_type or "", parameters=parameters or {},
        )  # fmt: skip
        return list(self._rules(question).items) if self.kg_retriever is not None else []

    # -- the engines ----------------------------------------------------------------------------------

    def _cases(self, question: CaseQuestion) -> list[RetrievalItem]:
        engine = self.vector_retriever
        assert engine is not None
        found = _called(
            "vector",
            lambda: engine.search(
                question.query,
                engineering_type=question.engineering_type or None,
                limit=question.limit,
                threshold=question.threshold,
            ),
        )
        return [self._case(result) for result in found]

    def _case(self, result: RetrievalResult) -> RetrievalItem:
        template = result.collection == self._settings.template_collection
        return RetrievalItem(
            content=result.content,
            source="template" if template else "vector",
            priority=PRIORITY_TEMPLATE if template else PRIORITY_VECTOR_CASE,
            score=result.score,
            metadata={"collection": result.collection, "file_id": result.file_id, "context": result.context},
        )

    def _rules(self, question: RuleQuestion) -> RuleItems:
        engine = self.kg_retriever
        assert engine is not None
        if isinstance(engine, KGRetriever) and issubclass(type(engine), KGRetriever):  # not a stand-in with its spec
            return engine.infer(question)
        items: list[RetrievalItem] = []
        unmatched: list[str] = []
        for name in dict.fromkeys(question.processes or ()):
            try:
                chain = _called("kg_rule", lambda name=name: engine.infer_process_chain(name))
            except NotPermitted:
                chain = None
            if chain is None:
                unmatched.append(name)
            else:
                items += _items_of(chain)
        reason = "" if items else "no process was named" if not question.processes else "no rule was found"
        return RuleItems(items=tuple(items), unmatched=tuple(unmatched), reason=reason)


def _called(name: str, call: Any) -> Any:
    """What an engine answers; whatever it raises becomes a `KnowledgeError`."""
    try:
        return call()
    except KnowledgeError:
        raise
    except Exception as error:
        raise EngineUnavailable(f"{type(error).__name__}: {error}", component=name) from error


def _items_of(chain: ProcessRequirements) -> list[RetrievalItem]:
    """Requirements of an engine that tells names alone."""
    name = chain.process_name
    said = [("equipment", name, f"{name}：需要设备 {one}", one) for one in chain.equipment]
    said += [("hazards", name, f"{name}：危险源 {one}", one) for one in chain.hazards]
    for hazard, measures in chain.safety_measures.items():
        said += [("safety_measures", hazard, f"{name}：危险源 {hazard}，安全措施 {one}", one) for one in measures]
    said += [("quality_points", name, f"{name}：质量要点 {one}", one) for one in chain.quality_points]
    return [
        RetrievalItem(
            content=content,
            source="kg_rule",
            priority=PRIORITY_KG_RULE,
            score=support_factor(_UNKNOWN_TRUST),
            metadata={"process_name": name, "group": group, "subject": subject, "name": one},
        )
        for group, subject, content, one in said
    ]


def _settings_of(*engines: Any) -> RulesSettings:
    for engine in engines:
        if issubclass(type(engine), (VectorRetriever, KGRetriever)):
            found: RulesSettings = engine.library.settings.rules
            return found
    return RulesSettings(chapters_need_rules=tuple(sorted(CHAPTERS_NEED_KG)), template_collection=TEMPLATE_COLLECTION)
