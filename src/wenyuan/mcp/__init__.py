"""The Model Context Protocol (MCP) interface: the library's tools and documents for any agent that speaks MCP.

`tools` says what they do and knows nothing of the protocol's library; `server` and `exchange` need the extra ``mcp``.
"""
