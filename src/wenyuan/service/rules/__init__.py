"""Unified retrieval of rules, cases and templates, the schemas of a library's packs, and names found by meaning."""

from __future__ import annotations

import hashlib
import logging
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from wenyuan.core.arguments import checking_fields
from wenyuan.core.errors import (
    CatalogBusy,
    CatalogUnavailable,
    EngineUnavailable,
    InvalidRequest,
    KnowledgeError,
    did_you_mean,
    msg,
)
from wenyuan.core.filters import And, Filter, In, Not, Or, Range
from wenyuan.core.model import MAX_QUERY_CHARS
from wenyuan.core.ports import Encoder
from wenyuan.core.rules.inference import LexiconEntry
from wenyuan.core.rules.results import Items, RetrievalItem, UnifiedResponse, united
from wenyuan.core.rules.schema import Schema, merged, parse_schema
from wenyuan.settings import RulesSettings, SearchSettings

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from wenyuan.catalog import Catalog


# Unified retrieval: does this chapter need rules? → rules ∥ cases → merged, rules first.
#
# Either engine may be missing: then that is said. One that is there and fails raises, unless it was declared
# optional; rules that a chapter needs are never optional.


MAX_PROCESSES = 200
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
    """A request for unified retrieval; ``chapter`` None asks for rules too."""

    query: str
    chapter: str | None = None
    engineering_type: str | None = None
    processes: tuple[str, ...] | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    limit: int | None = None
    threshold: float | None = None

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
            rules = self._asked(RULES, engines, may_fail, lambda: ask(question)) or rules
        if self._cases is None:
            engines[CASES] = "not configured"
        else:
            search, wanted = self._cases, self.case_question(request)
            found = self._asked(CASES, engines, CASES in self._optional, lambda: search(wanted))
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

    def _asked(self, name: str, engines: dict[str, str], may_fail: bool, call: Callable[[], Any]) -> Any:
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


# The schemas of a library's packs, as the catalog keeps them: ``{"packs": {name: tree}}`` under one key.


SCHEMAS = "rules/schema"


def schema_of(trees: Mapping[str, Any]) -> Schema:
    """The merged schema of packs; empty if there are none.

    Raises:
        InvalidRequest: one is of a wrong form, or two packs contradict one another.
    """
    whole = Schema()
    for name, tree in trees.items():
        whole = merged(whole, parse_schema(tree, where=f"schema of {name}", known=whole))
    return whole


def stored_trees(stored: Any) -> dict[str, Any]:
    """The schema of each pack, from its stored form.

    Raises:
        CatalogUnavailable: that has another form than what is written there.
    """
    trees = {} if stored is None else stored.get("packs") if isinstance(stored, Mapping) else None
    if not isinstance(trees, Mapping):
        raise _damaged(f"{stored!r:.60}")
    return dict(trees)


def stored_schema(stored: Any) -> Schema:
    """The merged schema of all packs, from their stored form.

    Raises:
        CatalogUnavailable: the stored form is damaged; the caller is not at fault.
    """
    try:
        return schema_of(stored_trees(stored))
    except InvalidRequest as error:
        raise _damaged(error.message) from error


def _damaged(why: str) -> CatalogUnavailable:
    return CatalogUnavailable(
        msg("the stored schema of the rules is damaged: {why}", why=why),
        component="catalog",
        hint="restore the library's catalog from a backup",
    )


# Which names of the graph mean about what a text says: the last way in which a text is linked.
#
# Names are embedded once and kept, as passages are. An import by the command line embeds them before it ends; else a
# thread does, from the first text on that names nothing: until it has finished, nothing is guessed, and that is said.

log = logging.getLogger(__name__)
_BATCH = 64  # names embedded at once: less than a second of work
_MOST = 50  # guesses that are compared further
_MOST_NODES = 3  # nodes that a text may mean
_NEAR = 0.04  # how much less than the likeliest another one may be
LATIN = 5 / 6  # of the threshold, for a text without Chinese: measured, see docs/rules.md


@dataclass(frozen=True, slots=True)
class _Names:
    """The embedded names of one graph version: nodes (n,), and unit vectors (n, dim)."""

    version: int
    nodes: npt.NDArray[np.int64]
    vectors: npt.NDArray[np.float32]


class NameVectors:
    """Finds names by embedding similarity. Thread-safe.

    Args:
        threshold: Likeness (0..1, the cosine on the encoder's scale) from which on a name is a guess.
    """

    def __init__(self, encoder: Encoder, catalog: Catalog, threshold: float) -> None:
        self._encoder = encoder
        self._catalog = catalog
        self.threshold = threshold
        self._lock = threading.Lock()
        self._ready: _Names | None = None
        self._work: threading.Thread | None = None
        self._stop = threading.Event()
        self._done = 0

    def close(self) -> None:
        """Stop embedding; finished vectors are kept."""
        self._stop.set()
        if self._work is not None:
            self._work.join()

    def likely(
        self,
        version: int,
        entries: Sequence[LexiconEntry],
        embed: Callable[[], Any],
        without: Set[int] = frozenset(),
        *,
        latin: bool = False,
    ) -> list[tuple[int, float]] | str:
        """Nodes and their similarity to the text (0..1), best first; or why that is not known yet.

        Args:
            version: Of the graph whose names `entries` are.
            embed: Gives the vector of the text, (dim,) float32.
            without: Nodes invisible to the caller, which do not count towards the limit.
            latin: The text has no Chinese: then it lies further from all names.
        """
        import numpy as np

        names = self._names(version, entries)
        if isinstance(names, str):
            return names
        low, high = self._encoder.fingerprint.scale
        likeness = np.clip((np.vecdot(names.vectors, np.asarray(embed(), np.float32)) - low) / (high - low), 0.0, 1.0)
        if without:
            likeness[np.isin(names.nodes, list(without))] = -1.0
        best: dict[int, float] = {}
        least = max(self.threshold * (LATIN if latin else 1.0), float(likeness.max(initial=0.0)) - _NEAR)
        for at in np.argsort(-likeness, kind="stable")[:_MOST]:
            if likeness[at] >= least and len(best) < _MOST_NODES:
                best.setdefault(int(names.nodes[at]), float(likeness[at]))
        return list(best.items())

    def embed(
        self,
        entries: Sequence[LexiconEntry],
        tell: Callable[[int, int], None] | None = None,
        most: int | None = None,
    ) -> int:
        """Embed and store the names that have no vector yet; returns how many there were.

        Args:
            tell: Called with the number done and the total.
            most: Embed nothing when more names than this are missing.

        Raises:
            EncoderError, CatalogError
        """
        keys = {self._key(entry.text): entry.text for entry in entries}
        kept = self._catalog.name_vectors(list(keys))
        missing = [key for key in keys if key not in kept]
        done = 0
        if most is not None and len(missing) > most:
            return done
        for part in _parts(missing):
            if self._stop.is_set():
                return done
            vectors = self._encoder.encode_passages([keys[key] for key in part])
            self._catalog.keep_name_vectors(dict(zip(part, vectors, strict=True)))
            done += len(part)
            if tell is not None:
                tell(done, len(missing))
        if missing:
            self._catalog.keep_name_vectors({}, wanted=keys)
        return done

    def _names(self, version: int, entries: Sequence[LexiconEntry]) -> _Names | str:
        with self._lock:
            if self._ready is None or self._ready.version != version:
                self._ready = self._read(version, entries)
            if self._ready is not None:
                return self._ready
            if self._work is None or not self._work.is_alive():
                self._done = 0
                self._work = threading.Thread(target=self._run, args=(entries,), name="names", daemon=True)
                self._work.start()
        return msg(
            "names are not compared by meaning until they are embedded: {done} of {count}",
            done=self._done,
            count=len(entries),
        )

    def _read(self, version: int, entries: Sequence[LexiconEntry]) -> _Names | None:
        import numpy as np

        keys = [self._key(entry.text) for entry in entries]
        kept = self._catalog.name_vectors(list(dict.fromkeys(keys)))
        if any(key not in kept for key in keys):
            return None
        vectors = (
            np.stack([kept[key] for key in keys]) if keys else np.empty((0, self._encoder.fingerprint.dimension))
        )
        nodes = np.fromiter((entry.node_id for entry in entries), np.int64, len(entries))
        return _Names(version, nodes, vectors.astype(np.float32, copy=False))

    def _run(self, entries: Sequence[LexiconEntry]) -> None:
        try:
            self.embed(entries, self._told)
        except CatalogBusy as error:
            log.info("embedding names is put off: %s", error)
        except KnowledgeError as error:
            log.warning("names cannot be embedded: %s", error)

    def _told(self, done: int, _total: int) -> None:
        self._done = done

    def _key(self, text: str) -> str:
        return hashlib.sha256(f"{self._encoder.fingerprint.key}\x00{text}".encode()).hexdigest()


def name_vectors_of(encoder: Encoder | None, catalog: Catalog, settings: SearchSettings) -> NameVectors | None:
    """The `NameVectors` of a library; None if they are switched off or there is no encoder."""
    if encoder is None or settings.similar_names >= 1.0:
        return None
    return NameVectors(encoder, catalog, settings.similar_names)


def _parts(keys: Sequence[str]) -> Iterator[Sequence[str]]:
    for at in range(0, len(keys), _BATCH):
        yield keys[at : at + _BATCH]
