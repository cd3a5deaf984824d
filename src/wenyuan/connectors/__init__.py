"""Connectors read the documents of a source from remote systems. They are selected by the scheme of the source's
address. Here is also what they share: settings, checks of addresses, and HTTP.

Other packages bring further ones under the entry point ``wenyuan.connectors``: its name is the scheme, its value a
`core.connectors.Factory`. Nothing is imported before an address of that scheme is read.
"""

from __future__ import annotations

from wenyuan.connectors.selection import GROUP, open_connector, schemes

__all__ = ["GROUP", "open_connector", "schemes"]
