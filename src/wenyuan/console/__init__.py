"""The console: web pages for people, in front of the HTTP API. Every page uses only calls of that API."""

from wenyuan.console.app import with_console

__all__ = ["with_console"]
