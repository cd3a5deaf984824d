"""The JSON schema of replies in which values of the service stand as they are: plain dataclasses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

PUBLISHED: Mapping[str, str] = {
    "Citation": "CitationShape", "ClaimDifference": "ChangeShape", "ContradictedRule": "ContradictedRuleShape",
    "DroppedClaim": "DroppedClaimShape", "LegReport": "LegShape", "RetrievalItem": "ItemShape",
}  # fmt: skip
"""Names of components of the OpenAPI document, by that of the class."""


class ReplySchema(GenerateJsonSchema):
    """Writes a dataclass as `core.json_values.as_json` does: a field with a default is left out while it holds it."""

    def normalize_name(self, name: str) -> str:
        """The name of a component."""
        return PUBLISHED.get(name) or super().normalize_name(name)

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> JsonSchemaValue:
        """The schema of a dataclass, described by the first paragraph of its docstring."""
        told: dict[str, Any] = super().dataclass_schema(schema)
        value = schema["cls"]
        told["title"] = PUBLISHED.get(value.__name__, value.__name__)
        told["description"] = " ".join((value.__doc__ or "").split("\n\n")[0].split())
        told["required"] = [one.name for one in fields(value) if one.default is MISSING]
        told["properties"] = {
            name: {said: part for said, part in one.items() if said != "default"}
            for name, one in told["properties"].items()
        }
        return told
