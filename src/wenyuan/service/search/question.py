"""The question, analysed once for all legs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from wenyuan.core.ports import Deadline
from wenyuan.core.scoring.fusion import Reference, reference_of
from wenyuan.core.scoring.spelling import respelled
from wenyuan.core.text.introductions import without_introduction
from wenyuan.core.text.wordings import SynonymTable, Wordings
from wenyuan.service.search.change_cache import Record
from wenyuan.service.search.general_texts import script_of


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysedQuery:
    """A query after analysis, shared by all stages of a retrieval.

    Attributes:
        text: As it was asked.
        subject: Without introduction and thanks (see `core.text.introductions`): what is embedded and looked for.
        meant: What stands for stems of it that are spelled wrongly.
        wordings: Its terms, and those of its other wordings by the library's synonyms.
        script: ``han`` or ``latin``; see `script_of`.
        names: Whether it has identifiers (see `core.text.analysis.identifiers`): a clause, a standard, a code.
        reference: The place that it names; None where it names none.
    """

    text: str
    subject: str
    meant: Mapping[str, str]
    wordings: Wordings
    script: str
    names: bool
    reference: Reference | None


def analysed(
    text: str, synonyms: SynonymTable, information: Callable[[Sequence[str]], Mapping[str, float]] | None = None
) -> AnalysedQuery:
    """Analyse a query, with the library's synonyms.

    Args:
        information: Inverse document frequency by term, by which words are told that are spelled wrongly.
    """
    subject = without_introduction(text)
    wordings = synonyms.wordings(subject)
    meant = respelled(wordings.words, information) if information is not None else {}
    if meant:
        wordings = wordings.with_terms(meant)
    names = any(word.startswith("#") for word in wordings.words)
    return AnalysedQuery(
        text=text,
        subject=subject,
        meant=meant,
        wordings=wordings,
        script=script_of(text),
        names=names,
        reference=reference_of(text),
    )


class SynonymReader:
    """Reads the synonym table of a record; it is rebuilt only when its version changes."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._version = 0
        self._table = SynonymTable()

    def __call__(self, change: int, deadline: Deadline | None) -> SynonymTable:
        """The synonyms in effect at a change; not thread-safe."""
        version = self._record.synonyms_version(change, deadline)
        if version != self._version:
            self._table = SynonymTable(self._record.synonyms_at(change, deadline))
            self._version = version
        return self._table
