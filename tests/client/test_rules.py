"""The caller's side of rules, against a real server and against answers that break the contract."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from governed_door import key
from rules_door import BOOK, rules_server
from wenyuan.client import Client, InvalidRequest, Item, NotPermitted, RetrievalFailed
from wenyuan.client.rules import read_rules, read_united
from wenyuan.core.errors import EngineUnavailable

PIT = "深基坑开挖"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Any]]:
    """A server whose library has the construction pack, imported through the client."""
    with rules_server(tmp_path_factory.mktemp("client")) as (url, library):
        with Client(url, key=key(library, "registry")) as client:
            assert client.import_rules(pack="construction")["complete"] is True
        yield url, library


@pytest.fixture
def client(served: tuple[str, Any]) -> Iterator[Client]:
    with Client(served[0], key=key(served[1], "search", "registry")) as made:
        yield made


def test_unified_retrieval_is_typed(client: Client) -> None:
    """Rules come first, as items with score and metadata, and the context says which engines answered."""
    found = client.retrieve(f"{PIT}的要求", parameters={"depth_m": 6}, engineering_type="房建工程", limit=2)
    assert isinstance(found.items[0], Item)
    assert {item.source for item in found.regulations} == {"kg_rule"}
    assert found.query_context["engines"]["kg_rule"] == "ok"
    assert (found.cases, found.degraded) == ((), ())
    assert client.retrieve(PIT, chapter="ch01").regulations == ()


def test_inference_tells_unknown_names_from_having_no_rules(client: Client) -> None:
    """Names that the graph does not know are listed; cuts and notes are there; nothing found has its reason."""
    found = client.infer_rules([PIT, "量子挖掘"], parameters={"depth_m": 6, "dpth": 1})
    assert found.items
    assert found.unmatched_processes == ("量子挖掘",)
    assert any("depth_m" in note for note in found.notes)
    assert found.audit_id
    one = client.infer_rules(PIT, parameters={"depth_m": 6})
    assert [item.content for item in one.items] == [item.content for item in found.items]
    none = client.infer_rules([])
    assert (none.items, bool(none.reason)) == ((), True)
    assert client.infer_rules(context="深基坑開挖").recognised


def test_the_graph_is_listed_and_reviewed(tmp_path: Path) -> None:
    """Overview, nodes, queue and review of a library, through the client alone."""
    with rules_server(tmp_path) as (url, library), Client(url, key=key(library, "registry")) as client:
        book = tmp_path / "books" / "little.yaml"
        book.write_text(BOOK, "utf-8")
        dry = client.import_rules(path=str(book), dry_run=True, status="proposed")
        assert (dry["change"], client.rules()["packs"]) == (None, [])
        client.import_rules(path=str(book), status="proposed")
        assert client.rules()["packs"] == ["little"]
        assert [n["name"] for n in client.rules("基坑", kind="process", limit=5)["nodes"]] == [PIT]
        first = client.proposed_rules(limit=1)
        rest = client.proposed_rules(after=first["next"])
        ids = [s["statement_id"] for s in first["statements"] + rest["statements"]]
        assert client.review_rules(ids, "approve") == 2
        assert client.review_rules(ids, "approve") == 0
        assert client.rules()["counts"]["statements"] == {"approved": 2}


def test_refusals_and_failures_are_told_apart(
    served: tuple[str, Any], client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Malformed: InvalidRequest with its faults; no right: NotPermitted; FAILED: RetrievalFailed, without the query."""
    with pytest.raises(InvalidRequest) as caught:
        client.infer_rules([PIT], parameters={"depth_m": "六"})
    assert caught.value.faults[0].path == "parameters.depth_m"
    with pytest.raises(InvalidRequest, match="did you mean"):
        client.import_rules(pack="constructoin")
    with Client(served[0], key=key(served[1], "search")) as other, pytest.raises(NotPermitted, match="403"):
        other.rules()
    with pytest.raises(RetrievalFailed, match="404"):
        client.review_rules([99_999], "reject")

    def gone(*_: Any, **__: Any) -> Any:
        raise EngineUnavailable(f"nothing for {PIT}", component="rules graph")

    monkeypatch.setattr(served[1].catalog.rules, "edges", gone)
    for ask in (lambda: client.retrieve(PIT), lambda: client.infer_rules([PIT])):
        with pytest.raises(RetrievalFailed, match="rules graph"):
            ask()
    logged = [record.message for record in caplog.records if record.name == "wenyuan.client"]
    assert logged
    assert not any(PIT in line for line in logged)


GOOD = {"content": "x", "source": "kg_rule", "priority": 1, "score": 0.5, "metadata": {}}
UNITED = {"status": "SUCCESS", "items": [GOOD], "regulations": [GOOD], "cases": [], "query_context": {}}
RULES = {
    "status": "SUCCESS", "items": [GOOD], "recognised": [], "unmatched_processes": [], "truncated": [], "notes": [],
}  # fmt: skip


@pytest.mark.parametrize(
    "entry",
    [
        [], {**GOOD, "content": " "}, {**GOOD, "source": "graph"}, {**GOOD, "priority": 0}, {**GOOD, "priority": True},
        {**GOOD, "score": 1.5}, {**GOOD, "score": float("nan")}, {**GOOD, "score": "1"}, {**GOOD, "metadata": None},
    ],
)  # fmt: skip
def test_an_item_that_breaks_the_contract_is_refused(entry: Any) -> None:
    """Each member of an item is checked and named; a good one is taken."""
    assert read_united(UNITED).items == read_rules(RULES).items
    with pytest.raises(ValueError, match=r"items\[0\]"):
        read_united({**UNITED, "items": [entry]})
    with pytest.raises(ValueError, match=r"items\[0\]"):
        read_rules({**RULES, "items": [entry]})


@pytest.mark.parametrize(("read", "whole"), [(read_united, UNITED), (read_rules, RULES)])
def test_no_member_may_be_missing(read: Any, whole: dict[str, Any]) -> None:
    """An answer that lacks a member, or says FAILED, is refused, never taken for an empty one."""
    for member in whole:
        with pytest.raises(ValueError, match=member):
            read({name: value for name, value in whole.items() if name != member})


def test_items_out_of_order_are_refused() -> None:
    """A case above a rule, or a lower score above a higher one, breaks the contract."""
    case = {**GOOD, "source": "vector", "priority": 2}
    for items in ([case, GOOD], [GOOD, {**GOOD, "score": 0.9}]):
        with pytest.raises(ValueError, match="priority"):
            read_united({**UNITED, "items": items})


def test_the_client_loads_no_server() -> None:
    """Importing the client loads neither rooms nor the server, and no pydantic."""
    code = "import sys, wenyuan.client; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert (
        not {"pydantic", "sqlalchemy", "numpy", "yaml", "wenyuan.service", "wenyuan.server", "wenyuan.wire"} & loaded
    )
