"""The audit by the command line and over HTTP: reading it, verifying it, asking again."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import jsonschema_rs
import pytest
from rich.cells import cell_len
from typer.testing import CliRunner, Result

import wenyuan
from audit_parts import raw
from command_line import HASHING, Run, runner
from governed_door import OTHER, SUPPORT, fill, governed_server, key, send
from http_door import assert_problem
from wenyuan.catalog.audit.reads import verify_export
from wenyuan.cli.root import app
from wenyuan.core.access import Principal, parse_agent
from wenyuan.core.model import RetrievalRequest
from wenyuan.core.records import KINDS
from wenyuan.i18n.translation import texts, translated
from wenyuan.server.app import openapi_document
from wenyuan.service.audit.recorder import ACTING
from wenyuan.service.audit.rerun import Cause
from wenyuan.service.search.searcher import SearchRequest
from wenyuan.settings import ServerSettings

Served = tuple[str, Any]
COMMANDS = ("list", "show", "verify", "export", "replay")
LONG = "客户投诉在收到之后多少小时之内必须第一次响应？逾期由谁负责，依据哪一条规定，有没有例外情况，需要上报吗"


# -- the command line ---------------------------------------------------------------------------------------
@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A library that has answered two questions, and whose wiki was changed."""
    with wenyuan.open(
        tmp_path / "library", create=True, encoder={"kind": "hashing"}, cache={"seconds": 0}
    ) as library:
        fill(library, tmp_path / "docs")
        library.catalog.put_source(replace(library.catalog.source("wiki"), trust=1))
        library.retrieve_fragments(RetrievalRequest(query=LONG, max_results=3))
        library.find(SearchRequest(query="客戶投訴 complaints", agent_id="other"), Principal())
    return tmp_path / "library"


@pytest.fixture
def run(folder: Path) -> Run:
    command = runner(folder, **HASHING)
    return lambda *args, **more: command("audit", *args, **more)


def document(done: Result) -> Any:
    return json.loads(done.stdout)


def ids(run: Run, *args: object) -> list[str]:
    return [record["audit_id"] for record in document(run("list", "--json", *args))["records"]]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_help_has_an_example_and_a_chinese_line(command: str) -> None:
    """The help of each command shows how to call it, and says what it does in Chinese."""
    shown = CliRunner().invoke(app, ["audit", command, "--help"], env={"COLUMNS": "80"}, prog_name="wenyuan").stdout
    assert re.search(rf"^ +wenyuan audit {command}", shown, re.MULTILINE)
    chinese = CliRunner().invoke(app, ["audit", command, "--help", "--lang", "zh"], prog_name="wenyuan").stdout
    assert re.search(r"[\u4e00-\u9fff]{4}", chinese)


def test_records_are_listed_on_80_columns(run: Run) -> None:
    """Newest first, two lines each, none wider than the terminal, in either language, narrowed by options."""
    for lang, word in (("en", "passages: 1"), ("zh", "段落 1 个 · other · 客戶投訴")):
        lines = run("list", "--lang", lang).stdout.splitlines()
        assert max(map(cell_len, lines)) <= 80
        assert lines[0].startswith("a-")
        assert word in lines[1]
        assert lines[3].endswith("…")
        assert ("wiki · trust", "wiki · 可信度")[lang == "zh"] in lines[5]
    every = ids(run)
    assert ids(run, "--limit", 2) == ids(run, "--kind", "retrieval") == every[:2]
    assert ids(run, "--principal", "local", "--since", "1h", "--until", "2090-01-01") == every
    assert (
        ids(run, "--until", "１ｈ")
        == ids(run, "--principal", "nobody")
        == ids(run, "--since", "2090-01-01 10:00")
        == []
    )
    assert "没有记录" in run("list", "--until", "2000-01-01", "--lang", "zh").stderr


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (("list", "--kind", "gossip"), "不是审计记录的种类"),
        (("list", "--limit", "0"), "应为 1 至 1000"),
        (("list", "--since", "昨天"), "不是时间"),
        (("list", "--since", "2026-13-01"), "不是时间"),
        (("show", "a-none"), "没有审计记录"),
        (("replay", "a-none"), "没有审计记录"),
        (("verify", "--head", "12"), "不是链头"),
    ],
)
def test_a_wrong_request_is_code_2(run: Run, args: tuple[str, ...], why: str) -> None:
    """What cannot be meant is refused with exit code 2 and its reason, in the caller's language."""
    assert why in run(*args, "--lang", "zh", code=2).stderr


def test_a_record_is_shown_whole(run: Run) -> None:
    """An answer is shown with its question and passages, a change with old and new, in either language."""
    answered, asked = ids(run, "--kind", "retrieval")
    assert f"asked: {LONG}" in run("show", asked).stdout
    shown = run("show", answered, "--lang", "zh").stdout
    assert "问题: 客戶投訴 complaints" in shown
    assert re.search(r"1  wiki#[0-9]+  0\.[0-9]{3}  可信度 1\n      file://", shown)
    assert document(run("show", asked, "--json"))["record"]["query"]["query"] == LONG
    assert "    trust: 2 → 1\n" in run("show", ids(run, "--kind", "registry")[0]).stdout


def test_a_whole_audit_verifies_and_an_altered_one_does_not(run: Run, folder: Path) -> None:
    """Code 0 and the head for a whole audit, also against a kept head; code 1 and the place for an edited one."""
    whole = document(run("verify", "--json"))
    assert (whole["status"], whole["ok"], whole["first_fault"]) == ("SUCCESS", True, None)
    assert whole["head"] in run("verify", "--head", whole["head"]).stdout
    other = f"{whole['records']}:{'0' * 64}"
    assert "has another hash" in run("verify", "--head", other, code=1).stdout
    with raw(folder) as connection:
        (seq,) = connection.execute("SELECT min(seq) FROM audit WHERE record LIKE '%wiki%'").fetchone()
        connection.execute("UPDATE audit SET record = replace(record, 'wiki', 'crm_') WHERE seq = ?", (seq,))
    assert f"FAULT at record {seq}: edited" in run("verify", code=1).stdout
    assert f"第 {seq} 条记录有问题：被修改" in run("verify", "--lang", "zh", code=1).stdout
    found = document(run("verify", "--json", code=1))
    assert (found["status"], found["first_fault"]["seq"]) == ("FAILED", seq)


def test_an_export_verifies_and_overwrites_nothing(run: Run, tmp_path: Path) -> None:
    """The file has the head that is told; questions only by order; a file that is there stays."""
    file, full = tmp_path / "out.jsonl", tmp_path / "full.jsonl"
    head = document(run("export", file, "--json"))["head"]
    assert verify_export(file, head).ok
    assert LONG not in file.read_text("utf-8")
    assert head in run("export", full, "--with-queries").stdout
    assert LONG in full.read_text("utf-8")
    assert verify_export(full, head).ok
    assert "已存在" in run("export", file, "--lang", "zh", code=2).stderr


def test_a_replay_says_identical_or_why_not(run: Run, folder: Path) -> None:
    """The same answer is told as that; after a change the reasons are named, and the past is still identical."""
    asked = ids(run, "--kind", "retrieval")[1]
    assert "Identical" in run("replay", asked).stdout
    with wenyuan.open(folder, encoder={"kind": "hashing"}) as library:
        library.catalog.put_source(replace(library.catalog.source("wiki"), trust=4))
    shown = run("replay", asked, "--lang", "zh").stdout
    assert re.search(r"^  来源已修改  wiki#[0-9]+\n      来源 wiki：可信度原为 1，现为 4$", shown, re.MULTILINE)
    told = document(run("replay", asked, "--json"))
    assert (told["status"], told["identical"]) == ("SUCCESS", False)
    assert {d["what"] for d in told["differences"]} == {"source changed"}
    assert "一致：当时的知识库" in run("replay", asked, "--exact", "--lang", "zh").stdout
    change = ids(run, "--kind", "registry")[0]
    assert "只有检索、模型回答和核对的记录可以重放" in run("replay", change, "--lang", "zh", code=2).stderr


def test_a_past_that_is_gone_is_an_outcome(run: Run, folder: Path) -> None:
    """Asked of a library that a source was removed from since: not asked, and why, in both languages and for machines."""
    asked = ids(run, "--kind", "retrieval")[1]
    with wenyuan.open(folder, encoder={"kind": "hashing"}) as library:
        library.remove("wiki")
    shown = run("replay", asked, "--exact").stdout
    assert "Not asked: the library as it was then cannot be asked this again" in shown
    assert "wiki was removed or redacted anew since" in shown
    shown = run("replay", asked, "--exact", "--lang", "zh").stdout
    assert "无法重放：不能再向当时的知识库提出此问题" in shown
    assert "  文本未保留\n" in shown
    assert "此后 wiki 被移除或重新脱敏" in shown
    told = document(run("replay", asked, "--exact", "--json"))
    assert (told["status"], told["identical"], told["asked"]) == ("SUCCESS", False, False)
    assert told["differences"][0]["what"] == "texts not kept"
    assert document(run("replay", asked, "--json"))["asked"] is True


def test_an_audit_that_is_off_is_a_failure(run: Run) -> None:
    """A library without an audit has no empty list of records: the command fails and says so."""
    assert "switched off" in run("list", code=1, WENYUAN_AUDIT__ENABLED="false").stderr


def test_every_kind_and_cause_has_a_name_in_both_languages() -> None:
    """What records and replays can say is in the catalogue of messages."""
    assert {f"audit_{kind}" for kind in KINDS} | {f"cause_{cause}" for cause in get_args(Cause)} <= set(
        texts("command_line", "zh")
    )


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        ("score was 0.5, is 0.4; the library has gone from change 3 to 5", "得分原为 0.5，现为 0.4；知识库的变更序号由 3 变为 5"),
        ("file:///a.md was removed 2026-01-02 03:04:05 UTC", "file:///a.md 已移除（2026-01-02 03:04:05 UTC）"),
        ("truncated: audit.head knows records up to 9", "被截断：audit.head 中的记录到第 9 条"),
        ("truncated: the expected head knows records up to 9", "被截断：给定的链头 中的记录到第 9 条"),
        ("wiki#1, wiki#2 entered; the library is at the same change 4", "wiki#1, wiki#2 进入结果；知识库的变更序号仍为 4"),
    ],
)  # fmt: skip
def test_reasons_are_translated(english: str, chinese: str) -> None:
    """What the library says of faults and differences is known in Chinese, with what varies left in place."""
    assert translated(english) == chinese


# -- HTTP ---------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with governed_server(tmp_path_factory.mktemp("audited")) as found:
        yield found


def ask(served: Served, agent: str | None = None, query: str = "客户投诉多久响应") -> str:
    """Ask over HTTP with a new key of an agent; returns the id of the (last) record."""
    url, library = served
    token = key(library, "search", agent=agent)
    assert send(url, "POST", "/v1/search", {"query": query}, token).json["status"] == "SUCCESS"
    return str(library.audit.list(principal=key_id(token))[0].audit_id)


def key_id(token: str) -> str:
    return token.split("_")[1]


def meets(method: str, path: str, body: object) -> bool:
    """Whether an answer is as the document says."""
    entry = openapi_document(ServerSettings())["paths"][path][method]
    schema = entry["responses"]["200"]["content"]["application/json"]["schema"]
    return bool(jsonschema_rs.Draft202012Validator(schema).is_valid(body))


def test_an_operator_reads_page_by_page(served: Served) -> None:
    """Records come newest first, narrowed by parameters; `next` goes on where the page ended."""
    url, token = served[0], key(served[1], "audit")
    asked = [ask(served, query=f"客户投诉 {n}") for n in range(3)]
    first = send(url, "GET", "/v1/audit?kind=retrieval&limit=2", token=token).json
    assert meets("get", "/v1/audit", first)
    assert [record["audit_id"] for record in first["records"]] == [asked[2], asked[1]]
    assert all("query" not in record for record in first["records"])
    rest = send(url, "GET", f"/v1/audit?kind=retrieval&limit=1&before={first['next']}", token=token).json
    assert [record["audit_id"] for record in rest["records"]] == [asked[0]]
    one = send(url, "GET", f"/v1/audit/{asked[0]}", token=token).json
    assert meets("get", "/v1/audit/{audit_id}", one)
    assert one["query"]["query"] == "客户投诉 0"
    mine = send(url, "GET", f"/v1/audit?principal={one['principal']}&since={one['at']}", token=token).json
    assert ([record["audit_id"] for record in mine["records"]], mine["next"]) == ([asked[0]], None)
    assert (
        send(url, "GET", f"/v1/audit?until={one['at']}&principal={one['principal']}", token=token).json["records"]
        == []
    )


@pytest.mark.parametrize(
    "query",
    [
        "kind=gossip",
        "limit=0",
        "limit=1001",
        "limit=x",
        "since=nan",
        "until=1e999",
        "since=2&until=1",
        "sinse=1",
        "limit=1&limit=2",
    ],
)
def test_a_parameter_that_cannot_be_meant_is_400(served: Served, query: str) -> None:
    """Unknown, doubled or senseless parameters are refused rather than ignored."""
    answer = send(served[0], "GET", f"/v1/audit?{query}", token=key(served[1], "audit"))
    assert assert_problem(answer, 400, "invalid_request")


def test_an_agents_key_sees_its_own_records_alone(served: Served) -> None:
    """Lists hold only the agent's answers, whoever else was served between; another's id is a 404 everywhere."""
    url, library = served
    own, foreign, last = ask(served, "other"), ask(served, "support"), ask(served, "other")
    change = library.audit.list(kind="key", limit=1)[0].audit_id
    token = key(library, "audit", agent="other")
    listed = send(url, "GET", "/v1/audit?limit=1000", token=token).json["records"]
    assert {record["record"]["agent"] for record in listed} == {"other"}
    assert [record["audit_id"] for record in listed[:2]] == [last, own]
    assert send(url, "GET", "/v1/audit?kind=key", token=token).json == {"records": [], "next": None}
    page = send(url, "GET", f"/v1/audit?limit=1&before={last}", token=token).json
    assert [record["audit_id"] for record in page["records"]] == [own]
    assert send(url, "GET", f"/v1/audit/{own}", token=token).status == 200
    said = set()
    for hidden in (foreign, change, "a-none"):
        for method, path in (("GET", ""), ("POST", "/replay")):
            answer = send(url, method, f"/v1/audit/{hidden}{path}", token=token)
            said.add(assert_problem(answer, 404, "not_found")["detail"])
        assert_problem(send(url, "GET", f"/v1/audit?before={hidden}", token=token), 404, "not_found")
    assert len(said) == 1
    assert_problem(send(url, "POST", "/v1/audit/verify", token=token), 403, "not_permitted")


def test_an_agents_page_is_full_across_pages_of_the_log(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many records of others lie between, a page holds as many of the agent's as were asked for."""
    own = [ask(served, agent) for agent in ("other", "support", "support", "other", "support")][::3]
    monkeypatch.setattr("wenyuan.server.routes.audit._MOST", 2)
    token = key(served[1], "audit", agent="other")
    page = send(served[0], "GET", "/v1/audit?limit=2", token=token).json
    assert ([record["audit_id"] for record in page["records"]], page["next"]) == (own[::-1], own[0])


def test_the_audit_is_verified_over_http(served: Served) -> None:
    """Whole, also against a head that was kept; against a wrong one the fault is named; nonsense is 400."""
    url, token = served[0], key(served[1], "audit")
    whole = send(url, "POST", "/v1/audit/verify", token=token).json
    assert (whole["ok"], whole["first_fault"]) == (True, None)
    assert send(url, "POST", "/v1/audit/verify", {"head": whole["head"]}, token).json["ok"] is True
    wrong = send(url, "POST", "/v1/audit/verify", {"head": f"1:{'0' * 64}"}, token).json
    assert (wrong["ok"], wrong["first_fault"]["seq"]) == (False, 1)
    assert meets("post", "/v1/audit/verify", whole)
    assert meets("post", "/v1/audit/verify", wrong)
    wrongs: tuple[object, ...] = ({"head": "x"}, {"head": 1}, {"haed": whole["head"]}, [])
    for body in wrongs:
        assert_problem(send(url, "POST", "/v1/audit/verify", body, token), 400, "invalid_request")


def test_a_question_is_replayed_over_http(served: Served) -> None:
    """An agent's key asks its own question again, of now and of then; what is no question is 400."""
    url, library = served
    path = f"/v1/audit/{ask(served, 'support')}/replay"
    token = key(library, "audit", agent="support")
    for body, exact in ((None, False), ({}, False), ({"exact": True}, True)):
        again = send(url, "POST", path, body, token)
        assert (again.status, again.json["identical"], again.json["exact"]) == (200, True, exact)
        assert meets("post", "/v1/audit/{audit_id}/replay", again.json)
    assert_problem(send(url, "POST", path, {"exact": "yes"}, token), 400, "invalid_request")
    change = library.audit.list(kind="key", limit=1)[0].audit_id
    answer = send(url, "POST", f"/v1/audit/{change}/replay", token=key(library, "audit"))
    assert_problem(answer, 400, "invalid_request")


def test_a_replay_tells_an_agent_nothing_beyond_its_scope(tmp_path: Path) -> None:
    """What has left an agent's scope since is neither asked again for it nor named; the operator is told all."""
    with governed_server(tmp_path) as (url, library):
        bound = Principal(key_id="k", agent_id="support")
        answer = library.retrieve_fragments(RetrievalRequest(query="客户投诉 响应 个人数据", max_results=5), bound)
        assert {f.metadata["source_id"] for f in answer.fragments} == {"crm_policy", "regulation_cn_gdpr"}
        searched = library.find(SearchRequest(query="个人数据"), bound)
        library.catalog.put_agent(parse_agent({**SUPPORT, "knowledge_scope": SUPPORT["knowledge_scope"][:1]}))
        more = tmp_path / "docs" / "regulation_cn_gdpr" / "more.md"
        more.write_text("# 客户投诉\n\n客户投诉中的个人数据另行规定。\n", encoding="utf-8")
        library.ingest("regulation_cn_gdpr")
        whole = answer.fragments[0].metadata["audit_id"]
        said = []
        for audit_id in (whole, *searched.audit_ids):
            for body in ({}, {"exact": True}):
                own, full = (
                    send(url, "POST", f"/v1/audit/{audit_id}/replay", body, key(library, "audit", agent=agent)).json
                    for agent in ("support", None)
                )
                assert "regulation" not in str(own["differences"])
                said.append({one["what"] for one in own["differences"]})
                assert full["identical"] or not body
                assert "regulation" in str(full["differences"]) or body or audit_id != whole
        assert sum("left the scope" in whats for whats in said) == 4  # of the whole, and of that domain's own record


def test_a_past_that_is_gone_is_no_failure_over_http(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """200 with the reason, without a traceback in the log; which source it was is told to the operator alone."""
    with governed_server(tmp_path) as (url, library):
        bound = Principal(key_id="k", agent_id="support")
        answer = library.retrieve_fragments(RetrievalRequest(query="客户投诉", max_results=5), bound)
        library.remove("wiki")
        path = f"/v1/audit/{answer.fragments[0].metadata['audit_id']}/replay"
        for agent, said in ((None, "wiki was removed"), ("support", "are not kept any more")):
            again = send(url, "POST", path, {"exact": True}, key(library, "audit", agent=agent))
            assert again.status == 200, again.body
            assert (again.json["identical"], again.json["asked"]) == (False, False)
            assert meets("post", "/v1/audit/{audit_id}/replay", again.json)
            assert said in again.json["differences"][0]["detail"]
            assert agent is None or "wiki" not in again.body.decode()
    assert not [record for record in caplog.records if record.exc_info]


def test_changes_are_recorded_under_the_key_that_made_them(served: Served) -> None:
    """Of changes made at the same time with different keys, each record names the key of its request."""
    url, library = served
    tokens = [key(library, "admin") for _ in range(6)]

    def change(n: int) -> None:
        agent = {**OTHER, "agent_id": f"agent{n}"}
        assert send(url, "POST", "/v1/agents", agent, tokens[n]).status == 201
        assert send(url, "PATCH", "/v1/sources/wiki", {"title": f"第{n}版"}, tokens[n]).status == 200
        made = send(url, "POST", "/v1/keys", {"rights": ["search"]}, tokens[n]).json["key_id"]
        assert send(url, "DELETE", f"/v1/keys/{made}", token=tokens[n]).status == 200
        assert send(url, "DELETE", f"/v1/agents/agent{n}", token=tokens[n]).status == 200

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(change, range(6)))
    for n, token in enumerate(tokens):
        made = library.audit.list(principal=key_id(token))
        assert sorted((r.kind, r.record["action"]) for r in made) == [
            ("agent", "added"), ("agent", "removed"), ("key", "created"), ("key", "revoked"), ("registry", "changed"),
        ]  # fmt: skip
        assert {r.record["object"] for r in made if r.kind == "agent"} == {f"agent{n}"}
    assert ACTING.get() == Principal()
    library.catalog.put_source(replace(library.catalog.source("wiki"), title="Wiki"))
    assert library.audit.list(limit=1)[0].principal == "local"
