"""Groups of people are declared in the registry file, beside sources, agents and tasks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import wenyuan
from command_line import HASHING, runner
from wenyuan.core.errors import InvalidRequest
from wenyuan.core.group_entries import circle_in
from wenyuan.core.registry_file import parse_registry
from wenyuan.service.ingest.registry import apply, export, plan, read_registry


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Any]:
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "hashing"}) as made:
        yield made


def applied(library: Any, folder: Path, groups: Any, *, prune: bool = False) -> Any:
    """What a file with these groups, and nothing else, has changed."""
    file = folder / "registry.yaml"
    file.write_text(yaml.safe_dump({"groups": groups}, allow_unicode=True), "utf-8")
    made = plan(library, read_registry(library, file, prune=prune))
    apply(library, made, prune=prune)
    return made


def held(library: Any) -> dict[str, list[str]]:
    return {name.removeprefix("group:"): list(library.catalog.members(name)) for name in library.catalog.groups()}


def test_groups_are_what_the_file_says(library: Any, tmp_path: Path) -> None:
    """Added, changed and unchanged; applied twice it changes nothing; those that it does not name stay, and go with ``--prune``."""
    library.catalog.set_group("old", ["user:wu"])
    groups = [{"group": "hr", "members": ["user:li", "group:works"]}, {"group": "工厂", "members": ["user:吴"]}]
    made = applied(library, tmp_path, groups)
    assert {entry.id for entry in made.added} == {"group:hr", "group:工厂"}
    assert {entry.id for entry in made.missing} == {"group:old"}
    assert held(library) == {"hr": ["group:works", "user:li"], "old": ["user:wu"], "工厂": ["user:吴"]}
    again = applied(library, tmp_path, groups)
    assert (again.added, again.changed, len(again.unchanged)) == ((), (), 2)
    groups[0]["members"] = ["user:zhao"]
    assert [one.field for one in applied(library, tmp_path, groups, prune=True).changed] == ["members"]
    assert held(library) == {"hr": ["user:zhao"], "工厂": ["user:吴"]}
    library.audit.flush()
    assert len(library.audit.list(kind="group")) >= 4


def test_what_is_exported_is_applied_again(library: Any, tmp_path: Path) -> None:
    """The file that describes a library changes nothing in it; one without the section leaves groups alone, pruned or not."""
    library.catalog.set_group("hr", ["user:li", "group:works"])
    told = export(library)
    assert yaml.safe_load(told)["groups"] == [{"group": "hr", "members": ["group:works", "user:li"]}]
    file = tmp_path / "out.yaml"
    file.write_text(told, "utf-8")
    made = plan(library, read_registry(library, file))
    assert (made.added, made.changed, made.missing) == ((), (), ())
    file.write_text("sources: []\n", "utf-8")
    apply(library, plan(library, read_registry(library, file, prune=True)), prune=True)
    assert held(library) == {"hr": ["group:works", "user:li"]}


@pytest.mark.parametrize(
    ("groups", "said"),
    [
        ([{"members": ["user:li"]}], "name of a group"), ([{"group": "hr"}], "non-empty"), ([{"group": "hr", "members": []}], "non-empty"),
        ([{"group": "hr", "members": "user:li"}], "non-empty"), ([{"group": "hr", "members": [5]}], "members[0]"),
        ([{"group": "a b", "members": ["user:li"]}], "name of a group"),
        ([{"group": "hr", "members": ["everyone"]}], "in no group"), ([{"group": "hr", "members": ["user:li"], "x": 1}], "unknown"),
        ([{"group": "hr", "members": ["user:li"]}, {"group": "group:HR", "members": ["user:wu"]}], "stands twice"),
        ([{"group": "hr", "members": ["group:hr"]}], "in itself"),
        ([{"group": "a", "members": ["group:b"]}, {"group": "b", "members": ["group:c"]}, {"group": "c", "members": ["group:a"]}], "in itself"),
        ({"hr": ["user:li"]}, "must be a list"), (["hr"], "must be a mapping"),
    ],
    ids=str,
)  # fmt: skip
def test_faults_are_told_with_their_line(tmp_path: Path, groups: Any, said: str) -> None:
    """And nothing is changed."""
    with pytest.raises(InvalidRequest) as refused:
        parse_registry(yaml.safe_dump({"groups": groups}), tmp_path)
    told = " ".join(f"line {getattr(one, 'line', 0)} {one.path} {one.message}" for one in refused.value.faults)
    assert said in told


def test_a_circle_with_groups_that_the_library_has_is_refused(library: Any, tmp_path: Path) -> None:
    """Before anything is stored; a circle that the file itself takes apart is none."""
    library.catalog.set_group("b", ["group:c"])
    with pytest.raises(InvalidRequest, match="in itself"):
        applied(library, tmp_path, [{"group": "x", "members": ["user:li"]}, {"group": "c", "members": ["group:b"]}])
    assert held(library) == {"b": ["group:c"]}
    turned = [{"group": "b", "members": ["user:li"]}, {"group": "c", "members": ["group:b"]}]
    applied(library, tmp_path, turned)
    assert held(library) == {"b": ["user:li"], "c": ["group:b"]}


def test_long_chains_are_followed() -> None:
    """However deep groups lie in groups."""
    chain = {f"group:{n}": frozenset({f"group:{n + 1}"}) for n in range(20_000)}
    assert circle_in(chain) == ""
    assert circle_in(chain | {"group:20000": frozenset({"group:0"})}) != ""


def test_by_the_command(tmp_path: Path) -> None:
    """``wenyuan apply`` shows what would change, in both languages, and makes it so."""
    run = runner(tmp_path / "library", **HASHING)
    file = tmp_path / "registry.yaml"
    file.write_text("groups:\n  - {group: hr, members: ['user:li']}\n", "utf-8")
    assert "+ group group:hr" in run("apply", file, "--dry-run").output
    assert "+ 组 group:hr" in run("--lang", "zh", "apply", file).output
    assert json.loads(run("group", "show", "hr", "--json").stdout)["members"] == ["user:li"]
