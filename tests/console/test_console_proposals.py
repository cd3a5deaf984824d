"""The console's queue of reviews shows proposed rules with their clauses, each of which opens where it stands."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from console_door import Browser, served
from liars_server import lying
from proposal_library import proposing, saying
from proposal_parts import PLAN
from wenyuan.service.generation.proposals import ProposeRequest


@pytest.fixture(params=["zh", "en"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, str, Any]]:
    language = str(request.param)
    with lying() as server, proposing(tmp_path, language, server) as library:
        server.lie = saying(language, PLAN[language])
        library.propose_rules(ProposeRequest(source_id="law"))
        with served(library) as url:
            yield language, url, library


def test_a_proposed_rule_stands_beside_its_clause(opened: tuple[str, str, Any]) -> None:
    """The quote, the clause's number, and a link that opens the document and marks the words; approved, it is a rule."""
    language, url, library = opened
    browser = Browser(url, language)
    seen = browser.get("/console/review")
    assert seen.text("[data-queue] blockquote") == PLAN[language].text
    assert {"zh": "第十一条", "en": "Article 5"}[language] in seen.text("[data-queue] .evidence")
    (link,) = [a.attributes["href"] for a in seen.tree.css(".evidence a") if "/passages/" in a.attributes["href"]]
    place = browser.get(link)
    assert place.status == 303
    marked = browser.get(place.location.partition("#")[0])
    assert "".join(node.text() for node in marked.tree.css("mark"))
    number = library.rules.waiting()[0]
    browser.post("/console/review", {"statement_id": str(number), "action": "approve"})
    assert library.catalog.rules.statement(number).statement.status == "approved"
