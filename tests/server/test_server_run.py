"""Starting and stopping the server."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from http_door import Answer, EchoService, ask, assert_problem, serving
from wenyuan.core.access import Principal
from wenyuan.core.errors import ConfigError
from wenyuan.server.app import create_app
from wenyuan.server.running import serve, start_in_thread
from wenyuan.server.service_port import open_to_all
from wenyuan.settings import load_settings


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving() as address:
        yield address


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "kb.example", "127.0.0.1.example", ""])
def test_listening_beyond_this_machine_is_refused(host):
    """Another address than loopback needs to be allowed, and the reason is told."""
    with pytest.raises(ConfigError, match="API keys"):
        serve(EchoService(), host=host, port=0)


def test_a_taken_port_is_a_config_error(url):
    """A port in use is told as such, before anything runs."""
    port = urlsplit(url).port
    with pytest.raises(ConfigError, match=f"port {port}"):
        serve(EchoService(), port=port)
    with pytest.raises(ConfigError, match=f"port {port}"):
        start_in_thread(create_app(EchoService()), port=port)


@pytest.mark.parametrize(
    "wrong",
    [{"threads": 0}, {"queue": -1}, {"max_body": 0}, {"body_timeout": math.nan}, {"failed_http_status": 404}],
    ids=str,
)
def test_senseless_settings_are_refused(wrong):
    """A setting that cannot work is a ConfigError that names it, and never reaches the server."""
    with pytest.raises(ConfigError, match=f"server.{next(iter(wrong))}"):
        load_settings(server=wrong)


def test_a_request_that_outlives_the_grace_is_told_that_the_server_stops():
    """When draining takes too long the open request still gets a problem document."""
    service = EchoService()
    url, stop = start_in_thread(create_app(service), grace=1)
    answers: list[Answer] = []
    caller = threading.Thread(target=lambda: answers.append(ask(url, "wait")))
    caller.start()
    assert service.entered.acquire(timeout=60)
    try:
        stop()
        caller.join(60)
    finally:
        service.gate.set()
    assert_problem(answers[0], 503, "shutting_down")


SERVE = """
import sys, time
from http_door import EchoService
from wenyuan.server.running import serve

class Slow(EchoService):
    def retrieve_fragments(self, request):
        print("entered", flush=True)
        time.sleep(0.5)
        print("worked", flush=True)
        return super().retrieve_fragments(request)

serve(Slow(), host=sys.argv[1], port=0, allow_remote=True, on_listening=lambda url: print(url, flush=True))
print("returned", flush=True)
"""


def stopped(*signals: signal.Signals) -> tuple[list[Answer], tuple[int, str, str]]:
    """What a server that is stopped while it works answers; its exit code, and what it printed since on both streams."""
    path = os.pathsep.join([str(Path(__file__).parents[1] / "support"), *sys.path])
    with subprocess.Popen(
        [sys.executable, "-c", SERVE, "127.0.0.1"],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            url = process.stdout.readline().strip()
            answers: list[Answer] = []
            caller = threading.Thread(target=lambda: answers.append(ask(url)))
            caller.start()
            assert process.stdout.readline() == "entered\n"
            for number in signals:
                process.send_signal(number)
                time.sleep(0.1)
            caller.join(60)
            rest, errors = process.communicate(timeout=120)
        finally:
            process.kill()
    return answers, (process.returncode, rest, errors)


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_drains_and_the_process_exits_with_0(stop):
    """Upon SIGTERM or SIGINT the open request is answered whole, and the exit code is 0."""
    answers, ended = stopped(stop)
    assert [answer.status for answer in answers] == [200]
    assert ended == (0, "worked\nreturned\n", "")


def test_a_second_signal_ends_the_waiting_but_no_work():
    """Told twice, it tells the open request that it stops; what is computing is done before `serve` returns and the library is closed."""
    answers, ended = stopped(signal.SIGTERM, signal.SIGTERM)
    (answer,) = answers
    assert_problem(answer, 503, "shutting_down")
    assert ended == (0, "worked\nreturned\n", "")


def test_a_remote_server_answers_to_any_host_name():
    """With open_to_all, which serve takes when remote access is allowed, the host name does not matter."""
    assert open_to_all({"host": "kb.example"}) == Principal()


def test_the_settings_come_without_the_web_framework():
    """Importing the seams loads neither framework nor server, so a command line can do it always."""
    code = "import sys, wenyuan.server; print({'starlette', 'uvicorn', 'pydantic'} & set(sys.modules))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
