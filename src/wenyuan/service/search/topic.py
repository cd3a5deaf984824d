"""What a request's context says of what it is about: a document or a path, a task, and the profile of that task."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from wenyuan.core.addresses import folder_of, path_words, readable
from wenyuan.core.filters import Scope
from wenyuan.core.hidden_documents import HiddenDocuments
from wenyuan.core.ports import Deadline, Engine
from wenyuan.core.scoring.fusion import Topic
from wenyuan.core.task_profiles import TaskProfile, profile_of
from wenyuan.core.text.analysis import OWN, query_terms, terms
from wenyuan.service.query import Query
from wenyuan.service.search.change_cache import PerChange, Record

_UNKNOWN = "\ue000"
"""A term that no passage holds: the information of one."""


@dataclass(frozen=True, slots=True)
class TaskTopic:
    """What a task contributes to a ranking. Tasks that contribute the same share cached answers.

    Attributes:
        profile: What an operator has registered for such tasks; None for nothing.
        words: Terms of its id that passages hold.
        strange: How many others there are: they tell nothing, and make what the others tell worth less.
    """

    profile: TaskProfile | None = None
    words: tuple[str, ...] = ()
    strange: int = 0


class TopicReader:
    """Builds the topic of a request from its context; cached data is reloaded after every change of the catalog."""

    def __init__(self, record: Record, engine: Engine) -> None:
        self._record, self._engine = record, engine
        self._profiles = PerChange(record.profiles_at)

    def told(self, task_id: str, change: int, deadline: Deadline, uncounted: HiddenDocuments | None) -> TaskTopic:
        """What a task id contributes, at the change that the index has reached.

        Args:
            uncounted: See `Scope.uncounted`.
        """
        profile = profile_of(self._profiles.at(change, deadline), task_id) if task_id else None
        if profile is not None or not task_id:
            return TaskTopic(profile=profile)
        words = set(_words(path_words(task_id)))
        found = self._engine.information([*sorted(words), _UNKNOWN], uncounted=uncounted)
        held = tuple(sorted(word for word in words if found[word] != found[_UNKNOWN]))
        return TaskTopic(words=held, strange=len(words) - len(held))

    def of(self, query: Query, scope: Scope, change: int, deadline: Deadline) -> Topic:
        """The topic that a request's context names.

        A document that the caller may not see is looked up nowhere: it tells what one that does not exist tells.
        """
        uri = readable(query.source_document_uri.partition("#")[0])
        known = self._record.document_by_uri(uri, query.seen, deadline) if uri else None
        told = self.told(query.task_id, change, deadline, scope.uncounted)
        profile = told.profile
        spoken = path_words(query.task_id) if profile is None else ""
        words = " ".join((known[2] if known else "", path_words(uri) if uri else "", spoken))
        asked = set(terms(query.text))
        return Topic(
            document_id=known[0] if known else None,
            folder=folder_of(uri) if known else "",
            weights=self._engine.information(
                [word for word in _words(words) if word not in asked], uncounted=scope.uncounted
            ),
            domains=frozenset(profile.domains if profile else ()),
            themes=_themes(profile, asked),
        )


def _themes(profile: TaskProfile | None, asked: Set[str]) -> tuple[frozenset[str], ...]:
    """The profile's terms that are not in the question; those that are already count as the question's own words."""
    made = (frozenset(query_terms(term)) for term in (profile.terms if profile else ()))
    plain = (frozenset(word for word in theme if not word.startswith(OWN)) for theme in made)
    return tuple(theme for theme in plain if theme and not theme <= asked)


def _words(text: str) -> list[str]:
    """The terms of a text that are specific enough to tell a topic."""
    return [term for term in terms(text) if len(term) > 1]
