"""What is said to those who connect agents."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["MESSAGES"]

MESSAGES: Mapping[str, tuple[str, str]] = {
    "mcp_missing": ("the package for MCP is not installed", "未安装 MCP 所需的软件包"),
}
