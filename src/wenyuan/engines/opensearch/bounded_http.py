"""A connection of the driver that reads no more than a reply may have, and writes nothing into logs."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import urlencode

from opensearchpy import Urllib3HttpConnection
from opensearchpy.exceptions import ConnectionError as ConnectionFailed
from opensearchpy.exceptions import ConnectionTimeout, SSLError
from urllib3.exceptions import ReadTimeoutError
from urllib3.exceptions import SSLError as TransportSSLError
from urllib3.util.retry import Retry

MOST_REPLY = 128 * 1024 * 1024
"""Bytes of a reply: a thousand rows with vectors of 16,000 dimensions are 85 MB."""
_CHUNK = 1024 * 1024


class ReplyTooLong(Exception):
    """A reply was cut off at its bound."""


class BoundedConnection(Urllib3HttpConnection):
    """A connection to one node."""

    def perform_request(
        self,
        method: str,
        url: str,
        params: Mapping[str, Any] | None = None,
        body: bytes | None = None,
        timeout: float | None = None,
        ignore: Collection[int] = (),
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """Status, headers and text of a reply.

        Raises:
            ReplyTooLong: it has more than `MOST_REPLY` bytes.
            OpenSearchException: the node cannot be asked, or refuses; its type tells which.
        """
        if self.pool is None:
            self._create_urllib3_pool()
        path = self.url_prefix + url + (f"?{urlencode(params)}" if params else "")
        until = time.monotonic() + (timeout or self.timeout)
        try:
            response = self.pool.urlopen(
                method, path, body, retries=Retry(False), headers={**self.headers, **(headers or {})},
                timeout=timeout or self.timeout, preload_content=False,
            )  # fmt: skip
            text = _read(response, until).decode("utf-8", "surrogatepass")
        except (ReplyTooLong, ConnectionTimeout):
            raise
        except TransportSSLError as error:
            raise SSLError("N/A", str(error), error) from error
        except ReadTimeoutError as error:
            raise ConnectionTimeout("TIMEOUT", str(error), error) from error
        except Exception as error:
            raise ConnectionFailed("N/A", str(error), error) from error
        if not 200 <= response.status < 300 and response.status not in ignore:
            self._raise_error(response.status, text, response.headers.get("content-type"))
        return response.status, response.headers, text


def _read(response: Any, until: float) -> bytes:
    """The body; a node that gives it in drops is given up at the deadline."""
    parts, size = [], 0
    try:
        while part := response.read(_CHUNK, decode_content=True):
            parts.append(part)
            size += len(part)
            if size > MOST_REPLY:
                raise ReplyTooLong
            if time.monotonic() > until:
                raise ConnectionTimeout("TIMEOUT", "the reply takes too long", None)
    except BaseException:
        response.close()
        raise
    response.release_conn()
    return b"".join(parts)
