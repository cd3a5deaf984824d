"""Prints the licences of everything that the program is installed with, as docs/licences.md has them; refuses what may not be there.

``python scripts/licences.py [--language zh]`` in an environment that holds the program and its extras. What is needed is
followed from ``pyproject.toml``, and each licence is what the package says of itself. Exit code 1, with the packages'
names, where something that is always installed is under a licence that reaches the programs it is used in.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import re
import sys
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
SPDX: Mapping[str, str] = {
    "MIT License": "MIT", "BSD License": "BSD", "3-Clause BSD License": "BSD-3-Clause", "Apache 2.0": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0", "Apache Software License": "Apache-2.0", "ISC License": "ISC",
    "ISC License (ISCL)": "ISC", "BSD 3-Clause": "BSD-3-Clause", "Apache": "Apache-2.0",
    "BSD-3-Clause and Public-Domain": "BSD-3-Clause AND Public-Domain", "MIT, BSD": "MIT AND BSD-3-Clause",
    "BSD-3-Clause, Apache-2.0, dependency licenses": "BSD-3-Clause AND Apache-2.0",
}  # fmt: skip
"""How packages of before licence expressions say it, and the expression for it."""
IN_ITS_FILE: Mapping[str, str] = {"pysqlite3": "Zlib", "google-re2": "BSD-3-Clause"}
"""Packages that say it only in a file: what that file is."""
_REACHING = re.compile(
    r"(?<![A-Za-z])(?:AGPL|GPL|SSPL)|GNU (?:Affero )?General Public|Server Side Public", re.IGNORECASE
)
_TEXTS = {
    "en": (
        "# Licences\n\n[中文](licences.zh.md)\n\nWenyuan is under the [Apache License 2.0](../LICENSE); [NOTICE](../NOTICE) names "
        "what it holds of others. This is what is installed\nwith it, as each package says of itself; `scripts/licences.py` "
        "prints the page, and fails where something that is always\ninstalled is under the GPL, AGPL or SSPL with no other "
        "choice.",
        "Always installed", "With the extra `{}`, beside the above", "package", "licence",
    ),
    "zh": (
        "# 许可证\n\n[English](licences.md)\n\n文渊采用 [Apache 许可证 2.0](../LICENSE)；其中属于他人的部分见 [NOTICE](../NOTICE)。"
        "下表列出随它安装的软件包及其自行声明的许可证，\n由 `scripts/licences.py` 打印；必装的软件包若只能按 GPL、AGPL 或 SSPL 使用，"
        "该脚本即告失败。",
        "必装", "选装 `{}` 另外带来的", "软件包", "许可证",
    ),
}  # fmt: skip


def canonical(name: str) -> str:
    """A package's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def needed(requirements: Iterable[str]) -> dict[str, importlib.metadata.Distribution]:
    """All that these bring with them, by name.

    Raises:
        SystemExit: something of it is not installed here.
    """
    found: dict[str, importlib.metadata.Distribution] = {}
    seen: set[tuple[str, str]] = set()
    waiting = [Requirement(one) for one in requirements]
    while waiting:
        one = waiting.pop()
        name = canonical(one.name)
        try:
            found[name] = importlib.metadata.distribution(one.name)
        except importlib.metadata.PackageNotFoundError:
            raise SystemExit(f"{one.name} is not installed here, so its licence is not known") from None
        for extra in ("", *sorted(one.extras)):
            if (name, extra) in seen:
                continue
            seen.add((name, extra))
            told = [Requirement(more) for more in found[name].requires or ()]
            waiting += [more for more in told if more.marker is None or more.marker.evaluate({"extra": extra})]
    return found


def licence_of(distribution: importlib.metadata.Distribution) -> str:
    """What a package says of itself: an expression, or else its licence field in a line, or its classifiers."""
    said = distribution.metadata
    classified = [
        one.rpartition(" :: ")[2] for one in said.get_all("Classifier") or () if one.startswith("License ::")
    ]
    line = (said.get("License") or "").strip()
    short = line if line and "\n" not in line and len(line) <= 60 else ""
    by_class = " AND ".join(SPDX.get(one, one) for one in classified if one != "OSI Approved")
    told = said.get("License-Expression") or SPDX.get(short, short) or by_class
    return told or IN_ITS_FILE.get(canonical(said["Name"]), "")


def reaches(expression: str) -> bool:
    """Whether each choice that an expression leaves would bind the programs that use it. The LGPL does not."""
    return all(_REACHING.search(choice.replace("LGPL", "")) for choice in re.split(r"\s+OR\s+", expression))


def table() -> dict[str, dict[str, str]]:
    """Licences by package, under ``""`` for what is always installed and under each extra for what that adds."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    always = needed(project["dependencies"])
    out = {"": {name: licence_of(one) for name, one in always.items()}}
    # Of rapidocr the weight files are used and its code is never imported, so what that needs is not installed.
    for extra, wanted in project["optional-dependencies"].items():
        alone = [one for one in wanted if Requirement(one).name == "rapidocr"]
        more = needed(one for one in wanted if one not in alone)
        more |= {Requirement(one).name: importlib.metadata.distribution(Requirement(one).name) for one in alone}
        out[extra] = {name: licence_of(one) for name, one in more.items() if name not in always}
    return out


def page(told: Mapping[str, Mapping[str, str]], language: str) -> str:
    """The page of documentation."""
    head, always, with_extra, package, licence = _TEXTS[language]
    parts = [head]
    for extra, packages in told.items():
        rows = "\n".join(f"| {name} | {packages[name]} |" for name in sorted(packages))
        if rows:
            title = with_extra.format(extra) if extra else always
            parts.append(f"## {title}\n\n| {package} | {licence} |\n|---|---|\n{rows}")
    return "\n\n".join(parts) + "\n"


def main() -> int:
    """Print the page; returns the exit code."""
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--language", choices=("en", "zh"), default="en")
    told = table()
    print(page(told, given.parse_args().language), end="")
    unknown = sorted(name for packages in told.values() for name, licence in packages.items() if not licence)
    refused = sorted(name for name, licence in told[""].items() if licence and reaches(licence))
    for name in unknown:
        print(f"{name} does not say under which licence it is", file=sys.stderr)
    for name in refused:
        print(f"{name} is under {told[''][name]}, which may not be always installed", file=sys.stderr)
    return 1 if unknown or refused else 0


if __name__ == "__main__":
    raise SystemExit(main())
