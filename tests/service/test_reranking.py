"""A library with a reranker: the order, what is said about it, and what becomes of its failures."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from cross_encoder_model import make_cross_encoder
from rerank_server import KEY, Server, serving
from wenyuan.conformance import PythonTarget, Target, export_data, render, run
from wenyuan.core.errors import ConfigError, RerankerUnavailable
from wenyuan.core.scoring.fusion import explain
from wenyuan.service.query import Rewriting
from wenyuan.service.search.searcher import SearchRequest

DOCS = {
    "leave": "# 年假\n\n员工每年有五天年假，可以结转到下一年度使用。\n",
    "carry": "# Carry over\n\nAnnual leave of five days may be carried over to the next year.\n",
    "sick": "# 病假\n\n病假须提交医院证明，年假不受影响。\n",
    "travel": "# Travel\n\nTravel during annual leave is not paid by the company.\n",
    "law": "# 条例\n\n## 第十三条\n\n年假未休的，应当支付工资。\n",
}
QUERY = "年假 annual leave"


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with serving() as server:
        yield server


@pytest.fixture
def server(running: Server) -> Server:
    running.fault, running.favourite, running.seen = "", "", []
    return running


@contextmanager
def library(folder: Path, **reranker: Any) -> Iterator[wenyuan.Library]:
    """A small library of both languages; made once a folder, opened with the reranker given."""
    new = not (folder / "library").exists()
    with wenyuan.open(
        folder / "library", create=True, engine="memory", encoder={"kind": "hashing"},
        search={"deadline": 20, "floor": 0.0}, reranker=reranker,
    ) as made:  # fmt: skip
        if new:
            (folder / "docs").mkdir()
            for name, text in DOCS.items():
                (folder / "docs" / f"{name}.md").write_text(text, "utf-8")
            made.add(wenyuan.Source(source_id="rules", path=str(folder / "docs")))
        yield made


def over_http(server: Server, **more: Any) -> dict[str, Any]:
    return {"kind": "http", "url": server.url, "dialect": "tei", "key": KEY, "timeout": 15, **more}


def order(answer: Any) -> list[str]:
    return [Path(answer.passages[hit.passage_id].uri.split("#")[0]).stem for hit in answer.hits]


def legs(answer: Any) -> dict[str, str]:
    return {leg.name: leg.state for leg in answer.legs}


@pytest.mark.parametrize("dialect", ["jina", "cohere", "tei"])
def test_what_the_reranker_prefers_comes_first(tmp_path: Path, server: Server, dialect: str) -> None:
    """With full say its order is the answer's; title, headings and text are what it was shown."""
    server.favourite = "医院证明"
    given = over_http(server, dialect=dialect, model="m", blend=(1.0, 1.0, 1.0))
    with library(tmp_path, **given) as made:
        answer = made.search(QUERY, limit=3)
    assert order(answer)[0] == "sick"
    assert [hit.score for hit in answer.hits] == [1.0, 0.0, 0.0]
    assert legs(answer)["reranker"] == "ok"
    body = server.seen[0][2]
    assert body["query"] == QUERY
    assert "病假\n# 病假\n\n病假须提交医院证明，年假不受影响。" in body["texts" if dialect == "tei" else "documents"]


@pytest.mark.parametrize("follows", [True, False])
def test_a_follow_up_question_is_reranked_as_it_is_whole(tmp_path: Path, server: Server, follows: bool) -> None:
    """A reranker does not know the conversation; a question that stands alone is its own words."""
    rewriting = Rewriting(wordings=("年假可以结转吗",), follows=follows)
    with library(tmp_path, **over_http(server)) as made:
        result = made.find(SearchRequest(query="那可以结转吗", rewriting=rewriting, limit=3))
        assert server.seen[-1][2]["query"] == ("年假可以结转吗" if follows else "那可以结转吗")
        made.audit.flush()
        server.seen.clear()
        assert made.replay(result.audit_ids[0]).identical
        assert server.seen[-1][2]["query"] == ("年假可以结转吗" if follows else "那可以结转吗")


def test_a_local_cross_encoder_reranks(tmp_path: Path) -> None:
    """A model in a directory has its say, and the parts of every hit give the score shown."""
    make_cross_encoder(tmp_path / "model", [*"年假病结转员工每有五天可以到下", "annual", "leave", "travel", "carry"])
    with library(tmp_path, kind="onnx_dir", path=tmp_path / "model", timeout=15) as made:
        plain = made.search(QUERY, limit=1, sources=["rules"])
        answer = made.search("结转 carry", limit=5)
        part = made.readiness().parts["reranker"]
    assert legs(plain)["reranker"] == legs(answer)["reranker"] == "ok"
    assert {order(answer)[0], order(answer)[1]} == {"leave", "carry"}
    for hit in answer.hits:
        p = hit.parts
        assert math.isclose((1 - p["share"]) * p["retrieved"] + p["share"] * p["reranker"], hit.score, abs_tol=1e-6)
        assert f"reranker {p['reranker']:.3f} → {hit.score:.3f}" in explain(hit, answer.weight)
    assert str(part["detail"]).startswith("onnx_dir|model|")


def test_everything_that_can_be_answered_is_judged(tmp_path: Path, server: Server) -> None:
    """At least `top_n` are shown, more when more are asked for: no score without its word beside one with it."""
    with library(tmp_path, **over_http(server, top_n=2)) as made:
        few, many = made.search(QUERY, limit=1), made.search(QUERY, limit=4)
    assert [len(body["texts"]) for _, _, body in server.seen] == [2, 4]
    assert len(few.hits) == 1
    assert all("reranker" in hit.parts for hit in (*few.hits, *many.hits))


@pytest.mark.parametrize("fault", ["nan", "too few", "twice", "unknown", "html", "500", "redirect"])
def test_an_optional_one_that_fails_is_reported(tmp_path: Path, server: Server, fault: str) -> None:
    """The order is that of the search, the answer says it is degraded and why, and no cache keeps it."""
    with library(tmp_path) as made:
        before = made.search(QUERY)
    server.fault = fault
    with library(tmp_path, **over_http(server)) as made:
        answer = made.search(QUERY)
        response = made.retrieve_fragments(wenyuan.RetrievalRequest(query=QUERY, max_results=5))
        request = SearchRequest(query=QUERY)
        assert not any(made.find(request).cache_hit for _ in range(2))
    assert [(h.passage_id, h.score) for h in answer.hits] == [(h.passage_id, h.score) for h in before.hits]
    assert answer.degraded == ("reranker",)
    assert next(leg.error for leg in answer.legs if leg.name == "reranker")
    assert {f.metadata["degraded"] for f in response.fragments} == {"reranker"}


@pytest.mark.parametrize("fault", ["nan", "too few", "twice", "html", "500"])
def test_a_required_one_that_fails_fails_the_request(tmp_path: Path, server: Server, fault: str) -> None:
    """There is no answer without it; the message names the reranker and not its key."""
    server.fault = fault
    with library(tmp_path, **over_http(server, required=True)) as made:
        response = made.retrieve_fragments(wenyuan.RetrievalRequest(query=QUERY, max_results=5))
        with pytest.raises(wenyuan.KnowledgeError):
            made.search(QUERY)
    assert (response.status, response.fragments) == ("FAILED", ())
    assert "reranker" in str(response.error_message)
    assert KEY not in str(response.error_message)


def test_one_that_is_slow_does_not_hold_the_answer(tmp_path: Path, server: Server) -> None:
    """An optional reranker has a time of its own; then the answer goes without it and says so."""
    server.fault = "slow"
    with library(tmp_path, **over_http(server, timeout=0.05)) as made:
        answer = made.search(QUERY)
    assert order(answer)
    assert answer.degraded == ("reranker",)


def test_a_query_that_names_a_place_is_not_reranked(tmp_path: Path, server: Server) -> None:
    """An article is looked up, not judged; that the reranker was skipped is said."""
    with library(tmp_path, **over_http(server)) as made:
        answer = made.search("条例第十三条")
        empty = made.search("zzqx vvk", limit=2, sources=["rules"])
    assert order(answer)[0] == "law"
    assert legs(answer)["reranker"] == "skipped"
    assert answer.degraded == ()
    assert legs(empty).get("reranker") in ("skipped", "ok")
    assert all("第十三条" not in body["query"] for _, _, body in server.seen)


def test_a_replay_knows_the_reranker(tmp_path: Path, server: Server) -> None:
    """The same reranker gives the same answer, now and exactly as then; another one, or none, is named."""
    with library(tmp_path, **over_http(server)) as made:
        answer = made.search(QUERY)
        assert made.replay(answer.audit_id).identical
        assert made.replay(answer.audit_id, exact=True).identical
        server.fault = "500"
        failed = made.replay(answer.audit_id)
    with library(tmp_path) as made:
        without = made.replay(answer.audit_id)
    assert {"reranker changed"} <= {d.what for d in failed.differences}
    assert {"settings changed", "reranker changed"} <= {d.what for d in without.differences}


def test_the_key_is_shown_nowhere(tmp_path: Path, server: Server, caplog: pytest.LogCaptureFixture) -> None:
    """Neither settings, readiness, records nor logs hold it."""
    server.fault = "401"
    with caplog.at_level(logging.DEBUG), library(tmp_path, **over_http(server, required=True)) as made:
        made.retrieve_fragments(wenyuan.RetrievalRequest(query=QUERY, max_results=5))
        shown = (repr(made.settings), made.settings.model_dump_json(), repr(made.readiness()))
        made.audit.flush()
        records = repr(made.audit.list())
    assert KEY not in "".join((*shown, records, caplog.text))
    assert f"Bearer {KEY}" in {key for _, key, _ in server.seen}


@pytest.mark.parametrize(
    ("reranker", "kind"),
    [
        ({"kind": "onnx_dir"}, ConfigError),
        ({"kind": "onnx_dir", "path": "/nowhere"}, RerankerUnavailable),
        ({"kind": "http", "url": "ftp://h"}, ConfigError),
        ({"kind": "http", "url": "http://h"}, ConfigError),
        ({"kind": "http", "url": "http://h", "dialect": "tei", "blend": (0.2, 0.4)}, ConfigError),
        ({"kind": "http", "url": "http://h", "dialect": "tei", "blend": (0.2, 0.4, 1.2)}, ConfigError),
        ({"kind": "http", "url": "http://h", "dialect": "voyage"}, ConfigError),
    ],
)
def test_senseless_settings_are_refused_when_opening(tmp_path: Path, reranker: dict[str, Any], kind: Any) -> None:
    """A reranker that could never work is no degraded library: it does not open."""
    with pytest.raises(kind), library(tmp_path, **reranker):
        pass


class Breaks:
    """Makes the reranker fail around a request."""

    lasting, settle = False, 0.0

    def __init__(self, server: Server) -> None:
        self._server = server

    @contextmanager
    def active(self, target: Target) -> Iterator[Mapping[str, str]]:
        self._server.fault = "500"
        yield {}
        self._server.fault = ""


def test_the_contract_is_kept_with_a_required_reranker(tmp_path: Path, server: Server) -> None:
    """All eleven cases pass, and the failure that the kit wants to see is the reranker's."""
    export_data(tmp_path)
    with wenyuan.open(
        tmp_path / "library", create=True, engine="memory", search={"deadline": 20},
        reranker=over_http(server, required=True),
    ) as made:  # fmt: skip
        made.add(wenyuan.Source(source_id="kit", path=str(tmp_path / "documents")))
        report = run(PythonTarget(made), fault=Breaks(server))
    assert (len(report.cases), report.failed) == (11, ()), render(report)
    assert server.seen
