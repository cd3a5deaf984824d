"""The registry as a file: what it may say, what is wrong with it, and a library made what it says."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

import wenyuan
from wenyuan.core.access import AUTO, CONFIDENCE, Agent, DomainScope
from wenyuan.core.errors import InvalidRequest, NotPermitted
from wenyuan.core.model import Source
from wenyuan.core.registry import FieldChange, LineFault, Registry, RegistryKey, load_marked
from wenyuan.core.registry_diff import diff
from wenyuan.core.registry_file import parse_registry, registry_to_yaml
from wenyuan.core.secret_settings import secret_faults
from wenyuan.core.source_entries import parse_source, source_to_wire
from wenyuan.service.ingest.registry import apply, contents, export, plan, read_registry

BASE = Path("/etc/knowledge")
WHOLE = """\
sources:
  - source_id: crm_policy
    title: 客户关系政策
    type: static_doc
    path: ./policies
    trust_level: 5
    domain: crm
    refresh_cycle: 每天
    copyright: "摘录<=200"
    language: no
    owner: 42
    sensitivity: 内部
    collection: hr
    tags: [投诉, 7, yes]
    effective_from: 2025-01-01
    effective_until: 2026年3月1日
    supersedes: [old_policy]
    status: 现行
    settings: {base_uri: "http://x/", required: true, redaction: {n: 1.5, list: [1, null]}}
  - {source_id: old_policy, trust: 2, copyright: {holder: Spruce, max_chars_per_excerpt: 100}}
agents:
  - agent_id: support
    knowledge_scope: [{domain: crm, top_k: 3}, {domain: old_policy, top_k: auto}]
"""


def parsed(text: str, **more: Any) -> Registry:
    return parse_registry(text, BASE, **more)


def faults(text: str, **more: Any) -> list[tuple[int, str, str]]:
    with pytest.raises(InvalidRequest) as caught:
        parsed(text, **more)
    found = caught.value.faults
    assert all(isinstance(fault, LineFault) for fault in found)
    return [(fault.line, fault.path, fault.message) for fault in found]  # type: ignore[attr-defined]


words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)


# -- what a file says -------------------------------------------------------------------------------------


def test_a_whole_file_is_read_as_it_is_written() -> None:
    """Every field arrives: Chinese words, bare numbers and ``no`` as text, days, a path from the file's folder."""
    registry = parsed(WHOLE)
    assert registry.sources == (
        Source(
            source_id="crm_policy", title="客户关系政策", path="/etc/knowledge/policies", trust=5, domain="crm",
            refresh_cycle="每天", copyright="摘录<=200", language="no", owner="42", sensitivity="internal",
            collection="hr", tags=("投诉", "7", "yes"), effective_from=date(2025, 1, 1),
            effective_until=date(2026, 3, 1), supersedes=("old_policy",), status="in_force",
            settings={"base_uri": "http://x/", "required": True, "redaction": {"n": 1.5, "list": [1, None]}},
        ),
        Source(source_id="old_policy", trust=2, copyright="excerpt<=100; holder=Spruce"),
    )  # fmt: skip
    scope = (DomainScope(domain="crm", top_k=3), DomainScope(domain="old_policy", top_k=AUTO))
    assert registry.agents == (Agent(agent_id="support", knowledge_scope=scope),)


def test_json_is_read_too() -> None:
    """A registry in JSON is a registry."""
    assert parsed(json.dumps({"sources": [{"source_id": "a"}]})).sources == (Source(source_id="a"),)


def test_null_means_not_given() -> None:
    """An empty value leaves the default; an absolute path stays as it is."""
    text = "sources:\n  - {source_id: a, title: , trust_level: ~, settings: null, path: /srv/../srv/docs}\n"
    assert parsed(text).sources == (Source(source_id="a", path="/srv/docs"),)


def test_entries_can_share_what_they_have_in_common() -> None:
    """``<<`` brings in another entry; own fields come before it, and of several the first one."""
    text = """\
sources:
  - &a {source_id: a, language: no, trust_level: 5}
  - &b {source_id: b, language: yes, owner: Li}
  - {source_id: c, <<: [*a, *b], trust_level: 4}
"""
    assert parsed(text).sources[2] == Source(source_id="c", language="no", trust=4, owner="Li")


def test_a_section_that_is_not_there_is_not_managed() -> None:
    """A file with agents only says nothing about sources; an empty list says that there are none."""
    state = Registry(sources=(Source(source_id="a"),), agents=(Agent(agent_id="x"),))
    assert diff(state, parsed("agents: []")).missing == (RegistryKey("agent", "x"),)
    assert diff(state, parsed("sources: []")).missing == (RegistryKey("source", "a"),)


# -- what is wrong with it --------------------------------------------------------------------------------

HEAD = "sources:\n  - source_id: a\n"
WRONG: dict[str, tuple[str, int, str, str]] = {
    "trust 0": (f"{HEAD}    trust_level: 0\n", 3, "sources[0].trust_level", "from 1 to 5"),
    "trust 6, spelled short": (f"{HEAD}    trust: 6\n", 3, "sources[0].trust", "from 1 to 5"),
    "trust as text": (f"{HEAD}    trust: '5'\n", 3, "sources[0].trust", "from 1 to 5"),
    "trust true": (f"{HEAD}    trust: true\n", 3, "sources[0].trust", "from 1 to 5"),
    "trust twice": (f"{HEAD}    trust: 5\n    trust_level: 5\n", 4, "sources[0].trust_level", "the same as trust"),
    "unknown field": (f"{HEAD}    titel: x\n", 3, "sources[0].titel", "did you mean 'title'?"),
    "unknown section": ("sources: []\nagent: []\n", 2, "agent", "did you mean 'agents'?"),
    "unknown cycle": (f"{HEAD}    refresh_cycle: dialy\n", 3, "sources[0].refresh_cycle", "did you mean 'daily'?"),
    "unknown type": (f"{HEAD}    type: static\n", 3, "sources[0].type", "static_doc, vector_index, api"),
    "unknown status": (f"{HEAD}    status: drft\n", 3, "sources[0].status", "did you mean 'draft'?"),
    "unknown sensitivity": (f"{HEAD}    sensitivity: intern\n", 3, "sources[0].sensitivity", "mean 'internal'?"),
    "unclear terms": (f"{HEAD}    copyright: 版权所有\n", 3, "sources[0].copyright", "does not say"),
    "unclear terms by field": (
        f"{HEAD}    copyright:\n      excerpt: limit\n", 4, "sources[0].copyright.excerpt", "no limit is given"),
    "no such day": (f"{HEAD}    effective_from: 2025-02-30\n", 3, "sources[0].effective_from", "YYYY-MM-DD"),
    "end before beginning": (
        f"{HEAD}    effective_from: 2025-02-02\n    effective_until: 2025-02-01\n", 4,
        "sources[0].effective_until", "before"),
    "no id": ("sources:\n  - title: x\n", 2, "sources[0].source_id", "is missing"),
    "id with a space": ("sources:\n  - source_id: a b\n", 2, "sources[0].source_id", "no source id"),
    "id twice": (f"{HEAD}  - source_id: a\n", 3, "sources[1].source_id", "on line 2 already"),
    "key twice": (f"{HEAD}    title: x\n    title: y\n", 4, "sources[0].title", "on line 3 already"),
    "text as a list": (f"{HEAD}    title: [x]\n", 3, "sources[0].title", "must be text, not a list"),
    "tags as text": (f"{HEAD}    tags: a, b\n", 3, "sources[0].tags", "list of texts"),
    "settings as text": (f"{HEAD}    settings: x\n", 3, "sources[0].settings", "must be a mapping"),
    "settings that are no JSON": (f"{HEAD}    settings: {{base_uri: .inf}}\n", 3, "sources[0].settings.base_uri", "no number"),
    "home folder": (f"{HEAD}    path: ~/docs\n", 3, "sources[0].path", "'~'"),
    "supersedes itself": (f"{HEAD}    supersedes: [a]\n", 3, "sources[0].supersedes", "a → a"),
    "supersedes the unknown": (
        f"{HEAD}  - source_id: old_one\n    supersedes: [old]\n", 4, "sources[1].supersedes", "'old', which is unknown"),
    "a loop of three": (
        "sources:\n  - {source_id: a, supersedes: [b]}\n  - {source_id: b, supersedes: [c]}\n"
        "  - {source_id: c, supersedes: [a]}\n", 2, "sources[0].supersedes", "a → b → c → a"),
    "domain of no source": (
        f"{HEAD}agents:\n  - agent_id: x\n    knowledge_scope:\n      - {{domain: aa, top_k: 3}}\n", 6,
        "agents[0].knowledge_scope[0].domain", "did you mean 'a'?"),
    "agent's field": (
        f"{HEAD}agents:\n  - agent_id: x\n    knowledge_scope: [{{domain: a}}]\n    min_trus: 3\n", 6,
        "agents[0].min_trus", "did you mean 'min_trust'?"),
    "agent twice": (
        f"{HEAD}agents:\n  - &x {{agent_id: x, knowledge_scope: [{{domain: a}}]}}\n  - *x\n", 4,
        "agents[1].agent_id", "already"),
    "entry that is no mapping": ("sources:\n  - a\n", 2, "sources[0]", "must be a mapping"),
    "section that is no list": ("sources: {a: 1}\n", 1, "sources", "must be a list"),
    "nothing": ("", 0, "", "neither sources nor agents"),
    "a list": ("- a\n", 1, "", "neither sources nor agents"),
    "broken YAML": ("sources:\n  - [a\n", 3, "", "is no YAML"),
    "two documents": ("sources: []\n---\nsources: []\n", 2, "", "single document"),
    "a tag that runs code": ("sources: !!python/object/apply:os.system []\n", 1, "sources", "not allowed"),
    "a tag on a value": (f"{HEAD}    title: !!python/name:os.system x\n", 3, "sources[0].title", "not allowed"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_a_fault_has_its_line_and_its_place(case: str) -> None:
    """Each fault is told with the line on which it stands, where it is, and what was meant."""
    text, line, path, message = WRONG[case]
    found = faults(text)
    assert [(at, where) for at, where, _ in found] == [(line, path)]
    assert message in found[0][2]


def test_all_faults_are_told_at_once() -> None:
    """A file with a fault in many places is refused once, in the order of its lines."""
    text = """\
source: []
sources:
  - source_id: a
    trust_level: 0
    supersedes: [b]
  - source_id: b
    refresh_cycle: dialy
    supersedes: [a, c]
agents:
  - agent_id: x
    knowledge_scope: [{domain: a, top_k: 0}, {domain: z}]
"""
    found = faults(text)
    assert [line for line, _, _ in found] == [1, 4, 5, 7, 8, 11, 11]
    with pytest.raises(InvalidRequest, match=r"line 4: sources\[0\]\.trust_level trust is 0.*; line 5: "):
        parsed(text)


def test_a_file_may_refer_to_what_the_library_has() -> None:
    """A source or domain that is not in the file but in the library is known; a loop through it is found."""
    library = [Source(source_id="old", domain="hr", supersedes=("gone", "a"))]
    text = "sources:\n  - {source_id: a}\nagents:\n  - {agent_id: x, knowledge_scope: [{domain: hr}]}\n"
    assert parsed(text, library=library).agents
    assert [path for _, path, _ in faults(text)] == ["agents[0].knowledge_scope[0].domain"]
    loop = "sources:\n  - {source_id: a, supersedes: [old]}\n"
    assert "a → old → a" in faults(loop, library=library)[0][2]


@pytest.mark.parametrize(
    "text",
    [
        "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
        + "".join(f"{x}: &{x} [{', '.join([f'*{y}'] * 10)}]\n" for y, x in zip("abcdefgh", "bcdefghi", strict=True)),
        "a: &a [*a]\n",
        "a: &a {<<: *a}\n",
        "[" * 100_000,
        "- " * 100_000,
        "a: " + "9" * 100_000,
        "x" * 5_000_000,
    ],
    ids=["aliases", "list in itself", "mapping in itself", "brackets", "dashes", "digits", "size"],
)
def test_what_would_never_end_is_refused(text: str) -> None:
    """Aliases that multiply, values within themselves, nesting, long numbers and huge files are faults."""
    assert faults(text)


@settings(max_examples=150)
@given(st.text(alphabet="abs:-[]{}&*<! \n'\"#,0159~|>?\t\u3000：源", max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    """Whatever a file holds, the answer is a registry or an InvalidRequest."""
    for prefix in ("", "sources:\n- source_id: ", "agents:\n- "):
        try:
            assert isinstance(parsed(prefix + text), Registry)
        except InvalidRequest as error:
            assert error.faults


@settings(max_examples=100)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | words,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words.filter(bool), inner, max_size=3),
        max_leaves=12,
    )
)  # fmt: skip
def test_plain_values_are_read_as_any_yaml_reader_reads_them(value: Any) -> None:
    """What a plain YAML writer writes comes back as the same values, without faults."""
    marked = load_marked(yaml.safe_dump(value))
    assert (marked.value, marked.faults) == (value, [])


# -- one source -------------------------------------------------------------------------------------------


def test_a_source_from_the_wire_is_strict() -> None:
    """Without a file there is no text as written: a number is no title, and every fault is told."""
    with pytest.raises(InvalidRequest) as caught:
        parse_source(
            {"source_id": "a", "title": 7, "trust": "5", "tags": "x", "owner": "a\0", "settings": {"n": {1}}}
        )
    assert [fault.path for fault in caught.value.faults] == ["title", "tags", "owner", "settings", "trust"]


def test_text_that_no_database_takes_is_refused() -> None:
    """Half of a surrogate pair is a fault, in a field and deep in settings."""
    for field in ({"title": "\ud800"}, {"tags": ["\ud800"]}, {"settings": {"a": ["\ud800"]}}):
        with pytest.raises(InvalidRequest):
            parse_source({"source_id": "a", **field})


ids = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_.\-]{0,10}", fullmatch=True)
days = st.none() | st.dates(min_value=date(1990, 1, 1), max_value=date(2089, 1, 1))
plain = st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(plain | words, lambda inner: st.lists(inner, max_size=2), max_leaves=4)
free_settings = st.dictionaries(words.filter(bool), values, max_size=2).filter(lambda made: not secret_faults(made))
read_settings = st.sampled_from([{}, {"llm": "deny"}, {"passage_size": 120, "base_uri": "kb://文/"}])


@st.composite
def sources(draw: Any, source_id: str) -> Source:
    since, until = sorted([draw(days), draw(days)], key=lambda day: day or date.min)
    kind = draw(st.sampled_from(["static_doc", "vector_index", "api"]))
    address: dict[str, Any] = {"url": "http://x"} if kind == "api" else {}
    return Source(
        source_id=source_id,
        title=draw(words),
        type=kind,
        path=draw(st.sampled_from(["", "/srv/docs", "/srv/文档 1"])),
        trust=draw(st.integers(1, 5)),
        domain=draw(words),
        collection=draw(words),
        language=draw(st.sampled_from(["", "zh", "no", "null", "1e3"])),
        refresh_cycle=draw(st.sampled_from(["never", "每天", "PT6H", "30 2 * * 1-5"])),
        copyright=draw(st.sampled_from(["", "deny", "摘录<=200；占比<=10%", "© 云杉"])),
        owner=draw(words),
        sensitivity=draw(st.sampled_from(["public", "internal", "confidential", "restricted"])),
        tags=tuple(draw(st.lists(words, max_size=3))),
        status=draw(st.sampled_from(["in_force", "draft", "retired"])),
        effective_from=since,
        effective_until=until,
        settings=draw(read_settings if kind == "static_doc" else free_settings) | address,
    )


@st.composite
def registries(draw: Any) -> Registry:
    """Sources of which each may supersede those before it, and agents that ask for their domains."""
    made: list[Source] = []
    for name in draw(st.lists(ids, unique=True, max_size=3)):
        source = draw(sources(name))
        old = draw(st.lists(st.sampled_from([s.source_id for s in made]), unique=True, max_size=2)) if made else []
        fields = {name: getattr(source, name) for name in Source.__slots__}
        made.append(Source(**{**fields, "supersedes": tuple(old)}))
    agents = []
    if made:
        domains = st.sampled_from(sorted({source.domain for source in made}))
        top_k = st.integers(1, 100) | st.sampled_from([AUTO, CONFIDENCE])
        for name in draw(st.lists(ids, unique=True, max_size=2)):
            scope = [
                DomainScope(domain=d, top_k=draw(top_k)) for d in draw(st.lists(domains, min_size=1, unique=True))
            ]
            agents.append(
                Agent(
                    agent_id=name,
                    title=draw(words),
                    knowledge_scope=tuple(scope),
                    min_trust=draw(st.integers(1, 5)),
                    allow_low_trust=draw(st.booleans()),
                    token_budget=draw(st.integers(50, 100_000)),
                )
            )
    return Registry(sources=tuple(made), agents=tuple(agents))


@settings(max_examples=150)
@given(registries())
def test_what_is_written_is_read_back(registry: Registry) -> None:
    """A registry written as a file and read again is the same registry: there is nothing to change."""
    again = parsed(registry_to_yaml(registry))
    assert (again.sources, again.agents) == (registry.sources, registry.agents)
    made = diff(registry, again)
    assert (made.added, made.changed, made.missing) == ((), (), ())
    assert all(parse_source(source_to_wire(source)) == source for source in registry.sources)


# -- a library --------------------------------------------------------------------------------------------


@settings(max_examples=8)
@given(registry=registries())
def test_a_library_applied_to_itself_does_not_change(
    registry: Registry, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Any registry can be applied; the file that the library then exports changes nothing, whoever reads it."""
    folder = tmp_path_factory.mktemp("governed")
    with wenyuan.open(folder / "library", create=True, engine="memory", encoder={"kind": "none"}) as library:
        apply(library, plan(library, registry))
        stored = contents(library)
        assert sorted(stored.sources, key=lambda s: s.source_id) == sorted(
            registry.sources, key=lambda s: s.source_id
        )
        before = library.catalog.seq()
        again = plan(library, parse_registry(export(library), folder))
        assert (again.added, again.changed, again.missing) == ((), (), ())
        apply(library, again, prune=True)
        assert library.catalog.seq() == before
        assert contents(library) == stored


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    """A folder with one document and a registry file beside it."""
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "a.md").write_text("# Complaints\n\nAnswered within 24 hours.\n")
    write(tmp_path, "sources:\n  - {source_id: p, path: policies, trust_level: 5}\n")
    return tmp_path


def write(folder: Path, text: str) -> Path:
    (folder / "registry.yaml").write_text(text, "utf-8")
    return folder / "registry.yaml"


def applied(library: Any, folder: Path, text: str, *, prune: bool = False) -> Any:
    made = plan(library, read_registry(library, write(folder, text), prune=prune))
    apply(library, made, prune=prune)
    return made


def test_applying_registers_and_twice_is_once(library: Any, shelf: Path) -> None:
    """What the file names is registered, its path from the file's folder; the second time nothing is written."""
    file = shelf / "registry.yaml"
    first = plan(library, read_registry(library, file))
    assert (first.added, library.sources()) == ((RegistryKey("source", "p"),), ())
    apply(library, first)
    assert library.catalog.source("p").path == str(shelf / "policies")
    before = library.catalog.seq()
    second = plan(library, read_registry(library, file))
    assert (second.added, second.changed, second.unchanged) == ((), (), (RegistryKey("source", "p"),))
    apply(library, second)
    assert library.catalog.seq() == before
    assert library.ingest("p").added == 1


def test_a_changed_field_is_shown_and_changed(library: Any, shelf: Path) -> None:
    """A field that differs is listed with both values; what the file leaves out goes back to its default."""
    applied(library, shelf, "sources:\n  - {source_id: p, path: policies, trust_level: 5, owner: Li}\n")
    made = applied(library, shelf, "sources:\n  - {source_id: p, path: policies, trust_level: 4}\n")
    assert made.changed == (
        FieldChange("source", "p", "trust_level", 5, 4),
        FieldChange("source", "p", "owner", "Li", ""),
    )
    assert (library.catalog.source("p").trust, library.catalog.source("p").owner) == (4, "")


def test_what_the_file_does_not_name_is_left_alone(library: Any, shelf: Path) -> None:
    """Other sources and agents stay and are listed as missing; only with `prune` they are removed."""
    library.add(Source(source_id="other", path=str(shelf / "policies")))
    library.catalog.put_agent(Agent(agent_id="x", knowledge_scope=(DomainScope(domain="other"),)))
    text = "sources:\n  - {source_id: p, path: policies}\nagents: []\n"
    made = applied(library, shelf, text)
    assert made.missing == (RegistryKey("source", "other"), RegistryKey("agent", "x"))
    assert {s.source_id for s in library.sources()} == {"other", "p"}
    made = applied(library, shelf, text, prune=True)
    assert {s.source_id for s in library.sources()} == {"p"}
    assert library.catalog.agents() == ()
    assert library.catalog.counts()["documents"] == 0
    apply(library, made, prune=True)
    assert {s.source_id for s in library.sources()} == {"p"}


PROFILES = """\
sources:
  - {source_id: p, path: policies}
tasks:
  - {profile_id: a, tasks: [%s], domains: [p], terms: [投诉, no, 7]}
  - {profile_id: b, tasks: [%s], terms: [leave]}
"""


def test_profiles_of_tasks_are_kept_in_the_file_too(library: Any, shelf: Path) -> None:
    """Registered as written, exported, changed though they exchange a task, left alone, and pruned."""
    applied(library, shelf, PROFILES % ("ticket-*", "case-1"))
    a, b = library.catalog.profiles()
    assert (a.tasks, a.domains, a.terms, b.terms) == (("ticket-*",), ("p",), ("投诉", "no", "7"), ("leave",))
    made = plan(library, parsed(export(library)))
    assert (made.added, made.changed, made.missing) == ((), (), ())
    made = applied(library, shelf, PROFILES % ("case-1", "ticket-*"))
    assert made.changed_entries == (RegistryKey("task", "a"), RegistryKey("task", "b"))
    assert [one.tasks for one in library.catalog.profiles()] == [("case-1",), ("ticket-*",)]
    text = "tasks:\n  - {profile_id: c, terms: [x]}\n"
    assert applied(library, shelf, text).missing == (RegistryKey("task", "a"), RegistryKey("task", "b"))
    assert {one.profile_id for one in library.catalog.profiles()} == {"a", "b", "c"}
    applied(library, shelf, "tasks:\n  - {profile_id: c, tasks: [case-1], terms: [x]}\n", prune=True)
    assert [(one.profile_id, one.tasks) for one in library.catalog.profiles()] == [("c", ("case-1",))]


def test_profiles_that_would_share_a_task_are_refused_before_anything_is_changed(library: Any, shelf: Path) -> None:
    """Within the file with its line, and with what the library keeps."""
    found = faults("sources: [{source_id: p}]\n" + (PROFILES % ("x", "x")).partition("policies}\n")[2])
    assert [(path, "has the profile" in said) for _, path, said in found] == [
        ("tasks[0].tasks[0]", True),
        ("tasks[1].tasks[0]", True),
    ]
    applied(library, shelf, PROFILES % ("ticket-*", "case-1"))
    before = library.catalog.seq()
    with pytest.raises(InvalidRequest, match=r"profile c: tasks.0. 'case-1' has the profile 'b' already"):
        applied(library, shelf, "tasks:\n  - {profile_id: c, tasks: [case-1], terms: [x]}\n")
    assert library.catalog.seq() == before
    assert [path for _, path, _ in faults("sources: []\ntasks: [{profile_id: d, domains: [q]}]\n")] == [
        "tasks[0].domains[0]"
    ]


def test_pruned_sources_cannot_be_referred_to(library: Any, shelf: Path) -> None:
    """A domain that would go with its source is unknown to an agent of the file."""
    library.add(Source(source_id="other", path=str(shelf / "policies")))
    text = "sources: []\nagents:\n  - {agent_id: x, knowledge_scope: [{domain: other}]}\n"
    assert read_registry(library, write(shelf, text)).agents
    with pytest.raises(InvalidRequest, match="no source has the domain 'other'"):
        read_registry(library, write(shelf, text), prune=True)


def test_what_is_read_differently_is_due_at_once(library: Any, shelf: Path) -> None:
    """A new path makes a source due now; another title does not."""
    from wenyuan.service.operations.refresh import Worker

    entry = "{{source_id: p, path: {}, refresh_cycle: daily, title: {}}}"
    applied(library, shelf, "sources:\n  - " + entry.format("policies", "A"))
    worker = Worker(library)
    assert [outcome.failure for outcome in worker.run_once()] == [""]
    applied(library, shelf, "sources:\n  - " + entry.format("policies", "B"))
    assert worker.due() == ()
    (shelf / "more").mkdir()
    (shelf / "more" / "b.md").write_text("# Leave\n\nFive days.\n")
    applied(library, shelf, "sources:\n  - " + entry.format("more", "B"))
    report = worker.run_once()[0].report
    assert report
    assert (report.added, report.retired) == (1, 1)


def test_a_source_with_documents_does_not_become_another_kind(library: Any, shelf: Path) -> None:
    """What holds documents cannot become an outside source: they would stay without anybody to look after them."""
    applied(library, shelf, "sources:\n  - {source_id: p, path: policies}\n")
    applied(library, shelf, "sources:\n  - {source_id: p, type: api, settings: {url: 'http://x'}}\n")
    applied(library, shelf, "sources:\n  - {source_id: p, path: policies}\n")
    library.ingest("p")
    with pytest.raises(InvalidRequest, match="source p holds 1 documents"):
        applied(library, shelf, "sources:\n  - {source_id: p, type: api, settings: {url: 'http://x'}}\n")
    assert library.catalog.source("p").type == "static_doc"


def test_a_redaction_that_says_nothing_is_refused(library: Any, shelf: Path) -> None:
    """Settings that the redaction does not understand are told before anything is registered."""
    text = "sources:\n  - {source_id: p, path: policies, settings: {redaction: {actions: {phon: mask}}}}\n"
    with pytest.raises(InvalidRequest, match="source p: "):
        applied(library, shelf, text)
    assert library.sources() == ()


def test_a_file_that_cannot_be_read_is_named(library: Any, tmp_path: Path) -> None:
    """No file, a folder, and bytes that are no UTF-8 are told with the file's name; a byte order mark is not."""
    for name in ("none.yaml", "."):
        with pytest.raises(InvalidRequest, match="cannot read"):
            read_registry(library, tmp_path / name)
    (tmp_path / "gb.yaml").write_bytes("sources:\n- {source_id: a, title: 政策}\n".encode("gb18030"))
    with pytest.raises(InvalidRequest, match=r"gb\.yaml is not UTF-8"):
        read_registry(library, tmp_path / "gb.yaml")
    (tmp_path / "bom.yaml").write_bytes(b"\xef\xbb\xbfsources: []\n")
    assert read_registry(library, tmp_path / "bom.yaml").sources == ()


def test_an_unknown_source_is_not_permitted(library: Any) -> None:
    """Nothing was registered by a plan that was only made."""
    plan(library, Registry(sources=(Source(source_id="a"),)))
    with pytest.raises(NotPermitted):
        library.catalog.source("a")
