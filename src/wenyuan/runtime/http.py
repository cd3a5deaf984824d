"""HTTP with a total deadline and protection against server-side request forgery (SSRF); endpoints that speak JSON."""

from __future__ import annotations

import json
import re
import socket
import ssl
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any

import httpcore2
import httpx2

from wenyuan.core.errors import ConfigError, EngineUnavailable, KnowledgeError, msg
from wenyuan.core.ports import Deadline, time_left, until
from wenyuan.runtime import BoundedCalls, CallTimedOut, deadline_after

__all__ = [
    "CORE_FAILURES",
    "GuardedBackend",
    "TimedStream",
    "TooLarge",
    "no_answer",
    "punctual",
    "read_whole",
    "refusal",
    "seconds_left",
    "until",
]

CORE_FAILURES = (
    httpcore2.NetworkError,
    httpcore2.ProtocolError,
    httpcore2.TimeoutException,
    httpcore2.ProxyError,
    httpcore2.UnsupportedProtocol,
    httpcore2.ConnectionNotAvailable,
)
"""Every exception of httpcore2 descends from one of these (a test enumerates them)."""


# Connections that end when their time is up, however slowly bytes come.
#
# The timeouts of an HTTP library are for one step on a socket. A server that sends a header every second, or one
# ``102 Processing`` after another, never breaks them, and holds its caller for as long as it likes.


_LONGEST_STEP = 60.0
"""Seconds of a step that has neither a timeout nor a deadline."""


def seconds_left(timeout: float | None, late: type[Exception]) -> float:
    """Time-out of one step: its own, or the time left until the deadline if shorter; raises `late` when none is left."""
    given = (timeout, time_left())
    left = min((seconds for seconds in given if seconds is not None), default=_LONGEST_STEP)
    if left <= 0:
        raise late("the deadline passed")
    return left


def punctual(client: httpx2.Client, *, step: float | None = None) -> httpx2.Client:
    """The client with a deadline on all its connections, including those through proxies.

    Args:
        step: See `TimedStream`.

    httpx2 takes no network backend, so that of its pools is wrapped in place.
    """
    for transport in (client._transport, *client._mounts.values()):
        if isinstance(transport, httpx2.HTTPTransport):
            transport._pool._network_backend = _Punctual(transport._pool._network_backend, step)
    return client


class _Punctual(httpcore2.NetworkBackend):
    """A network backend that wraps another one's connections in `TimedStream`."""

    def __init__(self, backend: httpcore2.NetworkBackend, step: float | None) -> None:
        self._backend, self._step = backend, step

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        seconds = seconds_left(timeout, httpcore2.ConnectTimeout)
        return TimedStream(self._backend.connect_tcp(host, port, seconds, local_address, socket_options), self._step)


class TimedStream(httpcore2.NetworkStream):
    """A stream whose every step ends at the deadline of the calling thread.

    Args:
        step: Seconds after which a read looks at the deadline again, which may have come nearer; None: never.
    """

    def __init__(self, stream: httpcore2.NetworkStream, step: float | None = None) -> None:
        self._stream, self._step = stream, step

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        while True:
            seconds = seconds_left(timeout, httpcore2.ReadTimeout)
            if self._step is None or seconds <= self._step:
                return self._stream.read(max_bytes, seconds)
            try:
                return self._stream.read(max_bytes, self._step)
            except httpcore2.ReadTimeout:
                timeout = None if timeout is None else timeout - self._step

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, seconds_left(timeout, httpcore2.WriteTimeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        seconds = seconds_left(timeout, httpcore2.ConnectTimeout)
        return TimedStream(self._stream.start_tls(ssl_context, server_hostname, seconds), self._step)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


# Reading a response completely or not at all, and the errors for a missing one.


class TooLarge(Exception):
    """A response exceeds the size limit."""


def read_whole(blocks: Iterable[bytes], most: int, *, cut: bool = False) -> bytes:
    """The body of a response, bounded in decompressed size and time.

    Args:
        cut: Of a larger body its first `most` bytes are given; the rest is not read.

    Raises:
        TooLarge: it has more than `most` bytes, and is not cut.
        TooLate: the deadline of this thread passed (see `until`).
    """
    content = bytearray()
    for block in blocks:
        content += block
        if len(content) > most:
            if cut:
                return bytes(content[:most])
            raise TooLarge
        if time_left() == 0:
            raise CallTimedOut
    return bytes(content)


def no_answer(
    error: Exception, component: str, unavailable: type[KnowledgeError], late: type[KnowledgeError], who: str
) -> KnowledgeError:
    """The error for an exception of httpx2 or httpcore2. Its text may contain what was sent, so only its type is
    used.

    Args:
        unavailable, late: The error classes to return.
        who: Was asked: ``server``, ``service``.
    """
    if isinstance(error, (httpx2.TimeoutException, httpcore2.TimeoutException)):
        return late("no answer in time", component=component)
    if isinstance(error, (httpx2.ConnectError, httpcore2.ConnectError)):
        if any(isinstance(reason, ssl.SSLError) for reason in error.args):
            told = "no secure connection: its certificate or protocol is refused"
            return unavailable(told, component=component)
        hint = f"is the {who} running, and is its address right?"
        return unavailable("cannot be reached", component=component, hint=hint)
    return unavailable(msg("the connection failed ({kind})", kind=type(error).__name__), component=component)


# Connections that are judged by the address they lead to, and that end when their time is up.
#
# A URL can be written so that nobody sees where it leads (``127.1``, ``0x7f000001``, ``127。0。0。1``), and a name can
# resolve to an inner address, or to another one at the second look. So no URL is judged here, and no name: only the
# address that a socket is about to be connected to, after which nothing is looked up any more.


Address = IPv4Address | IPv6Address
LookUp = Callable[[str, int], list[str]]
Connect = Callable[[str, int, float], httpcore2.NetworkStream]

_NEVER = tuple(
    map(
        ip_network,
        """0.0.0.0/8 169.254.0.0/16 224.0.0.0/4 240.0.0.0/4 ::/128 fe80::/10 fec0::/10 ff00::/8
        100.100.100.200 168.63.129.16 192.0.0.192 fd00:ec2::254""".split(),
    )
)
"""No source of knowledge lives there; cloud machines find their own credentials there."""
_PRIVATE = tuple(
    map(ip_network, "10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 172.16.0.0/12 192.168.0.0/16 ::1 fc00::/7".split())
)
_GLOBAL_IPV6 = ip_network("2000::/3")
_TUNNELS = (ip_network("2001::/32"), ip_network("2002::/16"))
"""Teredo and 6to4: an IPv4 address is inside, which some router would connect to."""
_NAT64 = ip_network("64:ff9b::/96")


def refusal(address: str, *, allow_private: bool = False) -> str:
    """Why connecting to an IP address is not allowed; ``""`` when it is.

    Loopback and private networks are the operator's decision; link-local, multicast, reserved and cloud metadata
    addresses are always refused. An IPv4 address inside an IPv6 one (mapped, NAT64) is judged as itself.
    """
    try:
        inner = _inner(ip_address(address))
    except ValueError:
        return "to no IP address"
    if any(inner in network for network in _NEVER):
        return "to an address that no source may have"
    if any(inner in network for network in _PRIVATE):
        return "" if allow_private else "to a private address"
    public = inner.is_global and (
        inner.version == 4 or (inner in _GLOBAL_IPV6 and not any(inner in network for network in _TUNNELS))
    )
    return "" if public else "to an address that is not on the public net"


def _inner(address: Address) -> Address:
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if address in _NAT64:
            return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address


class GuardedBackend(httpcore2.NetworkBackend):
    """Network backend that resolves names, checks the addresses, and connects only to checked ones.

    Args:
        component: Who asks, for messages.
        allow_private: Whether loopback and private networks may be connected to.
        look_up: A name's addresses.
        connect: Connects to an address.
    """

    def __init__(
        self,
        component: str,
        *,
        allow_private: bool = False,
        look_up: LookUp | None = None,
        connect: Connect | None = None,
    ) -> None:
        self._component = component
        self._allow_private = allow_private
        self._look_up = look_up or _looked_up
        self._errands = BoundedCalls(4, "wenyuan-look-up")
        self._connect = connect or httpcore2.SyncBackend().connect_tcp

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        """A connection to the first address of `host` that answers.

        Raises:
            EngineUnavailable: the name is not known, or leads where nothing may be connected to.
            httpcore2.ConnectError, httpcore2.ConnectTimeout: no address answers.
        """
        *others, last = self._judged(host, port, timeout)
        for later, address in zip(range(len(others), 0, -1), others, strict=True):
            seconds = seconds_left(timeout, httpcore2.ConnectTimeout)
            share = seconds / (later + 1)  # one that is silent leaves time for the others
            try:
                return TimedStream(self._connect(address, port, share))
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                continue
        return TimedStream(self._connect(last, port, seconds_left(timeout, httpcore2.ConnectTimeout)))

    def _judged(self, host: str, port: int, timeout: float | None) -> list[str]:
        """The addresses of a host. If one is refused all are: a legitimate name has addresses of one kind."""
        try:
            seconds = seconds_left(timeout, httpcore2.ConnectTimeout)
            addresses = self._errands.run(lambda: self._look_up(host, port), seconds)
        except CallTimedOut as error:
            raise httpcore2.ConnectTimeout("the name server did not answer") from error
        except (OSError, UnicodeError) as error:
            raise EngineUnavailable("its host name is not known", component=self._component) from error
        for address in addresses:
            if why := refusal(address, allow_private=self._allow_private):
                raise EngineUnavailable(
                    msg("its host leads {why}, which is refused", why=why),
                    component=self._component,
                    hint="if that is meant, set allow_private in the source's settings" if "private" in why else "",
                )
        if not addresses:
            raise EngineUnavailable("its host has no address", component=self._component)
        return addresses


def _looked_up(host: str, port: int) -> list[str]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in found))


# An HTTP endpoint that takes and returns JSON by POST, as all models behind HTTP are called.
#
# The server is not trusted: its answer is read up to a size and up to a moment. Redirects are refused, because they
# would send the texts to another host. No message contains the key or anything that the server sent.

_FAILURES = (httpx2.HTTPError, httpx2.InvalidURL, httpx2.CookieConflict, httpx2.StreamError)
"""Every exception of httpx2 descends from one of these (a test enumerates them)."""
_RETRIES = 2
_BACKOFF = 0.2
_LONGEST_WAIT = 30.0
_MOST_BYTES = 256 << 20
_LOCAL = {"localhost", "127.0.0.1", "::1"}
_HINTS: Mapping[int, str] = {
    401: "check the key of this {}",
    403: "check the key of this {}",
    404: "check the URL and the model's name",
    413: "lower the {}'s batch size",
}


@dataclass(frozen=True, slots=True)
class Kind:
    """The kind of an endpoint: its error classes, and its limits.

    Attributes:
        again_when_late: Whether to ask again after a time-out: not what costs as much each time.
        most_bytes: Of an answer; 0: as of any endpoint.
        step: Seconds after which a wait for data checks whether the caller still waits; None: never.
    """

    name: str
    unavailable: type[KnowledgeError]
    timeout: type[KnowledgeError]
    again_when_late: bool = True
    most_bytes: int = 0
    step: float | None = None


class NotUnderstood(Exception):
    """The endpoint refuses the form of a request with a status that the caller handles."""


class _Retry(Exception):
    """A failed attempt that may be retried: the `failure`, and how long the server asked to `wait`."""

    def __init__(self, failure: KnowledgeError, wait: float = 0.0) -> None:
        super().__init__()
        self.failure, self.wait = failure, wait


class JsonEndpoint:
    """Client for one URL. Safe to use from several threads.

    Args:
        model: How the model behind it is called in messages.
        endpoint: Of `address`.
        key: Sent as a bearer token.
        timeout: Seconds for one request from its start to the end of the answer.
        transport: For tests.

    Raises:
        ConfigError: the key cannot be a header.
    """

    def __init__(
        self,
        kind: Kind,
        model: str,
        endpoint: httpx2.URL,
        *,
        key: str,
        timeout: float,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        self.component = f"{kind.name} {model} at {endpoint.host}:{_port(endpoint)}".replace("  ", " ")
        self._kind, self._endpoint, self._timeout = kind, endpoint, timeout
        self._client = punctual(
            httpx2.Client(
                headers=_headers(key, kind),
                follow_redirects=False,
                trust_env=endpoint.host not in _LOCAL,  # no proxy stands between this machine and itself
                transport=transport,
            ),
            step=kind.step,
        )

    def ask(self, body: Mapping[str, Any], deadline: Deadline | None, *, told: Collection[int] = ()) -> Any:
        """The parsed response, with retries while they may help and fit the deadline.

        Args:
            told: Statuses that raise `NotUnderstood`.

        Raises:
            KnowledgeError: of the endpoint's kind: not reached, refused, too late, too large, or not JSON.
            NotUnderstood: it answered with one of `told`.
        """
        for attempt in range(_RETRIES + 1):
            if deadline is not None and deadline.remaining() <= 0:
                raise self._kind.timeout("the deadline passed", component=self.component)
            try:
                return self._attempt(body, deadline, told)
            except _Retry as retry:
                wait = max(_BACKOFF * 2**attempt, retry.wait)
                late = deadline is not None and wait >= deadline.remaining()
                if attempt == _RETRIES or late or wait > _LONGEST_WAIT:
                    raise retry.failure from retry.__cause__
            time.sleep(wait)
        raise AssertionError("the last attempt returns or raises")

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _attempt(self, body: Mapping[str, Any], deadline: Deadline | None, told: Collection[int]) -> Any:
        seconds = self._timeout if deadline is None else min(self._timeout, deadline.remaining())
        ends = deadline_after(seconds) if deadline is None else deadline.within(seconds)
        try:
            with (
                until(ends),
                self._client.stream("POST", self._endpoint, json=body, timeout=max(seconds, 1e-3)) as answer,
            ):
                if answer.status_code in told:
                    raise NotUnderstood
                self._check_status(answer)
                content = read_whole(answer.iter_bytes(), self._kind.most_bytes or _MOST_BYTES)
        except TooLarge as error:
            raise self._kind.unavailable("the answer is too large", component=self.component) from error
        except CallTimedOut as error:
            raise self._kind.timeout("the answer took too long", component=self.component) from error
        except _FAILURES as error:
            failure = no_answer(error, self.component, self._kind.unavailable, self._kind.timeout, "server")
            late = isinstance(error, httpx2.TimeoutException) and not self._kind.again_when_late
            if isinstance(error, httpx2.TransportError) and not late:
                raise _Retry(failure) from error
            raise failure from error
        try:
            return json.loads(content)
        except (ValueError, RecursionError) as error:
            raise self._kind.unavailable("the answer is not JSON", component=self.component) from error

    def _check_status(self, answer: httpx2.Response) -> None:
        status = answer.status_code
        if status == 200:
            return
        if answer.is_redirect:
            raise self._kind.unavailable(
                msg("answered with a redirect (HTTP {status}), which is refused", status=status),
                component=self.component,
                hint="put the final address of the server in the settings",
            )
        hint = _HINTS.get(status, "").format(self._kind.name)
        failure = self._kind.unavailable(
            msg("answered HTTP {status}", status=status), component=self.component, hint=hint
        )
        if status in (429, 503):
            asked = answer.headers.get("retry-after", "")
            raise _Retry(failure, float(asked) if re.fullmatch(r"[0-9]{1,6}", asked) else 0.0)
        raise failure


def address(url: str, path: str, kind: Kind, *, default: str = "") -> httpx2.URL:
    """The endpoint's URL, from the URL of a server, of its API, or of the endpoint itself.

    Args:
        path: The last part of the endpoint's path, e.g. ``/embeddings``.
        default: What stands before `path` when the URL names only a server.

    Raises:
        ConfigError: it is no address of a server, or holds a password.
    """
    try:
        parsed = httpx2.URL(url.strip())
        host = parsed.host
    except (httpx2.InvalidURL, ValueError) as error:  # half of a surrogate pair, a name that IDNA does not have
        raise ConfigError(msg("the {name}'s URL is not valid", name=kind.name)) from error
    if parsed.scheme not in ("http", "https") or not host:
        raise ConfigError(msg("the {name}'s URL must begin with http:// or https:// and name a host", name=kind.name))
    if parsed.userinfo:
        raise ConfigError(msg("the {name}'s URL holds a password; use the key instead", name=kind.name))
    before = parsed.path.rstrip("/")
    return parsed.copy_with(path=before if before.endswith(path) else f"{before or default}{path}")


def _port(url: httpx2.URL) -> int:
    return url.port or (443 if url.scheme == "https" else 80)


def _headers(key: str, kind: Kind) -> dict[str, str]:
    if not key:
        return {}
    if not re.fullmatch(r"[\x21-\x7e]+", key):
        raise ConfigError(msg("the {name}'s key must be printable ASCII without white space", name=kind.name))
    return {"Authorization": f"Bearer {key}"}
