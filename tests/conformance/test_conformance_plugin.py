"""The pytest plug-in, used as an implementer uses it: in a pytest of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from broken import FAIL_HEADER, FAIL_VARIABLE, Reference, Says422, serving
from wenyuan.conformance.extra_cases import EXTRAS
from wenyuan.conformance.outline_cases import OUTLINE

HOME = Path(__file__).parents[2]
PATHS = os.pathsep.join(map(str, (HOME / "src", HOME / "tests" / "support")))
SUITE = ("--pyargs", "wenyuan.conformance.suite")
VALUES = sum(not case.needs_bytes for case in EXTRAS)


def pytest_run(where: Path, *arguments: str) -> tuple[int, str]:
    """Exit code and output of a pytest in `where`, with this plug-in and no other."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    environment |= {"PYTHONPATH": PATHS, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "wenyuan.conformance.plugin", "-W", "error", "-p", "no:cacheprovider",
         "--rootdir", str(where), "-c", os.devnull, *arguments],
        cwd=where, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def counts(output: str) -> dict[str, int]:
    return {word: int(number) for number, word in re.findall(r"(\d+) (passed|failed|skipped|error)", output)}


def test_service(tmp_path: Path) -> None:
    """With a URL and a fault header the shipped module gives eleven items and one for each extra case."""
    with serving(Reference()) as url:
        code, output = pytest_run(
            tmp_path, *SUITE, "--wenyuan-url", url, "--wenyuan-fault-header", f"{FAIL_HEADER}: 1"
        )
    assert (code, counts(output)) == (0, {"passed": len(OUTLINE) + len(EXTRAS)}), output


def test_liar(tmp_path: Path) -> None:
    """A case that fails is one failed item, whose message is the detail and no stack."""
    with serving(Says422()) as url:
        code, output = pytest_run(tmp_path, *SUITE, "--wenyuan-url", url, "-k", "TC-DP3", "-v",
                                  "--wenyuan-fault-header", f"{FAIL_HEADER}: 1")  # fmt: skip
    assert code == 1
    assert counts(output) == {"passed": 9, "failed": 2}, output
    assert "test_outline[TC-DP3-07] FAILED" in output
    assert "expected HTTP 400; got HTTP 422" in output
    assert "bench.py" not in output


def test_object(tmp_path: Path) -> None:
    """A Python object gets the items that do not send bytes."""
    code, output = pytest_run(
        tmp_path, *SUITE, "--wenyuan-python", "broken:PythonDict", "--wenyuan-fault-env", f"{FAIL_VARIABLE}=1"
    )
    assert (code, counts(output)) == (0, {"passed": len(OUTLINE) + VALUES}), output


def test_own_class(tmp_path: Path) -> None:
    """A class of one's own and a fixture that starts the service do without options."""
    (tmp_path / "test_mine.py").write_text(
        "import broken, pytest\n"
        "from wenyuan.conformance import HeaderFault, HttpTarget\n"
        "from wenyuan.conformance.plugin import ConformanceSuite\n"
        "@pytest.fixture(scope='session')\n"
        "def wenyuan_target():\n"
        "    with broken.serving(broken.Reference()) as url:\n"
        "        yield HttpTarget(url)\n"
        "@pytest.fixture(scope='session')\n"
        f"def wenyuan_fault(): return HeaderFault('{FAIL_HEADER}', '1')\n"
        "class TestContract(ConformanceSuite): pass\n"
        "def test_other(): pass\n"
    )
    code, output = pytest_run(tmp_path)
    assert (code, counts(output)) == (0, {"passed": len(OUTLINE) + len(EXTRAS) + 1}), output


def test_own_object(tmp_path: Path) -> None:
    """A fixture that gives a Python object skips, by name, what cannot be sent to one."""
    (tmp_path / "test_mine.py").write_text(
        "import broken, pytest\n"
        "from wenyuan.conformance import EnvFault, PythonTarget\n"
        "from wenyuan.conformance.plugin import ConformanceSuite\n"
        "@pytest.fixture(scope='session')\n"
        "def wenyuan_target(): return PythonTarget(broken.PythonReference())\n"
        "@pytest.fixture(scope='session')\n"
        f"def wenyuan_fault(): return EnvFault('{FAIL_VARIABLE}', '1')\n"
        "class TestContract(ConformanceSuite): pass\n"
    )
    code, output = pytest_run(tmp_path)
    expected = {"passed": len(OUTLINE) + VALUES, "skipped": len(EXTRAS) - VALUES}
    assert (code, counts(output)) == (0, expected), output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "give --wenyuan-url URL or --wenyuan-python"),
        (("--wenyuan-url", "ftp://x"), "must begin with http"),
        (("--wenyuan-python", "broken:nothing"), "cannot be loaded"),
        (("--wenyuan-python", "broken:PythonDict", "--wenyuan-fault-command", "true"), "needs --wenyuan-restore"),
        (("--wenyuan-python", "broken:PythonDict", "--wenyuan-fault-env", "x"), "NAME=VALUE"),
    ],
)
def test_wrong_options(tmp_path: Path, options: tuple[str, ...], message: str) -> None:
    """Missing or malformed options are errors that say what to give, never skipped items."""
    code, output = pytest_run(tmp_path, *SUITE, "-k", "TC-DP3-01", *options)
    assert code == 1
    assert "skipped" not in output
    assert message in output


def test_no_fault_switch(tmp_path: Path) -> None:
    """Without a fault switch TC-DP3-06 is a failed item that says how to give one."""
    code, output = pytest_run(tmp_path, *SUITE, "--wenyuan-python", "broken:PythonDict", "-k", "TC-DP3")
    assert (code, counts(output)) == (1, {"passed": 10, "failed": 1})
    assert "--fault-command" in output


def test_unused_plugin_is_light(tmp_path: Path) -> None:
    """A pytest run that tests nothing of the kind imports the plug-in's one module and no other of the kit."""
    (tmp_path / "test_else.py").write_text(
        "import sys\n"
        "def test_else():\n"
        "    mine = sorted(m for m in sys.modules if m.startswith('wenyuan'))\n"
        "    light = {'wenyuan', 'wenyuan.core', 'wenyuan.core.errors', 'wenyuan.core.version'}\n"
        "    assert set(mine) - light == {'wenyuan.conformance', 'wenyuan.conformance.plugin'}, mine\n"
    )
    code, output = pytest_run(tmp_path)
    assert code == 0, output
