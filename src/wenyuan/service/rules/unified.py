"""Unified retrieval: does this chapter need rules? → rules ∥ cases → merged, rules first.

Either engine may be missing: then that is said. One that is there and fails raises, unless it was declared
optional; rules that a chapter needs are never optional.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import Field

from wenyuan.contract.fields import CLOSED, QueryText, Text
from wenyuan.core.arguments import checking_fields
from wenyuan.core.errors import EngineUnavailable, InvalidRequest, KnowledgeError, did_you_mean, msg
from wenyuan.core.filters import And, Filter, In, Not, Or, Range
from wenyuan.core.model import MAX_QUERY_CHARS
from wenyuan.core.rules.results import Items, UnifiedResponse, united
from wenyuan.core.rules.retrieval_item import RetrievalItem
from wenyuan.settings import RulesSettings

MAX_PROCESSES = 200
MAX_PARAMETERS = 64
Parameters = Annotated[Mapping[str, str | int | float | bool], Field(max_length=MAX_PARAMETERS)]
Processes = Annotated[tuple[Text, ...], Field(max_length=MAX_PROCESSES, strict=False)]  # JSON has arrays
RULES, CASES = "kg_rule", "vector"


def names_of(processes: str | Iterable[str] | None) -> tuple[str, ...] | None:
    """Names given in a request, as a tuple: a single string is one name.

    Raises:
        InvalidRequest: one is no text or blank, or there are too many.
    """
    if processes is None:
        return None
    names = (processes,) if isinstance(processes, str) else tuple(processes)
    if len(names) > MAX_PROCESSES:
        raise InvalidRequest(
            msg(
                "processes has {count} names; at most {max_processes}",
                count=f"{len(names):,}",
                max_processes=MAX_PROCESSES,
            )
        )
    if wrong := [name for name in names if not isinstance(name, str) or not name.strip()]:
        raise InvalidRequest(msg("processes has {wrong}, which is no name", wrong=repr(wrong[0])))
    return names


@checking_fields
@dataclass(frozen=True, slots=True, kw_only=True)
class RuleQuestion:
    """A question about rules.

    Attributes:
        text: Where processes are recognised when none are named.
        processes: Names, or one name; None to have them recognised. An empty tuple asks for nothing.
        engineering_type: Leaves out what is limited to other types; ``""`` leaves out nothing.
        parameters: What conditions are checked with (``{"depth_m": 6}``).
        link: How processes are recognised in the text: by its words, or a language model chooses among the graph's names.
    """

    text: str = ""
    processes: tuple[str, ...] | None = None
    engineering_type: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    link: Literal["words", "llm"] = "words"

    def __post_init__(self) -> None:
        if self.processes is not None:
            object.__setattr__(self, "processes", names_of(self.processes))
        if len(self.text) > MAX_QUERY_CHARS:
            raise InvalidRequest(
                msg(
                    "the text has {count} characters; at most {max_query_chars}",
                    count=f"{len(self.text):,}",
                    max_query_chars=f"{MAX_QUERY_CHARS:,}",
                )
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleItems:
    """The response of the rules engine.

    Attributes:
        recognised: Names in the graph that were found in the text or named by the caller.
        unmatched: Names given by the caller that the graph does not know: not the same as having no rules.
        reason: Why there are no items, when there are none.
        truncated: Limits that cut the answer.
        notes: What else the caller should know, such as a parameter that no condition asks for.
        audit_id: Of the record of the question; ``""`` where there is none.
    """

    items: tuple[RetrievalItem, ...] = ()
    recognised: tuple[Mapping[str, Any], ...] = ()
    unmatched: tuple[str, ...] = ()
    reason: str = ""
    truncated: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    audit_id: str = ""


@checking_fields
@dataclass(frozen=True, slots=True, kw_only=True)
class CaseQuestion:
    """A question about cases.

    Attributes:
        chapter: The collection whose cases are preferred: others come only where it has none. ``""``: all alike.
        limit: How many cases.
        threshold: Least score of one, 0..1: of the score that it is given with.
        templates: How many templates, besides the cases; None: they are cases like others.
    """

    query: str
    engineering_type: str = ""
    chapter: str = ""
    limit: int = 3
    threshold: float = 0.0
    templates: int | None = None


Rules = Callable[[RuleQuestion], RuleItems]
Cases = Callable[[CaseQuestion], Items]


@checking_fields
@dataclass(frozen=True, slots=True, kw_only=True)
class UnifiedRequest:
    """What is to be written about: rules, similar cases and templates for it."""

    __pydantic_config__ = CLOSED

    query: QueryText
    chapter: Annotated[
        Text | None, Field(description="Some chapters need no rules; without one, rules are asked.")
    ] = None
    engineering_type: Annotated[Text | None, Field(description="Leaves out what is limited to other types.")] = None
    processes: Annotated[
        Processes | None, Field(description="Names; without them they are recognised in the query.")
    ] = None
    parameters: Annotated[Parameters, Field(description='For conditions: {"depth_m": 6}.')] = field(
        default_factory=dict
    )
    limit: Annotated[
        Annotated[int, Field(strict=True, ge=1, le=100)] | None,
        Field(description="How many cases; templates have places of their own."),
    ] = None
    threshold: Annotated[
        Annotated[float, Field(strict=True, ge=0, le=1)] | None, Field(description="Least `score` of a case.")
    ] = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "processes", names_of(self.processes))
        if not self.query.strip() or len(self.query.strip()) > MAX_QUERY_CHARS:
            raise InvalidRequest(
                msg(
                    "query must have 1 to {max_query_chars} characters, not {count}",
                    max_query_chars=MAX_QUERY_CHARS,
                    count=len(self.query.strip()),
                )
            )
        if self.limit is not None and (type(self.limit) is not int or not 1 <= self.limit <= 100):
            raise InvalidRequest(msg("limit must be an integer from 1 to 100, not {limit}", limit=repr(self.limit)))
        if self.threshold is not None and not 0.0 <= self.threshold <= 1.0:
            raise InvalidRequest(
                msg("threshold must be from 0 to 1, not {threshold}", threshold=repr(self.threshold))
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Unified:
    """A unified response, with the optional engines that failed."""

    response: UnifiedResponse
    degraded: tuple[str, ...] = ()


class Unifier:
    """Queries both engines and merges their results.

    Args:
        rules, cases: The engines; None for one that is not configured.
        optional: Names of engines (``kg_rule``, ``vector``) that may fail; then the answer says so.
    """

    def __init__(
        self, rules: Rules | None, cases: Cases | None, settings: RulesSettings, optional: Collection[str] = ()
    ) -> None:
        self._rules = rules
        self._cases = cases
        self._settings = settings
        self._optional = frozenset(optional)

    def retrieve(self, request: UnifiedRequest) -> Unified:
        """Rules (where the chapter needs them) and cases, merged.

        Raises:
            InvalidRequest: the request.
            KnowledgeError: an engine that had to answer did not.
        """
        needed = self.needs_rules(request.chapter)
        engines: dict[str, str] = {}
        rules = RuleItems()
        cases = Items()
        question = RuleQuestion(
            text=request.query, processes=request.processes, engineering_type=request.engineering_type or "",
            parameters=request.parameters,
        )  # fmt: skip
        if not needed:
            engines[RULES] = f"skipped: chapter {request.chapter!r} needs no rules"
        elif self._rules is None:
            engines[RULES] = "not configured"
        else:
            ask = self._rules
            may_fail = request.chapter is None and RULES in self._optional
            rules = self._call_engine(RULES, engines, may_fail, lambda: ask(question)) or rules
        if self._cases is None:
            engines[CASES] = "not configured"
        else:
            search, wanted = self._cases, self.case_question(request)
            found = self._call_engine(CASES, engines, CASES in self._optional, lambda: search(wanted))
            cases = cases if found is None else found
        degraded = tuple(name for name, state in engines.items() if state.startswith("failed"))
        if degraded and not rules.items and not cases:
            raise EngineUnavailable(
                msg("nothing was found, and {engines}", engines=engines[degraded[0]]), component=degraded[0]
            )
        context = self._context(request, rules, cases, engines)
        if degraded:
            context["degraded"] = list(degraded)
        response = united([*rules.items, *cases], context)
        if not response.cases and engines[CASES] == "ok":
            repeated = any(item.source == "vector" for item in cases)
            response.query_context["cases_reason"] = "what was found repeats the rules" if repeated else cases.reason
        return Unified(response=response, degraded=degraded)

    def needs_rules(self, chapter: str | None) -> bool:
        """Whether a chapter needs rules; requests without a chapter do.

        Raises:
            InvalidRequest: a chapter that is not among the ones that the settings list, where they list any.
        """
        known = self._settings.chapters
        if chapter is not None and known and chapter not in known:
            raise InvalidRequest(
                msg(
                    "there is no chapter {chapter}{near}",
                    chapter=repr(chapter),
                    near=did_you_mean(chapter, known),
                )
            )
        return chapter is None or chapter in self._settings.chapters_need_rules

    def case_question(self, request: UnifiedRequest) -> CaseQuestion:
        s = self._settings
        return CaseQuestion(
            query=request.query.strip(),
            engineering_type=request.engineering_type or "",
            chapter=request.chapter or "",
            templates=s.template_top_k,
            limit=s.case_top_k if request.limit is None else request.limit,
            threshold=s.case_threshold if request.threshold is None else request.threshold,
        )

    def _call_engine(self, name: str, engines: dict[str, str], may_fail: bool, call: Callable[[], Any]) -> Any:
        try:
            answer = call()
        except InvalidRequest:
            raise
        except KnowledgeError as error:
            if not may_fail:
                raise
            engines[name] = f"failed: {error}"
            return None
        except Exception as error:  # an engine of somebody else's
            failure = EngineUnavailable(
                msg("{kind}: {error}", kind=type(error).__name__, error=error), component=name
            )
            if not may_fail:
                raise failure from error
            engines[name] = f"failed: {failure}"
            return None
        engines[name] = "ok"
        return answer

    def _context(
        self, request: UnifiedRequest, rules: RuleItems, cases: Items, engines: Mapping[str, str]
    ) -> dict[str, Any]:
        context: dict[str, Any] = {
            "query": request.query,
            "chapter": request.chapter,
            "engineering_type": request.engineering_type,
            "processes": None if request.processes is None else list(request.processes),
            "engines": dict(engines),
            "unmatched_processes": list(rules.unmatched),
        }
        optional = {
            "parameters": dict(request.parameters),
            "recognised": [dict(one) for one in rules.recognised],
            "rules_reason": rules.reason,
            "truncated": list(rules.truncated),
            "notes": [*rules.notes, *cases.notes],
            "stale_by": round(cases.stale_by, 1),
        }
        near = did_you_mean(request.chapter, self._settings.chapters_need_rules) if request.chapter else ""
        if near and not self.needs_rules(request.chapter):
            optional["chapter_note"] = f"chapter {request.chapter!r} needs no rules{near}"
        return context | {name: value for name, value in optional.items() if value}


def of_type(names: Collection[str], facets: Collection[str]) -> Filter:
    """A filter for documents whose `facets` have one of `names`, or are absent."""
    said = [
        Or((In(f"metadata.{facet}", tuple(sorted(names))), Not(Range(f"metadata.{facet}", ge=""))))
        for facet in facets
    ]
    return said[0] if len(said) == 1 else And(tuple(said))
