"""What every adapter must hold to, asked of the real framework: an adapter is one function from a query to results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from doors import attach_optional, broken, foreign_library, served
from wenyuan import Client, InvalidRequest, RetrievalFailed, RetrievalRequest

QUERIES = ("客户投诉多久响应", "database connection pool", "个人数据 同意", "customer complaint 客户投诉")
Found = Sequence[tuple[str, str, dict[str, Any]]]
"""Of each result its id, its text and its metadata."""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with foreign_library(tmp_path_factory.mktemp("integrations")) as found:
        yield found


@pytest.fixture(scope="module")
def url(library: Any) -> Iterator[str]:
    with served(library) as address:
        yield address


class AdapterLaws:
    """Subclasses say how their framework is asked."""

    def ask(self, service: Any, query: str, k: int) -> Found:
        raise NotImplementedError

    def ask_async(self, service: Any, query: str, k: int) -> Found:
        raise NotImplementedError

    def asking(self) -> Sequence[Callable[[Any, str, int], Found]]:
        return (self.ask, self.ask_async)

    def test_the_same_fragments_in_the_same_order(self, library: Any, url: str) -> None:
        """By a library, a URL and a client; at once and asynchronously."""
        with Client(url) as client:
            for query in QUERIES:
                request = RetrievalRequest(query=query, max_results=3)
                fragments = library.retrieve_fragments(request).fragments
                expected = [(f.metadata["passage_id"], f.content) for f in fragments]
                assert expected
                for service in (library, url, client):
                    for ask in self.asking():
                        found = ask(service, query, 3)
                        assert [(one, text) for one, text, _ in found] == expected
                        for (_, _, metadata), fragment in zip(found, fragments, strict=True):
                            assert metadata["source"] == fragment.source
                            assert metadata["trust"] == fragment.metadata["trust"]

    def test_nothing_found_is_empty(self, library: Any, url: str) -> None:
        """A success without fragments is an empty list."""
        for service in (library, url):
            assert [list(ask(service, "zqxv jwkp", 3)) for ask in self.asking()] == [[], []]

    def test_a_failure_raises(self, library: Any, url: str) -> None:
        """FAILED is an exception that says why, never an empty list."""
        with broken(library):
            for service in (library, url):
                for ask in self.asking():
                    with pytest.raises(RetrievalFailed, match="the index is gone"):
                        ask(service, QUERIES[0], 3)

    def test_a_service_that_is_not_there_raises(self) -> None:
        """No answer is no empty answer."""
        for ask in self.asking():
            with pytest.raises(RetrievalFailed):
                ask("http://127.0.0.1:9", QUERIES[0], 3)

    def test_what_is_degraded_says_so(self, tmp_path: Path) -> None:
        """Each result names the part that did not answer."""
        with foreign_library(tmp_path) as library, served(library) as url:
            attach_optional(library)
            for service in (library, url):
                found = self.ask(service, QUERIES[0], 3)
                assert {metadata["degraded"] for _, _, metadata in found} == {"source elsewhere"}

    def test_a_bad_request_raises(self, library: Any, url: str) -> None:
        """A query that cannot be asked is refused."""
        for service in (library, url):
            with pytest.raises(InvalidRequest):
                self.ask(service, "  ", 3)
