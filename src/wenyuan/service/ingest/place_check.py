"""Whether something can be read at the place that a source names, before anything is made for it."""

from __future__ import annotations

from pathlib import Path

from wenyuan.core.errors import Fault, InvalidRequest, SourceError, listed, msg
from wenyuan.core.remote_addresses import checked_address, is_remote
from wenyuan.runtime.presence import exists


def check_address(path: str) -> None:
    """InvalidRequest for an address that nothing is read from."""
    if is_remote(path):
        try:
            checked_address(path)
        except ValueError as error:
            fault = Fault("path", str(error))
            raise InvalidRequest(listed([fault]), faults=(fault,)) from error


def check_place(path: str) -> None:
    """As `check_address`; SourceError for a local path at which nothing is."""
    check_address(path)
    if not is_remote(path) and not exists(Path(path)):
        raise SourceError(
            msg("there is no file or folder {path}", path=path), hint="check the path, or mount what it lies on"
        )
