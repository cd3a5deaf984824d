"""The credentials of the plugin: they count where the server answers a question."""

from typing import Any

from dify_plugin import ToolProvider
from dify_plugin.errors.tool import ToolProviderCredentialValidationError
from tools.asking import Failed, fragments


class WenyuanProvider(ToolProvider):
    def _validate_credentials(self, credentials: dict[str, Any]) -> None:
        try:
            fragments(credentials, "?", 1)
        except Failed as error:
            raise ToolProviderCredentialValidationError(str(error)) from error
