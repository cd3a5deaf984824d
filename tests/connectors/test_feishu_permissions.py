"""Who may read what Feishu holds, as it says with whom a document is shared."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from feishu_server import APP, SECRET, Feishu, block, feishu_server, text
from parsing import parse
from wenyuan.connectors import feishu as connector
from wenyuan.connectors.selection import open_connector
from wenyuan.core.access import Principal
from wenyuan.core.connectors import Known
from wenyuan.core.errors import KnowledgeError
from wenyuan.core.model import Source
from wenyuan.core.principals import AccessList

READING = frozenset({"search"})


@pytest.fixture
def feishu(monkeypatch: pytest.MonkeyPatch) -> Iterator[Feishu]:
    monkeypatch.setenv("WENYUAN_FEISHU", SECRET)
    monkeypatch.setattr(connector, "_WAITS", (0.0, 0.0, 0.0))
    with feishu_server() as service:
        for number, title in enumerate(("报销制度", "Pay"), start=1):
            page = block("root", 1, "page", text(title), children=("b1",))
            service.documents[f"d{number}"] = [page, block("b1", 2, "text", text(f"{title}: in thirty days."))]
            node = {"node_token": f"n{number}", "obj_token": f"d{number}", "title": title, "obj_type": "docx"}
            service.nodes.setdefault("", []).append(node | {"has_child": False, "obj_edit_time": "1700000000"})
            file = {"token": f"d{number}", "type": "docx", "name": title, "modified_time": "1700000000"}
            service.files.setdefault("root1", []).append(file)
        service.members = {"wiki/n1": [shared("openid", "ou_li")], "wiki/n2": [shared("opendepartmentid", "od-HR")]}
        yield service


def shared(sort: str, name: Any, perm: str = "view") -> dict[str, Any]:
    """A member of a document's list."""
    return {"member_type": sort, "member_id": name, "perm": perm, "type": "user", "name": "whoever"}


def source(feishu: Feishu, path: str = "feishu://wiki/77", **more: Any) -> Source:
    said: dict[str, Any] = {
        "app_id": APP, "app_secret_env": "WENYUAN_FEISHU", "endpoint": feishu.url, "allow_private": True,
        "readers": {"enforce": True, "from": ["permissions"]}, **more,
    }  # fmt: skip
    return Source(source_id="feishu", path=path, settings=said)


@pytest.fixture
def library(tmp_path: Path) -> Iterator[wenyuan.Library]:
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"}) as library:
        yield library


def seen(library: wenyuan.Library, user: str, *groups: str) -> set[str]:
    somebody = Principal(key_id="k", rights=READING, user=user, groups=frozenset(groups))
    return {one.title for one in library.documents(somebody)}


def permissions(feishu: Feishu, path: str = "feishu://wiki/77", **more: Any) -> list[AccessList]:
    """The list of each entry."""
    opened: Any = open_connector(source(feishu, path, **more), readable=lambda name: True, parse=parse)
    with closing(opened) as found:
        return [found.permissions(entry) for entry in found.list(Known())]


def test_with_whom_it_is_shared_may_read_it(feishu: Feishu, library: wenyuan.Library) -> None:
    """And nobody else; a change of it counts from the next run on, though the document is as before."""
    library.add(source(feishu))
    assert seen(library, "user:ou_li") == {"报销制度"}
    assert seen(library, "user:wu", "group:od-hr") == {"Pay"}
    assert seen(library, "user:wu") == set()
    feishu.members["wiki/n1"] = [shared("openid", "ou_wu")]
    report = library.ingest("feishu")
    assert report.unchanged == 2
    assert (seen(library, "user:ou_li"), seen(library, "user:ou_wu")) == (set(), {"报销制度"})


@pytest.mark.parametrize(
    "broken",
    [
        None,
        {"code": 1063002, "msg": "no permission"},
        {"code": 0},
        {"code": 0, "data": {"items": "all"}},
        {"code": 0, "data": {"items": [{"member_type": "moon", "member_id": "x"}]}},
        {"code": 0, "data": {"items": [{"member_type": "openid", "member_id": 5}]}},
        {"code": 0, "data": {"items": [{"member_type": "openid", "member_id": "a b"}]}},
        {"code": 0, "data": {"items": [{"member_type": "openid"}]}},
        {"code": 0, "data": {"items": [], "has_more": True}},
    ],
)  # fmt: skip
def test_what_cannot_be_told_is_closed_and_tried_again(feishu: Feishu, library: wenyuan.Library, broken: Any) -> None:
    """Nobody may read it, the run names it, it is counted, and the next run that can tell opens it."""
    library.add(source(feishu))
    held = feishu.members.pop("wiki/n1")
    if broken is not None:
        feishu.members["wiki/n1"] = broken
    report = library.ingest("feishu")
    assert [uri.rpartition("/")[2] for uri in report.failed] == ["n1"], report.failed
    assert "nobody may" in next(iter(report.failed.values()))
    assert seen(library, "user:ou_li") == set()
    assert seen(library, "user:wu", "group:od-hr") == {"Pay"}
    assert library.reader_counts()[0]["unreadable"] == 1
    assert any(one["failure"] for one in library.list_documents(limit=10).documents)
    feishu.members["wiki/n1"] = held
    assert not library.ingest("feishu").failed
    assert seen(library, "user:ou_li") == {"报销制度"}
    assert library.reader_counts()[0]["unreadable"] == 0


def test_each_kind_of_member(feishu: Feishu) -> None:
    """People by id or address, groups of every kind, over several pages; apps are nobody, and who shares with none has none."""
    sorts = (
        "openid",
        "userid",
        "unionid",
        "email",
        "openchat",
        "opendepartmentid",
        "groupid",
        "wikispaceid",
        "appid",
    )
    feishu.members["wiki/n1"] = [shared(sort, f"{sort}-X") for sort in sorts]
    feishu.members["wiki/n2"] = []
    first, second = permissions(feishu)
    assert first.readers == {f"user:{sort}-x" for sort in sorts[:4]} | {f"group:{sort}-x" for sort in sorts[4:8]}
    assert second.readers == frozenset()


@pytest.mark.parametrize(
    ("link", "everyone"),
    [("tenant_readable", True), ("anyone_editable", True), ("closed", False), ("partner_tenant_readable", False)],
)
def test_what_its_link_opens_is_open_where_that_is_said(feishu: Feishu, link: str, everyone: bool) -> None:
    """By default only whom it is shared with by name reads it; with `link_readers` its link counts, too, and must be told."""
    feishu.members |= {"docx/d1": [], "docx/d2": [shared("openid", "ou_li")]}
    assert [one.readers for one in permissions(feishu, "feishu://folder/root1")] == [frozenset(), {"user:ou_li"}]
    feishu.links = {
        f"docx/d{n}": {"code": 0, "data": {"permission_public": {"link_share_entity": link}}} for n in (1, 2)
    }
    found = permissions(feishu, "feishu://folder/root1", link_readers=True)
    assert {"everyone" in (one.readers or ()) for one in found} == {everyone}
    feishu.links["docx/d1"] = {"code": 0, "data": {}}
    with pytest.raises(KnowledgeError):
        permissions(feishu, "feishu://folder/root1", link_readers=True)


def test_more_names_than_a_list_may_have(feishu: Feishu, library: wenyuan.Library) -> None:
    """They are not cut off: nobody may read it."""
    feishu.page = 5_000
    feishu.members["wiki/n1"] = [shared("openid", f"ou_{number}") for number in range(10_001)]
    library.add(source(feishu))
    assert seen(library, "user:ou_5") == set()
