"""Plugins at every extension point: they are used by their name, and what is wrong with one is named."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from command_line import runner
from other_packages import install_package
from wenyuan import plugins
from wenyuan.app import open_encoder
from wenyuan.core.errors import ConfigError, DocumentRejected
from wenyuan.i18n.translation import translated
from wenyuan.readers.process import ReadingLimits
from wenyuan.readers.sandbox import Sandbox
from wenyuan.settings import load_settings

Install = Callable[..., None]
CODE = """
import hashlib
import sys
from wenyuan.core.model import Block, Document
from wenyuan.core.ports import ModelUse
from wenyuan.encoders.checking import HashingEncoder
from wenyuan.engines.memory import MemoryEngine

NOT_A_FUNCTION = 7
ASKED = []


def read(content, *, uri, name):
    text = content.decode()
    if text == "forever":
        while True:
            pass
    if text == "hoard":
        return (bytes(1 << 40),)
    if text == "wrong":
        return ("no document",)
    if text == "many":
        block = [Block(kind="paragraph", start=n, end=n + 1) for n in range(1_000)]
        return (Document(uri=uri, title=name, text="x" * 1_000, blocks=tuple(block), sha256="0" * 64),)
    if text == "module":
        return read(b"imported" if "odd_reader" in sys.modules else b"not imported", uri=uri, name=name)
    blocks = (Block(kind="paragraph", start=0, end=len(text)),)
    return (Document(uri=uri, title=name, text=text, blocks=blocks, sha256=hashlib.sha256(content).hexdigest()),)


class Engine(MemoryEngine):
    def __init__(self, opening):
        super().__init__(opening.spec)
        self.name, self.opening = "odd", opening


def encoder(settings):
    return HashingEncoder(dimension=settings.dimension)


class Reranker:
    fingerprint = "odd"

    def __init__(self, settings):
        self.batch = settings.batch

    def rerank(self, query, texts, *, deadline):
        return [1.0 if "pump" in text else 0.0 for text in texts]

    def close(self):
        pass


class Judge:
    model = fingerprint = "odd"
    local = True

    def __init__(self, settings, budget):
        self.budget = budget

    def sufficiency(self, question, passages, *, deadline):
        return 1.0

    def use(self):
        return ModelUse()

    def close(self):
        ASKED.append("closed")


def nothing(*_):
    return object()
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Installs packages in a folder of the import path."""
    folder = tmp_path / "packages"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)

    def installed(name: str, groups: Mapping[str, Mapping[str, str]], code: str = CODE, **more: str) -> None:
        install_package(folder, name, groups, code, **more)
        plugins._installed.cache_clear()

    yield installed
    for module in [name for name in sys.modules if name.startswith("odd_")]:
        del sys.modules[module]


def test_every_kind_of_model_and_engine_may_be_a_plugin(install: Install, tmp_path: Path) -> None:
    """Chosen by the setting that names one, and given its part of the settings; a library with all four answers."""
    entries = {"engines": "Engine", "encoders": "encoder", "rerankers": "Reranker", "judges": "Judge"}
    install("odd-parts", {f"wenyuan.{point}": {"odd": f"odd_parts:{name}"} for point, name in entries.items()})
    (tmp_path / "a.md").write_text(
        "# Pump\n\nThe spare pump stands behind the boiler.\n\n# 泵\n\n备用水泵每月试运行。\n"
    )
    options: dict[str, Any] = {
        "engine": "odd", "encoder": {"kind": "odd", "dimension": 96}, "reranker": {"kind": "odd", "batch": 3, "timeout": 30},
        "judge": {"dialect": "odd"}, "search": {"deadline": 50},
    }  # fmt: skip
    with wenyuan.open(tmp_path / "library", create=True, **options) as library:
        library.add(wenyuan.Source(source_id="a", path=str(tmp_path / "a.md")))
        assert library.search("spare pump").hits
        assert library.search("备用水泵").hits
        assert library.engine.name == "odd"
        assert library.engine.opening.folder == tmp_path / "library" / "index"  # type: ignore[attr-defined]
        assert library.encoder is not None
        assert library.encoder.fingerprint.dimension == 96
    assert sys.modules["odd_parts"].ASKED == ["closed"]


def test_a_setting_names_the_plugins_that_it_could_have_meant(install: Install, tmp_path: Path) -> None:
    """In the message of a name that is not known, after the program's own, in both languages."""
    install("odd-parts", {"wenyuan.engines": {"odd": "odd_parts:Engine"}})
    with pytest.raises(ConfigError) as caught:
        load_settings(tmp_path, engine="od")
    assert (
        caught.value.message
        == "engine: Input should be 'local', 'memory', 'postgres', 'milvus', 'opensearch' or 'odd'"
    )
    assert translated(caught.value.message).startswith("engine：应为以下之一")
    assert load_settings(tmp_path, engine="odd").engine == "odd"


@pytest.mark.parametrize("setting", ["engine", "encoder.kind", "reranker.kind", "judge.dialect"])
def test_a_name_of_nobody_is_refused(setting: str, tmp_path: Path) -> None:
    """Where no plugin is installed, with the list of the program's own."""
    section, _, name = setting.partition(".")
    with pytest.raises(ConfigError, match=r"Input should be '.*' or '"):
        load_settings(tmp_path, **{section: {name: "unheard"} if name else "unheard"})


def test_a_reader_is_run_in_the_reading_process(install: Install) -> None:
    """Never in this one; its name is the suffix, in capitals, too."""
    install("odd-reader", {"wenyuan.readers": {"odd": "odd_reader:read"}})
    with Sandbox() as sandbox:
        outcome = sandbox.read(b"module", uri="u:x", name="A.ODD")
    assert outcome.isolated
    assert outcome.documents[0].text == "imported"
    assert "odd_reader" not in sys.modules


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("forever", "processor time"),
        ("hoard", "more memory than is allowed"),
        ("wrong", "the plugin odd (odd-reader 1) gave a str, which is no document"),
        ("many", "it has 1,000 parts; at most 500 are read"),
        ("", "the file is empty"),
        ("x" * 3_000, "at most 2,000 are read"),
    ],
)
def test_a_reader_is_bounded_as_any_other(install: Install, content: str, reason: str) -> None:
    """Time, memory, size and parts; what it gives must be documents. The next file is read."""
    install("odd-reader", {"wenyuan.readers": {"odd": "odd_reader:read"}})
    limits = ReadingLimits(cpu_seconds=1.0, wall_seconds=60.0, blocks=500, max_bytes=2_000)
    with Sandbox(limits) as sandbox:
        with pytest.raises(DocumentRejected) as caught:
            sandbox.read(content.encode(), uri="u:x", name="a.odd")
        assert reason in str(caught.value)
        assert sandbox.read(b"fine", uri="u:x", name="b.odd").documents[0].text == "fine"


FAULTS: dict[str, tuple[Mapping[str, Mapping[str, str]], str, str]] = {
    "not importable": (
        {"wenyuan.engines": {"odd": "odd_nowhere:Engine"}},
        "the plugin odd (odd-parts 1) cannot be imported: ModuleNotFoundError: No module named 'odd_nowhere'",
        "odd_nowhere:Engine",
    ),
    "no such function": (
        {"wenyuan.engines": {"odd": "odd_parts:Nothing"}}, "cannot be imported: AttributeError", "odd_parts:Nothing",
    ),
    "not callable": (
        {"wenyuan.engines": {"odd": "odd_parts:NOT_A_FUNCTION"}}, "leads to a int, which cannot be called", "odd_parts:NOT",
    ),
    "a name of the program": (
        {"wenyuan.engines": {"memory": "odd_parts:Engine"}}, "takes a name that the program has itself", "uninstall one of them: odd-parts",
    ),
    "another version of the port": (
        {"wenyuan.engines.2": {"odd": "odd_parts:Engine"}},
        "is written for wenyuan.engines.2; this program has wenyuan.engines",
        "install a version of odd-parts that is written for wenyuan.engines",
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_wrong_with_a_plugin_is_named_where_it_is_used(install: Install, tmp_path: Path, fault: str) -> None:
    """With the package, and what to do; the same stands in the report of the doctor, as a failure."""
    groups, message, hint = FAULTS[fault]
    install("odd-parts", groups)
    (name,) = next(iter(groups.values()))
    with pytest.raises(ConfigError) as caught:
        wenyuan.open(tmp_path / "library", create=True, engine=name, encoder={"kind": "none"})
    assert message in caught.value.message
    assert hint in caught.value.hint
    assert translated(caught.value.message) != caught.value.message
    failed = [check for check in doctor(tmp_path) if check["name"] == "plugins"]
    assert [check["state"] for check in failed] == ["fail"]
    assert message in failed[0]["detail"]
    assert hint in failed[0]["next"]


def doctor(folder: Path) -> list[dict[str, Any]]:
    run = runner(folder / "own")
    run("init")
    report: list[dict[str, Any]] = json.loads(run("doctor", "--json", code=1).stdout)["checks"]
    return report


def test_two_plugins_of_one_name_are_both_named(install: Install, tmp_path: Path) -> None:
    """Neither is chosen; whoever uninstalls one has the other."""
    for package in ("odd-one", "odd-two"):
        install(package, {"wenyuan.encoders": {"odd": f"{package.replace('-', '_')}:encoder"}})
    with pytest.raises(ConfigError, match=r"odd \(odd-one 1\) and odd \(odd-two 1\) have the same name"):
        open_encoder(load_settings(tmp_path, encoder={"kind": "odd"}).encoder)


@pytest.mark.parametrize("point", plugins.EXTENSION_POINTS[2:], ids=lambda point: point.point)
def test_what_is_not_of_the_port_is_refused(install: Install, point: plugins.ExtensionPoint) -> None:
    """An engine, encoder, reranker or judge that lacks a method is refused when it is opened, with what it lacks."""
    install("odd-parts", {point.group: {"odd": "odd_parts:nothing"}})
    with pytest.raises(ConfigError, match=rf"gave a object, which is no {point.port.__name__}: it has no .*close"):
        point.make("odd", None)


def test_a_judge_that_cannot_say_what_is_missing_is_not_asked_for_it(install: Install, tmp_path: Path) -> None:
    """`judge.follow_up` is refused rather than left aside."""
    install("odd-parts", {"wenyuan.judges": {"odd": "odd_parts:Judge"}})
    with pytest.raises(ConfigError, match="the judge odd cannot say what is missing"):
        wenyuan.open(
            tmp_path / "library", create=True, encoder={"kind": "none"}, judge={"dialect": "odd", "follow_up": True}
        )


def test_a_connector_that_is_none_is_refused(install: Install, tmp_path: Path) -> None:
    """And one that takes a scheme of the program."""
    install("odd-parts", {"wenyuan.connectors": {"odd": "odd_parts:nothing", "s3": "odd_parts:nothing"}})
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"}) as library:
        with pytest.raises(ConfigError, match="which is no Connector: it has no close, fetch, list"):
            library.add(wenyuan.Source(source_id="a", path="odd://x/"))
        with pytest.raises(ConfigError, match="takes a name that the program has itself"):
            library.add(wenyuan.Source(source_id="b", path="s3://x/"))


def test_a_reader_that_cannot_be_used_is_named_for_each_file(install: Install, tmp_path: Path) -> None:
    """Not importable, or of a suffix that the program reads; other files are read."""
    install("odd-reader", {"wenyuan.readers": {"odd": "odd_nowhere:read", "md": "odd_reader:read"}})
    (tmp_path / "files").mkdir()
    for name in ("a.odd", "b.md", "c.txt"):
        (tmp_path / "files" / name).write_text("A plain sentence.\n")
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"}) as library:
        report = library.add(wenyuan.Source(source_id="a", path=str(tmp_path / "files")))
    assert report.added == 1
    reasons = {uri.rpartition("/")[2]: reason for uri, reason in report.failed.items()}
    assert "the plugin odd (odd-reader 1) cannot be imported" in reasons["a.odd"]
    assert "the plugin md (odd-reader 1) takes a name that the program has itself" in reasons["b.md"]


@pytest.mark.parametrize(
    ("group", "name", "message"),
    [
        ("wenyuan.reader", "odd", "wenyuan.reader, which is no extension point; did you mean 'wenyuan.readers'?"),
        ("wenyuan.readers", ".odd", "its name must be the suffix of a file, without its dot, in small letters"),
        ("wenyuan.encoders", "Odd", "its name must be encoder.kind, in small letters"),
    ],
)
def test_what_nothing_would_look_up_is_named(
    install: Install, tmp_path: Path, group: str, name: str, message: str
) -> None:
    """By the doctor: a group that there is not, and names that cannot be meant."""
    install("odd-reader", {group: {name: "odd_reader:read"}})
    (check,) = (check for check in doctor(tmp_path) if check["name"] == "plugins")
    assert (check["state"], message in check["detail"]) == ("fail", True), check


def test_no_plugin_is_imported_before_it_is_used(install: Install, tmp_path: Path) -> None:
    """Importing the package, reading settings and asking a library that needs none import none, and look for none."""
    entries = {point.group: {"odd": "odd_parts:read"} for point in plugins.EXTENSION_POINTS}
    install("odd-parts", entries, "raise SystemExit('imported')\n")
    (tmp_path / "a.md").write_text("# Pump\n\nThe spare pump stands behind the boiler.\n")
    code = (
        "import sys, wenyuan\n"
        "assert 'importlib.metadata' not in sys.modules and 'wenyuan.plugins' not in sys.modules\n"
        "with wenyuan.open('library', create=True, encoder={'kind': 'none'}) as library:\n"
        "    library.add(wenyuan.Source(source_id='a', path='a.md'))\n"
        "    assert library.search('pump').hits\n"
        "assert 'odd_parts' not in sys.modules\n"
    )
    path = str(tmp_path / "packages")
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": path, "PATH": "/usr/bin:/bin"}, cwd=tmp_path,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
