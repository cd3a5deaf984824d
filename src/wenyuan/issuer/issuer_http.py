"""Requests to the issuer: bounded in size and time, to addresses that may be connected to, without proxies and redirects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit

import httpcore2

from wenyuan.core.contract import read_object
from wenyuan.core.errors import KnowledgeError, msg
from wenyuan.core.person import IssuerUnavailable
from wenyuan.core.ports import until
from wenyuan.core.remote_addresses import host_of
from wenyuan.runtime.bounded_calls import CallTimedOut
from wenyuan.runtime.deadlines import deadline_after
from wenyuan.runtime.guarded_http import GuardedBackend
from wenyuan.runtime.responses import CORE_FAILURES, TooLarge, no_answer, read_whole
from wenyuan.runtime.surplus_replies import refuse_surplus

COMPONENT = "issuer"


class IssuerHttp:
    """Client for an issuer's endpoints. Thread-safe; it is asked rarely, so no connection is kept. No message has anything that was sent or answered.

    Args:
        timeout: Seconds for one whole exchange.
        allow_private: Whether loopback and private addresses may be connected to, and HTTP without TLS spoken.
    """

    def __init__(self, *, timeout: float, allow_private: bool) -> None:
        self._timeout = timeout
        self._allow_private = allow_private
        self.date = ""
        """The ``Date`` of the last answer."""
        refuse_surplus()
        self._ssl = httpcore2.default_ssl_context()
        self._backend = GuardedBackend(COMPONENT, allow_private=allow_private)

    def get(self, url: str, most: int, *, token: str = "") -> dict[str, Any]:
        """The JSON object at an address.

        Args:
            token: Sent as bearer token.

        Raises:
            IssuerUnavailable: there is none.
        """
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        status, content = self._exchange("GET", url, b"", headers, most)
        if status != 200:
            raise self._failure(url, msg("answered HTTP {status}", status=status))
        return self._object(url, content)

    def post(
        self, url: str, fields: Mapping[str, str], headers: Mapping[str, str], most: int
    ) -> tuple[int, dict[str, Any]]:
        """The status and the JSON object that answer a form.

        Raises:
            IssuerUnavailable: there is no such answer.
        """
        sent = {"Content-Type": "application/x-www-form-urlencoded", **headers}
        status, content = self._exchange("POST", url, urlencode(fields).encode(), sent, most)
        if status not in (200, 400, 401, 403):
            raise self._failure(url, msg("answered HTTP {status}", status=status))
        return status, self._object(url, content)

    def _object(self, url: str, content: bytes) -> dict[str, Any]:
        try:
            return read_object(content)
        except (ValueError, RecursionError) as error:
            raise self._failure(url, "the answer is no JSON object") from error

    def _exchange(
        self, method: str, url: str, body: bytes, headers: Mapping[str, str], most: int
    ) -> tuple[int, bytes]:
        parts = urlsplit(url)
        if parts.scheme != "https" and not self._allow_private:
            raise self._failure(url, "its address has no https")
        sent = {
            "Host": host_of(parts),
            "User-Agent": "wenyuan",
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            **headers,
        }
        limits = dict.fromkeys(("connect", "read", "write", "pool"), self._timeout)
        with until(deadline_after(self._timeout)):
            try:
                with (
                    httpcore2.ConnectionPool(ssl_context=self._ssl, network_backend=self._backend) as pool,
                    pool.stream(
                        method, url, headers=list(sent.items()), content=body, extensions={"timeout": limits}
                    ) as answer,
                ):
                    told = {name.lower(): value for name, value in answer.headers}
                    self.date = told.get(b"date", b"").decode("latin-1")
                    return answer.status, read_whole(answer.iter_stream(), most)
            except TooLarge as error:
                raise self._failure(url, "the answer is too large") from error
            except CallTimedOut as error:
                raise self._failure(url, "no answer in time") from error
            except CORE_FAILURES as error:
                raise no_answer(
                    error, self._component(url), IssuerUnavailable, IssuerUnavailable, "issuer"
                ) from error
            except IssuerUnavailable:
                raise
            except KnowledgeError as error:  # where nothing may be connected to; the hint there is about sources
                hint = "if that is meant, set oidc.allow_private" if "private" in str(error) else ""
                raise IssuerUnavailable(error.message, component=self._component(url), hint=hint) from error

    def _failure(self, url: str, why: str) -> IssuerUnavailable:
        return IssuerUnavailable(why, component=self._component(url))

    @staticmethod
    def _component(url: str) -> str:
        return f"{COMPONENT} {host_of(urlsplit(url))}"
