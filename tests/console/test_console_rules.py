"""The console's pages of rules: the graph, what follows, reviews and imports."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from console_door import HOSTILE, Browser, served
from copies import copied
from rules_door import BOOK, PROPOSED, SETTINGS, TWICE, WRONG
from wenyuan.console.graph_drawing import DRAWN, drawn
from wenyuan.core.access import parse_agent
from wenyuan.packs.shipped import located
from wenyuan.readers.rulebooks.selection import read_book


def with_book(folder: Path) -> None:
    """Make a library of the little book in a folder, for `copied`."""
    with wenyuan.open(folder / "library", create=True, **SETTINGS) as library:
        (folder / "book.yaml").write_text(BOOK + PROPOSED, encoding="utf-8")
        library.rules.take(read_book(folder / "book.yaml"))


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[tuple[str, Any]]:
    copied(with_book, tmp_path)
    with wenyuan.open(tmp_path / "library", **SETTINGS) as library, served(library, ingest_roots=(tmp_path,)) as url:
        yield url, library


def node_of(library: Any, name: str) -> int:
    return int(library.catalog.rules.find_nodes(name)[0].node_id)


def test_a_measure_against_two_hazards_is_listed_under_both(tmp_path: Path) -> None:
    """What reads alike has its derivation, which tells the two apart."""
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"}) as library:
        (tmp_path / "twice.yaml").write_text(TWICE, encoding="utf-8")
        library.rules.take(read_book(tmp_path / "twice.yaml"))
        with served(library) as url:
            seen = Browser(url, "zh").get(f"/console/rules/nodes/{node_of(library, '深基坑开挖')}")
    follows = [row.text() for row in seen.tree.css("table")[0].css("tbody tr")]
    told = [row for row in follows if "应设置临边防护" in row]
    assert len(told) == 2
    assert sorted("坍塌" in row for row in told) == sorted("坠落" in row for row in told) == [False, True]


def test_a_process_is_found_by_any_of_its_names(opened: tuple[str, Any]) -> None:
    """An alias leads to the node, which is shown by its name in the reader's language."""
    found = Browser(opened[0], "zh").get("/console/rules", q="基坑开挖")
    assert found.text(".tiles li a") == "深基坑开挖"
    assert Browser(opened[0]).get("/console/rules", q="基坑开挖").text(".tiles li a") == "Deep excavation"
    assert Browser(opened[0]).get("/console/rules", q="没有").count(".tiles") == 0


def test_a_node_is_drawn_with_what_is_said_of_it(opened: tuple[str, Any]) -> None:
    """The picture has a box for each neighbour, the table the same with condition and evidence."""
    number = node_of(opened[1], "深基坑开挖")
    seen = Browser(opened[0], "zh").get(f"/console/rules/nodes/{number}")
    assert seen.text("svg.ego text.middle") == "深基坑开挖"
    assert {node.text() for node in seen.tree.css("svg.ego a text")} == {"挖掘机", "坍塌"}
    assert {node.text() for node in seen.tree.css("svg.ego text.relation")} == {"需要设备", "产生危险源"}
    assert "五米以上有坍塌危险" in seen.text(".evidence blockquote")
    assert "开挖深度 ≥ 5 m" in seen.text("table")


def test_conditions_are_checked_with_the_parameters_that_they_speak_of(opened: tuple[str, Any]) -> None:
    """Without a depth the hazard is not verified; with six metres it is met; with two it does not follow."""
    number = node_of(opened[1], "深基坑开挖")
    browser = Browser(opened[0])
    assert "not verified" in browser.get(f"/console/rules/nodes/{number}").text("table .state")
    deep = browser.get(f"/console/rules/nodes/{number}", **{"p.depth_m": 6})
    assert "met" in deep.text("table .state.met")
    shallow = browser.get(f"/console/rules/nodes/{number}", **{"p.depth_m": 2})
    assert shallow.count("table .state.met") == 0
    assert shallow.tree.css_first("input[name='p.depth_m']").attributes["value"] == "2"


def test_parameters_of_every_type_are_taken(tmp_path: Path) -> None:
    """A whole number is given as one; what is none is refused with its name; text and truth are taken as they are."""
    parameters = "{floors: {type: integer}, soil: {type: string}, wet: {type: boolean}, depth_m: {type: number}}"
    book = BOOK.replace(
        "parameters: {depth_m: {type: number, unit: m, zh: 开挖深度, en: depth}}", f"parameters: {parameters}"
    )
    book = book.replace("when: depth_m >= 5.0", "when: floors >= 3 && soil == '软土' && wet && depth_m > 1.0")
    (tmp_path / "book.yaml").write_text(book, encoding="utf-8")
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"}) as library:
        assert not library.rules.take(read_book(tmp_path / "book.yaml")).errors
        path = f"/console/rules/nodes/{node_of(library, '深基坑开挖')}"
        given = {"p.floors": "3", "p.soil": "软土", "p.wet": "true", "p.depth_m": "1.5"}
        with served(library) as url:
            browser = Browser(url)
            assert browser.get(path, **given).count("table .state.met") == 1
            assert browser.get(path, **{**given, "p.floors": "2"}).count("table .state") == 0
            wrong = browser.get(path, **{**given, "p.floors": "2.5"})
            assert wrong.status == 400
            assert "floors must be an integer" in wrong.text("main")
            fields = {
                name: wrong.tree.css_first(f"[name='p.{name}']") for name in ("floors", "soil", "wet", "depth_m")
            }
            assert all(fields.values())
            assert (fields["floors"].attributes["value"], fields["soil"].attributes["value"]) == ("2.5", "软土")
            assert wrong.count("table .state") == 0  # nothing is told for parameters other than those that were given


def test_a_pack_with_a_slash_in_its_name_is_removed(tmp_path: Path) -> None:
    """Its name is a path to the API, and leads nowhere else."""
    (tmp_path / "book.yaml").write_text(BOOK.replace("pack: little", "pack: 甲/乙"), encoding="utf-8")
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"}) as library:
        library.rules.take(read_book(tmp_path / "book.yaml"))
        with served(library) as url:
            Browser(url).post("/console/rules/remove", {"pack": "甲/乙", "sure": "yes"})
        assert library.rules.packs() == ()


def test_a_node_that_is_not_there(opened: tuple[str, Any]) -> None:
    """A number that no node has, and what is no number, are 404."""
    for number in ("999999", "x", "9" * 30):
        assert Browser(opened[0]).get(f"/console/rules/nodes/{number}").status == 404


def test_what_waits_is_decided_upon(opened: tuple[str, Any]) -> None:
    """Approving and rejecting empties the queue; the rule's page then says what became of it. Quotes are text."""
    url, library = opened
    browser = Browser(url)
    seen = browser.get("/console/review")
    assert seen.count("[data-queue] > li") == 2
    assert HOSTILE in seen.text("blockquote")
    numbers = [node.attributes["value"] for node in seen.tree.css("[data-queue] input[name=statement_id]")]
    fields = {"reason": "有条款为证", "next": "/console/review"}
    assert browser.post("/console/review", {"statement_id": numbers[0], "action": "approve", **fields}).status == 303
    assert browser.post("/console/review", {"statement_id": numbers[1], "action": "reject", **fields}).status == 303
    assert browser.get("/console/review").count("[data-queue]") == 0
    assert "approved" in browser.get(f"/console/rules/statements/{numbers[0]}").text(".state.approved")
    assert "rejected" in browser.get(f"/console/rules/statements/{numbers[1]}").text(".state.rejected")
    assert "有条款为证" in browser.get(f"/console/rules/statements/{numbers[1]}").text("main")
    assert library.catalog.rules.counts()["statements"]["approved"] == 3


def test_what_waits_shows_its_condition_in_words(opened: tuple[str, Any]) -> None:
    """In the queue as on the page of the rule; as it is written, it is the title."""
    for language, said in (("zh", "开挖深度 ≥ 1 m"), ("en", "≥ 1 m")):
        seen = Browser(opened[0], language).get("/console/review")
        assert said in seen.text("[data-queue] code")
        assert seen.tree.css_first("[data-queue] code").attributes["title"] == "depth_m >= 1.0"


def test_all_on_the_page_are_decided_upon_at_once(opened: tuple[str, Any]) -> None:
    """One button decides on all that are shown."""
    browser = Browser(opened[0])
    seen = browser.get("/console/review")
    assert "2 rules wait for a review." in seen.text("main")
    numbers = [i.attributes["value"] for i in seen.tree.css("details form")[0].css("input[name=statement_id]")]
    assert len(numbers) == 2
    browser.post("/console/review", {"statement_id": numbers, "action": "approve", "next": "/console/review"})
    assert opened[1].catalog.rules.counts()["statements"] == {"approved": 4}


@pytest.mark.parametrize(
    ("language", "which", "said"),
    [
        ("en", "1-{last}", "2 rules rejected."), ("zh", "全部", "已驳回 2 条规则。"),
        ("en", "{last}", "1 rule rejected. 1 rule waits for a review."),
        ("zh", "{last}", "已驳回 1 条规则。 待审核的规则 1 条。"),
    ],
)  # fmt: skip
def test_a_range_is_decided_upon_at_once(opened: tuple[str, Any], language: str, which: str, said: str) -> None:
    """Numbers, a range, or all that wait; the page then says how many were decided on, and how many still wait."""
    browser = Browser(opened[0], language)
    last = [s.statement_id for s in opened[1].catalog.rules.proposed()][-1]
    done = browser.post("/console/review", {"which": which.format(last=last), "action": "reject", "reason": "无依据"})
    assert done.status == 303
    assert said == browser.get(done.location).text(".notice.good")


def test_a_range_that_makes_no_sense_is_told_on_the_page(opened: tuple[str, Any]) -> None:
    """What is no range stays in its field, with the reason above, in the reader's language."""
    for language, said in (("en", "is no list of rule numbers"), ("zh", "不是规则编号列表")):
        seen = Browser(opened[0], language).post("/console/review", {"which": "some", "action": "approve"})
        assert seen.status == 400
        assert said in seen.text(".notice.bad")
        assert seen.tree.css_first("#which").attributes["value"] == "some"
        assert seen.count("[data-queue] > li") == 2
    assert opened[1].catalog.rules.counts()["statements"]["proposed"] == 2


@pytest.mark.parametrize(
    "fields", [{"statement_id": "x", "action": "approve"}, {"statement_id": "1", "action": "burn"}]
)
def test_a_decision_that_makes_no_sense_changes_nothing(opened: tuple[str, Any], fields: dict[str, str]) -> None:
    """What is no number or no action is the API's 400, with the field."""
    seen = Browser(opened[0]).post("/console/review", fields)
    assert seen.status == 400
    assert seen.count(".notice.bad li") >= 1
    assert opened[1].catalog.rules.counts()["statements"]["proposed"] == 2


def test_an_import_is_shown_before_it_is_done(opened: tuple[str, Any], tmp_path: Path) -> None:
    """A dry run lists what would change and writes nothing; confirmed, it is done, as a change of the library."""
    url, library = opened
    smaller = BOOK.replace("挖掘机", "装载机")
    (tmp_path / "new.yaml").write_text(smaller, encoding="utf-8")
    browser = Browser(url)
    dry = browser.post("/console/rules/import", {"path": str(tmp_path / "new.yaml")})
    assert "Nothing was written" in dry.text(".notice h2")
    assert "装载机" in dry.text(".diff.added")
    assert "挖掘机" in dry.text(".diff.retired")
    assert not library.catalog.rules.find_nodes("装载机")
    hidden = {n.attributes["name"]: n.attributes["value"] for n in dry.tree.css(".notice input[type=hidden]")}
    done = browser.post("/console/rules/import", {**hidden, "sure": "yes"})
    assert "Imported" in done.text(".notice.good h2")
    assert library.catalog.rules.find_nodes("装载机")


def test_a_file_of_ones_own_is_imported(opened: tuple[str, Any]) -> None:
    """A file that is chosen in the browser is shown as a diff first; confirmed, the same file is imported."""
    url, library = opened
    browser = Browser(url)
    book = BOOK.replace("pack: little", "pack: mine").replace("挖掘机", "装载机").encode()
    dry = browser.upload("/console/rules/import", {}, "mine.yaml", book)
    assert dry.status == 200
    assert "装载机" in dry.text(".diff.added")
    assert "mine" not in library.rules.packs()
    hidden = {i.attributes["name"]: i.attributes["value"] for i in dry.tree.css(".notice input[type=hidden]")}
    assert hidden["file_name"] == "mine.yaml"
    assert browser.post("/console/rules/import", {**hidden, "sure": "yes"}).status == 200
    assert "mine" in library.rules.packs()


def test_a_file_that_is_too_large_is_told(opened: tuple[str, Any]) -> None:
    """More than the API takes is refused in words, and so is more than the page takes."""
    browser = Browser(opened[0])
    for size in (900_000, 1_500_000):
        seen = browser.upload("/console/rules/import", {}, "mine.yaml", b"x" * size)
        assert seen.status == 413
        assert "too large" in seen.text("main") or "larger than" in seen.text("main")


def test_faults_of_an_import_are_told_by_their_line(opened: tuple[str, Any], tmp_path: Path) -> None:
    """An unknown relation stands with file and line; a path that is not allowed is refused."""
    (tmp_path / "wrong.yaml").write_text(BOOK + WRONG, encoding="utf-8")
    browser = Browser(opened[0], "zh")
    seen = browser.post("/console/rules/import", {"path": str(tmp_path / "wrong.yaml")})
    assert f"wrong.yaml:{len((BOOK + WRONG).splitlines())}" in seen.text("table code")
    assert browser.post("/console/rules/import", {"path": "/etc"}).status == 403
    assert browser.post("/console/rules/import", {}).status == 400


def test_a_pack_is_removed_only_when_that_was_said(opened: tuple[str, Any]) -> None:
    """Without the tick nothing goes; with it, all that the pack brought."""
    browser = Browser(opened[0])
    browser.post("/console/rules/remove", {"pack": "little"})
    assert opened[1].rules.packs() == ("little",)
    browser.post("/console/rules/remove", {"pack": "little", "sure": "yes"})
    assert opened[1].rules.packs() == ()
    assert browser.post("/console/rules/remove", {"pack": "no/such", "sure": "yes"}).status == 404


@pytest.mark.slow
def test_a_node_with_five_thousand_neighbours_is_capped(tmp_path: Path) -> None:
    """The page shows the most important two hundred, draws forty, and says that there are more."""
    nodes = "".join(f"  - {{kind: hazard, name: 危险{n}}}\n" for n in range(5_000))
    said = "".join(
        f"  - {{src: 深基坑开挖, rel: produces_hazard, dst: 危险{n}, evidence: [{{source: code_a, clause: '1'}}]}}\n"
        for n in range(5_000)
    )
    (tmp_path / "big.yaml").write_text(
        BOOK.replace("statements:\n", f"{nodes}statements:\n") + said, encoding="utf-8"
    )
    settings = {"encoder": {"kind": "none"}, "cache": {"seconds": 0}, "search": {"deadline": 20.0}}
    with wenyuan.open(tmp_path / "library", create=True, **settings) as library:
        library.rules.take(read_book(tmp_path / "big.yaml"))
        with served(library) as url:
            seen = Browser(url).get(f"/console/rules/nodes/{node_of(library, '深基坑开挖')}")
    assert seen.status == 200
    assert "There are more: the 200 most important" in seen.text(".notice.degraded")
    assert seen.count("svg.ego a") == DRAWN
    assert f"{200 - DRAWN} more are in the table" in seen.text(".legend")
    assert len(seen.body) < 1_000_000


def test_an_agents_key_sees_no_graph(tmp_path: Path) -> None:
    """The graph as a whole is the operator's; a single rule of its scope it may see, without deciding on it."""
    settings = {"encoder": {"kind": "none"}, "cache": {"seconds": 0}}
    with wenyuan.open(tmp_path / "library", create=True, **settings) as library:
        (tmp_path / "book.yaml").write_text(BOOK, encoding="utf-8")
        library.rules.take(read_book(tmp_path / "book.yaml"))
        scope = [{"domain": "construction", "top_k": 3}]
        library.catalog.put_agent(parse_agent({"agent_id": "builder", "knowledge_scope": scope}))
        token = library.catalog.create_key("builder", frozenset(("registry",)), None)[1]
        with served(library, needs_keys=True) as url:
            browser = Browser(url)
            browser.sign_in(token)
            statuses = {path: browser.get(f"/console/{path}").status for path in ("rules", "rules/nodes/1", "review")}
            assert set(statuses.values()) <= {403, 404}
            page = browser.get("/console/rules/statements/1")
            assert (page.status, page.count("form[action='/console/review']")) == (200, 0)
            refused = browser.post("/console/review", {"statement_id": 1, "action": "retire"})
            assert refused.status == 403


def test_the_drawing_keeps_groups_together_and_within_its_frame() -> None:
    """Neighbours stand below the name of their relation, none outside the picture, long names are cut."""
    node = {"labels": {}, "kind": "hazard"}
    out = [
        {
            "relation": f"r{n % 3}",
            "strength": "mandatory",
            "condition": "",
            "node": {**node, "node_id": n, "name": "长" * 40},
        }
        for n in range(60)
    ]
    found = drawn("中", {"in": [], "out": out}, relations={"r0": "甲"}, language="zh")
    assert (len(found.boxes), found.left_out) == (DRAWN, 20)
    assert [label.text for label in found.labels] == ["甲", "r1", "r2"]
    assert all(box.y >= 0 and box.y + found.box_height <= found.height for box in found.boxes)
    assert all(len(box.text) == 16 for box in found.boxes)


@pytest.mark.parametrize(
    ("language", "title"), [("zh", "客户服务与消费者权益规则"), ("en", "Customer service and consumer rights")]
)
def test_a_pack_is_shown_by_its_title(tmp_path: Path, language: str, title: str) -> None:
    """On the list of packs, in the choice of an import, in its report and at a statement."""
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"}) as library:
        with located("customer_service") as folder:
            library.rules.take(read_book(folder))
        with served(library) as url:
            browser = Browser(url, language)
            pages = [
                browser.get("/console/rules"),
                browser.get("/console/rules/import"),
                browser.get("/console/rules/statements/1"),
            ]
            report = browser.post("/console/rules/import", {"pack": "customer_service"})
    assert all(title in page.tree.body.text() for page in (*pages, report))
    assert pages[1].tree.css_first("option[value=customer_service]") is not None


def test_a_node_with_many_statements_has_pages(tmp_path: Path) -> None:
    """Each table shows so many rows and leads to the others; all are there once, and an odd number leads to a page that is there."""
    names = [f"设备{number:03d}" for number in range(60)]
    nodes = "".join(f"  - {{kind: equipment, name: {name}}}\n" for name in names)
    mark = "  - {kind: hazard, name: 坍塌, en: Collapse}\n"
    said = "".join(
        f"  - {{src: 深基坑开挖, rel: requires_equipment, dst: {name}, evidence: [{{source: code_a, clause: 第{name}条}}]}}\n"
        for name in names
    )
    (tmp_path / "many.yaml").write_text(BOOK.replace(mark, mark + nodes) + said, "utf-8")
    with wenyuan.open(tmp_path / "library", create=True, **SETTINGS) as library:
        library.rules.take(read_book(tmp_path / "many.yaml"))
        with served(library) as url:
            browser = Browser(url, "zh")
            address, seen = f"/console/rules/nodes/{node_of(library, '深基坑开挖')}", []
            while address:
                page = browser.send("GET", address)
                rows = [row.text() for row in page.tree.css("#out + table tbody tr")]
                assert 0 < len(rows) <= 25
                seen += rows
                links = {link.text(): link.attributes["href"] for link in page.tree.css("#out ~ p.row a")}
                address = (links.get("下一页") or "").partition("#")[0]
            assert len(seen) == 62 and all(sum(name in row for row in seen) == 1 for name in names)
            far = browser.get(
                f"/console/rules/nodes/{node_of(library, '深基坑开挖')}", out_from="9999999", in_from="-3"
            )
            assert far.count("#out + table tbody tr") == 12
