"""Files that a scanner had set aside, over HTTP and in the console: seen and decided on by administrators alone, and recorded."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from console_door import Browser, console
from governed_door import key, send
from http_door import assert_problem
from wenyuan.core.access import parse_agent

NAMES = [hashlib.sha256(name).hexdigest() for name in (b"one", b"two")]
Opened = tuple[str, Any]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    with console(tmp_path) as found:
        for name in NAMES:
            found[1].quarantine.keep(b"bad", sha256=name, suffix=".md", scanner="clamd", reason=f"Trojan {name[:4]}")
        yield found


def test_listed_released_and_discarded(opened: Opened) -> None:
    """Each decision takes the file out of the list, is in force, and is in the audit under the key that made it."""
    url, library = opened
    admin = key(library, "admin")
    listed = send(url, "GET", "/v1/quarantine", token=admin).json["files"]
    assert {one["sha256"] for one in listed} == set(NAMES)
    assert {one["scanner"] for one in listed} == {"clamd"}
    released = send(url, "POST", f"/v1/quarantine/{NAMES[0]}/release", {}, admin)
    assert (released.status, released.json["sha256"]) == (200, NAMES[0])
    assert library.quarantine.released(NAMES[0])
    assert send(url, "POST", f"/v1/quarantine/{NAMES[1]}/discard", {}, admin).status == 200
    assert not library.quarantine.released(NAMES[1])
    assert send(url, "GET", "/v1/quarantine", token=admin).json == {"files": []}
    library.audit.flush()
    records = [one for one in library.audit.list(kind="registry") if one.record["object"].startswith("quarantine/")]
    assert [(one.record["action"], one.record["object"][11:]) for one in records] == [
        ("discarded", NAMES[1]), ("released", NAMES[0]),
    ]  # fmt: skip
    assert all(one.principal != "local" for one in records)


def test_who_may(opened: Opened) -> None:
    """No other right and no agent's key sees or decides anything; beginnings of names, absent and foreign ones are not found."""
    url, library = opened
    library.catalog.put_agent(parse_agent({"agent_id": "desk", "knowledge_scope": [{"domain": "duty"}]}))
    paths = [
        ("GET", "/v1/quarantine"),
        *(("POST", f"/v1/quarantine/{NAMES[0]}/{do}") for do in ("release", "discard")),
    ]
    for token, found in (
        (key(library, "ingest", "registry", "audit"), 403),
        (key(library, "admin", agent="desk"), 404),
    ):
        for method, path in paths:
            body = {} if method == "POST" else None
            assert send(url, method, path, body, token).status == (found if method == "POST" else 403)
    admin = key(library, "admin")
    for name in (NAMES[0][:12], "f" * 64, "F" * 64, "x"):
        for do in ("release", "discard"):
            assert_problem(send(url, "POST", f"/v1/quarantine/{name}/{do}", {}, admin), 404, "not_found")
    assert len(list(library.quarantine)) == 2


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_page(opened: Opened, language: str) -> None:
    """It shows why, and its buttons decide; who has no right to it is not led there."""
    url, library = opened
    browser = Browser(url, language)
    browser.sign_in(key(library, "admin", "search", "registry"))
    assert browser.get("/console/health").count("a[href='/console/quarantine']") == 1
    page = browser.get("/console/quarantine")
    assert page.count("li.card") == 2
    assert all(f"Trojan {name[:4]}" in page.text() for name in NAMES)
    after = browser.post(f"/console/quarantine/{NAMES[0]}", {"decision": "release"})
    assert (after.status, after.location) == (303, "/console/quarantine")
    assert library.quarantine.released(NAMES[0])
    browser.post(f"/console/quarantine/{NAMES[1]}", {"decision": "discard"})
    assert browser.get("/console/quarantine").count("li.card") == 0
    other = Browser(url, language)
    other.sign_in(key(library, "search"))
    assert other.get("/console/health").count("a[href='/console/quarantine']") == 0
    assert other.get("/console/quarantine").status == 403
