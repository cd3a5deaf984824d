"""Profiles of tasks: what an operator says a kind of task is about, and what it does to a ranking."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import wenyuan
from catalog_parts import raw
from governed_door import governed_server, key, send
from http_door import assert_problem
from wenyuan.catalog import Catalog, format_upgrades
from wenyuan.cli.root import app
from wenyuan.core.access import Principal
from wenyuan.core.errors import InvalidRequest, NotFound
from wenyuan.core.task_profiles import TaskProfile, parse_profile, profile_of, profile_to_wire
from wenyuan.core.text.folding import has_han
from wenyuan.i18n.translation import translated
from wenyuan.service.context import ContextRequest
from wenyuan.service.search.searcher import SearchRequest

TEXTS = {
    "leave": "# 审批\n\n谁来批准：由主管批准年假申请。\n\n# Approval\n\nWho approves it: the manager approves vacation.\n",
    "purchase": "# 审批\n\n谁来批准：由财务批准采购申请。\n\n# Approval\n\nWho approves it: the treasury approves orders.\n",
}
QUESTIONS = ("谁来批准", "who approves it")


def profile(name: str = "p", **more: Any) -> TaskProfile:
    return parse_profile({"profile_id": name, "terms": ["x"], **more})


@pytest.fixture
def library(tmp_path: Path) -> Iterator[wenyuan.Library]:
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"}) as made:
        for name, text in TEXTS.items():
            (tmp_path / name).mkdir()
            (tmp_path / name / f"{name}.md").write_text(text, "utf-8")
            made.add(wenyuan.Source(source_id=name, path=str(tmp_path / name)))
        yield made


def first(library: wenyuan.Library, question: str, task_id: str = "") -> str:
    return library.find(SearchRequest(query=question, task_id=task_id)).passages[0].passage.source_id


# -- which profile counts -------------------------------------------------------------------------------------
def test_the_most_exact_name_counts() -> None:
    """A task's own id goes before what it begins with, and a longer beginning before a shorter one."""
    profiles = [profile("any", tasks=["*"]), profile("t", tasks=["ticket-*"]), profile("u", tasks=["ticket-eu-*"])]
    profiles.append(profile("one", tasks=["ticket-eu-7"]))

    def counts(task: str) -> str | None:
        found = profile_of(profiles, task)
        return None if found is None else found.profile_id

    told = [counts(task) for task in ("x", "ticket-1", "ticket-eu-1", "ticket-eu-7", "ticket-eu-70")]
    assert told == ["any", "t", "u", "one", "u"]
    assert profile_of(profiles[1:], "other") is None
    assert profile().tasks == ("p*",)


@pytest.mark.parametrize(
    ("wrong", "path"),
    [
        ({"profile_id": "a b"}, "profile_id"),
        ({"profile_id": 3}, "profile_id"),
        ({"terms": []}, "terms"),
        ({"terms": "x"}, "terms"),
        ({"terms": ["x", " "]}, "terms[1]"),
        ({"domains": [3]}, "domains[0]"),
        ({"terms": ["x" * 201]}, "terms[0]"),
        ({"terms": [str(n) for n in range(65)]}, "terms"),
        ({"tasks": ["a*b"]}, "tasks[0]"),
        ({"title": None}, "title"),
        ({"term": ["x"]}, "term"),
    ],
)
def test_what_no_profile_can_be(wrong: dict[str, Any], path: str) -> None:
    """Each fault is named by its place, and said in Chinese, too."""
    with pytest.raises(InvalidRequest) as caught:
        parse_profile({"profile_id": "p", "terms": ["x"], **wrong})
    assert [fault.path for fault in caught.value.faults] == [path]
    assert has_han(translated(caught.value.faults[0].message))


names = st.lists(st.text("abc投诉 -", min_size=1, max_size=9).filter(str.strip), max_size=4)


@given(names, names, names)
def test_a_profile_reads_as_it_was_written(tasks: list[str], domains: list[str], terms: list[str]) -> None:
    """From its wire form and back nothing changes."""
    made = parse_profile({"profile_id": "p", "tasks": tasks, "domains": domains, "terms": [*terms, "x"]})
    assert parse_profile(json.loads(json.dumps(profile_to_wire(made)))) == made


# -- what it does ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("by", ["domain", "terms"])
@pytest.mark.parametrize("question", QUESTIONS)
def test_an_ambiguous_question_is_asked_within_its_task(library: wenyuan.Library, question: str, by: str) -> None:
    """The same question finds what the task is about first, by its domain or by its terms, in both languages."""
    words = {"leave": ("年假", "vacation"), "purchase": ("采购", "orders")}
    for name, terms in words.items():
        told = {"domains": [name], "terms": []} if by == "domain" else {"terms": list(terms)}
        library.catalog.put_profile(parse_profile({"profile_id": name, "tasks": [f"{name}-*"], **told}))
    assert first(library, question, "leave-1") == "leave"
    assert first(library, question, "purchase-1") == "purchase"


def test_what_fits_is_lifted_within_the_bound(library: wenyuan.Library) -> None:
    """Nothing is hidden, and context counts 15 % at most, however much fits."""
    plain = {h.passage_id for h in library.search(QUESTIONS[0]).hits}
    library.catalog.put_profile(
        profile("t", domains=["leave"], terms=["年假", "主管", "两天", "申请", "manager", "由主管", "the manager"])
    )
    within = library.search(QUESTIONS[0], context={"task_id": "t-1"}).hits
    assert {h.passage_id for h in within} == plain
    gains = [h.parts.get("context", 0.0) for h in within]
    assert (min(gains) >= 0, max(gains)) == (True, pytest.approx(0.15))


def test_what_a_question_says_itself_is_no_theme(library: wenyuan.Library) -> None:
    """A term of the profile that the question names counts once: in the question's own words."""
    plain = [(h.passage_id, h.score) for h in library.search(QUESTIONS[0]).hits]
    library.catalog.put_profile(profile("t", terms=["批准"]))
    assert [(h.passage_id, h.score) for h in library.search(QUESTIONS[0], context={"task_id": "t"}).hits] == plain


def test_a_removed_profile_counts_no_more(library: wenyuan.Library) -> None:
    """Its tasks are then asked as if it had never been; who removes what is not there is told."""
    plain = [(h.passage_id, h.score) for h in library.search(QUESTIONS[0]).hits]
    library.catalog.put_profile(profile("x", tasks=["职责"], domains=["purchase"]))
    library.catalog.remove_profile("x")
    assert [(h.passage_id, h.score) for h in library.search(QUESTIONS[0], context={"task_id": "职责"}).hits] == plain
    with pytest.raises(NotFound, match="no profile 'x'"):
        library.catalog.remove_profile("x")


def test_a_replay_has_the_profiles_of_its_time(library: wenyuan.Library) -> None:
    """What was found under a profile that is another now is found again exactly, and that it would differ is told."""
    library.catalog.put_profile(profile("t", domains=["purchase"]))
    given_then = library.search(QUESTIONS[0], context={"task_id": "t"})
    library.catalog.put_profile(profile("t", domains=["leave"]))
    assert library.replay(given_then.audit_id, exact=True).identical
    assert not library.replay(given_then.audit_id).identical


# -- answers that are kept -------------------------------------------------------------------------------------
def kept(library: wenyuan.Library, task_id: str) -> bool:
    return library.find(SearchRequest(query=QUESTIONS[0], task_id=task_id)).cache_hit


def test_tasks_of_which_the_same_is_told_share_answers(library: wenyuan.Library) -> None:
    """Another task of the same profile, and another that is only another number, are answered from what is kept."""
    library.catalog.put_profile(profile("t", tasks=["ticket-*"], domains=["purchase"]))
    assert [kept(library, task) for task in ("ticket-1", "ticket-2", "ticket-1")] == [False, True, True]
    assert [kept(library, task) for task in ("4711", "4712", "", "")] == [False, True, False, True]
    assert not kept(library, "review-vacation")
    library.catalog.put_profile(profile("t", tasks=["ticket-*"], domains=["leave"]))
    assert not kept(library, "ticket-1")
    assert first(library, QUESTIONS[0], "ticket-3") == "leave"


def test_a_kept_answer_is_recorded_for_the_task_that_asks(library: wenyuan.Library) -> None:
    """The audit names each task by its own id, and what each was given of a limited document is counted apart."""
    library.catalog.put_profile(profile("t", tasks=["ticket-*"], domains=["purchase"]))
    for name in ("ticket-1", "ticket-2"):
        library.get_context(ContextRequest(retrieval_query=QUESTIONS[0], task_id=name))
    library.audit.flush()
    records = library.audit.list(kind="retrieval")
    assert sorted(r.record["request"]["task_id"] for r in records) == ["ticket-1", "ticket-2"]
    assert sorted(r.record["cache_hit"] for r in records) == [False, True]


# -- the register ----------------------------------------------------------------------------------------------
def test_two_profiles_cannot_name_a_task_alike(library: wenyuan.Library) -> None:
    """The second is refused and changes nothing; the same profile again is no change of the library."""
    library.catalog.put_profile(profile("a", tasks=["ticket-*"]))
    with pytest.raises(InvalidRequest, match=r"tasks\[1\] 'ticket-\*' has the profile 'a' already"):
        library.catalog.put_profile(profile("b", tasks=["x", "ticket-*"]))
    before = library.catalog.seq()
    library.catalog.put_profile(profile("a", tasks=["ticket-*"]))
    assert (library.catalog.seq(), [p.profile_id for p in library.catalog.profiles()]) == (before, ["a"])


def test_each_change_is_audited(library: wenyuan.Library) -> None:
    """The audit says what a profile was and is; unchanged ones are not told."""
    library.catalog.put_profile(profile("a"))
    library.catalog.put_profile(profile("a"))
    library.catalog.put_profile(profile("a", terms=["y"]))
    library.catalog.remove_profile("a")
    library.audit.flush()
    records = [r.record for r in library.audit.list(kind="task")]
    assert sorted(r["action"] for r in records) == ["added", "changed", "removed"]
    assert next(r for r in records if r["action"] == "changed")["changes"] == {"terms": [["x"], ["y"]]}


def test_an_older_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A library of the format before has no profiles, and can have them."""
    with monkeypatch.context() as older:
        older.setattr(format_upgrades, "MIGRATIONS", format_upgrades.MIGRATIONS[:5])
        older.setattr(format_upgrades, "SCHEMA_VERSION", 5)
        made = Catalog.create(tmp_path / "library")
        with raw(made) as connection:
            assert not connection.execute("SELECT name FROM sqlite_master WHERE name = 'task_profiles'").fetchall()
        made.close()
    catalog = Catalog.open(tmp_path / "library")
    assert catalog.profiles() == ()
    catalog.put_profile(profile("a"))
    assert catalog.profiles() == (profile("a"),)
    catalog.close()


def test_over_http(tmp_path: Path) -> None:
    """Made, shown, replaced, listed and removed by an operator; what is wrong is refused, an agent's key is, too."""
    with governed_server(tmp_path) as (url, library):
        operator = key(library, "registry")
        made = {"profile_id": "complaint", "tasks": ["ticket-*"], "domains": ["crm_policy"], "terms": ["投诉"]}
        assert send(url, "POST", "/v1/tasks", made, operator).status == 201
        again = send(url, "POST", "/v1/tasks", {**made, "title": "客诉"}, operator)
        assert (again.status, again.json) == (200, {**made, "title": "客诉"})
        assert send(url, "GET", "/v1/tasks/complaint", token=operator).json == {**made, "title": "客诉"}
        assert send(url, "GET", "/v1/tasks", token=operator).json == {"profiles": [{**made, "title": "客诉"}]}
        wrong = send(url, "POST", "/v1/tasks", {**made, "domains": ["crm_polcy"]}, operator)
        assert "did you mean" in assert_problem(wrong, 400, "invalid_request")["detail"]
        for body in ([], {"profile_id": "x"}, {**made, "profile_id": "y"}):
            assert_problem(send(url, "POST", "/v1/tasks", body, operator), 400, "invalid_request")
        bound = key(library, "registry", agent="support")
        for method, path in (("GET", "/v1/tasks"), ("POST", "/v1/tasks"), ("DELETE", "/v1/tasks/complaint")):
            assert send(url, method, path, made if method == "POST" else None, bound).status == 403
        assert send(url, "DELETE", "/v1/tasks/complaint", token=operator).json == {"profile_id": "complaint"}
        for method in ("GET", "DELETE"):
            assert_problem(send(url, method, "/v1/tasks/complaint", token=operator), 404, "not_found")


def test_by_the_command_line(library: wenyuan.Library, tmp_path: Path) -> None:
    """`set` keeps what it does not name; `list` and `show` say it in both languages; `remove` ends it."""

    def run(*args: str, code: int = 0) -> str:
        world = {"WENYUAN_ENCODER__KIND": "none", "WENYUAN_LIBRARY": str(tmp_path / "library"), "COLUMNS": "80"}
        done = CliRunner().invoke(app, ["task", *args], env=world)
        assert done.exit_code == code, done.output
        return done.output

    assert "还没有任务画像" in run("list", "--lang", "zh")
    assert "nowhere" in run("set", "buy", "--domain", "purchase", "--domain", "nowhere", "--term", "采购")
    said = json.loads(run("set", "buy", "--task", "order-*", "--json").partition("\n}")[0] + "}")["profile"]
    assert (said["tasks"], said["domains"], said["terms"]) == (["order-*"], ["purchase", "nowhere"], ["采购"])
    assert "任务: order-*" in run("show", "buy", "--lang", "zh")
    assert "terms: 采购" in run("show", "buy", "--lang", "en")
    assert "purchase" in run("list")
    assert "已属于画像" in run("set", "b", "--task", "order-*", "--term", "x", "--lang", "zh", code=2)
    assert first(library, QUESTIONS[0], "order-9") == "purchase"
    assert "Removed profile buy" in run("remove", "buy", "--lang", "en")
    assert "没有画像" in run("show", "buy", "--lang", "zh", code=2)


def test_an_agent_is_not_told_of_more_by_a_profile(library: wenyuan.Library) -> None:
    """A profile of a domain that an agent may not see lifts nothing into its sight."""
    from wenyuan.core.access import parse_agent

    library.catalog.put_agent(parse_agent({"agent_id": "a", "knowledge_scope": [{"domain": "leave", "top_k": 5}]}))
    library.catalog.put_profile(profile("t", domains=["purchase"]))
    found = library.find(SearchRequest(query=QUESTIONS[0], task_id="t"), Principal(agent_id="a"))
    assert {f.passage.source_id for f in found.passages} == {"leave"}
    assert replace(found, audit_ids=()).scope == {"leave": ("leave",)}
