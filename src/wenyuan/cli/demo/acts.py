"""The acts of the demonstration, played on a small library of the program's own, in the language of whoever watches."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path
from shlex import quote
from typing import Any

from wenyuan.app import IN_FOLDER, create_library, open_library
from wenyuan.cli.ingest import note_keyword_only
from wenyuan.cli.options import unlogged
from wenyuan.cli.progress import Bar
from wenyuan.cli.retrieve import indented
from wenyuan.cli.search import answer_document, show_answer
from wenyuan.cli.sources import stars
from wenyuan.cli.terminal import Terminal
from wenyuan.core.errors import ConfigError, msg
from wenyuan.core.model import RetrievalRequest, RetrievalResponse, Source
from wenyuan.packs.shipped import located
from wenyuan.readers.rulebooks.selection import read_book
from wenyuan.service.library import Library
from wenyuan.service.rules.unified import RuleQuestion

SOURCES: Mapping[str, tuple[str, str, int]] = {
    "policy": ("Company policies", "公司制度", 5),
    "handbook": ("Handbooks", "员工手册与指南", 4),
    "faq": ("Frequent questions", "常见问题", 3),
    "site": ("Notes from the building site", "工地交底记录", 2),
}
"""By id: English and Chinese title, trust."""

_QUERIES = {
    "zh": ("投诉分几级，答复时限多久？", "基坑位移达到多少要停工？", "年假最多可以结转几天？"),
    "en": (
        "How many days of leave can I carry over?",
        "What does a red light mean?",
        "Can we give a customer's phone number to a supplier?",
    ),
}
_NONSENSE = {"zh": "龘靐齉爩鱻麤龖", "en": "xqvz jkrtp wbgfh"}
_PACK, _SHOWN = "construction", 3
_PROCESS = {"zh": "深基坑开挖", "en": "Deep excavation"}
_PAGE = 4096  # bytes: SQLite's page
_SETTINGS: Mapping[str, Any] = {**IN_FOLDER, "search": {"deadline": 60.0}}
"""What the demonstration shows must not hang on how busy the machine is: its first question also reads the models' files."""


def run(terminal: Terminal, keep: Path | None = None) -> bool:
    """Run the demonstration.

    Args:
        keep: A new folder for the documents and the library; a temporary one when None.

    Returns:
        Whether each act ended as it must.

    Raises:
        ConfigError: there is a library in `keep` already.
        KnowledgeError: the library could not be made or searched.
    """
    with _home(keep, terminal.language) as home:
        _title(terminal, "demo_title")
        with create_library(home / "library", engine="local", **_SETTINGS) as library:
            note_keyword_only(terminal, library)
            taken = _take_in(terminal, library, home / "documents")
            answers = _evidence(terminal, library)
            empty = _nothing(terminal, library)
            rules = _rules(terminal, library)
        failure = _failure(terminal, home)
    derived = bool(rules["6"]) and not rules["2"]
    honest = derived and not empty["fragments"] and bool(empty["reason"]) and failure["status"] == "FAILED"
    terminal.document(
        {
            "status": "SUCCESS" if honest and all(a["fragments"] for a in answers) else "FAILED",
            "sources": taken,
            "answers": answers,
            "empty": empty,
            "rules": rules,
            "failure": failure,
        }
    )
    _goodbye(terminal, keep)
    return honest and all(answer["fragments"] for answer in answers)


@contextmanager
def _home(keep: Path | None, language: str) -> Iterator[Path]:
    """A folder with a copy of the documents in a language, so that they can be changed and ingested again."""
    source = files(__package__).joinpath("documents", language)
    with tempfile.TemporaryDirectory(prefix="wenyuan-demo-") as temporary, as_file(source) as documents:
        home = keep.absolute() if keep else Path(temporary)
        if (home / "library" / "catalog.db").exists():
            raise ConfigError(msg("there is a library in {home} already", home=home), hint="choose another folder")
        shutil.copytree(documents, home / "documents", dirs_exist_ok=True)
        yield home


def _title(terminal: Terminal, key: str) -> None:
    from rich.rule import Rule
    from rich.text import Text

    terminal.show("")
    terminal.show(Rule(Text(terminal.text(key), style="bold"), align="left", characters="─"))


def _take_in(terminal: Terminal, library: Library, documents: Path) -> list[dict[str, Any]]:
    _title(terminal, "demo_take")
    taken: list[dict[str, Any]] = []
    for source_id, (english, chinese, trust) in SOURCES.items():
        title = chinese if terminal.language == "zh" else english
        source = Source(source_id=source_id, title=title, trust=trust, path=str(documents / source_id))
        with Bar(terminal, embeds=library.encoder is not None) as bar:
            report = library.add(source, bar)
        shown = {"source": title, "documents": report.added, "passages": report.passages}
        terminal.show(terminal.text("demo_source", stars=stars(trust), seconds=f"{report.seconds:.1f}", **shown))
        taken.append({"source_id": source_id, **shown, "trust": trust, "failed": report.failed})
    return taken


def _evidence(terminal: Terminal, library: Library) -> list[Mapping[str, Any]]:
    _title(terminal, "demo_success")
    return [_ask(terminal, library, query, limit=1) for query in _QUERIES[terminal.language]]


def _nothing(terminal: Terminal, library: Library) -> Mapping[str, Any]:
    _title(terminal, "demo_empty")
    return _ask(terminal, library, _NONSENSE[terminal.language], limit=3)


def _rules(terminal: Terminal, library: Library) -> Mapping[str, list[dict[str, Any]]]:
    """Show how a threshold decides which plans a pit of six metres needs, and one of two metres."""
    _title(terminal, "demo_rules")
    with located(_PACK) as folder:
        taken = library.rules.take(read_book(folder))
    counts = taken.checked.imported
    terminal.show(terminal.text("demo_pack", pack=_PACK, nodes=counts.nodes, rules=counts.statements))
    return {depth: _plans(terminal, library, depth) for depth in ("6", "2")}


def _plans(terminal: Terminal, library: Library, depth: str) -> list[dict[str, Any]]:
    process = _PROCESS[terminal.language]
    terminal.show(f'\n$ wenyuan rules infer "{process}" --param depth_m={depth}', wrap=False)
    question = RuleQuestion(processes=(process,), parameters={"depth_m": float(depth), "complex_surroundings": False})
    items = library.infer_rules(question).items
    plans = [item for item in items if item.metadata["process_name"] == item.metadata["subject"]]
    plans = [item for item in plans if item.metadata.get("condition_state") == "met"]
    for item in plans[:_SHOWN]:
        clause = item.metadata["evidence"][0].get("clause", "")
        indented(
            terminal, f"{item.score:.2f}  {item.content.splitlines()[0]}  [{clause}]", hanging=" " * 8, first="  "
        )
    if not plans:
        terminal.show(terminal.text("demo_no_plan"))
    return [item.to_dict() for item in plans]


def _ask(terminal: Terminal, library: Library, query: str, *, limit: int) -> Mapping[str, Any]:
    answer = library.search(query, limit=limit)
    terminal.show(f'\n$ wenyuan search "{query}"')
    if not terminal.as_json:
        show_answer(terminal, query, answer, answer.weight)
    return answer_document(query, answer, answer.weight)


def _failure(terminal: Terminal, home: Path) -> Mapping[str, Any]:
    _title(terminal, "demo_failure")
    terminal.show(terminal.text("demo_damage"))
    response = _asked_after_damage(home, _QUERIES[terminal.language][0])
    terminal.show(f"\n  status: {response.status}\n  fragments: {len(response.fragments)}\n  error_message:")
    terminal.show(f"    {terminal.own(response.error_message or '')}\n", wrap=False)
    terminal.show(terminal.text("demo_unmasked" if response.status == "FAILED" else "demo_masked"))
    return {
        "status": response.status,
        "fragments": len(response.fragments),
        "error_message": response.error_message,
    }


def _asked_after_damage(home: Path, query: str) -> RetrievalResponse:
    """The answer of a copy of the library whose file is damaged while it is open."""
    with unlogged(), tempfile.TemporaryDirectory(prefix="wenyuan-demo-") as temporary:
        copy = Path(temporary) / "library"
        shutil.copytree(home / "library", copy)
        with open_library(copy, **_SETTINGS) as library:
            file = copy / "catalog.db"
            size = file.stat().st_size
            with file.open("r+b") as pages:
                pages.seek(2 * _PAGE)
                pages.write(bytes(size - 2 * _PAGE))
            return library.retrieve_fragments(RetrievalRequest(query=query, max_results=3))


def _goodbye(terminal: Terminal, keep: Path | None) -> None:
    terminal.show("")
    terminal.show(terminal.text("demo_next"))
    query = _QUERIES[terminal.language][0]
    if keep:
        place = f"--library {quote(str(keep / 'library'))}"
        commands = [
            f'wenyuan {place} search "{query}" --explain',
            f"wenyuan {place} doctor",
            f"wenyuan {place} serve",
        ]
    else:
        commands = ["wenyuan demo --keep ./demo", "wenyuan init", "wenyuan add PATH --source ID"]
    for command in [*commands, "wenyuan conformance --self"]:
        terminal.show(f"  {command}", wrap=False)
    if keep:
        terminal.show(terminal.text("demo_kept", folder=keep / "library"), wrap=False)
    else:
        terminal.show(terminal.text("demo_gone"))
