"""A request says how likely there must be an answer: at every door, recorded and asked again alike, and for an agent only stricter."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from command_line import runner
from console_door import Browser, served
from http_door import call
from wenyuan.client import Client
from wenyuan.core.access import Principal, parse_agent
from wenyuan.core.errors import InvalidRequest, NotPermitted
from wenyuan.core.model import RetrievalRequest
from wenyuan.core.scoring.answerable import ABSTAIN
from wenyuan.service.search.searcher import SearchRequest

ABOUT = "食堂的红烧肉好吃吗"
"""What the document does not answer."""
CLERK = Principal(agent_id="clerk")


@contextlib.contextmanager
def opened(folder: Path, **settings: Any) -> Iterator[wenyuan.Library]:
    with wenyuan.open(folder / "library", create=True, search={"deadline": 60, **settings}) as library:
        yield library


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("strictness")
    (made / "wiki").mkdir()
    (made / "wiki" / "wiki.md").write_text("# 会议室\n\n会议室预订请提前一天在系统里登记，周末不开放。\n", "utf-8")
    with opened(made) as library:
        library.add(wenyuan.Source(source_id="wiki", path=str(made / "wiki"), trust=5))
        library.catalog.put_agent(parse_agent({"agent_id": "clerk", "knowledge_scope": [{"domain": "wiki"}]}))
    return made


@pytest.fixture(scope="module")
def library(folder: Path) -> Iterator[wenyuan.Library]:
    with opened(folder) as found:
        yield found


@pytest.fixture(scope="module")
def url(library: wenyuan.Library) -> Iterator[str]:
    with served(library) as found:
        yield found


def test_a_request_is_answered_at_its_own_strictness(library: wenyuan.Library) -> None:
    """What the library refuses is given where the request asks for less, and the least that counted stands in the answer."""
    assert not library.search(ABOUT).hits
    found = library.search(ABOUT, context={"abstain": "off"})
    assert found.hits and found.floor == 0.0
    refused = library.search(ABOUT, context={"abstain": "strict"})
    assert not refused.hits and refused.floor == ABSTAIN["strict"]
    assert "the request asks for (abstain=strict)" in refused.reason


def test_another_word_is_refused(library: wenyuan.Library, url: str) -> None:
    """Neither door takes a strictness that there is not; the refusal names those there are."""
    for wrong in ("very", "", 1, ["strict"]):
        with pytest.raises(InvalidRequest, match="off, lenient, normal, strict"):
            library.search(ABOUT, context={"abstain": wrong})
        reply = call(url, "POST", "/v1/search", {"query": ABOUT, "abstain": wrong})
        assert reply.status == 400 and b"abstain" in reply.body


def test_a_replay_asks_at_the_same_strictness(library: wenyuan.Library) -> None:
    """The record has the strictness, and what is asked again is answered alike, of the library as it is and as it was."""
    for strictness in ABSTAIN:
        said = library.search(ABOUT, context={"abstain": strictness})
        record = library.recorder.log.show(said.audit_id)
        assert record.record["request"]["abstain"] == strictness
        for exact in (False, True):
            replay = library.replay(said.audit_id, exact=exact)
            assert replay.identical, replay.differences


def test_an_answer_is_kept_for_its_strictness_alone(library: wenyuan.Library) -> None:
    """A kept answer at one strictness is none at another."""
    question = "月亮离地球有多远"
    first, second, third = (library.find(SearchRequest(query=question, abstain=s)) for s in (None, "off", "off"))
    assert not first.passages and second.passages and not second.cache_hit
    assert third.passages and third.cache_hit


def test_an_agent_may_only_be_stricter(library: wenyuan.Library) -> None:
    """Who is bound to an agent is not given what the library holds back; who is not may see it, for an agent, too."""
    for strictness in ("off", "lenient"):
        with pytest.raises(NotPermitted, match=r"search\.abstain=normal"):
            library.find(SearchRequest(query=ABOUT, abstain=strictness), CLERK)
        with pytest.raises(NotPermitted, match=r"search\.abstain=normal"):
            request = RetrievalRequest(query=ABOUT, max_results=3, context={"abstain": strictness})
            library.retrieve_fragments(request, CLERK)
    assert not library.find(SearchRequest(query=ABOUT, abstain="strict"), CLERK).passages
    assert library.find(SearchRequest(query=ABOUT, abstain="off", agent_id="clerk")).passages
    assert library.search(ABOUT, context={"abstain": "off", "agent_id": "clerk"}).hits


def test_a_floor_gives_way_to_it(folder: Path) -> None:
    """Where scores decide, a request may ask for probabilities; an agent may not, for the two cannot be compared."""
    with opened(folder, floor=1.0) as library:
        assert not library.search(ABOUT).hits
        assert library.search(ABOUT, context={"abstain": "off"}).hits
        with pytest.raises(NotPermitted, match=r"search\.floor=1\.0"):
            library.find(SearchRequest(query=ABOUT, abstain="strict"), CLERK)


def test_what_only_a_stricter_request_lacks_is_no_gap(folder: Path) -> None:
    """A question refused at a stricter setting than the library's says nothing of what the library lacks."""
    question = "会议室周末开放吗"
    with opened(folder, abstain="off") as library:
        library.search("川菜的菜谱", context={"abstain": "strict"})
        library.search(question)
        assert not [gap for gap in library.gaps.find().gaps if "菜谱" in gap.question]
    with opened(folder) as library:
        library.search("川菜的菜谱")
        assert [gap for gap in library.gaps.find().gaps if "菜谱" in gap.question]


def test_doors_take_it(library: wenyuan.Library, url: str, folder: Path) -> None:
    """The Python client, the command line and the console's page ask at a strictness."""
    with Client(url) as client:
        assert not client.search(ABOUT).passages
        assert client.search(ABOUT, abstain="off").passages
        assert client.retrieve_fragments(ABOUT, context={"abstain": "off"})
    shown = Browser(url).get(f"/console/search?q={ABOUT}&abstain=off")
    assert shown.count("#hit-1") and shown.count("option[value=off][selected]")
    assert not Browser(url).get(f"/console/search?q={ABOUT}").count("#hit-1")
    run = runner(folder / "library", WENYUAN_ENCODER__KIND="builtin")
    assert json.loads(run("search", ABOUT, "--abstain", "off", "--json").stdout)["fragments"]
    assert not json.loads(run("search", ABOUT, "--json").stdout)["fragments"]
    assert "off, lenient, normal, strict" in run("search", ABOUT, "--abstain", "very", code=2).output
