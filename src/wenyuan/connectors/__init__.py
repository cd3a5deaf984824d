"""Connectors read the documents of a source from remote systems. They are selected by the scheme of the source's
address. Here is also what they share: settings, checks of addresses, and HTTP.

Other packages bring further ones at the extension point `plugins.CONNECTORS`: a name is a scheme, and leads to a
`core.connectors.Factory`. Nothing is imported before an address of that scheme is read.
"""

from __future__ import annotations

from wenyuan.connectors.selection import open_connector, schemes

__all__ = ["open_connector", "schemes"]
