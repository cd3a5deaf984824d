"""Pages for people, in front of the HTTP API: whatever a page shows or does is one of the API's own calls."""

from wenyuan.console.app import with_console

__all__ = ["with_console"]
