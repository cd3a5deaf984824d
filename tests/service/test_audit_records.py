"""What is written into the audit: enough to replay, never a secret."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from audit_parts import found_in
from wenyuan.catalog.audit.log import AuditLog
from wenyuan.core.access import Agent, DomainScope, Key, Principal
from wenyuan.core.filters import And, Filter, In, Not, Or, Range, Scope
from wenyuan.core.model import Passage, Source
from wenyuan.core.ports import Hit
from wenyuan.service.audit.change_entry import change_record
from wenyuan.service.audit.request_entry import preview_of, query_of, request_of
from wenyuan.service.audit.retrieval_entry import digest_of, fragment_entries, retrieval_record
from wenyuan.service.query import LegReport, Query, Rewriting

# -- previews -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("客户投诉处理期限", "客户投诉处理期限"),
        ("客戶投訴 第13條", "客戶投訴 第13條"),
        ("电话13800138000的客户", "电话***的客户"),
        ("电话１３８００１３８０００的客户", "电话***的客户"),
        ("电话 138-0013-8000", "电话 ***"),
        ("电话 138 0013 8000", "电话 ***"),
        ("1\u200b3\u200b8\u200b0\u200b0", "***"),
        ("ID 11010119900307123X", "ID ***X"),
        ("٣٤٥٦٧٨", "***"),
        ("1234 votes", "1234 votes"),
        ("write to zhang.san@example.com please", "write to *** please"),
        ("邮件：张三＠例子.中国，谢谢", "邮件:***,谢谢"),
        ("key sk-proj-abc123def456ghi789", "key ***"),
        ("internationalization-localization", "internationalization-localization"),
        ("one\n\ttwo\x00\ud800", "one  two"),
    ],
)
def test_preview(text: str, shown: str) -> None:
    """A preview shows words and small numbers, and masks long numbers, addresses and tokens in any form."""
    assert preview_of(text) == shown


@given(st.text(max_size=300))
def test_preview_bounds(text: str) -> None:
    """A preview has at most 80 characters, no five digits in a row, and can be encoded."""
    shown = preview_of(text)
    shown.encode()
    assert len(shown) <= 80
    run = 0
    for c in shown:
        run = run + 1 if c.isdecimal() else 0
        assert run < 5


def test_preview_masks_before_it_cuts() -> None:
    """A number at the cut is masked whole: no digits of it are left."""
    assert preview_of("x" * 76 + " 13800138000") == "x" * 76 + " ***"
    assert "138" not in preview_of("字" * 78 + "13800138000")


# -- requests -------------------------------------------------------------------------------------------------

facets = st.text(max_size=5) | st.integers(-9, 9) | st.booleans()
leaves = st.builds(
    lambda values: In("language", tuple(values)), st.lists(facets, min_size=1, max_size=3)
) | st.builds(lambda ge, le: Range("metadata.年份", ge=ge, le=le), st.integers(0, 9), st.none() | st.floats(0, 9))
filters: st.SearchStrategy[Filter] = st.recursive(
    leaves,
    lambda inner: (
        st.builds(lambda parts: And(tuple(parts)), st.lists(inner, min_size=1, max_size=3))
        | st.builds(lambda parts: Or(tuple(parts)), st.lists(inner, min_size=1, max_size=3))
        | st.builds(Not, inner)
    ),
    max_leaves=4,
)


@given(filters, st.none() | st.dates(), st.none() | st.lists(st.sampled_from("abc")))
def test_request_round_trip(test: Filter, day: date | None, sources: list[str] | None) -> None:
    """A query comes back from what is kept of it, with its filter, day and sources."""
    query = Query(
        text="客户投诉", limit=3, filter=test, as_of=day, sources=None if sources is None else tuple(sources),
        min_trust=2, source_document_uri="urn:x", task_id="t",
    )  # fmt: skip
    assert query_of(request_of(query)) == query


def test_request_keeps_all(request: pytest.FixtureRequest) -> None:
    """Every field of a query is kept: one that is added later must be kept too."""
    whole = Query(
        text="x", limit=1, source_document_uri="urn:x", seen=("a",), rules="none", engineering_type="a",
        processes=("b",), parameters={"c": 1}, rewriting=Rewriting(wordings=("y",)), follow_up="z", nearest=True,
        abstain="strict",
    )  # fmt: skip
    assert query_of(request_of(whole)) == whole
    assert set(request_of(whole)) == {
        {"text": "query", "rewriting": "rewritten"}.get(f, f)
        for f in Query.__slots__
        # These say who counts, what a verdict needs and what the wordings are made from, not what is asked.
        if f not in ("partial", "by_meaning", "conversation")
    }


# -- retrievals -----------------------------------------------------------------------------------------------

PASSAGE = Passage(
    passage_id=12, source_id="docs", document_id=3, uri="file:///kb/投诉.md#第三章", title="投诉", headings=(),
    text="客户投诉须在三日内答复。", sha256="a" * 64, start=0, end=12, trust=4,
)  # fmt: skip


def retrieval(**more: Any) -> dict[str, Any]:
    values: dict[str, Any] = {
        "principal": Principal(key_id="key1", agent_id="writer"),
        "request": {"query": "电话13800138000的客户", "limit": 3, "headers": {"authorization": "s3cret"}},
        "scope": Scope(sources=frozenset({"docs", "faq"}), as_of=date(2026, 6, 1)),
        "legs": [LegReport(name="keyword", state="ok", ms=1.23456, hits=4)],
        "generation": 7,
        "settings_digest": "s",
        "encoder_key": "e",
        "fragments": [
            fragment_entries([(Hit(passage_id=12, score=0.1234567891234), PASSAGE)])[0] | {"text": PASSAGE.text}
        ],
        "trusts": {"docs": 4},
    }
    return retrieval_record(**(values | more))


def test_retrieval() -> None:
    """A record says who, what of, when, from which state, and which passages; no text of them and no other key."""
    record = retrieval(degraded=("source x",), withheld={"budget": 2}, floor={"score": 0.2}, error="")
    assert record == {
        "kind": "retrieval", "principal": "key1", "agent": "writer", "door": "retrieve_fragments",
        "preview": "电话***的客户", "query_chars": 16, "request": {"limit": 3},
        "scope": {"as_of": "2026-06-01", "count": 2, "sources": {"docs": 4, "faq": None}},
        "legs": [{"name": "keyword", "state": "ok", "ms": 1.2, "hits": 4}],
        "generation": 7, "settings": "s", "encoder": "e", "status": "SUCCESS", "cache_hit": False,
        "fragments": [{
            "ref": "docs#12", "passage_id": 12, "sha256": "a" * 64, "score": 0.123456789, "trust": 4,
            "quoted_chars": 12, "source_id": "docs", "uri": "file:///kb/投诉.md#第三章",
        }],
        "degraded": ["source x"], "withheld": {"budget": 2}, "floor": {"score": 0.2},
    }  # fmt: skip


def test_own_preview() -> None:
    """The preview can be made by another redactor; it is cut all the same."""


def test_wide_scope() -> None:
    """A scope of very many sources is recorded by its digest."""
    scope = Scope(sources=frozenset(f"s{n}" for n in range(500)), as_of=date(2026, 6, 1))
    entry = retrieval(scope=scope)["scope"]
    assert (entry["count"], "sources" in entry, len(entry["sha256"])) == (500, False, 16)


def test_error_is_masked() -> None:
    """An error's message is recorded without numbers that it may quote."""
    assert retrieval(status="FAILED", error="no 13800138000 here")["error"] == "no *** here"


def test_digest() -> None:
    """A digest differs when a value does, not when its keys stand in another order; secrets have none."""
    assert digest_of({"a": 1, "b": (2,)}) == digest_of({"b": [2], "a": 1})
    assert digest_of({"a": 1}) != digest_of({"a": 2})
    with pytest.raises(TypeError):
        digest_of({"key": SecretStr("x")})


# -- changes --------------------------------------------------------------------------------------------------


def test_change() -> None:
    """A change holds only what differs, from what to what."""
    before = Source(source_id="docs", trust=3, tags=("a",))
    after = replace(before, trust=5, effective_until=date(2026, 1, 1))
    record = change_record("registry", "put source", "docs", before, after, Principal(key_id="admin"))
    assert record == {
        "kind": "registry", "principal": "admin", "action": "put source", "object": "docs",
        "changes": {"trust": [3, 5], "effective_until": [None, "2026-01-01"]},
    }  # fmt: skip


def test_added_and_removed() -> None:
    """A new object shows what it is, a removed one what it was."""
    agent = Agent(agent_id="writer", knowledge_scope=(DomainScope(domain="docs"),), token_budget=900)
    added = change_record("agent", "put agent", "writer", None, agent)["changes"]
    assert added["token_budget"] == [None, 900]
    assert added["knowledge_scope"] == [None, [{"domain": "docs", "top_k": 3}]]
    removed = change_record("agent", "remove agent", "writer", agent, None)
    assert removed["changes"]["token_budget"] == [900, None]
    assert removed["principal"] == "local"


SECRET = "CanarySecret7x9金丝雀"


def test_secrets_never_stored(tmp_path: Path) -> None:
    """No byte of a secret that stands in settings, URLs, headers, keys or tokens reaches the audit's files."""
    ascii_secret = "CanarySecret7x9"
    token = f"wy_0a1b2c3d_{ascii_secret}_abcdefghij"
    settings = {
        "url": f"https://user:{ascii_secret}@host/path?api_key={ascii_secret}&limit=3",
        "headers": {"Authorization": f"Bearer {ascii_secret}", "X-Api-Key": SECRET, "Accept": "text/plain"},
        "password": SECRET, "密码": SECRET, "auth": {"user": "u", "pass": SECRET}, "api_keys": [SECRET],
        "note": f"curl -H 'Authorization: Bearer {ascii_secret}' with {token}",
        "pem": f"-----BEGIN RSA PRIVATE KEY-----\n{ascii_secret}\n-----END RSA PRIVATE KEY-----",
        "client_secret": SECRET, "access-key": SECRET, "refresh_token": SECRET,
    }  # fmt: skip
    key = Key(key_id="0a1b2c3d", agent_id="writer", rights=frozenset({"search", "audit"}), created_at=1.0)
    told = {"key_id": key.key_id, "rights": ["audit"], "token": token, "sha256": ascii_secret, "secret": SECRET}
    log = AuditLog(tmp_path)
    log.append(change_record("registry", "put source", "docs", None, Source(source_id="docs", settings=settings)))
    log.append(change_record("key", "create key", key.key_id, None, key))
    log.append(change_record("key", "create key", key.key_id, told, None))
    log.append(change_record("rule", "put rule", "r1", {"token": SECRET}, {"token": SECRET + "2"}))
    log.append(retrieval(request={"query": "x", "limit": 1, "headers": {"authorization": ascii_secret}}))
    log.flush()
    assert not found_in(tmp_path, SECRET)
    assert not found_in(tmp_path, ascii_secret)
    newest_first = [r.record["changes"] for r in log.list() if "changes" in r.record]
    assert newest_first[0] == {"token": ["***", "***"]}
    assert newest_first[2]["rights"] == [None, ["audit", "search"]]
    recorded = newest_first[3]["settings"][1]
    assert recorded["url"] == "https://***@host/path?api_key=***&limit=3"
    assert recorded["headers"]["Accept"] == "text/plain"
    log.close()
    assert not found_in(tmp_path, SECRET)
    assert not found_in(tmp_path, ascii_secret)


def test_odd_values_refused() -> None:
    """What JSON cannot hold is refused, not written as its repr, which may show a secret."""
    for odd in (b"bytes", SecretStr("x"), object()):
        with pytest.raises(TypeError, match="cannot be recorded"):
            change_record("registry", "put", "x", None, {"field": odd})
