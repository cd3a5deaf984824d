"""An afternoon of a made company: HR, the works council, two plants, an external auditor and an assistant for all of them, in the
console, over HTTP and over MCP.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import console_door
import mcp_clients
import wenyuan
from chromium import assert_accessible, started
from governed_door import key
from http_door import JSON, call
from wenyuan.core.model import Source

TEXTS = {
    "salaries": "# 薪酬方案 salaries\n\n值班津贴：薪酬方案规定每班一百元。\n",
    "agreement": "# 劳资协议 agreement\n\n值班津贴：劳资协议规定夜班双倍。\n",
    "north": "# 北厂值班 north\n\n值班津贴：北厂每周轮换。\n",
    "south": "# 南厂值班 south\n\n值班津贴：南厂每月轮换。\n",
    "canteen": "# 食堂 canteen\n\n值班津贴：凭值班单免费用餐。\n",
}
PEOPLE = {"hana": "hr", "carl": "council", "nora": "north", "sami": "south", "eva": "auditors"}
QUESTION = "值班津贴"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with started() as browser:
        yield browser


class Office:
    """The administrator at the console, and everybody else at the other doors."""

    def __init__(self, library: Any, url: str, page: Any, language: str) -> None:
        self.library, self.url, self.page, self.language = library, url, page, language
        self.keys: dict[str, str] = {}
        self.looked_at: set[str] = set()

    def go(self, path: str) -> Any:
        assert self.page.goto(self.url + path).status == 200
        if path not in self.looked_at:  # once each
            assert_accessible(self.page)
        self.looked_at.add(path)
        return self.page

    def group(self, name: str, members: str) -> None:
        page = self.go("/console/people")
        page.locator("details#group summary").click()
        page.fill("details#group [name=group]", name)
        page.fill("details#group [name=members]", members)
        page.click("details#group button.main")

    def key(self, person: str, *rights: str, groups: str = "") -> None:
        page = self.go("/console/people")
        form = page.locator("form[action='/console/people/keys']")
        page.locator("details", has=form).locator("summary").last.click()
        form.locator("[name=name]").fill(person)
        form.locator("[name=user]").fill(f"user:{person}")
        form.locator("[name=groups]").fill(groups)
        for box in form.locator("[name=right]").all():
            box.set_checked(box.get_attribute("value") in rights)
        form.locator("button.main").click()
        self.keys[person] = page.locator("pre#made, #made").first.inner_text().strip()

    def upload(self, source: str, files: list[Path], readers: str) -> None:
        page = self.go(f"/console/sources/{source}/documents")
        page.fill("[name=readers]", readers)
        page.set_input_files("input[name=file]", [str(file) for file in files])
        with page.expect_navigation():
            page.click("form.drop button.main")

    def seen(self, person: str, for_whom: str = "") -> set[str]:
        """What somebody finds over HTTP, which is what they find over MCP."""
        behalf = {"X-Wenyuan-On-Behalf-Of": for_whom} if for_whom else {}
        headers = {**JSON, "Authorization": f"Bearer {self.keys[person]}", **behalf}
        answer = call(self.url, "POST", "/v1/search", {"query": QUESTION, "limit": 20}, headers)
        assert answer.status == 200, answer.body

        async def use(client: Any) -> str:
            return str(await client.call_tool("search", {"query": QUESTION}))

        with ThreadPoolExecutor(1) as elsewhere:  # the browser has this thread's event loop
            told = elsewhere.submit(mcp_clients.over_http, self.url, use, token=self.keys[person], **behalf).result()
        found = {name for name in TEXTS if f" {name}" in answer.body.decode()}
        assert found == {name for name in TEXTS if f" {name}" in told}
        return found

    def seen_as(self, names: str) -> set[str]:
        """What the administrator is shown of what somebody would find."""
        page = self.go("/console/search")
        page.fill("[name=as]", names)
        page.fill("[name=q]", QUESTION)
        page.keyboard.press("Enter")
        page.wait_for_selector("#answer .summary")
        return {name for name in TEXTS if f" {name}" in page.locator("#answer .hits").first.inner_text()}


@pytest.mark.parametrize("language", ["zh-CN", "en"])
def test_an_afternoon(tmp_path: Path, chromium: Any, language: str) -> None:
    """Everybody finds what is theirs, by every door, at once after each change; every page on the way is one for all."""
    for name, text in TEXTS.items():
        folder = tmp_path / "plants" / name if name in ("north", "south") else tmp_path / "plants"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.md").write_text(text, "utf-8")
    for name in ("salaries", "agreement"):
        (tmp_path / "plants" / f"{name}.md").rename(tmp_path / f"{name}.md")
    settings: dict[str, Any] = {"encoder": {"kind": "hashing"}, "search": {"floor": 0.0, "deadline": 30}}
    with wenyuan.open(tmp_path / "library", create=True, **settings) as library:
        library.catalog.put_source(Source(source_id="hr", settings={"readers": {"enforce": True}}))
        library.add(Source(source_id="plants", path=str(tmp_path / "plants")))
        with console_door.served(library, needs_keys=True, rate_per_key=0) as url:
            page = chromium.new_context(locale=language, viewport={"width": 1280, "height": 900}).new_page()
            page.goto(f"{url}/console/sign-in")
            page.fill("[name=key]", key(library, "admin"))
            page.click("button.main")
            office = Office(library, url, page, language)
            afternoon(office, tmp_path)
            page.context.close()


def afternoon(office: Office, folder: Path) -> None:
    for person, group in PEOPLE.items():
        office.group(group, f"user:{person}")
        office.key(person, "search", "retrieve")
    office.key("assistant", "search", "retrieve", "on_behalf_of", groups=", ".join(PEOPLE.values()))
    everything = {"north", "south", "canteen"}
    assert {person: office.seen(person) for person in PEOPLE} == dict.fromkeys(PEOPLE, everything)

    page = office.go("/console/sources/plants/readers")
    page.fill("[name=documents]", "north/** | group:north\nsouth/** | group:south\n** | everyone | group:auditors")
    page.check("[name=enforce]")
    page.click("button.main")
    office.upload("hr", [folder / "salaries.md"], "group:hr")
    office.upload("hr", [folder / "agreement.md"], "group:hr, group:council")
    expected = {
        "hana": {"salaries", "agreement", "canteen"}, "carl": {"agreement", "canteen"},
        "nora": {"north", "canteen"}, "sami": {"south", "canteen"}, "eva": set(),
    }  # fmt: skip
    assert {person: office.seen(person) for person in PEOPLE} == expected
    for person, names in expected.items():
        assert office.seen("assistant", f"user:{person}") == names - {
            "canteen"
        }  # not for auditors, of whom it is one
        assert office.seen_as(f"user:{person}") == names

    office.group("council", "user:otto")  # carl's term is over
    office.group("north", "user:nora, group:south")
    number = next(one.document_id for one in office.library.documents() if "agreement" in one.title)
    page = office.go(f"/console/documents/{number}/readers")
    page.fill("[name=readers]", "group:council, group:auditors")
    page.click("main form button.main")
    expected |= {"hana": {"salaries", "canteen"}, "carl": {"canteen"}, "sami": {"south", "north", "canteen"}}
    assert {person: office.seen(person) for person in PEOPLE} == expected
    assert office.seen("assistant", "user:otto") == {"agreement"}
    keys = office.library.catalog.keys()
    revoked = next(one for one in keys if one.name == "carl")
    office.library.catalog.revoke_key(revoked.key_id)
    headers = {**JSON, "Authorization": f"Bearer {office.keys['carl']}"}
    assert call(office.url, "POST", "/v1/search", {"query": QUESTION}, headers).status == 401
    office.library.audit.flush()
    asked = office.library.audit.list(kind="retrieval", limit=500)
    assert {one.record.get("on_behalf_of") for one in asked} >= {f"user:{person}" for person in PEOPLE}
    assert office.library.audit.verify().ok
