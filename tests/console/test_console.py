"""The console: searching, signing in, and what no page may ever do."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from console_door import HOSTILE, Browser, Seen, console, served
from governed_door import key
from wenyuan.console.forms import MAX_FORM
from wenyuan.console.score_parts import pieces_of
from wenyuan.console.sessions import LASTS, NO_SESSION, Attempts, ConsoleSessions
from wenyuan.console.visit import checked_next, preferred
from wenyuan.core.redaction.policy import KINDS
from wenyuan.i18n.translation import texts

TEMPLATES = Path(wenyuan.__file__).parent / "console" / "templates"


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Any]]:
    with console(tmp_path_factory.mktemp("console")) as found:
        yield found


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Any]]:
    with console(tmp_path_factory.mktemp("locked"), needs_keys=True) as found:
        yield found


# --- searching ------------------------------------------------------------------------------------------
def test_the_servers_address_leads_to_the_console(opened: tuple[str, Any]) -> None:
    """``/`` leads to the first page, one of the others has a search form, and the API answers beside it."""
    browser = Browser(opened[0])
    assert browser.get("/").location == "/console/"
    assert browser.get("/console/").location == "/console/overview"
    assert browser.get("/console/search").count("form[role=search] input[name=q]") == 1
    assert browser.get("/v1/sources").headers["Content-Type"] == "application/json"


@pytest.mark.parametrize(("language", "found"), [("en", "2 found"), ("zh", "找到 2 条")])
def test_a_question_is_answered_in_the_browsers_language(opened: tuple[str, Any], language: str, found: str) -> None:
    """The page names count, titles, trust, score and the audit record, in the language that the browser prefers."""
    seen = Browser(opened[0], language).get("/console/search", q="客户投诉多久响应", limit=20)
    assert seen.status == 200
    assert seen.text(".summary h2").startswith(found)
    assert "24 小时内第一次响应" in seen.text(".hit .text")
    assert "★★★★★" in seen.text(".hit .stars")
    assert re.fullmatch(r"0\.\d{3}|1\.000", seen.tree.css_first(".hit .score").text())
    assert seen.tree.css_first(".summary a").attributes["href"].startswith("/console/audit/a-")


def test_words_of_the_question_are_marked(opened: tuple[str, Any]) -> None:
    """What the question and a passage share stands out."""
    seen = Browser(opened[0]).get("/console/search", q="客户投诉")
    assert "客户投诉" in {mark.text() for mark in seen.tree.css(".hit mark")}


def test_bounds_of_a_question_are_kept(opened: tuple[str, Any]) -> None:
    """Domain and trust narrow the answer, and the form still shows them."""
    seen = Browser(opened[0]).get("/console/search", q="客户投诉", domain="wiki", trust="2")
    assert {a.attributes["href"] for a in seen.tree.css(".hit h3 a")} == {"/console/sources/wiki"}
    assert seen.tree.css_first("select[name=domain] option[selected]").text() == "wiki"
    none = Browser(opened[0]).get("/console/search", q="客户投诉", domain="wiki", trust="3")
    assert none.text(".summary h2") == "Nothing was found"
    assert "not a failure" in none.text("#answer")


def test_a_bound_that_makes_no_sense_is_told(opened: tuple[str, Any]) -> None:
    """A day that no calendar has is the API's 400, with the field that it is about."""
    seen = Browser(opened[0]).get("/console/search", q="客户投诉", as_of="2024-13-01")
    assert seen.status == 400
    assert "As of" in seen.text(".notice.bad[role=alert]")


def test_the_same_question_for_the_command_line(opened: tuple[str, Any]) -> None:
    """The curl line is quoted for a shell, so that no question can run a command."""
    seen = Browser(opened[0]).get("/console/search", q="it's $(id) `id`")
    curl = seen.tree.css_first(".copies pre").text()
    assert "/v1/search" in curl
    assert """'{"query": "it'"'"'s $(id) `id`"}'""" in curl


def test_the_same_question_for_a_tool(opened: tuple[str, Any]) -> None:
    """As the call of an MCP tool, where one knows the bounds of the question; with others, not at all."""
    browser = Browser(opened[0])
    codes = [node.text() for node in browser.get("/console/search", q="客户投诉", limit=5).tree.css(".copies pre")]
    assert json.loads(codes[2]) == {
        "name": "retrieve_fragments",
        "arguments": {"query": "客户投诉", "max_results": 5},
    }
    narrow = browser.get("/console/search", q="客户投诉", domain="wiki", limit=5).tree.css(".copies pre")[2].text()
    assert json.loads(narrow)["arguments"] == {"query": "客户投诉", "domain": "wiki", "max_results": 5}
    assert browser.get("/console/search", q="客户投诉", trust=2).count(".copies pre") == 2


def test_failed_cannot_be_taken_for_empty(tmp_path: Path) -> None:
    """A search that fails says FAILED in a notice of its own, with the reason, and lists nothing."""
    settings = {"encoder": {"kind": "none"}, "cache": {"seconds": 0}}
    refused = {"url": "http://127.0.0.1:9/v1/retrieve_fragments"}  # a private address, which is not allowed
    with wenyuan.open(tmp_path / "library", create=True, **settings) as library, served(library) as url:
        library.catalog.put_source(wenyuan.Source(source_id="away", type="api", path="", settings=refused))
        seen = Browser(url).get("/console/search", q="客户投诉")
    assert "FAILED" in seen.text(".notice.failed[role=alert] h2")
    assert seen.text(".notice.failed pre")
    assert seen.count(".hits, .summary") == 0


def test_a_degraded_answer_says_so(tmp_path: Path) -> None:
    """When a source that lies elsewhere does not answer, its name stands above the results."""
    away = {"url": "http://127.0.0.1:9/v1/retrieve_fragments", "allow_private": True, "required": False}
    with console(tmp_path) as (url, library):
        library.catalog.put_source(wenyuan.Source(source_id="away", type="api", path="", settings=away))
        seen = Browser(url, "zh").get("/console/search", q="客户投诉")
    assert "降级的答案" in seen.text(".notice.degraded[role=alert]")
    assert "away" in seen.text(".notice.degraded")
    assert seen.count(".hit") == 3


@pytest.mark.parametrize("path", ["/console/search", "/console/context"])
def test_what_a_document_says_is_only_text(opened: tuple[str, Any], path: str) -> None:
    """Markup in titles, file names, headings, content and questions is shown, never obeyed."""
    seen = Browser(opened[0]).get(path, q=f"脚本注入测试 {HOSTILE}")
    assert HOSTILE in seen.text("main")
    assert [node.attributes.get("src") for node in seen.tree.css("main script, main img")] == []
    assert all(script.attributes.get("src") and not script.text() for script in seen.tree.css("script"))
    assert HOSTILE in seen.text("title")


def test_the_context_of_an_agent(opened: tuple[str, Any]) -> None:
    """An agent's context has snippets of its scope alone, and says what was withheld."""
    browser = Browser(opened[0])
    seen = browser.get("/console/context", q="客户投诉", agent="support")
    assert seen.count(".hit") >= 1
    assert "三天" not in seen.text(".hit")
    short = browser.get("/console/context", q="客户投诉", agent="support", budget=3)
    assert "did not fit the budget" in short.text(".notice.degraded")


# --- who may see it -------------------------------------------------------------------------------------
def test_without_a_key_every_page_leads_to_signing_in(locked: tuple[str, Any]) -> None:
    """Where keys are needed, a page without a session leads to the sign-in page, and from there back."""
    browser = Browser(locked[0])
    seen = browser.get("/console/search", q="客户投诉")
    assert seen.status == 303
    asked = browser.get(seen.location)
    assert "/console/search?q=" in (asked.tree.css_first("form.stack input[name=next]").attributes["value"] or "")
    assert not asked.count("header nav a")  # each part would lead back here
    browser.sign_in(key(locked[1], "search"))
    assert browser.get("/console/search").count("header nav a")


def test_a_wrong_key_signs_nobody_in_and_too_many_have_to_wait(tmp_path: Path) -> None:
    """A key that is unknown or revoked is refused with 401 and makes no session; after five, the page says how long to wait."""
    with console(tmp_path, needs_keys=True) as (url, library):
        revoked, good = key(library, "search"), key(library, "search")
        library.catalog.revoke_key(revoked.split("_")[1])
        for token in ("", "x", f"wy_ffffffff_{'a' * 43}", revoked, "wy_\r\nX: y"):
            browser = Browser(url)
            seen = browser.sign_in(token)
            assert seen.status == 401
            assert seen.text(".notice.bad")
            assert "wenyuan_session" not in browser.cookies
        for language, said in (("en", "Try again in {} seconds."), ("zh", "请在 {} 秒后再试")):
            browser = Browser(url, language)
            seen = browser.sign_in(good)
            wait = seen.headers["Retry-After"]
            assert (seen.status, 0 < int(wait) <= 10) == (429, True)
            assert said.format(wait) in seen.text(".notice.bad")
            assert not browser.cookies
            assert not browser.get("/console/search", q="客户投诉").count(".hit")


def test_attempts_come_back_with_time_and_are_few_in_memory() -> None:
    """Five at once from one place, then one in ten seconds; a key that counts clears it; a thousand places are kept."""
    now = [0.0]
    attempts = Attempts(lambda: now[0])
    assert [attempts.begun("192.0.2.1") for _ in range(7)] == [0, 0, 0, 0, 0, 10, 10]
    assert attempts.begun("192.0.2.2") == 0
    now[0] = 10.0
    assert [attempts.begun("192.0.2.1") for _ in range(2)] == [0, 10]
    attempts.counted("192.0.2.1")
    assert attempts.begun("192.0.2.1") == 0
    assert [attempts.begun(f"2001:db8::{n:x}") for n in range(1, 7)] == [
        0,
        0,
        0,
        0,
        0,
        10,
    ]  # one network, one visitor
    for n in range(3_000):
        attempts.begun(f"198.51.{n // 250}.{n % 250}")
    assert len(attempts._kept) == 1_000


def test_a_session_ends_with_its_key(locked: tuple[str, Any]) -> None:
    """A good key signs in, by a cookie that no script can read and no other site can use; revoked, it ends."""
    browser, token = Browser(locked[0]), key(locked[1], "search")
    seen = browser.sign_in(token)
    assert (seen.status, seen.location) == (303, "/console/search")
    flags = seen.headers["Set-Cookie"].lower()
    assert all(flag in flags for flag in ("httponly", "samesite=strict", "path=/console"))
    assert token not in str(seen.headers)
    assert browser.get("/console/search", q="客户投诉").count(".hit") >= 1
    locked[1].catalog.revoke_key(token.split("_")[1])
    time.sleep(0.6)  # for so long, what the catalog said of a key counts
    assert browser.get("/console/search", q="客户投诉").status == 303


def test_signing_out_ends_the_session(locked: tuple[str, Any]) -> None:
    """After signing out the old cookie opens nothing."""
    browser = Browser(locked[0])
    browser.sign_in(key(locked[1], "search"))
    kept = dict(browser.cookies)
    assert browser.post("/console/sign-out").status == 303
    browser.cookies = kept
    assert browser.get("/console/search", q="客户投诉").status == 303


def test_a_page_shows_what_the_key_may_see(locked: tuple[str, Any]) -> None:
    """An agent's key finds its agent's sources alone; a key without the right is told which one it lacks."""
    browser = Browser(locked[0])
    browser.sign_in(key(locked[1], "search", agent="other"))
    seen = browser.get("/console/search", q="客户投诉")
    assert {a.attributes["href"] for a in seen.tree.css(".hit h3 a")} == {"/console/sources/wiki"}
    without = Browser(locked[0])
    without.sign_in(key(locked[1], "audit"))
    refused = without.get("/console/search", q="客户投诉")
    assert refused.status == 403
    assert "search" in refused.text(".notice.bad")


def _menu(seen: Seen) -> list[str]:
    return [a.attributes["href"].removeprefix("/console/") for a in seen.tree.css("header nav a")]  # type: ignore[union-attr]


def test_the_menu_has_what_the_key_may_see(locked: tuple[str, Any]) -> None:
    """A key is shown no part of the console that would refuse it, and is led to one that does not."""
    searching, auditing, all_of_it = Browser(locked[0]), Browser(locked[0]), Browser(locked[0])
    searching.sign_in(key(locked[1], "search"))
    assert _menu(searching.get("/console/search")) == ["search", "answer", "context", "verify", "health"]
    assert auditing.sign_in(key(locked[1], "audit")).location == "/console/overview"
    assert _menu(auditing.get("/console/audit")) == ["overview", "audit", "gaps", "impact", "health"]
    all_of_it.sign_in(key(locked[1], "admin"))
    assert len(_menu(all_of_it.get("/console/people"))) == 16
    for name in _menu(all_of_it.get("/console/people")):
        assert all_of_it.get(f"/console/{name}").status == 200


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("right", ["admin", "search"])
def test_the_first_key_is_shown_to_who_makes_it(tmp_path: Path, language: str, right: str) -> None:
    """It is on the page that answers, its maker is signed in with it, and others have to sign in."""
    with console(tmp_path) as (url, _):
        maker, other = Browser(url), Browser(url)
        maker.post("/console/choose", {"language": language, "next": "/console/people"})
        assert other.get("/console/people").status == 200
        made = maker.post("/console/people/keys", {"right": right, "agent_id": "", "expires": ""})
        token = made.text("#made")
        assert made.status == 200
        assert token.startswith("wy_")
        assert made.count(".notice.degraded") == (right != "admin")
        assert maker.get("/console/people" if right == "admin" else "/console/search").status == 200
        assert "sign-in" in other.get("/console/people").location
        assert "--rights" in other.get("/console/sign-in").text()
        assert other.sign_in(token).status == 303


def test_an_empty_library_says_what_comes_first(tmp_path: Path) -> None:
    """Without a source, pages lead to the form for one instead of to questions; the first key may do everything."""
    with (
        wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "hashing"}) as library,
        served(library) as url,
    ):
        browser = Browser(url)
        browser.post("/console/choose", {"language": "en", "next": "/console/search"})
        assert browser.get("/console/search").count("main a[href='/console/sources/+new']") == 1
        assert browser.get("/console/search").count("main a.chip") == 0
        assert "no source yet: wenyuan add" in browser.get("/console/search?q=leave").text(".notice")
        chosen = browser.get("/console/people").tree.css("input[name=right][checked]")
        assert [box.attributes["value"] for box in chosen] == ["admin"]
        wrong = {"source_id": "two words", "type": "static_doc", "trust_level": 3, "path": "/x", "settings": ""}
        assert "two words" in browser.post("/console/sources/+new", wrong).text("#wrong-source_id")
        broken = browser.post("/console/sources/+new", {**wrong, "source_id": "one", "settings": "{"})
        assert broken.text(".notice") == "Please correct what is marked below."


def test_what_redaction_takes_out_has_a_name() -> None:
    """Every kind of value is named in both languages, and not by its code."""
    assert [kind for kind in KINDS if f"redacted_{kind}" not in texts("console", "en")] == []


def test_a_link_from_elsewhere_is_followed_with_the_cookie(locked: tuple[str, Any]) -> None:
    """A strict cookie does not come with a link from another site: the page asks for itself once more."""
    seen = Browser(locked[0]).send("GET", "/console/search?q=x", Sec_Fetch_Site="cross-site")
    assert seen.status == 200
    assert seen.tree.css_first("meta[http-equiv=refresh]").attributes["content"] == "0"


@pytest.mark.parametrize(
    "headers",
    [{"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": ""}, {"Sec_Fetch_Site": "cross-site"}],
)
def test_a_form_of_another_site_is_refused(opened: tuple[str, Any], headers: dict[str, str]) -> None:
    """What is not sent by one of our own pages changes nothing, whatever cookies come with it."""
    seen = Browser(opened[0]).post("/console/choose", {"language": "zh", "next": "/console/search"}, **headers)
    assert seen.status == 403
    assert "Set-Cookie" not in seen.headers


def test_a_foreign_host_name_is_refused(opened: tuple[str, Any]) -> None:
    """A site that makes its own name resolve to this machine gets no answers."""
    assert Browser(opened[0]).send("GET", "/console/search?q=x", Host="evil.example").status == 403


def test_a_form_of_a_megabyte_is_refused(opened: tuple[str, Any]) -> None:
    """What is larger than any form of ours is 413, and its reason can be read."""
    browser = Browser(opened[0])
    seen = browser.post("/console/choose", {"language": "zh", "next": "x" * 1_000_000})
    assert seen.status == 413
    assert "64 KiB" in seen.text("main")
    assert MAX_FORM == 64 * 1024
    assert browser.get("/console/search").status == 200


@pytest.mark.parametrize("path", ["/console/nothing", "/console/static/x/../../app.py", "/console/static/x/app.py"])
def test_what_is_not_there_is_a_page_that_says_so(opened: tuple[str, Any], path: str) -> None:
    """An unknown path is 404 as a page, and no file is served but those of the console."""
    seen = Browser(opened[0]).get(path)
    assert seen.status == 404
    assert seen.count("h1") == 1


# --- every page -----------------------------------------------------------------------------------------
def test_the_browser_is_told_to_trust_nothing_else(opened: tuple[str, Any]) -> None:
    """Nothing inline, nothing from elsewhere, in no frame, kept in no cache."""
    seen = Browser(opened[0]).get("/console/search", q="客户投诉")
    policy = seen.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert seen.headers["Cache-Control"] == "no-store"
    assert "style=" not in seen.body
    assert not re.search(r"\son[a-z]+=", seen.body.replace("onerror=alert", ""))


def test_language_and_light_are_chosen(opened: tuple[str, Any]) -> None:
    """A choice is kept by the browser and counts more than what it prefers."""
    browser = Browser(opened[0])
    assert browser.post("/console/choose", {"language": "zh", "next": "/console/search?q=a"}).location.endswith(
        "?q=a"
    )
    browser.post("/console/choose", {"light": "dark", "next": "/console/search"})
    html = browser.get("/console/search").tree.css_first("html").attributes
    assert (html["lang"], html["data-light"]) == ("zh-CN", "dark")


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("", "en"),
        ("zh-CN,zh;q=0.9,en;q=0.8", "zh"),
        ("en-US,zh;q=0.5", "en"),
        ("de, zh;q=0.3", "zh"),
        ("zh;q=x", "en"),
    ],
)
def test_preferred_language(header: str, language: str) -> None:
    """Chinese where the browser ranks it above English, else English."""
    assert preferred(header) == language


@pytest.mark.parametrize(
    "path",
    ["//evil.example", "https://evil.example", "/\\evil", "/console//evil.example", "/v1/x", "", "/console/a\nb"],
)
def test_signing_in_leads_nowhere_else(path: str) -> None:
    """Where to go on is a page of the console, or the search page."""
    assert checked_next(path) == "/console/search"


def test_every_message_of_the_pages_is_known() -> None:
    """What templates say exists."""
    said = {
        k for file in TEMPLATES.glob("*.html") for k in re.findall(r"\bt\('([a-z0-9_]+)'", file.read_text("utf-8"))
    }
    assert {k for k in said if not k.endswith("_")} <= set(texts("console", "en"))


def test_sessions_end_by_themselves() -> None:
    """After twelve hours, and the oldest when there are too many."""
    now = [0.0]
    sessions = ConsoleSessions(lambda: now[0])
    first = sessions.begin("key", frozenset(("search",)))
    assert (sessions.held(first).token, sessions.held(first).rights) == ("key", {"search"})
    others = [sessions.begin(str(number), frozenset()) for number in range(1_000)]
    assert sessions.held(first) == NO_SESSION
    now[0] = LASTS
    assert sessions.held(others[-1]) == NO_SESSION


@pytest.mark.parametrize("judged", [0.0, 0.9])
def test_a_reranker_is_a_piece_of_its_own(judged: float) -> None:
    """What it adds or takes away is shown, and the pieces add up to the score."""
    parts = {"vector": 0.8, "keyword": 0.4, "fused": 0.68, "trust": 0.9, "retrieved": 0.612, "share": 0.4}
    score = 0.6 * 0.612 + 0.4 * judged
    found = pieces_of(score, parts | {"reranker": judged})
    assert sum(piece.value for piece in found) == pytest.approx(score)
    assert found[-1].name == ("trust" if judged else "reranker")
    assert found[-1].start == pytest.approx(score)


@pytest.mark.parametrize("trust", [0.9, 1.0, 1.1])
def test_the_pieces_of_a_score_end_at_the_score(trust: float) -> None:
    """What the bar shows is the score: vector, keyword and context, more or less trust, less another law."""
    fused = 0.7 * 0.8 + 0.3 * 0.4
    score = fused * 1.1 * trust
    parts = {"vector": 0.8, "keyword": 0.4, "fused": fused, "context": 0.1, "trust": trust}
    less = pieces_of(0.9 * score, parts | {"law": 0.9})
    assert sum(piece.value for piece in less) == pytest.approx(0.9 * score)
    assert next(piece.value for piece in less if piece.name == "law") == pytest.approx(-0.1 * fused)
    found = pieces_of(score, parts)
    assert sum(piece.value for piece in found) == pytest.approx(score)
    assert next(piece.value for piece in found if piece.name == "vector") == pytest.approx(0.56)
    assert max(piece.start + piece.width for piece in found if piece.value > 0) == pytest.approx(
        max(score, fused * 1.1)
    )
