"""Routes of evaluations and feedback."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from wenyuan.core.access import Principal
from wenyuan.core.errors import KnowledgeError, NotFound, msg
from wenyuan.core.evaluation_records import WholeEvaluation
from wenyuan.readers.golden import read_golden
from wenyuan.server.handling import RequestHandler, json_response, missing
from wenyuan.server.openapi import storage_operation
from wenyuan.server.problems import Problem
from wenyuan.server.route import route
from wenyuan.server.routes.audit import queried
from wenyuan.server.routes.registry import allowed_path, operator
from wenyuan.server.routes.rules import uploaded
from wenyuan.service.learning.evaluation import KEPT
from wenyuan.service.library import Library
from wenyuan.wire import evaluations
from wenyuan.wire.feedback import FeedbackAnswerShape, FeedbackRequestShape
from wenyuan.wire.search_requests import checked

# Evaluations over HTTP: how well the library answers, since when, and asking again.
#
# Only operators see them: questions that people ask are nobody else's business. One runs at a time, and can be stopped.


_MOST_DIGITS = 15


class _Stopped(Problem):
    """Raised in an evaluation that was stopped by request."""

    def __init__(self) -> None:
        super().__init__(409, "stopped", "the evaluation was stopped, and nothing of it is kept")


@dataclass(slots=True)
class _Run:
    """A running evaluation; written by its thread, except for `stopping`."""

    name: str
    begun: float = field(default_factory=time.monotonic)
    at: tuple[str, int, int] = ("read", 0, 1)
    stopping: bool = False

    def step(self, *told: Any) -> None:
        self.at = told
        if self.stopping:
            raise _Stopped

    def told(self) -> dict[str, Any]:
        stage, done, total = self.at
        seconds = round(time.monotonic() - self.begun, 3)
        told = {"name": self.name, "stage": stage, "done": done, "total": total, "seconds": seconds}
        return {**told, "stopping": self.stopping}


# --- for the OpenAPI document ---------------------------------------------------------------------------------
_EVALUATION = {
    "type": "object",
    "required": ["evaluation_id", "at", "name", "set_id", "questions", "figures", "made_of"],
    "properties": {
        "evaluation_id": {"type": "integer"},
        "at": {"type": "number", "description": "When it was run, in seconds since 1970."},
        "name": {"type": "string", "description": "Of the file of questions."},
        "set_id": {"type": "string", "description": "Tells whether two were asked the same questions."},
        "questions": {"type": "integer"},
        "figures": {"type": "object"},
        "made_of": {"type": "object", "description": "The state of the library, and what it was asked with."},
    },
}


class EvaluationRoutes:
    """``/v1/evaluations``."""

    def __init__(self, library: Library, handler: RequestHandler) -> None:
        self._library = library
        self._handler = handler
        self._lock = threading.Lock()
        self._run: _Run | None = None
        self._failed: str | None = None
        self._stopped: Mapping[str, Any] | None = None

    @route(
        "GET",
        "/v1/evaluations",
        "registry",
        storage_operation(
            "How well the library answered questions whose answers are known, newest first, and what runs now",
            {
                "type": "object",
                "properties": {
                    "evaluations": {"type": "array", "items": _EVALUATION},
                    "running": {"type": ["object", "null"]},
                    "failed": {"type": ["string", "null"]},
                    "stopped": {"type": ["object", "null"]},
                    "next": {"type": ["integer", "null"]},
                },
                "required": ["evaluations", "running", "failed", "stopped", "next"],
            },
            query=evaluations.EvaluationsQueryShape,
        ),
    )
    async def list(self, request: Request) -> Response:
        operator(request.state.principal)
        return await self._handler.pool.run(lambda: self._list(queried(request, evaluations.EvaluationsQueryShape)))

    @route(
        "POST",
        "/v1/evaluations",
        "registry",
        storage_operation(
            "Ask the questions of a golden file, or of an earlier evaluation again; answers when it is done",
            _EVALUATION,
            statuses=(201,),
            body=evaluations.EvaluateShape,
        ),
    )
    async def begin(self, request: Request) -> Response:
        operator(request.state.principal)
        return await self._handler.work(request, self._begin)

    @route(
        "DELETE",
        "/v1/evaluations/running",
        "registry",
        storage_operation(
            "Stop the evaluation that runs, after the question it is at; nothing of it is kept",
            {"type": "object", "properties": {"stopping": {"type": "boolean"}}},
            statuses=(202,),
        ),
    )
    async def stop(self, request: Request) -> Response:
        """Stop the running evaluation. Uses no thread, since all of them may be busy, one with that evaluation."""
        operator(request.state.principal)
        with self._lock:
            if self._run is None:
                raise missing("running evaluation")
            self._run.stopping = True
            return json_response(self._run.told(), 202)

    @route(
        "GET",
        "/v1/evaluations/{evaluation_id}",
        "registry",
        storage_operation(
            "An evaluation with what became of each question, perhaps beside an earlier one of the same questions",
            _EVALUATION,
            query=evaluations.EvaluationQueryShape,
        ),
    )
    async def show(self, request: Request) -> Response:
        return await self._handler.pool.run(lambda: self._show(request))

    @route(
        "DELETE",
        "/v1/evaluations/{evaluation_id}",
        "registry",
        storage_operation(
            "Forget an evaluation, and its questions where no other has them",
            {"type": "object", "properties": {"evaluation_id": {"type": "integer"}}},
        ),
    )
    async def remove(self, request: Request) -> Response:
        return await self._handler.pool.run(lambda: self._remove(request))

    def _list(self, wanted: evaluations.EvaluationsQueryShape) -> Response:
        found = self._library.evaluations(wanted.limit, wanted.before)
        with self._lock:
            running = None if self._run is None else self._run.told()
            ended = {"failed": self._failed, "stopped": self._stopped}
        following = found[-1].evaluation_id if len(found) == wanted.limit else None
        listed = [evaluations.evaluation_to_wire(one) for one in found]
        return json_response({"evaluations": listed, "running": running, **ended, "next": following})

    def _show(self, request: Request) -> Response:
        wanted = queried(request, evaluations.EvaluationQueryShape)
        whole = self._named(request)
        if wanted.against is None:
            return json_response(evaluations.whole_to_wire(whole))
        former = self._found(wanted.against)
        return json_response(evaluations.whole_to_wire(whole, (former, self._library.compared(whole, former))))

    def _remove(self, request: Request) -> Response:
        whole = self._named(request)
        self._library.remove_evaluation(whole.evaluation.evaluation_id)
        return json_response({"evaluation_id": whole.evaluation.evaluation_id})

    def _named(self, request: Request) -> WholeEvaluation:
        if request.state.principal.agent_id is not None:
            raise missing("evaluation")
        return self._found(_number(request.path_params["evaluation_id"]))

    def _found(self, number: int) -> WholeEvaluation:
        try:
            return self._library.evaluation(number)
        except NotFound as error:
            raise missing("evaluation") from error

    def _begin(self, body: object) -> Response:
        wanted = evaluations.evaluate_from_wire(body)
        if wanted.again is not None:
            number = self._found(wanted.again).evaluation.evaluation_id
            return self._told(f"{number}", lambda step: self._library.evaluate_again(number, step=step))
        if wanted.kept:
            return self._told(KEPT, lambda step: self._library.evaluate_kept(step=step))
        if wanted.file is not None:
            with uploaded(wanted.file) as path:
                return self._asked(path, wanted.file.name)
        real = allowed_path(wanted.path or "", self._handler.settings.ingest_roots)
        return self._asked(real, real.name)

    def _asked(self, path: Path, name: str) -> Response:
        pairs = read_golden(path)
        return self._told(name, lambda step: self._library.evaluate(pairs, name=name, step=step))

    def _told(self, name: str, evaluate: Callable[[Callable[[str, int, int], None]], WholeEvaluation]) -> Response:
        with self._running(name) as run:
            whole = evaluate(run.step)
        return json_response(evaluations.whole_to_wire(whole), 201)

    @contextmanager
    def _running(self, name: str) -> Iterator[_Run]:
        """Context of the only evaluation that may run; its failure or stop stays readable until the next one begins."""
        with self._lock:
            if self._run is not None:
                raise Problem(409, "conflict", msg("an evaluation is under way: {name}", name=self._run.name))
            run = self._run = _Run(name)
            self._failed = self._stopped = None
        try:
            yield run
        except _Stopped:
            self._stopped = run.told()
            raise
        except BaseException as error:
            self._failed = str(error) if isinstance(error, KnowledgeError) else "internal error"
            raise
        finally:
            with self._lock:
                self._run = None


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS else 0


# Feedback: what callers say of answers that they were given.


class FeedbackRoutes:
    """``/v1/feedback``."""

    def __init__(self, library: Library, handler: RequestHandler) -> None:
        self._library = library
        self._handler = handler

    @route(
        "POST",
        "/v1/feedback",
        "search",
        storage_operation(
            "Which parts of an answer are right or wrong",
            FeedbackAnswerShape.model_json_schema(),
            body=FeedbackRequestShape,
        ),
    )
    async def give(self, request: Request) -> Response:
        principal: Principal = request.state.principal
        return await self._handler.work(request, lambda body: self._give(body, principal))

    def _give(self, body: object, principal: Principal) -> Response:
        said = checked(FeedbackRequestShape, body)
        try:
            kept = self._library.give_feedback(said.audit_id, good=said.good, bad=said.bad, principal=principal)
        except NotFound as error:  # of another caller or missing: the same answer
            raise missing("answer") from error
        return json_response({"audit_id": said.audit_id, "kept": dict(kept)})
