"""Fusion of keyword and vector scores into one ranking, and references to clauses in a query.

Every step adds its part to `Hit.parts`, so that the parts shown add up to the score shown (see `explain`). Only law and
context depend on the other candidates; all other steps give absolute scores:

    fused  = w · vector + (1 − w) · keyword
    score  = min(1, fused · law · (1 + context)), then + identifier (see `reference`; negative where one is missing)
    law    = factor for articles of another statute than that of most candidates (see `core.scoring`)
    context = fit of the passage to the request's topic · leeway (see `Leeway`), at most `CONTEXT_BOUND`

The score shown to callers is the probability computed from it: see `core.scoring.probability`.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from itertools import repeat
from typing import Any

import numpy as np

from wenyuan.core.addresses import folder_of
from wenyuan.core.errors import msg
from wenyuan.core.model import Passage
from wenyuan.core.ports import Hit
from wenyuan.core.scoring.blending import before, explain_blend
from wenyuan.core.scoring.formula import rescale, trust_factor
from wenyuan.core.scoring.probability import Curve, explain_probability, unsettled
from wenyuan.core.text.analysis import identifiers, query_terms, terms
from wenyuan.core.text.folding import fold, has_han
from wenyuan.core.text.literals import CODED, literal_names, stands_in
from wenyuan.core.text.structure import CLAUSE

# Queries that name a place: "Article 13 of the Policy", 《数据安全法》第九条, GB 50300-2013.
#
# Such a query asks for that place, not for texts that resemble it. With L as `Reference.lift`:
#
# * a named clause: score = L + (1 − L) · ½ · score. L is ½ … 1 for a passage that carries the clause in its own
#   headings, the more the better its title is the one that is named; half of that for one that mentions it. A
#   passage that does neither keeps `MISSING` of its score.
# * what may be a clause or a count (第一条短信, part 1 of the film) is one for passages whose title is named, too; of the
#   others nothing is taken.
# * a name without such a form (`core.text.literals`): L is ½ for a passage that has it letter by letter.
# * another identifier (a standard, a code): score = score + L · (1 − score), where L is up to ½ for one that few
#   passages have, and nothing for one that stands everywhere.


MISSING = 0.7
"""What the score of a passage without the named clause is multiplied with."""
_MENTIONED = 0.5
_SAME_TITLE, _TITLE_ALONE = 0.6, 0.95  # least likeness of a title that stands in 《》, and of words that may be one
_IN_MARKS = re.compile("《[^《》]{1,80}》")
_SAYING = re.compile(r"\w")
# What may stand behind a clause: the next one, a particle, a verb of saying. Things that are counted begin otherwise.
_GOES_ON = re.compile(
    "[第的是说讲写如怎有何指为和与及或至到以中里之所对关适解释吗呢吧在属包明列提还规会能可应须需不没无被将修违触处罚执]|什么|内容|内的|原文|全文|条文|要求"
)
_NAMED = re.compile(
    r"(?:[》」』”)]|法|条例|办法|规定|规则|规程|章程|细则|决定|标准|规范|制度|手册|协议|合同|通知|意见|典|违反|按照?|根据|依据?|依照|适用|引用|参照|触犯|符合|[条款项章节编篇])[ ]?\Z"
)
_COUNTERS = "条條款项項节節部"  # hardly anything is counted by 章 or 编
_COUNTED = ("part", "paragraph", "section", "chapter")  # a document's own are mostly capitals
ANY = "#"
"""No passage has this term: its information is the most that any term can have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """The identifiers that a query names, such as a clause or a standard.

    Attributes:
        named: Canonical identifiers (see `text.analysis.identifiers`).
        clause: Whether one of them is a clause.
        doubtful: They may as well be a count of things.
        asked: The query's other terms: words of the title of the document, most likely.
        literals: Names that have no canonical form, looked for letter by letter; then `named` is empty.
    """

    named: tuple[str, ...]
    clause: bool
    asked: frozenset[str]
    doubtful: bool = False
    literals: tuple[str, ...] = ()

    def share(self, passage: Passage) -> float:
        """The share of the named identifiers that a passage is (1 each) or mentions (½ each), 0..1; 1 for a literal."""
        if self.literals:
            text = "\n".join((passage.title, *passage.headings, passage.text))
            return 1.0 if any(stands_in(name, text) for name in self.literals) else 0.0
        clauses, codes = any(":" in n for n in self.named), any(":" not in n for n in self.named)
        heading = "\n".join((passage.title, *passage.headings, _question(passage)))
        own = set(identifiers(heading, clauses=clauses, codes=codes))
        mentioned = own
        if not own.issuperset(self.named):
            mentioned = set(identifiers(passage.text, clauses=clauses, codes=codes))
        shares = [1.0 if n in own else _MENTIONED if n in mentioned else 0.0 for n in self.named]
        return sum(shares) / len(shares)

    def title_fit(self, passage: Passage, information: Mapping[str, float]) -> float:
        """How well the passage's title matches the one asked for: F-measure of shared information, 0..1."""
        title = title_terms(passage)
        both = _sum(self.asked & title, information)
        if both == 0.0:
            return 0.0
        precision, recall = both / _sum(title, information), both / _sum(self.asked, information)
        return 2 * precision * recall / (precision + recall)

    def terms(self) -> frozenset[str]:
        """Terms other than those of titles whose idf `lift` needs."""
        return self.asked.union((ANY,), ("#" + name for name in self.named))

    def lift(self, passage: Passage, information: Mapping[str, float]) -> float:
        """How far a passage is raised for being the named place, 0..1; see the module."""
        share = self.share(passage)
        if share == 0.0:
            return 0.0
        if self.clause:
            fit = self.title_fit(passage, information)
            return 0.0 if self.doubtful and not fit else share * (0.5 + 0.5 * fit)
        if self.literals:
            return 0.5 * share
        most = information.get(ANY, 0.0)
        rarest = max(information.get("#" + name, 0.0) for name in self.named)
        return 0.5 * share * min(1.0, rarest / most) if most else 0.0

    def applied(self, score: float, lift: float) -> float:
        """The score of a passage after this lift."""
        if lift == 0.0:
            return score * MISSING if self.clause and not self.doubtful else score
        if not self.clause:
            return score + lift * (1.0 - score)
        return max(lift + (1.0 - lift) * 0.5 * score, score * MISSING)  # a mention is never worse than none


def missing_place(query: str, reference: Reference | None, passages: Iterable[Passage]) -> str:
    """Why there is no answer to a query that is only a clause, or a clause of a title, if none of the passages has
    it.

    Args:
        reference: What it names; see `reference_of`.
        passages: What was found for it: whatever has the clause in its headings or its text is among them.

    Returns:
        ``""`` where one of them has it, where the query asks for anything else, or where no document has the title.
    """
    if reference is None or not reference.clause or reference.doubtful:
        return ""
    text = unicodedata.normalize("NFKC", query)
    clauses = [match[0].strip() for match in CLAUSE.finditer(text)]
    title = _IN_MARKS.search(text)
    rest = CLAUSE.sub(" ", text.replace(title[0], " ") if title else text)
    if title and _SAYING.search(rest):
        return ""
    found = list(passages)
    if not _SAYING.search(text if title else rest):
        absent = not any(reference.share(passage) for passage in found)
        return msg("no document in scope has the clause {clauses}", clauses=repr(clauses[0])) if absent else ""
    alike = dict.fromkeys(reference.asked.union(*map(title_terms, found)), 1.0)
    least = _SAME_TITLE if title else _TITLE_ALONE
    titled = [passage for passage in found if reference.title_fit(passage, alike) > least]
    if not titled or any(reference.share(passage) for passage in titled):
        return ""
    return msg("the document {title} has no clause {clauses}", title=repr(titled[0].title), clauses=repr(clauses[0]))


def _question(passage: Passage) -> str:
    """The first line of an FAQ entry in a table; it serves as the heading of its answer."""
    question, _, answer = passage.text.partition("\n")
    return question if passage.cell and answer else ""


def reference_of(query: str) -> Reference | None:
    """The identifiers that a query names, or None."""
    named = identifiers(query)
    if not named:
        literals = tuple(name for name in literal_names(query) if CODED.search(name))
        return Reference(named=(), clause=False, asked=frozenset(), literals=literals) if literals else None
    text = unicodedata.normalize("NFKC", query)
    asked = frozenset(t for t in query_terms(CLAUSE.sub(" ", text)) if t[0] not in "#@")
    clauses = frozenset(name for name in named if ":" in name)
    doubtful = bool(clauses) and all(_may_count(match) for match in CLAUSE.finditer(text))
    if doubtful and (others := tuple(name for name in named if name not in clauses)):
        return Reference(named=others, clause=False, asked=asked)
    return Reference(named=named, clause=bool(clauses), asked=asked, doubtful=doubtful)


def _may_count(match: re.Match[str]) -> bool:
    """Whether what looks like a clause may be an ordinal instead: the first message, the second lesson."""
    before, after = match.string[: match.start()], match.string[match.end() :]
    if match["nth"]:
        counter = match["unit"][0] in _COUNTERS
        return (
            counter
            and has_han(after[:1])
            and not _GOES_ON.match(fold(after[:2]))
            and not _NAMED.search(fold(before[-3:]))
        )
    return match["word"] in _COUNTED and after.startswith(" of ")


def title_terms(passage: Passage) -> frozenset[str]:
    """Terms of a passage's title and outer headings without clause numbers; for Chinese, character pairs only."""
    return _title_terms(passage.title)


@lru_cache(maxsize=1_024)  # the candidates of one question are often of a few documents
def _title_terms(title: str) -> frozenset[str]:
    words = CLAUSE.sub(" ", unicodedata.normalize("NFKC", title))
    pairs = (t for t in terms(words) if t[0] not in "#@")
    return frozenset(t for t in pairs if len(t) > 1)


def _sum(chosen: Iterable[str], information: Mapping[str, float]) -> float:
    return math.fsum(
        information.get(t, 0.0) for t in chosen
    )  # the same to the last digit in whatever order sets are read


Array = np.ndarray[Any, Any]

CONTEXT_BOUND = 0.15
"""The most by which the request's context may change a score, relative to it."""
CLIMB = 0.35
"""How far up a passage moves that fits the context wholly: that share of what lies between the first candidate and the tenth."""
_NEAR = 10
_CROWDED, _OPEN = 0.08, 0.12  # what lies between them, as shares of the first one's score
_SAME_DOCUMENT, _SIBLING, _TOPIC = 0.8, 0.13, 0.47
_DOMAIN, _THEME, _THEMES = 0.08, 0.33, 3  # more for a domain costs questions that are not about it over .005 nDCG


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Candidates:
    """Passages found by the legs, best first: arrays of one length n, each (n,).

    Attributes:
        passage_ids: int64.
        keyword: Keyword scores, 0..1; None where there is no such leg.
        cosines: NaN for a passage without a vector; None where there is no such leg.
        vectors: Scores in the vector leg, 0..1; None where there is no such leg.
        labels: Those among them that are of a label, which was nearer than the text; NaN elsewhere.
        shares: What passages keep of their scores for their laws; 1 for all of it.
        wordings: The number of the other wording of the query that fits best; 0 for its own words.
        fused: Of both legs.
        scores: ``fused · shares``.
    """

    passage_ids: Array
    keyword: Array | None
    cosines: Array | None
    vectors: Array | None
    labels: Array
    shares: Array
    wordings: Array
    fused: Array
    scores: Array

    def taken(self, which: Any) -> Candidates:
        """The candidates at these positions, or where a mask is true, in that order."""
        columns = {name: getattr(self, name) for name in _COLUMNS}
        columns |= {name: values[which] for name, values in columns.items() if values is not None}
        return Candidates(**columns)

    def ordered(self) -> Candidates:
        """Sorted by score; ties by passage id, the older first."""
        return self.taken(np.lexsort((self.passage_ids, -self.scores)))

    def hits(self) -> list[Hit]:
        """One `Hit` per passage, with the parts of its score."""
        parts: list[dict[str, float]] = [{} for _ in self.passage_ids]
        for name, column in (("keyword", self.keyword), ("vector", self.vectors)):
            if column is not None:
                for part, value in zip(parts, column.tolist(), strict=True):
                    part[name] = value
        for name, rarely, left_out in (
            ("cosine", self.cosines, math.nan), ("fused", self.fused, math.nan), ("law", self.shares, 1.0),
            ("label", self.labels, math.nan), ("wording", self.wordings, 0),
        ):  # fmt: skip
            if rarely is not None:
                for part, value in zip(parts, rarely.tolist(), strict=True):
                    if value == value and value != left_out:  # noqa: PLR0124  (NaN is not itself)
                        part[name] = float(value)
        numbers, scores = self.passage_ids.tolist(), self.scores.tolist()
        return [
            Hit(number, score, "vector", part) for number, score, part in zip(numbers, scores, parts, strict=True)
        ]


_COLUMNS = tuple(one.name for one in fields(Candidates))

NO_CANDIDATES = Candidates(
    passage_ids=np.zeros(0, np.int64), keyword=None, cosines=None, vectors=None, labels=np.zeros(0), shares=np.zeros(0),
    wordings=np.zeros(0, np.int64), fused=np.zeros(0), scores=np.zeros(0),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Fusion:
    """The linear combination of the scores of the legs.

    Attributes:
        weight: Of the vector leg.
        scale: The encoder's, for `core.scoring.formula.rescale`.
    """

    weight: float
    scale: tuple[float, float]

    def scores(self, keyword: Array | None, vectors: Array | None) -> Array:
        """Fused scores, of one leg alone if there is only one; non-decreasing in `keyword`.

        Raises:
            ValueError: there is no leg at all.
        """
        if keyword is None and vectors is None:
            raise ValueError("no leg is configured: there is nothing to score with")
        if keyword is None or vectors is None:
            return np.asarray(vectors if keyword is None else keyword)
        return self.weight * vectors + (1.0 - self.weight) * keyword

    def candidates(
        self,
        passage_ids: Array,
        keyword: Array | None,
        cosines: Array | None,
        shares: Array | None = None,
        wordings: Array | None = None,
    ) -> Candidates:
        """Candidates from the scores of the legs, best first; the arguments are the attributes of `Candidates`.

        Args:
            shares: None: all keep all of their scores.
            wordings: None: the query's own words fit all best.
        """
        count = len(passage_ids)
        vectors = None if cosines is None else rescale(cosines, self.scale)
        fused = self.scores(keyword, vectors)
        kept = np.ones(count) if shares is None else shares
        return Candidates(
            passage_ids=passage_ids, keyword=keyword, cosines=cosines, vectors=vectors, labels=np.full(count, np.nan),
            shares=kept, wordings=np.zeros(count, np.int64) if wordings is None else wordings, fused=fused,
            scores=fused * kept,
        ).ordered()  # fmt: skip

    def labelled(self, found: Candidates, cosines: Array) -> Candidates:
        """The candidates, with the label's cosine where the label is nearer to the query than the text; best first.

        A title, a question of an FAQ or the opening of a report is often what a query is about, and is lost among the
        words of the passage below it.

        Args:
            cosines: Of labels, (n,); NaN for one that has none.
        """
        near, texts = rescale(cosines, self.scale), np.asarray(found.vectors)
        nearer = near > texts
        vectors = np.where(nearer, near, texts)
        fused = np.where(nearer, self.scores(found.keyword, vectors), found.fused)
        labels = np.where(nearer, near, np.nan)
        return replace(found, vectors=vectors, labels=labels, fused=fused, scores=fused * found.shares).ordered()


def column(scores: Mapping[int, float], passage_ids: Sequence[int], missing: float = math.nan) -> Array:
    """Scores of these passages as an array, (n,) float64; `missing` where there is none."""
    return np.fromiter(map(scores.get, passage_ids, repeat(missing)), np.float64, len(passage_ids))


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """The topic given by the request's context: the document, folder and task that the author works on.

    Attributes:
        document_id: The document named by ``source_document_uri``, when the library has it.
        folder: That document's folder (``""`` for none): its siblings.
        weights: Terms of its title, its path and the task, with their information.
        domains: Where tasks of this kind look first.
        themes: What such tasks speak of: the terms of each theme, all of which a passage must have.
    """

    document_id: int | None = None
    folder: str = ""
    weights: Mapping[str, float]
    domains: frozenset[str] = frozenset()
    themes: tuple[frozenset[str], ...] = ()

    def fit(self, passage: Passage) -> float:
        """How well a passage fits the topic, 0..1."""
        gain = 0.0
        if self.document_id is not None and passage.document_id == self.document_id:
            gain += _SAME_DOCUMENT
        elif self.folder and folder_of(passage.uri) == self.folder:
            gain += _SIBLING
        if passage.domain in self.domains:
            gain += _DOMAIN
        total = sum(self.weights.values())
        if total > 0 or self.themes:
            own = set(terms("\n".join((passage.title, *passage.headings, passage.text))))
            spoken = sum(w for term, w in self.weights.items() if term in own)
            gain += _TOPIC * spoken / total if total > 0 else 0.0
            gain += _THEME * min(_THEMES, sum(theme <= own for theme in self.themes))
        return min(1.0, gain)


@dataclass(frozen=True, slots=True)
class Leeway:
    """How far the context may move the candidates of a question.

    A question that one passage answers well leaves the others far behind, and none of them comes past it for where it is
    asked. The same question about several documents leaves them side by side; about a hundred, in a crowd.

    Attributes:
        climb: What a passage gains at most where something stands out.
        share: What it gains at most in a crowd, relative to its score; 0 where there is none.
    """

    climb: float = 0.0
    share: float = 0.0

    @classmethod
    def among(cls, scores: Sequence[float]) -> Leeway:
        """The leeway among candidates with these scores, best first; with fewer than ten, the sequence is
        extrapolated.
        """
        near = scores[:_NEAR]
        if len(near) < 2 or not near[0]:
            return cls(share=CONTEXT_BOUND)
        between = (near[0] - near[-1]) * (_NEAR - 1) / (len(near) - 1)
        crowded = (_OPEN - between / near[0]) / (_OPEN - _CROWDED)
        return cls(climb=CLIMB * between, share=CONTEXT_BOUND * min(1.0, max(0.0, crowded)))

    def of(self, score: float, fit: float) -> float:
        """What a passage gains, relative to its score: 0 … `CONTEXT_BOUND`."""
        return min(CONTEXT_BOUND, fit * max(self.share, self.climb / score)) if score else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Those parts of a request that affect the order of candidates.

    Attributes:
        information: Inverse document frequency of the terms of `reference` and of the candidates' titles.
    """

    topic: Topic | None = None
    leeway: Leeway = field(default_factory=Leeway)
    reference: Reference | None = None
    information: Mapping[str, float] = field(default_factory=dict)


_TRUSTED = {trust: trust_factor(trust) for trust in range(1, 6)}


def adjusted(hit: Hit, passage: Passage, request: Request) -> Hit:
    """The hit after the adjustments for context and named identifiers; its trust is recorded, and applied last."""
    context = request.leeway.of(hit.score, request.topic.fit(passage)) if request.topic is not None else 0.0
    score = min(1.0, hit.score * (1.0 + context))
    # Where a number in a passage was recognised uncertainly, it is trusted one level less.
    told = passage.recognition
    doubtful = told is not None and any(one.kind != "word" for one in told.uncertain)
    parts = {**hit.parts, "trust": _TRUSTED[max(1, passage.trust - 1) if doubtful else passage.trust]}
    if context:
        parts["context"] = context
    reference = request.reference
    if reference is not None:
        without = score
        score = min(1.0, reference.applied(score, reference.lift(passage, request.information)))
        if score != without:
            parts["identifier"] = score - without
    return Hit(passage_id=hit.passage_id, score=score, origin=hit.origin, parts=parts)


def explain(hit: Hit, weight: float, curve: Curve | None = None) -> str:
    """The hit's score as a sum (for rules and external hits as a product) that a person can check.

    Args:
        weight: Of the vector leg.
        curve: What made scores probabilities, where anything did.
    """
    if "reranker" in hit.parts:
        return f"{explain(before(hit), weight, curve)}; {explain_blend(hit)}"
    if curve is not None and "raw" in hit.parts:
        return f"{explain(unsettled(hit), weight)}; {explain_probability(hit, curve)}"
    p = hit.parts
    if "fused" not in p:
        text = " · ".join(f"{name} {value:.3f}" for name, value in p.items())
        return f"{text}{', at most 1' if math.prod(p.values()) > 1.0 else ''} → {hit.score:.3f}"
    if "vector" in p and "keyword" in p:
        text = f"{weight:.2f}·vector {p['vector']:.3f} + {1 - weight:.2f}·keyword {p['keyword']:.3f}"
    else:
        text = f"keyword {p['keyword']:.3f}" if "keyword" in p else f"vector {p['vector']:.3f}"
    text += f" = {p['fused']:.3f}"
    if "law" in p:
        text += f" · law {p['law']:.3f}"
    if "context" in p:
        text += f" · (1 + context {p['context']:.3f})"
    if p["fused"] * p.get("law", 1.0) * (1.0 + p.get("context", 0.0)) > 1.0:
        text += ", at most 1"
    if "identifier" in p:
        text += f" {'+' if p['identifier'] > 0 else '−'} identifier {abs(p['identifier']):.3f}"
    return f"{text} → {hit.score:.3f}"
