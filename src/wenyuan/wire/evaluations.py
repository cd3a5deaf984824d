"""The JSON shapes of evaluations (``/v1/evaluations``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any

from pydantic import Field

from wenyuan.contract.bodies import QueryString, Strict
from wenyuan.contract.fields import Text
from wenyuan.core.errors import Fault, InvalidRequest, msg
from wenyuan.core.evaluation_records import Evaluation, WholeEvaluation
from wenyuan.core.scoring.evaluation import PairedDifference
from wenyuan.wire.files import FileShape
from wenyuan.wire.rules import Number
from wenyuan.wire.search_requests import checked


class EvaluateShape(Strict):
    """Which questions are to be asked: those of a golden file, or of an earlier evaluation."""

    path: Text | None = Field(None, description="Absolute, below a folder of the setting server.ingest_roots.")
    file: FileShape | None = Field(None, description="A table of questions and addresses.")
    again: Number | None = Field(None, description="The number of an evaluation whose questions are asked again.")
    kept: bool = Field(False, description="The golden questions that are kept in the library.")


class EvaluationsQueryShape(QueryString):
    """Which page of the list is wanted: evaluations with numbers below ``before``."""

    limit: Annotated[int, Field(ge=1, le=200)] = 50
    before: Number | None = None


class EvaluationQueryShape(QueryString):
    """With which other one it is to be compared."""

    against: Number | None = Field(None, description="The number of an evaluation of the same questions.")


def evaluate_from_wire(payload: object) -> EvaluateShape:
    """Parse an evaluation request; InvalidRequest lists every fault."""
    body = checked(EvaluateShape, payload)
    if sum(one is not None for one in (body.path, body.file, body.again)) + body.kept != 1:
        message = "is required, or path, or again; one of them"
        raise InvalidRequest(msg("file {message}", message=message), faults=(Fault("file", message),))
    return body


def evaluation_to_wire(evaluation: Evaluation) -> dict[str, Any]:
    """An evaluation without its questions."""
    told = asdict(evaluation)
    return told | {"examples": [{"address": address, "where": where} for address, where in evaluation.examples]}


def whole_to_wire(
    whole: WholeEvaluation, against: tuple[WholeEvaluation, PairedDifference] | None = None
) -> dict[str, Any]:
    """An evaluation with the result of each question and, given `against`, the differences to that evaluation."""
    asked: list[Mapping[str, Any]] = [asdict(one) for one in whole.asked]
    told = evaluation_to_wire(whole.evaluation) | {"in_vain": [asdict(one) for one in whole.in_vain]}
    if against is None:
        return told | {"asked": asked, "against": None}
    former, change = against
    before = {one.question: one for one in former.asked}
    asked = [{**one, "before": {n: getattr(before[one["question"]], n) for n in ("ndcg", "rank")}} for one in asked]
    return told | {"asked": asked, "against": {**evaluation_to_wire(former.evaluation), "change": asdict(change)}}
