"""Callers who are told by tokens: whose keys count, for how long, what groups and scopes may do, and what clients are told."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from governed_door import key, send
from http_door import JSON, assert_problem, call
from issuer_server import AUDIENCE, ec_key, rsa_key
from signing_door import SigningDoor, signing_door
from wenyuan.cli.root import app
from wenyuan.client import Client
from wenyuan.core.errors import ConfigError, KnowledgeError
from wenyuan.core.person import person_id
from wenyuan.issuer.issuer_keys import BETWEEN, FRESH
from wenyuan.server.keys import KeyRing, key_ring
from wenyuan.server.token_callers import METADATA, token_callers
from wenyuan.settings import Settings


@pytest.fixture
def door(tmp_path: Path) -> Iterator[SigningDoor]:
    with signing_door(tmp_path, keys_kept=600) as made:
        yield made


def fetched(door: SigningDoor) -> int:
    return door.issuer.asked.count("/jwks")


def test_keys_and_tokens_stand_side_by_side(door: SigningDoor) -> None:
    """A key of the library counts as before; a token is told by its form; without either nobody is admitted, even here."""
    assert door.search(key(door.library, "search")).status == 200
    assert door.search(door.issuer.token()).status == 200
    for nothing in (None, "x", "wy_00000000_" + "A" * 43):
        problem = assert_problem(door.search(nothing), 401, "unauthenticated")
        assert "or a token of the issuer" in problem["detail"]


def test_a_new_key_is_fetched_once(door: SigningDoor) -> None:
    """A token of a key that is not known makes the keys be fetched again; then it counts, and old keys no longer do."""
    assert door.search(door.issuer.token()).status == 200
    old = door.issuer.token()
    door.issuer.keys = [rsa_key(1)]
    door.ticks.now += BETWEEN
    assert door.search(door.issuer.token()).status == 200
    assert fetched(door) == 2
    assert "names no key" in door.search(old).json["detail"]


def test_made_up_keys_do_not_make_it_ask_again_and_again(door: SigningDoor) -> None:
    """Fifty tokens with names of keys that nobody has: one request to the issuer, and the next one not before its time."""
    assert door.search(door.issuer.token()).status == 200
    door.ticks.now += BETWEEN
    for number in range(50):
        assert door.search(door.issuer.token(header={"kid": f"made-up-{number}"})).status == 401
    assert fetched(door) == 2
    door.ticks.now += BETWEEN
    assert door.search(door.issuer.token(header={"kid": "made-up"})).status == 401
    assert fetched(door) == 3


@pytest.mark.parametrize(
    "fault",
    [500, 404, 302, b"<html>Maintenance</html>", b"", b"[]", b'{"keys": 1}', b'{"keys": []}', b'{"keys": [{"kty": "oct", "k": "AAAA"}]}',
     b'{"keys": [], "keys": []}', b"x" * 600_000, 30.0],
    ids=["500", "404", "302", "HTML", "nothing", "a list", "no set", "no keys", "a secret", "twice", "huge", "silence"],
)  # fmt: skip
@pytest.mark.parametrize("where", ["/jwks", "/.well-known/openid-configuration"])
def test_an_issuer_that_gives_no_keys_opens_nothing(tmp_path: Path, where: str, fault: Any) -> None:
    """503 while there are no keys, and 401 for none; keys of the library count meanwhile, and tokens as soon as it answers."""
    with signing_door(tmp_path, timeout=4 if fault == 30.0 else 30) as door:
        door.issuer.faults[where] = fault
        for _ in range(2):
            problem = assert_problem(door.search(door.issuer.token()), 503, "issuer_unavailable")
            assert "issuer" in problem["detail"]
            assert "Maintenance" not in problem["detail"]
        assert door.search(key(door.library, "search")).status == 200
        assert door.search(None).status == 401
        assert door.issuer.asked.count(where) == 1
        del door.issuer.faults[where]
        door.ticks.now += BETWEEN
        assert door.search(door.issuer.token()).status == 200


def test_the_last_good_keys_count_for_a_while(door: SigningDoor) -> None:
    """While the issuer is silent its last keys count as long as the settings say; then nobody can be told: 503, not open."""
    assert door.search(door.issuer.token()).status == 200
    door.issuer.faults["/jwks"] = 503
    door.ticks.now += FRESH + 1
    for _ in range(3):
        assert door.search(door.issuer.token()).status == 200
    door.ticks.now += BETWEEN
    assert_problem(door.search(door.issuer.token(key=rsa_key(1))), 503, "issuer_unavailable")
    door.ticks.now += 600
    assert_problem(door.search(door.issuer.token()), 503, "issuer_unavailable")
    del door.issuer.faults["/jwks"]
    door.ticks.now += BETWEEN
    assert door.search(door.issuer.token()).status == 200


def test_keys_are_renewed_beside_the_answering(door: SigningDoor) -> None:
    """When they are old they are fetched again, and who asks meanwhile does not wait for it."""
    assert door.search(door.issuer.token()).status == 200
    door.issuer.faults["/jwks"] = 30.0
    door.ticks.now += FRESH
    assert door.search(door.issuer.token()).status == 200
    assert door.tokens._refreshing is not None
    assert not door.tokens._refreshing.done()
    door.issuer.released.set()
    while fetched(door) < 2:
        time.sleep(0.005)
    assert not door.tokens.keys.may_ask
    assert fetched(door) == 2


def test_a_silent_issuer_keeps_nobody_else_waiting(tmp_path: Path) -> None:
    """Forty bearers of tokens wait for it together, one request long; a bearer of a key is answered in between."""
    with signing_door(tmp_path, timeout=10) as door:
        door.issuer.faults["/jwks"] = 30.0
        held = key(door.library, "search")
        found: list[int] = []
        threads = [
            threading.Thread(target=lambda: found.append(door.search(door.issuer.token()).status)) for _ in range(40)
        ]
        for thread in threads:
            thread.start()
        while "/jwks" not in door.issuer.asked:
            time.sleep(0.005)
        assert door.search(held).status == 200
        assert found == []
        for thread in threads:
            thread.join(30)
        assert found == [503] * 40
        assert door.issuer.asked.count("/jwks") == 1


@pytest.mark.parametrize(
    ("metadata", "said"),
    [
        ({"issuer": "https://evil.example.com"}, "another issuer"),
        ({"issuer": None}, "another issuer"),
        ({"jwks_uri": None}, "none that may be asked"),
        ({"jwks_uri": "file:///etc/passwd"}, "none that may be asked"),
        ({"jwks_uri": "https://user:pw@host/jwks"}, "none that may be asked"),
        ({"jwks_uri": "http://169.254.169.254/latest/meta-data"}, "no source may have"),
        ({"jwks_uri": "http://[::ffff:169.254.169.254]/"}, "no source may have"),
        ({"jwks_uri": "http://host:99999/"}, "none that may be asked"),
        ({"token_endpoint": "javascript:alert(1)"}, "none that may be asked"),
    ],
    ids=str,
)
def test_metadata_that_lead_elsewhere_are_refused(tmp_path: Path, metadata: dict[str, Any], said: str) -> None:
    """An issuer that calls itself otherwise, or whose keys would lie where nothing may be asked, is none."""
    with signing_door(tmp_path) as door:
        door.issuer.metadata = metadata
        problem = assert_problem(door.search(door.issuer.token()), 503, "issuer_unavailable")
        assert said in problem["detail"]


def test_private_addresses_need_the_setting(tmp_path: Path) -> None:
    """An issuer on this machine is asked only where the settings say that it may lie there."""
    told = {"issuer": "https://127.0.0.1:9", "audience": [AUDIENCE]}
    tokens = token_callers(Settings(oidc=told).oidc, None)
    assert tokens is not None
    with pytest.raises(Exception, match="private address"):
        tokens.keys.refresh()


@pytest.mark.parametrize("path", ["", "/mcp"])
def test_clients_learn_who_gives_tokens(door: SigningDoor, path: str) -> None:
    """401 names the metadata of the door that was asked, and these name the issuer (RFC 9728)."""
    asked = ("POST", "/mcp") if path else ("GET", "/v1/sources")
    for token in (None, door.issuer.token(exp=1)):
        answer = send(door.url, *asked, {"jsonrpc": "2.0", "id": 1, "method": "tools/list"} if path else None, token)
        assert answer.status == 401
        assert f'resource_metadata="{AUDIENCE}{METADATA}{path}"' in answer.headers["WWW-Authenticate"]
        assert ('error="invalid_token"' in answer.headers["WWW-Authenticate"]) == (token is not None)
    told = send(door.url, "GET", METADATA + path).json
    assert told == {
        "resource": AUDIENCE + path, "authorization_servers": [door.issuer.issuer], "bearer_methods_supported": ["header"],
    }  # fmt: skip


def test_a_token_opens_the_door_of_agents(door: SigningDoor) -> None:
    """MCP takes a token as it takes a key."""
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    headers = {
        **JSON,
        "Accept": "application/json, text/event-stream",
        "Authorization": f"Bearer {door.issuer.token()}",
    }
    answer = call(door.url, "POST", "/mcp", asked, headers)
    assert answer.status == 200
    assert {tool["name"] for tool in answer.json["result"]["tools"]} >= {"search"}


def test_groups_give_what_the_mapping_says(tmp_path: Path) -> None:
    """Roles and single rights add up; who is in no group that is named has only what everybody has."""
    groups = {
        "kb-audit": {"roles": ["auditor"]}, "kb-own": {"roles": ["source_owner"]}, "kb-admin": {"roles": ["administrator"]},
        "Domain Users": {"rights": ["audit"]},
    }  # fmt: skip
    with signing_door(tmp_path, groups_claim="realm_access.roles", groups=groups, everyone=[]) as door:

        def statuses(*names: str) -> tuple[int, int, int]:
            token = door.issuer.token(realm_access={"roles": list(names)})
            registry, audit = (
                send(door.url, "GET", path, None, token).status for path in ("/v1/agents", "/v1/audit")
            )
            return door.search(token).status, registry, audit

        assert statuses() == (403, 403, 403)
        assert statuses("kb-audit") == (403, 403, 200)
        assert statuses("Domain Users") == (403, 403, 200)
        assert statuses("kb-own") == (200, 200, 403)
        assert statuses("kb-own", "kb-audit") == (200, 200, 200)
        assert statuses("kb-admin", "x") == (200, 200, 200)
        assert statuses("KB-ADMIN") == statuses("kb-admin ") == statuses("kb-аdmin") == (403, 403, 403)
        assert (
            door.search(door.issuer.token()).status == 401
        )  # the claim is missing, which is not that there are none


def test_groups_bind_to_agents(tmp_path: Path) -> None:
    """A group's agent bounds whoever is in it, whatever other groups give; groups of two agents contradict each other."""
    groups = {
        "desk": {"roles": ["reader"], "agent": "support"}, "wiki": {"roles": ["reader"], "agent": "other"},
        "staff": {"roles": ["reader"]},
    }  # fmt: skip
    with signing_door(tmp_path, groups_claim="groups", groups=groups, everyone=[]) as door:

        def domains(*names: str) -> set[str]:
            found = send(door.url, "GET", "/v1/vector_stores", None, door.issuer.token(groups=list(names))).json
            return {one["id"] for one in found["data"]} - {"all"}

        assert domains("desk") == domains("desk", "staff") == {"crm_policy", "regulation_cn_gdpr"}
        assert domains("staff") > domains("wiki") == {"wiki"}
        problem = assert_problem(door.search(door.issuer.token(groups=["desk", "wiki"])), 403, "not_permitted")
        assert "different agents" in problem["detail"]


def test_groups_are_those_of_readers(tmp_path: Path) -> None:
    """A document for a group is found by its members alone, and by nobody whom it is denied to, by name or by mapping."""
    groups = {"Domain Users": {"groups": ["staff"]}}
    with signing_door(tmp_path, groups_claim="groups", groups=groups) as door:
        admin = key(door.library, "admin")
        documents = send(door.url, "GET", "/v1/documents?source=wiki", None, admin).json["documents"]
        path = f"/v1/documents/{documents[0]['document_id']}/readers"

        def sees(**told: Any) -> bool:
            found = send(
                door.url, "POST", "/v1/search", {"query": "客户投诉 Wiki 三天"}, door.issuer.token(**told)
            ).json
            return any("三天" in one["content"] for one in found["passages"])

        assert send(door.url, "PUT", path, {"readers": ["group:hr"], "deny": ["user:u-wu"]}, admin).status == 200
        assert sees(groups=["hr"])
        assert sees(groups=["HR"])
        assert not sees(groups=[])
        assert not sees(groups=["hr"], sub="u-wu")
        assert send(door.url, "PUT", path, {"readers": ["group:staff"]}, admin).status == 200
        assert sees(groups=["Domain Users"])
        assert not sees(groups=["hr"])


def test_scopes_narrow_a_token(tmp_path: Path) -> None:
    """A scope opens nothing that its bearer may not; without one that is needed the answer names it."""
    more = {
        "everyone": ["source_owner"],
        "required_scopes": ["kb"],
        "scopes": {"kb.read": ["reader"], "kb.audit": ["auditor"]},
    }
    with signing_door(tmp_path, **more) as door:

        def statuses(scope: Any, name: str = "scope") -> tuple[int, int, int]:
            token = door.issuer.token(**{name: scope})
            registry, audit = (
                send(door.url, "GET", path, None, token).status for path in ("/v1/agents", "/v1/audit")
            )
            return door.search(token).status, registry, audit

        assert statuses("kb kb.read") == statuses(["kb", "kb.read"], "scp") == (200, 403, 403)
        assert statuses("kb") == statuses("kb kb.audit") == (403, 403, 403)
        assert statuses("kb KB.READ") == (403, 403, 403)
        answer = door.search(door.issuer.token(scope="kb.read"))
        assert_problem(answer, 403, "not_permitted")
        assert 'error="insufficient_scope", scope="kb"' in answer.headers["WWW-Authenticate"]
        assert send(door.url, "GET", METADATA).json["scopes_supported"] == ["kb", "kb.audit", "kb.read"]


SCOPES: dict[str, Any] = {
    "everyone": ["source_owner"], "groups_claim": "groups", "groups": {"kb-admin": {"roles": ["administrator"]}},
    "required_scopes": ["kb"],
    "scopes": {"kb.read": ["reader"], "kb.own": ["source_owner"], "kb.audit": ["auditor"], "kb.all": ["administrator"]},
}  # fmt: skip


@pytest.mark.parametrize(
    ("scope", "groups", "asked", "wanted"),
    [
        ("kb kb.read", [], ("GET", "/v1/agents"), "kb kb.own kb.read"),
        ("kb", [], ("POST", "/v1/search"), "kb kb.read"),
        ("kb elsewhere", [], ("GET", "/v1/agents"), "kb kb.own"),
        ("kb kb.read", [], ("GET", "/v1/audit"), None),  # no token of theirs would do
        ("kb kb.read", [], ("GET", "/v1/keys"), None),
        ("kb kb.read", ["kb-admin"], ("GET", "/v1/audit"), "kb kb.audit kb.read"),
        ("kb kb.read", ["kb-admin"], ("GET", "/v1/keys"), "kb kb.all kb.read"),
        ("kb kb.read", ["kb-admin"], ("GET", "/v1/erasures"), "kb kb.all kb.read"),
    ],
)  # fmt: skip
def test_a_right_that_a_scope_took_away_is_told(
    tmp_path: Path, scope: str, groups: list[str], asked: tuple[str, str], wanted: str | None
) -> None:
    """403 names the least scopes with which the same person may, beside those that the token has (RFC 6750); it names none where no
    token would do.
    """
    with signing_door(tmp_path, **SCOPES) as door:
        body = {"query": "客户投诉"} if asked[0] == "POST" else None
        answer = send(door.url, *asked, body, door.issuer.token(scope=scope, groups=groups))
        problem = assert_problem(answer, 403, "not_permitted")
        said = answer.headers.get("WWW-Authenticate")
        if wanted is None:
            assert (said, "needs a key with the right" in problem["detail"]) == (None, True)
            return
        assert said == (
            f'Bearer error="insufficient_scope", scope="{wanted}", resource_metadata="{AUDIENCE}{METADATA}"'
        )
        assert problem["detail"].endswith(f"it must have the scopes {wanted}")
        assert send(door.url, *asked, body, door.issuer.token(scope=wanted, groups=groups)).status == 200


def test_a_tool_that_a_scope_took_away_is_told_by_http(tmp_path: Path) -> None:
    """Clients of MCP learn it from the status and the header, as the protocol asks; a tool that its holder may not use says so itself."""
    groups = {"desk": {"rights": ["retrieve", "search"]}, "half": {"rights": ["retrieve"]}}
    scopes = {"kb.ask": ["reader"], "kb.audit": ["auditor"]}
    more = SCOPES | {"scopes": scopes, "everyone": [], "groups": groups}
    with signing_door(tmp_path, **more) as door:
        tool = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "get_context", "arguments": {"retrieval_query": "x"}},
        }

        def called(scope: str, *groups: str) -> Any:
            token = door.issuer.token(scope=scope, groups=list(groups))
            headers = {**JSON, "Accept": "application/json, text/event-stream", "Authorization": f"Bearer {token}"}
            return call(door.url, "POST", "/mcp", tool, headers)

        refused = called("kb kb.audit", "desk")
        assert refused.status == 403
        assert 'error="insufficient_scope", scope="kb kb.ask kb.audit"' in refused.headers["WWW-Authenticate"]
        assert f'resource_metadata="{AUDIENCE}{METADATA}/mcp"' in refused.headers["WWW-Authenticate"]
        assert called("kb kb.ask", "desk").status == 200
        own = called("kb kb.ask", "half")
        assert (own.status, "needs a key with the right 'search'" in own.body.decode()) == (200, True)


def test_programs_have_rights_of_their_own(tmp_path: Path) -> None:
    """By the claim that names them, besides what everybody and groups have; one that acts for itself needs no groups; who has another
    client, or none, has nothing by it.
    """
    clients = {
        "crawler": {"roles": ["source_owner"], "groups_optional": True}, "portal": {"rights": ["audit"], "agent": "support"},
    }  # fmt: skip
    with signing_door(tmp_path, groups_claim="groups", clients=clients, everyone=[]) as door:

        def statuses(**told: Any) -> tuple[int, ...]:
            token = door.issuer.token(**told)
            paths = ("/v1/agents", "/v1/people?ids=person-0")
            return (door.search(token).status, *(send(door.url, "GET", path, None, token).status for path in paths))

        assert statuses(client_id="crawler", sub="crawler") == (200, 200, 403)
        assert statuses(client_id="crawler", groups=[]) == (200, 200, 403)
        assert statuses(client_id="portal", groups=[])[0] == 403
        assert statuses(client_id="portal") == (401, 401, 401)  # its tokens are people's, whose groups must be told
        assert statuses(azp="crawler", groups=[]) == statuses(groups=[]) == (403, 403, 403)
        for other in ("Crawler", "crawler ", "", 5, ["crawler"], None):
            assert statuses(client_id=other, groups=[]) == (403, 403, 403)
    with signing_door(tmp_path / "azp", clients=clients, client_claim="azp", everyone=[]) as door:
        assert door.search(door.issuer.token(azp="crawler", client_id="x")).status == 200


def test_a_token_of_enterprise_managed_authorization_counts_as_any(tmp_path: Path) -> None:
    """What the authorization server of this resource gives for an identity assertion grant is an access token (RFC 9068) with
    ``client_id``, ``sub`` and ``resource``; the grant itself, which is for that server, opens nothing here.
    """
    with signing_door(tmp_path, clients={"agent-of-acme": {"roles": ["reader"]}}, everyone=[]) as door:
        told = {"client_id": "agent-of-acme", "resource": f"{AUDIENCE}/mcp", "jti": "j-1", "scope": "kb.read"}
        assert door.search(door.issuer.token(**told)).status == 200
        assert (
            "for another audience"
            in door.search(door.issuer.token(**told, aud="https://other.example")).json["detail"]
        )
        grant = door.issuer.token(header={"typ": "oauth-id-jag+jwt"}, **told)
        assert "for another use" in door.search(grant).json["detail"]


def test_a_change_of_the_mapping_counts_for_the_next_question(tmp_path: Path) -> None:
    """The file of settings is looked at for each question; one that cannot be read opens nothing."""
    with signing_door(tmp_path, groups_claim="groups", everyone=[]) as door:
        token, file = door.issuer.token(groups=["hr"]), door.library.folder / "wenyuan.toml"
        assert door.search(token).status == 403
        file.write_text('[oidc.groups.hr]\nroles = ["reader"]\n', "utf-8")
        assert door.search(token).status == 200
        file.write_text('[oidc.groups.hr]\nroles = ["reeder"]\n', "utf-8")
        assert_problem(door.search(token), 503, "config_error")
        file.unlink()
        assert door.search(token).status == 403


def test_another_token_has_other_groups(tmp_path: Path) -> None:
    """What a token says counts for it alone: the next one may say something else."""
    with signing_door(tmp_path, groups_claim="groups", groups={"hr": {"roles": ["reader"]}}, everyone=[]) as door:
        for groups, status in ((["hr"], 200), ([], 403), (["hr"], 200)):
            assert door.search(door.issuer.token(groups=groups)).status == status


def test_a_token_that_expires_ends_with_its_time(door: SigningDoor, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same token is admitted until its time and refused from then on."""
    token = door.issuer.token(exp=int(time.time()) + 100)
    assert door.search(token).status == 200
    now = time.time()
    door.tokens._clock = lambda: now + 131
    assert "has expired" in door.search(token).json["detail"]


def test_beyond_this_machine_an_issuer_is_enough(door: SigningDoor) -> None:
    """A server for others needs a key that counts, or an issuer."""
    with pytest.raises(ConfigError):
        key_ring(door.library.catalog, "0.0.0.0")
    assert isinstance(key_ring(door.library.catalog, "0.0.0.0", door.tokens), KeyRing)


def test_without_an_audience_no_token_counts(tmp_path: Path) -> None:
    """A token that is for nobody in particular is for nobody."""
    with signing_door(tmp_path, audience=[]) as door:
        problem = assert_problem(door.search(door.issuer.token()), 401, "unauthenticated")
        assert "takes no tokens" in problem["detail"]
        assert send(door.url, "GET", METADATA).status == 404


@pytest.mark.parametrize(
    "told",
    [
        {"audience": ["x"]}, {"client_id": "x"}, {"issuer": "http://id.example.com"}, {"issuer": "https://id.example.com?x"},
        {"issuer": "https://id.example.com", "client_id": "x"}, {"issuer": "ftp://id.example.com"}, {"issuer": "https://u:p@h"},
        {"issuer": "https://id.example.com", "console_keys": False}, {"leeway": 61}, {"algorithms": []},
        {"algorithms": ["HS256"]}, {"algorithms": ["none"]}, {"groups": {"hr": {"roles": ["boss"]}}}, {"everyone": ["boss"]},
        {"groups": {"hr": {"rights": ["all"]}}}, {"groups": {"hr": {"role": ["reader"]}}}, {"groups": {"hr": {"groups": ["a b"]}}},
        {"groups": {"hr": {"agent": "a b"}}}, {"scopes": {"x": ["boss"]}}, {"issuer": "https://h:0"}, {"issuer": "https://[::1"},
    ],
    ids=str,
)  # fmt: skip
def test_settings_that_cannot_be_kept_are_refused(told: dict[str, Any]) -> None:
    """What would open more than was meant, or nothing at all, is no setting."""
    with pytest.raises(ValueError):
        Settings(oidc=told)


def test_several_kinds_of_keys_count_together(door: SigningDoor) -> None:
    """A set with keys that are not understood, too weak or for encryption: the others count."""
    from joserfc.errors import SecurityWarning
    from joserfc.jwk import RSAKey

    with pytest.warns(SecurityWarning):
        weak = RSAKey.generate_key(1024, parameters={"kid": "weak"}, private=True)
    door.issuer.keys = [rsa_key(), ec_key(), weak]
    published = door.issuer.jwks()["keys"]
    odd: list[Any] = [
        7, {}, {"kty": "oct", "k": "AAAA", "kid": "rsa-0"}, {"kty": "RSA", "kid": "x", "n": "AQAB", "e": "AQ"},
        {"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA", "kid": "y"}, {**published[0], "use": "enc", "kid": "enc"},
        {**published[0], "kid": "z", "e": "A" * 1_000}, {"kty": "OKP", "crv": "X25519", "x": "AA"}, {**published[0], "kid": 7},
    ]  # fmt: skip
    door.issuer.published = {"keys": [*odd, *published]}
    for token, status in (
        (door.issuer.token(), 200), (door.issuer.token(key=ec_key()), 200), (door.issuer.token(key=weak), 401),
        (door.issuer.token(header={"kid": "enc"}), 401),
    ):  # fmt: skip
        assert door.search(token).status == status


def test_clients_send_tokens_as_they_send_keys(
    door: SigningDoor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client, and the command line that asks a service, take a token where they take a key."""
    with Client(door.url, key=door.issuer.token()) as client:
        assert client.retrieve_fragments("客户投诉", max_results=3)
    with Client(door.url, key=door.issuer.token(exp=1)) as client, pytest.raises(KnowledgeError, match="has expired"):
        client.retrieve_fragments("客户投诉", max_results=3)
    monkeypatch.setenv("WENYUAN_KEY", door.issuer.token())
    done = CliRunner().invoke(app, ["context", "客户投诉", "--url", door.url, "--json"])
    assert done.exit_code == 0, done.output
    assert "24" in done.stdout


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_command_line_names_people(door: SigningDoor, language: str) -> None:
    """Lists of records and single ones say a person's name beside the id, for programs too."""
    door.tokens._met = door.library.catalog.meet
    assert door.search(door.issuer.token(name="李明")).status == 200
    door.library.audit.flush()
    common = ["--library", str(door.library.folder), "--lang", language]
    shown = CliRunner().invoke(app, ["audit", "list", "--limit", "1", *common])
    assert "李明" in shown.stdout, shown.output
    told = json.loads(CliRunner().invoke(app, ["audit", "list", "--limit", "1", "--json", *common]).stdout)
    (record,) = told["records"]
    assert (record["principal"], record["principal_name"]) == (person_id(door.issuer.issuer, "u-li"), "李明")
    whole = CliRunner().invoke(app, ["audit", "show", record["audit_id"], *common])
    assert f"李明 ({record['principal']})" in whole.stdout
