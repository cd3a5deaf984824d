"""A file that comes with a request: its name, and its bytes in base64 (RFC 4648)."""

from __future__ import annotations

import binascii
from base64 import b64decode
from typing import Annotated, Any

from pydantic import Field, TypeAdapter

from wenyuan.contract.bodies import Strict
from wenyuan.contract.fields import Text
from wenyuan.core.errors import Fault, InvalidRequest, msg
from wenyuan.wire.published_schema import PublishedSchema

_MOST_CHARS = 1024 * 1024


class FileShape(Strict):
    """A file, as large as a body may be."""

    name: Annotated[Text, Field(min_length=1, max_length=200, pattern=r"^[^/\\\x00-\x1f]+$")] = Field(
        description="Without a folder; its ending says what it is."
    )
    base64: Annotated[Text, Field(max_length=_MOST_CHARS)]


def body_schema(shape: type[Any]) -> dict[str, Any]:
    """Schema of a route's body for the OpenAPI document, with files as a component."""
    template = "#/components/schemas/{model}"
    schema = TypeAdapter(shape).json_schema(ref_template=template, schema_generator=PublishedSchema)
    schema.pop("$defs", None)
    return {"required": True, "content": {"application/json": {"schema": schema}}}


def bytes_of(file: FileShape) -> bytes:
    """The decoded content of a file; InvalidRequest when it is not base64."""
    try:
        return b64decode(file.base64, validate=True)
    except (binascii.Error, ValueError) as error:
        message = "must be base64"
        raise InvalidRequest(
            msg("file.base64 {message}", message=message), faults=(Fault("file.base64", message),)
        ) from error
