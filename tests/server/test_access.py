"""Who may do what over HTTP: every route, against every way of not being allowed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import Response

from governed_door import BODIES, RIGHT_OF, SUPPORT, at, governed_server, key, send
from http_door import JSON, EchoService, assert_problem, call
from wenyuan.core.access import RIGHTS, Principal
from wenyuan.core.errors import CatalogUnavailable, ConfigError, NotPermitted
from wenyuan.server.app import PUBLIC, ROUTES, create_app
from wenyuan.server.keys import KeyRing, guarded, key_ring
from wenyuan.server.route import declared, route
from wenyuan.server.running import serve
from wenyuan.server.token_callers import METADATA

Served = tuple[str, Any]
GUARDED = sorted((method, path, right) for (method, path), right in RIGHT_OF.items() if right is not None)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with governed_server(tmp_path_factory.mktemp("access")) as found:
        yield found


def body_of(path: str) -> Any:
    return BODIES.get(path) or BODIES.get(f"/v1{path}")


def assert_refused(answer: Any, path: str, status: int, code: str) -> None:
    """Refused in the words of the protocol that the path speaks."""
    if path == "/retrieval":  # Dify takes every status but 403 for a good key
        assert (answer.status, set(answer.json)) == (403, {"error_code", "error_msg", "request_id"})
        assert answer.json["error_code"] in ((1001, 1002) if status == 401 else (1002,))
    elif path.startswith("/v1/vector_stores"):
        assert (answer.status, set(answer.json)) == (status, {"error"})
        assert answer.json["error"]["code"] == {"unauthenticated": "invalid_api_key"}.get(code, code)
    else:
        assert_problem(answer, status, code)


def walk(served: Served, method: str, path: str, token: str | None) -> Any:
    return send(served[0], method, at(path), body_of(path) if method in ("POST", "PATCH") else None, token)


def test_every_route_declares_its_right(served: Served) -> None:
    """What is served is what is declared, each once, and every right is a known one; so for a service of one method."""
    for service in (served[1], EchoService()):
        app = create_app(service)
        routes = {(method, route.path) for route in app.routes for method in route.methods if method != "HEAD"}
        declared = {
            (method, path.replace("{pack}", "{pack:path}").replace("{path}", "{path:path}"))
            for method, path in RIGHT_OF
        }
        assert routes == declared if service is served[1] else routes < declared
    assert len(RIGHT_OF) == len(ROUTES)
    assert {right for right in RIGHT_OF.values() if right} <= set(RIGHTS)
    described = {METADATA, f"{METADATA}/mcp"}
    assert {"/livez", "/readyz", "/openapi.json", "/openapi-tools.json", "/llms.txt"} | described == PUBLIC


@pytest.mark.parametrize("right", sorted(RIGHTS))
def test_only_what_is_declared_is_reached(right: str) -> None:
    """A handler without a declaration has no route; one with a right is refused to a key that has any other."""

    class Part:
        async def hidden(self, _request: Request) -> Response:
            return Response("hidden")

        @route("GET", "/part", right, None)
        async def shown(self, _request: Request) -> Response:
            return Response("shown")

    def asked(held: str) -> Response:
        request = Request({"type": "http", "state": {"principal": Principal(rights=frozenset({held}))}})
        ((_, one),) = declared(Part)
        return asyncio.run(guarded(one.right, Part().shown)(request))

    assert [one.path for _, one in declared(Part)] == ["/part"]
    assert asked(right).status_code == 200
    for other in set(RIGHTS) - {right, "admin"}:
        with pytest.raises(NotPermitted):
            asked(other)


def test_the_document_describes_every_guarded_route(served: Served) -> None:
    """OpenAPI names each method of each path that the table has."""
    paths = send(served[0], "GET", "/openapi.json").json["paths"]
    assert {(m.upper(), p) for p, ops in paths.items() for m in ops} == set(RIGHT_OF) - {("GET", "/openapi.json")}


@pytest.fixture(scope="module")
def useless(served: Served) -> tuple[str | None, ...]:
    """What is no key that counts: none, garbled ones, an unknown, a revoked and an expired one."""
    library = served[1]
    good, revoked = key(library, "admin"), key(library, "admin")
    library.catalog.revoke_key(revoked.split("_")[1])
    expired = key(library, "admin", expires_at=time.time() - 1)
    unknown = f"wy_ffffffff_{good[-43:]}"
    changed = good[:-1] + ("A" if good[-1] != "A" else "B")
    return None, "x", good[:-1], f"{good}x", changed, unknown, revoked, expired


@pytest.mark.parametrize(("method", "path", "right"), GUARDED)
def test_without_a_key_that_counts_no_route_answers(
    served: Served, useless: tuple[str | None, ...], method: str, path: str, right: str
) -> None:
    """No key, a garbled one, an unknown one, a revoked one, an expired one: 401, with how to authenticate."""
    for token in useless:
        answer = walk(served, method, path, token)
        assert_refused(answer, path, 401, "unauthenticated")
        assert answer.headers["WWW-Authenticate"] == "Bearer"
        assert token is None or token not in answer.body.decode() or token == "x"


@pytest.mark.parametrize(("method", "path", "right"), GUARDED)
def test_every_other_right_is_not_enough(served: Served, method: str, path: str, right: str) -> None:
    """A key with all rights but the one that is needed, and admin, gets 403."""
    token = key(served[1], *(set(RIGHTS) - {right, "admin"}))
    assert_refused(walk(served, method, path, token), path, 403, "not_permitted")


@pytest.fixture(scope="module")
def others(served: Served) -> tuple[str, str, str]:
    """The ids of a key and of a record of an agent, and the key of another agent."""
    library = served[1]
    other = library.catalog.create_key("other", frozenset(("search",)), None)[0].key_id
    asked = send(served[0], "POST", "/v1/search", body_of("/v1/search"), key(library, "search", agent="other"))
    recorded = library.audit.list(kind="retrieval", limit=1)[0]
    assert asked.json["status"] == "SUCCESS"
    assert recorded.record["agent"] == "other"
    return other, recorded.audit_id, key(library, "admin", agent="support")


@pytest.mark.parametrize(
    ("method", "path", "right"),
    [
        entry
        for entry in GUARDED
        if "{" in entry[1] and not entry[1].startswith(("/v1/vector_stores", "/v1/tasks", "/v1/impact"))
    ],
)
def test_what_is_anothers_is_not_there(
    served: Served, others: tuple[str, str, str], method: str, path: str, right: str
) -> None:
    """To an agent's key, another agent's objects and those that do not exist are the same 404."""
    other, recorded, token = others
    changed = {"PATCH": {}, "PUT": {"members": []}} if path.startswith("/v1/groups") else {"PATCH": body_of(path)}
    body = changed.get(method)
    foreign = send(served[0], method, at(path, key_id=other, audit_id=recorded), body, token)
    absent = send(served[0], method, at(path, source_id="none", agent_id="none", document_id="none"), body, token)
    for answer in (foreign, absent):
        assert_problem(answer, 404, "not_found")
    assert foreign.json["detail"] == absent.json["detail"]


@pytest.mark.parametrize("path", ["/v1/search", "/search", "/v1/context"])
def test_an_agents_key_speaks_for_no_other(served: Served, path: str) -> None:
    """Another agent's id is 404 as is one that does not exist, and a wider scope is 403 whether it exists or not."""
    url, library = served
    token = key(library, "search", agent="support")
    body = body_of(path)
    for name in ("other", "none"):
        assert_problem(send(url, "POST", path, {**body, "agent_id": name}, token), 404, "not_found")
    for name in ("wiki", "none"):
        wider = {"top_k": {name: 1}} if path == "/v1/context" else {"knowledge_scope": [{"domain": name}]}
        assert_problem(send(url, "POST", path, {**body, **wider}, token), 403, "not_permitted")
    assert send(url, "POST", path, {**body, "agent_id": "support"}, token).json["status"] == "SUCCESS"


def test_an_agents_key_retrieves_only_its_scope(served: Served) -> None:
    """The contract's own method finds nothing outside the scope of the agent whose key asks."""
    url, library = served
    found = {}
    for agent in (None, "support", "other"):
        answer = send(
            url,
            "POST",
            "/v1/retrieve_fragments",
            body_of("/v1/retrieve_fragments"),
            key(library, "retrieve", agent=agent),
        )
        found[agent] = {fragment["metadata"]["source_id"] for fragment in answer.json["fragments"]}
    assert found == {
        None: {"crm_policy", "regulation_cn_gdpr", "wiki"},
        "support": {"crm_policy", "regulation_cn_gdpr"},
        "other": {"wiki"},
    }


def test_an_agents_key_changes_nothing(served: Served) -> None:
    """Its own scope, its own sources: an agent's key may look, but not widen."""
    url, library = served
    token = key(library, "admin", agent="support")
    assert send(url, "GET", "/v1/agents/support", token=token).json["agent_id"] == "support"
    assert [a["agent_id"] for a in send(url, "GET", "/v1/agents", token=token).json["agents"]] == ["support"]
    listed = send(url, "GET", "/v1/sources", token=token).json["sources"]
    assert {source["source_id"] for source in listed} == {"crm_policy", "regulation_cn_gdpr"}
    assert "path" not in send(url, "GET", "/v1/sources/crm_policy", token=token).json
    for method, path, body in (
        ("POST", "/v1/agents", {**SUPPORT, "knowledge_scope": [{"domain": "wiki"}]}),
        ("DELETE", "/v1/agents/support", None),
        ("POST", "/v1/sources", BODIES["/v1/sources"]),
        ("PATCH", "/v1/sources/crm_policy", {"trust": 1}),
        ("DELETE", "/v1/sources/crm_policy", None),
        ("POST", "/v1/sources/crm_policy/refresh", None),
        ("GET", "/v1/tasks/none", None),
        ("DELETE", "/v1/tasks/none", None),
        ("GET", "/v1/synonyms", None),
        ("POST", "/v1/synonyms", {"term": "晚交楼", "synonym": "逾期交付"}),
    ):
        assert_problem(send(url, method, path, body, token), 403, "not_permitted")
    made = send(url, "POST", "/v1/keys", {"rights": ["search"]}, token)
    assert (made.status, made.json["agent_id"]) == (201, "support")
    assert_problem(
        send(url, "POST", "/v1/keys", {"rights": ["search"], "agent_id": "other"}, token), 404, "not_found"
    )


def test_a_key_is_made_and_listed_with_its_name(served: Served) -> None:
    """The name is what was given, or nothing; one that is too long or no line of text is a fault of `name`."""
    url, library = served
    token = key(library, "admin")
    assert (
        send(url, "POST", "/v1/keys", {"rights": ["search"], "name": "报表 robot"}, token).json["name"]
        == "报表 robot"
    )
    assert send(url, "POST", "/v1/keys", {"rights": ["search"]}, token).json["name"] == ""
    listed = send(url, "GET", "/v1/keys", token=token).json["keys"]
    assert [one["name"] for one in listed][-2:] == ["报表 robot", ""]
    for name in ("x" * 101, "a\u202eb"):
        refused = send(url, "POST", "/v1/keys", {"rights": ["search"], "name": name}, token)
        assert (refused.status, refused.json["errors"][0]["path"]) == (400, "name")


def test_a_key_revoked_elsewhere_is_refused_within_a_second(served: Served) -> None:
    """What another process revokes counts here less than a second later, though the key was just used."""
    url, library = served
    token = key(library, "registry")
    assert send(url, "GET", "/v1/agents", token=token).status == 200
    library.catalog.revoke_key(token.split("_")[1])
    time.sleep(0.6)
    assert_problem(send(url, "GET", "/v1/agents", token=token), 401, "unauthenticated")


def test_a_key_expires_while_it_is_in_use(served: Served) -> None:
    """Expiry counts at once, whatever is remembered of a key."""
    url, library = served
    token = key(library, "registry", expires_at=time.time() + 0.3)
    assert send(url, "GET", "/v1/agents", token=token).status == 200
    time.sleep(0.32)
    assert_problem(send(url, "GET", "/v1/agents", token=token), 401, "unauthenticated")


def test_two_authorizations_are_none(served: Served) -> None:
    """A request that names two keys is refused, whichever comes first."""
    from http_door import raw

    good = key(served[1], "admin")
    for pair in ((good, "x"), ("x", good)):
        lines = "".join(f"Authorization: Bearer {token}\r\n" for token in pair)
        said = raw(served[0], f"GET /v1/keys HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{lines}\r\n".encode())
        assert said.startswith(b"HTTP/1.1 401 ")


def test_loopback_is_open_until_there_is_a_key(tmp_path: Path) -> None:
    """Without keys everything is allowed; the first key closes the door, and revoking it does not open it again."""
    with governed_server(tmp_path, needs_keys=False) as (url, library):
        assert send(url, "GET", "/v1/keys").json == {"keys": []}
        assert send(url, "GET", "/v1/keys", token="none").json == {"keys": []}  # as clients send that must send one
        made = send(url, "POST", "/v1/keys", {"rights": ["admin"]})
        assert made.status == 201
        assert_problem(send(url, "GET", "/v1/keys"), 401, "unauthenticated")
        assert_problem(send(url, "GET", "/v1/keys", token="none"), 401, "unauthenticated")
        token = made.json["key"]
        listed = send(url, "GET", "/v1/keys", token=token)
        assert [entry["key_id"] for entry in listed.json["keys"]] == [made.json["key_id"]]
        assert token not in listed.body.decode()
        assert send(url, "DELETE", f"/v1/keys/{made.json['key_id']}", token=token).json["revoked"] is True
        for offered in (token, None, "none"):
            assert_problem(send(url, "GET", "/v1/keys", token=offered), 401, "unauthenticated")
        assert library.catalog.keys()[0].revoked_at is not None


def test_an_unknown_key_is_refused_where_none_is_needed(tmp_path: Path) -> None:
    """Whoever sends a key of ours means to be somebody: on an open server, too, one that is not known is refused."""
    offers = (f"Bearer wy_00000000_{'a' * 43}", "Bearer wy_x", "Bearer", "Basic eDp5")
    with governed_server(tmp_path, needs_keys=False) as (url, _):
        for method, path, _ in GUARDED:
            for offered in offers:
                answer = call(url, method, at(path), body_of(path), {**JSON, "Authorization": offered})
                assert_refused(answer, path, 401, "unauthenticated")
        assert send(url, "GET", "/v1/sources").status == 200


def test_another_token_opens_nothing_where_no_key_is_needed(tmp_path: Path) -> None:
    """It is as if it were not there: the host's name and the page that asks are looked at all the same."""
    with governed_server(tmp_path, needs_keys=False) as (url, _):
        token = {"Authorization": "Bearer sk-none"}
        assert call(url, "GET", "/v1/sources", None, token).status == 200
        assert call(url, "GET", "/v1/sources", None, {**token, "Host": "evil.example"}).status == 403
        assert call(url, "POST", "/v1/audit/verify", None, {**token, "Origin": "http://evil.example"}).status == 403


def test_a_server_that_knows_no_keys_refuses_them() -> None:
    """A service without keys of its own lets nobody in as somebody else either."""
    from http_door import serving

    with serving(EchoService()) as url:
        assert send(url, "GET", "/v1/sources").status == 200
        assert send(url, "GET", "/v1/sources", token="none").status == 200
        assert_problem(send(url, "GET", "/v1/sources", token="wy_x"), 401, "unauthenticated")


def test_a_key_gives_no_right_that_it_lacks(served: Served) -> None:
    """Only an admin key makes keys, with rights that are known and an end that is to come."""
    url, token = served[0], key(served[1], "admin")
    for body in (
        {"rights": []},
        {"rights": ["root"]},
        {"rights": ["search"], "expires_at": 1.0},
        {"right": ["search"]},
        {},
    ):
        assert_problem(send(url, "POST", "/v1/keys", body, token), 400, "invalid_request")


class WithdrawnEvidence:
    """A catalog that cannot be read."""

    def keys(self) -> Any:
        raise CatalogUnavailable("disk gone", component="catalog")

    def key_of_token(self, token: str) -> Any:
        raise CatalogUnavailable("disk gone", component="catalog")


@pytest.mark.parametrize("token", [None, f"wy_00000000_{'a' * 43}"])
def test_keys_that_cannot_be_read_let_nobody_in(token: str | None) -> None:
    """When the catalog fails, nobody is let in, not even where no key would be needed."""
    from http_door import serving

    with serving(EchoService(), authenticate=KeyRing(WithdrawnEvidence(), open_without_keys=True)) as url:
        assert_problem(send(url, "GET", "/v1/sources", token=token), 503, "catalog_unavailable")


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.5", "::"])
def test_beyond_this_machine_a_key_is_needed_to_start(served: Served, host: str, tmp_path: Path) -> None:
    """Without a usable key a server that others can reach does not start, and says how to make one."""
    import wenyuan

    with wenyuan.open(tmp_path / "empty", create=True, encoder={"kind": "none"}) as library:
        key(library, "search", expires_at=time.time() - 1)
        with pytest.raises(ConfigError, match="API keys") as caught:
            serve(library, host, 0, keys=library.catalog)
        assert "wenyuan key create" in caught.value.hint
        key(library, "search")
        assert isinstance(key_ring(library.catalog, host), KeyRing)


def test_what_is_not_said_of_a_keys_eyes_stays(tmp_path: Path) -> None:
    """Groups alone leave the user, and with it what is denied to that user; nothing at all is refused."""
    with governed_server(tmp_path) as (url, library):
        admin = key(library, "admin")
        made, _ = library.catalog.create_key(None, frozenset({"search"}), None, user="user:wu", groups=["works"])
        path = f"/v1/keys/{made.key_id}"
        assert send(url, "PATCH", path, {"groups": ["works", "hr"]}, admin).json["user"] == "user:wu"
        told = send(url, "PATCH", path, {"user": None}, admin).json
        assert (told["user"], told["groups"]) == ("", ["group:hr", "group:works"])
        assert_problem(send(url, "PATCH", path, {}, admin), 400, "invalid_request")
