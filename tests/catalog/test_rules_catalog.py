"""The rules graph in the catalog: what is stored, what is served, what goes, and what the past was."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pysqlite3.dbapi2 as driver
import pytest

from catalog_parts import BOTH, again, new_catalog, put, raw, soon, texts
from wenyuan.catalog import Catalog, format_upgrades
from wenyuan.catalog import schema as rules_tables
from wenyuan.catalog.reader_tables import reader_tables
from wenyuan.catalog.rules.rows import HeldNode, HeldStatement
from wenyuan.core.errors import CatalogUnavailable, EngineTimeout, InvalidRequest, NotFound
from wenyuan.core.model import Source
from wenyuan.core.ports import Deadline
from wenyuan.core.rules.graph import Edge, View
from wenyuan.core.rules.model import Alias, Evidence, Node, Statement

TODAY = date(2026, 6, 1)
VIEW = View(trusts={"s1": 5, "s2": 3}, day=TODAY)

PIT = Node(
    key="process/深基坑开挖", kind="process", name="深基坑开挖", labels={"zh": "深基坑开挖", "en": "Deep excavation"},
    aliases=(Alias(text="基坑開挖", language="zh"), Alias(text="pit digging", language="en", weight=0.8)),
    codes={"GB 50300": "0102"}, scope=("房屋建筑",), attributes={"level": 2},
)  # fmt: skip
COLLAPSE = Node(key="hazard/坍塌", kind="hazard", name="坍塌", labels={"en": "Collapse"})
SHORING = Node(key="measure/支护", kind="measure", name="支护")
NODES = (PIT, COLLAPSE, SHORING)
QUOTE = Evidence(source_id="s1", uri="urn:order:37#第十条", clause="第十条", quote="应当组织专家论证")
OTHER = Evidence(source_id="s2", uri="urn:notice:31#附件", clause="附件一", trust=2)
FALLS = Statement(
    src=PIT.key, rel="produces_hazard", dst=COLLAPSE.key, condition="depth_m >= 5.0", evidences=(QUOTE,)
)
SHORED = Statement(
    src=COLLAPSE.key, rel="mitigated_by", dst=SHORING.key, strength="recommended", weight=0.5,
    sentence={"zh": "应先支护", "en": "Shore first"}, valid_from=date(2018, 6, 1), evidences=(QUOTE, OTHER),
)  # fmt: skip


def load(catalog: Catalog, *statements: Statement, pack: str = "one", prune: bool = True, nodes: Any = NODES) -> Any:
    return catalog.apply_rules(pack, nodes=nodes, statements=statements, prune=prune)


def number(catalog: Catalog, key: str) -> int:
    (found,) = [n.node_id for n in catalog.rules.find_nodes(limit=1_000) if n.key == key]
    return found


def from_(catalog: Catalog, node: Node, *relations: str, view: View = VIEW, **more: Any) -> list[Edge]:
    given = {"limit": 100, "deadline": soon(), **more}
    return catalog.rules.edges([number(catalog, node.key)], relations, view=view, **given)


def status(catalog: Catalog, statement: Statement) -> str:
    return catalog.rules.statement(statement.key).statement.status


# -- what is served -------------------------------------------------------------------------------------------


@BOTH
def test_edge(catalog: Catalog) -> None:
    """An edge has all that was written about the statement, its end, and its evidence with the lower trust."""
    report = load(catalog, FALLS, SHORED)
    assert (report.nodes_added, report.statements_added, report.evidences_added) == (3, 2, 3)
    (edge,) = from_(catalog, COLLAPSE, "mitigated_by")
    assert (edge.rel, edge.strength, edge.weight, edge.condition) == ("mitigated_by", "recommended", 0.5, "")
    assert edge.sentence == {"zh": "应先支护", "en": "Shore first"}
    assert (edge.end.key, edge.end.kind, edge.end.name) == (SHORING.key, "measure", "支护")
    assert edge.dst == edge.end.node_id != edge.src
    assert [(e.source_id, e.trust, e.clause, e.quote) for e in edge.evidences] == [
        ("s1", 5, "第十条", "应当组织专家论证"),
        ("s2", 2, "附件一", ""),
    ]
    (falls,) = from_(catalog, PIT, "produces_hazard", "mitigated_by")
    assert (falls.condition, falls.strength, falls.end.label("en")) == ("depth_m >= 5.0", "mandatory", "Collapse")


@BOTH
def test_inverse(catalog: Catalog) -> None:
    """Against its direction a statement leads to its source node, and is not found along it."""
    load(catalog, FALLS)
    (edge,) = from_(catalog, COLLAPSE, "produces_hazard", inverse=True)
    assert edge.end.key == PIT.key
    assert edge.end.scope == ("房屋建筑",)
    assert from_(catalog, COLLAPSE, "produces_hazard") == []
    assert from_(catalog, PIT, "produces_hazard", inverse=True) == []


@BOTH
@pytest.mark.parametrize(
    ("change", "view", "served"),
    [
        ({}, {}, True),
        ({"status": "proposed"}, {}, False),
        ({"status": "rejected"}, {}, False),
        ({"status": "retired"}, {}, False),
        ({"valid_from": TODAY}, {}, True),
        ({"valid_from": date(2026, 6, 2)}, {}, False),
        ({"valid_until": TODAY}, {}, True),
        ({"valid_until": date(2026, 5, 31)}, {}, False),
        ({}, {"trusts": {"s2": 5}}, False),
        ({}, {"trusts": {}}, False),
    ],
)
def test_view(catalog: Catalog, change: dict[str, Any], view: dict[str, Any], served: bool) -> None:
    """A statement is served when approved, valid on the day, and evident in a source of the view; else not."""
    load(catalog, replace(FALLS, **change))
    found = from_(catalog, PIT, "produces_hazard", view=replace(VIEW, **view))
    assert bool(found) is served


@BOTH
def test_trust_asked_for(catalog: Catalog) -> None:
    """Evidence that is itself trusted too little does not count, whatever the trust of its source."""
    doubtful = replace(QUOTE, trust=2)
    load(catalog, replace(FALLS, evidences=(doubtful,)), replace(SHORED, evidences=(doubtful, OTHER)))
    strict, loose = replace(VIEW, min_trust=3), replace(VIEW, min_trust=2)
    assert from_(catalog, PIT, "produces_hazard", view=strict) == []
    assert [edge.trust for edge in from_(catalog, PIT, "produces_hazard", view=loose)] == [2]
    load(catalog, replace(SHORED, evidences=(doubtful, replace(OTHER, trust=None))))
    (edge,) = from_(catalog, COLLAPSE, "mitigated_by", view=strict)
    assert [(e.source_id, e.trust) for e in edge.evidences] == [("s2", 3)]


@BOTH
def test_order_and_limit(catalog: Catalog) -> None:
    """Mandatory statements come first, then heavy ones, then old ones; one more than the limit shows that it bit."""
    ends = [Node(key=f"hazard/{n}", kind="hazard", name=f"险{n}") for n in range(6)]
    said = [
        replace(FALLS, dst=node.key, condition="", strength=strength, weight=weight)
        for node, strength, weight in zip(
            ends,
            ["informative", "mandatory", "recommended", "mandatory", "mandatory", "recommended"],
            [1.0, 0.2, 0.9, 0.7, 0.7, 0.1],
            strict=True,
        )
    ]
    load(catalog, *said, nodes=(*NODES, *ends))
    names = [edge.end.name for edge in from_(catalog, PIT, "produces_hazard")]
    assert names == ["险3", "险4", "险1", "险2", "险5", "险0"]
    assert [e.end.name for e in from_(catalog, PIT, "produces_hazard", limit=2)] == names[:3]
    with pytest.raises(InvalidRequest, match="negative"):
        from_(catalog, PIT, "produces_hazard", limit=-1)


@BOTH
def test_wide_frontier(catalog: Catalog) -> None:
    """More nodes than fit into one query are answered as if they did: the best statements of all of them."""
    many = [Node(key=f"process/{n}", kind="process", name=f"工序{n}") for n in range(1_200)]
    said = [replace(FALLS, src=node.key, weight=n / 1_200) for n, node in enumerate(many)]
    load(catalog, *said, nodes=(*NODES, *many))
    found = catalog.rules.find_nodes(kind="process", limit=2_000)
    numbers = [n.node_id for n in found] * 2
    edges = catalog.rules.edges(numbers, ["produces_hazard"], view=VIEW, limit=9, deadline=soon())
    assert [edge.weight for edge in edges] == [n / 1_200 for n in range(1_199, 1_189, -1)]


@BOTH
def test_nothing_asked(catalog: Catalog) -> None:
    """Without nodes or relations there is nothing to find; an unknown node or relation leads nowhere."""
    load(catalog, FALLS)
    assert from_(catalog, PIT) == []
    assert from_(catalog, PIT, "no_such") == []
    assert catalog.rules.edges([], ["produces_hazard"], view=VIEW, limit=5, deadline=soon()) == []
    assert catalog.rules.edges([999], ["produces_hazard"], view=VIEW, limit=5, deadline=soon()) == []


@BOTH
def test_renamed(catalog: Catalog) -> None:
    """A node that gets another name keeps its number, and edges show the new name at once, the old one in the past."""
    before = load(catalog, FALLS).seq
    old = from_(catalog, PIT, "produces_hazard")[0].end
    report = load(catalog, FALLS, nodes=(PIT, replace(COLLAPSE, name="坍塌事故"), SHORING))
    assert (report.nodes_changed, report.statements_unchanged) == (1, 1)
    (edge,) = from_(catalog, PIT, "produces_hazard")
    assert (edge.end.name, edge.end.node_id) == ("坍塌事故", old.node_id)
    assert from_(catalog, PIT, "produces_hazard", view=replace(VIEW, at=before))[0].end == old


def test_deadline(catalog: Catalog) -> None:
    """A deadline that has passed stops a walk, and one that passes stops it inside the database."""
    many = [Node(key=f"hazard/{n}", kind="hazard", name=f"险{n}") for n in range(1_500)]
    load(catalog, *(replace(FALLS, dst=node.key) for node in many), nodes=(*NODES, *many))
    with pytest.raises(EngineTimeout):
        from_(catalog, PIT, "produces_hazard", deadline=Deadline(0.0, time.monotonic))
    asked: list[float] = []

    def clock() -> float:
        asked.append(0.0)
        return 0.0 if len(asked) == 1 else 2.0

    with pytest.raises(EngineTimeout, match="following rules"):
        from_(catalog, PIT, "produces_hazard", limit=2_000, deadline=Deadline(1.0, clock))
    assert len(from_(catalog, PIT, "produces_hazard", limit=2_000)) == 1_500


def test_damaged(catalog: Catalog) -> None:
    """A statement whose node is missing in the file is a failure, not a shorter answer."""
    load(catalog, FALLS)
    with raw(catalog) as connection:
        connection.execute("DELETE FROM rule_nodes WHERE name = '坍塌'")
    with pytest.raises(CatalogUnavailable, match="nodes that there are not"):
        from_(catalog, PIT, "produces_hazard")


@pytest.mark.parametrize("damage", ["DELETE FROM rule_nodes", "UPDATE rule_nodes SET removed_seq = 9"])
def test_statements_without_their_nodes(catalog: Catalog, damage: str) -> None:
    """Statements of which no walk can begin are found before one does; a sound graph is, and one of proposals alone."""
    load(catalog, FALLS, SHORED)
    catalog.rules.check(["produces_hazard", "mitigated_by"])
    with raw(catalog) as connection:
        connection.execute(f"{damage} WHERE name = '深基坑开挖'")
    with pytest.raises(CatalogUnavailable, match="nodes that there are not"):
        catalog.rules.check(["produces_hazard", "mitigated_by"])
    if damage.startswith("DELETE"):
        for ask in (lambda: catalog.rules.statement(FALLS.key), lambda: list(catalog.rules.live_book())):
            with pytest.raises(CatalogUnavailable, match="nodes that there are not"):
                ask()


def test_statements_without_schema_or_version(catalog: Catalog) -> None:
    """Statements by none of the relations that there are, and ones of a graph without a version, are told of."""
    catalog.rules.check([])
    assert catalog.rules.version() == 0
    load(catalog, replace(FALLS, status="proposed"))
    catalog.rules.check([])  # nobody has approved anything
    load(catalog, FALLS, SHORED)
    with pytest.raises(CatalogUnavailable, match="no stored schema describes the relations"):
        catalog.rules.check([])
    with raw(catalog) as connection:
        connection.execute("DELETE FROM library WHERE key = 'rules_version'")
    with pytest.raises(CatalogUnavailable, match="version of the rules graph is lost"):
        catalog.rules.version()


@pytest.mark.parametrize("broken", ["", "{", "zh: 深基坑"])
def test_rows_that_are_no_json(catalog: Catalog, broken: str) -> None:
    """A row that nothing here can have written is told as the catalog's failure."""
    load(catalog, FALLS)
    with raw(catalog) as connection:
        connection.execute("UPDATE rule_nodes SET labels = ?", (broken,))
    for ask in (lambda: list(catalog.rules.lexicon()), catalog.rules.find_nodes):
        with pytest.raises(CatalogUnavailable, match="is no JSON"):
            ask()


def test_plan(catalog: Catalog) -> None:
    """Each query of a walk uses the index that is made for it, and reads no table as a whole."""
    load(catalog, FALLS, SHORED)
    start = number(catalog, PIT.key)
    plans: list[str] = []
    from sqlalchemy import event

    @event.listens_for(catalog.database.reader, "before_cursor_execute")
    def _explain(_c: Any, _cursor: Any, sql: str, parameters: Any, _context: Any, _many: bool) -> None:
        if sql.startswith("SELECT"):
            with raw(catalog) as connection:
                plans.extend(row[3] for row in connection.execute("EXPLAIN QUERY PLAN " + sql, parameters))

    for view in (VIEW, replace(VIEW, at=catalog.seq())):
        for inverse in (False, True):
            catalog.rules.edges(
                list(range(start, start + 40)), ["produces_hazard", "mitigated_by"],
                view=view, limit=50, deadline=soon(), inverse=inverse,
            )  # fmt: skip
    assert not [plan for plan in plans if plan.startswith("SCAN") and "CONSTANT" not in plan], plans
    used = {plan.split(" INDEX ")[1].split(" ")[0] for plan in plans if " INDEX rule" in plan}
    assert used == {"rule_statements_src", "rule_statements_dst", "rule_evidences_statement", "rule_nodes_id"}


# -- importing ------------------------------------------------------------------------------------------------


@BOTH
def test_again(catalog: Catalog) -> None:
    """Importing the same again changes nothing: no commit, no version, and all is counted as unchanged."""
    first = load(catalog, FALLS, SHORED)
    assert first.seq == catalog.seq() == catalog.rules.version()
    again = load(catalog, SHORED, FALLS)
    assert again.seq is None
    assert again.statements_unchanged == 2
    assert not any(v for k, v in vars_of(again).items() if k not in ("statements_unchanged", "seq"))
    assert catalog.seq() == first.seq


@BOTH
def test_again_over_an_older_library(catalog: Catalog) -> None:
    """Where earlier versions made the clause an anchor, the same pack still changes nothing, and no such anchor is shown."""
    load(catalog, FALLS)
    with catalog.database.writer.begin() as connection:
        connection.execute(rules_tables.evidences.update().values(uri="https://example.org/37#第十条"))
    written = Evidence(source_id="s1", uri="https://example.org/37", clause="第十条", quote=QUOTE.quote)
    assert load(catalog, replace(FALLS, evidences=(written,))).seq is None
    ((support,),) = [edge.evidences for edge in from_(catalog, PIT, "produces_hazard")]
    assert support.address == "https://example.org/37#:~:text=应当组织专家论证"
    (held,) = catalog.rules.statement(FALLS.key).evidences
    assert held.evidence == written


def vars_of(report: Any) -> dict[str, Any]:
    return {name: getattr(report, name) for name in type(report).__slots__}


@BOTH
def test_reworded(catalog: Catalog) -> None:
    """A pack may word its statement anew; number and key stay, and the past keeps the old words."""
    before = load(catalog, FALLS).seq
    old = from_(catalog, PIT, "produces_hazard")[0]
    report = load(catalog, replace(FALLS, weight=0.25, sentence={"zh": "深挖易塌"}))
    assert (report.statements_changed, report.statements_added, report.evidences_added) == (1, 0, 0)
    new = from_(catalog, PIT, "produces_hazard")[0]
    assert (new.statement_id, new.weight, new.sentence) == (old.statement_id, 0.25, {"zh": "深挖易塌"})
    assert from_(catalog, PIT, "produces_hazard", view=replace(VIEW, at=before)) == [old]


@BOTH
def test_prune(catalog: Catalog) -> None:
    """What a pack no longer says is retired, with the reason; without prune it stays; said again, it is back."""
    before = load(catalog, FALLS, SHORED).seq
    assert load(catalog, FALLS, prune=False).seq is None
    report = load(catalog, FALLS, nodes=(PIT, COLLAPSE))
    assert (report.statements_retired, report.evidences_removed, report.nodes_retired) == (1, 2, 1)
    assert from_(catalog, COLLAPSE, "mitigated_by") == []
    held = catalog.rules.statement(SHORED.key)
    assert held.statement.status == "retired"
    assert "pack one" in held.reason
    assert held.statement.dst == SHORING.key
    assert len(from_(catalog, COLLAPSE, "mitigated_by", view=replace(VIEW, at=before))) == 1
    back = load(catalog, FALLS, SHORED)
    assert (back.statements_changed, back.evidences_added, back.nodes_added) == (1, 2, 1)
    (edge,) = from_(catalog, COLLAPSE, "mitigated_by")
    assert edge.statement_id == held.statement_id
    assert edge.dst == held.dst


@BOTH
def test_two_packs(catalog: Catalog) -> None:
    """A statement that two packs support stays when one leaves; each has its own evidence."""
    load(catalog, FALLS, pack="one")
    report = load(catalog, replace(FALLS, evidences=(OTHER,)), pack="two")
    assert (report.statements_changed, report.statements_added, report.conflicts) == (1, 0, ())
    assert [e.source_id for e in from_(catalog, PIT, "produces_hazard")[0].evidences] == ["s1", "s2"]
    assert catalog.rules.packs() == ("one", "two")
    gone = catalog.apply_rules("one", nodes=(), statements=(), prune=True)
    assert (gone.statements_retired, gone.evidences_removed, gone.nodes_retired) == (0, 1, 0)
    assert [e.source_id for e in from_(catalog, PIT, "produces_hazard")[0].evidences] == ["s2"]
    last = catalog.apply_rules("two", nodes=(), statements=(), prune=True)
    assert (last.statements_retired, last.nodes_retired) == (1, 3)
    assert catalog.rules.packs() == ()


@BOTH
def test_contradiction(catalog: Catalog) -> None:
    """When another pack words a statement or node otherwise, that is a conflict: what is stored stays."""
    load(catalog, FALLS, pack="one")
    other = replace(FALLS, strength="informative", evidences=(OTHER,))
    wrong = replace(COLLAPSE, name="塌方")
    report = load(catalog, other, pack="two", nodes=(PIT, wrong, SHORING))
    assert report.conflicts == (COLLAPSE.key, FALLS.key)
    (edge,) = from_(catalog, PIT, "produces_hazard")
    assert (edge.strength, edge.end.name, len(edge.evidences)) == ("mandatory", "坍塌", 2)
    catalog.apply_rules("one", nodes=(), statements=(), prune=True)
    report = load(catalog, other, pack="two", nodes=(PIT, wrong, SHORING))
    assert report.conflicts == ()
    (edge,) = from_(catalog, PIT, "produces_hazard")
    assert (edge.strength, edge.end.name) == ("informative", "塌方")


@BOTH
def test_said_twice(catalog: Catalog) -> None:
    """A statement that one pack says in two places has the evidence of both, and importing it again is no change."""
    twice = (FALLS, replace(FALLS, evidences=(OTHER,)))
    assert load(catalog, *twice).statements_added == 1
    assert len(from_(catalog, PIT, "produces_hazard")[0].evidences) == 2
    assert load(catalog, *twice).seq is None
    report = load(catalog, FALLS, replace(FALLS, weight=0.1, evidences=(OTHER,)))
    assert (report.conflicts, report.seq) == ((FALLS.key,), None)


@BOTH
def test_evidence_rewritten(catalog: Catalog) -> None:
    """Another trust of the same evidence replaces it; nothing counts as lost."""
    load(catalog, FALLS)
    report = load(catalog, replace(FALLS, evidences=(replace(QUOTE, trust=3),)))
    assert (report.evidences_added, report.evidences_removed, report.statements_changed) == (1, 1, 1)
    (edge,) = from_(catalog, PIT, "produces_hazard")
    assert edge.trust == 3
    assert catalog.rules.statement_fate(edge.statement_id)["lost"] == []


@BOTH
@pytest.mark.parametrize(
    ("statements", "nodes", "why"),
    [
        ((replace(FALLS, evidences=()),), NODES, "no evidence"),
        ((replace(FALLS, dst="hazard/溺水"),), NODES, "hazard/溺水"),
        ((), (PIT, PIT), "given twice"),
    ],
)
def test_refused(catalog: Catalog, statements: Any, nodes: Any, why: str) -> None:
    """A statement without evidence or about an unknown node, and a node given twice, refuse the whole import."""
    before = catalog.seq()
    with pytest.raises(InvalidRequest, match=why):
        load(catalog, SHORED, *statements, nodes=nodes)
    assert catalog.seq() == before
    assert catalog.rules.counts()["nodes"] == 0


@BOTH
def test_schema(catalog: Catalog) -> None:
    """The schema is stored with the import that brings it, and the same one again is no change."""
    tree = {"kinds": {"process": {"zh": "工序"}}}
    report = catalog.apply_rules("one", nodes=NODES, statements=(FALLS,), prune=True, schema_tree=tree)
    assert report.schema_changed
    assert catalog.value("rules/schema") == tree
    again = catalog.apply_rules("one", nodes=NODES, statements=(FALLS,), prune=True, schema_tree=tree)
    assert (again.schema_changed, again.seq) == (False, None)


@BOTH
def test_aliases(catalog: Catalog) -> None:
    """Aliases are each pack's own: they come and go with it, the node stays with the other's."""
    load(catalog, FALLS, pack="one")
    alias = Alias(text="挖坑", language="zh", type="typo", weight=0.5)
    load(catalog, FALLS, pack="two", nodes=(replace(PIT, aliases=(alias,)), COLLAPSE, SHORING))
    entries = {e.text: (e.type, e.weight) for e in catalog.rules.lexicon() if e.kind == "process"}
    assert entries == {
        "深基坑开挖": ("pref", 1.0),
        "Deep excavation": ("pref", 1.0),
        "0102": ("code", 1.0),
        "基坑開挖": ("alt", 1.0),
        "pit digging": ("alt", 0.8),
        "挖坑": ("typo", 0.5),
    }
    assert {e.scope for e in catalog.rules.lexicon() if e.kind == "process"} == {("房屋建筑",)}
    report = load(catalog, FALLS, pack="one", nodes=(replace(PIT, aliases=()), COLLAPSE, SHORING))
    assert report.nodes_changed == 1
    assert {e.text for e in catalog.rules.lexicon() if e.type in ("alt", "typo")} == {"挖坑"}


# -- reviews --------------------------------------------------------------------------------------------------


@BOTH
def test_review(catalog: Catalog) -> None:
    """What waits is listed; approved it is served; what was decided is kept with who and why, and when again."""
    load(catalog, replace(FALLS, status="proposed"), replace(SHORED, status="proposed"))
    first, second = catalog.rules.proposed()
    assert (first.statement.key, first.packs, second.statement.evidences) == (FALLS.key, ("one",), (QUOTE, OTHER))
    assert [h.statement_id for h in catalog.rules.proposed(after=first.statement_id)] == [second.statement_id]
    assert len(catalog.rules.proposed(limit=1)) == 1
    assert catalog.review_rules([first.statement_id], "approve", actor="安全员", reason="核对原文") == 1
    assert catalog.review_rules([first.statement_id], "approve", actor="安全员") == 0
    assert len(from_(catalog, PIT, "produces_hazard")) == 1
    assert len(catalog.rules.proposed()) == 1
    fate = catalog.rules.statement_fate(first.statement_id)
    assert (fate["state"], fate["reason"]) == ("live", "核对原文")
    assert [(v["action"], v["actor"], v["reason"]) for v in fate["reviews"]] == [("approve", "安全员", "核对原文")]


@BOTH
@pytest.mark.parametrize(
    ("said", "action", "again", "after"),
    [
        ("approved", "reject", "approved", "rejected"),
        ("approved", "retire", "approved", "retired"),
        ("proposed", "approve", "proposed", "approved"),
        ("proposed", "reject", "proposed", "rejected"),
        ("proposed", None, "approved", "approved"),
        ("approved", None, "proposed", "approved"),
        ("approved", None, "retired", "retired"),
    ],
)
def test_decided(catalog: Catalog, said: Any, action: Any, again: Any, after: str) -> None:
    """What people decided stays when a pack says the same again; people who write outrank machines that propose."""
    load(catalog, replace(FALLS, status=said))
    if action:
        catalog.review_rules([catalog.rules.statement(FALLS.key).statement_id], action, actor="a", reason="r")
    load(catalog, replace(FALLS, status=again))
    assert status(catalog, FALLS) == after


@BOTH
def test_rejected_then_reworded(catalog: Catalog) -> None:
    """A rejected statement with other words waits for another review."""
    load(catalog, FALLS)
    catalog.review_rules([catalog.rules.statement(FALLS.key).statement_id], "reject", actor="a")
    load(catalog, replace(FALLS, weight=0.5))
    assert status(catalog, FALLS) == "proposed"


@BOTH
def test_reworded_then_said_again(catalog: Catalog) -> None:
    """Saying the other words again does not approve them, nor does taking them back in between; people do."""
    load(catalog, FALLS)
    catalog.review_rules([catalog.rules.statement(FALLS.key).statement_id], "reject", actor="a")
    other = replace(FALLS, weight=0.5)
    load(catalog, other)
    assert load(catalog, other).seq is None
    assert status(catalog, FALLS) == "proposed"
    load(catalog)
    load(catalog, other)
    assert status(catalog, FALLS) == "proposed"
    catalog.review_rules([catalog.rules.statement(FALLS.key).statement_id], "approve", actor="a")
    assert status(catalog, FALLS) == "approved"


@BOTH
def test_review_refused(catalog: Catalog) -> None:
    """Neither an unknown statement, nor an unknown action, nor approval without evidence; and then nothing is done."""
    load(catalog, FALLS, SHORED)
    falls, shored = (catalog.rules.statement(s.key).statement_id for s in (FALLS, SHORED))
    with pytest.raises(NotFound, match="999"):
        catalog.review_rules([falls, 999], "reject", actor="a")
    with pytest.raises(InvalidRequest, match="no action"):
        catalog.review_rules([falls], "delete", actor="a")  # type: ignore[arg-type]
    load(catalog, SHORED)
    with pytest.raises(InvalidRequest, match="no evidence"):
        catalog.review_rules([shored, falls], "approve", actor="a")
    assert (status(catalog, FALLS), status(catalog, SHORED)) == ("retired", "approved")


# -- sources that go ------------------------------------------------------------------------------------------


@BOTH
def test_source_removed(catalog: Catalog) -> None:
    """Removing a source retires what only it supported, at once, and keeps the rest with its other evidence."""
    before = load(catalog, FALLS, SHORED).seq
    catalog.remove_source("s1")
    assert catalog.rules.version() == catalog.seq() > before
    assert from_(catalog, PIT, "produces_hazard") == []
    assert [e.source_id for e in from_(catalog, COLLAPSE, "mitigated_by")[0].evidences] == ["s2"]
    held = catalog.rules.statement(FALLS.key)
    assert (held.statement.status, held.reason) == ("retired", "the source s1 was removed")
    fate = catalog.rules.statement_fate(held.statement_id)
    assert (fate["state"], fate["since_seq"], fate["lost"][0]["source_id"]) == ("retired", catalog.seq(), "s1")
    assert fate["lost"][0]["removed_at"] == fate["since"]
    assert len(from_(catalog, PIT, "produces_hazard", view=replace(VIEW, at=before))) == 1


@BOTH
def test_source_added_again(catalog: Catalog) -> None:
    """The evidence of a removed source, imported again, brings back each statement with the status it had."""
    load(catalog, FALLS, replace(SHORED, evidences=(QUOTE,)))
    catalog.review_rules([catalog.rules.statement(SHORED.key).statement_id], "reject", actor="a")
    catalog.remove_source("s1")
    assert (status(catalog, FALLS), status(catalog, SHORED)) == ("retired", "retired")
    catalog.put_source(Source(source_id="s1"))
    load(catalog, FALLS, replace(SHORED, evidences=(QUOTE,)))
    assert (status(catalog, FALLS), status(catalog, SHORED)) == ("approved", "rejected")
    assert len(from_(catalog, PIT, "produces_hazard")) == 1


def test_source_forgotten(catalog: Catalog) -> None:
    """No word of a removed source's evidence is left in the files, not even of evidence that went before."""
    canary = replace(QUOTE, quote="canary7金丝雀引文", uri="urn:canary7uri", clause="canary7条", reviewer="canary7人")
    load(catalog, replace(FALLS, evidences=(canary,)), replace(SHORED, evidences=(OTHER, canary)))
    load(catalog, FALLS, SHORED)
    assert "canary7金丝雀".encode() in bytes_of(catalog)
    catalog.remove_source("s1")
    assert b"canary7" not in bytes_of(catalog)
    proofs = catalog.rules.statement(FALLS.key).evidences
    assert {(p.evidence.quote, p.evidence.uri) for p in proofs} == {("", "")}


def bytes_of(catalog: Catalog) -> bytes:
    return b"".join(file.read_bytes() for file in catalog.folder.iterdir() if file.is_file())


@BOTH
def test_source_without_rules(catalog: Catalog) -> None:
    """Removing a source that supports nothing is no change of the graph."""
    load(catalog, FALLS)
    version = catalog.rules.version()
    catalog.remove_source("s2")
    assert catalog.rules.version() == version


# -- looking --------------------------------------------------------------------------------------------------


@BOTH
def test_find_nodes(catalog: Catalog) -> None:
    """Nodes are found by any part of a name, label, code or alias, however it is written, and by kind, in pages."""
    load(catalog, FALLS)

    def found(text: str = "", **more: Any) -> list[str]:
        return [n.name for n in catalog.rules.find_nodes(text, **more)]

    assert found() == ["深基坑开挖", "坍塌", "支护"]
    for text in ("基坑", "深基坑開挖", "DEEP exc", "ｐｉｔ", "0102", " 基坑開 "):
        assert found(text) == ["深基坑开挖"], text
    assert found("%") == found("_") == found("无此") == []
    assert found(kind="hazard") == ["坍塌"]
    assert found("基坑", kind="hazard") == []
    assert found(limit=1) == ["深基坑开挖"]
    assert found(after=number(catalog, PIT.key), limit=1) == ["坍塌"]


@BOTH
def test_counts(catalog: Catalog) -> None:
    """Counts are of what is live."""
    load(catalog, FALLS, replace(SHORED, status="proposed"))
    load(catalog, FALLS, replace(SHORED, status="proposed", weight=0.1))
    counts = catalog.rules.counts()
    assert (counts["nodes"], counts["aliases"], counts["evidences"]) == (3, 2, 3)
    assert counts["kinds"] == {"process": 1, "hazard": 1, "measure": 1}
    assert counts["statements"] == {"approved": 1, "proposed": 1}
    assert counts["relations"] == {"produces_hazard": 1}
    assert counts["packs"] == {"one": 3}


@BOTH
def test_book(catalog: Catalog) -> None:
    """What is read back equals what was written, node by node and statement by statement, for all or for a pack."""
    load(catalog, FALLS, SHORED, pack="one")
    load(catalog, replace(SHORED, evidences=(OTHER,)), pack="two", nodes=(COLLAPSE, SHORING))
    nodes, statements = split(catalog, None)
    assert tuple(h.node for h in nodes) == NODES
    assert [h.statement for h in statements] == [FALLS, replace(SHORED, evidences=(QUOTE, OTHER, OTHER))]
    assert [h.packs for h in (*nodes, *statements)] == [
        ("one",), ("one", "two"), ("one", "two"), ("one",), ("one", "two"),
    ]  # fmt: skip
    nodes, statements = split(catalog, "two")
    assert [h.node for h in nodes] == [COLLAPSE, SHORING]
    assert [h.statement for h in statements] == [replace(SHORED, evidences=(OTHER,))]
    assert [h.pack for h in statements] == ["one"]
    assert split(catalog, "three") == ([], [])


def split(catalog: Catalog, pack: str | None) -> tuple[list[HeldNode], list[HeldStatement]]:
    book = list(catalog.rules.live_book(pack))
    return [e for e in book if isinstance(e, HeldNode)], [e for e in book if isinstance(e, HeldStatement)]


@BOTH
def test_nodes(catalog: Catalog) -> None:
    """Live nodes are read by number; unknown and retired ones are absent."""
    load(catalog, FALLS)
    pit, shoring = number(catalog, PIT.key), number(catalog, SHORING.key)
    load(catalog, FALLS, nodes=(PIT, COLLAPSE))
    found = catalog.rules.nodes([pit, shoring, 999, pit], deadline=soon())
    assert {n: node.label("en") for n, node in found.items()} == {pit: "Deep excavation"}
    with pytest.raises(EngineTimeout):
        catalog.rules.nodes([pit], deadline=Deadline(0.0, time.monotonic))


@BOTH
def test_fate(catalog: Catalog) -> None:
    """A statement's fate says whether it is in force on a day; what never was is said to be never."""
    load(catalog, replace(FALLS, valid_from=date(2020, 1, 1), valid_until=date(2025, 12, 31)))
    which = catalog.rules.statement(FALLS.key).statement_id
    states = [catalog.rules.statement_fate(which, date(year, 6, 1))["state"] for year in (2019, 2024, 2026)]
    assert states == ["future", "live", "expired"]
    assert catalog.rules.statement_fate(which)["valid_until"] == date(2025, 12, 31)
    assert catalog.rules.statement_fate(999) == {"state": "never"}
    with pytest.raises(NotFound):
        catalog.rules.statement("0" * 32)


# -- older libraries, other processes ---------------------------------------------------------------------------


def test_older_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A library that had no rules keeps all it has, and can have rules."""
    with monkeypatch.context() as older:
        older.setattr(
            format_upgrades, "MIGRATIONS", (*format_upgrades.MIGRATIONS[:2], reader_tables)
        )  # documents are written as now
        older.setattr(format_upgrades, "SCHEMA_VERSION", 2)
        with new_catalog(tmp_path / "library") as catalog:
            put(catalog, 1, 2)
            before = (texts(catalog), catalog.seq(), catalog.sources())
            with raw(catalog) as connection, pytest.raises(driver.OperationalError, match="no such table"):
                connection.execute("SELECT * FROM rule_nodes")
    catalog = Catalog.open(tmp_path / "library")
    assert (texts(catalog), catalog.seq(), catalog.sources()) == before
    assert catalog.rules.version() == 0
    load(catalog, FALLS)
    assert len(from_(catalog, PIT, "produces_hazard")) == 1
    catalog.close()


@BOTH
def test_two_readers(catalog: Catalog) -> None:
    """Another process's change is seen at once, also in nodes that were read before."""
    load(catalog, FALLS)
    assert from_(catalog, PIT, "produces_hazard")[0].end.name == "坍塌"
    other = Catalog.open(again(catalog.database.place))
    load(other, FALLS, nodes=(PIT, replace(COLLAPSE, name="塌方"), SHORING))
    other.close()
    assert from_(catalog, PIT, "produces_hazard")[0].end.name == "塌方"


@BOTH
def test_changes_of_documents_apart(catalog: Catalog) -> None:
    """A change of the rules is no document: what indexes follow has a commit, but no row in it."""
    put(catalog, 1)
    before = catalog.seq()
    load(catalog, FALLS)
    assert list(catalog.changes(before, catalog.seq())) == []
    assert {s.source_id for s in catalog.sources()} == {"s1", "s2"}
