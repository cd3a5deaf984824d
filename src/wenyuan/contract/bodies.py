"""How strictly a body or a query string is read: the bases of all shapes that are asked for."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Strict(BaseModel):
    """A body that has no members but these, of these types and no others."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Lenient(BaseModel):
    """A body of another protocol: members of these types and no others; further ones are passed over."""

    model_config = ConfigDict(extra="ignore", strict=True)


class QueryString(BaseModel):
    """The parameters of a query string, which has texts alone: no others than these, numbers in digits."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
