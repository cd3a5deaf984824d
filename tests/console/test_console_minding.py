"""The console's pages of the audit, of agents and keys, and of health."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from console_door import HOSTILE, Browser, console
from governed_door import key
from wenyuan.console.health import percentile, read_samples
from wenyuan.core.text.synonyms import Synonym
from wenyuan.runtime.local_time import local_time


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[tuple[str, Any]]:
    with console(tmp_path) as found:
        yield found


@pytest.fixture
def asked(opened: tuple[str, Any]) -> tuple[Browser, Any, str]:
    """A browser that has asked one question, the library, and the path of the question's record."""
    browser = Browser(opened[0])
    seen = browser.get("/console/search", q=f"客户投诉 {HOSTILE}")
    return browser, opened[1], seen.tree.css_first(".summary a").attributes["href"]


def test_the_list_of_records_leads_to_each_whole(asked: tuple[Browser, Any, str]) -> None:
    """Filtered by kind, the question is there, as text; its record has what was asked and what was given."""
    browser, _, path = asked
    listed = browser.get("/console/audit", kind="retrieval")
    assert listed.count("tbody tr") == 1
    assert "客户投诉" in listed.text("tbody")
    assert path in {a.attributes["href"] for a in listed.tree.css("tbody a")}
    record = browser.get(path)
    assert HOSTILE in record.text("main")
    assert record.count("main script") == 0
    assert "crm_policy#" in record.text("table")
    assert browser.get("/console/audit", kind="key").count("tbody tr") == 0


def test_changes_are_told_before_and_after(opened: tuple[str, Any]) -> None:
    """The record of a source's change has the old value beside the new one."""
    browser = Browser(opened[0])
    browser.post("/console/sources/wiki/edit", {"title": "维基", "trust_level": 1})
    path = browser.get("/console/audit", kind="registry").tree.css_first("tbody a").attributes["href"]
    row = next(tr for tr in browser.get(path).tree.css("tbody tr") if "trust" in tr.text())
    assert [cell.text().strip() for cell in row.css("td")] == ["trust", "2", "1"]


@pytest.mark.parametrize("wrong", [{"kind": "gossip"}, {"since": "yesterday"}, {"before": "a-none"}])
def test_a_filter_that_makes_no_sense_is_told(opened: tuple[str, Any], wrong: dict[str, str]) -> None:
    """It is no empty list but the API's own refusal."""
    seen = Browser(opened[0]).get("/console/audit", **wrong)
    assert seen.status in (400, 404)
    assert seen.text(".notice.bad")


def test_a_question_is_asked_again(asked: tuple[Browser, Any, str]) -> None:
    """At once it is identical; after a source is gone, the page says which fragment that concerns and why."""
    browser, library, path = asked
    assert "Identical" in browser.post(path).text(".notice.good h2")
    assert "Identical" in browser.post(path, {"exact": "yes"}).text(".notice.good h2")
    library.remove("wiki")
    other = browser.post(path)
    assert "differs" in other.text(".notice.degraded h2")
    row = next(tr.text() for tr in other.tree.css("tbody tr") if "wiki#" in tr.text())
    assert "source removed" in row
    for language, says, why in (
        ("en", "cannot be asked again", "not kept any more: wiki was removed"),
        ("zh", "无法重新提问", "此后 wiki 被移除或重新脱敏"),
    ):
        browser.language = language
        gone = browser.post(path, {"exact": "yes"})
        assert gone.status == 200
        assert says in gone.text(".notice.degraded h2")
        assert why in gone.text(".notice.degraded li")
        assert not gone.count("td .state.ok")  # nothing was compared, so nothing is the same


def test_the_audit_is_verified(asked: tuple[Browser, Any, str]) -> None:
    """A whole audit says how long it is; one that a record was changed in says where."""
    browser, library, _ = asked
    assert "The audit is whole" in browser.post("/console/audit").text(".notice.good h2")
    told = browser.post("/console/audit", {"head": f"1:{'0' * 64}"})
    assert told.status == 200
    assert "NOT whole" in told.text(".notice.failed h2")
    assert library.audit.verify().ok


def test_an_agent_is_registered_and_removed(opened: tuple[str, Any]) -> None:
    """The form makes the agent that it describes; it goes only when that was said."""
    url, library = opened
    browser = Browser(url)
    fields = {"agent_id": "desk", "title": "柜台", "domain": ["crm_policy", "wiki"], "top_k.wiki": 2, "min_trust": 1}
    assert browser.post("/console/people/agents", {**fields, "token_budget": 900}).status == 303
    agent = library.catalog.agent("desk")
    assert {scope.domain: scope.top_k for scope in agent.knowledge_scope} == {"crm_policy": 3, "wiki": 2}
    assert "柜台" in browser.get("/console/people").text("table")
    browser.post("/console/people/agents/remove", {"agent_id": "desk"})
    assert "desk" in {one.agent_id for one in library.catalog.agents()}
    browser.post("/console/people/agents/remove", {"agent_id": "desk", "sure": "yes"})
    assert "desk" not in {one.agent_id for one in library.catalog.agents()}


def test_an_agent_with_a_fault_is_not_registered(opened: tuple[str, Any]) -> None:
    """Without a domain it is refused, and what was typed is still there."""
    seen = Browser(opened[0]).post("/console/people/agents", {"agent_id": "desk", "title": HOSTILE})
    assert seen.status == 400
    assert "Scope" in seen.text(".notice.bad")
    assert seen.tree.css_first("input[name=title]").attributes["value"] == HOSTILE


def test_a_form_that_is_refused_keeps_what_was_chosen(opened: tuple[str, Any]) -> None:
    """Whoever corrects one field sends the others as before: least trust, budgets, the agent that a key is bound to."""
    browser = Browser(opened[0])

    def chosen(page: Any, form: str, name: str) -> str:
        return str(page.tree.css_first(f"form[action='{form}'] select[name={name}] option[selected]").text())

    domain = browser.get("/console/people").tree.css_first("input[name=domain]").attributes["value"]
    fields = {"agent_id": "no id!", "min_trust": 4, "domain": domain, f"top_k.{domain}": 7, "allow_low_trust": "yes"}
    seen = browser.post("/console/people/agents", {**fields, "token_budget": 900})
    assert seen.status == 400
    assert chosen(seen, "/console/people/agents", "min_trust") == "4"
    assert seen.tree.css_first(f"input[name='top_k.{domain}']").attributes["value"] == "7"
    assert seen.count("input[name=allow_low_trust][checked]") == 1

    assert browser.post("/console/people/agents", {**fields, "agent_id": "bound", "token_budget": 900}).status == 303
    seen = browser.post("/console/people/keys", {"agent_id": "bound", "expires": "2001-01-01", "right": "search"})
    assert seen.status == 400
    assert chosen(seen, "/console/people/keys", "agent_id") == "bound"
    assert seen.tree.css_first("input[name=expires]").attributes["value"] == "2001-01-01"
    assert seen.count("form[action='/console/people/keys'] input[checked]") == 1
    browser.post("/console/people/agents/remove", {"agent_id": "bound", "sure": "yes"})


def test_a_profile_of_tasks_is_said_and_removed(opened: tuple[str, Any]) -> None:
    """Lines and commas of either script part what is typed; without ids it counts for those that begin with its own."""
    url, library = opened
    browser = Browser(url)
    assert "No kind of task" in browser.get("/console/people").text("main")
    fields = {"profile_id": "complaint", "title": "投诉", "tasks": "ticket-*\r\ncase 7\r\n", "domain": "crm_policy"}
    assert (
        browser.post("/console/people/tasks", {**fields, "terms": "投诉、答复，apology"}).location
        == "/console/people"
    )
    (kept,) = library.catalog.profiles()
    assert (kept.title, kept.tasks, kept.domains) == ("投诉", ("ticket-*", "case 7"), ("crm_policy",))
    assert kept.terms == ("投诉", "答复", "apology")
    assert "apology" in browser.get("/console/people").text("main table")
    browser.post("/console/people/tasks", {"profile_id": "complaint", "terms": HOSTILE})
    (kept,) = library.catalog.profiles()
    assert (kept.tasks, kept.terms) == (("complaint*",), (HOSTILE,))
    page = browser.get("/console/people")
    assert (page.count("main script"), HOSTILE in page.text("main table")) == (0, True)
    browser.post("/console/people/tasks/remove", {"profile_id": "complaint"})
    assert library.catalog.profiles()
    browser.post("/console/people/tasks/remove", {"profile_id": "complaint", "sure": "yes"})
    assert not library.catalog.profiles()


@pytest.mark.parametrize("wrong", [{}, {"terms": "x", "domain": "nowhere"}, {"terms": "x", "tasks": "a*b"}])
def test_a_profile_with_a_fault_is_not_kept(opened: tuple[str, Any], wrong: dict[str, str]) -> None:
    """Nothing said, a domain that no source has, a star in the middle: told, and what was typed is still there."""
    seen = Browser(opened[0]).post("/console/people/tasks", {"profile_id": "desk", "title": "柜台", **wrong})
    assert seen.status == 400
    assert seen.text(".notice.bad li")
    assert seen.tree.css_first("input[name=profile_id]").attributes["value"] == "desk"
    assert seen.count("details[open] input[name=profile_id]") == 1
    assert [one.attributes["value"] or "" for one in seen.tree.css("input[name=title]")] == ["", "柜台"]
    assert opened[1].catalog.profiles() == ()


def test_profiles_need_the_right_of_the_api(tmp_path: Path) -> None:
    """A key for searching says nothing of tasks."""
    with console(tmp_path, needs_keys=True) as (url, library):
        browser = Browser(url)
        browser.sign_in(key(library, "search"))
        assert browser.post("/console/people/tasks", {"profile_id": "x", "terms": "x"}).status == 403
        assert library.catalog.profiles() == ()


def test_a_synonym_is_entered_and_removed(opened: tuple[str, Any]) -> None:
    """Entered both ways or one, looked for, and removed where that was said twice; what is typed is text, no markup."""
    url, library = opened
    browser = Browser(url)
    assert "There is no synonym" in browser.get("/console/people").text("main")
    fields = {"term": "晚交楼", "synonym": "逾期交付", "direction": "one_way"}
    assert browser.post("/console/people/synonyms", fields).location == "/console/people"
    browser.post("/console/people/synonyms", {"term": HOSTILE[:60], "synonym": "work from home"})
    assert [entry.both for entry in library.catalog.synonyms()] == [False, True]
    page = browser.get("/console/people")
    assert (page.count("main script"), HOSTILE[:60] in page.text("main")) == (0, True)
    found = browser.get("/console/people?containing=%E4%BA%A4%E4%BB%98")
    assert "晚交楼" in found.text("main")
    assert "work from home" not in found.text("main")
    library.catalog.put_synonyms([Synonym(term="告状", synonym="客户投诉")], "local")
    assert "another wording" in browser.get("/console/search?q=%E5%91%8A%E7%8A%B6").text("details.how")
    number = str(library.catalog.synonyms()[0].number)
    browser.post("/console/people/synonyms/remove", {"number": number})
    assert len(library.catalog.synonyms()) == 3
    for entry in library.catalog.synonyms():
        browser.post("/console/people/synonyms/remove", {"number": str(entry.number), "sure": "yes"})
    assert library.catalog.synonyms() == ()


@pytest.mark.parametrize("wrong", [{}, {"synonym": "！"}, {"synonym": "柜臺"}, {"synonym": "x" * 65}])
def test_a_synonym_with_a_fault_is_not_kept(opened: tuple[str, Any], wrong: dict[str, str]) -> None:
    """Nothing said, no word, the same word, too long: told, and what was typed is still there."""
    seen = Browser(opened[0]).post("/console/people/synonyms", {"term": "柜台", "synonym": "", **wrong})
    assert seen.status == 400
    assert seen.text(".notice.bad li")
    assert seen.tree.css_first("input[name=term]").attributes["value"] == "柜台"
    assert seen.count("details[open] input[name=term]") == 1
    assert opened[1].catalog.synonyms() == ()


def test_many_synonyms_are_shown_by_pages(opened: tuple[str, Any]) -> None:
    """Fifty at a time, and a way to the next ones."""
    url, library = opened
    put = library.catalog.put_synonyms([Synonym(term=f"term{n}", synonym=f"word{n}") for n in range(60)], "local")
    browser = Browser(url)
    page = browser.get("/console/people")
    assert page.count("form[action='/console/people/synonyms/remove']") == 50
    onward = page.tree.css_first("a[href*='after=']").attributes["href"]
    last = browser.get(onward.partition("#")[0])
    assert last.count("form[action='/console/people/synonyms/remove']") == 10
    assert last.count("a[href*='after=']") == 0
    library.catalog.remove_synonyms([entry.number for entry in put.entries])


def test_synonyms_need_the_right_of_the_api(tmp_path: Path) -> None:
    """A key for searching neither sees the table nor enters anything; one that may keep the registry sees it."""
    with console(tmp_path, needs_keys=True) as (url, library):
        browser = Browser(url)
        browser.sign_in(key(library, "search"))
        assert browser.post("/console/people/synonyms", {"term": "x", "synonym": "y"}).status == 403
        assert library.catalog.synonyms() == ()
        keeper = Browser(url)
        keeper.sign_in(key(library, "registry"))
        assert keeper.get("/console/people").count("form[action='/console/people/synonyms']") == 1


def test_a_key_is_shown_once_and_can_be_revoked(tmp_path: Path) -> None:
    """A new key works at once; no page shows it again; revoked, it signs nobody in."""
    with console(tmp_path, needs_keys=True) as (url, library):
        browser = Browser(url)
        browser.sign_in(key(library, "admin"))
        made = browser.post("/console/people/keys", {"right": ["search", "retrieve"], "agent_id": "support"})
        secret = made.text("#made")
        assert secret.startswith("wy_")
        assert secret not in browser.get("/console/people").body
        other = Browser(url)
        assert other.sign_in(secret).status == 303
        fields = {"key_id": secret.split("_")[1]}
        browser.post("/console/people/keys/revoke", fields)
        assert other.get("/console/search", q="客户投诉").status == 200
        browser.post("/console/people/keys/revoke", {**fields, "sure": "yes"})
        assert Browser(url).sign_in(secret).status == 401


def test_a_key_gives_no_rights_that_it_has_not(tmp_path: Path) -> None:
    """A key without the right to keys sees none, and makes none."""
    with console(tmp_path, needs_keys=True) as (url, library):
        browser = Browser(url)
        browser.sign_in(key(library, "registry"))
        page = browser.get("/console/people")
        assert (page.status, page.count("form[action='/console/people/keys']")) == (200, 0)
        assert browser.post("/console/people/keys", {"right": "admin"}).status == 403
        browser.sign_in(key(library, "search"))
        assert browser.get("/console/people").status == 403


@pytest.mark.parametrize("fields", [{}, {"right": "everything"}, {"right": "search", "expires": "2001-01-01"}])
def test_a_key_with_a_fault_is_not_made(opened: tuple[str, Any], fields: dict[str, str]) -> None:
    """No right, an unknown one, a day that is past: 400, and no key."""
    seen = Browser(opened[0]).post("/console/people/keys", fields)
    assert seen.status == 400
    assert seen.count("#made") == 0
    assert opened[1].catalog.keys() == ()


def test_health_tells_parts_and_numbers(asked: tuple[Browser, Any, str]) -> None:
    """Every part with its state, and how long the legs of questions took."""
    browser = asked[0]
    seen = browser.get("/console/health")
    assert "Ready" in seen.text(".notice.good h2")
    assert "catalog" in seen.text("tbody")
    row = next(tr for tr in seen.tree.css("tbody tr") if tr.text().strip().startswith("keyword"))
    count, _, slow = (cell.text() for cell in row.css("td.number"))
    assert int(count) >= 1
    assert float(slow) > 0


def test_health_is_seen_without_the_numbers(tmp_path: Path) -> None:
    """A key without the right to the numbers sees the parts, and is told why there is no more."""
    with console(tmp_path, needs_keys=True) as (url, library):
        browser = Browser(url)
        browser.sign_in(key(library, "search"))
        seen = browser.get("/console/health")
        assert seen.status == 200
        assert "audit" in seen.text("p.notice")


def test_samples_are_read_as_prometheus_reads_them() -> None:
    """Names, labels with whatever is in them, and numbers; comments are passed over."""
    found = read_samples('# HELP a b\na_total{x="1",y="a,\\"b\\""} 2\nb 1.5e3\n')
    assert [(one.name, dict(one.labels), one.value) for one in found] == [
        ("a_total", {"x": "1", "y": 'a,\\"b\\"'}, 2.0),
        ("b", {}, 1500.0),
    ]


def test_percentiles_of_a_histogram() -> None:
    """Interpolated within the bucket where the share is reached; nothing counted, nothing told."""
    infinite = float("inf")
    assert percentile([(0.1, 50), (0.2, 100), (infinite, 100)], 0.75) == pytest.approx(0.15)
    assert percentile([(0.1, 50), (infinite, 100)], 0.95) == pytest.approx(0.1)
    assert percentile([(0.1, 0), (infinite, 0)], 0.5) is None
    assert percentile([], 0.5) is None


def test_moments_are_told_in_one_way(asked: tuple[Browser, Any, str]) -> None:
    """Days and times stand as year, month, day, hour and minute of this machine, and say the zone."""
    told = asked[0].get("/console/audit", kind="retrieval").text("tbody td a")
    assert told in (local_time(time.time()), local_time(time.time() - 60), local_time(time.time() - 120))
    assert "UTC" in told


def test_times_are_in_the_zone_of_the_browser(asked: tuple[Browser, Any, str]) -> None:
    """A browser that says where it is has times, and the days that it asks for, in that zone."""
    browser = Browser(asked[0].url)
    browser.cookies["wenyuan_zone"] = "Pacific/Kiritimati"
    shown = browser.get("/console/audit", kind="retrieval").text("tbody td a")
    assert shown.endswith("UTC+14")
    day = shown[:10]
    assert browser.get("/console/audit", since=day, until=day).count("tbody tr")
    browser.cookies["wenyuan_zone"] = "../../etc/passwd"
    assert "UTC+14" not in browser.get("/console/audit", kind="retrieval").text("tbody td a")


def test_a_key_is_made_with_a_name_until_the_end_of_a_day(opened: tuple[str, Any]) -> None:
    """The list has the name; the last day counts whole, in the zone of the browser."""
    browser = Browser(opened[0])
    browser.cookies["wenyuan_zone"] = "Asia/Shanghai"
    made = browser.post("/console/people/keys", {"name": "报表", "right": "search", "expires": "2099-12-31"})
    token = made.text("#made")
    browser.sign_in(token)
    key = next(one for one in (*opened[1].catalog.keys(),) if one.name == "报表")
    assert key.expires_at == datetime(2099, 12, 31, 16, tzinfo=UTC).timestamp()
    opened[1].catalog.revoke_key(key.key_id)
