"""The knowledge as files over HTTP."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest

from governed_door import governed_server, key, send
from http_door import assert_problem


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Any]]:
    with governed_server(tmp_path_factory.mktemp("tree")) as found:
        yield found


def test_a_caller_walks_from_the_sources_to_a_line(door: tuple[str, Any]) -> None:
    """Each answer names what the next question needs."""
    url, library = door
    token = key(library, "retrieve", agent="support")
    sources = send(url, "GET", "/v1/tree", None, token).json
    assert [one["path"] for one in sources["entries"]] == ["/crm_policy/", "/regulation_cn_gdpr/"]
    (document,) = send(url, "GET", "/v1/tree?path=/crm_policy/", None, token).json["entries"]
    text = send(url, "GET", f"/v1/tree/text?path={quote(document['path'])}", None, token).json
    assert text["text"].startswith("# 投诉处理\n\n客户投诉需在 24 小时内")
    assert (text["line"], text["next_line"]) == (1, None)
    found = send(url, "GET", f"/v1/tree/matches?pattern={quote('[0-9]+ 小时')}&regex=true", None, token).json
    assert [(one["path"], one["line"]) for one in found["matches"]] == [(document["path"], 3)]


def test_what_is_anothers_is_as_what_is_absent(door: tuple[str, Any]) -> None:
    """The same status and the same words, at each of the three."""
    url, library = door
    token = key(library, "retrieve", agent="support")
    for path in ("/v1/tree?path=/{}", "/v1/tree/text?path=/{}/wiki.md", "/v1/tree/matches?pattern=a&path=/{}"):
        foreign = assert_problem(send(url, "GET", path.format("wiki"), None, token), 404, "not_found")
        absent = assert_problem(send(url, "GET", path.format("none"), None, token), 404, "not_found")
        assert {**foreign, "request_id": ""} == {**absent, "request_id": ""}


@pytest.mark.parametrize(
    "query",
    ["?name=", "/matches?pattern=a&name=", "/text", "/text?path=/crm_policy", "?limit=0", "?limit=x", "?depth=2", "/matches", "/matches?pattern=(&regex=true",
     "/text?path=/crm_policy/crm_policy.md&line=0", "?path=/&path=/", "/matches?pattern=a&after=W10"],
)  # fmt: skip
def test_a_mistake_is_told_as_one(door: tuple[str, Any], query: str) -> None:
    """400 with what is wrong; nothing is ignored."""
    url, library = door
    assert send(url, "GET", f"/v1/tree{query}", None, key(library, "retrieve")).status in {400, 422}


def test_each_needs_the_right_to_retrieve(door: tuple[str, Any]) -> None:
    """401 without a key, 403 with another right."""
    url, library = door
    for path in ("/v1/tree", "/v1/tree/text?path=/wiki/wiki.md", "/v1/tree/matches?pattern=a"):
        assert send(url, "GET", path, None, None).status == 401
        assert send(url, "GET", path, None, key(library, "feedback")).status == 403


def test_a_path_names_nothing_of_the_machine(door: tuple[str, Any]) -> None:
    """Neither entries nor marks of pages say where the files lie; an address is what others are told of a document."""
    url, library = door
    token = key(library, "retrieve")
    for query in ("?limit=1&name=*", "/matches?pattern=投诉&limit=1"):
        answer = send(url, "GET", quote(f"/v1/tree{query}", safe="/?=&*"), None, token)
        assert answer.status == 200
        said = base64.urlsafe_b64decode(answer.json["next"] + "===")
        assert str(library.folder.parent).encode() not in answer.body + said
