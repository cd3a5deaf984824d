"""The second search for what the first one lacked: of the library's own sources, within the scope of the first."""

from __future__ import annotations

from dataclasses import replace

from wenyuan.core.ports import Deadline
from wenyuan.service.query import Answer, Query
from wenyuan.service.search.retriever import Retriever
from wenyuan.service.search.wordings import followed


def search_missing(retriever: Retriever, query: Query, first: Answer, deadline: Deadline) -> Answer:
    """An answer united with what is found for the query's follow-up.

    Args:
        first: The answer to the query without it. Where the library changed since, it is asked again.

    Raises:
        KnowledgeError: a required leg failed.
    """
    while True:  # the deadline ends it
        sources = tuple(sorted(first.scope.sources)) if first.scope is not None else ()
        more = retriever.retrieve(
            replace(
                query, text=query.follow_up, follow_up="", sources=sources, rules="none", rewriting=None, partial=True
            ),
            deadline,
        )
        if more.generation == first.generation:
            return followed(query, first, more)
        first = retriever.retrieve(replace(query, follow_up=""), deadline)


def retrieve_whole(retriever: Retriever, query: Query) -> Answer:
    """As `Retriever.retrieve`, for a recorded query that may have a follow-up.

    Raises:
        KnowledgeError: a required leg failed.
    """
    deadline = retriever.deadline()
    first = retriever.retrieve(replace(query, follow_up=""), deadline)
    return search_missing(retriever, query, first, deadline) if query.follow_up else first
