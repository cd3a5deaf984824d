"""The JSON schema of requests and replies in which values of the service stand as they are: plain dataclasses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

PUBLISHED: Mapping[str, str] = {
    "Citation": "CitationShape", "ClaimDifference": "ChangeShape", "ContradictedRule": "ContradictedRuleShape",
    "CorrectionRequest": "CorrectionShape", "DroppedClaim": "DroppedClaimShape", "LegReport": "LegShape", "RetrievalItem": "ItemShape",
    "UnifiedRequest": "UnifiedRequestShape",
}  # fmt: skip
"""Names of components of the OpenAPI document, by that of the class."""


def component(shape: type[Any]) -> str:
    """The name of a class as a component of the OpenAPI document."""
    return PUBLISHED.get(shape.__name__, shape.__name__)


class PublishedSchema(GenerateJsonSchema):
    """Writes dataclasses, too: what is asked for as it is read, and what is answered as `core.json_values.as_json` writes it,
    a field with a default left out while it holds it.
    """

    def normalize_name(self, name: str) -> str:
        """The name of a component."""
        return PUBLISHED.get(name) or super().normalize_name(name)

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> JsonSchemaValue:
        """The schema of a dataclass, described by the first paragraph of its docstring."""
        told: dict[str, Any] = super().dataclass_schema(schema)
        value = schema["cls"]
        told["title"] = component(value)
        told["description"] = " ".join((value.__doc__ or "").split("\n\n")[0].split())
        if self.mode == "validation":
            return told
        told["required"] = [one.name for one in fields(value) if one.default is MISSING]
        told["properties"] = {
            name: {said: part for said, part in one.items() if said != "default"}
            for name, one in told["properties"].items()
        }
        return told
