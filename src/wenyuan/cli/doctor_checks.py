"""The checks of ``wenyuan doctor``: each has a state, and what to do when it is not ok."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from shlex import join
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from wenyuan import __version__
from wenyuan.cli.terminal import Terminal
from wenyuan.core.addresses import legible
from wenyuan.core.errors import KnowledgeError
from wenyuan.runtime.installation import install_command, own_pip

if TYPE_CHECKING:
    from wenyuan.service.library import Library


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
    yield from _plugins(terminal)
    yield _settings(terminal)
    yield from _issuer(terminal)
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
    from wenyuan.readers.ocr.weights import FILES, VERSION, find_folder, missing, read_verified

    if missing():
        return Check("ocr", "ok", terminal.text("d_no_ocr"), install_command("ocr"), {"version": None})
    try:
        for file, sha256 in FILES.values():
            read_verified(find_folder(), file, sha256)
    except KnowledgeError as error:
        return _failed(terminal, "ocr", error)
    return Check("ocr", "ok", VERSION, more={"version": VERSION})


def _plugins(terminal: Terminal) -> Iterator[Check]:
    """What other packages add to the program, and what is wrong with it; yields nothing without any."""
    from wenyuan.connectors.selection import BUILT_IN
    from wenyuan.plugins import examine, installed_plugins
    from wenyuan.readers.selection import supported_suffixes

    built_in = {"readers": [suffix[1:] for suffix in supported_suffixes()], "connectors": list(BUILT_IN)}
    sound = []
    for plugin in installed_plugins():
        try:
            examine(plugin, built_in)
        except KnowledgeError as error:
            yield _failed(terminal, "plugins", error)
        else:
            sound.append(
                {"group": plugin.group, "name": plugin.name, "package": plugin.package, "version": plugin.version}
            )
    if sound:
        detail = ", ".join("{group} {name} ({package} {version})".format_map(one) for one in sound)
        yield Check("plugins", "ok", detail, more={"plugins": sound})


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


def _issuer(terminal: Terminal) -> Iterator[Check]:
    """Who tells who somebody is; yields nothing where keys alone count, or the settings cannot be read."""
    from wenyuan.cli.doctor_issuer import faults_of_issuer
    from wenyuan.settings import load_settings

    try:
        settings = load_settings(terminal.folder).oidc
    except KnowledgeError:
        return  # the check of the settings says so
    if not settings.issuer:
        return
    faults = list(faults_of_issuer(terminal, settings))
    for state, detail, help_ in faults:
        yield Check("issuer", state, detail, help_)
    if not faults:
        yield Check("issuer", "ok", settings.issuer)


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
        for look in (
            _identity,
            _parts,
            _audit,
            _content,
            _uploads,
            _erasures,
            _twins,
            _reading,
            _floor,
            _scanner,
            _quarantine,
        ):
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
    library.audit.check_elsewhere()
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


def _erasures(terminal: Terminal, library: Library) -> Iterator[Check]:
    """Erasures that were begun and are not done, and those that are not recognised any more; yields nothing without any."""
    if unknown := library.erasures.unrecognised():
        detail = terminal.text("d_erasures_unrecognised", count=len(unknown))
        yield Check(
            "erasures", "warn", detail, "wenyuan forget person …", {"erasures": [one.erasure_id for one in unknown]}
        )
    if unfinished := library.erasures.unfinished():
        detail = terminal.text("d_erasures_unfinished", count=len(unfinished))
        problems = [one.problem for one in unfinished if one.problem]
        if problems:
            detail += f": {terminal.own(problems[0])}"
        more = {"erasures": [one.erasure_id for one in unfinished]}
        yield Check("erasures", "warn", detail, "wenyuan forget resume", more)


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
