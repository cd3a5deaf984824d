"""What groups may do, as the settings say now: a change of ``wenyuan.toml`` counts for the next question."""

from __future__ import annotations

import threading
from pathlib import Path

from wenyuan.oidc_settings import OidcSettings
from wenyuan.settings import FILE_NAME, load_settings

_Mark = tuple[int, int, int] | None


class GroupMapping:
    """The settings of signing in, whose mapping follows the file of settings; all else stays as it was at the start.

    Args:
        folder: Of the library; None: there is no file.
    """

    def __init__(self, settings: OidcSettings, folder: Path | None) -> None:
        self._settings = settings
        self._file = None if folder is None else folder / FILE_NAME
        self._seen = self._mark()
        self._lock = threading.Lock()

    def now(self) -> OidcSettings:
        """The settings with the mapping as it is now.

        Raises:
            ConfigError: the file cannot be read any more, so it is not known what anybody may do.
        """
        mark = self._mark()
        if mark != self._seen:
            with self._lock:
                self._read(mark)
        return self._settings

    def _read(self, mark: _Mark) -> None:
        if mark == self._seen or self._file is None:
            return
        told = load_settings(self._file.parent).oidc
        mapping = {
            name: getattr(told, name) for name in ("everyone", "groups", "clients", "required_scopes", "scopes")
        }
        self._settings = self._settings.model_copy(update=mapping)
        self._seen = mark

    def _mark(self) -> _Mark:
        if self._file is None:
            return None
        try:
            found = self._file.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino
