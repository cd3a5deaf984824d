"""``doctor`` and ``encoder check``: checks with the commands that fix what they find."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath
from shlex import join
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import unquote

import typer

from wenyuan import __version__
from wenyuan.cli.options import add_commands, opened, without
from wenyuan.cli.terminal import FAILED, OK, Lines, Terminal
from wenyuan.core.addresses import legible
from wenyuan.core.errors import KnowledgeError, msg
from wenyuan.runtime import install_command, own_pip

if TYPE_CHECKING:
    from wenyuan.encoders.checking import Checked, Tried
    from wenyuan.service.library import Library


# The checks of ``wenyuan doctor``: each has a state, and what to do when it is not ok.


_PACKAGES = ("tantivy", "faiss-cpu", "onnxruntime", "numpy", "SQLAlchemy")
_SHOWN_TWINS = 3
_WORST, _READ_WELL = 10, 0.98  # documents that are named, and the score of those that are not
_LOW_DISK = 512 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the doctor's report.

    Attributes:
        name: Its key in the catalogue of messages is ``d_<name>``.
        state: ``ok``, ``warn`` or ``fail``.
        next: The command that helps.
        more: Further values for the JSON document.
    """

    name: str
    state: str
    detail: str
    next: str = ""
    more: dict[str, Any] = field(default_factory=dict)


def checks(terminal: Terminal) -> Iterator[Check]:
    """All checks in order; a library that cannot be opened is a failed check."""
    yield Check("program", "ok", f"wenyuan {__version__}")
    yield Check("python", "ok", f"{platform.python_version()}, {platform.platform(terse=True)}")
    yield _sqlite(terminal)
    yield _packages()
    yield _ocr(terminal)
    yield _settings(terminal)
    yield from _library(terminal)


def _failed(terminal: Terminal, name: str, error: KnowledgeError) -> Check:
    more = {"code": error.code, "message": str(error)}
    return Check(name, "fail", terminal.own(error.message), terminal.own(error.hint), more)


def _sqlite(terminal: Terminal) -> Check:
    import pysqlite3.dbapi2 as driver

    version = driver.sqlite_version
    if driver.sqlite_version_info < (3, 51, 3):
        detail = f"{version}: {terminal.text('d_old_sqlite')}"
        return Check("sqlite", "fail", detail, join([*own_pip(), "install", "--upgrade", "pysqlite3"]))
    return Check("sqlite", "ok", version)


def _packages() -> Check:
    versions: dict[str, str | None] = {}
    for name in _PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = None
    detail = ", ".join(f"{name} {version or '–'}" for name, version in versions.items())
    missing = " ".join(name for name, version in versions.items() if version is None)
    if missing:
        return Check("packages", "fail", detail, f"{join(own_pip())} install {missing}", {"versions": versions})
    return Check("packages", "ok", detail, more={"versions": versions})


def _ocr(terminal: Terminal) -> Check:
    """OCR: an optional extra, so its absence is no failure; hashes of model files are checked."""
    from wenyuan.readers.ocr import FILES, VERSION, find_folder, missing, read_verified

    if missing():
        return Check("ocr", "ok", terminal.text("d_no_ocr"), install_command("ocr"), {"version": None})
    try:
        for file, sha256 in FILES.values():
            read_verified(find_folder(), file, sha256)
    except KnowledgeError as error:
        return _failed(terminal, "ocr", error)
    return Check("ocr", "ok", VERSION, more={"version": VERSION})


def _settings(terminal: Terminal) -> Check:
    """The sources of settings, names only since values may be secrets."""
    from wenyuan.settings import FILE_NAME, load_settings

    file = terminal.folder / FILE_NAME
    variables = sorted(
        name
        for name in os.environ
        if name.startswith("WENYUAN_") and name not in ("WENYUAN_LIBRARY", "WENYUAN_DEBUG")
    )
    origins = ([str(file)] if file.exists() else []) + variables
    try:
        chosen = load_settings(terminal.folder)
    except KnowledgeError as error:
        return _failed(terminal, "settings", error)
    shown = terminal.text("d_chosen", engine=chosen.engine, encoder=chosen.encoder.kind)
    detail = f"{shown} ({', '.join(origins) or terminal.text('d_defaults')})"
    return Check("settings", "ok", detail, more={"origins": origins})


def _library(terminal: Terminal) -> Iterator[Check]:
    from wenyuan.app import open_library

    folder = terminal.folder.absolute()
    try:
        library = open_library(terminal.folder)
    except KnowledgeError as error:
        yield _failed(terminal, "library", error)
        return
    except OSError as error:
        yield Check("library", "fail", f"{error.filename or folder}: {error.strerror}")
        return
    with library:
        shared = bool(library.settings.catalog.dsn.get_secret_value().strip())
        record = library.catalog.where() if shared else str(folder)
        detail = terminal.text("d_record", folder=folder, record=terminal.own(record)) if shared else str(folder)
        yield Check("library", "ok", detail, more={"path": str(folder), "record": record})
        for look in (_identity, _parts, _audit, _content, _uploads, _twins, _reading, _floor, _scanner, _quarantine):
            try:
                yield from look(terminal, library)
            except KnowledgeError as error:
                yield _failed(terminal, look.__name__.strip("_").replace("parts", "engine"), error)
        engine = library.engine.name
    yield _disk(terminal, catalog=not shared, index=engine == "local")


def _identity(terminal: Terminal, library: Library) -> Iterator[Check]:
    """The library's identity; yields nothing when the folder is the original one, as usual."""
    if library.catalog.elsewhere():
        yield Check("identity", "warn", terminal.text("d_copied"), "wenyuan doctor --new-id")


def _parts(terminal: Terminal, library: Library) -> Iterator[Check]:
    states = {"ok": "ok", "degraded": "warn", "starting": "warn", "failed": "fail"}
    hints = {"encoder": install_command(options=["--force-reinstall"])}
    if library.engine.name == "local":
        hints["engine"] = f"rm -r {library.folder / 'index'}"
    for name, part in library.readiness().parts.items():
        state = states[str(part["state"])]
        if name == "audit" and state == "ok":
            continue  # reported below
        detail = terminal.own(str(part["detail"]))
        more = {}
        if name == "encoder" and library.encoder is not None:
            detail = f"{detail}, {library.encoder.fingerprint.dimension}d"
            more = {"fingerprint": library.encoder.fingerprint.key}
            if size := library.settings.search.query_vectors:
                detail += terminal.text("d_query_vectors", count=size)
        by_choice = library.settings.encoder.kind == "none" and name == "encoder"
        hint = hints.get(name) or terminal.own(str(part.get("hint", "")))
        yield Check(name, "ok" if by_choice else state, detail, "" if state == "ok" or by_choice else hint, more)


def _audit(terminal: Terminal, library: Library) -> Iterator[Check]:
    """Whether the log ends at the head stored in this folder; ``audit verify`` checks every record."""
    if library.recorder.log is None:
        yield Check("audit", "ok", terminal.text("d_no_audit"))
        return
    head = library.audit.head()
    yield Check("audit", "ok", terminal.text("d_head", head=head), more={"head": head})


def _content(terminal: Terminal, library: Library) -> Iterator[Check]:
    counts = dict(library.catalog.counts()) | {"sources": len(library.sources())}
    if not counts["documents"]:
        yield Check("content", "warn", terminal.text("d_empty"), "wenyuan add PATH --source ID", counts)
    elif counts["failures"]:
        detail = f"{terminal.text('d_counts', **counts)}; {terminal.text('d_failures', count=counts['failures'])}"
        yield Check("content", "warn", detail, "wenyuan source show ID", counts)
    else:
        yield Check("content", "ok", terminal.text("d_counts", **counts), more=counts)


def _uploads(terminal: Terminal, library: Library) -> Iterator[Check]:
    """Uploads that were cut off and are not undone yet; yields nothing without any."""
    from wenyuan.service.upload_journal import cut_off

    try:
        sources = cut_off(library.ingestion.ingester.uploads)
    except (OSError, ValueError, LookupError, TypeError) as error:
        yield Check("uploads", "fail", str(error), "ls -la uploads/.incoming")
        return
    if sources:
        detail = terminal.text("d_cut_off", sources=", ".join(sources))
        yield Check("uploads", "warn", detail, f"wenyuan refresh {sources[0]}", {"sources": sources})


def _twins(terminal: Terminal, library: Library) -> Iterator[Check]:
    """Documents that are in several sources; yields nothing without any."""
    pairs = library.catalog.same_contents()
    if not pairs:
        return
    told = [terminal.text("d_twin", count=count, one=one, other=other) for one, other, count in pairs[:_SHOWN_TWINS]]
    if len(pairs) > _SHOWN_TWINS:
        told.append(terminal.text("d_twins_more", count=len(pairs) - _SHOWN_TWINS))
    more = {"pairs": [{"sources": [one, other], "documents": count} for one, other, count in pairs]}
    detail = ("；" if terminal.language == "zh" else "; ").join(told)
    yield Check("twins", "warn", detail, f"wenyuan source remove {pairs[0][1]}", more)


def _reading(terminal: Terminal, library: Library) -> Iterator[Check]:
    """The documents with the lowest fidelity; yields nothing where all are good or none was measured."""
    worst = [one for one in library.catalog.worst_read(_WORST) if one[2] < _READ_WELL]
    if not worst:
        return
    told = [f"{legible(PurePosixPath(unquote(uri)).name)} {score:.0%}" for _, uri, score in worst]
    more = {"documents": [{"source_id": source, "uri": uri, "score": score} for source, uri, score in worst]}
    detail = terminal.text("d_read_badly", documents=("；" if terminal.language == "zh" else "; ").join(told))
    yield Check("reading", "warn", detail, f"wenyuan document list --source {worst[0][0]}", more)


def _floor(terminal: Terminal, library: Library) -> Iterator[Check]:
    from wenyuan.core.scoring.answerable import ABSTAIN

    measured = library.catalog.value("floor") or {}
    modes = {mode: value for mode, value in measured.items() if mode in ("hybrid", "keyword-only")}
    if modes:
        search = library.settings.search
        least = ABSTAIN[search.abstain] if search.floor is None else search.floor
        told = "d_least" if search.floor is None else "d_least_score"
        yield Check("floor", "ok", terminal.text(told, least=f"{least:.2f}"), more={"least": least, "known": modes})
        if library.encoder is not None and library.catalog.unlabelled():
            yield Check("labels", "warn", terminal.text("d_unlabelled"), "wenyuan reembed")
    elif library.catalog.counts()["passages"]:
        unfinished = library.catalog.value("reembedded")  # it was killed after the change of encoders
        mend = "wenyuan reembed" if unfinished else "wenyuan ingest --all"
        yield Check("floor", "warn", terminal.text("d_unmeasured"), mend)
    else:
        yield Check("floor", "ok", terminal.text("d_unmeasured"))


def _scanner(terminal: Terminal, library: Library) -> Iterator[Check]:
    """Whether the scanner gives a verdict, on a harmless text; yields nothing without one."""
    scanner = library.ingestion.ingester.scanner
    if scanner is None:
        return
    verdict = scanner.scan(b"wenyuan doctor", "wenyuan-doctor.txt")
    if verdict.action != "accept":
        detail = terminal.text("d_scanner_refuses", scanner=scanner.name, reason=verdict.reason)
        yield Check("scanner", "fail", detail)
        return
    aside = sum(1 for _ in library.quarantine)
    detail = terminal.text("d_scanner_answers", scanner=scanner.name)
    if aside:
        detail += terminal.text("d_set_aside", count=aside)
    yield Check("scanner", "ok", detail, "wenyuan quarantine list" if aside else "", {"quarantine": aside})


def _quarantine(terminal: Terminal, library: Library) -> Iterator[Check]:
    """Files that were set aside and whose copies are gone; yields nothing without any."""
    if lost := library.quarantine.lost():
        detail = terminal.text("d_aside_lost", count=len(lost))
        yield Check("quarantine", "warn", detail, "wenyuan quarantine list", {"lost": list(lost)})


def _disk(terminal: Terminal, *, catalog: bool, index: bool) -> Check:
    """Free space, and the size of what is in the folder: catalog, index, or neither."""
    folder = terminal.folder
    sizes = {"free": shutil.disk_usage(folder).free}
    if catalog:
        sizes["catalog"] = sum(_size(file) for file in folder.glob("catalog.db*"))
    if index:
        sizes["index"] = sum(_size(file) for file in (folder / "index").rglob("*"))
    shown = [terminal.text(f"d_size_{name}", size=human(size)) for name, size in reversed(sizes.items())]
    low = sizes["free"] < _LOW_DISK
    return Check("disk", "warn" if low else "ok", ", ".join(shown), "df -h" if low else "", sizes)


def _size(file: Path) -> int:
    try:
        return file.stat().st_size if file.is_file() else 0
    except OSError:
        return 0  # it was replaced while we looked


def human(size: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


# ``doctor``: is everything in order, and if not, what helps?


_STYLES = {"ok": "green", "warn": "yellow", "fail": "bold red"}


def doctor(
    ctx: typer.Context,
    new_id: Annotated[
        bool, typer.Option("--new-id", help="First give a copied library an id of its own. 为复制的知识库换新标识")
    ] = False,
    new_key: Annotated[
        bool,
        typer.Option(
            "--new-key", help="First make a new pseudonym.key in the place of a lost one. 为遗失的密钥另造新的"
        ),
    ] = False,
    new_counts: Annotated[
        bool,
        typer.Option(
            "--new-counts", help="First go on without the counts of a lost tasks.db. 不再等待遗失的任务计数"
        ),
    ] = False,
) -> None:
    """Check the installation and the library; every fault comes with the command that helps.

    检查安装与知识库，并给出处理命令。

    Example 示例:
      wenyuan doctor
      wenyuan doctor --json
      wenyuan doctor --new-key
    """
    from rich.text import Text

    terminal: Terminal = ctx.obj
    if new_key:
        _renew_key(terminal)
    if new_counts:
        with opened(terminal) as found:
            found.renew_counts()
        terminal.say("d_new_counts")
    if new_id:
        with opened(terminal) as found:
            terminal.say("d_new_id", name=found.catalog.renew_id())
    results = []
    for check in checks(terminal):
        results.append(check)
        name = terminal.text(f"d_{check.name}")
        line = Text(f"{terminal.text(f'check_{check.state}')}  ", style=_STYLES[check.state])
        told = terminal.text("d_name", name=name, detail=check.detail)
        terminal.show(line.append(told, style="default"), wrap=False)
        if check.next:
            terminal.show(f"      {terminal.text('next')}{check.next}", wrap=False)
    states = [check.state for check in results]
    worst = next((state for state in ("fail", "warn") if state in states), "ok")
    terminal.document({"status": worst, "checks": [asdict(check) for check in results]})
    terminal.show(terminal.text(f"doctor_{worst}", count=states.count(worst)))
    raise typer.Exit(FAILED if worst == "fail" else OK)


def _renew_key(terminal: Terminal) -> None:
    from wenyuan.app import renew_key

    loss = renew_key(terminal.folder)
    terminal.say("d_new_key", addresses=loss.addresses, corrections=loss.corrections)
    if loss.sources:
        terminal.say("d_new_key_sources", sources=", ".join(loss.sources))


# ``encoder check``: how a model in a local directory is to be used.


_HELP = """Find out how an embedding model in a local directory is to be used.

检查本地目录中的向量模型该如何使用。

\b
Example 示例:
  wenyuan encoder check ./models/bge-m3
"""
app = typer.Typer(help=_HELP, short_help="Check an embedding model. 检查向量模型", no_args_is_help=True)


@without("library")
def check(
    ctx: typer.Context,
    folder: Annotated[
        Path,
        typer.Argument(metavar="FOLDER", help="With model.onnx and tokenizer.json. 模型目录", show_default=False),
    ],
) -> None:
    """Embed a small set of questions and answers in both languages with every pooling (first token, mean, last
    token) and the usual prefixes, say which is right, and print the settings for wenyuan.toml. Nothing is changed.

    用自带的中英文问答试算各种池化（首词元、平均、末词元）与常用前缀，指出哪种正确，并给出可粘贴到 wenyuan.toml 的设置；
    不改动任何内容。

    Example 示例:
      wenyuan encoder check ./models/bge-m3
      wenyuan encoder check ./models/granite-97m --json
    """
    from wenyuan.core.errors import InvalidRequest
    from wenyuan.encoders.checking import check_folder

    terminal: Terminal = ctx.obj
    if not folder.is_dir():
        raise InvalidRequest(msg("there is no folder {folder}", folder=folder), hint="wenyuan encoder check FOLDER")
    stage = Lines(terminal, "encoder")
    checked = check_folder(folder, lambda done, total: stage("text", done, total))
    terminal.document({"status": "SUCCESS", **document_of(checked)})
    if not terminal.as_json:
        _show(terminal, checked)


def document_of(checked: Checked) -> Mapping[str, Any]:
    """The results as JSON values."""
    ahead = checked.ahead
    return {
        "folder": str(checked.folder),
        "dimension": checked.dimension,
        "pooling_stated": checked.says,
        "settings": settings_of(checked),
        "best": _tried(checked.best),
        "as_stated": _tried(checked.stated),
        "ahead_of_next_pooling": ahead and {"mean": ahead.mean, "lower": ahead.lower, "upper": ahead.upper},
        "sure": ahead is None or ahead.verdict == "better",
        "languages_not_known": list(checked.foreign),
        "tried": [_tried(way) for way in checked.tried],
    }


def _tried(way: Tried) -> Mapping[str, Any]:
    return {
        "pooling": way.pooling, "query_prefix": way.query_prefix, "passage_prefix": way.passage_prefix,
        "found": dict(way.found), "margin": round(way.margin, 3), "unrelated": round(way.unrelated, 3),
        "identical": round(way.identical, 3),
    }  # fmt: skip


def settings_of(checked: Checked) -> Mapping[str, Any]:
    """The section ``[encoder]`` of the settings, with pooling only where the model graph does not pool."""
    best = checked.best
    return {
        "kind": "onnx_dir",
        "path": str(checked.folder),
        **({"pooling": best.pooling} if best.pooling else {}),
        "query_prefix": best.query_prefix,
        "passage_prefix": best.passage_prefix,
        "scale": list(checked.scale),
    }


def _show(terminal: Terminal, checked: Checked) -> None:
    text, best, stated = terminal.text, checked.best, checked.stated
    terminal.show(text("encoder_model", folder=checked.folder.name, dimension=checked.dimension))
    seen: dict[str, Tried] = {}
    for way in (best, *checked.tried):
        seen.setdefault(way.pooling, way)
    rows = (
        (
            text(f"encoder_pooling_{pooling or 'own'}"),
            f"{way.found['zh']:.0%}",
            f"{way.found['en']:.0%}",
            f"{way.margin:+.2f}",
        )
        for pooling, way in seen.items()
    )
    terminal.table(rows, "col_pooling", "col_zh", "col_en", "col_margin", right=(1, 2, 3))
    if checked.ahead is not None:
        sure = "encoder_sure" if checked.ahead.verdict == "better" else "encoder_unsure"
        terminal.show(text(sure, pooling=best.pooling, ahead=f"{checked.ahead.mean:+.2f}"))
    for language in checked.foreign:
        terminal.show(text(f"encoder_foreign_{language}"))
    if best is not stated:
        query, passage = (json.dumps(way, ensure_ascii=False) for way in (stated.query_prefix, stated.passage_prefix))
        used = {"pooling": stated.pooling or "–", "query": query, "passage": passage}
        terminal.show(text("encoder_otherwise", **used, margin=f"{stated.margin:+.2f}"))
    terminal.show(text("encoder_paste"))
    lines = [
        "[encoder]",
        *(f"{name} = {json.dumps(v, ensure_ascii=False)}" for name, v in settings_of(checked).items()),
    ]
    terminal.show("\n".join(lines), wrap=False)
    terminal.show(text("encoder_next"))


add_commands(app, {"check": (check, "Which pooling and prefixes are right. 检查池化与前缀")})
