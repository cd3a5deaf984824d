"""The refresh worker inside a server: it refreshes what is due, says how it does, and ends with the server."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from http_door import url_of
from wenyuan.core.errors import CatalogUnavailable
from wenyuan.service.operations.background_refresh import BackgroundRefresh


def until(true: Callable[[], bool], what: str) -> None:
    for _ in range(600):
        if true():
            return
        time.sleep(0.05)
    raise AssertionError(f"never: {what}")


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.md").write_text("# 投诉\n\n客户投诉应在七个工作日内答复。\n", "utf-8")
    return folder


@pytest.fixture
def library(tmp_path: Path, docs: Path) -> Iterator[wenyuan.Library]:
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "hashing"}) as opened:
        opened.catalog.put_source(wenyuan.Source(source_id="a", path=str(docs), refresh_cycle="PT1H"))
        yield opened


def test_what_is_due_is_read(library: wenyuan.Library) -> None:
    """A source that is due is read without anybody asking for it, once."""
    library.hire(poll=0.05)
    until(lambda: library.catalog.counts("a")["documents"] == 1, "the document is read")
    worker = library.health.worker
    assert worker is not None
    until(lambda: worker.progress().refreshed == 1, "the refresh is counted")
    assert worker.progress().alive
    assert library.readiness().parts["worker"]["state"] == "ok"


def test_closing_ends_it(library: wenyuan.Library) -> None:
    """When the library is closed its worker has ended, and no source is claimed by it."""
    library.hire(poll=60)
    worker = library.health.worker
    assert worker is not None
    until(lambda: worker.progress().refreshed == 1, "the refresh")
    library.close()
    assert not worker.progress().alive
    with wenyuan.open(library.folder, encoder={"kind": "hashing"}) as again:
        assert again.catalog.source_states()["a"].claimed_by == ""


def test_a_failure_is_counted(library: wenyuan.Library, docs: Path) -> None:
    """A source that cannot be read is a failed refresh; the worker goes on, and the server is ready."""
    (docs / "a.md").unlink()
    docs.rmdir()
    library.hire(poll=0.05)
    worker = library.health.worker
    assert worker is not None
    until(lambda: worker.progress().failed == 1, "the failure is counted")
    assert worker.progress().alive
    assert library.readiness().ready


def test_a_round_that_breaks_off_is_not_the_last(library: wenyuan.Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """A catalog that cannot be read, or a fault of ours, is said, and the next look goes on as if it had not been."""
    broken, real = threading.Event(), library.catalog.source_states
    broken.set()

    def states() -> Any:
        if broken.is_set():
            raise CatalogUnavailable("the disk is away")
        return real()

    monkeypatch.setattr(library.catalog, "source_states", states)
    worker = BackgroundRefresh(library, poll=0.05)
    library.health.worker = worker
    worker.start()
    until(lambda: "the disk is away" in worker.progress().trouble, "the trouble is told")
    assert library.readiness().parts["worker"]["state"] == "degraded"
    broken.clear()
    until(lambda: worker.progress().refreshed == 1, "the next look refreshes")
    until(lambda: not worker.progress().trouble, "the trouble is over")


def test_nobody_is_hired_by_default(library: wenyuan.Library) -> None:
    """Without the setting there is no worker, in readiness neither."""
    assert library.health.worker is None
    assert "worker" not in library.readiness().parts
    assert not library.settings.server.worker


# --- over the command line --------------------------------------------------------------------------------
@pytest.fixture
def served(library: wenyuan.Library) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """``wenyuan serve`` on a library with one source that was never read."""
    library.close()
    settings = {"ENCODER__KIND": "hashing", "SERVER__WORKER": "true", "SERVER__WORKER_POLL": "0.2"}
    environment = {**os.environ, **{f"WENYUAN_{name}": value for name, value in settings.items()}}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    command = [
        sys.executable,
        "-m",
        "wenyuan.cli",
        "--library",
        str(library.folder),
        "serve",
        "--port",
        "0",
        "--json",
    ]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process, url_of(process)
        finally:
            process.kill()


def get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=60) as answer:
        return str(answer.read().decode())


def sources(url: str) -> Any:
    return json.loads(get(url + "/v1/sources"))["sources"]


@pytest.mark.integration
def test_a_server_refreshes_and_stops(served: tuple[subprocess.Popen[str], str], docs: Path) -> None:
    """With server.worker the server reads what is due, shows it in readiness and metrics, and ends with 0."""
    process, url = served
    until(lambda: sources(url)[0]["documents"] == 1, "the server reads the source")
    until(lambda: "1 refreshed" in json.loads(get(url + "/readyz"))["parts"]["worker"]["detail"], "readiness")
    found = get(url + "/metrics")
    assert re.search(r"^wenyuan_worker_up 1\.0$", found, re.MULTILINE)
    assert re.search(r'^wenyuan_worker_refreshes_total\{outcome="refreshed"\} 1\.0$', found, re.MULTILINE)
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert "Traceback" not in errors
