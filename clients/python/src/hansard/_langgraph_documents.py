"""Documents of a thread of LangGraph as events, and back. Large ones are split over several documents. No I/O."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, cast

from hansard._json import dumps
from hansard._langgraph_names import Name
from hansard.types import DocumentDeleted, DocumentPut, Event

# Most characters of one document. As JSON text they have at most 384 KiB, and an event 512 KiB.
PART_CHARS_MAX = 96 * 1024
# Most documents of one value: 24 MiB of JSON text.
PARTS_MAX = 256
# The member that a document has instead of its value, if it has several parts.
PARTS, TEXT = "$parts", "$text"
# What a key of a later part has before its number.
PART_MARK = "#"


class ValueTooLarge(ValueError):
    """A value of the graph's state is larger than a saver stores."""


def put_events(name: Name, value: dict[str, Any], what: str, index: Mapping[str, Any] | None = None) -> list[Event]:
    """The events that record a value. `index` are members by which searches find it."""
    namespace, key = name
    text = dumps(value)
    if len(text) <= PART_CHARS_MAX:
        return [_put(namespace, key, text)]
    texts = [text[start : start + PART_CHARS_MAX] for start in range(0, len(text), PART_CHARS_MAX)]
    if len(texts) > PARTS_MAX:
        bound = PARTS_MAX * PART_CHARS_MAX
        raise ValueTooLarge(f"{what} has {len(text)} characters, more than {bound}: keep it in a file, and its name in the state")
    first = _put(namespace, key, dumps({PARTS: len(texts), TEXT: texts[0], **(index or {})}))
    rest = [_put(namespace, part_key(key, index), dumps({TEXT: texts[index]})) for index in range(1, len(texts))]
    # A reader that finds the first part finds all of them.
    return [*rest, first]


def put_event(name: Name, value: dict[str, Any]) -> Event:
    """The event that records a document as it was read."""
    return _put(*name, dumps(value))


def delete_event(name: Name) -> Event:
    """The event that deletes a document."""
    namespace, key = name
    return Event(document_deleted=DocumentDeleted(namespace=namespace, key=key))


def part_key(key: str, index: int) -> str:
    """The key of a later part."""
    return f"{key}{PART_MARK}{index}"


def base_key(key: str) -> str:
    """The key of the first part."""
    return key.split(PART_MARK)[0]


def is_later_part(value: Mapping[str, Any]) -> bool:
    """Whether a document's value is a part, and not the first one."""
    return TEXT in value and PARTS not in value


def parts_count(value: dict[str, Any]) -> int:
    """The number of parts of a document's value."""
    return int(value.get(PARTS, 1))


def joined(parts: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The value of parts, the first one first."""
    given = list(parts)
    if PARTS not in given[0]:
        return given[0]
    return cast("dict[str, Any]", json.loads("".join(str(part[TEXT]) for part in given)))


def _put(namespace: tuple[str, ...], key: str, text: str) -> Event:
    return Event(document_put=DocumentPut(namespace=namespace, key=key, value_json=text))
