"""Verification of rule evidence against the documents it quotes, and rules as hits."""

from __future__ import annotations

import hashlib
import math
import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Protocol

from wenyuan.core.addresses import parted, placed
from wenyuan.core.errors import msg
from wenyuan.core.model import FOREVER, RULE_IDS, IndexRow, Passage, Source
from wenyuan.core.ports import Hit
from wenyuan.core.rules import BookFault, Evidence
from wenyuan.core.rules.inference import DerivedRule, GraphNode, Support, plain
from wenyuan.core.rules.names import condition_label
from wenyuan.core.rules.questions import Weight
from wenyuan.core.rules.results import derivation, rule_sentence, used_of
from wenyuan.core.rules.schema import Schema, label_in
from wenyuan.core.scoring import support_factor

if TYPE_CHECKING:
    from wenyuan.catalog import Catalog
    from wenyuan.catalog.rules.writes import Cited, Standing

# Rules follow what they quote: an evidence whose words a document no longer has is withdrawn.


@dataclass(frozen=True, slots=True)
class WithdrawnEvidence:
    """How many evidences were withdrawn, and how many rules were retired for lack of evidence."""

    evidences: int = 0
    rules: int = 0


def follow_quotes(catalog: Catalog, source_id: str, today: date) -> WithdrawnEvidence:
    """Re-verify the evidence that cites a source, as far as its documents changed since the last time.

    Evidence is withdrawn when its document was removed, has ended, or no longer has the words. One that is imported
    again after that has been looked at by its author, and stays until the document changes again. Of a document that
    the library has never held nothing is withdrawn: whether another one of the source has the words is noted.
    """
    cited = catalog.cited(source_id)
    if not cited:
        return WithdrawnEvidence()
    key = f"rules/quotes/{source_id}"
    known = catalog.value(key) or {"seq": 0, "day": 0}
    seen = {"seq": catalog.seq(), "day": today.toordinal()}
    lost: dict[str, dict[int, int]] = {}
    verified: dict[int, bool] = {}
    standings = catalog.standings(source_id, cited)
    for uri, standing in standings.items():
        reason, gone = _gone(catalog, source_id, uri, cited[uri], standing, known, seen["day"], verified)
        if gone:
            lost[reason] = {one.row_id: one.statement_id for one in gone}
    loose = [one for uri in cited if uri not in standings for one in cited[uri] if one.quote]
    if loose and catalog.source_changed(source_id, known["seq"]):
        said = said_in(catalog.texts_of(source_id), {one.quote for one in loose}) or frozenset()
        verified |= {one.row_id: one.quote in said for one in loose if one.verified != (one.quote in said)}
    found = WithdrawnEvidence(*catalog.withdraw_evidence(source_id, lost)) if lost else WithdrawnEvidence()
    if verified:
        catalog.mark_quotes(source_id, verified)
    if seen != known:
        catalog.set_value(key, seen)
    return found


def said_in(texts: Iterable[str], quotes: Collection[str]) -> frozenset[str] | None:
    """The quotes that occur in any of the texts; None without any text."""
    missing = {quote: plain(quote) for quote in quotes}
    held = False
    for text in texts:
        held = True
        words = plain(text)
        missing = {quote: form for quote, form in missing.items() if form not in words}
        if not missing:
            break
    return frozenset(quotes) - missing.keys() if held else None


def _gone(
    catalog: Catalog, source_id: str, uri: str, cited: Collection[Cited], standing: Standing,
    known: Mapping[str, int], today: int, verified: dict[int, bool],
) -> tuple[str, list[Cited]]:  # fmt: skip
    """Why evidence is withdrawn, and which; newly verified evidence is added to `verified`."""
    news = standing.since > known["seq"]
    if standing.until == 0:
        return msg("the document {uri} was removed", uri=uri), list(cited) if news else []
    if standing.until < today:
        ended = news or standing.until >= known["day"]
        # A rule that ends with the document, or before, was right as long as it was valid.
        return msg("the document {uri} is no longer in force", uri=uri), [
            c for c in cited if c.until > standing.until
        ] if ended else []
    if not news and all(c.verified or not c.quote for c in cited):
        return "", []
    words = plain(catalog.document_words(source_id, uri) or "")
    said = {c.row_id for c in cited if plain(c.quote) in words}
    verified.update((c.row_id, True) for c in cited if c.row_id in said and c.quote and not c.verified)
    return msg("the document {uri} no longer says it", uri=uri), [
        c for c in cited if c.row_id not in said
    ] if news else []


# Comparison of a book's quotes with held documents: found, not in their source, or undecidable.


_SHOWN = 40  # characters of a quote


class Quotes:
    """Verifies quotes against the documents of their sources.

    A quote is looked for in the document that its evidence names. Where the library does not hold that one, or none is
    named, it is looked for in every document of the source.

    Args:
        usual: By source, the document that a book declares for evidence that names none: it need not be here.
        refuse: What cannot be compared is refused.
    """

    def __init__(self, catalog: Catalog, usual: Mapping[str, str], *, refuse: bool) -> None:
        self._catalog, self._usual, self._refuse = catalog, usual, refuse
        self._held: dict[tuple[str, str], str | None] = {}
        self._elsewhere: dict[str, frozenset[str] | None] = {}
        self._wrong: list[BookFault] = []
        self._open: dict[tuple[str, str], int] = {}

    def compare(self, evidences: Iterable[Evidence]) -> None:
        """Read the documents needed: those that are named, else all of the source, each once."""
        loose: dict[str, set[str]] = {}
        for evidence in evidences:
            if evidence.quote and self._words(evidence) is None:
                loose.setdefault(evidence.source_id, set()).add(evidence.quote)
        for source_id, quotes in loose.items():
            self._elsewhere[source_id] = said_in(self._catalog.texts_of(source_id), quotes)

    def marked(self, evidence: Evidence) -> Evidence | None:
        """The evidence marked as *verified* or not; None if it is refused. Call `compare` first."""
        if not evidence.quote:
            return evidence
        document = evidence.uri.partition("#")[0]
        words = self._words(evidence)
        if words is not None:
            if plain(evidence.quote) in words:
                return replace(evidence, verified=True)
            return self._refuse_one("quote_not_found", "the quote {quote} is not in {where}", evidence, document)
        said = self._elsewhere.get(evidence.source_id)
        if said is not None and evidence.quote in said:
            return replace(evidence, verified=True)
        if said is not None and document != (self._usual.get(evidence.source_id) or None):
            message = "the quote {quote} is not in the source {where}"
            return self._refuse_one("quote_not_found", message, evidence, evidence.source_id)
        where = document or evidence.source_id
        if self._refuse:
            message = "the quote {quote} cannot be compared: the source {where} is not in the library"
            if document:
                message = "the quote {quote} cannot be compared: {where} is not in the library"
            return self._refuse_one("quote_unverified", message, evidence, where)
        message = "the source {where} is not in the library: {count} quotes are marked as not verified"
        if document:
            message = "{where} is not in the library: {count} quotes are marked as not verified"
        self._open[message, where] = self._open.get((message, where), 0) + 1
        return replace(evidence, verified=False)

    def _words(self, evidence: Evidence) -> str | None:
        at = evidence.source_id, evidence.uri.partition("#")[0]
        if at not in self._held:
            text = self._catalog.document_words(*at) if at[1] else None
            self._held[at] = None if text is None else plain(text)
        return self._held[at]

    def _refuse_one(self, code: str, message: str, evidence: Evidence, where: str) -> Evidence | None:
        said = msg(message, quote=repr(evidence.quote[:_SHOWN]), where=where)
        self._wrong.append(BookFault(code, said, evidence.place))
        return None

    def report(self) -> list[BookFault]:
        """The refused quotes, and the number of unverified ones by missing document."""
        notes = [
            BookFault("quote_unverified", msg(message, where=where, count=count), severity="note")
            for (message, where), count in self._open.items()
        ]
        return [*self._wrong, *notes]


# Where the words that a rule rests on are opened: in the passage of the library that has them, else in their source.


_MOST_PASSAGES = 2_000  # of one document or, where that is not here, of its source: beyond, nothing is looked for
_MOST_KEPT = 64  # documents


class Quoted(Protocol):
    """Evidence, from the catalog or from a derivation."""

    @property
    def source_id(self) -> str: ...

    @property
    def uri(self) -> str: ...

    @property
    def clause(self) -> str: ...

    @property
    def quote(self) -> str: ...

    @property
    def verified(self) -> bool: ...

    @property
    def address(self) -> str: ...


Cite = Callable[[Quoted], str]
"""The address at which an evidence is opened."""


def elsewhere(evidence: Quoted) -> str:
    """The address of evidence in a source that the library does not hold."""
    return evidence.address


@dataclass(slots=True)
class _Read:
    """A document prepared for finding quotes.

    Attributes:
        seq: The change as of which it is known to be the same.
        words: Its text in the form that quotes are compared in; ``begins[i]``: where passage i begins in it.
        passages: In order, without their texts.
        found: By clause and quote, the addresses that were found; ``""``: none.
    """

    seq: int
    words: str
    begins: list[int]
    passages: list[Passage]
    found: dict[tuple[str, str], str] = field(default_factory=dict)

    def address(self, clause: str, quote: str) -> str:
        if (clause, quote) not in self.found:
            self.found[clause, quote] = self._sought(clause, plain(quote))
        return self.found[clause, quote]

    def holding(self, quote: str) -> Passage | None:
        """The passage in which a quote, in the form of `plain`, begins."""
        at = self.words.find(quote) if quote else -1
        return self.passages[bisect_right(self.begins, at) - 1] if at >= 0 else None

    def _sought(self, clause: str, quote: str) -> str:
        holding = self.holding(quote)
        if holding is not None:
            return holding.uri
        named = placed(self.passages, clause) if clause else []
        return named[0].uri if named else ""


class CitedPlaces:
    """Finds the passages that contain the quotes of evidence. Thread-safe.

    A document is read once, and again when its source has changed.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._kept: OrderedDict[tuple[str, str | None], _Read] = OrderedDict()
        self._lock = threading.Lock()

    def now(self) -> Cite:
        """Finds addresses in the current library."""
        seq = self._catalog.seq()
        return lambda evidence: self._address(evidence, seq)

    def places(self) -> Callable[[Quoted], int | None]:
        """Finds the numbers of the passages that have quotes in the current library."""
        seq = self._catalog.seq()
        return lambda evidence: self._passage(evidence, seq) if evidence.verified else None

    def _passage(self, evidence: Quoted, seq: int) -> int | None:
        document = parted(evidence.uri)[0]
        for uri in (*filter(None, (document,)), None):
            found = self._read(evidence.source_id, uri, seq).holding(plain(evidence.quote))
            if found is not None:
                return found.passage_id
        return None

    def _address(self, evidence: Quoted, seq: int) -> str:
        document, fragment, _ = parted(evidence.uri)
        anywhere = (None,) if evidence.quote and evidence.verified else ()
        for uri in (*filter(None, (document,)), *anywhere):
            found = self._read(evidence.source_id, uri, seq).address(evidence.clause or fragment, evidence.quote)
            if found:
                return found
        return elsewhere(evidence)

    def _read(self, source_id: str, uri: str | None, seq: int) -> _Read:
        with self._lock:
            known = self._kept.get((source_id, uri))
        if known is not None and (known.seq >= seq or not self._catalog.source_changed(source_id, known.seq)):
            known.seq = max(known.seq, seq)
            return known
        numbers = self._catalog.cited_passages(source_id, uri, _MOST_PASSAGES + 1)
        held = self._catalog.passages(numbers) if len(numbers) <= _MOST_PASSAGES else {}
        passages = [held[number] for number in numbers if number in held]
        forms = [plain(passage.text) for passage in passages]
        begins = [0, *accumulate(map(len, forms))][:-1]
        read = _Read(seq, "".join(forms), begins, [replace(passage, text="") for passage in passages])
        with self._lock:
            self._kept[source_id, uri] = read
            self._kept.move_to_end((source_id, uri))
            while len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
        return read


# A derived rule as a hit: what its score is made of, what it says, and what else there is to tell of it.


Written = tuple[Hit, Passage, Mapping[str, Any]]
_UNVERIFIED, _INHERITED = 0.8, 0.9  # factors of a rule whose condition is not known to be met, and of each step of it
_ANSWER = 0.95  # instead of either, for what is asked for: it must not sink below what is certain, and something else
_MOST_OTHERS = 5  # derivations that are written out besides the first one


@dataclass(frozen=True, slots=True)
class ScoredRule:
    """A rule and the factors of its score.

    Attributes:
        starts: All nodes that were asked about for which it holds, its own first.
        answers: It is what the question asks for.
    """

    rule: DerivedRule
    parts: Mapping[str, float]
    starts: tuple[GraphNode, ...]
    answers: bool

    @classmethod
    def of(cls, rule: DerivedRule, confidence: float, asked: Weight | None) -> ScoredRule:
        """The scored rule for a start node of this confidence; ``asked``: see `parts_of`."""
        return cls(rule, parts_of(rule, confidence, asked), (rule.start,), asked is not None and asked.answers)

    @property
    def score(self) -> float:
        """0..1: the product of the factors."""
        return min(1.0, math.prod(self.parts.values()))

    @property
    def statement_id(self) -> int:
        """The statement of the last step."""
        return self.rule.steps[-1].edge.statement_id

    @property
    def best(self) -> Support:
        """The evidence shown first: the most trusted, preferably with a quote."""
        return max(self.rule.evidences, key=lambda e: (e.trust, bool(e.quote)))


def parts_of(rule: DerivedRule, confidence: float, asked: Weight | None) -> dict[str, float]:
    """The factors of the score; their product is the score, see `core.rules.inference.rule_score`.

    Args:
        asked: Its weight for what the question asks for; None where that says names only.
    """
    weights = [step.edge.weight for step in rule.steps]
    answers = asked is not None and asked.answers
    unverified, inherited = (_ANSWER, _ANSWER) if answers else (_UNVERIFIED, _INHERITED)
    return {
        "link": confidence,
        "weight": sum(weights) / len(weights),
        "support": support_factor(min(step.edge.trust for step in rule.steps)),
        "condition": unverified if rule.state == "unverified" else 1.0,
        "inheritance": inherited**rule.depth,
        **({} if asked is None else {"asked": asked.factor}),
    }


def row_of(scored: ScoredRule, source: Source, language: str) -> IndexRow:
    """The rule as an index row, for filters."""
    number = RULE_IDS - scored.statement_id
    return IndexRow(
        passage_id=number, source_id=source.source_id, document_id=number, heading_text="", text="",
        language=language, collection=source.collection, facets=_facets(scored.rule), valid_from=0,
        valid_until=FOREVER,
    )  # fmt: skip


def _facets(rule: DerivedRule) -> dict[str, str]:
    return {"group": rule.group, "strength": rule.strength}


def write(
    scored: ScoredRule, schema: Schema, language: str, source: Source, stated: Mapping[str, float | int], cite: Cite
) -> Written:
    """The rule as a hit, with its sentence and details.

    Args:
        source: That of its best evidence.
        stated: Parameters that were taken from the question.
        cite: Tells where evidence is opened.
    """
    rule, best = scored.rule, scored.best
    used = used_of(rule, schema, stated)
    sentence, path = rule_sentence(rule, schema, language), derivation(rule, schema, language, used)
    text = sentence if path in sentence else f"{sentence}\n{path}"
    passage_id = RULE_IDS - scored.statement_id
    passage = Passage(
        passage_id=passage_id,
        source_id=best.source_id,
        document_id=passage_id,
        uri=cite(best),
        title=source.title,
        headings=(best.clause,) if best.clause else (),
        text=text,
        sha256=hashlib.sha256(text.encode()).hexdigest(),
        start=0,
        end=len(text),
        language=language,
        trust=best.trust,
        domain=source.domain,
        collection=source.collection,
        effective_from=source.effective_from,
        effective_until=source.effective_until,
        facets=_facets(rule),
    )
    hit = Hit(passage_id=passage_id, score=scored.score, origin="kg_rule", parts=scored.parts)
    return (
        hit,
        passage,
        {
            **_detail(rule, schema, language, path, cite),
            **_besides(scored, schema, language),
            **_answering(scored, used),
        },
    )


def _answering(scored: ScoredRule, used: Mapping[str, float | int]) -> Mapping[str, Any]:
    """Whether it is what the question asks for, and which stated parameters it used."""
    told: dict[str, Any] = {"answers": True} if scored.answers else {}
    return told | ({"parameters_from_question": dict(used)} if used else {})


def _besides(scored: ScoredRule, schema: Schema, language: str) -> Mapping[str, Any]:
    """The other start nodes of the rule, and its other derivations."""
    rule = scored.rule
    told: dict[str, Any] = {}
    if len(scored.starts) > 1:
        told["process_names"] = [node.label(language) for node in scored.starts]
    if rule.others:
        shown = (replace(rule, steps=steps, missing=()) for steps in rule.others[:_MOST_OTHERS])
        told["also"] = len(rule.others)
        told["other_derivations"] = [derivation(other, schema, language) for other in shown]
    return told


def _detail(rule: DerivedRule, schema: Schema, language: str, path: str, cite: Cite) -> Mapping[str, Any]:
    edge = rule.steps[-1].edge

    def conditional(written: str) -> dict[str, str]:
        if not written:
            return {}
        return {"condition": written, "condition_label": condition_label(written, schema.parameters, language)}

    detail: dict[str, Any] = {
        "group": rule.group,
        "relation": rule.relation,
        "name": rule.end.label(language),
        "subject": rule.subject.label(language),
        "process_name": rule.start.label(language),
        "strength": rule.strength,
        "statement_id": edge.statement_id,
        "derivation": path,
        "path": [
            {"from": step.src.label(language), "relation": step.edge.rel, "to": step.edge.end.label(language),
             "statement_id": step.edge.statement_id, **({"inherited": True} if step.inherited else {}),
             **conditional(step.edge.condition)}
            for step in rule.steps
        ],
        "evidence": [_evidence(e, cite) for e in rule.evidences],
    }  # fmt: skip
    detail |= conditional(edge.condition)
    if rule.state != "always":
        detail["condition_state"] = rule.state
    if rule.missing:
        detail["missing_parameters"] = list(rule.missing)
        declared = (schema.parameters.get(name) for name in rule.missing)
        detail["missing_labels"] = [
            label_in(parameter.labels, language, name) if parameter else name
            for name, parameter in zip(rule.missing, declared, strict=True)
        ]
    return detail


def _evidence(support: Support, cite: Cite) -> Mapping[str, Any]:
    shown = {
        "source_id": support.source_id, "uri": cite(support), "clause": support.clause, "quote": support.quote,
        "trust": support.trust, "reviewer": support.reviewer,
    }  # fmt: skip
    verified = {"verified": support.verified} if support.quote else {}
    return {name: value for name, value in shown.items() if value} | verified
