"""Hints say how this copy was installed: no command names the program alone, which no index has."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from wenyuan.runtime import installation
from wenyuan.runtime.installation import install_command, own_pip, upgrade_command

ROOT = Path(__file__).parents[2]
UNKNOWN = "cd CHECKOUT && make demo"


@pytest.fixture
def origin(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Sets the installer's record of this copy; None: there is none."""

    def record(written: object) -> None:
        text = written if isinstance(written, str) or written is None else json.dumps(written)
        held = type("Held", (), {"read_text": lambda _self, name: text if name == "direct_url.json" else None})()
        monkeypatch.setattr(installation, "distribution", lambda _name: held)

    return record


def words(command: str) -> list[str]:
    return shlex.split(command)


def test_an_editable_folder_is_installed_as_that(origin: Any, tmp_path: Path) -> None:
    """The folder and the extra in one word, also where the path has spaces and Chinese in it."""
    folder = tmp_path / "my 文渊"
    folder.mkdir()
    origin({"url": folder.as_uri(), "dir_info": {"editable": True}})
    assert words(install_command("mcp", pip=["pip"])) == ["pip", "install", "-e", f"{folder}[mcp]"]
    assert words(install_command(beside=["langchain-core"], pip=["pip"])) == [
        "pip", "install", "-e", str(folder), "langchain-core",
    ]  # fmt: skip
    assert words(upgrade_command())[:5] == ["git", "-C", str(folder), "pull", "&&"]


def test_a_folder_is_installed_without_e(origin: Any, tmp_path: Path) -> None:
    """As `pip install .` records it."""
    origin({"url": tmp_path.as_uri(), "dir_info": {}})
    assert words(install_command("mcp", "eval", pip=["pip"])) == ["pip", "install", f"{tmp_path}[mcp,eval]"]


def test_a_wheel_is_named_by_its_address(origin: Any, tmp_path: Path) -> None:
    """A file or a download; a newer one must be fetched first."""
    wheel = tmp_path / "wenyuan-0.1.0-py3-none-any.whl"
    wheel.touch()
    for url in (wheel.as_uri(), "https://files.example/wenyuan-0.1.0-py3-none-any.whl"):
        origin({"url": url, "archive_info": {}})
        assert words(install_command("mcp", pip=["pip"])) == ["pip", "install", f"wenyuan[mcp] @ {url}"]
        assert upgrade_command().endswith("install --upgrade WHEEL")


def test_a_repository_is_named_with_its_revision(origin: Any) -> None:
    """An upgrade leaves the revision out, which would bring the same copy again."""
    vcs = {"vcs": "git", "requested_revision": "v1", "commit_id": "0" * 40}
    origin({"url": "https://git.example/wenyuan.git", "vcs_info": vcs, "subdirectory": "py"})
    address = "git+https://git.example/wenyuan.git"
    assert words(install_command("mcp", pip=["pip"])) == [
        "pip", "install", f"wenyuan[mcp] @ {address}@v1#subdirectory=py",
    ]  # fmt: skip
    assert words(upgrade_command())[-2:] == ["--upgrade", f"wenyuan @ {address}#subdirectory=py"]


@pytest.mark.parametrize("record", [None, "{", "[]", "{}", {"url": "file:///gone/away", "dir_info": {}}])
def test_where_nothing_is_known_the_checkout_is_named(origin: Any, record: object) -> None:
    """No record, a broken one, or a folder that is there no more."""
    origin(record)
    assert install_command() == UNKNOWN
    assert install_command("mcp") == f"{UNKNOWN} && .venv/bin/pip install '.[mcp]'"
    assert install_command(beside=["haystack-ai"]) == f"{UNKNOWN} && .venv/bin/pip install haystack-ai"
    assert upgrade_command() == "cd CHECKOUT && git pull && make demo"


def test_the_installer_is_that_of_this_python(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`pip` alone only where it is the one beside this interpreter: another would install elsewhere."""
    (tmp_path / "pip").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert own_pip() == (sys.executable, "-m", "pip")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert own_pip() == ("pip",)


def test_no_text_names_what_no_index_has() -> None:
    """Neither hints nor documents nor examples say `pip install wenyuan`, with an extra or without."""
    files = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/*.py"), *ROOT.glob("src/**/*.py")]
    assert len(files) > 100
    wrong = re.compile(r"pip install (?:-\S+ )*['\"]?wenyuan(?![-\w])")
    told = [file.name for file in files if wrong.search(file.read_text("utf-8"))]
    assert told == []


BARE = """
import sys
from pathlib import Path

absent = set(sys.argv[2].split(","))

class Hiding:
    def __init__(self, finder):
        self.finder = finder

    def __getattr__(self, name):
        return getattr(self.finder, name)

    def find_spec(self, name, path=None, target=None):
        return None if name.partition(".")[0] in absent else self.finder.find_spec(name, path, target)

sys.meta_path[:] = [Hiding(finder) for finder in sys.meta_path]
import wenyuan, wenyuan.cli.root, wenyuan.console
from wenyuan.server.app import create_app

folder = Path(sys.argv[1])
(folder / "a.md").write_text("# Leave\\n\\nFive days of leave are carried over.\\n", "utf-8")
with wenyuan.open(folder / "library", create=True, encoder={"kind": "hashing"}) as library:
    library.add(wenyuan.Source(source_id="a", path=str(folder / "a.md")))
    create_app(library)
    print(library.retrieve_fragments(wenyuan.RetrievalRequest(query="leave", max_results=1)).status)
"""


def test_without_any_extra_a_library_is_made_asked_and_served(tmp_path: Path) -> None:
    """None of what an extra brings is imported before it is needed."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    named = {re.split(r"[^\w.-]", one)[0].lower().replace("-", "_") for extra in extras.values() for one in extra}
    absent = {
        module
        for module, distributions in importlib.metadata.packages_distributions().items()
        if named & {one.lower().replace("-", "_") for one in distributions}
    }
    assert {"psycopg", "pymilvus", "mcp", "redis", "openpyxl"} <= absent
    done = subprocess.run(
        [sys.executable, "-c", BARE, str(tmp_path), ",".join(sorted(absent))],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "SUCCESS\n"), done.stderr
