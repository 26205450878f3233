"""Strict validation by the types of OpenAI's library, which itself accepts every answer."""

import functools

from pydantic import TypeAdapter


@functools.cache
def adapter(kind):
    return TypeAdapter(kind)


def strict(kind, value):
    """The value, after its JSON is validated strictly against the type."""
    adapter(kind).validate_json(value.to_json(exclude_unset=True), strict=True)
    return value
