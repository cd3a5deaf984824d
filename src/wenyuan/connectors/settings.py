"""Settings common to all connectors."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class ConnectorSettings(BaseModel):
    """Settings that every built-in connector has.

    Attributes:
        allow_private: Whether the source may lie on this machine or in a private network.
        timeout: Seconds for one whole exchange with a server.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, hide_input_in_errors=True)

    allow_private: bool = False
    timeout: float = Field(default=30.0, gt=0, le=600)
