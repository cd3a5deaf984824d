"""Tools for the cases: documents, faults, and checks of responses and URIs."""

from __future__ import annotations

import json
import math
import os
import re
import shlex
import subprocess
import time
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeGuard
from urllib.parse import urlsplit

from wenyuan.conformance.targets import Answer, Target, check_headers, clip
from wenyuan.core.errors import ConfigError, joined, msg

__all__ = [
    "Bench",
    "Case",
    "CommandFault",
    "EnvFault",
    "FaultSwitch",
    "HeaderFault",
    "Mismatch",
    "OutOfTime",
    "blank_faults",
    "documents",
    "envelope_faults",
    "export_data",
    "fault_from_options",
    "fragment_faults",
    "looks_like_response",
    "manifest",
    "order_faults",
    "origin",
    "repeat_faults",
    "request",
    "score_faults",
    "source_faults",
    "uri_fault",
]


# The fixed documents of the kit, in Chinese and English, and what each request must find among them.


RUN = 5


@cache
def _manifest_text() -> str:
    return files("wenyuan.conformance").joinpath("manifest.json").read_text(encoding="utf-8")


def manifest() -> dict[str, Any]:
    """The documents (file, language, topic) and the requests, each with what is expected of it."""
    loaded: dict[str, Any] = json.loads(_manifest_text())
    return loaded


def request(name: str) -> dict[str, Any]:
    """A fresh copy of one of the manifest's requests: ``many``, ``two``, ``single``, ``none`` …"""
    found: dict[str, Any] = manifest()["requests"][name]["request"]
    return found


def documents() -> dict[str, str]:
    """The Markdown of every document by file name, in the manifest's order."""
    home = files("wenyuan.conformance").joinpath("documents")
    names = [entry["file"] for entry in manifest()["documents"]]
    return {name: home.joinpath(name).read_text(encoding="utf-8") for name in names}


def origin(text: str) -> str:
    """The file of the document that a text comes from; ``""`` when it comes from none.

    A text is from where at least half of its runs of five letters stand, so that what is cut, marked up or has a
    title in front is still found.
    """
    bare = _letters(text)
    runs = {bare[at : at + RUN] for at in range(max(1, len(bare) - RUN + 1))} - {""}
    held = {name: sum(run in whole for run in runs) for name, whole in _bare_documents().items()}
    best = max(held, key=held.__getitem__)
    return best if 0 < len(runs) <= 2 * held[best] else ""


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).casefold()))


@cache
def _bare_documents() -> dict[str, str]:
    return {name: _letters(text) for name, text in documents().items()}


def export_data(directory: str | Path) -> tuple[Path, ...]:
    """Write ``manifest.json`` and ``documents/*.md`` for the service under test to take in.

    The manifest stands beside the documents, not among them: it holds the queries, and a service that took it in
    would find it.

    Returns:
        The files written, the manifest first.

    Raises:
        ConfigError: the directory cannot be written.
    """
    root = Path(directory)
    texts = {root / "manifest.json": _manifest_text()}
    texts |= {root / "documents" / name: text for name, text in documents().items()}
    try:
        (root / "documents").mkdir(parents=True, exist_ok=True)
        for path, text in texts.items():
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(msg("cannot write the documents to {root}: {error}", root=root, error=error)) from error
    return tuple(texts)


# The fault switch: how an implementer lets the kit make the service fail on purpose, for ``TC-DP3-06``.
#
# Exactly one of three:
#
# - `CommandFault`: a command that breaks something behind the service (and one that mends it);
# - `HeaderFault`: a request header that the service takes, in its test configuration, as an order to fail;
# - `EnvFault`: an environment variable, set around the request: for Python objects and for services in this process.


COMMAND_SECONDS = 120


@dataclass(frozen=True, slots=True)
class CommandFault:
    """Run `command` before the request and `restore` after it. Neither goes through a shell.

    Attributes:
        restore: Mends what `command` broke; without it the service stays broken, so the case runs last.
        settle: Seconds that the service may take to answer again after `restore`.
    """

    command: str
    restore: str = ""
    settle: float = 30.0

    @property
    def lasting(self) -> bool:
        """Whether the fault outlives its case."""
        return not self.restore

    @contextmanager
    def active(self, target: Target) -> Iterator[Mapping[str, str]]:
        """Context in which the fault is active; yields the headers to send."""
        try:
            _execute(self.command)
            yield {}
        finally:
            if self.restore:
                _execute(self.restore)


@dataclass(frozen=True, slots=True)
class HeaderFault:
    """A fault switched on by a header on the request that must fail."""

    name: str
    value: str
    lasting = False
    settle = 0.0

    @classmethod
    def parse(cls, text: str) -> HeaderFault:
        """From ``Name: value``."""
        name, colon, value = text.partition(":")
        if not colon:
            raise ConfigError("a fault header is written 'Name: value'")
        return cls(name.strip(), value.strip())

    @contextmanager
    def active(self, target: Target) -> Iterator[Mapping[str, str]]:
        """Yields the headers to send; a Python object takes none."""
        if not getattr(target, "takes_headers", target.takes_bytes):
            raise ConfigError("a Python object takes no header", hint="use --fault-env or --fault-command")
        yield check_headers({self.name: self.value})


@dataclass(frozen=True, slots=True)
class EnvFault:
    """A fault switched on by an environment variable of this process, set around the request."""

    name: str
    value: str
    lasting = False
    settle = 0.0

    @classmethod
    def parse(cls, text: str) -> EnvFault:
        """From ``NAME=VALUE``."""
        name, equals, value = text.partition("=")
        if not (name and equals) or "\0" in text:
            raise ConfigError("a fault variable is written NAME=VALUE")
        return cls(name, value)

    @contextmanager
    def active(self, target: Target) -> Iterator[Mapping[str, str]]:
        """Context in which the variable is set; its former value is restored."""
        before = os.environ.get(self.name)
        os.environ[self.name] = self.value
        try:
            yield {}
        finally:
            if before is None:
                del os.environ[self.name]
            else:
                os.environ[self.name] = before


FaultSwitch = CommandFault | HeaderFault | EnvFault


def fault_from_options(
    *, command: str | None = None, restore: str | None = None, header: str | None = None, env: str | None = None
) -> FaultSwitch | None:
    """The switch that command-line options name, or None.

    Raises:
        ConfigError: more than one, a restore command without its command, or a malformed one.
    """
    if sum(bool(given) for given in (command, header, env)) > 1:
        raise ConfigError("give one of --fault-command, --fault-header, --fault-env")
    if restore and not command:
        raise ConfigError("--restore-command needs --fault-command")
    if command:
        return CommandFault(command, restore or "")
    if header:
        return HeaderFault.parse(header)
    return EnvFault.parse(env) if env else None


def _execute(command: str) -> None:
    try:
        words = shlex.split(command)
        done = subprocess.run(  # noqa: S603 - the implementer's own command, without a shell
            words, capture_output=True, text=True, errors="replace", timeout=COMMAND_SECONDS, check=False
        )
    except (OSError, ValueError, IndexError, subprocess.TimeoutExpired) as error:
        raise ConfigError(
            msg("the command {command} cannot be run: {error}", command=clip(command), error=error)
        ) from error
    if done.returncode != 0:
        raise ConfigError(
            msg(
                "the command {command} ended with {returncode}: {stderr}",
                command=clip(command),
                returncode=done.returncode,
                stderr=clip(done.stderr or done.stdout),
            )
        )


# Whether a ``source`` is a URI: RFC 3986, absolute, and RFC 3987 in that letters of any script may stand in it.


_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]+:")
_BROKEN_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_FORBIDDEN = frozenset('<>"{}|\\^`')
_NOT_TEXT = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp"))
_URN = re.compile(r"urn:[A-Za-z0-9][A-Za-z0-9\-]{0,30}[A-Za-z0-9]:.+", re.IGNORECASE)


def uri_fault(text: str) -> str:
    """Why `text` is no URI, or ``""`` when it is one.

    A scheme of one letter is refused: no such scheme is registered, but every Windows path begins like one.
    """
    if not _SCHEME.match(text):
        return "has no scheme"
    for char in text:
        if char in _FORBIDDEN or unicodedata.category(char) in _NOT_TEXT:
            return msg("holds U+{char}, which must be percent-encoded", char=f"{ord(char):04X}")
    if _BROKEN_ESCAPE.search(text):
        return "holds a '%' that begins no escape"
    if text.count("#") > 1:
        return "holds more than one '#'"
    return _part_fault(text)


def _part_fault(text: str) -> str:
    try:
        parts = urlsplit(text)
        parts.port  # noqa: B018 - reading it is the check
    except ValueError as error:
        return msg("has a broken authority ({error})", error=error)
    if parts.scheme in ("http", "https") and not parts.hostname:
        return "names no host"
    if parts.scheme == "urn" and not _URN.fullmatch(text):
        return "is not of the form urn:<namespace>:<name>"
    if not (parts.netloc or parts.path or parts.query):
        return "has nothing after its scheme"
    if "[" in parts.path + parts.query + parts.fragment or "]" in parts.path + parts.query + parts.fragment:
        return "holds a bracket outside the host, which must be percent-encoded"
    return ""


# What the contract says of a RetrievalResponse and its fragments, each rule a function that lists complaints.


def envelope_faults(body: Any) -> list[str]:
    """Faults of ``status``, ``fragments`` and ``error_message`` (§3.3); fragments are not inspected."""
    if not isinstance(body, Mapping):
        return [msg("the body is no JSON object but {body}", body=clip(body))]
    faults = []
    if body.get("status") not in ("SUCCESS", "FAILED"):
        faults.append(msg("status is {status}, not SUCCESS or FAILED", status=clip(body.get("status"))))
    if not isinstance(body.get("fragments"), list):
        faults.append(msg("{place} is {value}, not an array", place="fragments", value=clip(body.get("fragments"))))
    if not isinstance(body.get("error_message"), (str, type(None))):
        faults.append("error_message is no string")
    return faults


def fragment_faults(fragments: Sequence[Any]) -> list[str]:
    """Faults in the structure of KnowledgeFragments (§3.1).

    ``metadata`` may be null: the contract's own example writes an absent optional member so.
    """
    faults = []
    for at, fragment in enumerate(fragments):
        if not isinstance(fragment, Mapping):
            faults.append(
                msg("{place} is no object but {fragment}", place=f"fragments[{at}]", fragment=clip(fragment))
            )
            continue
        if not (isinstance(fragment.get("source"), str) and fragment["source"]):
            faults.append(
                msg(
                    "{place} is {value}, not a string",
                    place=f"fragments[{at}].source",
                    value=clip(fragment.get("source")),
                )
            )
        if not isinstance(fragment.get("content"), str):
            faults.append(
                msg(
                    "{place} is {value}, not a string",
                    place=f"fragments[{at}].content",
                    value=clip(fragment.get("content")),
                )
            )
        if not is_number(fragment.get("retrieval_score")):
            faults.append(
                msg(
                    "{place} is {value}, no number",
                    place=f"fragments[{at}].retrieval_score",
                    value=clip(fragment.get("retrieval_score")),
                )
            )
        if not isinstance(fragment.get("metadata"), (Mapping, type(None))):
            faults.append(
                msg(
                    "{place} is {value}, not an object",
                    place=f"fragments[{at}].metadata",
                    value=clip(fragment.get("metadata")),
                )
            )
    return faults


def score_faults(fragments: Sequence[Mapping[str, Any]]) -> list[str]:
    """Scores that are no numbers or outside 0..1 (§3.1)."""
    scores = [fragment.get("retrieval_score") for fragment in fragments]
    return [
        msg("{place} is {value}", place=f"fragments[{at}].retrieval_score", value=clip(score))
        for at, score in enumerate(scores)
        if not (is_number(score) and 0.0 <= score <= 1.0)
    ]


def order_faults(fragments: Sequence[Mapping[str, Any]]) -> list[str]:
    """Scores that increase, or cannot be compared (§3.3)."""
    scores = [fragment.get("retrieval_score") for fragment in fragments]
    return [
        msg("{place} has {later} after {earlier}", place=f"fragments[{at}]", later=clip(later), earlier=clip(earlier))
        for at, (earlier, later) in enumerate(pairwise(scores), start=1)
        if not (is_number(earlier) and is_number(later) and later <= earlier)
    ]


def source_faults(fragments: Sequence[Mapping[str, Any]]) -> list[str]:
    """Sources that are no URI (§3.1)."""
    faults = []
    for at, fragment in enumerate(fragments):
        source = fragment.get("source")
        fault = uri_fault(source) if isinstance(source, str) else "is no string"
        if fault:
            faults.append(
                msg("{place} {source} {fault}", place=f"fragments[{at}].source", source=clip(source), fault=fault)
            )
    return faults


def repeat_faults(fragments: Sequence[Mapping[str, Any]]) -> list[str]:
    """Sources that occur twice in an answer: a source must be unique (§3.1)."""
    first: dict[str, int] = {}
    return [
        msg(
            "{place} {source} is that of {other}",
            place=f"fragments[{at}].source",
            source=clip(fragment["source"]),
            other=f"fragments[{first[fragment['source']]}]",
        )
        for at, fragment in enumerate(fragments)
        if first.setdefault(fragment["source"], at) != at
    ]


def blank_faults(fragments: Sequence[Mapping[str, Any]]) -> list[str]:
    """Blank contents, where the contract requires "the text itself" (§3.1)."""
    return [
        msg("{place} is {value}", place=f"fragments[{at}].content", value=clip(fragment["content"]))
        for at, fragment in enumerate(fragments)
        if not fragment["content"].strip()
    ]


def looks_like_response(body: Any) -> bool:
    """Whether a body could be taken for a RetrievalResponse."""
    return isinstance(body, Mapping) and (body.get("status") in ("SUCCESS", "FAILED") or "fragments" in body)


def is_number(value: Any) -> TypeGuard[float]:
    """Whether a value is a JSON number: not a boolean, not NaN, not infinite."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


# What a case works with: the target, the fault switch, the fixed requests, and one way to say "not so".


NO_SWITCH = (
    "a fault switch: --fault-command CMD [--restore-command CMD], --fault-header 'Name: value' "
    "or --fault-env NAME=VALUE, so that the service can be made to fail on purpose"
)


class Mismatch(Exception):
    """A response does not match the contract."""

    def __init__(self, expected: str, got: object) -> None:
        self.message = msg("expected {expected}; got {got}", expected=expected, got=got)
        super().__init__(self.message)


@dataclass(frozen=True, slots=True)
class Case:
    """One case.

    Attributes:
        id: ``TC-DP3-01`` … or the short name of an extra case.
        title: One line.
        section: Where the rule stands.
        check: Returns what was seen, or raises `Mismatch`.
        needs_bytes: It sends malformed bytes, so it does not apply to a Python object.
        needs_fault: It uses the fault switch, so it runs after those that need a sound service.
    """

    id: str
    title: str
    section: str
    check: Callable[[Bench], str]
    needs_bytes: bool = False
    needs_fault: bool = False


class OutOfTime(Exception):
    """The time for all cases together is spent."""


class Bench:
    """A target with its fault switch.

    Args:
        seconds: That all cases may take together, beginning now.
    """

    def __init__(self, target: Target, fault: FaultSwitch | None = None, *, seconds: float = math.inf) -> None:
        self.target: Target = _Bounded(target, time.monotonic() + seconds)
        self.fault = fault
        self.seconds = seconds

    def ask(self, name: str, **changes: Any) -> Answer:
        """Send the manifest's request `name`, with members changed."""
        return self.target.ask({**request(name), **changes})

    def fragments(self, name: str, **changes: Any) -> list[dict[str, Any]]:
        """The fragments of a request that must succeed.

        Raises:
            Mismatch: no SUCCESS of the right form.
        """
        return successful(self.ask(name, **changes))

    @contextmanager
    def broken(self) -> Iterator[Mapping[str, str]]:
        """Context in which the service fails; yields the headers to send. On exit waits until it responds again.

        Raises:
            Mismatch: there is no switch, or it does not work.
        """
        if self.fault is None:
            raise Mismatch(NO_SWITCH, msg("none"))
        try:
            with self.fault.active(self.target) as headers:
                yield headers
        except ConfigError as error:
            raise Mismatch("a fault switch that works", f"{error} {error.hint}".strip()) from error
        give_up = time.monotonic() + self.fault.settle
        while not self.fault.lasting and time.monotonic() < give_up and not _sound(self.ask("none")):
            time.sleep(0.1)


class _Bounded:
    """A target that is asked until a moment, and no longer."""

    def __init__(self, target: Target, until: float) -> None:
        self._target, self._until = target, until

    def __getattr__(self, name: str) -> Any:
        return getattr(self._target, name)

    def ask(self, request: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Answer:
        """As the target; raises `OutOfTime` past the moment."""
        self._check()
        return self._target.ask(request, headers)

    def send(self, body: bytes, headers: Mapping[str, str]) -> Answer:
        """As `ask`."""
        self._check()
        return self._target.send(body, headers)

    def _check(self) -> None:
        if time.monotonic() >= self._until:
            raise OutOfTime


def successful(answer: Answer) -> list[dict[str, Any]]:
    """The fragments of a well-formed response with status SUCCESS."""
    body = answer.body
    if not answer.returned or envelope_faults(body) or body["status"] != "SUCCESS":
        raise Mismatch("status SUCCESS in a RetrievalResponse", answer)
    if body.get("error_message") is not None:
        raise Mismatch("no error_message (or null) beside SUCCESS", repr(body["error_message"]))
    demand("KnowledgeFragments {source, content, retrieval_score, metadata?}", fragment_faults(body["fragments"]))
    fragments: list[dict[str, Any]] = body["fragments"]
    return fragments


def demand(expected: str, faults: Sequence[str]) -> None:
    """Raise `Mismatch` when there are faults."""
    if faults:
        named = joined(faults[:3])
        more = msg("{faults} and {count} more", faults=named, count=len(faults) - 3)
        raise Mismatch(expected, more if len(faults) > 3 else named)


def _sound(answer: Answer) -> bool:
    return answer.returned and isinstance(answer.body, Mapping) and answer.body.get("status") == "SUCCESS"
