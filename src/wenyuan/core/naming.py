"""One argument that goes by two names: the question, which every call takes as ``query`` beside its own name."""

from __future__ import annotations

from wenyuan.core.errors import Fault, InvalidRequest

__all__ = ["named_twice", "required_query"]


def named_twice(name: str, value: str | None, query: str | None) -> str | None:
    """The text that was given as `name` or as ``query``; None when it was given as neither.

    Raises:
        InvalidRequest: two texts that differ.
    """
    if value is not None and query is not None and value != query:
        why = "and query are given and differ: they mean the same, and one is enough"
        raise InvalidRequest(f"{name} {why}", faults=(Fault(name, why), Fault("query", f"differs from {name}")))
    return query if value is None else value


def required_query(name: str, value: str | None, query: str | None) -> str:
    """As `named_twice`; a text must be given.

    Raises:
        InvalidRequest: two texts that differ, or none.
    """
    found = named_twice(name, value, query)
    if found is None:
        why = "is required, or query"
        raise InvalidRequest(f"{name} {why}", faults=(Fault(name, why),))
    return found
