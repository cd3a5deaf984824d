"""Builds what a release consists of from the commit that is checked out, twice, and checks it: ``make release``.

Into ``dist/``: the source archive and the wheel, which is built from that archive, as anybody would; a bill of materials
(CycloneDX) of an environment that the lock file and the wheel make; an in-toto statement of where they come from (SLSA
provenance 1), not signed; and ``SHA256SUMS`` of all of it. A build is refused where the second one has other bytes, where an
index would not show the description or refuse the metadata (``twine check --strict``), or where a tag of the commit names
another version. Nothing is published, tagged or signed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


def output(*command: str | Path, at: Path = ROOT, env: Mapping[str, str] | None = None) -> str:
    """What a command prints; SystemExit with its own words where it fails."""
    done = subprocess.run(
        [str(word) for word in command], cwd=at, env={**os.environ, **(env or {})}, capture_output=True, text=True, check=False
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def exported(commit: str, folder: Path) -> Path:
    """The files of a commit in a new folder, without what lies beside them untracked."""
    archive = folder / "commit.tar"
    output("git", "archive", "--format=tar", f"--output={archive}", commit)
    with tarfile.open(archive) as packed:
        packed.extractall(folder / "tree", filter="data")
    archive.unlink()
    return folder / "tree"


def built(tree: Path, out: Path, moment: str) -> list[Path]:
    """The source archive of a folder and the wheel of that archive.

    Args:
        tree: A project.
        out: A folder that is made.
        moment: Seconds since 1970 that files in the archives are dated with.
    """
    env = {"SOURCE_DATE_EPOCH": moment}
    output(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", out, at=tree, env=env)
    (sources,) = out.glob("*.tar.gz")
    with tempfile.TemporaryDirectory() as scratch, tarfile.open(sources) as packed:
        packed.extractall(scratch, filter="data")
        (unpacked,) = Path(scratch).iterdir()
        output(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", out, at=unpacked, env=env)
    (wheel,) = out.glob("*.whl")
    return [sources, wheel]


def digest(file: Path) -> str:
    """The SHA-256 of a file."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def version_of(tree: Path) -> str:
    """The version that the sources in a folder declare."""
    told: dict[str, Any] = {}
    exec((tree / "src/wenyuan/core/version.py").read_text("utf-8"), told)
    return str(told["VERSION"])


def check_tags(version: str, commit: str) -> None:
    """SystemExit where the commit is tagged as another version, or the version's tag is at another commit."""
    own = [tag for tag in output("git", "tag", "--points-at", commit).split() if tag.startswith("v")]
    if own and own != [f"v{version}"]:
        raise SystemExit(f"the commit has the tag {', '.join(own)}, and its sources say {version}")
    if not own and output("git", "tag", "--list", f"v{version}").strip():
        raise SystemExit(f"the tag v{version} is at another commit")


def bill_of_materials(python: str, tree: Path, wheel: Path, out: Path, moment: str) -> Path:
    """The CycloneDX document of a fresh environment that holds what the lock file names, and the wheel."""
    file = out / f"{'-'.join(wheel.name.split('-')[:2])}.cdx.json"
    with tempfile.TemporaryDirectory() as scratch:
        output(python, "-m", "venv", "--without-pip", scratch)
        own = Path(scratch, "bin", "python")
        pip = (
            sys.executable,
            "-m",
            "pip",
            "--disable-pip-version-check",
            "--python",
            own,
            "install",
            "--quiet",
            "--no-compile",
        )
        output(*pip, "--no-deps", "--require-hashes", "-r", tree / "requirements.lock")
        output(*pip, "--no-deps", wheel)
        output(
            sys.executable, "-m", "cyclonedx_py", "environment", "--output-reproducible", "--mc-type", "application",
            "--pyproject", tree / "pyproject.toml", "--of", "JSON", "-o", file, own, env={"SOURCE_DATE_EPOCH": moment},
        )  # fmt: skip
    return file


def provenance(files: Iterable[Path], commit: str, moment: str, version: str) -> dict[str, Any]:
    """An in-toto statement of which commit and which command made the files, for a signer to sign."""
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": file.name, "digest": {"sha256": digest(file)}} for file in files],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "https://wenyuan.invalid/make-release/v1",
                "externalParameters": {"version": version, "command": "make release"},
                "internalParameters": {"SOURCE_DATE_EPOCH": moment},
                "resolvedDependencies": [
                    {"name": "commit", "digest": {"gitCommit": commit}},
                    {"name": "scripts/release.lock", "digest": {"sha256": digest(ROOT / "scripts" / "release.lock")}},
                ],
            },
            "runDetails": {"builder": {"id": "https://wenyuan.invalid/builder/unsigned"}},
        },
    }


def main() -> None:
    """Build and check; SystemExit with the reason where something is not as it must be."""
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("--commit", default="HEAD")
    given.add_argument("--out", type=Path, default=ROOT / "dist", help="emptied first")
    given.add_argument("--python", default=sys.executable, help="whose environment the bill of materials is of")
    given.add_argument(
        "--no-materials", action="store_true", help="without the bill of materials, which needs an index"
    )
    chosen = given.parse_args()
    commit = output("git", "rev-parse", "--verify", f"{chosen.commit}^{{commit}}").strip()
    moment = output("git", "show", "-s", "--format=%ct", commit).strip()
    out = chosen.out.absolute()
    shutil.rmtree(out, ignore_errors=True)
    with tempfile.TemporaryDirectory() as scratch:
        first, second = (Path(scratch, name) for name in ("first", "another-folder"))
        for folder in (first, second):
            folder.mkdir()
        tree = exported(commit, first)
        version = version_of(tree)
        check_tags(version, commit)
        files = built(tree, out, moment)
        again = built(exported(commit, second), second / "out", moment)
        for file, other in zip(files, again, strict=True):
            if file.read_bytes() != other.read_bytes():
                raise SystemExit(f"{file.name} has other bytes when it is built again")
            print(f"{file.name}: {file.stat().st_size:,} bytes, the same twice")
        print(output(sys.executable, "-m", "twine", "--no-color", "check", "--strict", *files).strip())
        if not chosen.no_materials:
            materials = bill_of_materials(chosen.python, tree, files[1], out, moment)
            held = json.loads(materials.read_text("utf-8"))["components"]
            print(f"{materials.name}: {len(held)} components")
            files.append(materials)
    statement = out / f"wenyuan-{version}.provenance.json"
    statement.write_text(json.dumps(provenance(files, commit, moment, version), indent=2) + "\n", encoding="utf-8")
    listed = "".join(f"{digest(file)}  {file.name}\n" for file in sorted([*files, statement]))
    (out / "SHA256SUMS").write_text(listed, encoding="utf-8")
    print(f"{out}: not signed, not published. To tag: git tag -s v{version} {commit}")


if __name__ == "__main__":
    main()
