"""The values of the core refuse nonsense when they are made, and say all that is wrong with it."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wenyuan.core import errors
from wenyuan.core.errors import InvalidRequest, KnowledgeError
from wenyuan.core.filters import MAX_DEPTH, And, Filter, In, Not, Or, Range, Scope, matches, parse_filter
from wenyuan.core.model import (
    FOREVER,
    MAX_QUERY_CHARS,
    Block,
    Document,
    EncoderFingerprint,
    Fragment,
    IndexRow,
    RetrievalRequest,
    RetrievalResponse,
    Source,
    heading_text,
)
from wenyuan.core.ports import Hit, LegResult, Ranking

# -- sources ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "path"),
    [
        *[
            ({"source_id": name}, "source_id")
            for name in ("", "a b", "安全", ".hidden", "-x", "a/b", "a" * 65, "a\n", "a#1")
        ],
        *[({"trust": value}, "trust") for value in (0, 6, -1, True, 3.0, "3", None)],
        ({"effective_from": date(2026, 2, 1), "effective_until": date(2026, 1, 31)}, "effective_until"),
        ({"type": "folder"}, "type"),
    ],
)
def test_source_refuses(values: dict[str, Any], path: str) -> None:
    """A source with a wrong value cannot be made, and the fault names the field."""
    with pytest.raises(InvalidRequest) as caught:
        Source(**{"source_id": "ok"} | values)
    assert [fault.path for fault in caught.value.faults] == [path]


def test_source_tells_all() -> None:
    """Everything that is wrong with a source is said at once."""
    with pytest.raises(InvalidRequest) as caught:
        Source(source_id="a b", trust=9, effective_from=date(2026, 2, 1), effective_until=date(2026, 1, 1))
    assert [fault.path for fault in caught.value.faults] == ["source_id", "trust", "effective_until"]


@given(st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_.\-]{0,63}", fullmatch=True), st.integers(1, 5))
def test_source_accepts(source_id: str, trust: int) -> None:
    """Any sane id and trust makes a source, whose title and domain are its id when none is given."""
    source = Source(source_id=source_id, trust=trust)
    assert (source.title, source.domain) == (source_id, source_id)


def test_source_of_one_day() -> None:
    """A source may be in force on one day alone."""
    day = date(2026, 2, 1)
    assert Source(source_id="a", effective_from=day, effective_until=day).effective_until == day


# -- requests -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [True, False, 3.0, "3", None, 0, -1, 101, 10**9, math.nan])
def test_max_results(count: Any) -> None:
    """The number of results is an integer from 1 to 100, and nothing that merely looks like one."""
    with pytest.raises(InvalidRequest, match="max_results") as caught:
        RetrievalRequest(query="安全", max_results=count)
    assert [fault.path for fault in caught.value.faults] == ["max_results"]


@pytest.mark.parametrize(
    "query", ["", "   ", "\u3000\n\t", None, 5, b"safety", ["safety"], "安" * (MAX_QUERY_CHARS + 1)]
)
def test_query(query: Any) -> None:
    """A query is a string with something in it, of at most 8,000 characters."""
    with pytest.raises(InvalidRequest, match="query") as caught:
        RetrievalRequest(query=query, max_results=1)
    assert [fault.path for fault in caught.value.faults] == ["query"]


def test_query_length_is_counted_without_margins() -> None:
    """White space around a query does not count."""
    assert RetrievalRequest(query=" " * 500 + "安" * MAX_QUERY_CHARS + "\n" * 500, max_results=100)


@pytest.mark.parametrize("context", ["", "x", 5, [], [("task_id", "x")], False])
def test_context(context: Any) -> None:
    """A context that is given is a mapping."""
    with pytest.raises(InvalidRequest, match="context must be an object"):
        RetrievalRequest(query="安全", max_results=1, context=context)


def test_request_tells_all() -> None:
    """Everything that is wrong with a request is said at once, in the message and as faults."""
    with pytest.raises(InvalidRequest) as caught:
        RetrievalRequest(query=" ", max_results="x", context=[])  # type: ignore[arg-type]
    assert [fault.path for fault in caught.value.faults] == ["query", "max_results", "context"]
    for fault in caught.value.faults:
        assert f"{fault.path} {fault.message}" in str(caught.value)


@given(
    st.text(min_size=1, max_size=50).filter(str.strip),
    st.integers(1, 100),
    st.none() | st.dictionaries(st.text(), st.integers()),
)
def test_request_accepts(query: str, count: int, context: dict[str, int] | None) -> None:
    """Any other request can be made and is kept as it is."""
    request = RetrievalRequest(query=query, max_results=count, context=context)
    assert (request.query, request.max_results, request.context) == (query, count, context)


# -- responses ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("score", [math.nan, math.inf, -math.inf, -1e-9, 1.0000001, 2])
def test_fragment_score(score: float) -> None:
    """A fragment's score lies in 0..1 and is a number."""
    with pytest.raises(ValueError, match="retrieval_score"):
        Fragment(source="urn:x", content="文", retrieval_score=score)


def fragment(score: float) -> Fragment:
    return Fragment(source="urn:x", content="文", retrieval_score=score)


@pytest.mark.parametrize(
    "values",
    [
        {"status": "FAILED"},
        {"status": "FAILED", "error_message": "  "},
        {"status": "FAILED", "error_message": "down", "fragments": (fragment(0.5),)},
        {"status": "SUCCESS", "error_message": "but"},
        {"status": "SUCCESS", "error_message": ""},
        {"status": "SUCCESS", "fragments": (fragment(0.4), fragment(0.5))},
        {"status": "PARTIAL"},
        {"status": "success"},
        {"status": None},
    ],
)
def test_response_refuses(values: dict[str, Any]) -> None:
    """There is no response between SUCCESS and FAILED, none without order, and no failure without a reason."""
    with pytest.raises(ValueError, match=r"\S"):
        RetrievalResponse(**values)


@given(st.lists(st.floats(0, 1)))
def test_response_order(scores: list[float]) -> None:
    """A response can be made of any fragments exactly when their scores do not rise."""
    fragments = tuple(fragment(score) for score in scores)
    if scores == sorted(scores, reverse=True):
        assert RetrievalResponse(status="SUCCESS", fragments=fragments).fragments == fragments
    else:
        with pytest.raises(ValueError, match="sorted"):
            RetrievalResponse(status="SUCCESS", fragments=fragments)


# -- documents and rankings ---------------------------------------------------------------------------


def cover(text: str, *spans: tuple[int, int]) -> Document:
    blocks = tuple(Block(kind="paragraph", start=a, end=b) for a, b in spans)
    return Document(uri="urn:x", title="", text=text, blocks=blocks, sha256="0" * 64)


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("安全第一", [(0, 2)]), ("安全第一", [(1, 4)]), ("安全第一", [(0, 1), (2, 4)]),
        ("安全第一", [(0, 3), (2, 4)]),
        ("安全第一", [(2, 4), (0, 2)]), ("安全第一", [(0, 5)]), ("安全第一", [(0, 9), (9, 12)]), ("安全第一", []),
    ],
)  # fmt: skip
def test_document_cover_refuses(text: str, spans: list[tuple[int, int]]) -> None:
    """Blocks that overlap, leave text out or end beyond it make no document."""
    with pytest.raises(ValueError, match="block"):
        cover(text, *spans)


def test_document_cover_accepts() -> None:
    """Between blocks and around them there may be white space."""
    assert cover(" 安全 \n\n 第一\n", (1, 3), (7, 9)).blocks[1].start == 7
    assert cover(" \n").blocks == ()


@pytest.mark.parametrize(("start", "end"), [(0, 0), (3, 2), (-1, 2)])
def test_block_holds_text(start: int, end: int) -> None:
    """A block holds at least one character."""
    with pytest.raises(ValueError, match="must hold text"):
        Block(kind="paragraph", start=start, end=end)


hits = st.lists(
    st.builds(
        lambda i, s: Hit(passage_id=i, score=s),
        st.integers(1, 6),
        st.floats(0, 1) | st.sampled_from([math.nan, math.inf, -0.1, 1.1]),
    ),
    max_size=6,
)


@given(hits)
def test_ranking(found: list[Hit]) -> None:
    """A ranking exists exactly when its scores lie in 0..1 and do not rise, and no passage stands twice."""
    scores = [hit.score for hit in found]
    good = (
        all(0 <= score <= 1 for score in scores)
        and scores == sorted(scores, reverse=True)
        and len({hit.passage_id for hit in found}) == len(found)
    )
    if good:
        ranking = Ranking(found)
        assert (list(ranking), len(ranking), list(ranking[:2])) == (found, len(found), found[:2])
        assert list(LegResult.ok(found).hits) == found
    else:
        for make in (Ranking, LegResult.ok):
            with pytest.raises(ValueError, match=r"score|twice"):
                make(found)


def test_values_are_frozen() -> None:
    """No value can be changed after it was made."""
    for value, name in (
        (Source(source_id="a"), "trust"),
        (fragment(0.1), "content"),
        (Hit(passage_id=1, score=0.1), "score"),
    ):
        with pytest.raises(AttributeError):
            setattr(value, name, 1)


def test_heading_text() -> None:
    """Title and headings stand once each, one a line, without the empty ones."""
    assert heading_text("安全手册", ["", "总则", "安全手册", "第一条", "总则"]) == "安全手册\n总则\n第一条"
    assert heading_text("", []) == ""


def test_fingerprint_key() -> None:
    """The key of an encoder differs whenever its vectors would, and is not touched by its scale."""
    values: dict[str, Any] = {"id": "m", "sha256": "0" * 64, "dimension": 8}
    changes: dict[str, Any] = {
        "id": "n", "sha256": "1" * 64, "dimension": 9, "query_prefix": "q: ", "passage_prefix": "p: ",
        "pooling": "cls", "quantisation": "int8", "script": "simplified",
    }  # fmt: skip
    keys = {EncoderFingerprint(**values | {name: value}).key for name, value in changes.items()}
    assert len(keys | {EncoderFingerprint(**values).key}) == len(changes) + 1
    assert EncoderFingerprint(**values, scale=(0.7, 1.0)).key == EncoderFingerprint(**values).key


def test_encoders_are_told_apart() -> None:
    """Two of one name are named with the first thing in which they differ; others by name and dimension."""
    old = EncoderFingerprint(id="m", sha256="0" * 64, dimension=8)
    assert old.told_beside(replace(old, id="n")) == "m (8 dimensions)"
    assert old.told_beside(replace(old, dimension=9, pooling="cls")) == "m (8 dimensions)"
    assert old.told_beside(replace(old, pooling="cls")) == "m (pooling 'mean')"
    assert replace(old, sha256="1" * 64).told_beside(old) == "m (sha256 '1111111111111111')"


# -- filters ------------------------------------------------------------------------------------------

HOSTILE = [
    "metadata.a b",
    "metadata.x' OR '1'='1",
    'metadata."',
    "metadata.a.b",
    "metadata.标签",
    "metadata.%",
    "metadata.\u200b",
]
fields = st.sampled_from(["source_id", "document_id", "language", "collection", *HOSTILE])
numbers = st.integers(-(2**53), 2**53) | st.floats(-(2.0**53), 2.0**53)
values = st.text(max_size=5) | st.booleans() | numbers
bounds = st.tuples(st.none() | numbers | st.text(max_size=3), st.none() | numbers | st.text(max_size=3))
leaves = st.builds(In, fields, st.lists(values, min_size=1, max_size=4).map(tuple)) | st.builds(
    lambda field, pair: Range(field, *pair), fields, bounds.filter(lambda pair: pair != (None, None))
)
trees: st.SearchStrategy[Filter] = st.recursive(
    leaves,
    lambda inner: (
        st.builds(Not, inner)
        | st.lists(inner, min_size=1, max_size=3).map(lambda parts: And(tuple(parts)))
        | st.lists(inner, min_size=1, max_size=3).map(lambda parts: Or(tuple(parts)))
    ),
    max_leaves=6,
)


def wire(tree: Filter) -> dict[str, Any]:
    """The wire form of a filter."""
    match tree:
        case In():
            return {tree.field: list(tree.values)}
        case Range():
            return {tree.field: {"ge": tree.ge, "le": tree.le}}
        case And():
            return {"and": [wire(part) for part in tree.parts]}
        case Or():
            return {"or": [wire(part) for part in tree.parts]}
        case Not():
            return {"not": wire(tree.part)}


def depth(tree: Filter) -> int:
    match tree:
        case And() | Or():
            return 1 + max(map(depth, tree.parts))
        case Not():
            return 1 + depth(tree.part)
    return 0


@given(trees)
def test_filter_round_trip(tree: Filter) -> None:
    """A filter comes back from its wire form as it was, or is refused for its depth."""
    if depth(tree) <= MAX_DEPTH:
        assert repr(parse_filter(wire(tree))) == repr(tree)  # repr tells 1 from True
    else:
        with pytest.raises(InvalidRequest, match="nested"):
            parse_filter(wire(tree))


def test_filter_short_forms() -> None:
    """One value needs no array, and several fields in one object are all to be met."""
    assert parse_filter({"language": "zh"}) == In("language", ("zh",))
    assert parse_filter({"language": "zh", "metadata.year": {"ge": 2024}}) == And(
        (In("language", ("zh",)), Range("metadata.year", ge=2024))
    )


@pytest.mark.parametrize(
    ("tree", "path"),
    [
        ({}, "filters"),
        ([], "filters"),
        ("language", "filters"),
        (None, "filters"),
        ({"langauge": "zh"}, "filters.langauge"),
        ({"trust": 3}, "filters.trust"),
        ({"text": "x"}, "filters.text"),
        ({"metadata.": 1}, "filters.metadata."),
        ({"metadata.a\x00b": 1}, "filters.metadata.a\x00b"),
        ({"metadata." + "x" * 129: 1}, "filters.metadata." + "x" * 129),
        ({"and": []}, "filters.and"),
        ({"and": {"language": "zh"}}, "filters.and"),
        ({"or": [{"language": "zh"}, {}]}, "filters.or[1]"),
        ({"or": [{"language": "zh"}, {"not": {"nope": 1}}]}, "filters.or[1].not.nope"),
        ({"not": [{"language": "zh"}]}, "filters.not"),
        ({"language": []}, "filters.language"),
        ({"language": None}, "filters.language"),
        ({"language": [None]}, "filters.language"),
        ({"language": [["zh"]]}, "filters.language"),
        ({"language": ["x"] * 10_001}, "filters.language"),
        ({"metadata.year": {}}, "filters.metadata.year"),
        ({"metadata.year": {"ge": None}}, "filters.metadata.year"),
        ({"metadata.year": {"gt": 1}}, "filters.metadata.year"),
        ({"metadata.year": {"ge": True}}, "filters.metadata.year"),
        ({"metadata.year": {"ge": [1]}}, "filters.metadata.year"),
        ({"metadata.year": {"ge": math.nan}}, "filters.metadata.year"),
        ({"metadata.year": [math.inf]}, "filters.metadata.year"),
        ({"document_id": 10**400}, "filters.document_id"),
    ],
)
def test_filter_refuses(tree: Any, path: str) -> None:
    """A filter that means nothing is refused, and the fault names the place."""
    with pytest.raises(InvalidRequest) as caught:
        parse_filter(tree)
    assert [fault.path for fault in caught.value.faults] == [path]
    assert caught.value.message


def test_filter_depth() -> None:
    """A filter may be nested eight deep and no deeper."""

    def nested(levels: int) -> dict[str, Any]:
        return {"not": nested(levels - 1)} if levels else {"language": "zh"}

    assert parse_filter(nested(MAX_DEPTH))
    for levels in (MAX_DEPTH + 1, 500):
        with pytest.raises(InvalidRequest, match="nested deeper"):
            parse_filter(nested(levels))


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf, 2**53 + 1, -(10**400), 1e300])
def test_filter_numbers(number: float) -> None:
    """Numbers that are none, or not the same everywhere, are in no filter."""
    makers: list[Callable[[], object]] = [
        lambda: Range("metadata.n", ge=number),
        lambda: Range("metadata.n", ge=0, le=number),
        lambda: In("metadata.n", (1, number)),
    ]
    for make in makers:
        with pytest.raises(InvalidRequest, match="number"):
            make()


def row(**facets: Any) -> IndexRow:
    return IndexRow(
        passage_id=1, source_id="s", document_id=7, heading_text="", text="", language="zh", collection="",
        facets=facets, valid_from=10, valid_until=20,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("tree", "met"),
    [
        ({"metadata.n": 1}, True),
        ({"metadata.n": 1.0}, True),
        ({"metadata.n": "1"}, False),
        ({"metadata.n": True}, False),
        ({"metadata.flag": True}, True),
        ({"metadata.flag": 1}, False),
        ({"metadata.flag": {"ge": 0}}, False),
        ({"metadata.none": {"le": 5}}, False),
        ({"not": {"metadata.none": "x"}}, True),
        ({"metadata.n": {"ge": 1, "le": 1}}, True),
        ({"metadata.n": {"ge": 1.5}}, False),
        ({"metadata.n": {"ge": "0"}}, False),
        ({"metadata.day": {"ge": "2026-01-01", "le": "2026-12-31"}}, True),
        ({"metadata.day": {"ge": 2026}}, False),
        ({"document_id": [6, 7]}, True),
        ({"source_id": "S"}, False),
        ({"or": [{"language": "en"}, {"language": "zh"}]}, True),
        ({"language": "zh", "collection": "x"}, False),
    ],
)
def test_filter_meaning(tree: Any, met: bool) -> None:
    """Values are compared exactly and by kind; what a row does not have meets no condition."""
    assert matches(parse_filter(tree), row(n=1, flag=True, day="2026-05-01")) is met


@given(trees)
def test_not_is_not(tree: Filter) -> None:
    """Every row meets a filter or its negation, never both."""
    assert matches(tree, row()) is not matches(Not(tree), row())


def test_scope() -> None:
    """A scope allows what is in one of its sources, in force on its day, and meets its filter."""

    def allowed(sources: str, day: int, tree: Filter | None = None) -> bool:
        return Scope(sources=frozenset(sources), as_of=date.fromordinal(day), filter=tree).allows(row())

    assert [allowed("s", day) for day in (9, 10, 20, 21)] == [False, True, True, False]
    assert not allowed("t", 15)
    assert not allowed("", 15)
    assert not allowed("s", 15, In("language", ("en",)))
    assert date.fromordinal(FOREVER) == date.max


# -- errors -------------------------------------------------------------------------------------------


def test_tree_of_errors() -> None:
    """The tree in the docstring is the tree of the classes, and every class is exported."""
    drawn: dict[str, str] = {}
    above = {0: ""}
    for line in (errors.__doc__ or "").splitlines():
        found = re.match(r"    ([│ ]*)(?:[├└]── )?([A-Z]\w+)(?:\s|$)", line)
        if found:
            level = 0 if "──" not in line else 1 + len(found[1]) // 4
            drawn[found[2]] = above.get(level - 1, "")
            above[level] = found[2]
    real = {
        name: "" if kind is KnowledgeError else kind.__bases__[0].__name__
        for name, kind in inspect.getmembers(errors, inspect.isclass)
        if issubclass(kind, KnowledgeError)
    }
    assert drawn == real
    messages = {"Message", "as_sent", "joined", "msg", "received", "said_by", "without"}
    assert set(errors.__all__) == {*real, "Fault", *messages}


def test_codes_of_errors() -> None:
    """Every error has a code of its own, its name in snake case; what is not there is told as what is not permitted."""
    assert errors.NotFound.code == errors.NotPermitted.code
    for name in errors.__all__:
        kind = getattr(errors, name)
        if isinstance(kind, type) and issubclass(kind, KnowledgeError) and kind is not errors.NotFound:
            assert kind.code == re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower()


def test_errors_name_their_component() -> None:
    """The text of an error begins with the part that failed."""
    assert (
        str(errors.EngineTimeout("the deadline passed", component="keyword leg"))
        == "keyword leg: the deadline passed"
    )
    assert str(errors.EngineTimeout("the deadline passed")) == "the deadline passed"
