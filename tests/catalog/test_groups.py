"""Groups within groups: who belongs to one belongs to those that it is in, for the next question."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from catalog_parts import BOTH, dropped, new_catalog, on_server
from command_line import run
from doors import served
from governed_door import key, send
from reader_library import LI, WU, small, texts
from wenyuan.catalog.catalog import Catalog
from wenyuan.catalog.database import StoragePlace
from wenyuan.core.access import Principal
from wenyuan.core.errors import InvalidRequest, NotFound
from wenyuan.core.principals import Sight, parse_access_list, reading_as


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path | StoragePlace]:
    if getattr(request, "param", "files") == "files":
        yield tmp_path / "library"
        return
    made = on_server(request.getfixturevalue("database"), tmp_path / "library")
    yield made
    dropped(made)


@pytest.fixture
def catalog(place: Path | StoragePlace) -> Iterator[Catalog]:
    with new_catalog(place) as made:
        yield made


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with small(tmp_path_factory.mktemp("small")) as made:
        yield made


def test_who_is_in_a_group_is_in_those_above_it(library: Any) -> None:
    """At once, by a chain of any length, for somebody and for a group of a key; and out of them at once, too."""
    for member, expected in (("user:wu", "abc"), ("group:managers", "abc"), ("user:other", "ac")):
        library.catalog.set_group("hr", ["group:level-0"])
        for level in range(50):
            library.catalog.set_group(f"level-{level}", [f"group:level-{level + 1}"])
        library.catalog.set_group("level-50", [member])
        assert texts(library, WU if member.startswith("user") else manager()) == set(expected)
        library.catalog.change_group("level-25", remove=["group:level-26"])
        assert texts(library, WU if member.startswith("user") else manager()) == {"a", "c"}


def manager() -> Principal:
    return Principal(key_id="m", rights=WU.rights, groups=frozenset({"group:managers"}))


def test_who_is_denied_by_a_group_above_is_denied(library: Any) -> None:
    """Denying beats allowing, whichever group says it."""
    catalog = library.catalog
    number = next(one for one in library.documents() if one.title.endswith("c"))
    catalog.set_document_access(number.source_id, number.uri, parse_access_list({"deny": ["group:works"]}), "")
    catalog.set_group("works", ["group:plant"])
    catalog.set_group("plant", ["user:li"])
    assert texts(library, LI) == {"a", "b"}
    catalog.set_group("plant", [])
    assert texts(library, LI) == {"a", "b", "c"}
    with pytest.raises(NotFound):
        catalog.members("plant")
    catalog.set_document_access(number.source_id, number.uri, None, "")


def test_both_of_whom_one_acts_for_the_other_are_looked_up(library: Any) -> None:
    """A person's groups count where only the person is named."""
    library.catalog.set_group("hr", ["user:zhao", "group:bots"])
    bot = Principal(key_id="b", rights=WU.rights | {"on_behalf_of"}, user="user:bot")
    library.catalog.set_group("bots", ["user:bot"])
    assert texts(library, bot.acting_for("user:zhao")) == {"a", "b", "c"}
    assert texts(library, bot.acting_for("user:qian")) == {"a", "c"}
    library.catalog.set_group("bots", [])
    assert texts(library, bot.acting_for("user:zhao")) == {"a", "c"}


@pytest.mark.parametrize("others", [0, 1, 5])
def test_a_group_is_never_in_itself(catalog: Catalog, others: int) -> None:
    """Directly or by others: refused, with its name, and nothing is changed."""
    for level in range(others):
        catalog.set_group(f"g{level}", [f"group:g{level + 1}", "user:li"])
    catalog.set_group(f"g{others}", ["user:wu"])
    for call in (
        lambda: catalog.set_group(f"g{others}", ["user:wu", "group:g0"]),
        lambda: catalog.change_group(f"g{others}", add=["group:g0"]),
    ):
        with pytest.raises(InvalidRequest, match="no group is in itself"):
            call()
    assert catalog.members(f"g{others}") == ("user:wu",)


@pytest.mark.parametrize(
    "member", ["", "li", 5, None, "everyone", "user:", "user:a b", "group:a,b", ["user:li"], "user:" + "x" * 200]
)
def test_what_is_no_name_is_no_member(catalog: Catalog, member: Any) -> None:
    """A fault with its place; nothing of the list is taken."""
    with pytest.raises(InvalidRequest, match=r"members\[1\]"):
        catalog.set_group("hr", ["user:li", member])
    if member not in ("li", "everyone"):
        with pytest.raises(InvalidRequest):
            catalog.set_group(member, ["user:li"])
    assert catalog.groups() == {}


@BOTH
def test_names_have_one_form(catalog: Catalog) -> None:
    """Capital and full-width letters are the plain ones, in groups and members."""
    catalog.set_group("GROUP:HR", ["USER:Li", "user:ｌｉ", "user:吴"])
    assert catalog.groups() == {"group:hr": 2}
    assert catalog.groups_of({"user:li"}) == {"user:li", "group:hr"}
    assert catalog.change_group("hr", add=["user:wu"], remove=["user:li", "user:nobody"]) == 2
    with pytest.raises(InvalidRequest, match="added and removed"):
        catalog.change_group("hr", add=["user:x"], remove=["user:x"])


@BOTH
def test_a_hundred_thousand_members(catalog: Catalog) -> None:
    """They are stored, and somebody's groups are found among them; more than there may be are refused."""
    members = [f"user:p{number}" for number in range(100_000)]
    assert catalog.set_group("all", members) == 100_000
    assert catalog.groups_of({"user:p99999"}) == {"user:p99999", "group:all"}
    assert catalog.change_group("all", remove=members[1:]) == 1
    with pytest.raises(InvalidRequest, match="at most 200000"):
        catalog.set_group("all", (f"user:q{number}" for number in range(200_001)))


def test_a_change_is_in_the_audit(library: Any) -> None:
    """Who came and who went, by name where these are few."""
    library.catalog.set_group("audited", ["user:li", "user:wu"])
    library.catalog.change_group("audited", remove=["user:wu"])
    library.audit.flush()
    last = library.audit.list(kind="group", limit=1)[0].record
    assert (last["object"], last["changes"]["removed"]) == ("group:audited", [None, ["user:wu"]])


def test_another_process_sees_it(tmp_path: Path) -> None:
    """A catalog that is open elsewhere reads with the groups of now."""
    with small(tmp_path) as library:
        assert texts(library, WU) == {"a", "c"}
        with closing(Catalog.open(tmp_path / "library")) as other:
            other.set_group("hr", ["user:wu"])
            with reading_as(Sight.of({"user:wu"})):
                assert other.hidden() is None
        assert texts(library, WU) == {"a", "b", "c"}


def test_over_http(library: Any) -> None:
    """Administrators show, set, change and remove groups; circles and names that are none are refused."""
    with served(library, needs_keys=True) as url:
        admin = key(library, "admin")
        told = send(url, "PUT", "/v1/groups/Leads", {"members": ["user:a", "group:b"]}, admin)
        assert (told.status, told.json) == (200, {"group": "group:leads", "count": 2})
        assert send(url, "GET", "/v1/groups/leads", None, admin).json["members"] == ["group:b", "user:a"]
        assert {"group": "group:leads", "count": 2} in send(url, "GET", "/v1/groups", None, admin).json["groups"]
        assert (
            send(url, "PATCH", "/v1/groups/leads", {"add": ["user:c"], "remove": ["user:a"]}, admin).json["count"]
            == 2
        )
        for path, body in (
            ("/v1/groups/b", {"members": ["group:leads"]}),
            ("/v1/groups/b", {"members": [5]}),
            ("/v1/groups/b", {"members": "user:a"}),
            ("/v1/groups/b", {}),
            ("/v1/groups/b", {"members": [], "member": []}),
            ("/v1/groups/5,6", {"members": []}),
        ):
            refused = send(url, "PUT", path, body, admin)
            assert (refused.status, refused.json["code"]) == (400, "invalid_request"), body
        assert send(url, "PUT", "/v1/groups/leads", {"members": []}, admin).json["count"] == 0
        assert send(url, "GET", "/v1/groups/leads", None, admin).status == 404
        other = key(library, "registry", "audit", "search")
        assert {send(url, "GET", f"/v1/groups{one}", None, other).status for one in ("", "/leads")} == {403}


def test_over_the_command_line(tmp_path: Path) -> None:
    """Members come from arguments and files, and a file that cannot be read is said."""
    library = tmp_path / "library"
    with new_catalog(library):
        assert library.is_dir()
    (tmp_path / "names.txt").write_text("user:王\n\n group:b \n", "utf-8")

    def group(*words: object) -> Any:
        return run("group", *words, "--library", library)

    assert group("set", "hr", "user:li", "--file", str(tmp_path / "names.txt")).exit_code == 0
    assert group("show", "hr").stdout.split() == ["group:b", "user:li", "user:王"]
    assert "group:hr" in group("list").stdout
    assert "no members" in group("remove", "hr", "user:li", "user:王", "group:b").output
    assert group("add", "b", "--file", str(tmp_path / "none.txt")).exit_code != 0
    assert group("add", "b", "group:b").exit_code != 0


def test_a_group_that_has_the_name_of_somebody_who_is_erased_leaves_it_nowhere(tmp_path: Path) -> None:
    """Neither among members nor in the record of what was changed: no file of the library has it."""
    with wenyuan.create(tmp_path / "library", encoder={"kind": "none"}) as library:
        library.catalog.set_group("zorvath-quill", ["user:a"])
        assert any(b"zorvath-quill" in file.read_bytes() for file in (tmp_path / "library").glob("catalog.db*"))
        library.erasures.erase(library.erasures.person(["zorvath-quill"]))
    assert [
        file for file in (tmp_path / "library").rglob("*") if file.is_file() and b"zorvath-quill" in file.read_bytes()
    ] == []
