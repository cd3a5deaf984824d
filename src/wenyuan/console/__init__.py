"""The console: web pages for people, in front of the HTTP API. Every page uses only calls of that API."""

from __future__ import annotations

from wenyuan.console.site import with_console

__all__ = ["with_console"]
