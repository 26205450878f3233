"""Texts that have UTF-8."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast


def whole(value: object) -> Any:
    """The value with U+FFFD instead of halves of surrogate pairs in its texts, which have no UTF-8.

    Two halves that follow each other become their character.
    """
    if isinstance(value, str):
        if value.isascii():
            return value
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, Mapping):
        return {whole(name): whole(member) for name, member in cast("Mapping[object, object]", value).items()}
    if isinstance(value, list):
        return [whole(entry) for entry in cast("list[object]", value)]
    return value
