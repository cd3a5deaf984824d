"""One correct implementation of the contract, as small as can be, and many that are wrong in one way each.

Each liar overrides one method of `Reference`. `serving` puts any of them behind a loopback URL.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import re
import ssl
import time
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from listening import listening
from wenyuan.conformance.documents import documents
from wenyuan.core.model import Fragment, RetrievalRequest, RetrievalResponse

FAIL_HEADER = "X-Fail"
FAIL_VARIABLE = "REFERENCE_FAILS"
MAX_BODY = 1024 * 1024
_TOKEN = re.compile(r"[a-z0-9]+|[\u3400-\u9fff]+")


class Refusal(Exception):
    """The request is malformed."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


class Broken(Exception):
    """Something inside does not work."""


def tokens(text: str) -> set[str]:
    """Latin words and runs of two CJK characters."""
    found = set()
    for run in _TOKEN.findall(unicodedata.normalize("NFKC", text).lower()):
        found |= {run} if run.isascii() else {"".join(pair) for pair in itertools.pairwise(run)}
    return found


class Reference:
    """Keeps the contract: scores are the share of the query's tokens that a document holds."""

    max_body = MAX_BODY

    def __init__(self) -> None:
        self.library = {name: (text, tokens(text)) for name, text in documents().items()}

    # What a well-formed request is answered with.

    def search(self, request: dict[str, Any]) -> list[dict[str, Any]]:
        wanted = tokens(request["query"])
        scored = [(len(wanted & held) / len(wanted), name) for name, (_, held) in self.library.items() if wanted]
        best = sorted((s for s in scored if s[0] > 0), key=lambda s: (-s[0], s[1]))
        return [self.fragment(name, score) for score, name in best]

    def fragment(self, name: str, score: float) -> dict[str, Any]:
        return {
            "source": f"file:///kb/{name}",
            "content": self.library[name][0],
            "retrieval_score": score,
            "metadata": {"title": name},
        }

    def success(self, request: dict[str, Any]) -> dict[str, Any]:
        return {"status": "SUCCESS", "fragments": self.search(request)[: request["max_results"]]}

    def failure(self, error: Exception) -> dict[str, Any]:
        return {"status": "FAILED", "fragments": [], "error_message": str(error)}

    def answer(self, request: dict[str, Any], failing: bool = False) -> dict[str, Any]:
        try:
            if failing:
                raise Broken("engine keyword: connection refused")
            return self.success(request)
        except Broken as error:
            return self.failure(error)

    # What a malformed one is answered with.

    def check(self, request: Any) -> dict[str, Any]:
        if not isinstance(request, dict):
            raise Refusal("the body must be an object")
        query, limit, context = (request.get(k) for k in ("query", "max_results", "context"))
        if not isinstance(query, str) or not query.strip():
            raise Refusal("query must be a string that is not blank")
        if any(0xD800 <= ord(c) <= 0xDFFF for c in query):
            raise Refusal("query must be text")
        if type(limit) is not int or not 1 <= limit <= 100:
            raise Refusal("max_results must be an integer from 1 to 100")
        if context is not None and not isinstance(context, dict):
            raise Refusal("context must be an object")
        return request

    def parse(self, body: bytes, content_type: str) -> Any:
        if content_type.partition(";")[0].strip().lower() != "application/json":
            raise Refusal("Content-Type must be application/json", 415)
        try:
            return json.loads(body.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_no_constant)
        except (ValueError, RecursionError) as error:
            raise Refusal("the body is no JSON") from error

    def refusal(self, error: Refusal) -> tuple[int, str, bytes]:
        problem = {"status": error.status, "code": "invalid_request", "detail": str(error)}
        return error.status, "application/problem+json", json.dumps(problem).encode()

    def respond(self, body: bytes, content_type: str, failing: bool) -> tuple[int, str, bytes]:
        try:
            request = self.check(self.parse(body, content_type))
        except Refusal as error:
            return self.refusal(error)
        return 200, "application/json", json.dumps(self.answer(request, failing), ensure_ascii=False).encode()


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) < len(pairs):
        raise ValueError("duplicate keys")
    return dict(pairs)


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


@contextmanager
def serving(
    implementation: Reference,
    paths: tuple[str, ...] = ("/v1/retrieve_fragments",),
    tls: ssl.SSLContext | None = None,
) -> Iterator[str]:
    """Gives the URL, without a path, of a server that ends with the block; it begins with ``http`` with TLS, too."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            if self.path not in paths:
                self.rfile.read(length)
                return self.reply(404, "application/json", b'{"detail": "no such path"}')
            if length > implementation.max_body:  # unread, as a careful server leaves it
                return self.reply(*implementation.refusal(Refusal("the body is too large", 413)))
            body = self.rfile.read(length)
            failing = self.headers.get(FAIL_HEADER) is not None or FAIL_VARIABLE in os.environ
            return self.reply(*implementation.respond(body, self.headers.get("Content-Type", ""), failing))

        def reply(self, status: int, content_type: str, content: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 64  # with the default of 5, the ninth caller waits a second for its retry

    server = Server(("127.0.0.1", 0), Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    with listening(server) as url:
        yield url


# ---- liars ----------------------------------------------------------------------------------------------------


class FailureShownAsEmpty(Reference):
    """What the contract's first version allowed, and its review forbade."""

    def failure(self, error):
        return {"status": "SUCCESS", "fragments": []}


class EmptyShownAsFailed(Reference):
    def success(self, request):
        answer = super().success(request)
        return answer if answer["fragments"] else self.failure(Broken("nothing found"))


class FailedWithoutReason(Reference):
    def failure(self, error):
        return {"status": "FAILED", "fragments": []}


class FailedWithBlankReason(Reference):
    def failure(self, error):
        return {"status": "FAILED", "fragments": [], "error_message": "  "}


class FailedWithFragments(Reference):
    def failure(self, error):
        return super().failure(error) | {"fragments": [self.fragment("panda-zh.md", 0.5)]}


class FailureIsPlainText(Reference):
    def answer(self, request, failing=False):
        if failing:
            raise Broken("crash")
        return super().answer(request)

    def respond(self, body, content_type, failing):
        try:
            return super().respond(body, content_type, failing)
        except Broken:
            return 500, "text/plain", b"Internal Server Error"


class Says422(Reference):
    def refusal(self, error):
        _, content_type, body = super().refusal(error)
        return 422, content_type, body


class RefusesAsResponse(Reference):
    def refusal(self, error):
        body = {"status": "FAILED", "fragments": [], "error_message": str(error)}
        return error.status, "application/json", json.dumps(body).encode()


class RefusesInPlainText(Reference):
    def refusal(self, error):
        return error.status, "text/plain", str(error).encode()


class Coerces(Reference):
    def check(self, request):
        if isinstance(request, dict) and "query" in request and "max_results" in request:
            try:
                request = request | {"query": str(request["query"]), "max_results": int(request["max_results"])}
            except (ValueError, TypeError, OverflowError) as error:
                raise Refusal("max_results must be an integer") from error
        return super().check(request)


class CoercesEvenWords(Coerces):
    """Takes whatever it does not understand for a default."""

    def check(self, request):
        if isinstance(request, dict) and isinstance(request.get("max_results"), str):
            request = request | {"max_results": 10}
        return super().check(request)


class DefaultsEverything(Reference):
    """Answers anything that Python's parser takes, with defaults for what is missing or wrong."""

    def parse(self, body, content_type):
        try:
            return json.loads(body.decode("utf-8-sig"))
        except ValueError as error:
            raise Refusal("the body is no JSON") from error

    def check(self, request):
        request = request if isinstance(request, dict) else {}
        limit = request.get("max_results")
        return {
            "query": request.get("query") if isinstance(request.get("query"), str) else "pool",
            "max_results": limit if type(limit) is int and limit > 0 else 10,
        }


class NeverRefuses(DefaultsEverything):
    def parse(self, body, content_type):
        try:
            return super().parse(body, content_type)
        except Refusal:
            return {}


class TakesAnySize(Reference):
    max_body = 1 << 40


class CrashesOnFullWidth(Reference):
    """Does not fold the forms of letters, and stumbles over what it does not know."""

    def answer(self, request, failing=False):
        return super().answer(request, failing or "ｐｏｏｌ" in request["query"])


class CrashesOnBadNumbers(Reference):
    """A framework that accepts NaN and cannot write it down in its own error."""

    def respond(self, body, content_type, failing):
        if b"NaN" in body or b"Infinity" in body or b"1e400" in body:
            return 500, "text/plain", b"Internal Server Error"
        return super().respond(body, content_type, failing)


class CrashesOnEverythingOdd(Reference):
    """No validation at all: whatever is malformed, unusual or too deep is a plain-text 500."""

    def respond(self, body, content_type, failing):
        odd = b"\\u0000" in body or b"[[[[" in body or b"\xef\xbb\xbf" in body or b'max_result"' in body
        if odd or b'"context": null' in body or b"1000000000" in body:
            return 500, "text/plain", b"Internal Server Error"
        return super().respond(body, content_type, failing)


class Unsorted(Reference):
    def success(self, request):
        answer = super().success(request)
        return answer | {"fragments": answer["fragments"][::-1]}


class ScoresAboveOne(Reference):
    def fragment(self, name, score):
        return super().fragment(name, score * 1.7 / 0.625)


class ScoresNaN(Reference):
    def fragment(self, name, score):
        return super().fragment(name, math.nan)


class ScoresAsText(Reference):
    def fragment(self, name, score):
        return super().fragment(name, score) | {"retrieval_score": f"{score:.2f}"}


class IgnoresTheLimit(Reference):
    def success(self, request):
        return {"status": "SUCCESS", "fragments": self.search(request)}


class OneTooMany(Reference):
    def success(self, request):
        return super().success(request | {"max_results": request["max_results"] + 1})


class OneTooFew(Reference):
    def success(self, request):
        return {"status": "SUCCESS", "fragments": self.search(request)[: request["max_results"] - 1]}


class AlwaysFindsSomething(Reference):
    """The nearest neighbours of anything, without a floor."""

    def search(self, request):
        found = super().search(request)
        rest = [name for name in self.library if all(f["metadata"]["title"] != name for f in found)]
        return found + [self.fragment(name, 0.01) for name in rest]


class EnglishOnly(Reference):
    """Drops every character that is not ASCII."""

    def search(self, request):
        return super().search(request | {"query": re.sub(r"[^\x00-\x7f]", " ", request["query"])})


class CharacterSoup(Reference):
    """Takes any Chinese for a match of any Chinese."""

    def search(self, request):
        if request["query"].isascii() or tokens(request["query"]) & tokens("database"):
            return super().search(request)
        return [self.fragment(name, 0.3) for name in self.library if name.endswith("zh.md")]


class FailsWithTwo(Reference):
    """Says FAILED and has fragments all the same."""

    def success(self, request):
        answer = super().success(request)
        return answer | ({"status": "FAILED", "error_message": "x"} if request["max_results"] == 2 else {})


class GenerousInContext(Reference):
    def success(self, request):
        context = request.get("context") or {}
        return super().success(request | ({"max_results": 6} if "task_id" in context else {}))


class RepeatsTheBest(Reference):
    def success(self, request):
        answer = super().success(request)
        return answer | {"fragments": answer["fragments"][:1] * len(answer["fragments"])}


class BlankContent(Reference):
    def fragment(self, name, score):
        return super().fragment(name, score) | {"content": " \u3000"}


class MakesThingsUp(Reference):
    def fragment(self, name, score):
        return super().fragment(name, score) | {"source": f"urn:kb:{name}", "content": "Lorem ipsum dolor sit amet."}


class SaysTheWrongThing(Reference):
    def fragment(self, name, score):
        other = "panda-zh.md" if name == "foghorn-en.md" else name
        return super().fragment(name, score) | {"content": self.library[other][0]}


class SourceIsAPath(Reference):
    def fragment(self, name, score):
        return super().fragment(name, score) | {"source": f"C:\\kb\\{name}"}


class SourceHasASpace(Reference):
    def fragment(self, name, score):
        return super().fragment(name, score) | {"source": f"file:///my kb/{name}"}


class NoContent(Reference):
    def fragment(self, name, score):
        whole = super().fragment(name, score)
        del whole["content"]
        return whole


class ErrorBesideSuccess(Reference):
    def success(self, request):
        return super().success(request) | {"error_message": "one shard did not answer"}


class StatusInLowerCase(Reference):
    def success(self, request):
        return super().success(request) | {"status": "success"}


class FragmentsByName(Reference):
    def success(self, request):
        answer = super().success(request)
        return answer | {"fragments": {f["source"]: f for f in answer["fragments"]}}


class ErrorMessageIsACode(Reference):
    def success(self, request):
        return super().success(request) | {"error_message": 0}


class FragmentsAreTexts(Reference):
    def fragment(self, name, score):
        return self.library[name][0]


class OddMembers(Reference):
    def fragment(self, name, score):
        return super().fragment(name, score) | {"source": 7, "metadata": name}


class NotUtf8(Reference):
    def respond(self, body, content_type, failing):
        status, content_type, content = super().respond(body, content_type, failing)
        return status, content_type, content.decode().encode("gb18030")


class RefusesContext(Reference):
    def check(self, request):
        if isinstance(request, dict) and "context" in request:
            raise Refusal("unknown member context")
        return super().check(request)


class RefusesUnknownContext(Reference):
    def check(self, request):
        context = request.get("context") if isinstance(request, dict) else None
        if isinstance(context, dict) and set(context) - {"source_document_uri", "task_id"}:
            raise Refusal("unknown key in context")
        return super().check(request)


class FailsOnContext(Reference):
    def answer(self, request, failing=False):
        return super().answer(request, failing or bool(request.get("context")))


class RemembersCalls(Reference):
    """Every other answer is turned round: scores and all."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = itertools.count()

    def success(self, request):
        answer = super().success(request)
        lower = 0.9 if next(self.calls) % 2 else 1.0
        return answer | {
            "fragments": [f | {"retrieval_score": f["retrieval_score"] * lower} for f in answer["fragments"]]
        }


class SharesItsRequest(Reference):
    """Keeps the request on the object, where another thread overwrites it."""

    def success(self, request):
        self.request = request
        time.sleep(0.003)
        return super().success(self.request)


class TellsSecrets(Reference):
    def failure(self, error):
        message = "cannot connect to postgresql://kb:hunter2@db.internal:5432/kb"
        return {"status": "FAILED", "fragments": [], "error_message": message}


class ShowsTheStack(Reference):
    def refusal(self, error):
        problem = {"detail": 'Traceback (most recent call last):\n  File "/srv/app.py", line 3, in check'}
        return error.status, "application/json", json.dumps(problem).encode()


class NeverRecovers(Reference):
    """Caches its failure."""

    def __init__(self) -> None:
        super().__init__()
        self.down = False

    def answer(self, request, failing=False):
        self.down = self.down or failing
        return super().answer(request, self.down)


# ---- Python objects -------------------------------------------------------------------------------------------


class PythonReference:
    """Takes the shared request value, gives the shared response value."""

    def __init__(self) -> None:
        self.inner = Reference()

    def failing(self) -> bool:
        return FAIL_VARIABLE in os.environ

    def retrieve_fragments(self, request: RetrievalRequest) -> RetrievalResponse:
        found = self.inner.answer(
            {"query": request.query, "max_results": request.max_results, "context": request.context}, self.failing()
        )
        return RetrievalResponse(
            status=found["status"],
            fragments=tuple(Fragment(**f) for f in found["fragments"]),
            error_message=found.get("error_message"),
        )


class PythonDict(PythonReference):
    """Takes and gives plain dictionaries."""

    accepts = "dict"

    def retrieve_fragments(self, request):
        try:
            self.inner.check(request)
        except Refusal as error:
            raise ValueError(str(error)) from error
        return self.inner.answer(request, self.failing())


class PythonKeywords(PythonDict):
    """Has the contract's own signature."""

    accepts = "keywords"

    def retrieve_fragments(self, query, max_results, context=None):
        return PythonDict.retrieve_fragments(self, {"query": query, "max_results": max_results, "context": context})


class PythonRaisesOnFailure(PythonReference):
    def retrieve_fragments(self, request):
        if self.failing():
            raise OSError("connection refused")
        return super().retrieve_fragments(request)


class PythonReturnsAList(PythonReference):
    def retrieve_fragments(self, request):
        return super().retrieve_fragments(request).fragments


class PythonTrustsItsCaller(PythonDict):
    """Never looks at what it is given."""

    def retrieve_fragments(self, request):
        limit = request.get("max_results")
        query = request.get("query")
        return self.inner.answer(
            {"query": query if isinstance(query, str) else "", "max_results": limit if type(limit) is int else 10},
            self.failing(),
        )


class PythonRefusesWithAnAnswer(PythonDict):
    def retrieve_fragments(self, request):
        try:
            return super().retrieve_fragments(request)
        except ValueError as error:
            return {"status": "FAILED", "fragments": [], "error_message": str(error)}
