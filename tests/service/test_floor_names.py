"""A coded name that stands in scope is found whatever score is asked for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import wenyuan
from wenyuan.core.model import RetrievalRequest


@pytest.fixture(scope="module", params=[0.3, 0.9])
def library(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[wenyuan.Library]:
    folder = tmp_path_factory.mktemp("floor")
    docs = folder / "docs"
    docs.mkdir()
    told = "The east gate keeps zq2x139k for the night shift, beside much else about doors and lamps that nobody asks for."
    (docs / "gate.md").write_text(f"# Gate\n\n{told}\n", "utf-8")
    for number in range(20):
        (docs / f"note-{number}.md").write_text(
            f"# Note {number}\n\nLeave is asked for by form F-{number}.\n", "utf-8"
        )
    with wenyuan.open(
        folder / "library", create=True, encoder={"kind": "none"}, search={"floor": request.param, "deadline": 20}
    ) as opened:
        opened.add(wenyuan.Source(source_id="notes", path=str(docs)))
        yield opened


@pytest.mark.parametrize("question", ["zq2x139k", "ZQ2X139K", "Token zq2x139k", "what is zq2x139k?"])
def test_a_code_in_scope_is_found_below_the_floor(library: wenyuan.Library, question: str) -> None:
    """Alone or in a question, with a floor that no passage reaches."""
    answer = library.retrieve_fragments(RetrievalRequest(query=question, max_results=3))
    assert any("zq2x139k" in fragment.content for fragment in answer.fragments)
