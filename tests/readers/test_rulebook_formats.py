"""CSV, JSON Lines, GraphML and JSON graphs; and what is written is read back as it was."""

from __future__ import annotations

import io
import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from rulebook_parts import SCHEMA_TREE, book_of, checked, codes, fault
from wenyuan.core.errors import DocumentRejected
from wenyuan.core.model import Source
from wenyuan.core.rules.book import DeclaredSource, Tally
from wenyuan.core.rules.model import Alias, EntryPlace, Evidence, Node, Statement
from wenyuan.core.text.folding import language_of
from wenyuan.readers.rulebooks import graphml as rulebooks_graphml
from wenyuan.readers.rulebooks.export import book_to_jsonl, book_to_yaml
from wenyuan.readers.rulebooks.form import EntryForm
from wenyuan.readers.rulebooks.graphml import read_graphml
from wenyuan.readers.rulebooks.jsonl_book import read_jsonl_book
from wenyuan.readers.rulebooks.trees import yaml_tree
from wenyuan.readers.rulebooks.yaml_book import read_yaml

HEAD = """<?xml version='1.0' encoding='utf-8'?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="d0" for="node" attr.name="entity_type" attr.type="string"/>
<key id="d1" for="node" attr.name="description" attr.type="string"/>
<key id="d2" for="edge" attr.name="keywords" attr.type="string"/>
<key id="d3" for="edge" attr.name="source_id" attr.type="string"/>
<key id="d4" for="edge" attr.name="weight" attr.type="double"/>
<key id="d5" for="edge" attr.name="description" attr.type="string"/>
<key id="d6" for="edge" attr.name="file_path" attr.type="string"/>
<key id="d7" for="edge" attr.name="mood" attr.type="string"/>
"""


def xml_node(name: str, kind: str, description: str = "") -> str:
    return f'<node id="{name}"><data key="d0">{kind}</data><data key="d1">{description}</data></node>\n'


def xml_edge(src: str, dst: str, keywords: str, **extra: str) -> str:
    cells = {"d2": keywords, "d3": "chunk-1", **extra}
    inner = "".join(f'<data key="{key}">{value}</data>' for key, value in cells.items())
    return f'<edge source="{src}" target="{dst}">{inner}</edge>\n'


def graphml(*parts: str, directed: bool = False) -> str:
    default = "directed" if directed else "undirected"
    return f'{HEAD}<graph edgedefault="{default}">\n{"".join(parts)}</graph></graphml>'


def test_an_undirected_graph_is_oriented_by_kinds(tmp_path: Path) -> None:
    """The kinds say which end is the subject; turning an edge round is told."""
    text = graphml(
        xml_node("&quot;深基坑开挖&quot;", "process", "挖土&lt;SEP&gt;分层"),
        xml_node("坍塌", "危险源"),
        xml_node("分层开挖", "Safety Measure"),
        xml_edge("坍塌", "&quot;深基坑开挖&quot;", "风险,produces hazard", d4="7.0", d5="开挖引起坍塌", d6="a 1.pdf"),
        xml_edge("坍塌", "分层开挖", "防控措施", d3="chunk-1&lt;SEP&gt;chunk-2", d4="0.5", d7="x"),
    )
    result = checked(book_of(tmp_path, "g.graphml", text), default_source="order37")
    assert codes(result.faults) == {}
    assert codes(result.faults, "note") == {"reversed": 1, "unread_values": 1}
    first, second = result.statements
    assert (first.src, first.rel, first.dst) == ("process/深基坑开挖", "produces_hazard", "hazard/坍塌")
    assert (first.status, first.weight, first.sentence) == ("proposed", 1.0, {"zh": "开挖引起坍塌"})
    assert [e.uri for e in first.evidences] == ["a 1.pdf#chunk-1"]
    assert (second.src, second.dst, second.weight) == ("hazard/坍塌", "safety_measure/分层开挖", 0.5)
    assert [e.uri for e in second.evidences] == ["urn:chunk:chunk-1", "urn:chunk:chunk-2"]
    assert result.nodes[0].attributes == {"description": "挖土\n分层"}


DIRTY = (
    xml_node("深基坑开挖", "process"),
    xml_node("土方开挖", "process"),
    xml_node("坍塌", "hazard"),
    xml_node("淹水", "hazzard"),
    xml_node("UNKNOWN THING", "UNKNOWN"),
    xml_node("基坑开挖时应当分层进行，并及时支撑。", "safety_measure"),
    xml_node("The contractor has to organise a review of the plan before the work begins on site", "requirement"),
    xml_node("", "hazard"),
    xml_node("深基坑開挖", "process"),
    xml_edge("坍塌", "深基坑开挖", "produces hazard"),
    xml_edge("坍塌", "深基坑开挖", "produces hazard"),
    xml_edge("深基坑开挖", "土方开挖", "causes"),
    xml_edge("深基坑开挖", "土方开挖", "is a"),
    xml_edge("坍塌", "深基坑开挖", "防控措施"),
    xml_edge("淹水", "深基坑开挖", "produces hazard"),
    xml_edge("坍陷", "深基坑开挖", "produces hazard"),
    xml_edge("坍塌", "坍塌", "may lead to"),
    xml_edge("坍塌", "土方开挖", "produces hazard", d4="heavy"),
    xml_edge("土方开挖", "坍塌", "produces hazard, 产生危险源", d4="0.2"),
)


def test_a_dirty_graph_is_counted_fault_by_fault(tmp_path: Path) -> None:
    """Each kind of fault of a machine-made graph is found as often as it was put there."""
    result = checked(book_of(tmp_path, "g.graphml", graphml(*DIRTY)), default_source="order37")
    assert codes(result.faults) == {
        "unknown_kind": 2,
        "sentence_as_name": 2,
        "bad_value": 2,
        "unknown_relation": 1,
        "not_orientable": 1,
        "wrong_ends": 2,
        "dangling_end": 2,
    }
    assert codes(result.faults, "note") == {"duplicate_node": 1, "duplicate_statement": 1, "reversed": 2}
    assert (result.written, result.imported) == (Tally(9, 10), Tally(3, 2))
    assert (result.merged, result.refused) == (Tally(1, 1), Tally(5, 7))
    assert fault(result, "not_orientable").place == EntryPlace("g.graphml", 24)


def test_a_directed_graph_keeps_its_directions(tmp_path: Path) -> None:
    """What stands the wrong way round in a directed graph is an error, and an is_a is taken as it stands."""
    parts = (
        xml_node("甲", "process"), xml_node("乙", "process"), xml_node("坍塌", "hazard"),
        xml_edge("甲", "乙", "is_a"), xml_edge("坍塌", "甲", "produces_hazard"),
    )  # fmt: skip
    result = checked(book_of(tmp_path, "g.graphml", graphml(*parts, directed=True)), default_source="order37")
    assert codes(result.faults) == {"reversed": 1}
    assert [(s.src, s.dst) for s in result.statements] == [("process/甲", "process/乙")]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('<!DOCTYPE g [<!ENTITY a "aaaa">]><graphml><graph/></graphml>', "declares a document type"),
        ('<?xml version="1.0"?><!DOCTYPE g SYSTEM "file:///etc/passwd"><graphml/>', "declares a document type"),
        ("<graphml><graph>", "not well-formed"),
        ("<html/>", "it is no GraphML"),
        ("<graphml><graph>" + "<a>" * 40, "nested deeper"),
        ("<graphml><graph><node id='a'><graph/><node id='b'/></node></graph></graphml>", "graphs inside"),
        ('<?xml version="1.0" encoding="ebcdic-x"?><graphml/>', "not well-formed"),
    ],
)
def test_hostile_xml_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    """Document types, deep nesting and what is no GraphML are refused with the reason."""
    book = book_of(tmp_path, "g.graphml", text)
    assert reason in fault(book, "bad_file").message


def test_a_graph_is_read_as_a_stream() -> None:
    """Not more than a piece of the file is asked for at once, and a value has a limit."""

    class Endless(io.RawIOBase):
        asked = 0

        def read(self, size: int = -1) -> bytes:
            assert 0 < size <= 1 << 16
            self.asked += 1
            return f"{HEAD}<graph><node id='a'><data key='d1'>".encode() if self.asked == 1 else b"x" * size

    with pytest.raises(DocumentRejected, match="more than 1,000,000 characters"):
        read_graphml(Endless(), file="g.graphml", pack="")  # type: ignore[arg-type]


def test_custom_kg_is_read_with_its_hint_of_direction(tmp_path: Path) -> None:
    """The order of the ends counts where the kinds allow it, and gives way where they do not."""
    content: dict[str, Any] = {
        "chunks": [{"content": "…", "source_id": "c1"}],
        "entities": [
            {"entity_name": "甲", "entity_type": "process", "source_id": "c1"},
            {"entity_name": "乙", "entity_type": "process"},
            {"entity_name": "坍塌", "entity_type": "hazard", "file_path": "a.pdf"},
            {"entity_name": "丙", "entity_typ": "hazard"},
            {"entity_type": "hazard"},
            "丁",
        ],
        "relationships": [
            {"src_id": "甲", "tgt_id": "乙", "keywords": "is a", "source_id": "c1", "weight": 2},
            {"src_id": "坍塌", "tgt_id": "甲", "keywords": "产生危险源", "source_id": "c1", "file_path": "a.pdf"},
            {"src_id": "甲", "tgt_id": "戊", "keywords": "is a", "source_id": "c1"},
            {"src_id": "甲", "tgt_id": ["乙"], "keywords": "is a"},
            {"src_id": "甲", "tgt_id": "乙", "weight": True, "keyword": "is a"},
        ],
        "relation": [],
    }
    book = book_of(tmp_path, "kg.json", json.dumps(content, ensure_ascii=False))
    result = checked(book, default_source="order37")
    assert codes(result.faults) == {"unknown_key": 3, "bad_value": 3, "dangling_end": 1}
    assert codes(result.faults, "note") == {"reversed": 1}
    assert [(s.src, s.rel, s.dst, s.status) for s in result.statements] == [
        ("process/甲", "is_a", "process/乙", "proposed"),
        ("process/甲", "produces_hazard", "hazard/坍塌", "proposed"),
    ]
    assert (result.written, result.refused) == (Tally(6, 5), Tally(3, 3))
    assert str(fault(result, "dangling_end")).startswith("kg.json:relationships[2]: no such node: '戊'")


@pytest.mark.parametrize("text", ["[]", "{}", '{"a": NaN}', "{", "[" * 100_000, '"entities"'])
def test_other_json_is_no_custom_kg(tmp_path: Path, text: str) -> None:
    """JSON of another shape is refused as a file."""
    assert codes(book_of(tmp_path, "kg.json", text).faults) == {"bad_file": 1}


NODES_CSV = """\
类型,名称,英文名,别名,代码,备注
process,深基坑开挖,Deep excavation,基坑开挖；基坑土方,GB 50300=0104,好
危險源,坍塌,,,,
hazard,淹水,,,GB 13861,
hazard,滑坡,,,,,多
"""


def test_csv_tables_are_told_by_their_header(tmp_path: Path) -> None:
    """A table of nodes and one of statements are read in either language, in GB18030 too."""
    book_of(tmp_path, "r/nodes.csv", NODES_CSV.encode("gb18030"))
    book_of(
        tmp_path,
        "r/edges.csv",
        "src,rel,dst,when,strength,valid_from,source,clause,quote,trust\n"
        "深基坑开挖,产生危险源,坍塌,depth_m > 3,宜,2018年6月1日,order37,第三条,,4\n"
        "深基坑开挖,产生危险源,坍塌,depth_m > 3,宜,2018/6/1,order37,第四条,,\n",
    )
    result = checked(rulebook(tmp_path / "r"))
    assert codes(result.faults) == {"bad_value": 2}
    assert result.nodes[0].codes == {"GB 50300": "0104"}
    assert [a.text for a in result.nodes[0].aliases] == ["基坑开挖", "基坑土方"]
    (statement,) = result.statements
    assert (statement.strength, statement.valid_from) == ("recommended", date(2018, 6, 1))
    assert [(e.clause, e.trust) for e in statement.evidences] == [("第三条", 4), ("第四条", None)]
    assert result.merged == Tally(0, 1)


def rulebook(path: Path) -> Any:
    from wenyuan.readers.rulebooks.selection import read_book

    return read_book(path)


@pytest.mark.parametrize(
    ("text", "expected", "refused"),
    [
        ("src,rel,dst,whem\na,is_a,b,x\na,is_a,c,\n", {"unknown_key": 1}, Tally(0, 2)),
        ("kind,name,名称\nprocess,a,b\n", {"duplicate_key": 1}, Tally(1, 0)),
        ("kind,name,\nprocess,a,b\n", {"bad_value": 1}, Tally(1, 0)),
        ("a,b\n1,2\n", {"bad_file": 1}, Tally()),
        ("", {"bad_file": 1}, Tally()),
        ('kind,name\nprocess,"a\n', {"bad_file": 1}, Tally()),
    ],
)
def test_a_table_with_columns_that_nobody_knows_is_not_read(
    tmp_path: Path, text: str, expected: dict[str, int], refused: Tally
) -> None:
    """A misspelt condition is not left out of every rule: the table is refused, and its rows are counted."""
    book = book_of(tmp_path, "t.csv", text)
    assert (codes(book.faults), book.refused, book.nodes, book.links) == (expected, refused, (), ())


def test_json_lines_are_taken_one_by_one(tmp_path: Path) -> None:
    """A bad line is a fault with its number; the others are read."""
    lines = [
        '{"pack": "demo"}',
        '{"schema": {"kinds": {}}}',
        '{"source": {"id": "s1", "trust": 4}}',
        '{"node": {"kind": "process", "name": "甲"}}',
        '{"node": {"kind": "process", "name": "乙"}, "statement": {}}',
        "",
        '{"node": {"kind": "process", "name": "丙", "name": "丁"}}',
        '{"statement": {"src": "甲", "rel": "is_a", "dst": "乙", "weight": 1e999}}',
        '{"statment": {"src": "甲"}}',
        '{"statement": NaN}',
        "[" * 100_000,
        '{"pack": 3}',
    ]
    book = book_of(tmp_path, "r.jsonl", "\n".join(lines))
    assert (book.pack, book.schema_tree, len(book.sources)) == ("demo", {"kinds": {}}, 1)
    assert [(n.name, n.place.line) for n in book.nodes] == [("甲", 4)]
    assert codes(book.faults) == {"bad_value": 3, "duplicate_key": 1, "unknown_key": 1, "bad_json": 2}
    assert book.refused == Tally(2, 4)
    assert fault(book, "duplicate_key").place == EntryPlace("r.jsonl", 7)


# What is written is read back as it was.

WORD = st.text(
    st.one_of(
        st.sampled_from("深基坑开挖塌方Ａｂc1 :#-'\"{}[]&*!|>%@`,?~=；。\n"),
        # what cannot be seen, such as the fillers of Hangul, is removed on reading
        st.characters(codec="utf-8", categories=["L", "N"], exclude_characters="\u115f\u1160\u3164\uffa0"),
    ),
    min_size=1,
    max_size=12,
).map(str.strip)
NAME = WORD.filter(lambda w: bool(w) and "\n" not in w)
KIND = st.sampled_from(["process", "hazard", "accident", "safety_measure"])
DAY = st.dates(date(1990, 1, 1), date(2030, 1, 1))


@st.composite
def a_node(draw: st.DrawFn, name: str) -> Node:
    kind = draw(KIND)
    labels = draw(st.dictionaries(st.sampled_from(["zh", "en", "sr-Latn"]), NAME, max_size=2))
    if own := language_of(name):
        labels[own] = labels.get(own) or name
    aliases = draw(st.lists(NAME, max_size=2, unique=True))
    return Node(
        key=draw(st.sampled_from([f"{kind}/{name}", f"k:{name}"])),
        kind=kind,
        name=name,
        labels=labels,
        aliases=tuple(
            draw(
                st.sampled_from(
                    [Alias(text=a, language=language_of(a)), Alias(text=a, language="en", type="abbr", weight=0.5)]
                )
            )
            for a in aliases
        ),
        codes=draw(st.dictionaries(NAME, NAME, max_size=2)),
        scope=tuple(draw(st.lists(NAME, max_size=2, unique=True))),
        attributes=draw(
            st.dictionaries(
                NAME,
                st.one_of(WORD, st.booleans(), st.integers(-(10**15), 10**15), st.floats(-1e15, 1e15)),
                max_size=2,
            )
        ),
    )


@st.composite
def a_book(draw: st.DrawFn) -> tuple[list[Node], list[Statement]]:
    from wenyuan.core.rules.names import folded

    names = draw(st.lists(NAME, min_size=2, max_size=5, unique_by=folded))
    nodes = [draw(a_node(name)) for name in names]
    statements: dict[str, Statement] = {}
    for _ in range(draw(st.integers(0, 5))):
        low, high = sorted(draw(st.lists(st.sampled_from(range(len(nodes))), min_size=2, max_size=2, unique=True)))
        first, last = sorted((draw(DAY), draw(DAY)))
        evidence = st.builds(
            Evidence,
            source_id=st.just("order37"),
            uri=st.sampled_from(["", "https://example.org/a#第一条"]),
            clause=st.sampled_from(["", "第一条"]),
            quote=WORD.map(str.strip),
            trust=st.sampled_from([None, 1, 5]),
            reviewer=st.sampled_from(["", "王工"]),
        )
        identity = lambda e: (e.uri, e.clause, e.quote)  # noqa: E731
        statement = Statement(
            src=nodes[low].key,
            rel="is_a",
            dst=nodes[high].key,
            condition=draw(st.sampled_from(["", "depth_m >= 5.0"])),
            strength=draw(st.sampled_from(["mandatory", "recommended", "informative"])),
            sentence=draw(st.dictionaries(st.sampled_from(["zh", "en"]), NAME, max_size=2)),
            valid_from=draw(st.sampled_from([None, first])),
            valid_until=draw(st.sampled_from([None, last])),
            weight=draw(st.floats(0, 1)),
            status=draw(st.sampled_from(["approved", "proposed", "rejected", "retired"])),
            evidences=tuple(draw(st.lists(evidence, min_size=1, max_size=2, unique_by=identity))),
        )
        statements[statement.key] = statement
    return nodes, list(statements.values())


SOURCES = (
    DeclaredSource(
        source=Source(source_id="order37", title="规定: 一", trust=5, effective_from=date(2018, 6, 1), language="zh"),
    ),
)


@settings(deadline=None)
@given(st.floats(0, 1))
def test_a_weight_is_read_however_long_it_is_written(weight: float) -> None:
    """A small float has more digits behind its point than a large one: as a number of YAML, and as text in a cell."""
    assert yaml_tree(yaml.safe_dump({"weight": weight}))["weight"] == weight
    for written in (weight, repr(weight)):
        form = EntryForm({"weight": written}, EntryPlace("a.yaml", 1), [], {"weight"})
        assert (form.number("weight", 2.0, 0.0, 1.0), form.faults) == (weight, [])


@settings(deadline=None)
@given(a_book())
def test_what_is_exported_is_read_back(made: tuple[list[Node], list[Statement]]) -> None:
    """Export, reading and checking give equal schema, sources, nodes and statements, by YAML and by JSON Lines."""
    nodes, statements = made
    parts: dict[str, Any] = {"sources": SOURCES, "nodes": nodes, "statements": statements, "schema_tree": SCHEMA_TREE}
    for book in (
        read_yaml(book_to_yaml("demo", **parts).encode(), file="a.yaml", pack=""),
        read_jsonl_book("".join(book_to_jsonl("demo", **parts)).encode(), file="a.jsonl", pack=""),
    ):
        result = checked(book, sources=set())
        assert [f for f in result.faults if f.severity == "error"] == []
        assert (book.pack, book.schema_tree, book.sources) == ("demo", SCHEMA_TREE, SOURCES)
        assert list(result.nodes) == nodes
        assert list(result.statements) == statements


def test_a_graph_of_too_many_things(monkeypatch: pytest.MonkeyPatch) -> None:
    """A graph with more nodes and edges than a graph of rules can have is refused at that place, not read to its end."""
    monkeypatch.setattr(rulebooks_graphml, "_MAX_ITEMS", 3)
    few = graphml(*(f'<node id="n{n}"/>\n' for n in range(3)))
    assert read_graphml(io.BytesIO(few.encode()), file="g", pack="p").pack == "p"
    many = graphml(*(f'<node id="n{n}"/>\n' for n in range(4)), "no XML from here on <<<")
    with pytest.raises(DocumentRejected, match="more than 3 nodes and edges"):
        read_graphml(io.BytesIO(many.encode()), file="g", pack="p")
