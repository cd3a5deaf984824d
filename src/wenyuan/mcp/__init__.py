"""The Model Context Protocol (MCP) interface: the library's tools and documents for any agent that speaks MCP.

What the tools do stands here, and knows nothing of the protocol's library; `mcp.server` needs the extra ``mcp``.
"""
