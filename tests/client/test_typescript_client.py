"""The TypeScript client is made of what the server says now, has the calls of the Python client, and needs no package."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from pathlib import Path

import wenyuan
from wenyuan.client import Client

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "clients" / "typescript"


def test_its_types_are_made_of_the_document_as_it_is() -> None:
    """A digest of what the client needs of it stands in the file; without Node it can be compared."""
    script = [sys.executable, str(ROOT / "scripts" / "make_typescript_types.py"), "--check"]
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_it_has_the_calls_of_the_python_client() -> None:
    """Under the same names in camelCase, and an answer as events besides."""
    text = (FOLDER / "src" / "client.ts").read_text("utf-8")
    body = text[text.index("export class Client ") : text.index("export class AgentClient")]
    calls = set(re.findall(r"^  (?:async )?\*?([a-z]\w*)\(", body, re.MULTILINE)) - {"constructor"}
    ours = {name for name, _ in inspect.getmembers(Client, inspect.isfunction) if not name.startswith("_")} - {
        "close"
    }
    camel = {re.sub(r"_([a-z])", lambda found: found[1].upper(), name) for name in ours}
    assert calls == camel | {"answerEvents"}


def test_it_needs_no_package_and_says_what_it_is() -> None:
    """No dependency at run time; version, licence and Node stand in its manifest, all that is needed to build it in a lock."""
    told = json.loads((FOLDER / "package.json").read_text("utf-8"))
    assert not {"dependencies", "peerDependencies", "optionalDependencies"} & set(told)
    assert (told["version"], told["license"], told["type"]) == (wenyuan.__version__, "Apache-2.0", "module")
    assert set(told["exports"]["."]) == {"types", "default"}
    assert told["engines"]["node"]
    assert (FOLDER / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    lock = json.loads((FOLDER / "package-lock.json").read_text("utf-8"))
    assert lock["packages"][""]["devDependencies"] == told["devDependencies"]
    assert all(one.get("integrity") and one.get("dev") for name, one in lock["packages"].items() if name)
