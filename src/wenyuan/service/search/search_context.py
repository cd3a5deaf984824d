"""What the stages of one retrieval share: the question as it is understood, where it is searched, and until when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from wenyuan.core.filters import Scope
from wenyuan.core.ports import Deadline
from wenyuan.service.query import Query
from wenyuan.service.search.collection_profile import CollectionProfile
from wenyuan.service.search.question import AnalysedQuery
from wenyuan.service.search.source_selection import Sources


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SearchContext:
    """Made once, before the first stage of a retrieval, and the same for all of them.

    Attributes:
        query: What is asked, by whom and within which bounds.
        questions: The query's text and its other wordings by a language model, analysed; the text is the first.
        scope: Which of the library's own passages may be found: sources, day, filter.
        registry: The sources of the library at its latest change: the index may be behind, rights may not.
        trusts: The trust of each source in scope, by its id.
        profile: What is known of the collection: weight, traits, tuning, curve.
        change: The change of the catalog that the index has reached, which is searched.
        latest: The last change of the catalog.
        deadline: Of the request.
    """

    query: Query
    questions: tuple[AnalysedQuery, ...]
    scope: Scope
    registry: Sources
    trusts: Mapping[str, int]
    profile: CollectionProfile
    change: int
    latest: int
    deadline: Deadline

    @property
    def has_topic(self) -> bool:
        """Whether the request's context may say what it is about: a document or a task."""
        return bool(self.query.source_document_uri or self.query.task_id)
