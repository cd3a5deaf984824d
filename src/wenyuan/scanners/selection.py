"""Which scanner the settings name."""

from __future__ import annotations

from contextlib import ExitStack

from wenyuan.core.scanning import Scanner
from wenyuan.settings import RedactionSettings


def open_scanner(settings: RedactionSettings, releasing: ExitStack) -> Scanner | None:
    """The scanner of ``redaction.scanner``: clamd, an HTTP endpoint, or a command; None where there is none.

    Args:
        releasing: Closes it in the end.

    Raises:
        ConfigError: it is no address of one, and no command.
    """
    said = settings.scanner.strip()
    if not said:
        return None
    scanner = _scanner_of(said, settings)
    releasing.callback(scanner.close)
    return scanner


def _scanner_of(said: str, settings: RedactionSettings) -> Scanner:
    scheme = said.partition("://")[0].lower()
    if scheme == "clamd":
        from wenyuan.scanners.clamd import ClamdScanner

        return ClamdScanner(said, found=settings.found, timeout=settings.scanner_timeout)
    if scheme in ("http", "https"):
        from wenyuan.scanners.http import HttpScanner

        return HttpScanner(said, key=settings.scanner_key.get_secret_value(), timeout=settings.scanner_timeout)
    from wenyuan.scanners.command import CommandScanner

    return CommandScanner(said, found=settings.found, timeout=settings.scanner_timeout)
