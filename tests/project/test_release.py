"""What a release consists of: the same bytes whenever and wherever it is built, and nothing that leads nowhere."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

import wenyuan

ROOT = Path(__file__).parents[2]
MOMENT = "1700000000"


def tracked() -> list[str]:
    """The files of the project, as its history names them."""
    found = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if found.returncode:
        pytest.skip("not a checkout: which files belong to the project is not known")
    return [name for name in found.stdout.split("\0") if name]


def copied(names: list[str], folder: Path, mode: int) -> Path:
    """The files in another folder, with other dates and rights, made in the order given."""
    for name in names:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes((ROOT / name).read_bytes())
        file.chmod(mode)
        os.utime(file, (mode, mode))
    return folder


def built(kind: str, project: Path, out: Path, **env: str) -> Path:
    """The archive of a kind that the build backend makes of a project."""
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(out)],
        cwd=project, env={**os.environ, "SOURCE_DATE_EPOCH": MOMENT, **env}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (made,) = out.iterdir()
    return made


def digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """It is built of the project's files as they are now."""
    folder = tmp_path_factory.mktemp("release")
    return built("wheel", copied(tracked(), folder / "tree", 0o644), folder / "out")


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source archive of the same files."""
    folder = tmp_path_factory.mktemp("sources")
    return built("sdist", copied(tracked(), folder / "tree", 0o644), folder / "out")


def test_a_wheel_has_the_same_bytes_in_another_place_at_another_time(wheel: Path, tmp_path: Path) -> None:
    """Another folder, other dates of files, another order, another time zone and another seed of hashes."""
    tree = copied(tracked()[::-1], tmp_path / "另一处", 0o644)
    again = built("wheel", tree, tmp_path / "out", TZ="Asia/Shanghai", PYTHONHASHSEED="7")
    assert (wheel.name, digest(wheel)) == (again.name, digest(again))


def test_the_sources_alone_make_the_same_wheel(wheel: Path, sources: Path, tmp_path: Path) -> None:
    """An unpacked source archive has no history and no tag, and still knows its version."""
    with tarfile.open(sources) as packed:
        packed.extractall(tmp_path, filter="data")
    (unpacked,) = tmp_path.iterdir()
    assert unpacked.name == f"wenyuan-{wenyuan.__version__}"
    assert digest(built("wheel", unpacked, tmp_path / "out")) == digest(wheel)


def test_what_an_index_is_told_is_whole(wheel: Path) -> None:
    """Version, licence and Pythons; the description is README.md without links to files that an index does not have."""
    with zipfile.ZipFile(wheel) as packed:
        (name,) = [one for one in packed.namelist() if one.endswith(".dist-info/METADATA")]
        told = Parser().parsestr(packed.read(name).decode("utf-8"))
    assert (told["Name"], told["Version"], told["License-Expression"]) == (
        "wenyuan",
        wenyuan.__version__,
        "Apache-2.0",
    )
    assert told["Requires-Python"] == ">=3.11"
    assert told["Metadata-Version"] == "2.4"  # what indexes have taken for years
    text = str(told.get_payload())
    assert told["Description-Content-Type"] == "text/markdown"
    assert "# Wenyuan" in text and "retrieve_fragments" in text
    assert re.findall(r"\]\((?!https?:|#)[^)]*\)", text) == []


def test_a_wheel_holds_the_package_alone(wheel: Path) -> None:
    """No test, no file of the project's root, and each file of the package that is not left out on purpose."""
    with zipfile.ZipFile(wheel) as packed:
        names = packed.namelist()
    assert {name.split("/")[0] for name in names} == {"wenyuan", f"wenyuan-{wenyuan.__version__}.dist-info"}
    own = {name.removeprefix("src/") for name in tracked() if name.startswith("src/wenyuan/")}
    assert own - set(names) == set()


def test_the_sources_hold_what_builds_and_tests_them(sources: Path) -> None:
    """The package, its build, its tests and its documents; no picture of the console and no archive of an archive."""
    with tarfile.open(sources) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "Makefile", "requirements.lock", "docs/upgrade.md"} <= names
    assert {name for name in names if name.startswith(("docs/console/", ".ci/", "dist/"))} == set()
    assert sources.stat().st_size < 12 * 2**20


BELONGS = {
    ".dockerignore", ".gitignore", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile", "NOTICE",
    "README.md", "README.zh.md", "SECURITY.md", "SECURITY.zh.md", "pyproject.toml", "requirements-dev.lock", "requirements.lock",
}  # fmt: skip
FOLDERS = {".ci", "bench", "clients", "docs", "examples", "scripts", "src", "tests"}


def test_the_root_holds_what_belongs_there() -> None:
    """A file that a program left there, or somebody forgot, is found before it stays in the history."""
    roots = {name.partition("/")[0] for name in tracked()}
    assert roots == BELONGS | FOLDERS
    assert {name for name in BELONGS if not (ROOT / name).is_file()} == set()


def test_the_examples_name_the_image_of_this_version() -> None:
    """Whoever builds the image and starts it by the examples gets the same one."""
    for file in sorted((ROOT / "examples" / "deploy").iterdir()):
        named = set(re.findall(r"wenyuan:(\d[\w.]*)", file.read_text("utf-8")))
        assert named <= {wenyuan.__version__}, file.name
