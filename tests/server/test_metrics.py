"""`/metrics`: the format, who may read it, and that what goes wrong is there to be seen."""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

import wenyuan
from governed_door import governed_server, key, send
from http_door import JSON, EchoService, ask, assert_problem, call, serving
from wenyuan.core.errors import EngineUnavailable
from wenyuan.core.ports import Deadline
from wenyuan.core.sources import SourceState
from wenyuan.runtime.timings import BOUNDS, Timings
from wenyuan.server.app import ROUTES
from wenyuan.server.exposition import MetricFamilies, histogram
from wenyuan.server.request_metrics import RequestMetrics
from wenyuan.service.operations.refresh import Worker
from wenyuan.service.search.leg_execution import LegMeter

Numbers = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def read(text: str) -> Numbers:
    """The numbers of an exposition; each is there once."""
    found: Numbers = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            name = (sample.name, tuple(sorted(sample.labels.items())))
            assert name not in found
            found[name] = sample.value
    return found


def number(found: Numbers, name: str, **labels: str) -> float:
    """The sum of all numbers of a name that have these labels."""
    wanted = set(labels.items())
    values = [value for (n, has), value in found.items() if n == name and wanted <= set(has)]
    assert values, (name, labels)
    return sum(values)


def metrics(url: str, token: str | None = None) -> Numbers:
    answer = send(url, "GET", "/metrics", token=token)
    assert (answer.status, answer.headers["Content-Type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    return read(answer.body.decode())


def until(url: str, name: str, wanted: float, **labels: str) -> None:
    """Wait: an answer is counted when it has been sent, which the client may see first."""
    give_up = time.monotonic() + 60
    while True:
        found = metrics(url)
        with contextlib.suppress(AssertionError):
            if number(found, name, **labels) == wanted:
                return
        assert time.monotonic() < give_up, sorted(found.items())
        time.sleep(0.02)


# -- the format ----------------------------------------------------------------------------------------------
@given(st.lists(st.floats(0, 100), max_size=30))
def test_a_histogram_counts_everything_once(seconds: list[float]) -> None:
    """Its classes rise up to the number of times, whose sum it has; each class holds what is not above its bound."""
    timings = Timings()
    for value in seconds:
        timings.add(("search",), value)
    family = histogram("x", "Times.", ("door",), timings.read())
    found = read(generate_latest(MetricFamilies([family])).decode())
    assert bool(found) == bool(seconds)
    for bound in BOUNDS if seconds else ():
        below = number(found, "x_bucket", door="search", le=f"{bound:g}")
        assert below == sum(value <= bound for value in seconds)
    if seconds:
        assert number(found, "x_bucket", le="+Inf") == number(found, "x_count") == len(seconds)
        assert number(found, "x_sum") == pytest.approx(sum(seconds))


@given(st.text())
def test_no_path_makes_a_label(path: str) -> None:
    """Whatever is asked for, the door is one of a closed set."""
    traffic = RequestMetrics(ROUTES)
    traffic.answered(path, 404, "", 0.1)
    ((door, _, _),) = traffic.requests()
    assert re.fullmatch(r"[a-z_.-]+", door)


@pytest.mark.parametrize(("path", "door"), [
    ("/v1/search", "search"), ("/search", "search"), ("/v1/sources/规范", "sources"), ("/v1", "other"), ("*", "other"),
    ("/v1/audit/a/replay", "audit"), ("/livez", "livez"), ("/v1x/search", "other"), ("/etc/passwd", "other"),
])  # fmt: skip
def test_doors(path: str, door: str) -> None:
    """A door is the first part of a path, whatever its version."""
    traffic = RequestMetrics(ROUTES)
    traffic.answered(path, 200, "", 0.1)
    assert list(traffic.requests()) == [(door, "200", "success")]


def test_legs_of_a_source_that_is_gone_are_forgotten() -> None:
    """Numbers are kept of our own legs and of sources that are registered."""
    meter = LegMeter()
    for source in ("", "kb", "gone"):
        meter.add(("outside" if source else "keyword", source, "ok"), 0.1)
    assert {names[1] for names in meter.of(["kb"])} == {"", "kb"}
    assert {names[1] for names in meter.of(["kb", "gone"])} == {"", "kb"}


# -- who may read it -----------------------------------------------------------------------------------------
def test_who_may_read_the_numbers(tmp_path: Path) -> None:
    """With keys, one with `audit` or `admin`, and not one of an agent; without keys, everybody on this machine."""
    with governed_server(tmp_path / "a") as (url, library):
        assert_problem(send(url, "GET", "/metrics"), 401, "unauthenticated")
        assert_problem(send(url, "GET", "/metrics", token=key(library, "search")), 403, "not_permitted")
        assert_problem(send(url, "GET", "/metrics", token=key(library, "admin", agent="other")), 403, "not_permitted")
        for right in ("audit", "admin"):
            assert number(metrics(url, key(library, right)), "wenyuan_source_documents", source="wiki") == 1
    with governed_server(tmp_path / "b", needs_keys=False) as (url, _):
        metrics(url)
        foreign = call(url, "GET", "/metrics", headers={**JSON, "Host": "evil.example"})
        assert_problem(foreign, 403, "not_permitted")


def test_a_service_that_is_no_library() -> None:
    """Its server tells of requests and of itself."""
    with serving() as url:
        ask(url)
        ask(url, "failed")
        until(url, "wenyuan_http_requests_total", 1, outcome="failed")
        found = metrics(url)
        assert number(found, "wenyuan_http_requests_total", door="retrieve_fragments", outcome="success") == 1
        assert number(found, "process_start_time_seconds") == pytest.approx(time.time(), abs=3_600)
        assert number(found, "process_resident_memory_bytes") > 1e6
        assert not any(name.startswith("wenyuan_source") for name, _ in found)


# -- requests ------------------------------------------------------------------------------------------------
def test_requests_are_counted_by_how_they_ended() -> None:
    """Door, status and outcome: a bug, a malformed body, a path that is not there, a FAILED, and their times."""
    with serving() as url:
        for query in ("bug", "invalid", "nothing", "failed"):
            ask(url, query)
        call(url, "GET", "/v2/%E7%94%B2")
        call(url, "DELETE", "/v1/search")
        until(url, "wenyuan_http_requests_total", 2, status="404")
        found = metrics(url)
        door = {"door": "retrieve_fragments"}
        assert number(found, "wenyuan_http_requests_total", **door, status="200", outcome="failed") == 2
        assert number(found, "wenyuan_http_requests_total", **door, status="400", outcome="refused") == 1
        assert number(found, "wenyuan_http_requests_total", **door, status="200", outcome="success") == 1
        assert number(found, "wenyuan_http_request_duration_seconds_count", **door) == 4
        assert {labels["door"] for name, pairs in found for labels in [dict(pairs)] if "door" in labels} <= {
            "retrieve_fragments", "search", "metrics", "other",
        }  # fmt: skip


def test_requests_in_flight() -> None:
    """A request that is being worked on is counted until its answer is sent."""
    service = EchoService()
    with serving(service) as url:
        waiting = threading.Thread(target=ask, args=(url, "wait"))
        waiting.start()
        assert service.entered.acquire(timeout=60)
        assert number(metrics(url), "wenyuan_http_requests_in_flight") == 2
        service.gate.set()
        waiting.join(60)
        until(url, "wenyuan_http_requests_in_flight", 1)


def test_refused_for_asking_too_often(tmp_path: Path) -> None:
    """What was answered 429 is counted."""
    with governed_server(tmp_path, rate_per_key=1.0) as (url, library):
        token = key(library, "search")
        answers = [send(url, "POST", "/v1/search", {"query": "投诉"}, token).status for _ in range(8)]
        refused = answers.count(429)
        assert refused
        assert number(metrics(url, key(library, "audit")), "wenyuan_http_rate_limited_total") == refused


# -- the library ---------------------------------------------------------------------------------------------
@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[str, Any]]:
    with governed_server(tmp_path, needs_keys=False) as found:
        yield found


def test_a_refresh_that_fails_is_to_be_seen(served: tuple[str, Any], tmp_path: Path) -> None:
    """A source whose folder is gone: failures in a row, overdue, since when; others are as they were."""
    url, library = served
    source = library.catalog.source("wiki")
    begun = time.time() - 3 * 86_400
    library.catalog.put_source(
        wenyuan.Source(source_id="wiki", path=str(tmp_path / "nowhere"), trust=source.trust, refresh_cycle="daily")
    )
    library.catalog.put_source_state(SourceState(source_id="wiki", last_success=begun))
    found = metrics(url)
    assert number(found, "wenyuan_source_overdue", source="wiki") == 1
    assert number(found, "wenyuan_source_overdue_seconds", source="wiki") == pytest.approx(2 * 86_400, abs=4_000)
    assert number(found, "wenyuan_refresh_queue") == 1
    for _ in range(2):
        assert Worker(library).refresh("wiki").failure
    found = metrics(url)
    assert number(found, "wenyuan_source_failures_in_a_row", source="wiki") == 2
    assert number(found, "wenyuan_source_last_success_age_seconds", source="wiki") == pytest.approx(
        3 * 86_400, abs=60
    )
    assert number(found, "wenyuan_source_overdue", source="wiki") == 1
    assert number(found, "wenyuan_refresh_queue") == 0  # it is tried again later
    assert number(found, "wenyuan_source_failures_in_a_row", source="crm_policy") == 0
    assert number(found, "wenyuan_source_overdue", source="crm_policy") == 0


def test_what_is_held_and_how_it_is_asked(served: tuple[str, Any]) -> None:
    """Documents and passages of each source, legs by state, the index, the audit."""
    url, library = served
    assert send(url, "POST", "/v1/search", {"query": "客户投诉"}).json["status"] == "SUCCESS"
    library.audit.flush()
    found = metrics(url)
    for source in ("wiki", "crm_policy", "regulation_cn_gdpr"):
        held = library.catalog.counts(source)
        assert number(found, "wenyuan_source_documents", source=source) == held["documents"]
        assert number(found, "wenyuan_source_passages", source=source) == held["passages"]
    for leg in ("keyword", "vector"):
        assert number(found, "wenyuan_leg_duration_seconds_count", leg=leg, state="ok") >= 1
    assert number(found, "wenyuan_index_lag_changes") == number(found, "wenyuan_index_lag_seconds") == 0
    assert number(found, "wenyuan_audit_records_total") == library.audit.list(limit=1)[0].seq
    assert number(found, "wenyuan_audit_waiting") == number(found, "wenyuan_audit_failing") == 0
    library.catalog.put_source(library.catalog.source("wiki"))
    assert number(metrics(url), "wenyuan_index_lag_changes") == 1


def test_legs_that_fail_and_that_hang(served: tuple[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken leg counts as failed, one that does not answer in time as such, a source by its id."""
    url, library = served
    asked = {"query": "客户投诉"}

    def broken(*_: Any, **__: Any) -> Any:
        raise EngineUnavailable("the index is gone")

    with monkeypatch.context() as patch:
        patch.setattr(library.engine, "keyword", broken)
        assert send(url, "POST", "/v1/search", asked).json["status"] == "FAILED"
    settings = {"url": "http://127.0.0.1:9", "allow_private": True, "required": False}
    library.catalog.put_source(wenyuan.Source(source_id="kb", type="api", settings=settings))
    assert send(url, "POST", "/v1/search", asked).json["coverage"]["degraded"] == ["source kb"]
    hang = threading.Event()
    with monkeypatch.context() as patch:
        patch.setattr(library._retriever, "deadline", lambda: Deadline(time.monotonic() + 1.0, time.monotonic))
        patch.setattr(library.engine, "vector", lambda *_, **__: hang.wait(60))
        try:
            assert send(url, "POST", "/v1/search", asked).json["status"] == "FAILED"
        finally:
            hang.set()
    found = metrics(url)
    assert number(found, "wenyuan_leg_duration_seconds_count", leg="keyword", state="failed") == 1
    assert number(found, "wenyuan_leg_duration_seconds_count", leg="outside", source="kb", state="failed") >= 1
    assert number(found, "wenyuan_leg_duration_seconds_count", leg="vector", state="timeout") == 1
    assert number(found, "wenyuan_leg_duration_seconds_sum", leg="vector", state="timeout") >= 0.5


def test_the_cache_is_counted(tmp_path: Path) -> None:
    """Hits, misses and the bytes that are kept."""
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "hashing"}) as library:
        (tmp_path / "a.md").write_text("# 投诉\n\n客户投诉须在三天内答复。\n")
        library.add(wenyuan.Source(source_id="a", path=str(tmp_path / "a.md")))
        with serving(library) as url:
            for _ in range(3):
                send(url, "POST", "/v1/search", {"query": "投诉"})
            found = metrics(url)
    assert number(found, "wenyuan_cache_requests_total", result="hit") == 2
    assert number(found, "wenyuan_cache_requests_total", result="miss") == 1
    assert number(found, "wenyuan_cache_entries") == 1
    assert number(found, "wenyuan_cache_bytes") > 1_000


def test_remembered_query_vectors_are_counted_and_said(tmp_path: Path) -> None:
    """The second time a query is not embedded: metrics, coverage and audit all say so."""
    (tmp_path / "a.md").write_text("# 投诉\n\n客户投诉须在三天内答复。\n")
    settings: dict[str, Any] = {"encoder": {"kind": "hashing"}, "cache": {"seconds": 0}}
    with wenyuan.open(tmp_path / "library", create=True, search={"query_vectors": 2}, **settings) as library:
        library.add(wenyuan.Source(source_id="a", path=str(tmp_path / "a.md")))
        with serving(library) as url:
            measured = number(metrics(url), "wenyuan_query_vector_requests_total", result="miss")  # its own nonsense
            answers = [send(url, "POST", "/v1/search", {"query": q}).json for q in ("投诉", " 投诉", "答复", "三天")]
            found = metrics(url)
        records = [record.record for record in library.audit.list(limit=4)][::-1]
    said = [
        [leg.get("remembered", False) for leg in a["coverage"]["legs"] if leg["name"] == "vector"] for a in answers
    ]
    assert said == [[False], [True], [False], [False]]
    recorded = [[leg.get("remembered", False) for leg in r["legs"] if leg["name"] == "vector"] for r in records]
    assert recorded == said
    assert number(found, "wenyuan_query_vector_requests_total", result="hit") == 1
    assert number(found, "wenyuan_query_vector_requests_total", result="miss") == measured + 3
    assert number(found, "wenyuan_query_vector_entries") == 2
    assert number(found, "wenyuan_query_vector_bytes") == 2 * 4 * library.encoder.fingerprint.dimension


def test_numbers_that_cannot_be_told(served: tuple[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """A catalog that cannot be read is a problem, not a library that holds nothing."""
    url, library = served

    def broken() -> Any:
        raise wenyuan.core.errors.CatalogUnavailable("the disk is gone")

    monkeypatch.setattr(library.catalog, "counts_by_source", broken)
    assert_problem(send(url, "GET", "/metrics"), 503, "catalog_unavailable")
