"""What the HTTP door answers, over real loopback connections."""

from __future__ import annotations

import contextlib
import json
import logging
import time
from collections.abc import Callable, Iterator, Mapping

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from http_door import JSON, PATH, Broken, EchoService, Ready, ask, assert_problem, call, q, serving
from wenyuan.client import Client
from wenyuan.core.access import Principal
from wenyuan.core.errors import CatalogBusy, Fault, InvalidRequest, Message, NotPermitted, RetrievalFailed
from wenyuan.core.restrictions import faults_of
from wenyuan.i18n.translation import translated
from wenyuan.server.problems import Problem
from wenyuan.settings import ServerSettings


@pytest.fixture
def run() -> Iterator[Callable[..., str]]:
    with contextlib.ExitStack() as stack:
        yield lambda *service, **options: stack.enter_context(serving(*service, **options))


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving() as address:
        yield address


@pytest.mark.parametrize("path", [PATH, "/retrieve_fragments"])
def test_a_valid_request_is_answered_in_the_contracts_shape(url, path):
    """SUCCESS carries exactly status and fragments, on both paths, with the service's headers."""
    context = {"task_id": "t-1", "source_document_uri": "file:///规范.md", "自定义": [1, {"深": True}]}
    answer = call(url, path=path, body={"query": "高处作业", "max_results": 1, "context": context})
    assert answer.status == 200
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.headers["X-Retrieval-Status"] == "SUCCESS"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.json == {
        "status": "SUCCESS",
        "fragments": [
            {
                "source": "urn:q",
                "content": "高处作业",
                "retrieval_score": 0.5,
                "metadata": {"context": context, "odd": 1.5},
            }
        ],
    }


def test_nothing_found_is_success_with_an_empty_array(url):
    """An empty result is SUCCESS and has no error message."""
    assert ask(url, "nothing").json == {"status": "SUCCESS", "fragments": []}


def test_a_failure_is_failed_with_its_reason(url, run):
    """FAILED says why, has no fragments, and its HTTP status is 200 or the one configured."""
    strict = run(settings=ServerSettings(failed_http_status=503))
    for address, status in ((url, 200), (strict, 503)):
        answer = ask(address, "failed")
        assert answer.status == status
        assert answer.headers["X-Retrieval-Status"] == "FAILED"
        assert answer.json == {"status": "FAILED", "fragments": [], "error_message": "数据库连接失败"}
    assert ask(strict, "nothing").status == 200


@pytest.mark.parametrize("query", ["bug", "nan", "late KnowledgeError"])
def test_an_unexpected_exception_is_failed_and_keeps_internals_inside(url, query):
    """Whatever goes wrong after a valid request is FAILED, named by request id, without particulars."""
    answer = ask(url, query)
    assert (answer.status, answer.headers["X-Retrieval-Status"]) == (200, "FAILED")
    body = answer.json
    assert (body["status"], body["fragments"]) == ("FAILED", [])
    assert answer.headers["X-Request-Id"] in body["error_message"]
    assert not any(word in body["error_message"] for word in ("hunter2", "secret", "RuntimeError", "nan"))
    assert ("the index is gone" in body["error_message"]) == (query == "late KnowledgeError")


def test_what_the_service_refuses_is_a_problem(url):
    """InvalidRequest of the service is 400 with its faults, NotPermitted is 403."""
    problem = assert_problem(ask(url, "invalid"), 400, "invalid_request")
    assert problem["errors"] == [{"path": "context.as_of", "message": "no such day"}]
    assert_problem(ask(url, "forbidden"), 403, "not_permitted")


MALFORMED = [
    b"",
    b" ",
    b"null",
    b"true",
    b"3",
    b'"query"',
    b"[]",
    b"{}",
    b"{",
    b"}",
    b'{"query"}',
    b'{"query":"x"}',
    b'{"max_results":3}',
    b'{"query":"x","max_results":3',
    b'{"query":"x","max_results":3}}',
    b'{"query":"x","max_results":3,}',
    b'{"query":"x" "max_results":3}',
    b"{'query':'x','max_results':3}",
    b'{query:"x",max_results:3}',
    b'{"query":"x","max_results":03}',
    b'{"query":"x","max_results":+3}',
    b'{"query":"x","max_results":3.}',
    b'{"query":"x","max_results":3.0}',
    b'{"query":"x","max_results":3e0}',
    b'{"query":"x","max_results":0x3}',
    b'{"query":"x","max_results":NaN}',
    b'{"query":"x","max_results":Infinity}',
    b'{"query":"x","max_results":1e400}',
    b'{"query":"x","max_results":9007199254740993}',
    b'{"query":"x","max_results":' + b"9" * 5000 + b"}",
    b'{"query":"x","max_results":1,"max_results":1}',
    b'{"query":"x","query":"y","max_results":1}',
    b'{"query":"\\ud800","max_results":1}',
    b'{"query":"\\udc00\\ud800","max_results":1}',
    b'{"query":"\\u0000","max_results":1}',
    b'{"query":"a\x00b","max_results":1}',
    b'{"query":"a\nb","max_results":1}',
    b'{"query":"\\x41","max_results":1}',
    b'{"query":"\xff\xfe","max_results":1}',
    b'{"query":"\xed\xa0\x80","max_results":1}',
    b'\xef\xbb\xbf{"query":"x","max_results":1}',
    '{"query":"x","max_results":1}'.encode("utf-16"),
    '{"query":"规范","max_results":1}'.encode("gbk"),
    '{"query"："x"，"max_results"：1}'.encode(),
    '{"query":"x","max_results":１}'.encode(),
    b"query=x&max_results=1",
    b"<query>x</query>",
    b"[" * 500 + b"]" * 500,
    b"[" * 100_000,
    b'{"query":' * 50_000,
    b'{"query":"x","max_results":1,"context":' + b'{"a":' * 40 + b"1" + b"}" * 41,
    q(max_results="1"),
    q(max_results="one"),
    q(max_results="３"),
    q(max_results=True),
    q(max_results=None),
    q(max_results=[1]),
    q(max_results=0),
    q(max_results=-1),
    q(max_results=101),
    q(max_results=10**9),
    q(query=""),
    q(query="  \t"),
    q(query="　"),
    q(query=7),
    q(query=None),
    q(query=["x"]),
    q(query={"text": "x"}),
    q(query="规" * 8001),
    q(context="x"),
    q(context=[]),
    q(context=1),
    q(context={"task_id": 1}),
    q(context={"task_id": ["x"]}),
    q(context={"source_document_uri": {}}),
    q(context={"as_of": "2024-02-30"}),
    q(context={"as_of": 20240520}),
    q(context={f"k{i}": i for i in range(1000)}),
    q(context={"a": "x" * 20_000}),
    q(context={"a": [[[[[[[[[[]]]]]]]]]]}),
    q(contxt={}),
    q(Query="x"),
    q(top_k=3),
    q(**{"": 1}),
    q(__proto__={}),
]


@pytest.mark.parametrize("body", MALFORMED, ids=lambda body: repr(body[:32]))
def test_a_malformed_body_is_a_structured_400(url, body):
    """Each of many malformed bodies gets 400, a problem document and at least one located fault."""
    problem = assert_problem(call(url, body=body), 400, "invalid_request")
    assert problem["errors"]
    assert all(set(error) - {"translatable"} == {"path", "message"} for error in problem["errors"])
    assert all(error["message"] for error in problem["errors"])


def test_what_a_message_is_made_of_stands_beside_it(url):
    """A refusal, its faults and a failure carry template and values, so that they are said in any language exactly."""
    problem = ask(url, "长" * 9_000).json
    (fault,) = problem["errors"]
    assert fault["translatable"] == {
        "template": "has {length} characters; at most {max_query_chars}",
        "values": {"length": "9000", "max_query_chars": "8000"},
    }
    assert problem["translatable"]["values"] == {
        "messages": [{"template": "{place} {fault}", "values": {"place": "query", "fault": fault["translatable"]}}]
    }
    failed = ask(url, "late KnowledgeError").json
    assert failed["translatable"]["values"]["reason"] == {
        "template": "{component}: {message}",
        "values": {"component": "engine local", "message": "the index is gone"},
    }


def test_a_client_says_in_chinese_what_the_server_said_in_english(url):
    """Refused or failed: nothing of it is found again by its words, and no value is taken for a part of a sentence."""
    with Client(url, retries=0) as client:
        with pytest.raises(InvalidRequest) as refused:
            client.retrieve_fragments("断路器", context={str(number): 1 for number in range(65)})
        with pytest.raises(RetrievalFailed) as failed:
            client.retrieve_fragments("late KnowledgeError")
    assert translated(refused.value.message) == "请求被拒绝（HTTP 400）：context 有 65 个键，最多 64 个"
    assert [translated(fault.message) for fault in refused.value.faults] == ["有 65 个键，最多 64 个"]
    assert isinstance(failed.value.message, Message)
    assert "（请求 " in translated(failed.value.message)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Content-Type": ""},
        {"Content-Type": "text/plain"},
        {"Content-Type": "text/json"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Content-Type": "multipart/form-data; boundary=x"},
        {"Content-Type": "application/jsonp"},
        {"Content-Type": "application/problem+json"},
        {"Content-Type": "application/json; charset=gbk"},
        {"Content-Type": 'application/json; charset="utf-16"'},
        {"Content-Type": "application/json, application/json"},
        {**JSON, "Content-Encoding": "gzip"},
        {**JSON, "Content-Encoding": "br, identity"},
    ],
    ids=str,
)
def test_another_media_type_or_coding_is_415(url, headers):
    """Anything but plain JSON in UTF-8 is refused before the body is looked at."""
    coded = "Content-Encoding" in headers
    code = "unsupported_content_encoding" if coded else "unsupported_media_type"
    for body in (q(), b"\x1f\x8b not json", b""):
        assert_problem(call(url, body=body, headers=headers), 415, code)


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Type": "application/json; charset=utf-8"},
        {"Content-Type": 'Application/JSON;charset="UTF-8"'},
        {"content-type": "application/json;charset=utf8", "Content-Encoding": "identity"},
    ],
    ids=str,
)
def test_utf_8_may_be_named(url, headers):
    """A charset parameter that says UTF-8, and the identity coding, change nothing."""
    assert call(url, body=q(), headers=headers).status == 200


def test_callers_are_asked_for_before_anything_else(run):
    """The authentication seam refuses before path, type or body are looked at; probes need no principal."""
    seen: list[str | None] = []

    def authenticate(headers: Mapping[str, str]) -> object:
        seen.append(headers.get("authorization"))
        if headers.get("authorization") is None:
            raise Problem.unauthenticated("an API key is needed")
        if headers["authorization"] != "Bearer 钥".encode().decode("latin-1"):
            raise NotPermitted("this key may not")
        return Principal()

    url = run(authenticate=authenticate)
    for path in (PATH, "/nowhere", "/v1/sources"):
        answer = call(url, path=path, body=b"{{{", headers={"Content-Type": "text/plain"})
        assert_problem(answer, 401, "unauthenticated")
        assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert_problem(call(url, body=q(), headers={**JSON, "Authorization": "Bearer x"}), 403, "not_permitted")
    assert call(url, body=q(), headers={**JSON, "Authorization": "Bearer 钥".encode()}).status == 200
    for probe in ("/livez", "/readyz", "/openapi.json"):
        assert call(url, "GET", probe).status == 200
    assert len(seen) == 5


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "8.8.8.8:80", "[::2]", "[", "@@"])
def test_a_foreign_host_name_is_refused_on_loopback(url, host):
    """A web page that points its own name at this machine cannot read answers."""
    assert_problem(call(url, body=q(), headers={**JSON, "Host": host}), 403, "not_permitted")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8765", "127.0.0.1", "127.8.9.1:1", "[::1]:80"])
def test_a_loopback_host_name_is_served(url, host):
    """Every spelling of this machine is fine."""
    assert call(url, body=q(), headers={**JSON, "Host": host}).status == 200


def test_the_fault_switch_works_only_where_it_was_given(url, run):
    """The fault header makes a real failure with the switch, and means nothing without it."""
    service = EchoService()
    headers = {**JSON, "X-Wenyuan-Fault": "engine"}
    with_switch = run(service, fault=service.fault)
    assert call(with_switch, body=q(), headers=headers).json == {
        "status": "FAILED",
        "fragments": [],
        "error_message": "engine is down",
    }
    assert ask(with_switch).json["status"] == "SUCCESS"
    assert call(url, body=q(), headers=headers).json["status"] == "SUCCESS"


def test_an_unknown_fault_is_refused(run):
    """A switch that does not know a name says so with 400."""

    def fault(name: str) -> contextlib.AbstractContextManager[None]:
        raise InvalidRequest("no such fault", faults=(Fault("X-Wenyuan-Fault", "is unknown"),))

    url = run(fault=fault)
    assert_problem(call(url, body=q(), headers={**JSON, "X-Wenyuan-Fault": "moon"}), 400, "invalid_request")


def test_no_exception_leaves_as_plain_text(run, caplog):
    """An unforeseen exception is a 500 problem without particulars, and the log has it by request id."""
    url = run(Broken(RuntimeError("password=hunter2")))
    answer = call(url, "GET", "/v1/sources")
    problem = assert_problem(answer, 500, "internal_error")
    assert "hunter2" not in answer.body.decode()
    record = next(r for r in caplog.records if r.levelno == logging.ERROR)
    assert problem["request_id"] in record.getMessage()
    assert "hunter2" in str(record.exc_info[1])


def test_a_known_failure_elsewhere_is_503_with_its_code(run):
    """Outside of the contract's own route a KnowledgeError is 503, with code and reason."""
    url = run(Broken(CatalogBusy("another process is writing", component="catalog")))
    problem = assert_problem(call(url, "GET", "/v1/sources"), 503, "catalog_busy")
    assert problem["detail"] == "catalog: another process is writing"


def test_sources_are_listed(url):
    """GET /v1/sources gives what the service lists."""
    assert call(url, "GET", "/v1/sources").json == {"sources": [{"source_id": "规范", "trust": 5}]}


def test_readiness_is_200_or_503_with_its_parts(url, run):
    """Ready is 200, not ready and not knowing are 503; the parts are told each time."""

    class Warming(EchoService):
        def readiness(self) -> Ready:
            return Ready(False, {"engine": {"state": "failed", "detail": "索引重建中"}})

    assert (call(url, "GET", "/readyz").status, call(url, "GET", "/livez").status) == (200, 200)
    assert call(url, "GET", "/readyz").json["parts"]["catalog"]["passages"] == 3
    warming = call(run(Warming()), "GET", "/readyz")
    assert (warming.status, warming.json["ready"]) == (503, False)
    assert warming.json["parts"]["engine"] == {"state": "failed", "detail": "索引重建中"}
    broken = call(run(Broken(RuntimeError("hunter2"))), "GET", "/readyz")
    assert (broken.status, broken.json["parts"]["service"]["state"]) == (503, "failed")
    assert "hunter2" not in broken.body.decode()


def test_a_request_id_is_taken_over_or_made(url):
    """A tidy X-Request-Id comes back; anything else is replaced."""
    headers = {**JSON, "X-Request-Id": "trace-42_A"}
    assert call(url, body=q(), headers=headers).headers["X-Request-Id"] == "trace-42_A"
    made = set()
    for wrong in ("", "a b", "x" * 65, "<script>", "é"):
        headers["X-Request-Id"] = wrong
        made.add(call(url, body=q(), headers=headers).headers["X-Request-Id"])
    assert len(made) == 5
    assert all(len(identifier) == 32 for identifier in made)


def test_the_log_holds_no_query_and_no_content(url, caplog):
    """At INFO a request leaves method, path, status, time and id: nothing that a person asked."""
    caplog.set_level(logging.INFO)
    marked = {**JSON, "X-Request-Id": "log-test"}
    call(url, body=q(query="甲方的秘密", context={"task_id": "秘密任务"}), headers=marked)
    call(url, "GET", "/%E7%A7%98%E5%AF%86?q=%E7%A7%98", headers=marked)
    call(url, body='{"query":"秘密",,}'.encode(), headers=marked)
    limit = time.monotonic() + 60  # a line is written after its answer is sent
    while len(lines := [line for line in caplog.messages if "log-test" in line]) < 3:
        assert time.monotonic() < limit
        time.sleep(0.01)
    assert "POST /v1/retrieve_fragments 200" in lines[0]
    assert not any(word in caplog.text for word in ("秘密", "%E7", "task_id"))


nasty = st.text(max_size=60) | st.sampled_from(
    [
        "全角ＡＢＣ　１２３",
        "繁體中文與简体混排 mixed",
        "𠮷野家㊀Ⅻ①",
        "\u202e反向\u200b零宽\ufeff",
        "'; DROP TABLE passages;--",
        "${jndi:ldap://x}",
        "../../etc/passwd",
        "%s%n{0}",
        "\x1b[31m",
        "👩‍👩‍👧‍👦",
        "e\u0301",
        "<script>alert(1)</script>",
        "\r\nSet-Cookie: a=b",
        "\x85\x1f",
    ]
)


@settings(max_examples=150)
@given(nasty, st.booleans())
@example("DATE", False)
def test_nasty_strings_come_back_equal_or_are_refused(url, string, ascii_only):
    """Any text as query and as context is echoed unchanged with 200, or is a 400: never a 5xx."""
    payload = {"query": string, "max_results": 1, "context": {string: string}}
    body = json.dumps(payload, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    answer = call(url, body=body)
    surrogate = any("\ud800" <= character <= "\udfff" for character in string)
    restricts = not surrogate and bool(faults_of({string: string}))  # "DATE": looks like `as_of`, and is none
    if surrogate or "\0" in string or not string.strip() or restricts:
        assert_problem(answer, 400, "invalid_request")
    elif string in ("nothing", "failed", "bug", "nan", "invalid", "forbidden", "wait"):
        assert answer.status in (200, 400, 403)
    else:
        assert answer.status == 200
        fragment = answer.json["fragments"][0]
        assert fragment["content"] == string
        assert fragment["metadata"]["context"] == {string: string}
