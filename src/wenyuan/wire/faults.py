"""What is wrong with a value, in our words: pydantic tells the kind of a fault and the limits that it breaks."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic_core import ErrorDetails

__all__ = ["said_of"]

_MESSAGES: Mapping[str, str] = {
    "missing": "is required",
    "string_type": "must be a string",
    "int_type": "must be an integer",
    "int_parsing": "must be an integer",
    "int_from_float": "must be an integer",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "list_type": "must be an array",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "string_too_short": "must not be empty",
    "string_too_long": "must have at most {max_length} characters",
    "too_short": "must not be empty",  # arrays and objects: one entry is all that is ever asked for
    "too_long": "must have at most {max_length} entries",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "literal_error": "must be one of {expected}",
}


def said_of(error: ErrorDetails) -> str:
    """What is wrong, without the place and without repeating the value; what has no words here says it in pydantic's."""
    words = _MESSAGES.get(error["type"])
    return error["msg"] if words is None else words.format(**error.get("ctx", {}))
