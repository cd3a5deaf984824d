"""Who changes a source, an agent, a profile or readers may say what he has seen: a change that came in between is not written over."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from governed_door import JSON, governed_server, key
from http_door import Answer, assert_problem, call

AGENT = {"agent_id": "desk", "knowledge_scope": [{"domain": "crm_policy"}]}
PROFILE = {"profile_id": "claims", "domains": ["crm_policy"], "terms": ["理赔"]}
PLACES: dict[str, tuple[str, str, str, dict[str, Any], dict[str, Any]]] = {
    "source": ("/v1/sources/wiki", "PATCH", "/v1/sources/wiki", {"title": "甲"}, {"trust": 1}),
    "agent": ("/v1/agents/desk", "POST", "/v1/agents", AGENT, AGENT | {"min_trust": 3}),
    "profile": ("/v1/tasks/claims", "POST", "/v1/tasks", PROFILE, PROFILE | {"terms": ["赔付"]}),
    "readers": ("/v1/documents/{n}/readers", "PUT", "/v1/documents/{n}/readers", {"readers": ["user:li"]}, {"readers": ["user:wu"]}),
}  # fmt: skip
"""Where it is got, by which method and where it is changed, and two bodies."""


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Any]:
    with governed_server(tmp_path) as (url, library):
        token = key(library, "admin")
        ((number, _), *_) = library.catalog.live_documents("wiki").values()

        def ask(method: str, path: str, body: object = None, seen: str | None = None) -> Answer:
            headers = {**JSON, "Authorization": f"Bearer {token}"} | ({} if seen is None else {"If-Match": seen})
            return call(url, method, path.format(n=number), body, headers)

        ask("POST", "/v1/agents", AGENT)
        ask("POST", "/v1/tasks", PROFILE)
        yield ask


@pytest.mark.parametrize("kind", sorted(PLACES))
def test_a_change_in_between_is_not_written_over(door: Any, kind: str) -> None:
    """With the version that was got, a change is made once; the second one is told, and changes nothing."""
    get, method, put, first, second = PLACES[kind]
    before = door("GET", get).headers["etag"]
    made = door(method, put, second, before)
    assert made.status == 200, made.body
    assert made.headers["etag"] != before
    told = door(method, put, first, before)
    assert_problem(told, 409, "conflict")
    assert door("GET", get).headers["etag"] == made.headers["etag"]
    assert door(method, put, first, made.headers["etag"]).status == 200
    assert door(method, put, second, "*").status == 200
    assert door(method, put, first).status == 200, "who says nothing of it changes what there is"


@pytest.mark.parametrize("kind", sorted(PLACES))
def test_nothing_is_removed_that_was_changed_in_between(door: Any, kind: str) -> None:
    """Who removes may say which one he has seen, too."""
    get, method, put, first, second = PLACES[kind]
    door(method, put, first)
    before = door("GET", get).headers["etag"]
    door(method, put, second)
    for stale in (before, '"nonsense"'):
        assert_problem(door("DELETE", get, None, stale), 409, "conflict")
    assert door("DELETE", get, None, door("GET", get).headers["etag"]).status == 200


def test_what_is_not_there_has_no_version(door: Any) -> None:
    """An agent that was removed meanwhile is not made again by who thinks to change it."""
    seen = door("GET", "/v1/agents/desk").headers["etag"]
    door("DELETE", "/v1/agents/desk")
    assert_problem(door("POST", "/v1/agents", AGENT | {"min_trust": 2}, seen), 409, "conflict")
    assert door("GET", "/v1/agents/desk").status == 404


def test_changes_of_different_fields_are_both_kept(door: Any) -> None:
    """Two who change different fields of a source at once do not undo one another."""
    fields = [{"title": "标题"}, {"owner": "张三"}, {"trust": 2}, {"tags": ["a"]}]
    with ThreadPoolExecutor(4) as pool:
        assert {answer.status for answer in pool.map(lambda f: door("PATCH", "/v1/sources/wiki", f), fields)} == {200}
    found = door("GET", "/v1/sources/wiki").json
    assert (found["title"], found["owner"], found["trust_level"], found["tags"]) == ("标题", "张三", 2, ["a"])
