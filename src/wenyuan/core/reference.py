"""Queries that name a place: "Article 13 of the Policy", 《数据安全法》第九条, GB 50300-2013.

Such a query asks for that place, not for texts that resemble it. With L as `Reference.lift`:

* a named clause: score = L + (1 − L) · ½ · score. L is ½ … 1 for a passage that carries the clause in its own
  headings, the more the better its title is the one that is named; half of that for one that mentions it. A
  passage that does neither keeps `MISSING` of its score.
* what may be a clause or a count (第一条短信, part 1 of the film) is one for passages whose title is named, too; of the
  others nothing is taken.
* another identifier (a standard, a code): score = score + L · (1 − score), where L is up to ½ for one that few
  passages have, and nothing for one that stands everywhere.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from wenyuan.core.model import Passage
from wenyuan.core.structure import CLAUSE
from wenyuan.core.text import fold, has_han, identifiers, query_terms, terms

__all__ = ["Reference", "missing_place", "reference_of", "title_terms"]

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
    "(?:[》」』”)]|法|条例|办法|规定|规则|规程|章程|细则|决定|标准|规范|制度|手册|协议|合同|通知|意见|典|违反|按照?|根据|依据?|依照|适用|引用|参照|触犯|符合|[条款项章节编篇])[ ]?$"
)
_COUNTERS = "条條款项項节節部"  # hardly anything is counted by 章 or 编
_COUNTED = ("part", "paragraph", "section", "chapter")  # a document's own are mostly capitals
ANY = "#"
"""No passage has this term: its information is the most that any term can have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """What a query names.

    Attributes:
        named: Canonical identifiers (see `text.identifiers`), at least one.
        clause: Whether one of them is a clause.
        doubtful: They may as well be a count of things.
        asked: The query's other terms: words of the title of the document, most likely.
    """

    named: tuple[str, ...]
    clause: bool
    asked: frozenset[str]
    doubtful: bool = False

    def share(self, passage: Passage) -> float:
        """How much of what is named the passage is (1 each) or mentions (½ each), 0..1."""
        own = set(identifiers("\n".join((passage.title, *passage.headings, _question(passage)))))
        mentioned = own if own.issuperset(self.named) else set(identifiers(passage.text))
        shares = [1.0 if n in own else _MENTIONED if n in mentioned else 0.0 for n in self.named]
        return sum(shares) / len(shares)

    def title_fit(self, passage: Passage, information: Mapping[str, float]) -> float:
        """How well the passage's title is the one asked for: F-measure of shared information, 0..1."""
        title = title_terms(passage)
        both = _sum(self.asked & title, information)
        if both == 0.0:
            return 0.0
        precision, recall = both / _sum(title, information), both / _sum(self.asked, information)
        return 2 * precision * recall / (precision + recall)

    def terms(self) -> frozenset[str]:
        """Terms whose information `lift` needs, beside those of titles."""
        return self.asked.union((ANY,), ("#" + name for name in self.named))

    def lift(self, passage: Passage, information: Mapping[str, float]) -> float:
        """How far a passage is lifted, 0..1; see the module."""
        share = self.share(passage)
        if share == 0.0:
            return 0.0
        if self.clause:
            fit = self.title_fit(passage, information)
            return 0.0 if self.doubtful and not fit else share * (0.5 + 0.5 * fit)
        most = information.get(ANY, 0.0)
        rarest = max(information.get("#" + name, 0.0) for name in self.named)
        return 0.5 * share * min(1.0, rarest / most) if most else 0.0

    def applied(self, score: float, lift: float) -> float:
        """The score of a passage with this lift."""
        if lift == 0.0:
            return score * MISSING if self.clause and not self.doubtful else score
        if not self.clause:
            return score + lift * (1.0 - score)
        return max(lift + (1.0 - lift) * 0.5 * score, score * MISSING)  # a mention is never worse than none


def missing_place(query: str, passages: Iterable[Passage]) -> str:
    """Why a query has no answer that is nothing but a clause, or a clause of a title, which none of the passages has.

    Args:
        passages: What was found for it: whatever has the clause in its headings or its text is among them.

    Returns:
        ``""`` where one of them has it, where the query asks for anything else, or where no document has the title.
    """
    reference = reference_of(query)
    text = unicodedata.normalize("NFKC", query)
    clauses = [match[0].strip() for match in CLAUSE.finditer(text)]
    title = _IN_MARKS.search(text)
    rest = CLAUSE.sub(" ", text.replace(title[0], " ") if title else text)
    if reference is None or not reference.clause or reference.doubtful or (title and _SAYING.search(rest)):
        return ""
    found = list(passages)
    if not _SAYING.search(text if title else rest):
        absent = not any(reference.share(passage) for passage in found)
        return f"no document in scope has the clause {clauses[0]!r}" if absent else ""
    alike = dict.fromkeys(reference.asked.union(*map(title_terms, found)), 1.0)
    least = _SAME_TITLE if title else _TITLE_ALONE
    titled = [passage for passage in found if reference.title_fit(passage, alike) > least]
    if not titled or any(reference.share(passage) for passage in titled):
        return ""
    return f"the document {titled[0].title!r} has no clause {clauses[0]!r}"


def _question(passage: Passage) -> str:
    """The first line of an FAQ entry in a table: it stands over the answer as a heading does over a text."""
    question, _, answer = passage.text.partition("\n")
    return question if passage.cell and answer else ""


def reference_of(query: str) -> Reference | None:
    """What a query names, or None."""
    named = identifiers(query)
    if not named:
        return None
    text = unicodedata.normalize("NFKC", query)
    asked = frozenset(t for t in query_terms(CLAUSE.sub(" ", text)) if t[0] not in "#@")
    clauses = frozenset(name for name in named if ":" in name)
    doubtful = bool(clauses) and all(_may_count(match) for match in CLAUSE.finditer(text))
    if doubtful and (others := tuple(name for name in named if name not in clauses)):
        return Reference(named=others, clause=False, asked=asked)
    return Reference(named=named, clause=bool(clauses), asked=asked, doubtful=doubtful)


def _may_count(match: re.Match[str]) -> bool:
    """Whether what looks like a clause may be one of several things: the first message, the second lesson."""
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
    """Terms of a passage's title and outer headings, clause numbers left out; pairs of characters only."""
    return _title_terms(passage.title)


@lru_cache(maxsize=1_024)  # the candidates of one question are often of a few documents
def _title_terms(title: str) -> frozenset[str]:
    words = CLAUSE.sub(" ", unicodedata.normalize("NFKC", title))
    pairs = (t for t in terms(words) if t[0] not in "#@")
    return frozenset(t for t in pairs if len(t) > 1)


def _sum(chosen: Iterable[str], information: Mapping[str, float]) -> float:
    return sum(information.get(t, 0.0) for t in chosen)
