"""A scanner behind HTTP: each file is posted to it, and it answers with a verdict in JSON."""

from __future__ import annotations

import json
from urllib.parse import quote

import httpx2

from wenyuan.core.errors import ConfigError, msg
from wenyuan.core.ports import until
from wenyuan.core.scanning import ScannerFailed, ScanVerdict, verdict_of
from wenyuan.runtime.bounded_calls import CallTimedOut
from wenyuan.runtime.deadlines import deadline_after
from wenyuan.runtime.responses import TooLarge, read_whole
from wenyuan.runtime.timed_stream import punctual

_MOST_SAID = 64 * 1024  # bytes of its answer


class HttpScanner:
    """Posts each file as ``application/octet-stream``, its name percent-encoded in ``X-File-Name``.

    The answer must have status 200 and be a verdict (`core.scanning.verdict_of`). Redirects and proxies are not followed:
    the file would go elsewhere.

    Args:
        url: Of the endpoint.
        key: Sent as a bearer token.
        timeout: Seconds for one file.

    Raises:
        ConfigError: the URL cannot be used.
    """

    def __init__(self, url: str, *, key: str, timeout: float) -> None:
        try:
            self._url = httpx2.URL(url)
        except httpx2.InvalidURL as error:
            raise ConfigError("redaction.scanner: its URL is not valid", component="scanner") from error
        if not self._url.host or self._url.userinfo:
            raise ConfigError(
                "redaction.scanner: its URL must name a host, and hold no password", component="scanner"
            )
        self.name = f"scanner at {self._url.host}"
        self._timeout = timeout
        headers = {"Accept-Encoding": "identity"} | ({"Authorization": f"Bearer {key}"} if key else {})
        self._client = punctual(httpx2.Client(headers=headers, follow_redirects=False, trust_env=False))

    def scan(self, content: bytes, name: str) -> ScanVerdict:
        headers = {"Content-Type": "application/octet-stream", "X-File-Name": quote(name, safe="", errors="replace")}
        try:
            with (
                until(deadline_after(self._timeout)),
                self._client.stream(
                    "POST", self._url, content=content, headers=headers, timeout=self._timeout
                ) as answer,
            ):
                if answer.status_code != 200:
                    told = msg("answered HTTP {status}", status=answer.status_code)
                    raise ScannerFailed(told, component=self.name)
                said = read_whole(answer.iter_raw(), _MOST_SAID)
        except CallTimedOut as error:
            told = msg("no verdict within {seconds} s", seconds=f"{self._timeout:g}")
            raise ScannerFailed(told, component=self.name) from error
        except TooLarge as error:
            raise ScannerFailed("its answer is no verdict", component=self.name) from error
        except httpx2.HTTPError as error:
            told = msg("cannot be reached ({kind})", kind=type(error).__name__)
            raise ScannerFailed(told, component=self.name) from error
        try:
            return verdict_of(json.loads(said), self.name)
        except (ValueError, RecursionError) as error:
            raise ScannerFailed("its answer is no verdict", component=self.name) from error

    def close(self) -> None:
        self._client.close()
