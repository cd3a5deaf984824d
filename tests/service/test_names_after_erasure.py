"""Whoever was erased does not come back by what people type, by a file's name, or by signing in."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from command_line import HASHING, runner
from doors import served
from erased_person import forms
from governed_door import key, send
from wenyuan.core.access import parse_agent
from wenyuan.core.errors import InvalidRequest
from wenyuan.core.model import Source
from wenyuan.core.person import Person
from wenyuan.core.task_profiles import parse_profile
from wenyuan.core.text.synonyms import Synonym
from wenyuan.service.uploads import Given

NAME = "李慕白"
SETTINGS: dict[str, Any] = {"encoder": {"kind": "hashing"}, "cache": {"seconds": 0}}
Typed = Callable[[Any, str], object]
TYPED: dict[str, Typed] = {
    "synonyms": lambda library, name: library.catalog.put_synonyms([Synonym(term="值班", synonym=f"找{name}")], "local"),
    "synonyms, the other side": lambda library, name: library.catalog.put_synonyms([Synonym(term=name, synonym="值班")], "local"),
    "a key's name": lambda library, name: library.catalog.create_key(None, frozenset({"search"}), None, f"{name} 的密钥"),
    "whose eyes": lambda library, name: library.catalog.create_key(None, frozenset({"search"}), None, user=f"user:{name}"),
    "a key's groups": lambda library, name: library.catalog.create_key(None, frozenset({"search"}), None, groups=[f"of-{name}"]),
    "a group": lambda library, name: library.catalog.set_group(f"{name}-team", ["user:wu"]),
    "members": lambda library, name: library.catalog.set_group("hr", [f"user:{name}"]),
    "members that are added": lambda library, name: library.catalog.change_group("hr", add=[f"user:{name}"]),
    "an agent": lambda library, name: library.catalog.put_agent(parse_agent({"agent_id": "a", "title": name, "knowledge_scope": [{"domain": "docs"}]})),
    "a task": lambda library, name: library.catalog.put_profile(parse_profile({"profile_id": "p", "title": name, "tasks": ["t"], "domains": ["docs"]})),
    "a source's title": lambda library, name: library.catalog.put_source(Source(source_id="more", title=f"{name} 的资料")),
    "a source's owner": lambda library, name: library.catalog.put_source(Source(source_id="more", owner=name)),
    "a hold": lambda library, name: library.erasures.hold(library.erasures.source("docs"), f"{name} 的案子"),
    "a decision on a gap": lambda library, name: library.catalog.decide_gap(["0" * 64], "later", f"问 {name}", "local"),
    "a decision on a conflict": lambda library, name: library.catalog.decide_conflict("0" * 16, "both", f"问 {name}", "local"),
}  # fmt: skip
"""What people type, by what it is for."""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A library from which somebody was erased."""
    folder = tmp_path_factory.mktemp("erased")
    (folder / "docs").mkdir()
    (folder / "docs" / "a.md").write_text(f"# 值班\n\n{NAME}值夜班。\n", "utf-8")
    with wenyuan.open(folder / "library", create=True, **SETTINGS) as made:
        made.add(Source(source_id="docs", path=str(folder / "docs")))
        made.catalog.put_source(Source(source_id="desk"))
        made.erasures.erase(made.erasures.person([NAME]))
        yield made


def found_on_disk(folder: Path) -> list[str]:
    """The files of a library in which the name stands, in whatever form."""
    written = forms(NAME)
    return [
        f"{file.name}: {form}" for file in folder.rglob("*") if file.is_file()
        for form, content in written.items() if content in file.read_bytes() or NAME in file.name
    ]  # fmt: skip


@pytest.mark.parametrize("what", TYPED)
@pytest.mark.parametrize("name", [NAME, "李-慕-白"])
def test_what_people_type_is_refused(library: Any, what: str, name: str) -> None:
    """With the field, and without the name; another name is taken."""
    with pytest.raises(InvalidRequest, match="names somebody who was erased") as refused:
        TYPED[what](library, name)
    assert "慕" not in str(refused.value)
    assert refused.value.faults


@pytest.mark.parametrize("what", TYPED)
def test_other_names_are_taken(library: Any, what: str) -> None:
    """What is refused is the name, and not the place."""
    TYPED[what](library, "王若曦")


def test_nothing_of_it_is_stored(library: Any) -> None:
    """After all of these attempts, in no file of the library."""
    for what in TYPED.values():
        with pytest.raises(InvalidRequest):
            what(library, NAME)
    library.audit.flush()
    assert found_on_disk(library.folder) == []
    assert library.audit.verify().ok


def test_who_is_taken_out_of_a_group_need_not_be_named_otherwise(library: Any) -> None:
    """To remove a member is no way back."""
    library.catalog.set_group("works", ["user:wu"])
    assert library.catalog.change_group("works", remove=[f"user:{NAME}"]) == 1


def test_a_files_name_is_refused(library: Any, tmp_path: Path) -> None:
    """An upload that is called so is not kept, by whatever door; under another name it is, without what stands in it."""
    (tmp_path / "file").write_text(f"# 简历\n\n{NAME}，1988 年生。\n", "utf-8")
    report = library.uploads.upload("desk", [Given(name=f"{NAME}-简历.md", path=tmp_path / "file")])
    assert [(one.state, "names somebody who was erased" in one.reason) for one in report.files] == [("failed", True)]
    (tmp_path / "file").write_text(f"# 简历\n\n{NAME}，1988 年生。\n", "utf-8")
    report = library.uploads.upload("desk", [Given(name="简历.md", path=tmp_path / "file")])
    assert [one.state for one in report.files] == ["added"]
    (document,) = report.files[0].documents
    assert NAME not in library.fetch(f"document-{document}").text
    library.uploads.delete(document)


def test_who_signs_in_is_known_by_an_id_alone(library: Any) -> None:
    """The name that an issuer tells is not written down, nor the subject where that is the name."""
    person = Person(
        issuer="https://id.example.com", subject=f"acme/{NAME}", name=f"{NAME} (HR)", until=time.time() + 60
    )
    for _ in range(2):
        library.catalog.meet(person)
    (known,) = library.catalog.people([person.person_id])
    assert "慕" not in known.name + known.subject
    assert "(HR)" in known.name
    assert found_on_disk(library.folder) == []


def test_a_plan_says_who_may_sign_in_again(tmp_path: Path) -> None:
    """By the id of each person whom the issuer has told by that name, or as that subject."""
    with wenyuan.open(tmp_path / "library", create=True, **SETTINGS) as library:
        people = [
            Person(issuer="https://id.example.com", subject=subject, name=name, until=time.time() + 60)
            for subject, name in (("u-1", "王若曦"), ("u-2", NAME), (f"{NAME}@acme", "x"))
        ]
        for one in people:
            library.catalog.meet(one)
        told = [one for one in library.erasures.plan(library.erasures.person([NAME])).left if "sign in" in one]
        assert {one.split()[0] for one in told} == {people[1].person_id, people[2].person_id}
        assert all("https://id.example.com" in one for one in told)


def test_over_http_and_by_command_it_is_told(tmp_path: Path) -> None:
    """400 with the field; the command ends with 2, in both languages; a command needs no open library to know it."""
    run = runner(tmp_path / "library", **HASHING)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text(f"# 值班\n\n{NAME}值夜班。\n", "utf-8")
    run("add", tmp_path / "docs", "--source", "docs")
    run("forget", "person", NAME, "--yes")
    for words in (
        ("key", "create", "--rights", "search", "--name", NAME), ("group", "set", "hr", f"user:{NAME}"),
        ("synonyms", "add", NAME, "值班"), ("key", "create", "--rights", "search", "--as", f"user:{NAME}"),
    ):  # fmt: skip
        for language, said in (("en", "names somebody who was erased"), ("zh", "已被抹除的人")):
            done = run("--lang", language, *words, code=2)
            assert said in "".join(done.output.split()) or said in " ".join(done.output.split())
    run("key", "create", "--rights", "search", "--name", "王若曦")
    with wenyuan.open(tmp_path / "library", **SETTINGS) as library, served(library, needs_keys=True) as url:
        admin = key(library, "admin")
        for method, path, body in (
            ("POST", "/v1/keys", {"rights": ["search"], "name": NAME}), ("PUT", "/v1/groups/hr", {"members": [f"user:{NAME}"]}),
            ("POST", "/v1/synonyms", {"term": NAME, "synonym": "值班"}),
        ):  # fmt: skip
            answer = send(url, method, path, body, admin)
            assert (answer.status, "names somebody who was erased" in answer.json["detail"]) == (400, True), path
            assert NAME not in answer.body.decode()


def test_a_key_that_is_another_one_is_told_by_doctor(tmp_path: Path) -> None:
    """What was erased with a lost key is recognised by nothing any more: how many there are, and that it is to be done again."""
    run = runner(tmp_path / "library", **HASHING)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text(f"# 值班\n\n{NAME}值夜班。\n", "utf-8")
    run("add", tmp_path / "docs", "--source", "docs")
    run("forget", "person", NAME, "--yes")
    assert "another key" not in run("doctor").output
    (tmp_path / "library" / "pseudonym.key").unlink()
    found = run("doctor", "--new-key", code=0).output
    assert "1 erasure was made with another key" in " ".join(found.split())
    told = json.loads(run("doctor", "--json").stdout)
    assert datetime.now(UTC).year > 2000 and "e-" in json.dumps(told)
    run("forget", "person", NAME, "--yes")
