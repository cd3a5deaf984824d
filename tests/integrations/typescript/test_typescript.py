"""The TypeScript client on Node and in Chromium, against a real server, and against services that are none.

It is built by ``make test-typescript``; where there is no Node, or its packages are not installed, these tests are skipped.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from answer_library import DUTY, QUESTION, answering
from chromium import started
from console_door import served
from governed_door import key
from liars_server import lying
from listening import listening

CLIENT = Path(__file__).parents[3] / "clients" / "typescript"
NODE = shutil.which("node")


@dataclass
class World:
    url: str
    keys: dict[str, str]

    def environment(self) -> dict[str, str]:
        told = {"WENYUAN_URL": self.url, "WENYUAN_KEY": self.keys["search"], "WENYUAN_KEYS": json.dumps(self.keys)}
        return {**os.environ, **told}


@contextmanager
def world(folder: Path, language: str, **settings: Any) -> Iterator[World]:
    """A server that needs keys over a library in a language, with a language model behind it."""
    with lying() as model, answering(folder, language, model) as library:
        model.begin("perfect")
        library.catalog.put_source(wenyuan.Source(source_id="inbox", copyright="allow"))
        keys = {
            "all": key(library, "retrieve", "search", "registry", "ingest"),
            "search": key(library, "retrieve", "search"),
            "retrieve": key(library, "retrieve"),
        }
        with served(library, needs_keys=True, **settings) as url:
            yield World(url, keys)


@pytest.fixture(scope="module")
def built() -> Path:
    """The folder of the client, with what it is published as."""
    tsc = CLIENT / "node_modules" / ".bin" / "tsc"
    if NODE is None or not tsc.exists():
        pytest.skip("the TypeScript client is not installed: make test-typescript, on a machine with Node")
    done = subprocess.run([tsc, "-p", CLIENT / "tsconfig.json"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    return CLIENT


def node(*arguments: object, cwd: Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    assert NODE is not None
    return subprocess.run([NODE, *map(str, arguments)], cwd=cwd, env=env, capture_output=True, text=True, timeout=300, check=False)  # fmt: skip


def passed(done: subprocess.CompletedProcess[str], least: int) -> None:
    """So many tests of Node passed, and none failed or was skipped."""
    counts = {
        name: int(number)
        for name, number in re.findall(r"^# (pass|fail|skipped|cancelled) (\d+)$", done.stdout, re.MULTILINE)
    }
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert counts["pass"] >= least
    assert (counts["fail"], counts["skipped"], counts["cancelled"]) == (0, 0, 0)


def test_services_that_are_none_break_off_or_lie(built: Path) -> None:
    """HTML, FAILED with 500, cut streams, redirects, 429, aborts: an error of the client's own, and never an empty answer."""
    passed(node("--test", "--test-reporter=tap", "test/hostile.test.mjs", cwd=built), 25)


def test_every_call_of_a_real_server(built: Path, tmp_path: Path) -> None:
    with world(tmp_path, "en") as there:
        passed(node("--test", "--test-reporter=tap", "test/real.test.mjs", cwd=built, env=there.environment()), 6)


def project(built: Path, folder: Path) -> Path:
    """Somebody's project in strict TypeScript that has the package as npm packs it."""
    packed = subprocess.run(["npm", "pack", "--ignore-scripts", "--json", "--pack-destination", str(folder)], cwd=built, capture_output=True, text=True, check=True)  # fmt: skip
    (told,) = json.loads(packed.stdout)
    inside = {one["path"].partition("/")[0] for one in told["files"]}
    assert inside == {"dist", "LICENSE", "README.md", "README.zh.md", "package.json"}
    home = folder / "project" / "node_modules"
    shutil.unpack_archive(folder / told["filename"], folder / "unpacked", filter="data")
    home.mkdir(parents=True)
    (folder / "unpacked" / "package").rename(home / "wenyuan-client")
    (home / "@types").symlink_to(built / "node_modules" / "@types")
    (home / "undici-types").symlink_to(built / "node_modules" / "undici-types")
    options = {
        "target": "ES2022", "module": "NodeNext", "moduleResolution": "NodeNext", "strict": True, "outDir": "out", "types": ["node"],
        "exactOptionalPropertyTypes": True, "noUncheckedIndexedAccess": True, "noPropertyAccessFromIndexSignature": True, "skipLibCheck": True,
    }  # fmt: skip
    (home.parent / "tsconfig.json").write_text(json.dumps({"compilerOptions": options, "include": ["*.ts"]}), "utf-8")
    (home.parent / "package.json").write_text('{"type": "module"}', "utf-8")
    return home.parent


PAGES = {"en": "README.md", "zh": "README.zh.md"}


@pytest.fixture(scope="module")
def examples(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The examples of both front pages as they stand there, in strict TypeScript, from the packed package."""
    folder = project(built, tmp_path_factory.mktemp("project"))
    for language, page in PAGES.items():
        blocks = re.findall(r"```ts\n(.*?)```", (CLIENT / page).read_text("utf-8"), re.DOTALL)
        assert len(blocks) == 2
        for number, block in enumerate(blocks):
            (folder / f"{language}{number}.ts").write_text(block, "utf-8")
    tsc = built / "node_modules" / ".bin" / "tsc"
    done = subprocess.run([tsc, "-p", folder], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    return folder


@pytest.mark.parametrize("language", PAGES)
def test_the_examples_of_the_front_page_run(examples: Path, tmp_path: Path, language: str) -> None:
    """What is found is printed; a key that does not count, and a server that is gone, end it with nothing printed as found."""
    with world(tmp_path, language) as there:
        environment = there.environment()
        first = node(f"out/{language}0.js", DUTY[language], cwd=examples, env=environment)
        assert (first.returncode, first.stderr) == (0, "")
        assert DUTY[language] in first.stdout
        events = node(f"out/{language}1.js", cwd=examples, env=environment)
        assert (events.returncode, events.stderr) == (0, "")
        assert DUTY[language] in events.stdout.splitlines()[-1]
        refused = node(f"out/{language}0.js", cwd=examples, env={**environment, "WENYUAN_KEY": "wrong"})
        assert (refused.returncode, refused.stdout) == (1, "")
        assert "NotPermitted" in refused.stderr
    gone = node(f"out/{language}0.js", cwd=examples, env=environment)
    assert (gone.returncode, gone.stdout) == (1, "")
    assert "knowledge service 127.0.0.1" in gone.stderr


PAGE = """<!doctype html><meta charset="utf-8"><script type="module">
import { Client } from "./index.js";
window.asked = async (url, key, query, more) => {
  try {
    const found = await new Client(url, { key, retries: 0 }).retrieveFragments(query, more ?? {});
    return found.map((one) => one.content);
  } catch (error) {
    return `${error.name}: ${error.message}; ${error.requestId !== undefined}`;
  }
};
window.told = async (url, key, query) => {
  const names = [];
  for await (const one of new Client(url, { key }).answerEvents(query)) names.push(one.event);
  return names;
};
window.ready = true;
</script>"""


@contextmanager
def site(folder: Path) -> Iterator[str]:
    """A site with the client and a page that uses it."""
    shutil.copytree(CLIENT / "dist", folder)
    (folder / "index.html").write_text(PAGE, "utf-8")

    class Files(SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None: ...

    with listening(ThreadingHTTPServer(("127.0.0.1", 0), partial(Files, directory=str(folder)))) as url:
        yield url


def test_a_page_in_a_browser(built: Path, tmp_path: Path) -> None:
    """From a site that the settings name: fragments, refusals with their request's id, events; from any other: nothing."""
    with (
        started() as browser,
        site(tmp_path / "site") as origin,
        world(tmp_path, "en", allowed_origins=(origin,)) as there,
    ):
        page = browser.new_page()
        page.goto(f"{origin}/index.html")
        page.wait_for_function("window.ready")
        ask = partial(page.evaluate, "([url, key, query, more]) => asked(url, key, query, more)")
        assert any("24 hours" in one for one in ask([there.url, there.keys["search"], QUESTION["en"], None]))
        assert ask([there.url, "wrong", QUESTION["en"], None]).endswith("; true")
        assert ask([there.url, there.keys["search"], QUESTION["en"], {"domain": "nowhere"}]).startswith(
            "InvalidRequest: "
        )
        told = page.evaluate(
            "([url, key, query]) => told(url, key, query)", [there.url, there.keys["search"], QUESTION["en"]]
        )
        assert told[0] == "stage"
        assert told[-1] == "answer"
        other = browser.new_page()
        other.goto(f"{origin.replace('127.0.0.1', 'localhost')}/index.html")
        other.wait_for_function("window.ready")
        said = other.evaluate(
            "([url, key, query]) => asked(url, key, query)", [there.url, there.keys["search"], QUESTION["en"]]
        )
        assert said.startswith("RetrievalFailed: "), said
        assert "no answer" in said


def test_the_types_are_those_of_the_server(built: Path) -> None:
    """Made anew of the document as it is now, the committed file comes out."""
    before = (CLIENT / "src" / "openapi.ts").read_text("utf-8")
    script = Path(__file__).parents[3] / "scripts" / "make_typescript_types.py"
    made = subprocess.run([sys.executable, script, "--print"], capture_output=True, text=True, check=True)
    assert made.stdout == before
