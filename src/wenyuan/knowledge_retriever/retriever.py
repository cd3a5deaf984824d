"""`KnowledgeRetriever`: rules where a chapter needs them, above cases, above templates."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

import wenyuan
from wenyuan.core.arguments import checking_arguments
from wenyuan.core.contract import named_twice
from wenyuan.core.errors import ConfigError, refusing_once_closed
from wenyuan.knowledge_retriever.config import CHAPTERS_NEED_KG, TEMPLATE_COLLECTION
from wenyuan.knowledge_retriever.foreign_engines import CaseEngine, ForeignCases, RuleEngine, foreign_rules
from wenyuan.knowledge_retriever.models import Items, RetrievalResponse
from wenyuan.knowledge_retriever.retriever_engines import KGRetriever, VectorRetriever
from wenyuan.service.rules.unified import CaseQuestion, RuleItems, RuleQuestion, UnifiedRequest, Unifier, names_of
from wenyuan.settings import RulesSettings

__all__ = ["KnowledgeRetriever"]


@refusing_once_closed()
@checking_arguments()
class KnowledgeRetriever:
    """Coordinates an engine for cases and one for rules; either may be None. A context manager.

    Args:
        vector_retriever: Finds cases: `VectorRetriever`, or anything with a ``search`` (see `foreign_engines.CaseEngine`).
        kg_retriever: Derives rules: `KGRetriever`, or anything with its ``infer_process_chain``.
        optional: Engines (``"vector"``, ``"kg_rule"``) that may fail without failing the request. Where a
            chapter needs rules, the rules engine never may.
        settings: Chapters, templates, thresholds; the library's own when an engine has a library.
    """

    _closed = False

    def __init__(
        self,
        vector_retriever: CaseEngine | None = None,
        kg_retriever: RuleEngine | None = None,
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
        """Release both engines, and the library if it was opened here; may be called twice."""
        self._closed = True
        engines = [e for e in (self.kg_retriever, self.vector_retriever) if e is not None]
        self.vector_retriever = self.kg_retriever = None
        library, self._library = self._library, None
        with ExitStack() as closing:  # each is closed, whatever another one raises
            if library is not None:
                closing.callback(library.close)
            for engine in engines:
                closing.callback(getattr(engine, "close", lambda: None))

    # -- what can be asked ----------------------------------------------------------------------------

    def retrieve(
        self,
        query: str,
        chapter: str | None = None,
        engineering_type: str | None = None,
        processes: str | Sequence[str] | None = None,
        *,
        parameters: Mapping[str, Any] | None = None,
        limit: int | None = None,
        threshold: float | None = None,
    ) -> RetrievalResponse:
        """Rules (where the chapter needs them) above cases above templates.

        Args:
            chapter: Chapters outside ``CHAPTERS_NEED_KG`` skip the graph; None asks it. Cases of the collection that is
                called so come before others.
            engineering_type: Filters both engines.
            processes: Names, or one name; None: they are recognised in the query.
            parameters: What the conditions of rules are checked with, such as ``{"depth_m": 6}``.
            limit: How many cases; templates have places of their own.
            threshold: Least score of a case, 0..1, as it is given.

        Raises:
            Closed: it was closed.
            InvalidRequest: the request.
            KnowledgeError: an engine failed that may not; never an empty answer instead.
        """
        request = UnifiedRequest(
            query=query, chapter=chapter, engineering_type=engineering_type, processes=names_of(processes),
            parameters=parameters or {}, limit=limit, threshold=threshold,
        )  # fmt: skip
        return self._unifier.retrieve(request).response

    def retrieve_regulations(
        self, engineering_type: str | None = None, processes: str | Sequence[str] | None = None
    ) -> Items:
        """What the rules demand of processes; without names, of the engineering type's own.

        Returns:
            The rules; `Items.cut` says what a limit has cut, `Items.unmatched` which names the graph does not know.
        """
        names = names_of(processes)
        if names is None and not engineering_type:
            return Items(reason="neither a process nor an engineering type was named")
        question = RuleQuestion(
            text=engineering_type if names is None and engineering_type else "",
            processes=names,
            engineering_type=engineering_type or "",
        )
        return self._listed(question)

    def retrieve_cases(
        self,
        query: str,
        chapter: str | None = None,
        engineering_type: str | None = None,
        limit: int | None = None,
        threshold: float | None = None,
    ) -> Items:
        """Similar cases (priority 2), best first, then templates (priority 3) in places of their own.

        Args:
            chapter: Cases of the collection that is called so come before others.
            limit: How many cases; None: `rules.case_top_k`.
            threshold: Least score of one, 0..1, as it is given; None: `rules.case_threshold`.

        Returns:
            The cases; `Items.reason` says why there are none.
        """
        request = UnifiedRequest(
            query=query, chapter=chapter, engineering_type=engineering_type, limit=limit, threshold=threshold
        )
        self._unifier.needs_rules(chapter)  # an unknown chapter is an error here too
        if self.vector_retriever is None:
            return Items(reason="no engine for cases is configured")
        return self._cases(self._unifier.case_question(request))

    def infer_rules(
        self,
        context: str = "",
        processes: str | Sequence[str] | None = None,
        use_llm: bool = False,
        *,
        query: str | None = None,
        engineering_type: str | None = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> Items:
        """Rules that follow for the processes named, or recognised in `context`; the graph is walked, no more.

        Args:
            processes: Names, or one name.
            use_llm: The library's language model chooses, among the graph's own names, what `context` is about.
            query: The same as `context`; both must not differ.

        Returns:
            The rules; `Items.cut` says what a limit has cut, `Items.unmatched` which names the graph does not know.

        Raises:
            Closed: it was closed.
            ConfigError: `use_llm`, and no language model is configured.
            InvalidRequest: `context` and `query` differ.
        """
        if use_llm and not self._has_model():
            raise ConfigError(
                "use_llm asks for a language model, and none is configured",
                component="llm",
                hint="set llm.url and llm.model, or leave use_llm out: the graph is walked without one",
            )
        question = RuleQuestion(
            text=named_twice("context", context or None, query) or "", processes=names_of(processes),
            engineering_type=engineering_type or "", parameters=parameters or {}, link="llm" if use_llm else "words",
        )  # fmt: skip
        return self._listed(question)

    def _has_model(self) -> bool:
        """Whether the rules engine works on a library with a language model."""
        engine = self.kg_retriever
        if not isinstance(engine, KGRetriever) or not _as_it_is(engine, KGRetriever, "infer_process_chain"):
            return False
        return bool(engine.library.settings.llm.url)

    # -- the engines ----------------------------------------------------------------------------------

    def _listed(self, question: RuleQuestion) -> Items:
        if self.kg_retriever is None:
            return Items(reason="no engine for rules is configured")
        found = self._rules(question)
        return Items(
            found.items,
            cut=found.truncated,
            unmatched=found.unmatched,
            reason=found.reason,
            notes=found.notes,
            audit_id=found.audit_id,
        )

    def _cases(self, question: CaseQuestion) -> Items:
        engine = self.vector_retriever
        if isinstance(engine, VectorRetriever) and _as_it_is(engine, VectorRetriever, "search"):
            return engine.find_cases(question)
        return ForeignCases(engine, self._settings.template_collection).find(question)

    def _rules(self, question: RuleQuestion) -> RuleItems:
        engine = self.kg_retriever
        if isinstance(engine, KGRetriever) and _as_it_is(engine, KGRetriever, "infer_process_chain"):
            return engine.infer(question)
        return foreign_rules(engine, question)


def _as_it_is(engine: object, kind: type, method: str) -> bool:
    """Whether an engine is our own class, with no method overridden."""
    return getattr(type(engine), method, None) is getattr(kind, method)


def _settings_of(*engines: Any) -> RulesSettings:
    for engine in engines:
        if issubclass(type(engine), (VectorRetriever, KGRetriever)):
            found: RulesSettings = engine.library.settings.rules
            return found
    return RulesSettings(chapters_need_rules=tuple(sorted(CHAPTERS_NEED_KG)), template_collection=TEMPLATE_COLLECTION)
