"""The tool: a failure is raised, so that Dify shows it as one."""

from collections.abc import Generator
from typing import Any

from dify_plugin import Tool
from dify_plugin.entities.tool import ToolInvokeMessage
from tools.asking import fragments


class RetrieveFragmentsTool(Tool):
    def _invoke(self, tool_parameters: dict[str, Any]) -> Generator[ToolInvokeMessage]:
        asked = str(tool_parameters.get("query") or "")
        most, domain = int(tool_parameters.get("max_results") or 5), str(tool_parameters.get("domain") or "")
        found = fragments(self.runtime.credentials, asked, most, domain)
        yield self.create_json_message({"fragments": found})
        text = "\n\n".join(f"[{one['source']}]\n{one['content']}" for one in found)
        yield self.create_text_message(text or "The library was searched and has nothing on this.")
