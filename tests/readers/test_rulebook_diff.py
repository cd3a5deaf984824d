"""What an import would change: added, changed, retired, in conflict, unchanged."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rulebook_parts import checked
from wenyuan.core.rules.book import Book, RawEvidence, RawStatement
from wenyuan.core.rules.checking import CheckedBook
from wenyuan.core.rules.import_diff import LiveNode, LiveStatement, diff
from wenyuan.core.rules.model import EntryPlace, Evidence, Node, Statement

NAMES = ("开挖", "回填", "支护", "降水", "浇筑")
NODES = tuple(Node(key=f"process/{n}", kind="process", name=n) for n in NAMES)
LIVE_NODES = [LiveNode(node, frozenset({"p"})) for node in NODES]


def live(src: str, dst: str, *packs: str, **more: object) -> LiveStatement:
    evidences = tuple(Evidence(source_id="order37", uri="", clause=f"第{i}条") for i in range(len(packs)))
    statement = Statement(src=f"process/{src}", rel="is_a", dst=f"process/{dst}", evidences=evidences, **more)  # type: ignore[arg-type]
    return LiveStatement(statement, packs)


def said(src: str, dst: str, *clauses: int, **more: object) -> RawStatement:
    evidences = tuple(RawEvidence(source="order37", clause=f"第{i}条") for i in clauses or (0,))
    return RawStatement(src=src, rel="is_a", dst=dst, evidences=evidences, place=EntryPlace("a.yaml", 3), **more)  # type: ignore[arg-type]


def book(*links: RawStatement, nodes: tuple[Node, ...] = NODES) -> CheckedBook:
    return checked(Book(pack="p", nodes=nodes, links=links), known={n.key: n for n in NODES})


def texts(changes: object) -> list[str]:
    return [change.text for change in changes]  # type: ignore[attr-defined]


def test_importing_the_same_again_changes_nothing() -> None:
    """Equal nodes and statements are unchanged, and the diff is empty."""
    found = diff(LIVE_NODES, [live("开挖", "回填", "p")], book(said("开挖", "回填")))
    assert found.empty
    assert found.conflicting == ()
    assert len(found.unchanged) == 6
    assert found.lines("en") == ["added 0, changed 0, retired 0, in conflict 0, unchanged 6"]


def test_new_and_gone() -> None:
    """What the graph has not is added; what only this pack said, and says no longer, is retired with its nodes."""
    new = Node(key="process/养护", kind="process", name="养护")
    found = diff(
        LIVE_NODES,
        [live("开挖", "回填", "p"), live("支护", "降水", "p")],
        book(said("养护", "回填", condition="depth_m > 3"), said("开挖", "回填"), nodes=(*NODES[:2], new)),
    )
    assert texts(found.added) == ["养护 —is_a→ 回填 [depth_m > 3.0]", "process: 养护"]
    assert texts(found.retired) == ["支护 —is_a→ 降水", "process: 支护", "process: 降水", "process: 浇筑"]
    assert found.retired[0].details == ("- order37 第0条",)


def test_what_others_support_stays() -> None:
    """A statement that another pack supports loses evidence only; nodes that it uses stay."""
    found = diff(LIVE_NODES, [live("开挖", "回填", "p", "q")], book(nodes=()))
    assert texts(found.changed) == ["开挖 —is_a→ 回填"]
    assert found.changed[0].details == ("- order37 第0条",)
    assert texts(found.retired) == ["process: 支护", "process: 降水", "process: 浇筑"]


def test_without_pruning_nothing_is_taken_back() -> None:
    """An import that is not the whole pack retires nothing."""
    found = diff(LIVE_NODES, [live("开挖", "回填", "p")], book(nodes=()), prune=False)
    assert found.empty


def test_a_change_by_its_only_pack_is_a_change() -> None:
    """Strength, weight and evidence that changed are named; the place is that of the new entry."""
    found = diff(
        LIVE_NODES,
        [live("开挖", "回填", "p", "p")],
        book(said("开挖", "回填", 1, 2, strength="informative", weight=0.5)),
    )
    (change,) = found.changed
    assert change.details == (
        "strength: mandatory → informative", "weight: 1.0 → 0.5", "+ order37 第2条", "- order37 第0条",
    )  # fmt: skip
    assert found.lines("zh")[:2] == [
        "新增 0，变更 1，停用 0，冲突 0，不变 5", "~ 开挖 —is_a→ 回填  (a.yaml:3)",
    ]  # fmt: skip


def test_what_another_pack_says_otherwise_is_a_conflict() -> None:
    """The graph's version stays and the conflict names the pack; the evidence is still added."""
    found = diff(LIVE_NODES, [live("开挖", "回填", "q")], book(said("开挖", "回填", 1, strength="informative")))
    assert found.conflicting[0].details == ("strength: mandatory → informative", "as q says")
    assert found.changed[0].details == ("+ order37 第1条",)
    assert "! 开挖 —is_a→ 回填  (a.yaml:3)" in found.lines("en")


def test_a_retired_statement_that_is_said_again_is_added() -> None:
    """What was retired counts as not there."""
    found = diff(LIVE_NODES, [live("开挖", "回填", status="retired")], book(said("开挖", "回填")))
    assert texts(found.added) == ["开挖 —is_a→ 回填"]


def test_a_review_is_no_change() -> None:
    """That a person has rejected a statement is not undone, nor shown, by importing it again."""
    found = diff(LIVE_NODES, [live("开挖", "回填", "p", status="rejected")], book(said("开挖", "回填")))
    assert found.empty


def test_a_node_that_differs_names_its_fields() -> None:
    """Another label of a node is a change of that field."""
    nodes = (replace(NODES[0], labels={"en": "Digging"}, scope=("桥梁",)), *NODES[1:])
    (change,) = diff(LIVE_NODES, [], book(nodes=nodes)).changed
    assert (change.text, change.details) == ("process: 开挖", ("labels: – → en=Digging", "scope: – → 桥梁"))


def test_packs_and_evidences_go_together() -> None:
    """A live statement with more packs than evidences is refused at once."""
    statement = live("开挖", "回填", "p").statement
    with pytest.raises(ValueError, match="2 packs for 1 evidences"):
        LiveStatement(statement, ("p", "q"))
