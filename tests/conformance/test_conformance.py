"""The conformance kit: what is right passes, and each liar is caught at the case named for it."""

from __future__ import annotations

import itertools
import json
import os
import socketserver
import ssl
import subprocess
import sys
import threading
import time
import unicodedata
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import broken
from broken import FAIL_HEADER, FAIL_VARIABLE, Reference, serving
from wenyuan.conformance import (
    AdapterTarget,
    CaseResult,
    CommandFault,
    EnvFault,
    HeaderFault,
    HttpTarget,
    PythonTarget,
    Report,
    export_data,
    fault_from_options,
    render,
    run,
)
from wenyuan.conformance.documents import documents, manifest, origin, request
from wenyuan.conformance.extra_cases import EXTRAS, secrets_in
from wenyuan.conformance.outline_cases import OUTLINE
from wenyuan.conformance.targets import clip
from wenyuan.conformance.uris import uri_fault
from wenyuan.core.errors import ConfigError

FAULT = HeaderFault(FAIL_HEADER, "yes")

# Which cases of the outline fail, exactly, and which extra cases fail among others.
LIARS = {
    "FailureShownAsEmpty": ("06", ""),
    "FailedWithoutReason": ("06", ""),
    "FailedWithBlankReason": ("06", ""),
    "FailedWithFragments": ("06", ""),
    "FailureIsPlainText": ("06", ""),
    "EmptyShownAsFailed": ("03", "no-result-zh"),
    "Says422": ("07 08", "json-truncated query-blank"),
    "RefusesAsResponse": ("07", "json-truncated max-results-true"),
    "RefusesInPlainText": ("", "json-empty query-null"),
    "Coerces": ("", "max-results-true max-results-float max-results-string query-number"),
    "CoercesEvenWords": ("08", "max-results-string"),
    "DefaultsEverything": (
        "07 08",
        "json-nan json-nan-in-context json-infinity json-overflow json-duplicate-keys json-array json-string "
        "json-surrogate type-text type-form type-missing context-string context-array max-results-missing "
        "max-results-zero max-results-negative max-results-false max-results-null max-results-array "
        "max-results-fraction query-whitespace query-array nested-query",
    ),
    "NeverRefuses": ("07 08", "json-truncated json-empty json-trailing json-invalid-utf8 json-gb18030 json-utf16"),
    "TakesAnySize": ("", "body-2mib"),
    "CrashesOnBadNumbers": ("", "json-nan json-infinity json-overflow"),
    "CrashesOnEverythingOdd": (
        "",
        "query-nul context-null unknown-member json-bom nested-context max-results-huge",
    ),
    "Unsorted": ("05", "all-sorted"),
    "ScoresAboveOne": ("09", "all-scores"),
    "ScoresNaN": ("01 02 04 05 09 11", "all-scores"),
    "ScoresAsText": ("01 02 04 05 09 11", "all-scores"),
    "IgnoresTheLimit": ("01 04 11", "all-limits"),
    "OneTooMany": ("01 04 11", "all-limits"),
    "OneTooFew": ("04", ""),
    "FailsWithTwo": ("04", "any-order all-limits"),
    "GenerousInContext": ("11", ""),
    "AlwaysFindsSomething": ("02 03", "no-result-zh single-result-zh"),
    "EnglishOnly": ("", "single-result-zh"),
    "CharacterSoup": ("", "single-result-zh"),
    "SourceIsAPath": ("10", "all-sources"),
    "SourceHasASpace": ("10", "all-sources"),
    "NoContent": ("01 02 04 11", ""),
    "BlankContent": ("01", "all-contents own-words"),
    "MakesThingsUp": ("01", "own-words"),
    "SaysTheWrongThing": ("", "own-words"),
    "RepeatsTheBest": ("", "unique-sources"),
    "ErrorBesideSuccess": ("01 02 03 04 11", ""),
    "StatusInLowerCase": ("01 02 03 04 05 09 10 11", ""),
    "FragmentsByName": ("01 02 03 04 05 09 10 11", ""),
    "ErrorMessageIsACode": ("01 02 03 04 05 09 10 11", ""),
    "FragmentsAreTexts": ("01 02 04 05 09 10 11", ""),
    "OddMembers": ("01 02 04 10 11", "all-sources"),
    "NotUtf8": ("01 04 05 09 10 11", ""),
    "RefusesContext": ("11", "context-unknown-keys"),
    "RefusesUnknownContext": ("", "context-unknown-keys"),
    "FailsOnContext": ("11", "context-unknown-keys"),
    "RemembersCalls": ("", "same-answer any-order"),
    "SharesItsRequest": ("", "parallel"),
    "CrashesOnFullWidth": ("", "width"),
    "TellsSecrets": ("", "no-secrets"),
    "ShowsTheStack": ("", "no-secrets"),
    "NeverRecovers": ("", "recovers"),
}
PYTHON_LIARS = {
    "PythonRaisesOnFailure": ("06", ""),
    "PythonReturnsAList": ("01 02 03 04 05 06 09 10 11", "same-answer"),
    "PythonTrustsItsCaller": ("07 08", "max-results-true query-blank context-string"),
    "PythonRefusesWithAnAnswer": ("07 08", "query-number"),
}


def failed(results: tuple[CaseResult, ...]) -> set[str]:
    return {result.id for result in results if not result.passed}


def examine(name: str, **options: object) -> Report:
    with serving(getattr(broken, name)()) as url:
        return run(HttpTarget(url), fault=FAULT, **options)


@pytest.fixture(scope="module")
def sound() -> Report:
    return examine("Reference")


class Slow(broken.Reference):
    """Answers rightly, and late."""

    def success(self, request):
        time.sleep(0.2)
        return super().success(request)


def test_a_service_that_is_slow_has_a_verdict_in_time() -> None:
    """Cases that were not asked in the time for all together fail, and say so."""
    with serving(Slow()) as url:
        report = run(HttpTarget(url), fault=FAULT, seconds=1.0)
    late = [result for result in (*report.cases, *report.extra) if "1 s for all cases together" in result.detail]
    assert late and not any(result.passed for result in late)
    assert report.exit_code == 1


@contextmanager
def dripping(beginning: bytes) -> Iterator[int]:
    """The port of a service that sends a beginning and then a byte now and then, without end."""
    ended = threading.Event()

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with suppress(ConnectionError):
                self.request.sendall(beginning)
                while not ended.wait(0.05):
                    self.request.sendall(b" ")

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True

    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            ended.set()
            server.shutdown()
            thread.join(5)


OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


@pytest.mark.parametrize(
    ("scheme", "beginning"),
    [
        ("http", OK + b"Content-Length: 100000\r\n\r\n{"),
        ("http", OK + b"\r\n{"),
        ("http", b"HTTP/1.1 200 OK\r\nX-Long: "),
        ("https", b"\x16\x03\x03\x40\x00\x02"),
    ],
    ids=["body", "body-without-length", "head", "handshake"],
)
def test_a_service_that_drips_has_a_verdict_in_time(scheme: str, beginning: bytes) -> None:
    """The time for all cases together ends within a request, too, whatever part of its answer comes byte by byte."""
    reports: list[Report] = []
    with dripping(beginning) as port:
        target = HttpTarget(f"{scheme}://127.0.0.1:{port}/ask")
        asking = threading.Thread(target=lambda: reports.append(run(target, fault=FAULT, seconds=0.5)), daemon=True)
        asking.start()
        asking.join(20)
        assert reports, "the run goes on while the service drips"
    results = (*reports[0].cases, *reports[0].extra)
    assert not any(result.passed for result in results)
    assert all("0.5 s for all cases together" in r.detail for r in results)


def test_the_services_of_adapters_end_in_time_too() -> None:
    """What is asked in another protocol is bounded as what is asked in the contract's own."""
    reports: list[Report] = []
    with dripping(OK + b"\r\n{") as port:
        target = AdapterTarget("dify", f"http://127.0.0.1:{port}/retrieval")
        asking = threading.Thread(target=lambda: reports.append(run(target, fault=FAULT, seconds=0.5)), daemon=True)
        asking.start()
        asking.join(20)
        assert reports, "the run goes on while the service drips"
    assert not any(result.passed for result in reports[0].cases)


def test_a_service_over_tls_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A certificate that is trusted is taken, and one that is not is no answer."""
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=service", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate],
        check=True, capture_output=True,
    )  # fmt: skip
    secure = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    secure.load_cert_chain(certificate, key)
    with serving(Reference(), tls=secure) as url:
        target = HttpTarget(url.replace("http://", "https://"))
        refused = target.ask(request("many"))
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        answer = target.ask(request("many"))
    assert (refused.status, answer.status) == (None, 200), answer.text
    assert "CERTIFICATE_VERIFY_FAILED" in refused.text


class FailsWith500(broken.Reference):
    """Says FAILED as it should, with a status of HTTP that says it, too."""

    def respond(self, body, content_type, failing):
        status, kind, content = super().respond(body, content_type, failing)
        return (500 if b'"FAILED"' in content else status), kind, content


def test_a_failure_under_another_status_is_mentioned() -> None:
    """The case passes, since the contract asks for the body, and the report names the status."""
    for service, said in ((FailsWith500(), True), (broken.Reference(), False)):
        with serving(service) as url:
            (case,) = run(HttpTarget(url), fault=FAULT, only=["TC-DP3-06"]).cases
        assert case.passed and ("HTTP 500" in case.detail) is said


class TestVerdicts:
    def test_reference_passes(self, sound: Report) -> None:
        """A correct service passes the eleven cases and every extra one."""
        assert sound.to_json()["passed"] == 11
        assert (failed(sound.cases), failed(sound.extra)) == (set(), set())
        assert sound.exit_code == 0

    def test_cases_are_the_outlines(self, sound: Report) -> None:
        """The report has the outline's eleven ids in the outline's order, and every extra case once."""
        assert [result.id for result in sound.cases] == [f"TC-DP3-{n:02}" for n in range(1, 12)]
        assert [result.id for result in sound.extra] == [case.id for case in EXTRAS]
        assert len({case.id for case in EXTRAS}) == len(EXTRAS)

    @pytest.mark.parametrize("name", LIARS)
    def test_liar_is_caught(self, name: str) -> None:
        """A service that is wrong in one way fails the cases for it, and of the outline no other."""
        outline, extra = LIARS[name]
        report = examine(name)
        assert failed(report.cases) == {f"TC-DP3-{n}" for n in outline.split()}
        assert set(extra.split()) <= failed(report.extra)
        assert report.exit_code == bool(outline)
        assert outline or extra

    @pytest.mark.parametrize("name", PYTHON_LIARS)
    def test_python_liar_is_caught(self, name: str) -> None:
        """A Python object that is wrong in one way fails the cases for it."""
        outline, extra = PYTHON_LIARS[name]
        report = run(PythonTarget(getattr(broken, name)()), fault=EnvFault(FAIL_VARIABLE, "1"))
        assert failed(report.cases) == {f"TC-DP3-{n}" for n in outline.split()}
        assert set(extra.split()) <= failed(report.extra)

    def test_every_case_can_fail(self) -> None:
        """No case, of the outline or extra, is without a liar that it is named for."""
        named = {f"TC-DP3-{n}" for outline, _ in LIARS.values() for n in outline.split()}
        named |= {case for _, extra in LIARS.values() for case in extra.split()}
        assert {case.id for case in (*OUTLINE, *EXTRAS)} == named

    def test_detail_of_a_failure(self) -> None:
        """The detail of a failed case says what was expected, what came, and where the rule stands."""
        (result,) = examine("FailureShownAsEmpty", only=["TC-DP3-06"]).cases
        assert "expected status FAILED" in result.detail
        assert 'got HTTP 200 {"status": "SUCCESS", "fragments": []}' in result.detail
        assert "contract §3.3, §4" in result.detail

    @pytest.mark.parametrize("name", ["PythonReference", "PythonDict", "PythonKeywords"])
    def test_python_objects_pass(self, name: str) -> None:
        """A correct object passes in each way of being called; the cases that send bytes are named, not run."""
        report = run(PythonTarget(getattr(broken, name)()), fault=EnvFault(FAIL_VARIABLE, "1"))
        assert report.to_json()["passed"] == 11
        assert failed(report.extra) == set()
        assert set(report.not_applicable) == {case.id for case in EXTRAS if case.needs_bytes}

    def test_nobody_there(self) -> None:
        """A service that does not answer fails every case, and the detail says so."""
        with serving(Reference()) as url:
            pass
        report = run(HttpTarget(url, timeout=2), fault=FAULT)
        assert report.to_json()["passed"] == 0
        assert all("no answer: ConnectionRefusedError" in result.detail for result in report.cases)
        assert failed(report.extra) == {case.id for case in EXTRAS}


class TestFaultSwitch:
    def test_none_given(self) -> None:
        """Without a fault switch TC-DP3-06 fails and says how to give one; the rest of the outline goes on."""
        with serving(Reference()) as url:
            report = run(HttpTarget(url))
        assert failed(report.cases) == {"TC-DP3-06"}
        (result,) = [r for r in report.cases if not r.passed]
        for option in ("--fault-command", "--fault-header", "--fault-env"):
            assert option in result.detail
        assert report.exit_code == 1

    def test_command(self, tmp_path: Path) -> None:
        """A command breaks the service, another mends it, and both run for each case that needs them."""
        flag = tmp_path / "故障"
        fault = CommandFault(f"touch '{flag}'", f"rm '{flag}'")
        report = run(PythonTarget(FailsWhileThere(flag)), fault=fault)
        assert failed(report.cases) | failed(report.extra) == set()
        assert not flag.exists()

    def test_command_without_restore(self, tmp_path: Path) -> None:
        """A fault that nothing mends does not spoil other cases: those that need it run last."""
        flag = tmp_path / "broken"
        report = run(PythonTarget(FailsWhileThere(flag)), fault=CommandFault(f"touch {flag}"))
        assert failed(report.cases) | failed(report.extra) == set()
        (recovers,) = [r for r in report.extra if r.id == "recovers"]
        assert "not looked at" in recovers.detail

    def test_slow_recovery_is_waited_for(self, tmp_path: Path) -> None:
        """After the restore command the next case waits until the service answers again."""
        flag = tmp_path / "broken"
        subject = FailsWhileThere(flag, slow=3)
        report = run(PythonTarget(subject), fault=CommandFault(f"touch {flag}", f"rm {flag}", settle=10))
        assert failed(report.cases) | failed(report.extra) == set()

    @pytest.mark.parametrize(
        "command", ["false", "no-such-program-here", "sh -c 'echo kaputt >&2; exit 3'", "unbalanced '"]
    )
    def test_command_that_fails(self, command: str) -> None:
        """A fault command that cannot do its work fails the case: it never counts as a fault."""
        report = run(PythonTarget(broken.PythonReference()), fault=CommandFault(command), only=["TC-DP3-06"])
        assert failed(report.cases) == {"TC-DP3-06"}
        assert "a fault switch that works" in report.cases[0].detail

    def test_restore_that_fails(self, tmp_path: Path) -> None:
        """A restore command that fails is reported, not passed over."""
        flag = tmp_path / "broken"
        fault = CommandFault(f"touch {flag}", "false")
        report = run(PythonTarget(FailsWhileThere(flag)), fault=fault, only=["TC-DP3-06"])
        assert "'false' ended with 1" in report.cases[0].detail or "false ended with 1" in report.cases[0].detail

    def test_header_for_a_python_object(self) -> None:
        """A Python object takes no header, which the detail says."""
        report = run(PythonTarget(broken.PythonReference()), fault=FAULT, only=["TC-DP3-06"])
        assert "takes no header" in report.cases[0].detail
        assert "--fault-env" in report.cases[0].detail

    def test_environment_is_put_back(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The environment variable has its former value after the run."""
        monkeypatch.setenv("WENYUAN_TEST_KEPT", "before")
        target = PythonTarget(broken.PythonReference())
        for name, before in (("WENYUAN_TEST_KEPT", "before"), ("WENYUAN_TEST_NEW", None)):
            with EnvFault(name, "on").active(target):
                assert os.environ[name] == "on"
            assert os.environ.get(name) == before

    def test_options(self) -> None:
        """Options make the switch they name."""
        assert fault_from_options() is None
        assert fault_from_options(header="X-Fail: yes: now") == HeaderFault("X-Fail", "yes: now")
        assert fault_from_options(env="A=b=c") == EnvFault("A", "b=c")
        assert fault_from_options(command="x", restore="y") == CommandFault("x", "y")

    @pytest.mark.parametrize(
        "options",
        [{"header": "no colon"}, {"env": "=x"}, {"env": "x"}, {"restore": "x"}, {"header": "A: b", "env": "A=b"}],
    )
    def test_wrong_options(self, options: dict[str, str]) -> None:
        """A malformed or contradictory switch is refused."""
        with pytest.raises(ConfigError):
            fault_from_options(**options)


class FailsWhileThere(broken.PythonDict):
    """Fails while a file is there, and `slow` times longer."""

    def __init__(self, flag: Path, slow: int = 0) -> None:
        super().__init__()
        self.flag, self.slow, self.left = flag, slow, 0

    def failing(self) -> bool:
        if self.flag.exists():
            self.left = self.slow
            return True
        self.left -= 1
        return self.left >= 0


class TestTargets:
    def test_second_path(self) -> None:
        """A URL without a path is asked at /v1/retrieve_fragments and, on 404, at /retrieve_fragments."""
        with serving(Reference(), paths=("/retrieve_fragments",)) as url:
            assert run(HttpTarget(url + "/"), fault=FAULT).exit_code == 0

    def test_given_path(self) -> None:
        """A URL with a path is asked there and nowhere else."""
        with serving(Reference(), paths=("/知识/检索?a=b", "/%E7%9F%A5/x?a=b")) as url:
            assert HttpTarget(f"{url}/知/x?a=b").ask(request("many")).status == 200
            assert HttpTarget(f"{url}/elsewhere").ask(request("many")).status == 404

    def test_no_path_at_all(self) -> None:
        """Where neither path is there, the 404 is reported."""
        with serving(Reference(), paths=("/other",)) as url:
            (result,) = run(HttpTarget(url), only=["TC-DP3-01"]).cases
        assert "HTTP 404" in result.detail

    @pytest.mark.parametrize(
        "url", ["", "127.0.0.1:80", "ftp://a/", "http://", "http://a:b/", "http://u:p@a/", "http://[::1/"]
    )
    def test_wrong_url(self, url: str) -> None:
        """What is no URL of a service is refused at once, without its password in the message."""
        with pytest.raises(ConfigError) as caught:
            HttpTarget(url)
        assert "u:p" not in str(caught.value)

    @pytest.mark.parametrize("headers", [{"A B": "x"}, {"A": "x\r\nB: y"}, {"A": "中"}, {"": "x"}])
    def test_wrong_header(self, headers: dict[str, str]) -> None:
        """A header that HTTP cannot carry is refused, and its value is not shown."""
        with pytest.raises(ConfigError) as caught:
            HttpTarget("http://127.0.0.1", headers)
        assert all(value not in str(caught.value) for value in headers.values())

    def test_headers_are_sent(self) -> None:
        """The target's own headers go with every request."""
        with serving(Reference()) as url:
            answer = HttpTarget(url, {FAIL_HEADER: "1"}).ask(request("many"))
        assert answer.body["status"] == "FAILED"

    def test_load(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """module:factory is found in the current directory; a class, a function and an object all serve."""
        (tmp_path / "kept_here.py").write_text(
            "import broken\nMade = broken.PythonReference\nready = Made()\ndef make(): return Made()\n"
        )
        monkeypatch.chdir(tmp_path)
        before = list(sys.path)
        for name in ("Made", "ready", "make"):
            target = PythonTarget.load(f"kept_here:{name}")
            assert target.ask(request("single")).body["status"] == "SUCCESS"
            assert target.name == f"kept_here:{name}"
        assert sys.path == before

    @pytest.mark.parametrize(
        "spec", ["", "broken", "broken:", ":x", "no_such_module_here:x", "broken:nothing", "broken:tokens", "math:pi"]
    )
    def test_load_fails(self, spec: str) -> None:
        """What cannot be loaded is refused with a reason."""
        with pytest.raises(ConfigError):
            PythonTarget.load(spec)

    def test_unknown_way(self) -> None:
        """An object that accepts something unknown is refused."""

        class Odd(broken.PythonReference):
            accepts = "xml"

        with pytest.raises(ConfigError, match="xml"):
            PythonTarget(Odd())

    def test_close(self) -> None:
        """Closing the target closes the object."""

        class Closable(broken.PythonReference):
            closed = False

            def close(self) -> None:
                self.closed = True

        subject = Closable()
        PythonTarget(subject).close()
        PythonTarget(broken.PythonReference()).close()
        assert subject.closed


class TestSelection:
    def test_only(self) -> None:
        """Only the cases asked for are run, and they decide the exit code."""
        report = examine("Unsorted", only=["TC-DP3-01", "TC-DP3-05", "all-sorted"])
        assert [r.id for r in report.cases] == ["TC-DP3-01", "TC-DP3-05"]
        assert [r.id for r in report.extra] == ["all-sorted"]
        assert report.exit_code == 1

    def test_extra_alone(self) -> None:
        """Where only extra cases are asked for, they decide the exit code."""
        assert examine("Unsorted", only=["all-sorted"]).exit_code == 1
        assert examine("Reference", only=["all-sorted"]).exit_code == 0

    def test_unknown(self) -> None:
        """A case that does not exist is refused, with the nearest one that does."""
        with pytest.raises(ConfigError) as caught:
            run(PythonTarget(broken.PythonReference()), only=["TC-DP3-1"])
        assert "TC-DP3-1" in caught.value.hint
        with pytest.raises(ConfigError):
            run(PythonTarget(broken.PythonReference()), only=[])

    def test_nothing_applicable(self) -> None:
        """A run in which nothing applied is no success."""
        report = run(PythonTarget(broken.PythonReference()), only=["json-nan"])
        assert (report.exit_code, report.not_applicable) == (1, ("json-nan",))


class TestReport:
    def test_json(self, sound: Report) -> None:
        """The JSON form has four members, and each result three."""
        shape = json.loads(json.dumps(sound.to_json()))
        assert list(shape) == ["passed", "failed", "cases", "extra"]
        assert (shape["passed"], shape["failed"]) == (11, 0)
        assert all(list(result) == ["id", "passed", "detail"] for result in shape["cases"] + shape["extra"])

    def test_junit(self) -> None:
        """JUnit counts the failures of each suite and takes any character."""
        results = (CaseResult("TC-DP3-01", True, "好"), CaseResult("TC-DP3-02", False, "\x00<&\ud800\ufffe"))
        root = ET.fromstring(Report("t", results, results[1:]).to_junit())
        outline, extra = root.findall("testsuite")
        assert (outline.get("tests"), outline.get("failures")) == ("2", "1")
        assert (extra.get("tests"), extra.get("failures")) == ("1", "1")
        assert outline.findall("testcase")[1].find("failure") is not None
        assert outline.findall("testcase")[0].find("failure") is None

    @settings(deadline=None)
    @given(st.lists(st.tuples(st.booleans(), st.text(max_size=300)), min_size=1, max_size=4), st.text(max_size=200))
    def test_render_width(self, details: list[tuple[bool, str]], target: str) -> None:
        """No line of the terminal report is wider than 80 cells or holds a control character."""
        results = tuple(CaseResult(f"TC-DP3-{n:02}", *d) for n, d in enumerate(details, start=1))
        for line in render(Report(target, results, results, ("x",))).splitlines():
            cells = sum(
                0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF") for c in line
            )
            assert cells <= 80
            assert line.isprintable()

    def test_render(self) -> None:
        """The terminal report names each case of the outline and the extra ones that failed."""
        text = render(examine("Coerces"))
        assert "11 of 11 cases passed" in text
        assert "passed  TC-DP3-08" in text
        assert "FAILED  max-results-true" in text
        assert "max-results-zero" not in text
        bytes_only = run(PythonTarget(broken.PythonReference()), only=["TC-DP3-01", "json-nan"])
        assert "1 extra cases send bytes" in render(bytes_only)

    @settings(deadline=None)
    @given(st.text())
    def test_clip(self, text: str) -> None:
        """A clipped value is one printable line of at most 160 characters."""
        assert clip(text).isprintable()
        assert len(clip(text)) <= 160


class TestDocuments:
    def test_export(self, tmp_path: Path) -> None:
        """The documents are written beside the manifest, byte for byte, twice as well as once."""
        export_data(tmp_path / "新")
        written = export_data(str(tmp_path / "新"))
        assert written[0] == tmp_path / "新" / "manifest.json"
        assert json.loads(written[0].read_text("utf-8")) == manifest()
        folder = tmp_path / "新" / "documents"
        assert {p.name: p.read_text("utf-8") for p in folder.iterdir()} == documents()

    def test_export_nowhere(self, tmp_path: Path) -> None:
        """A directory that cannot be written is an error."""
        (tmp_path / "file").write_text("x")
        with pytest.raises(ConfigError):
            export_data(tmp_path / "file")

    def test_makeup(self) -> None:
        """Fourteen short documents in two languages, six of them on connection pools, none in two passages."""
        entries = manifest()["documents"]
        assert len(entries) == len(documents()) == 14
        assert sum(entry["topic"] == "connection pool" for entry in entries) >= 6
        assert {entry["language"] for entry in entries} == {"zh", "en"}
        for text in documents().values():
            heading, blank, paragraph, end = text.split("\n")
            assert (heading[:2], blank, end) == ("# ", "", "")
            assert len(paragraph) <= 300

    @pytest.mark.parametrize(
        ("name", "file"),
        [("single", "foghorn-en.md"), ("single-zh", "shadow-play-zh.md"), ("none", ""), ("none-zh", "")],
    )
    def test_distinct(self, name: str, file: str) -> None:
        """A query for one document shares no word, no Chinese character and no digit with any other."""
        query = request(name)["query"].casefold()
        parts = {part for word in query.split() for part in (word, *word.split("-"))}
        parts |= {char for char in query if not char.isascii()}
        for other, text in documents().items():
            shared = {part for part in parts if part in text.casefold()}
            assert (shared == parts) if other == file else (shared == set()), other

    def test_origin(self) -> None:
        """A text is from a document whole, cut, marked up or under a title; other texts are from none."""
        for name, text in documents().items():
            sentence = text.splitlines()[2]
            for version in (text, sentence, f"<b>{sentence[:30]}</b> …", f"{text.splitlines()[0]} > {sentence}"):
                assert origin(version) == name
        for other in ("", " ", "#", "lorem", "Lorem ipsum dolor sit amet", "劳动合同应当具备以下条款"):
            assert origin(other) == ""

    def test_no_common_opening(self) -> None:
        """No two documents are the same, and none contains another."""
        for one, other in itertools.permutations(documents().values(), 2):
            assert one not in other


class TestUri:
    @pytest.mark.parametrize(
        "text",
        [
            "file:///kb/database_best_practices.md",
            "https://internal.wiki/page/ConnectionPooling",
            "urn:kb:architecture:microservices",
            "file:///kb/architecture/microservices.md#section-3.1",
            "file:///制度/招标投标法.md#第十三条",
            "file:///kb/%E5%88%B6%E5%BA%A6.md?page=4",
            "http://[::1]:8080/a",
            "doi:10.1000/182",
            "wenyuan://policies/12#p=3",
        ],
    )
    def test_good(self, text: str) -> None:
        """The contract's own examples, percent-encoded and Chinese addresses are URIs."""
        assert uri_fault(text) == ""

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "kb/a.md",
            "/kb/a.md",
            "C:\\kb\\a.md",
            "C:/kb/a.md",
            "制度:x",
            "1a:x",
            "file:///my kb/a.md",
            "file:///a\u3000b",
            "file:///a\nb",
            "file:///a\u200bb",
            "file:///a\ud800",
            "file:///a%zz",
            "file:///100%",
            "file:///a<b>",
            'file:///a"b',
            "http://",
            "http:///x",
            "http://a:port/x",
            "http://a:99999/x",
            "http://[::1/x",
            "urn:kb",
            "urn:kb:",
            "file:",
            "file:///a#b#c",
            "file:///a[1].md",
        ],
    )
    def test_bad(self, text: str) -> None:
        """Paths, drive letters, spaces, controls, broken escapes and broken authorities are no URIs."""
        assert uri_fault(text)

    @settings(deadline=None)
    @given(st.text())
    def test_never_raises(self, text: str) -> None:
        """Any text at all is judged, after a scheme too."""
        for candidate in (text, "http://" + text, "urn:" + text):
            assert isinstance(uri_fault(candidate), str)


class TestSecrets:
    @pytest.mark.parametrize(
        "text",
        [
            "postgresql://kb:hunter2@db/kb",
            '{"detail": "redis://:s3cret@cache:6379"}',
            "dsn host=db password=hunter2",
            "PWD='hunter2'",
            "https://host/x?api_key=abcdef",
            "Traceback (most recent call last):",
            '{"detail": "File \\"/srv/app.py\\", line 3"}',
            "/usr/lib/python3/dist-packages/x.py",
            "key sk-abcdefghijklmnop1234",
            "-----BEGIN RSA PRIVATE KEY-----",
        ],
    )
    def test_found(self, text: str) -> None:
        """Passwords, keys, stack traces and paths of the installation are seen, escaped in JSON too."""
        assert secrets_in(text)

    @pytest.mark.parametrize(
        "text",
        [
            "Knowledge base 'kb_main' is offline: connection refused on host 'db.internal:5432'.",
            "postgresql://kb:***@db/kb",
            "postgresql://kb@db:5432/kb",
            "password=*** user=kb",
            "see https://example.org/a:b and mail admin@example.org",
            "token: must be a string",
            "连接被拒绝：数据库 kb_main",
        ],
    )
    def test_not_found(self, text: str) -> None:
        """Host names, masked passwords and plain messages give nothing away."""
        assert secrets_in(text) == []


def test_import_is_light() -> None:
    """Importing the package imports nothing of the kit, and the kit nothing of the other rooms."""
    script = (
        "import sys, wenyuan.conformance as c\n"
        "assert not [m for m in sys.modules if m.startswith('wenyuan.conformance.')], 1\n"
        "c.run, c.HttpTarget, c.PythonTarget, c.render, c.export_data\n"
        "mine = {m.split('.')[1] for m in sys.modules if m.startswith('wenyuan.')}\n"
        "assert mine <= {'conformance', 'core'}, mine\n"
        "assert not {'numpy', 'httpx2', 'pytest', 'fastapi'} & set(sys.modules)\n"
        "try: c.nothing\n"
        "except AttributeError: pass\n"
        "else: raise SystemExit(2)\n"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
