"""What every adapter must hold to, asked of the real framework: an adapter is one function from a query to results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from doors import DOCUMENTS, attach_optional, broken, foreign_library, served
from wenyuan import Client, InvalidRequest, NotPermitted, RetrievalFailed, RetrievalRequest, Source

QUERIES = ("客户投诉多久响应", "database connection pool", "个人数据 同意", "customer complaint 客户投诉")


def queries() -> Sequence[str]:
    """Fifty: those above, and what the library's own texts suggest."""
    pieces = [text.replace("\n", " ") for _, text in DOCUMENTS.values()]
    suggested = [text[at : at + 14].strip() for at in range(0, 200, 3) for text in pieces]
    return list(dict.fromkeys([*QUERIES, *(text for text in suggested if len(text) > 3)]))[:50]


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

    def ask(self, service: Any, query: str, k: int, **restrictions: Any) -> Found:
        raise NotImplementedError

    def ask_async(self, service: Any, query: str, k: int) -> Found:
        raise NotImplementedError

    def asking(self) -> Sequence[Callable[[Any, str, int], Found]]:
        return (self.ask, self.ask_async)

    def test_the_same_fragments_in_the_same_order(self, library: Any, url: str) -> None:
        """By a library, a URL and a client; at once and asynchronously."""
        with Client(url) as client:
            for query in queries():
                request = RetrievalRequest(query=query, max_results=3)
                fragments = library.retrieve_fragments(request).fragments
                expected = [(f.metadata["passage_id"], f.content) for f in fragments]
                assert expected or query not in QUERIES
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

    def test_nothing_found_while_a_part_is_down_raises(self, tmp_path: Path) -> None:
        """What an optional part might have had is not known: that is no empty list."""
        with foreign_library(tmp_path) as library, served(library) as url:
            attach_optional(library)
            for service in (library, url):
                with pytest.raises(RetrievalFailed):
                    self.ask(service, "zqxv jwkp", 3)

    def test_a_required_part_that_is_down_raises(self, tmp_path: Path) -> None:
        """Whatever the others found."""
        with foreign_library(tmp_path) as library, served(library) as url:
            settings = {"url": "http://127.0.0.1:9/v1/retrieve_fragments"}
            library.catalog.put_source(Source(source_id="must", type="api", settings=settings))
            for service in (library, url):
                with pytest.raises(RetrievalFailed):
                    self.ask(service, QUERIES[0], 3)

    def test_who_has_no_key_is_refused(self, library: Any) -> None:
        """A service that needs a key says so, and gives no list."""
        with served(library, needs_keys=True) as url, pytest.raises(NotPermitted):
            self.ask(url, QUERIES[0], 3)

    def test_a_bad_request_raises(self, library: Any, url: str) -> None:
        """A query that cannot be asked is refused."""
        for service in (library, url):
            with pytest.raises(InvalidRequest):
                self.ask(service, "  ", 3)

    def test_a_restriction_is_applied(self, library: Any, url: str) -> None:
        """Domain, filter and least trust, by a library and a URL."""
        for service in (library, url):
            everything = {metadata["source_id"] for _, _, metadata in self.ask(service, QUERIES[3], 10)}
            assert everything == {"policy", "law", "wiki"}
            for given, expected in (
                ({"domain": "law"}, {"law"}),
                ({"filter": {"metadata.year": {"ge": 2022}}}, {"policy"}),
                ({"min_trust": 4}, {"policy", "law"}),
            ):
                found = self.ask(service, QUERIES[3], 10, **given)
                assert {metadata["source_id"] for _, _, metadata in found} == expected

    def test_a_restriction_that_cannot_be_applied_is_refused(self, library: Any) -> None:
        """An unknown domain, an unknown field, an argument that is not known: never an answer from everything."""
        for given in ({"domain": "nowhere"}, {"filter": {"year": 2024}}, {"search_filter": {"x": 1}}):
            with pytest.raises((InvalidRequest, TypeError, ValueError)):
                self.ask(library, QUERIES[3], 10, **given)
