"""The page of answers in a real browser: what a model got wrong is visible with its reason, at a desk and on a phone.

Where the machine has no Chromium these tests are not run, and their names are told.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from answer_library import DUTY, QUESTION, answering
from chromium import SIZES, Windows, assert_accessible, started
from console_door import served
from judge_server import JudgeServer, judging
from judged_library import asked, golden, judged, knowing, subject
from liars_server import LIARS, claim, lying
from wenyuan.core.access import parse_agent

pytestmark = [pytest.mark.browser, pytest.mark.integration]
WRONG = ("paraphraser", "truncator", "misquoter", "number", "negation", "modality", "gibberer")
"""Liars who all speak in one answer: two of them are quoted instead, the others are left out."""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with started() as browser:
        yield browser


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_was_left_out_is_visible_and_accessible(chromium: Any, tmp_path: Path, language: str) -> None:
    """Each dropped claim with its reason and what was changed; axe finds nothing, nothing is wider than its window."""
    with lying() as server, answering(tmp_path, language, server) as library, served(library) as url:
        long = claim("policy#1", f"{'龘靐齉' * 60} {'unbroken' * 40}", DUTY[language])
        server.lie = lambda asked: {
            "claims": [*LIARS["perfect"](asked), *(one for liar in WRONG for one in LIARS[liar](asked)), long],
            "missing": "…",
        }
        context = chromium.new_context(
            viewport=SIZES["phone"], locale={"zh": "zh-CN"}.get(language, language), color_scheme="light"
        )
        page = context.new_page()
        complaints: list[str] = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(f"{url}/console/answer")
        page.fill("[name=query]", QUESTION[language])
        page.click("main button.main")
        page.wait_for_selector(".dropped .hit")
        assert DUTY[language] in page.inner_text("#claim-1")
        assert page.locator(".dropped .hit").count() == len(WRONG) + 1
        assert page.locator(".dropped .hit .verdict").count() == len(WRONG) + 1
        told = page.inner_text(".dropped")
        for was, said in {
            "zh": (("24小时", "48小时"), ("应当", "可以")),
            "en": (("24 hours", "48 hours"), ("must", "may")),
        }[language]:
            assert was in told and said in told
        assert_accessible(page)
        assert complaints == []
        context.close()


LACKING = {"zh": f"{subject(30)}设备的照明和检修", "en": f"lighting and repair of {subject(31)}"}
NUMBER = {"zh": 4, "en": 5}


@pytest.fixture(scope="module")
def judge() -> Iterator[JudgeServer]:
    with judging() as server:
        yield server


@pytest.fixture(scope="module")
def calibrated(tmp_path_factory: pytest.TempPathFactory, judge: JudgeServer) -> Path:
    """The folder of a library with a calibrated judge that is asked what is missing, and an agent that lets it decide."""
    folder = tmp_path_factory.mktemp("judged")
    judge.begin("perfect")
    judge.sure = knowing
    with judged(folder, judge, judge=WRITING) as library:
        assert library.tune_judge(golden(folder)).outcome == "adopted"
        scope = [{"domain": "house", "top_k": "confidence"}]
        library.catalog.put_agent(parse_agent({"agent_id": "reader", "knowledge_scope": scope}))
    return folder


WRITING = {"dialect": "logprobs", "follow_up": True}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_how_sure_the_judge_is_and_what_it_misses_is_visible(
    chromium: Any, calibrated: Path, judge: JudgeServer, language: str
) -> None:
    """Beside what was found, and in the record: its numbers, and the query that was searched for what it misses, as text."""
    missing, none = f"<b>{LACKING[language]}</b>", {"en": "at none was the judge", "zh": "把握始终未达到"}[language]
    judge.begin("perfect")
    judge.lacks = lambda _question, _passages: missing
    with judged(calibrated, judge, judge=WRITING) as library, served(library) as url:
        page = Windows(chromium).page({"zh": "zh-CN"}.get(language, language), "phone")
        judge.sure = knowing
        where = f"q={quote(asked(NUMBER[language]))}&agent=reader"
        page.goto(f"{url}/console/search?{where}")
        told = page.inner_text(".judged")
        assert {"en": "risk at most", "zh": "风险至多"}[language] in told
        assert "1 → 0." in told
        assert none not in told
        judge.sure = lambda _question, _passages: 0.0
        page.goto(f"{url}/console/context?{where}")
        assert none in page.inner_text(".judged") and missing in page.inner_text(".judged")
        page.goto(f"{url}/console/search?{where}")
        assert none in page.inner_text(".judged") and missing in page.inner_text(".judged")
        assert_accessible(page)
        page.click(".summary a")
        page.wait_for_selector("dd.judged")
        assert missing in page.inner_text("dd.judged")
        assert page.evaluate("document.documentElement.scrollWidth") <= SIZES["desktop"]["width"]
        page.set_viewport_size(SIZES["phone"])
        assert page.evaluate("document.documentElement.scrollWidth") <= SIZES["phone"]["width"]
