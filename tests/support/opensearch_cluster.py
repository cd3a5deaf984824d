"""A cluster of OpenSearch for tests: the one that WENYUAN_TEST_OPENSEARCH names, or nodes in processes of their own."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

import pytest

from listening import free_port

GIVEN = os.environ.get("WENYUAN_TEST_OPENSEARCH", "")  # read before the tests clear the environment
ROUNDS = int(os.environ.get("WENYUAN_TEST_ROUNDS", "10"))
"""How often nodes are killed."""
PREFIX = f"wenyuan_test_{secrets.token_hex(4)}"
"""Of the indices that tests make; they are deleted at the end, for the cluster may be somebody's."""
HOME = Path(sys.prefix).with_name(f"{Path(sys.prefix).name}-opensearch")
_JAVA = (
    "-Xms96m", "-Xmx256m", "-XX:MaxDirectMemorySize=96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xss512k",
)  # fmt: skip
_GROUP = 54_321
_LOG = """appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d %-5p %c{1.} %m%n
rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
"""


class ClusterNode:
    """One node, in a process that can be killed and started again on the same data."""

    def __init__(self, folder: Path, name: str, settings: Mapping[str, Any]) -> None:
        self.folder, self.name, self.port = folder / name, name, free_port()
        self.settings = {**settings, "node.name": name, "http.port": self.port, "network.host": "127.0.0.1"}
        self.url = f"http://127.0.0.1:{self.port}"
        self.group: int | None = None
        """Of the process, to tell its packets from those of others."""
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it; `Cluster.wait` waits until it has joined."""
        (self.folder / "config").mkdir(parents=True, exist_ok=True)
        (self.folder / "config" / "opensearch.yml").write_text(json.dumps(self.settings), "utf-8")
        (self.folder / "config" / "log4j2.properties").write_text(_LOG, "utf-8")
        paths = f"{HOME / 'classes'}:{HOME / 'lib'}/*"
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                ["java", *_JAVA, "-cp", paths, "ClusterNode", str(self.folder)],
                stdout=log, stderr=log, group=self.group,
            )  # fmt: skip

    @property
    def running(self) -> bool:
        return self._process is not None

    def kill(self) -> None:
        """End it at once, as if the machine had lost its power."""
        self._end("kill")

    def stop(self) -> None:
        """End it in order."""
        self._end("terminate")

    def _end(self, how: str) -> None:
        if self._process is not None:
            getattr(self._process, how)()
            self._process.wait(60)
            self._process = None


class Cluster:
    """Nodes that form a cluster on loopback."""

    def __init__(self, folder: Path, size: int, settings: Mapping[str, Any] | None = None) -> None:
        ports = [free_port() for _ in range(size)]
        names = [f"node{number}" for number in range(size)]
        shared = {
            "cluster.name": f"wenyuan-{secrets.token_hex(4)}",
            "discovery.seed_hosts": [f"127.0.0.1:{port}" for port in ports],
            "cluster.initial_cluster_manager_nodes": names,
            "cluster.routing.allocation.disk.threshold_enabled": False,
            **(settings or {}),
        }
        self.nodes = [
            ClusterNode(folder, name, {**shared, "transport.port": port})
            for name, port in zip(names, ports, strict=True)
        ]

    @property
    def urls(self) -> list[str]:
        return [node.url for node in self.nodes]

    def start(self) -> None:
        for node in self.nodes:
            if not node.running:
                node.start()
        self.wait()

    def wait(self, status: str = "green", seconds: float = 180.0) -> None:
        """Until all running nodes have joined and the cluster is as green as asked."""
        running = [node for node in self.nodes if node.running]
        path = f"/_cluster/health?wait_for_status={status}&wait_for_nodes={len(running)}&timeout=5s"
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            try:
                if all(not called(node.url, "GET", path)["timed_out"] for node in running):
                    return
            except (OSError, URLError):
                time.sleep(0.3)
        logs = [(node.folder / "log").read_text("utf-8", "replace")[-2_000:] for node in running]
        raise RuntimeError("the cluster did not become " + status + "\n" + "\n".join(logs))

    def end(self) -> None:
        for node in self.nodes:
            node.kill()


def called(url: str, method: str, path: str, body: Any = None) -> Any:
    """A reply of a node."""
    data = None if body is None else json.dumps(body).encode()
    asked = Request(url + path, data, {"content-type": "application/json"}, method=method)
    with urlopen(asked, timeout=30) as reply:
        return json.loads(reply.read() or b"null")


def clear(url: str) -> None:
    """Delete the indices of tests."""
    if names := list(called(url, "GET", f"/{PREFIX}*")):
        called(url, "DELETE", f"/{','.join(names)}")


def needed() -> None:
    """Skip a test where there is no Java, or the parts are not installed."""
    if shutil.which("java") is None:
        pytest.skip("not run: there is no Java")
    if not (HOME / ".made").exists():
        pytest.skip("not run: OpenSearch is not installed; make test-cluster installs it")


@contextmanager
def own(size: int = 3, settings: Mapping[str, Any] | None = None, *, marked: bool = False) -> Iterator[Cluster]:
    """A cluster of this test's own.

    Args:
        marked: Whether the packets of its first node can be told from those of the others (see `cut_off`).
    """
    needed()
    with tempfile.TemporaryDirectory(prefix="wenyuan-cluster-", ignore_cleanup_errors=True) as folder:
        cluster = Cluster(Path(folder), size, settings)
        cluster.nodes[0].group = _GROUP if marked else None
        try:
            cluster.start()
            yield cluster
        finally:
            cluster.end()


@contextmanager
def cut_off(cluster: Cluster) -> Iterator[None]:
    """A network in which the first node and the others do not hear one another; whoever asks them reaches all of them."""
    first, *others = (str(node.settings["transport.port"]) for node in cluster.nodes)
    rules = [("--dport", first), ("--sport", first)]
    own = [("-m", "owner", "--gid-owner", str(_GROUP), "--dport", port) for port in others]
    made: list[Sequence[str]] = []
    try:
        for rule in (*rules, *own):
            _iptables("-I", rule)
            made.append(rule)
        yield
    finally:
        for rule in made:
            _iptables("-D", rule)


def _iptables(action: str, rule: Sequence[str]) -> None:
    command = ["iptables", "-w", action, "OUTPUT", "-o", "lo", "-p", "tcp", *rule, "-j", "DROP"]
    subprocess.run(command, check=True, capture_output=True)


def can_cut_off() -> bool:
    """Whether this process may split the network."""
    rule = ("-m", "owner", "--gid-owner", str(_GROUP), "--dport", "1")
    try:
        _iptables("-I", rule)
        _iptables("-D", rule)
    except (OSError, subprocess.CalledProcessError):
        return False
    return os.geteuid() == 0
