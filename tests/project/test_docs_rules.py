"""The example of docs/rules.md does what the document says, in both languages' versions of it."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

import wenyuan
from proposal_parts import passage_of
from wenyuan.core.answering import Shown
from wenyuan.core.rules.checking import check_book
from wenyuan.core.rules.proposal_checks import judge
from wenyuan.core.rules.proposals import KnownRules, Proposal
from wenyuan.core.rules.schema_parser import parse_schema
from wenyuan.knowledge_retriever import KnowledgeRetriever
from wenyuan.packs.shipped import located
from wenyuan.readers.rulebooks.selection import read_book
from wenyuan.service.rules.unified import RuleQuestion

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name", ["rules.md", "rules.zh.md"])
@pytest.mark.parametrize(
    ("parameters", "expected"),
    [({"weight_kn": 20}, {"专项施工方案"}), ({"weight_kn": 150.0}, {"专项施工方案", "专家论证"}), ({"weight_kn": 5}, set())],
)  # fmt: skip
def test_the_pack_of_the_document_is_a_pack(
    tmp_path: Path, parameters: dict[str, float], expected: set[str], name: str
) -> None:
    """It is imported without a fault, and its thresholds decide."""
    found = re.search(r"```yaml\n(.*?)```", (DOCS / name).read_text("utf-8"), re.DOTALL)
    assert found
    (tmp_path / "lifting.yaml").write_text(found[1], "utf-8")
    with wenyuan.create(tmp_path / "library", encoder={"kind": "none"}) as library:
        report = library.rules.take(read_book(tmp_path / "lifting.yaml"))
        assert not report.errors
        answer = library.infer_rules(RuleQuestion(processes=("非常规吊装",), parameters=parameters))
        assert {item.metadata["name"] for item in answer.items} == expected


@pytest.mark.parametrize("name", ["rules.md", "rules.zh.md"])
def test_the_python_of_the_document_runs(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a library with the shipped pack it prints rules first, and no unknown process."""
    with wenyuan.create(tmp_path / "library", encoder={"kind": "none"}) as library, located("construction") as pack:
        library.rules.take(read_book(pack))
    found = re.search(r"```python\n(.*?)```", (DOCS / name).read_text("utf-8"), re.DOTALL)
    assert found
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WENYUAN_ENCODER__KIND", "none")
    exec(compile(found[1], name, "exec"), {"KnowledgeRetriever": KnowledgeRetriever})
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].startswith("1 ") and printed[-2] == "[]" and printed[-1].endswith(" () ()")


def test_how_many_shipped_rules_say_more_than_their_quotes() -> None:
    """As many as the document says would not be proposed, since their quote, title and clause name no end of theirs."""
    quoted: Counter[str] = Counter()
    for name in ("construction", "customer_service"):
        with located(name) as pack:
            book = read_book(pack)
        assert book.schema_tree is not None
        checked = check_book(book, schema := parse_schema(book.schema_tree, where="schema"), known={}, sources=())
        nodes, titles = (
            {n.key: n for n in checked.nodes},
            {d.source.source_id: d.source.title for d in checked.sources},
        )
        held = KnownRules.of(schema, nodes, ())
        for said in checked.statements:
            for proof in [e for e in said.evidences if e.quote][:1]:
                title, quote = titles.get(proof.source_id, ""), proof.quote
                passage = replace(passage_of("zh", 1), text=quote, title=title, headings=(proof.clause,))
                src, dst = nodes[said.src], nodes[said.dst]
                proposal = Proposal(
                    src.name, src.kind, said.rel, dst.name, dst.kind, said.condition, said.strength, quote, passage.ref,
                    quote[:12], quote[-12:],
                )  # fmt: skip
                (one,) = judge([proposal], [Shown(passage, quote)], held)
                quoted[one.reason] += 1
    assert f"the {quoted.total()} statements" in (DOCS / "rules.md").read_text("utf-8")
    assert f"quote, {quoted['end_not_said']} are" in (DOCS / "rules.md").read_text("utf-8")
    for number in (quoted.total(), quoted["end_not_said"]):
        assert f" {number} 条" in (DOCS / "rules.zh.md").read_text("utf-8")
