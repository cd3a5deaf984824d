"""A failure that repeats is in the log once a minute for each cause, with how many others there were."""

from __future__ import annotations

import json
import logging
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

import patience
import wenyuan
from wenyuan.core.errors import CatalogUnavailable, EngineUnavailable, msg
from wenyuan.server.repeated_failures import RepeatedFailures


class Lines(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.told: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.told.append(record.getMessage())


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def log(clock: Clock) -> Iterator[tuple[logging.Logger, list[str]]]:
    handler = Lines()
    handler.addFilter(RepeatedFailures(60.0, clock))
    logger = logging.getLogger("wenyuan.test_repeated")
    logger.addHandler(handler)
    logger.propagate = False
    yield logger, handler.told
    logger.removeHandler(handler)


def lost(number: int) -> CatalogUnavailable:
    return CatalogUnavailable(msg("{doing}: {cause}", doing=f"reading {number}", cause="gone"), component="catalog")


def test_one_line_for_each_cause_and_minute(log: tuple[logging.Logger, list[str]], clock: Clock) -> None:
    """Whatever request it is of, a cause has one line; another cause has its own; the next line tells how many there were."""
    logger, told = log
    for number in range(50):
        logger.error("failed: request_id=%s: %s", f"{number:032x}", lost(number))
        logger.error(
            "failed: request_id=%s: %s", number, EngineUnavailable(f"no server at {number}", component="engine")
        )
    assert len(told) == 2
    clock.now += 61
    for number in range(3):
        logger.error("failed: request_id=%s: %s", number, lost(number))
    assert len(told) == 3
    assert told[-1].endswith("(and 49 more of this cause since the last line)")
    clock.now += 61
    logger.error("failed: request_id=%s: %s", 1, lost(1))
    assert told[-1].endswith("(and 2 more of this cause since the last line)")


def test_tracebacks_are_told_apart_by_their_place(log: tuple[logging.Logger, list[str]]) -> None:
    """Two exceptions of one type that are raised in two places are two causes."""
    logger, told = log
    for _ in range(5):
        try:
            int("x")
        except ValueError:
            logger.exception("failed")
        try:
            float("x")
        except ValueError:
            logger.exception("failed")
    assert len(told) == 2


def test_what_is_no_failure_is_written(log: tuple[logging.Logger, list[str]]) -> None:
    """Each warning has its line."""
    logger, told = log
    for _ in range(3):
        logger.warning("slow")
    assert told == ["slow"] * 3


def test_causes_without_end_take_no_memory_without_end(clock: Clock) -> None:
    """Those that were not met for longest are forgotten; their next line is written."""
    rarely = RepeatedFailures(60.0, clock)
    for number in range(2_000):
        record = logging.LogRecord("wenyuan", logging.ERROR, "", 0, f"failed in a way of its own: {number}", (), None)
        assert rarely.filter(record)
    assert len(rarely._met) <= 500


def ask(url: str, path: str, body: object) -> int:
    request = urllib.request.Request(
        url + path, json.dumps(body).encode(), {"Content-Type": "application/json"}, method="POST"
    )
    try:
        with urllib.request.urlopen(request, timeout=patience.HANGS) as answer:
            told = json.load(answer)
            assert told["status"] == "FAILED"
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_a_server_whose_catalog_is_gone(tmp_path: Path) -> None:
    """A hundred requests of four doors that fail write some lines, and no thousands."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("# 制度\n\n答复时限为五天。\n", "utf-8")
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"}) as library:
        library.add(wenyuan.Source(source_id="s", path=str(tmp_path / "docs")))
    log = tmp_path / "log"
    command = [sys.executable, "-m", "wenyuan.cli", "--library", str(tmp_path / "library"), "serve", "--port", "0"]
    environment = {**os.environ, "WENYUAN_ENCODER__KIND": "none"}
    with (
        log.open("wb") as errors,
        subprocess.Popen(command, stdout=errors, stderr=errors, env=environment) as process,
    ):
        try:
            until = time.monotonic() + patience.HANGS
            while not (found := re.search(r"http://127\.0\.0\.1:[0-9]+", log.read_text("utf-8"))):
                assert process.poll() is None and time.monotonic() < until, log.read_text("utf-8")
                time.sleep(0.05)
            (tmp_path / "library" / "catalog.db").unlink()
            time.sleep(0.6)  # it looks twice a second
            statuses = [
                ask(found[0], path, body)
                for _ in range(25)
                for path, body in (
                    ("/v1/retrieve_fragments", {"query": "答复", "max_results": 3}),
                    ("/v1/search", {"query": "答复"}),
                    ("/v1/context", {"retrieval_query": "答复"}),
                    ("/v1/verify", {"claims": [{"text": "答复时限为五天。"}]}),
                )
            ]
            assert set(statuses) <= {200, 503}
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(patience.HANGS)
    told = [line for line in log.read_text("utf-8").splitlines() if line.startswith("wenyuan.")]
    assert 1 <= len(told) <= 20, told
