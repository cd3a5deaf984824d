"""The kit put in front of retrievers of other protocols: it repairs nothing, and finds what they hide."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from typer.testing import CliRunner

from broken import Reference
from listening import listening
from wenyuan.cli.own_service import FAULT, own_service
from wenyuan.cli.root import app
from wenyuan.conformance import AdapterTarget, HeaderFault, run
from wenyuan.core.errors import ConfigError
from wenyuan.server.handling import FAULT_HEADER


def failed(report: Any) -> set[str]:
    return {case.id.removeprefix("TC-DP3-") for case in report.failed}


def test_our_own_dify_door_keeps_the_contract() -> None:
    """All eleven cases, the failure included, through Dify's protocol and a real server."""
    with own_service("memory", encoder={"kind": "hashing"}) as (url, _encoder):
        report = run(AdapterTarget("dify", url), fault=HeaderFault(FAULT_HEADER, FAULT))
    assert failed(report) == set(), [case.detail for case in report.failed]


@contextmanager
def lightrag(*, masking: bool = False) -> Iterator[str]:
    """A server of LightRAG's ``/query/data`` over the kit's documents; with `masking`, its failures look empty."""
    inner = Reference()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, body = self.answer(asked)
            content = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def answer(self, asked: dict[str, Any]) -> tuple[int, dict[str, Any]]:
            assert self.path == "/query/data"
            if not isinstance(asked.get("query"), str) or type(asked.get("chunk_top_k")) is not int:
                return 422, {"detail": "invalid"}
            if self.headers.get("X-Fail"):
                empty = {"status": "success", "message": "", "data": {"chunks": []}}
                return 200, empty if masking else {"status": "failure", "message": "the graph is gone", "data": {}}
            found = inner.search({"query": asked["query"]})[: asked["chunk_top_k"]]
            chunks = [{"content": f["content"], "file_path": f["source"], "chunk_id": f["source"]} for f in found]
            return 200, {"status": "success", "message": "", "data": {"chunks": chunks, "entities": []}}

        def log_message(self, *_: object) -> None: ...

    with listening(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as url:
        yield url


def test_what_has_no_scores_is_found() -> None:
    """Chunks of LightRAG have no score, and the adapter invents none."""
    with lightrag() as url:
        report = run(AdapterTarget("lightrag", url), fault=HeaderFault("X-Fail", "yes"))
    assert failed(report) == {"01", "02", "04", "05", "09", "11"}


def test_a_masked_failure_is_found() -> None:
    """A failure that looks like an empty answer is TC-DP3-06."""
    with lightrag(masking=True) as url:
        report = run(AdapterTarget("lightrag", url), fault=HeaderFault("X-Fail", "yes"))
    assert "06" in failed(report)


def test_a_service_that_is_not_there_fails_and_is_not_empty() -> None:
    """No answer is FAILED."""
    answer = AdapterTarget("dify", "http://127.0.0.1:9").ask({"query": "x", "max_results": 1})
    assert answer.body["status"] == "FAILED"


@pytest.mark.parametrize(("kind", "spec"), [("pinecone", "x:y"), ("langchain", "x"), ("langchain", "nowhere:make")])
def test_what_cannot_be_loaded_says_so(kind: str, spec: str) -> None:
    """An unknown kind, no factory, no module."""
    with pytest.raises(ConfigError):
        AdapterTarget(kind, spec)


def test_the_command_takes_an_adapter() -> None:
    """With its report and exit code, in both languages."""
    with own_service("memory", encoder={"kind": "hashing"}) as (url, _encoder):
        for language, said in (("en", "Conformant: 11 of 11"), ("zh", "符合规范")):
            arguments = ["conformance", "--adapter", "dify", url, "--fault-header", f"{FAULT_HEADER}: {FAULT}"]
            result = CliRunner().invoke(app, [*arguments, "--lang", language])
            assert result.exit_code == 0, result.output
            assert said in result.stdout
