"""The JSON shapes of keeping synonyms (``/v1/synonyms``)."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from wenyuan.contract.bodies import Strict
from wenyuan.contract.fields import Text
from wenyuan.core.errors import Fault, InvalidRequest, listed
from wenyuan.core.text.synonyms import MOST_CHARS, MOST_SYNONYMS, Synonym, parse_synonym
from wenyuan.wire.rules import QueueQueryShape
from wenyuan.wire.search_requests import checked


class SynonymsQueryShape(QueueQueryShape):
    """Which page of the table is wanted, and of which entries: those that hold a text on one of their sides."""

    containing: Annotated[Text, Field(max_length=MOST_CHARS)] = ""


class _Entries(Strict):
    synonyms: Annotated[list[dict[str, object]], Field(min_length=1, max_length=MOST_SYNONYMS)]


def synonyms_from_wire(body: object) -> list[Synonym]:
    """The synonyms in a body, which is a single one or a list; InvalidRequest lists every fault of each."""
    if isinstance(body, dict) and "synonyms" not in body:
        return [parse_synonym(body)]
    entries: list[Synonym] = []
    faults: list[Fault] = []
    for at, value in enumerate(checked(_Entries, body).synonyms):
        try:
            entries.append(parse_synonym(value))
        except InvalidRequest as error:
            faults += [Fault(f"synonyms[{at}].{fault.path}", fault.message) for fault in error.faults]
    if faults:
        told = listed(faults[:10])
        raise InvalidRequest(told, faults=tuple(faults[:100]))
    return entries
