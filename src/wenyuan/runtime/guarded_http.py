"""Connections that are judged by the address they lead to, and that end when their time is up.

A URL can be written so that nobody sees where it leads (``127.1``, ``0x7f000001``, ``127。0。0。1``), and a name can
resolve to an inner address, or to another one at the second look. So no URL is judged here, and no name: only the
address that a socket is about to be connected to, after which nothing is looked up any more.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import httpcore2

from wenyuan.core.errors import EngineUnavailable, msg
from wenyuan.runtime.bounded_calls import BoundedCalls, CallTimedOut
from wenyuan.runtime.timed_stream import TimedStream, seconds_left

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
        *others, last = self._allowed_addresses(host, port, timeout)
        for later, address in zip(range(len(others), 0, -1), others, strict=True):
            seconds = seconds_left(timeout, httpcore2.ConnectTimeout)
            share = seconds / (later + 1)  # one that is silent leaves time for the others
            try:
                return TimedStream(self._connect(address, port, share))
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                continue
        return TimedStream(self._connect(last, port, seconds_left(timeout, httpcore2.ConnectTimeout)))

    def _allowed_addresses(self, host: str, port: int, timeout: float | None) -> list[str]:
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
