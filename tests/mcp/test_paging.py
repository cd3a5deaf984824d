"""Results over MCP are as long as hosts take them, the rest has a cursor; and arguments are taken as models write them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from doors import foreign_library, served
from mcp_clients import calling, over_http
from wenyuan import InvalidRequest, Source
from wenyuan.core.access import Principal
from wenyuan.core.text.token_meter import estimate_tokens
from wenyuan.mcp.paging import ReplyBlock, Result
from wenyuan.mcp.tools import TOOLS

LONG = 60
QUERY = "complaint response time 投诉响应时限"
BY_NAME = {tool.name: tool for tool in TOOLS}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("paging")
    with foreign_library(folder) as found:
        (folder / "long").mkdir()
        for number in range(LONG):
            text = (
                f"# Complaint {number}\n\n"
                + f"The complaint response time of office {number} is {number} hours. " * 18
            )
            (folder / "long" / f"{number}.md").write_text(text, encoding="utf-8")
        book = "\n\n".join(
            f"第{number}条 投诉响应时限为{number}小时，逾期须说明理由并登记。" * 6 for number in range(300)
        )
        (folder / "long" / "book.md").write_text(f"# 长文\n\n{book}", encoding="utf-8")
        found.add(Source(source_id="long", path=str(folder / "long")))
        yield found


@pytest.fixture(scope="module")
def url(library: Any) -> Iterator[str]:
    with served(library) as address:
        yield address


def asked(library: Any, name: str, **arguments: Any) -> Result:
    return BY_NAME[name](library, arguments, Principal())


def tokens(result: Result) -> int:
    value = estimate_tokens(json.dumps(result.value, ensure_ascii=False, default=dict))
    return value + sum(estimate_tokens(block.text) for block in result.blocks)


def pages(library: Any, name: str, **arguments: Any) -> list[Result]:
    found = [asked(library, name, **arguments)]
    while cursor := found[-1].value.get("next_cursor"):
        found.append(asked(library, name, **arguments, cursor=cursor))
    return found


@pytest.mark.parametrize("most", [None, 2_000, 20_000])
def test_a_list_is_given_in_pages(library: Any, most: int | None) -> None:
    """None is longer than asked for, 8,000 tokens by default, and together they are the whole."""
    given = {} if most is None else {"max_tokens": most}
    found = pages(library, "retrieve_fragments", query=QUERY, max_results=100, **given)
    assert len(found) > 1 and max(map(tokens, found)) <= (most or 8_000)
    whole = [one["source"] for page in found for one in page.value["fragments"]]
    assert len(whole) == len(set(whole)) > LONG
    assert "cursor" in found[0].blocks[-1].text and "cursor" not in found[-1].blocks[-1].text


@pytest.mark.parametrize(
    ("name", "arguments", "rows"),
    [
        ("search", {"query": QUERY, "limit": 100, "max_tokens": 1_000}, "results"),
        ("verify", {"answer": "The pool holds ten connections. " * 40, "max_tokens": 2_000}, "claims"),
        ("list_sources", {"max_tokens": 500}, "sources"),
    ],
)  # fmt: skip
def test_each_tool_with_a_list_has_pages(library: Any, name: str, arguments: dict[str, Any], rows: str) -> None:
    """Their rows follow one another."""
    found = pages(library, name, **arguments)
    whole = [row for page in found for row in page.value[rows]]
    assert whole and max(map(tokens, found)) <= arguments["max_tokens"]
    assert len(found) > 1 or name == "list_sources"


def test_a_long_document_is_read_in_parts(library: Any) -> None:
    """Its words follow one another without a gap."""
    ref = next(one.ref for one in library.documents(limit=200) if one.title == "长文")
    found = pages(library, "fetch", id=ref)
    assert len(found) > 1 and max(map(tokens, found)) <= 8_000
    assert "".join(page.value["text"] for page in found) == library.fetch(ref).text


def test_a_context_has_so_much_room(library: Any) -> None:
    """What has none is counted as withheld."""
    found = asked(library, "get_context", query=QUERY, token_budget=50_000)
    assert tokens(found) <= 8_000 and found.value["withheld"]


def test_a_cursor_is_good_for_its_own_call(library: Any) -> None:
    """For other arguments, or made up, it is refused."""
    cursor = asked(library, "retrieve_fragments", query=QUERY, max_results=100).value["next_cursor"]
    for wrong in ({"query": "x", "cursor": cursor}, {"query": QUERY, "max_results": 100, "cursor": "9999"}):
        with pytest.raises(InvalidRequest, match="cursor"):
            asked(library, "retrieve_fragments", **wrong)


def test_numbers_and_other_names_are_taken(url: str) -> None:
    """As models write them: "3", limit, top_k; what differs is refused."""

    def sources(**arguments: Any) -> list[str]:
        answer = over_http(url, calling("retrieve_fragments", query=QUERY, **arguments))
        assert not answer.is_error, answer.content
        return [one["source"] for one in answer.structured_content["fragments"]]

    three = sources(max_results=3)
    assert len(three) == 3
    for written in (
        {"max_results": "3"},
        {"limit": 3},
        {"limit": "3"},
        {"top_k": 3},
        {"max_results": 3, "min_trust": "1"},
    ):
        assert sources(**written) == three
    assert sources(max_results=3, context={"min_trust": "1"}) == three
    refused = over_http(url, calling("retrieve_fragments", query=QUERY, limit=3, max_results=4))
    assert refused.is_error and "limit" in refused.content[0].text


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_schema_refers_to_nothing(tool: Any) -> None:
    """Some hosts follow no reference; each tool takes a cursor."""
    text = json.dumps(tool.schema)
    assert "$ref" not in text and "$defs" not in text
    assert {"cursor", "max_tokens"} <= set(tool.schema["properties"])
    assert isinstance(tool.schema["properties"]["cursor"], dict)


def test_one_row_that_is_too_long_is_given_whole() -> None:
    """Else a caller would never come past it."""
    from wenyuan.mcp.paging import PageShape, paged

    rows = [{"text": "word " * 3_000}, {"text": "x"}]
    result = Result({"rows": rows}, (ReplyBlock("2"), ReplyBlock("a"), ReplyBlock("b")), rows="rows")
    first = paged(result, PageShape(max_tokens=500), {})
    assert first.value["rows"] == rows[:1]
    assert paged(result, PageShape(max_tokens=500, cursor=first.value["next_cursor"]), {}).value["rows"] == rows[1:]
