"""Strict JSON in, and the shapes of the contract both ways."""

from __future__ import annotations

import json
import math
import time
from datetime import date

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from wenyuan.core.errors import InvalidRequest, msg
from wenyuan.core.model import MAX_QUERY_CHARS, Fragment, RetrievalRequest, RetrievalResponse
from wenyuan.core.restrictions import faults_of
from wenyuan.wire.contract import encode, request_from_wire, request_to_wire, response_from_wire, response_to_wire
from wenyuan.wire.strict_json import MAX_DEPTH, loads

text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)
scalar = (
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | text
)
value = st.recursive(scalar, lambda v: st.lists(v, max_size=4) | st.dictionaries(text, v, max_size=4), max_leaves=12)


def depth(tree: object) -> int:
    if isinstance(tree, list):
        return 1 + max(map(depth, tree), default=0)
    if isinstance(tree, dict):
        return 1 + max(map(depth, tree.values()), default=0)
    return 0


def faults(call, *args) -> dict[str, str]:
    with pytest.raises(InvalidRequest) as caught:
        call(*args)
    assert caught.value.faults
    return {fault.path: fault.message for fault in caught.value.faults}


@given(value, st.booleans())
def test_what_json_writes_is_read_back_equal(tree, ascii_only):
    """Any tree inside the limits is read back equal, escaped or not."""
    body = json.dumps(tree, ensure_ascii=ascii_only).encode()
    assert loads(body) == tree
    assert json.dumps(loads(body)) == json.dumps(tree)  # tells 1 from True and 1.0


@given(st.binary(max_size=200) | st.text(alphabet='[]{}",:\\u0dD8eE+-.19ntf \n文', max_size=80).map(str.encode))
@example(b'"\\ud83d\\ude00"')
@example(b'{"a":"\\\\ud800"}')
def test_any_bytes_are_a_value_or_an_invalid_request(body):
    """Whatever comes in, the outcome is a clean value or InvalidRequest, and nothing else."""
    try:
        tree = loads(body)
    except InvalidRequest as error:
        assert error.faults
        return
    json.dumps(tree, allow_nan=False, ensure_ascii=False).encode()
    assert "\\u0000" not in json.dumps(tree).replace("\\\\", "")


@pytest.mark.parametrize(
    ("body", "path", "words"),
    [
        (b"", "$", "empty"),
        (b" \r\n\t", "$", "empty"),
        (b"\xef\xbb\xbf{}", "$", "byte order mark"),
        ("{}".encode("utf-16"), "$", "UTF-8 at byte 0"),
        ('{"q":"文"}'.encode("gb18030"), "$", "UTF-8 at byte 6"),
        (b'{"a":"\xff"}', "$", "UTF-8"),
        (b'{"a":"\xed\xa0\x80"}', "$", "UTF-8"),
        (b'{"a":NaN}', "a", "NaN"),
        (b'{"a":[1,-Infinity]}', "a[1]", "Infinity"),
        (b'{"a":{"b":1e400}}', "a.b", "64-bit"),
        (b"[-1e400]", "$[0]", "64-bit"),
        (b'{"a":9007199254740993}', "a", "2^53"),
        (b'{"a":-9007199254740993}', "a", "2^53"),
        (b'{"a":' + b"9" * 10_000 + b"}", "a", "2^53"),
        (b'{"a":1,"a":1}', "a", "only once"),
        (b'{"x":{"a":1,"\\u0061":2}}', "x.a", "only once"),
        (b'{"a":"\\ud800"}', "a", "surrogate"),
        (b'{"a":"\\udc00\\ud800"}', "a", "surrogate"),
        (b'{"\\uD83D":1}', "?", "surrogate"),
        (b'{"a":"x\\u0000y"}', "a", "NUL"),
        (b'{"a":"x\x00y"}', "$", "line 1, column 8"),
        (b'{"a":"x\ny"}', "$", "line 1"),
        (b"{'a':1}", "$", "not JSON"),
        (b'{"a":1,}', "$", "not JSON"),
        (b"{}{}", "$", "not JSON"),
        (b"{} // no", "$", "not JSON"),
        (b"[01]", "$", "not JSON"),
        (b"[+1]", "$", "not JSON"),
        (b"[.5]", "$", "not JSON"),
        (b"[1.]", "$", "not JSON"),
        (b"[0x10]", "$", "not JSON"),
        (b'["\\x41"]', "$", "not JSON"),
        (b'["\\u12"]', "$", "not JSON"),
        ("[１]".encode(), "$", "not JSON"),
        ("{“a”：1}".encode(), "$", "not JSON"),
        ("[\u00a01]".encode(), "$", "not JSON"),
        (b'{"a":"unfinished', "$", "not JSON"),
        (b"[" * 100_000, "$", "deeper than 32"),
        (b'{"a":' * 100_000, "$", "deeper than 32"),
        (b"[" * 33 + b"]" * 33, "$", "deeper than 32"),
        (b"[" * 100 + b'"' + b"]" * 100, "$", "deeper than 32"),
    ],
)
def test_what_rfc_8259_forbids_or_leaves_open_is_refused_with_its_place(body, path, words):
    """Each ambiguity of JSON is refused and named with its path."""
    found = faults(loads, body)
    assert words in found[path]


def test_all_refused_values_are_reported_at_once():
    """Several bad values in one body give one fault each."""
    found = faults(loads, b'[NaN,{"a":1,"a":2},"\\ud800",{"b":1e999}]')
    assert list(found) == ["$[0]", "$[1].a", "$[2]", "$[3].b"]


@given(st.integers(1, 60), st.randoms(use_true_random=False))
def test_depth_is_counted_as_brackets_nest_outside_of_strings(levels, random):
    """A tree is read exactly when it has at most 32 levels, whatever brackets its strings hold."""
    tree: object = ']}[{\\"' * random.randint(0, 9)
    for _ in range(levels):
        tree = random.choice([[tree], {"[": tree}, [[], tree, {}], {"a": '"[[', "b": tree}])
    body = json.dumps(tree).encode()
    if depth(tree) <= MAX_DEPTH:
        assert loads(body) == tree
    else:
        assert "deeper" in faults(loads, body)["$"]


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 33 + b'"' + b'\\"' * 500_000,
        b"[" * 1_000_000,
        b"[[" + b"]" * 1_000_000,
        b"9" * 1_000_000,
        b'{"a":' * 200_000,
        b'["' + b"\\ud83d\\ude00" * 80_000 + b'"]x',
    ],
    ids=["escapes", "open", "closed", "digits", "objects", "pairs"],
)
def test_a_hostile_body_costs_linear_time(body):
    """A megabyte made to be slow is refused within a second of the processor's."""
    started = time.process_time()
    faults(loads, body)
    assert time.process_time() - started < 1


@pytest.mark.parametrize(
    "body",
    [
        '{"sk_SECRET 值":NaN}',
        '{"a":"SECRET\\u0000"}',
        '{"SECRET 键":1,"SECRET 键":2}',
        "SECRET",
        '{"query":"SECRET","max_results":"SECRET"}',
        '{"SECRET=键":1}',
        '{"query":"x","max_results":1,"context":{"as_of":"SECRET","task_id":["SECRET"]}}',
    ],
)
def test_an_error_never_repeats_what_was_sent(body):
    """No value, and no key that is no identifier, comes back in an error."""
    with pytest.raises(InvalidRequest) as caught:
        request_from_wire(loads(body.encode()))
    assert "SECRET" not in f"{caught.value} {caught.value.faults}"


contexts = st.none() | st.dictionaries(text, value.filter(lambda v: depth(v) < 8), max_size=6).map(
    lambda c: {
        k: v for k, v in c.items() if k not in ("source_document_uri", "task_id", "as_of") and not faults_of({k: v})
    }  # a misspelt restriction is refused
)
typed = st.fixed_dictionaries(
    {}, optional={"source_document_uri": text, "task_id": text, "as_of": st.dates().map(date.isoformat)}
)
queries = text.filter(str.strip)


@given(queries, st.integers(1, 100), contexts, typed)
def test_a_request_survives_the_wire(query, max_results, context, known):
    """Core → JSON → core is the identity for requests."""
    context = None if context is None else {**context, **known}
    request = RetrievalRequest(query=query, max_results=max_results, context=context)
    assert request_from_wire(loads(encode(request_to_wire(request)))) == request


fragments = st.lists(
    st.builds(
        Fragment,
        source=text,
        content=text,
        retrieval_score=st.floats(0, 1),
        metadata=st.dictionaries(text, value, max_size=3),
    ),
    max_size=5,
).map(lambda fs: tuple(sorted(fs, key=lambda f: -f.retrieval_score)))
responses = st.builds(RetrievalResponse, status=st.just("SUCCESS"), fragments=fragments) | st.builds(
    RetrievalResponse, status=st.just("FAILED"), error_message=queries
)


@given(responses)
def test_a_response_survives_the_wire(response):
    """Core → JSON → core is the identity for responses, and error_message is there only when FAILED."""
    body = encode(response_to_wire(response))
    assert ("error_message" in json.loads(body)) == (response.status == "FAILED")
    assert response_from_wire(loads(body)) == response


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        ([], {"$": "must be an object"}),
        ("query", {"$": "must be an object"}),
        (None, {"$": "must be an object"}),
        ({}, {"query": "is required", "max_results": "is required"}),
        ({"query": "", "max_results": 3}, {"query": "must not be blank"}),
        ({"query": "　\u2003\n", "max_results": 3}, {"query": "must not be blank"}),
        ({"query": "规" * 8001, "max_results": 3}, {"query": "has 8001 characters; at most 8000"}),
        ({"query": ["x"], "max_results": 3}, {"query": "must be a string"}),
        ({"query": None, "max_results": 3}, {"query": "must be a string"}),
        *(
            ({"query": "x", "max_results": wrong}, {"max_results": "must be an integer"})
            for wrong in ("3", "三", 3.0, 3.5, True, None, [3], {})
        ),
        *(
            ({"query": "x", "max_results": wrong}, {"max_results": "must be from 1 to 100"})
            for wrong in (0, -1, 101, 10**9)
        ),
        ({"query": "x", "max_results": 3, "context": "c"}, {"context": "must be an object"}),
        ({"query": "x", "max_results": 3, "context": []}, {"context": "must be an object"}),
        ({"query": "x", "max_results": 3, "context": {"task_id": 7}}, {"context.task_id": "must be a string"}),
        *(
            (
                {"query": "x", "max_results": 3, "context": {"as_of": wrong}},
                {"context.as_of": "must be a date such as 2024-05-20"},
            )
            for wrong in ("20240520", "2024-W21-1", "2024-02-30", "２０２４-０５-２０", "2024-5-2", "")
        ),
    ],
)
def test_each_malformed_request_is_refused_with_its_path(payload, expected):
    """Types are never coerced, limits hold, and the fault says where and what."""
    assert faults(request_from_wire, payload) == expected


def test_every_fault_of_a_request_is_reported_at_once():
    """A request with five faults is told all five."""
    found = faults(
        request_from_wire,
        {"query": " ", "max_result": 5, "contxt": {}, "context": {"task_id": 1, "source_document_uri": []}},
    )
    assert set(found) == {
        "query",
        "max_results",
        "max_result",
        "contxt",
        "context.task_id",
        "context.source_document_uri",
    }


@pytest.mark.parametrize(
    ("key", "meant"),
    [("Query", "query"), ("maxResults", "max_results"), ("max-results", "max_results"), ("contexts", "context")],
)
def test_an_unknown_key_is_told_what_was_probably_meant(key, meant):
    """A misspelt key at the top gets a suggestion."""
    found = faults(request_from_wire, {"query": "x", "max_results": 1, key: 1})
    assert f"did you mean '{meant}'" in found[key]


def test_an_unknown_key_unlike_any_other_is_pointed_to_the_context():
    """A foreign key at the top is told where further keys belong."""
    found = faults(request_from_wire, {"query": "x", "max_results": 1, "租户": 1})
    assert "only inside context" in found["?"]


def test_the_context_takes_unknown_keys_and_nulls():
    """Any key is welcome inside the context, and null stands for absent."""
    context = {"租户": {"层": [1, 2.5, None]}, "task_id": None, "model_config": 1, "__class__": "x"}
    payload = {"query": "x", "max_results": 1}
    assert request_from_wire({**payload, "context": context}).context == context
    assert request_from_wire({**payload, "context": None}).context is None


@pytest.mark.parametrize(
    ("context", "words"),
    [
        ({f"k{i}": 1 for i in range(65)}, "65 keys"),
        ({"a": [[[[[[[[1]]]]]]]]}, "9 levels"),
        ({"a": "文" * 6000}, "18008 bytes"),
    ],
)
def test_the_context_is_bounded(context, words):
    """More than 64 keys, 8 levels or 16 KiB are refused."""
    assert words in faults(request_from_wire, {"query": "x", "max_results": 1, "context": context})["context"]


def test_a_context_at_its_bounds_is_accepted():
    """64 keys, 8 levels and 16 KiB are fine."""
    full = {f"k{i}": 1 for i in range(63)} | {"deep": [[[[[[[1]]]]]]]}
    assert depth(full) == 8
    large = {"a": "x" * (16 * 1024 - len('{"a":""}'))}
    for context in (full, large):
        assert request_from_wire({"query": "x", "max_results": 1, "context": context}).context == context


def test_white_space_around_a_query_does_not_count():
    """8,000 characters with blanks around them are accepted."""
    query = " " * 50 + "规" * MAX_QUERY_CHARS + "\n"
    assert request_from_wire({"query": query, "max_results": 1}).query == query


@pytest.mark.parametrize(
    "payload",
    [
        {"status": "SUCCESS"},
        {"status": "success", "fragments": []},
        {"status": "FAILED", "fragments": []},
        {"status": "FAILED", "fragments": [], "error_message": " "},
        {"status": "SUCCESS", "fragments": [], "error_message": "x"},
        {"status": "SUCCESS", "fragments": [{"source": "a", "content": "b"}]},
        {"status": "SUCCESS", "fragments": [{"source": "a", "content": "b", "retrieval_score": 1.2}]},
        {"status": "SUCCESS", "fragments": [{"source": "a", "content": "b", "retrieval_score": math.nan}]},
        {"status": "SUCCESS", "fragments": [{"source": "a", "content": "b", "retrieval_score": "0.5"}]},
        {"status": "SUCCESS", "fragments": [{"source": "a", "content": "b", "retrieval_score": True}]},
        {
            "status": "SUCCESS",
            "fragments": [{"source": "a", "content": "b", "retrieval_score": s} for s in (0.1, 0.2)],
        },
        [],
    ],
)
def test_a_response_that_breaks_the_contract_is_not_read(payload):
    """A reader refuses what the contract forbids instead of guessing."""
    with pytest.raises(ValueError, match=r"."):
        response_from_wire(payload)


@pytest.mark.parametrize("beside", [1, {"template": 1}, {"template": "{x}", "values": {"x": "other"}}])
def test_wrong_parts_of_a_message_break_no_answer(beside):
    """What another service says of its message is not believed, and not refused."""
    payload = {"status": "FAILED", "fragments": [], "error_message": "down", "translatable": beside}
    assert response_from_wire(payload).error_message == "down"


def test_a_failed_answer_is_as_it_was_but_for_one_member():
    """A client that does not know the parts of a message reads what it always read."""
    message = msg("no {x}", x="1")
    body = response_to_wire(RetrievalResponse(status="FAILED", error_message=message))
    assert body.pop("translatable") == {"template": "no {x}", "values": {"x": "1"}}
    assert body == {"status": "FAILED", "fragments": [], "error_message": "no 1"}


def test_a_null_error_message_and_further_keys_are_read():
    """Other implementations may send error_message null on SUCCESS, no metadata, and keys of their own."""
    payload = {
        "status": "SUCCESS",
        "fragments": [{"source": "a", "content": "b", "retrieval_score": 1, "rank": 1, "metadata": None}],
        "error_message": None,
        "took_ms": 3,
    }
    assert response_from_wire(payload).fragments == (Fragment(source="a", content="b", retrieval_score=1.0),)


def test_encoding_writes_dates_and_refuses_what_json_cannot_carry():
    """A date becomes its ISO form; NaN, half a surrogate pair and foreign objects are errors."""
    assert encode({"d": date(2024, 5, 20), "文": "渊"}) == '{"d":"2024-05-20","文":"渊"}'.encode()
    for wrong in (math.nan, "\ud800", object()):
        with pytest.raises((ValueError, TypeError)):
            encode({"a": wrong})
