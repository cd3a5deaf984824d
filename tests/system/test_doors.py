"""One library, many doors: the same fragments in the same order by each, and one outcome for each situation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import openai
import pytest

import wenyuan
from doors import AGENT, attach_optional, broken, foreign_library, served
from governed_door import key, send
from http_door import call
from mcp_clients import calling, over_http
from wenyuan import Client, InvalidRequest, NotPermitted, RetrievalFailed, RetrievalRequest
from wenyuan.conformance.documents import documents

Found = list[tuple[str, float]]
"""Words and score of each fragment, in the order in which they came."""


@dataclass(frozen=True)
class Asked:
    """Where to ask, what, and as whom."""

    url: str
    query: str
    token: str | None = None
    domain: str = "all"
    most: int = 5


def rest(asked: Asked) -> tuple[str, Found]:
    answer = send(asked.url, "POST", "/v1/retrieve_fragments", _contract(asked), asked.token)
    if answer.status != 200:
        return _refused(answer.status), []
    body = answer.json
    if body["status"] == "FAILED":
        return "failed", []
    return _told(body["fragments"]), [(f["content"], f["retrieval_score"]) for f in body["fragments"]]


def sdk(asked: Asked) -> tuple[str, Found]:
    try:
        with Client(asked.url, key=asked.token, retries=0) as client:
            fragments = client.retrieve_fragments(asked.query, max_results=asked.most)
    except InvalidRequest:
        return "invalid", []
    except NotPermitted:
        return "refused", []
    except RetrievalFailed:
        return "failed", []
    return _told([{"metadata": f.metadata} for f in fragments]), [(f.content, f.retrieval_score) for f in fragments]


def dify(asked: Asked) -> tuple[str, Found]:
    body = {
        "knowledge_id": asked.domain,
        "query": asked.query,
        "retrieval_setting": {"top_k": asked.most, "score_threshold": 0.0},
    }
    answer = send(asked.url, "POST", "/retrieval", body, asked.token)
    if answer.status != 200:
        return {2001: "unknown", 4000: "invalid", 1001: "refused", 1002: "refused"}.get(
            answer.json["error_code"], "failed" if answer.status >= 500 else "?"
        ), []
    records = answer.json["records"]
    return _told(records), [(r["content"], r["score"]) for r in records]


def stores(asked: Asked) -> tuple[str, Found]:
    with openai.OpenAI(base_url=f"{asked.url}/v1", api_key=asked.token or "none", max_retries=0) as client:
        try:
            page = client.vector_stores.search(asked.domain, query=asked.query, max_num_results=asked.most)
        except openai.NotFoundError:
            return "unknown", []
        except openai.BadRequestError:
            return "invalid", []
        except (openai.AuthenticationError, openai.PermissionDeniedError):
            return "refused", []
        except openai.InternalServerError:
            return "failed", []
    found = [{"metadata": result.attributes} for result in page.data]
    return _told(found), [(result.content[0].text, result.score) for result in page.data]


def mcp(asked: Asked) -> tuple[str, Found]:
    arguments = {"query": asked.query, "max_results": asked.most, "domain": asked.domain}
    try:
        result = over_http(asked.url, calling("retrieve_fragments", **arguments), token=asked.token)
    except BaseExceptionGroup:
        return "refused", []  # HTTP 401: the client has no session to speak in
    if result.is_error:
        text = result.content[0].text
        if text.startswith("FAILED"):
            return "failed", []
        return ("unknown" if "there is no domain" in text else "invalid"), []
    fragments = result.structured_content["fragments"]
    return _told(fragments), [(f["content"], f["retrieval_score"]) for f in fragments]


def _contract(asked: Asked) -> Mapping[str, Any]:
    return {"query": asked.query, "max_results": asked.most}


def _refused(status: int) -> str:
    return {400: "invalid", 401: "refused", 403: "refused"}[status]


def _told(found: list[Any]) -> str:
    if not found:
        return "empty"
    return "degraded" if any(one["metadata"].get("degraded") for one in found) else "hits"


DOORS: Mapping[str, Callable[[Asked], tuple[str, Found]]] = {
    "rest": rest, "sdk": sdk, "dify": dify, "stores": stores, "mcp": mcp,
}  # fmt: skip


# --- the same fragments -----------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, str, str]]:
    """A library of many documents in two languages, its server, and a key."""
    folder = tmp_path_factory.mktemp("shelf")
    (folder / "kit").mkdir()
    for name, text in documents().items():
        (folder / "kit" / name).write_text(text, encoding="utf-8")
    # A fast machine asks more often than a key may.
    with foreign_library(folder) as library, served(library, needs_keys=True, rate_per_key=0) as url:
        library.add(wenyuan.Source(source_id="kit", path=str(folder / "kit"), trust=3))
        yield library, url, key(library, "retrieve", "search")


def queries(count: int) -> list[str]:
    """Questions that the library's own texts suggest, and some that it cannot answer."""
    texts = [piece.strip() for text in documents().values() for piece in text.split("\n") if len(piece.strip()) > 12]
    suggested = [part for text in texts for part in (text[:40].lstrip("# "), text[-30:], text[10:45]) if part.strip()]
    fixed = ["客户投诉多久响应", "database connection pool", "个人数据 同意", "zqxv jwkp", "qqqq wwww 龘"]
    return list(dict.fromkeys([*fixed, *suggested]))[:count]


def test_every_door_gives_the_same_fragments_in_the_same_order(shelf: tuple[Any, str, str], thorough: bool) -> None:
    """Words, scores and order are those of the library itself."""
    library, url, token = shelf
    count = 50 if thorough else 20
    asked = queries(count)
    assert len(asked) == count

    async def by_mcp(client: Any) -> list[Found]:
        found = []
        for query in asked:
            result = await client.call_tool("retrieve_fragments", {"query": query, "max_results": 5})
            fragments = result.structured_content["fragments"]
            found.append([(f["content"], f["retrieval_score"]) for f in fragments])
        return found

    through_mcp = over_http(url, by_mcp, token=token)
    answered = 0
    for query, by_tool in zip(asked, through_mcp, strict=True):
        response = library.retrieve_fragments(RetrievalRequest(query=query, max_results=5))
        expected = [(f.content, f.retrieval_score) for f in response.fragments]
        answered += bool(expected)
        for name in ("rest", "sdk", "dify", "stores"):
            told = "hits" if expected else "empty"
            assert DOORS[name](Asked(url, query, token)) == (told, expected), (name, query)
        assert by_tool == expected, query
    assert answered >= 0.8 * count


def test_an_agents_key_sees_the_same_by_every_door(shelf: tuple[Any, str, str]) -> None:
    """What an agent may not see, no door shows."""
    library, url, _ = shelf
    token = key(library, "retrieve", agent=AGENT["agent_id"])
    for query in ("database connection pool 客户投诉", "个人数据"):
        found = {name: door(Asked(url, query, token)) for name, door in DOORS.items()}
        assert found["rest"][1]
        assert all(outcome == found["rest"] for outcome in found.values()), found


# --- one outcome table ------------------------------------------------------------------------------------------
Situation = tuple[str, dict[str, Any], str]
NOTHING = "zqxv jwkp"
QUERY = "客户投诉多久响应"

TABLE: Mapping[str, Situation] = {
    "hits, all is well": ("well", {"query": QUERY}, "hits"),
    "no hits, all is well": ("well", {"query": NOTHING}, "empty"),
    "malformed": ("well", {"query": " "}, "invalid"),
    "too long": ("well", {"query": "长" * 8_001}, "invalid"),
    "not authorised": ("well", {"query": QUERY, "token": "wy_no"}, "refused"),
    "unknown domain": ("well", {"query": QUERY, "domain": "nowhere"}, "unknown"),
    "hits, an optional part is down": ("optional", {"query": QUERY}, "degraded"),
    "nothing found, an optional part is down": ("optional", {"query": NOTHING}, "failed"),
    "a required part is down": ("required", {"query": QUERY}, "failed"),
    "the engine is down": ("engine", {"query": QUERY}, "failed"),
    "all is down": ("all", {"query": QUERY}, "failed"),
}


@pytest.fixture(scope="module")
def situations(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Any]]:
    """By name, a library in that state, behind a server."""
    with ExitStack() as stack:
        made: dict[str, tuple[str, str]] = {}

        def make(name: str) -> tuple[str, str]:
            if name not in made:
                library = stack.enter_context(foreign_library(tmp_path_factory.mktemp(name)))
                url = stack.enter_context(served(library, needs_keys=True))
                if name in ("optional", "all"):
                    attach_optional(library)
                if name == "required":
                    settings = {"url": "http://127.0.0.1:9/v1/retrieve_fragments"}
                    library.catalog.put_source(wenyuan.Source(source_id="must", type="api", settings=settings))
                if name in ("engine", "all"):
                    stack.enter_context(broken(library))
                made[name] = (url, key(library, "retrieve"))
            return made[name]

        yield make


@pytest.mark.parametrize("door", sorted(DOORS))
@pytest.mark.parametrize("row", sorted(TABLE))
def test_each_row_of_the_table_is_the_same_by_every_door(
    situations: Callable[[str], Any], row: str, door: str
) -> None:
    """A failure is never an empty answer, whoever asks in whatever protocol."""
    state, members, expected = TABLE[row]
    if expected == "unknown" and door in ("rest", "sdk"):
        return  # the contract's own method names no domain
    url, token = situations(state)
    outcome, found = DOORS[door](Asked(url, **{"token": token, **members}))
    assert outcome == expected
    assert bool(found) == (expected in ("hits", "degraded"))


def test_every_door_of_the_table_is_served(shelf: tuple[Any, str, str]) -> None:
    """The addresses that the doors use are those of the published document."""
    paths = set(call(shelf[1], "GET", "/openapi.json", None, {}).json["paths"])
    assert {"/v1/retrieve_fragments", "/retrieval", "/v1/vector_stores/{vector_store_id}/search", "/mcp"} <= paths
