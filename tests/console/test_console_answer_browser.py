"""The page of answers in a real browser: what a model got wrong is visible with its reason, at a desk and on a phone.

Where the machine has no Chromium these tests are not run, and their names are told.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from answer_library import DUTY, QUESTION, answering
from chromium import SIZES, assert_accessible, started
from console_door import served
from liars_server import LIARS, claim, lying

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
