"""A library in a relative folder starts, checks itself and answers under every documented setting."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from string import ascii_letters
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Regex, Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Split

import embedding_server
import milvus_server
import postgres_server
import rerank_server
from cross_encoder_model import make_cross_encoder
from issuer_server import AUDIENCE, CLIENT, SECRET, issuing
from judge_server import judging
from liars_server import lying
from listening import free_port, listening
from setting_defaults import settings
from wenyuan.catalog.audit.chain import GENESIS
from wenyuan.settings import OpenSearchSettings

NOWHERE = "http://127.0.0.1:9"
PLAIN: Mapping[str, Any] = {
    "encoder.kind": "hashing", "encoder.threads": 1,
    "search.vector_weight": 0.7, "search.similar_names": 0.8, "search.depth": 50, "search.floor": 0.0,
    "search.min_confidence": 0.4, "search.abstain": "lenient", "search.deadline": 50, "search.max_lag": 60,
    "search.withhold_disputed": True, "search.shared_statistics": True, "search.threads": 4, "search.query_vectors": 10, "search.auto_least": 2, "search.auto_most": 5,
    "cache.seconds": 10, "cache.max_mb": 1, "cache.url": "redis://127.0.0.1:9/0",
    "rules.chapters_need_rules": ["safety"], "rules.chapters": ["safety", "other"], "rules.template_collection": "forms",
    "rules.type_facets": ["kind"], "rules.case_top_k": 2, "rules.case_threshold": 0.5, "rules.template_top_k": 2,
    "rules.max_rules": 10, "rules.unverified_quotes": "refuse",
    "sources.env_allowed": ["WENYUAN_*", "KB_*"], "sources.allow_private": False, "ocr.workers": 1,
    "redaction.ner": "lac", "redaction.scanner": "true", "redaction.scanner_key": "secret",
    "redaction.scanner_timeout": 30, "redaction.found": "refuse",
    "audit.keep_queries": False, "audit.sensitivity": "none", "audit.retention_days": 200,
    "tracing.enabled": True, "tracing.content": True,
    "uploads.keep_versions": 5, "server.host": "127.0.0.2", "server.shared_port": True, "server.failed_http_status": 503,
    "server.dify_failure_record": True, "server.allowed_origins": ["https://chat.example.com"], "server.threads": 2,
    "server.rate_per_key": 100, "server.rate_total": 100, "server.concurrency_per_key": 4, "server.queue": 8,
    "server.max_body": 500_000, "server.body_timeout": 20, "server.grace": 20,
    "server.console": False, "server.ingest_roots": ["/tmp"], "server.worker": True, "server.worker_poll": 5,
}  # fmt: skip
MODELS: Mapping[str, Any] = {
    "encoder.kind": "http", "encoder.model": "m", "encoder.key": "secret", "encoder.query_prefix": "q: ",
    "encoder.passage_prefix": "p: ", "encoder.scale": [0.1, 0.9], "encoder.timeout": 20, "encoder.batch": 8, "encoder.concurrency": 2, "search.deadline": 50,
    "reranker.kind": "http", "reranker.dialect": "cohere", "reranker.model": "r", "reranker.key": "secret",
    "reranker.batch": 8, "reranker.scores": "probability", "reranker.top_n": 5, "reranker.blend": [0.1, 0.2, 0.3],
    "reranker.timeout": 20, "reranker.required": False,
    "llm.url": NOWHERE, "llm.model": "l", "llm.key": "secret", "llm.timeout": 30, "llm.concurrency": 2,
    "llm.tokens_a_day": 1_000, "llm.most_tokens": 500, "llm.max_sensitivity": "internal", "llm.price_in": 1,
    "llm.price_out": 2,
    "judge.dialect": "vote", "judge.url": NOWHERE, "judge.model": "j", "judge.key": "secret", "judge.samples": 3,
    "judge.timeout": 2, "judge.concurrency": 2, "judge.max_sensitivity": "internal", "judge.risk": 0.2,
    "judge.follow_up": True,
}  # fmt: skip
FOLDERS: Mapping[str, Any] = {
    "encoder.kind": "onnx_dir", "encoder.pooling": "mean", "search.deadline": 50, "reranker.kind": "onnx_dir",
    "reranker.max_tokens": 64, "reranker.threads": 1, "reranker.timeout": 20, "reranker.required": True,
    "judge.dialect": "onnx_dir", "judge.max_tokens": 64, "judge.threads": 1, "judge.required": True,
    "judge.timeout": 20, "audit.enabled": False, "server.processes": 2,
}  # fmt: skip
"""None of these needs the judge before it is calibrated."""
SERVERS: Mapping[str, Any] = {
    "engine": "postgres", "encoder.kind": "none", "catalog.schema_name": "own", "catalog.sessions": 4,
    "postgres.schema_prefix": "own_index", "postgres.sessions": 4, "search.deadline": 50,
}  # fmt: skip
SIGNING: Mapping[str, Any] = {
    "encoder.kind": "none", "search.deadline": 50, "oidc.address": "https://kb.example.com", "oidc.audience": [AUDIENCE],
    "oidc.algorithms": ["RS256"], "oidc.leeway": 10, "oidc.max_token": 8_192, "oidc.timeout": 20, "oidc.keys_kept": 600,
    "oidc.allow_private": True, "oidc.user_claim": "preferred_username", "oidc.name_claim": "given_name",
    "oidc.groups_claim": "groups", "oidc.groups_optional": True, "oidc.everyone": ["auditor"],
    "oidc.groups": {"staff": {"roles": ["reader"]}}, "oidc.client_claim": "azp",
    "oidc.clients": {"crawler": {"roles": ["reader"]}}, "oidc.required_scopes": ["kb"], "oidc.scopes": {"kb.read": ["reader"]},
    "oidc.client_id": CLIENT, "oidc.client_secret": SECRET, "oidc.login_scopes": ["openid"], "oidc.userinfo": True,
    "oidc.session": 3_600, "oidc.session_checked": 600, "oidc.console_keys": False, "oidc.label": "Acme",
}  # fmt: skip
MILVUS: Mapping[str, Any] = {
    "engine": "milvus", "encoder.kind": "hashing", "milvus.prefix": f"{milvus_server.PREFIX}_set", "milvus.index": "AUTOINDEX",
    "milvus.calls": 4, "search.deadline": 50,
}  # fmt: skip
ELSEWHERE = {"encoder.url", "reranker.url", "encoder.path", "reranker.path", "judge.path", "catalog.dsn", "postgres.dsn",
             "milvus.uri", "server.port",
             "audit.head_file", "oidc.issuer"}  # fmt: skip
"""What is said where the test starts a server or makes a folder for it."""
NOT_STARTED = {"encoder.dimension", "milvus.token", "milvus.database",
               *(f"opensearch.{name}" for name in OpenSearchSettings.model_fields)}  # fmt: skip
"""They need a server that knows them: see `tests/encoders`, `tests/engines` and `tests/integrations/opensearch`."""
GROUPS = {
    "plain": PLAIN,
    "models": MODELS,
    "folders": FOLDERS,
    "postgres": SERVERS,
    "milvus": MILVUS,
    "signing": SIGNING,
}


HEADERS: dict[str, str] = {}
"""What a caller sends besides."""


def test_every_setting_is_started() -> None:
    """The groups together name every setting there is, each with another value than its default."""
    told = {name: value for group in GROUPS.values() for name, value in group.items()}
    same = {name for name, default in settings() if told.get(name, ...) == default and name != "reranker.required"}
    assert not same
    assert {name for name, _ in settings()} == told.keys() | ELSEWHERE | NOT_STARTED


@contextmanager
def started(group: str, folder: Path) -> Iterator[dict[str, Any]]:
    """The settings of a group, with the servers and folders that they name."""
    told = dict(GROUPS[group])
    with ExitStack() as stack:
        if group == "models":
            told["encoder.url"] = stack.enter_context(listening(embedding_server.Server())) + "/v1/embeddings"
            told["reranker.url"] = stack.enter_context(rerank_server.serving()).url
            told["llm.url"] = stack.enter_context(lying()).url
            told["judge.url"] = stack.enter_context(judging()).url
        elif group == "folders":
            told["encoder.path"] = str(make_encoder(folder / "encoder"))
            for name in ("reranker", "judge"):
                make_cross_encoder(folder / name, ["refund", "days"])
                told[f"{name}.path"] = str(folder / name)
        elif group == "postgres":
            told["catalog.dsn"] = told["postgres.dsn"] = stack.enter_context(postgres_server.own()).dsn
        elif group == "signing":
            issuer = stack.enter_context(issuing())
            told["oidc.issuer"] = issuer.issuer
            HEADERS["authorization"] = (
                f"Bearer {issuer.token(preferred_username='li', groups=['staff'], scope='kb kb.read')}"
            )
            stack.callback(HEADERS.pop, "authorization")
        elif group == "milvus":
            told["milvus.uri"] = stack.enter_context(milvus_server.running())
        elif group == "plain":
            (folder / "heads").write_text(f"{GENESIS}\n", "ascii")
            told["audit.head_file"] = str(folder / "heads")
        told["server.port"] = free_port()
        yield told


def make_encoder(folder: Path) -> Path:
    """An embedding model to which a text is how often it has each letter."""
    folder.mkdir()
    words = ["[UNK]", *ascii_letters, *"知识服务的第一条规定每天苹果"]
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"])]
    ids = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["b", "s"]) for name in ("input_ids", "attention_mask")
    ]
    out = [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["b", "s", len(words)])]
    table = numpy_helper.from_array(np.eye(len(words), dtype=np.float32), "table")
    graph = helper.make_graph(nodes, "words", ids, out, [table])
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "model.onnx"
    )
    tokenizer = Tokenizer(WordLevel({word: number for number, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Split(Regex("."), "isolated")
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def run(world: Mapping[str, str], folder: Path, *args: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "wenyuan.cli", *args],
        env=world,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def served(world: Mapping[str, str], folder: Path) -> dict[str, Any]:
    """What a served library answers, and the parts that it lists."""
    heard = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    process = subprocess.Popen(
        [sys.executable, "-m", "wenyuan.cli", "serve"], preexec_fn=heard,  # noqa: PLW1509
        env=world, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    lines = []
    try:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line)
            if "Ctrl-C" in line:
                break
        said = "".join(lines)
        url = next((word for word in said.split() if word.startswith("http://127.0.0.")), "")
        assert url, said
        body = json.dumps({"query": "refund within how many days?", "max_results": 3}).encode()
        request = urllib.request.Request(
            f"{url.rstrip('.')}/v1/retrieve_fragments", body, {"content-type": "application/json", **HEADERS}
        )
        with urllib.request.urlopen(request, timeout=120) as response:
            answer = json.load(response)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=120)
        return {"said": said, "code": process.returncode, **answer}
    finally:
        process.kill()
        process.communicate()


@pytest.mark.integration
@pytest.mark.parametrize("language", ["en"])
@pytest.mark.parametrize("group", GROUPS)
def test_a_library_runs_with_these_settings(group: str, language: str, tmp_path: Path) -> None:
    """`doctor` ends without a fault, `search` and `serve` answer, and all parts have names; the library's path is relative."""
    (tmp_path / "kb").mkdir()
    (tmp_path / "kb" / "refunds.md").write_text("# Refunds\n\nA refund is paid within 30 days.\n", "utf-8")
    with started(group, tmp_path) as told:
        world = {
            **{name: value for name, value in os.environ.items() if not name.startswith("WENYUAN_")},
            **{f"WENYUAN_{name.upper().replace('.', '__')}": _written(value) for name, value in told.items()},
            "WENYUAN_LIBRARY": "./library", "LC_ALL": "C.UTF-8", "COLUMNS": "80",
        }  # fmt: skip
        for args in (
            ["init"],
            ["add", "kb", "--source", "kb"],
            ["doctor"],
            ["search", "refund within how many days?"],
        ):
            code, said = run(world, tmp_path, *args, "--lang", language)
            assert code == 0, (args, said)
            assert "Traceback" not in said
        assert "*refund*" in said
        answer = served(world, tmp_path)
        assert answer["status"] == "SUCCESS", answer
        assert answer["code"] == 0, answer["said"]
        assert "30 days" in answer["fragments"][0]["content"]
        if group == "models":
            assert "language model: ok" in answer["said"]
            assert "judge: ok" in answer["said"]


def _written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
