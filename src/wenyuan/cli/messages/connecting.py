"""What is said to those who connect agents."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["MESSAGES"]

MESSAGES: Mapping[str, tuple[str, str]] = {
    "mcp_missing": ("the package for MCP is not installed", "未安装 MCP 所需的软件包"),
    "connect_claude_desktop": (
        "Claude Desktop: in claude_desktop_config.json (Settings > Developer > Edit Config)",
        "Claude Desktop：写入 claude_desktop_config.json（设置 > 开发者 > 编辑配置）",
    ),
    "connect_claude_code": ("Claude Code, on this machine", "Claude Code，本机"),
    "connect_claude_code_http": ("Claude Code, by the server", "Claude Code，通过服务"),
    "connect_cursor_stdio": (
        "Cursor, on this machine: in ~/.cursor/mcp.json",
        "Cursor，本机：写入 ~/.cursor/mcp.json",
    ),
    "connect_cursor_http": (
        "Cursor, by the server: in ~/.cursor/mcp.json",
        "Cursor，通过服务：写入 ~/.cursor/mcp.json",
    ),
    "connect_dify_fields": (
        "Dify: Knowledge > External Knowledge API > Add; then a knowledge base with this id",
        "Dify：知识库 > 外部知识库 API > 添加；再以此 ID 连接外部知识库",
    ),
    "connect_coze_fields": (
        "Coze: create a plugin, import from an OpenAPI document, authorise with a service token",
        "扣子：创建插件，从 OpenAPI 文档导入，授权方式选择 Service token",
    ),
    "connect_left_out": (
        "Left out what would start wenyuan here, because it could not: {why}. Next: {hint}",
        "已略去在本机启动文渊的配置，因为现在无法启动：{why}。下一步：{hint}",
    ),
    "connect_install": ("Install", "安装"),
    "connect_python": ("Python", "Python"),
    "connect_key": (
        "{word} stands for an API key: wenyuan key create --rights retrieve,search. Where the server needs none, leave it out",
        "{word} 代表 API 密钥：wenyuan key create --rights retrieve,search。服务不需要密钥时，请删去该项",
    ),
    "connect_any_key": (
        "{word} stands for an API key: wenyuan key create --rights search. Where the server needs none, leave any word "
        "there: the client wants one",
        "{word} 代表 API 密钥：wenyuan key create --rights search。服务不需要密钥时，可保留任意文字：该客户端要求填写",
    ),
    "connect_serve": ("The server must run at {url}: wenyuan serve", "需先启动服务 {url}：wenyuan serve"),
}
