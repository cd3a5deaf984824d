"""Resolving names and checking: what a word may mean, what circles are, and that it takes a reasonable time."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulebook_parts import SCHEMA_TREE, checked, codes, fault, schema
from wenyuan.core.errors import InvalidRequest
from wenyuan.core.rules.book import Book, RawEvidence, RawStatement, Tally
from wenyuan.core.rules.checking import check_book
from wenyuan.core.rules.model import Alias, EntryPlace, Node
from wenyuan.core.rules.names import looks_like_sentence
from wenyuan.core.rules.schema_parser import parse_schema

CITED = (RawEvidence(source="order37"),)


def node(kind: str, name: str, *aliases: str, key: str = "", scope: tuple[str, ...] = ()) -> Node:
    return Node(
        key=key or f"{kind}/{name}", kind=kind, name=name, aliases=tuple(Alias(text=a) for a in aliases), scope=scope
    )


def link(src: str, rel: str, dst: str, **more: object) -> RawStatement:
    return RawStatement(src=src, rel=rel, dst=dst, **{"evidences": CITED, **more})  # type: ignore[arg-type]


def book(nodes: list[Node], links: list[RawStatement], **more: object) -> Book:
    return Book(pack="p", nodes=tuple(nodes), links=tuple(links), **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("深基坑开挖", False),
        ("应当分层开挖。", True),
        ("应当分层开挖；", True),
        ("先撑。后挖", True),
        ("No. 3 Ltd.", False),
        ("M24螺栓.", True),
        ("The excavation must be shored.", True),
        ("1:1.5 放坡", False),
        ("挖" * 40, False),
        ("挖" * 41, True),
        ("a " * 12, False),
        ("a " * 13, True),
        ("真的吗？", True),
    ],
)
def test_the_rule_for_sentences(name: str, sentence: bool) -> None:
    """The documented rule tells sentences from names in both languages."""
    assert looks_like_sentence(name) is sentence


def test_a_name_goes_before_an_alias_and_kinds_before_both() -> None:
    """Only what fits the relation competes, and a name beats another node's alias."""
    nodes = [
        node("process", "开挖"),
        node("process", "土方工程", "开挖"),
        node("hazard", "坍塌"),
        node("accident", "坍塌"),
    ]
    result = checked(book(nodes, [link("开挖", "产生危险源", "坍塌"), link("坍塌", "may lead to", "坍塌")]))
    assert [(s.src, s.dst) for s in result.statements] == [
        ("process/开挖", "hazard/坍塌"), ("hazard/坍塌", "accident/坍塌"),
    ]  # fmt: skip
    assert codes(result.faults, "note") == {"alias_collision": 1}


def test_an_ambiguous_name_is_settled_by_its_kind_or_key() -> None:
    """Two hazards with one name are told apart by their keys, a hazard and an accident by their kinds."""
    nodes = [
        node("hazard", "坍塌", key="h1"), node("hazard", "坍塌", key="h2"), node("accident", "坍塌"),
        node("safety_measure", "支撑"),
    ]  # fmt: skip
    links = [link(w, "mitigated_by", "支撑") for w in ("坍塌", "hazard:坍塌", "h2", "accident:坍塌", "事故：坍塌")]
    result = checked(book(nodes, links))
    assert codes(result.faults) == {"ambiguous_name": 2}
    assert [s.src for s in result.statements] == ["h2", "accident/坍塌"]
    assert result.merged == Tally(0, 1)


def test_nodes_of_the_graph_are_known_and_keep_their_keys() -> None:
    """A statement may be about a node that the graph has; an entry with its name is that node."""
    known = {"p1": node("process", "深基坑开挖", key="p1"), "h1": node("hazard", "坍塌", key="h1")}
    result = checked(
        book([node("process", "深基坑開挖", "基坑开挖")], [link("基坑开挖", "产生危险源", "坍塌")]), known=known
    )
    assert result.faults == ()
    assert [n.key for n in result.nodes] == ["p1"]
    assert [(s.src, s.dst) for s in result.statements] == [("p1", "h1")]


def test_a_key_does_not_change_its_kind() -> None:
    """An entry that makes a hazard of a process that the graph has is refused."""
    result = checked(book([node("hazard", "开挖", key="p1")], []), known={"p1": node("process", "开挖", key="p1")})
    assert codes(result.faults) == {"kind_changed": 1}


def test_doubles_are_put_together_or_refused() -> None:
    """Two entries for one thing add up when they agree; a contradiction refuses the second one."""
    first = replace(node("process", "开挖", "a"), labels={"zh": "开挖", "en": "Digging"}, codes={"GB": "1"})
    again = replace(node("process", "开挖", "b"), codes={"ISO": "2"})
    other = replace(node("process", "开挖"), labels={"en": "Excavation"}, scope=("桥梁",))
    result = checked(book([first, again, other], []))
    assert [a.text for a in result.nodes[0].aliases] == ["a", "b"]
    assert result.nodes[0].codes == {"GB": "1", "ISO": "2"}
    assert (result.merged, result.refused) == (Tally(1, 0), Tally(1, 0))
    (error,) = result.errors
    assert error.code == "duplicate_node"
    assert "with another labels and scope" in error.message


def test_scopes_that_nobody_is_are_noted() -> None:
    """A scope that is no node of the scope kind would never be met: it is noted with a suggestion."""
    nodes = [node("engineering_type", "桥梁工程"), node("process", "开挖", scope=("桥梁工成",)),
             node("process", "回填", scope=("橋梁工程",))]  # fmt: skip
    result = checked(book(nodes, []))
    assert codes(result.faults, "note") == {"unknown_scope": 1}
    assert "did you mean '桥梁工程'?" in fault(result, "unknown_scope").message


def test_the_default_source_must_exist() -> None:
    """An unknown default source is refused with a suggestion, not at each statement."""
    with pytest.raises(InvalidRequest, match="did you mean 'order37'"):
        check_book(book([], []), schema(), sources={"order37"}, default_source="order73")


def test_the_status_is_that_of_the_statement_the_importer_or_the_format() -> None:
    """What the entry says wins over what the importer says, and that over what the format is usually."""
    nodes = [node("process", "甲"), node("process", "乙"), node("process", "丙")]
    links = [link("甲", "is_a", "乙"), link("乙", "is_a", "丙", status="rejected")]
    machine = [replace(item, place=EntryPlace("g.graphml")) for item in links]
    for items, default, expected in (
        (links, None, ["approved", "rejected"]),
        (machine, None, ["proposed", "rejected"]),
        (machine, "approved", ["approved", "rejected"]),
    ):
        made = book(nodes, items, machine_files=frozenset({"g.graphml"}))
        assert [s.status for s in checked(made, default_status=default).statements] == expected


def test_one_bad_evidence_does_not_take_the_good_one_with_it() -> None:
    """A statement stays with the evidences that are right; the other one is an error of its own."""
    nodes = [node("process", "甲"), node("process", "乙")]
    result = checked(book(nodes, [link("甲", "is_a", "乙", evidences=(*CITED, RawEvidence(source="order99")))]))
    assert codes(result.faults) == {"unknown_source": 1}
    assert len(result.statements[0].evidences) == 1


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=25))
def test_what_is_left_has_no_circle(pairs: list[tuple[int, int]]) -> None:
    """Whatever is written, the accepted is_a statements have no circle; without one, none is refused."""
    nodes = [node("process", f"n{i}") for i in range(7)]
    wanted = dict.fromkeys((a, b) for a, b in pairs if a != b)
    result = checked(book(nodes, [link(f"n{a}", "is_a", f"n{b}") for a, b in wanted]))
    assert circle_free({(s.src, s.dst) for s in result.statements})
    if circle_free({(str(a), str(b)) for a, b in wanted}):
        assert result.faults == ()
    else:
        assert set(codes(result.faults)) == {"cycle"}


def circle_free(edges: set[tuple[str, str]]) -> bool:
    """The reference: ends without a way on are taken away until nothing is left, or nothing can be."""
    while edges:
        starts = {a for a, _ in edges}
        rest = {(a, b) for a, b in edges if b in starts}
        if rest == edges:
            return False
        edges = rest
    return True


def test_a_long_circle_is_found_without_recursion() -> None:
    """Twenty thousand steps up and back to the start are one fault, found in a moment."""
    count = 20_000
    nodes = [node("process", f"n{i}") for i in range(count)]
    links = [link(f"n{i}", "is_a", f"n{(i + 1) % count}") for i in range(count)]
    result = checked(book(nodes, links))
    assert codes(result.faults) == {"cycle": 1}
    assert fault(result, "cycle").message.endswith("→ …")


@pytest.mark.slow
def test_a_big_book_is_checked_whole() -> None:
    """Of a hundred thousand statements the hundred misspelt ones are refused, each with what was meant."""
    nodes = [node("process", f"工序{i}号") for i in range(20_000)] + [
        node("hazard", f"危险{i}") for i in range(5_000)
    ]
    links = [link(f"工序{i % 20_000}号", "产生危险源", f"危险{i // 20}") for i in range(99_900)]
    links += [link(f"工序{i}好", "产生危险源", "危险1") for i in range(100)]
    result = checked(book(nodes, links))
    assert codes(result.faults) == {"dangling_end": 100}
    assert result.imported.statements == 99_900


def _graph(*links: RawStatement) -> Book:
    """A book that a program made: a process, a hazard and a measure."""
    nodes = [node("process", "钢筋绑扎"), node("hazard", "高处坠落"), node("safety_measure", "佩戴安全带")]
    places = [replace(one, place=EntryPlace("graph.graphml", at)) for at, one in enumerate(links)]
    return book(nodes, places, machine_files=frozenset({"graph.graphml"}))


def test_an_alias_of_a_relation_is_enough_in_a_list_of_words() -> None:
    """A relation has aliases, and one known word of a list (full-width or not) tells which relation is meant."""
    tree = {**SCHEMA_TREE, "relations": {**SCHEMA_TREE["relations"]}}
    tree["relations"]["mitigated_by"] = {**tree["relations"]["mitigated_by"], "aliases": ["安全措施", "风险缓解"]}
    for written in ("安全措施,控制措施,风险缓解", "控制措施，風險緩解", "风险缓解"):
        result = check_book(_graph(link("高处坠落", written, "佩戴安全带")), parse_schema(tree), sources={"order37"})
        assert [s.rel for s in result.statements] == ["mitigated_by"]
        assert not result.faults


def test_a_relation_that_only_the_kinds_tell_is_inferred_and_said() -> None:
    """In a program's graph the kinds of both ends may leave one relation only; whoever imports it is told."""
    result = checked(_graph(link("佩戴安全带", "安全措施,控制措施", "高处坠落", direction="none")))
    assert [(s.src, s.rel, s.dst) for s in result.statements] == [
        ("hazard/高处坠落", "mitigated_by", "safety_measure/佩戴安全带")
    ]
    told = fault(result, "relation_inferred")
    assert told.severity == "note"
    assert "'安全措施,控制措施' is taken as 'mitigated_by'" in told.message


def test_what_a_person_mistypes_is_never_inferred() -> None:
    """In a file that people write, an unknown relation stays refused, and so does a list with an unknown word."""
    nodes = [node("hazard", "高处坠落"), node("safety_measure", "佩戴安全带")]
    for written in ("mitigatd_by", "防控措施,乱写的"):
        assert codes(checked(book(nodes, [link("高处坠落", written, "佩戴安全带")])).faults) == {
            "unknown_relation": 1
        }


def test_several_relations_between_two_kinds_are_not_guessed() -> None:
    """Where the kinds leave two relations, a word that is neither is refused."""
    tree = {**SCHEMA_TREE, "relations": {**SCHEMA_TREE["relations"]}}
    tree["relations"]["watched_by"] = {"zh": "监视", "from": ["hazard"], "to": ["safety_measure"]}
    result = check_book(_graph(link("高处坠落", "相关", "佩戴安全带")), parse_schema(tree), sources={"order37"})
    assert codes(result.faults) == {"unknown_relation": 1}


def test_a_program_may_say_the_same_in_other_words() -> None:
    """A graph has a relation once for each text that it was found in: one statement with the evidence of all."""
    again = (RawEvidence(source="order37", uri="b.md"),)
    result = checked(
        _graph(
            link("高处坠落", "防控措施", "佩戴安全带", sentence={"zh": "系好安全带"}),
            link("高处坠落", "防控措施", "佩戴安全带", sentence={"zh": "必须戴"}, evidences=again),
        )
    )
    assert codes(result.faults) == {}
    (one,) = result.statements
    assert (dict(one.sentence), len(one.evidences)) == ({"zh": "系好安全带"}, 2)
