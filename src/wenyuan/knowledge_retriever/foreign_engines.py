"""Engines of other people: what is asked of them, and what they answer in our terms."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol, TypeVar

from wenyuan.core.errors import EngineError, EngineUnavailable, InvalidRequest, KnowledgeError, NotPermitted, msg
from wenyuan.core.scoring.formula import support_factor
from wenyuan.knowledge_retriever.config import PRIORITY_KG_RULE, PRIORITY_TEMPLATE, PRIORITY_VECTOR_CASE
from wenyuan.knowledge_retriever.models import Items, RetrievalItem
from wenyuan.service.rules.unified import CaseQuestion, RuleItems, RuleQuestion

T = TypeVar("T")
_UNKNOWN_TRUST = 3  # of a rule whose engine does not say what it rests on
_TOLD = ("uri", "title", "trust", "audit_id")


class CaseEngine(Protocol):
    """The interface of an engine for cases; `VectorRetriever` implements it.

    It is called by keyword, with as many of ``query, collection, engineering_type, limit, threshold`` as it takes.
    Each result has ``content``, ``score`` (0..1), and perhaps ``collection``, ``file_id``, ``context``, ``uri``, ``title``,
    ``trust`` and ``audit_id``.
    """

    @property
    def search(self) -> Callable[..., Any]: ...


class RuleEngine(Protocol):
    """The interface of an engine for rules; `KGRetriever` implements it and more."""

    def infer_process_chain(self, name: str, /) -> Any: ...


class ForeignCases:
    """Cases from a third-party engine.

    Args:
        templates: Collection of the templates.
    """

    def __init__(self, engine: Any, templates: str) -> None:
        self._search: Callable[..., Any] = engine.search
        self._takes = _takes(engine.search)
        self._templates = templates

    def find(self, question: CaseQuestion) -> Items:
        """Cases of the chapter's collection (of all, if it has none), and templates, which have their own limit.

        The engine is asked once, and again only where it found no case of the chapter, or no template and takes a
        collection.
        """
        narrow = self._takes("collection")
        found = self._query_engine(question, question.chapter if narrow else "", question.limit)
        notes: tuple[str, ...] = ()
        if question.chapter and not narrow:
            notes = ("the engine for cases takes no collection: the chapter does not narrow them",)
        elif question.chapter and not found:
            found = self._query_engine(question, "", question.limit)
            if found:
                notes = (
                    msg("chapter {chapter} has no such case: others stand in for it", chapter=repr(question.chapter)),
                )
        plans = [item for item in found if item.source == "template"]
        if narrow and question.templates and not plans:
            asked = self._query_engine(question, self._templates, question.templates)
            plans = [item for item in asked if item.source == "template"]
        cases = [item for item in found if item.source == "vector"][: question.limit]
        reason = "" if cases else f"the engine for cases has none that scores {question.threshold:g}"
        return Items([*cases, *plans[: question.templates]], reason=reason, notes=notes)

    def _query_engine(self, question: CaseQuestion, collection: str, limit: int) -> list[RetrievalItem]:
        given: dict[str, Any] = {
            "query": question.query,
            "collection": collection or None,
            "engineering_type": question.engineering_type or None,
            "limit": limit,
            "threshold": question.threshold,
        }
        named = {name: value for name, value in given.items() if self._takes(name)}
        first = () if "query" in named else (question.query,)
        found = _call_engine("vector", lambda: [self._case(one) for one in self._search(*first, **named)])
        return sorted((one for one in found if one.score >= question.threshold), key=lambda one: -one.score)

    def _case(self, result: Any) -> RetrievalItem:
        collection = _text(result, "collection")
        template = collection == self._templates
        told = {
            name: value for name in _TOLD if isinstance(value := getattr(result, name, None), (str, int)) and value
        }
        try:
            return RetrievalItem(
                content=result.content,
                source="template" if template else "vector",
                priority=PRIORITY_TEMPLATE if template else PRIORITY_VECTOR_CASE,
                score=result.score,
                metadata={
                    "collection": collection,
                    "file_id": _text(result, "file_id"),
                    "context": _text(result, "context"),
                    **told,
                },
            )
        except InvalidRequest as error:  # it is not the request that is wrong
            raise EngineError(
                msg("it gave a result that is none: {message}", message=error.message), component="vector"
            ) from error


def _text(result: Any, name: str) -> str:
    """A text that a result has of itself; ``""`` where it has none."""
    value = getattr(result, name, None)
    return value if isinstance(value, str) else ""


def _takes(call: Callable[..., Any]) -> Callable[[str], bool]:
    """A predicate: whether a call accepts an argument name; always true for calls without a signature."""
    try:
        given = inspect.signature(call).parameters.values()
    except (TypeError, ValueError):
        return lambda _: True
    if any(one.kind is one.VAR_KEYWORD for one in given):
        return lambda _: True
    names = {one.name for one in given if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)}
    return lambda name: name in names


def foreign_rules(engine: Any, question: RuleQuestion) -> RuleItems:
    """Rules from a third-party engine that takes only the name of a process."""
    items: list[RetrievalItem] = []
    unmatched: list[str] = []
    cut: list[str] = []
    for name in dict.fromkeys(question.processes or ()):
        try:
            chain = _call_engine("kg_rule", partial(engine.infer_process_chain, name))
        except NotPermitted:
            chain = None
        if chain is None:
            unmatched.append(name)
        else:
            items += _call_engine("kg_rule", partial(_items_of, chain))
            told = getattr(chain, "cut", ())
            cut += told if isinstance(told, (list, tuple)) else ()
    reason = "" if items else "no process was named" if not question.processes else "no rule was found"
    return RuleItems(
        items=tuple(items), unmatched=tuple(unmatched), reason=reason, truncated=tuple(dict.fromkeys(cut))
    )


def _call_engine(name: str, call: Callable[[], T]) -> T:
    """The result of an engine's call; any exception becomes a `KnowledgeError`."""
    try:
        return call()
    except KnowledgeError:
        raise
    except Exception as error:
        raise EngineUnavailable(
            msg("{kind}: {error}", kind=type(error).__name__, error=error), component=name
        ) from error


def _items_of(chain: Any) -> list[RetrievalItem]:
    """Result items from an engine that returns only names."""
    name = chain.process_name
    measures: Mapping[str, Any] = chain.safety_measures
    said = [("equipment", name, f"{name}：需要设备 {one}", one) for one in chain.equipment]
    said += [("hazards", name, f"{name}：危险源 {one}", one) for one in chain.hazards]
    for hazard, against in measures.items():
        said += [("safety_measures", hazard, f"{name}：危险源 {hazard}，安全措施 {one}", one) for one in against]
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
