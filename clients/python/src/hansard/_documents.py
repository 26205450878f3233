"""Documents of a framework as events, and back exactly as they were.

The events contain what models read. The metadata of the first one contains the document, with references to the texts of its
events, so that a text is recorded once. A document without such events is a provider item, verbatim.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, cast

from hansard._json import dumps
from hansard.types import Event, MessageAppended, OpenCall, Part, ProviderItem, RecordedEvent, Role

# The key in the metadata of the first event of a document.
KEY = "document"
# A service allows 64 KiB of metadata.
METADATA_BYTES_MAX = 60 * 1024
# Shorter texts are not replaced by references.
REFERENCE_CHARS_MIN = 16
TEXT, JSON = "$text", "$json"
OPEN_CALLS_MAX = 128


class Format(Protocol):
    """How a framework's documents become events."""

    #: The name of the format, for example `langchain`.
    name: str

    def events(self, document: Any) -> list[Event]:
        """What models read of a document. Empty: it has no such form."""
        ...

    def of_foreign(self, event: RecordedEvent) -> Any:
        """The document of an event that another client recorded. `None`: there is none."""
        ...


@dataclasses.dataclass(frozen=True)
class Document:
    """A stored document."""

    value: Any
    first_version: int
    last_version: int


def pack(format: Format, document: Any) -> list[Event]:
    """The events of a document."""
    events = format.events(document)
    if not events:
        return [verbatim(format, document)]
    text = dumps(document)
    if len(events) == 1 and _is_stable(events[0]) and dumps(format.of_foreign(RecordedEvent(event=events[0]))) == text:
        return events
    skeleton = _skeleton(document, _texts(events))
    metadata = {KEY: {"format": format.name, "events": len(events), "value": skeleton}}
    note = dumps(metadata)
    is_exact = dumps(_resolve(skeleton, _texts(events))) == text
    if not is_exact or len(note.encode()) > METADATA_BYTES_MAX or "\\u0000" in note:
        return [verbatim(format, document)]
    events[0].metadata_json = note
    for event in events[1:]:
        event.metadata_json = dumps({KEY: {"format": format.name, "is_rest": True}})
    return events


def verbatim(format: Format, document: Any) -> Event:
    """A document as an item that models of other providers do not read."""
    item = ProviderItem(provider=format.name, item_json=dumps(document))
    return Event(message_appended=MessageAppended(role=Role.ROLE_ASSISTANT, parts=[Part(provider_item=item)]))


def unpack(format: Format, events: Sequence[RecordedEvent]) -> list[Document]:
    """The documents of events, oldest first. A document whose first events are missing is left out."""
    documents: list[Document] = []
    index = 0
    while index < len(events):
        count, value = _first(format, events, index)
        if value is not None:
            documents.append(Document(value, events[index].version, events[index + count - 1].version))
        index += count
    return documents


def with_open_calls(
    format: Format, documents: Sequence[Any], groups: Sequence[list[Event]], open_calls: Iterable[OpenCall]
) -> list[list[Event]]:
    """Makes verbatim items of documents with a result without an open call, or with a call that is open already."""
    is_open = {call.call_id for call in open_calls}
    made: list[list[Event]] = []
    for document, events in zip(documents, groups, strict=True):
        after = _calls_after(is_open, events)
        made.append([verbatim(format, document)] if after is None else events)
        is_open = is_open if after is None else after
    return made


def _calls_after(is_open: set[str], events: Iterable[Event]) -> set[str] | None:
    """The open calls after events. `None`: the service would reject them."""
    after = set(is_open)
    for event in events:
        fact = event.WhichOneof("fact")
        if fact == "tool_called":
            if event.tool_called.call_id in after or len(after) >= OPEN_CALLS_MAX:
                return None
            after.add(event.tool_called.call_id)
        elif fact == "tool_returned":
            if event.tool_returned.call_id not in after:
                return None
            after.remove(event.tool_returned.call_id)
    return after


def _first(format: Format, events: Sequence[RecordedEvent], index: int) -> tuple[int, Any]:
    """The document that begins with an event, and its number of events."""
    event = events[index].event
    note = _note(event)
    if note.get("is_rest"):
        return 1, None
    if note.get("format") == format.name and isinstance(note.get("events"), int):
        group = [recorded.event for recorded in events[index : index + note["events"]]]
        # A fork may leave in the middle of a document.
        if len(group) == note["events"] and all(_note(event).get("is_rest") for event in group[1:]):
            return len(group), _resolve(note.get("value"), _texts(group))
    parts = event.message_appended.parts
    if len(parts) == 1 and parts[0].provider_item.provider == format.name and not note:
        return 1, json.loads(parts[0].provider_item.item_json)
    return 1, format.of_foreign(events[index])


def _note(event: Event) -> Mapping[str, Any]:
    if not event.metadata_json:
        return {}
    metadata = json.loads(event.metadata_json)
    note = cast("Mapping[str, Any]", metadata).get(KEY) if isinstance(metadata, dict) else None
    return cast("Mapping[str, Any]", note) if isinstance(note, dict) else {}


def _texts(events: Iterable[Event]) -> list[str]:
    """The texts of events that documents refer to, by index."""
    return [text for event in events for text in _texts_of(event)]


def _texts_of(event: Event) -> Iterator[str]:
    fact = event.WhichOneof("fact")
    if fact == "tool_called":
        yield _stable(event.tool_called.input_json)
        return
    if fact == "tool_returned" and event.tool_returned.WhichOneof("output") == "output_json":
        yield _stable(event.tool_returned.output_json)
        return
    parts = event.message_appended.parts if fact == "message_appended" else event.tool_returned.output_parts.parts
    for part in parts:
        kind = part.WhichOneof("kind")
        if kind == "image":
            yield part.image.source.url
        elif kind == "file":
            yield part.file.source.url
        elif kind == "thinking":
            yield part.thinking.text
            yield part.thinking.signature
        elif kind == "provider_item":
            yield _stable(part.provider_item.item_json)
        elif kind is not None:
            yield getattr(part, kind)


def _skeleton(value: Any, texts: Sequence[str]) -> Any:
    """A document with references instead of texts and JSON that its events contain."""
    by_text = {text: index for index, text in enumerate(texts) if len(text) >= REFERENCE_CHARS_MIN}
    parsed = [(index, _loads(text)) for text, index in by_text.items()]
    documents = [(index, document) for index, document in parsed if document is not None]

    def replace(value: Any) -> Any:
        if isinstance(value, str):
            return {TEXT: by_text[value]} if value in by_text else value
        for index, document in documents:
            # Equal values of other types, such as 1 and True, differ as text.
            if value == document and dumps(value) == dumps(document):
                return {JSON: index}
        if isinstance(value, dict):
            return {key: replace(member) for key, member in cast("dict[str, Any]", value).items()}
        if isinstance(value, list):
            members = cast("list[Any]", value)  # type: ignore[redundant-cast]
            return [replace(member) for member in members]
        return value

    return replace(value)


def _resolve(value: Any, texts: Sequence[str]) -> Any:
    """The document of a skeleton."""
    if isinstance(value, list):
        entries = cast("list[Any]", value)  # type: ignore[redundant-cast]
        return [_resolve(entry, texts) for entry in entries]
    if not isinstance(value, dict):
        return value
    members = cast("dict[str, Any]", value)
    if len(members) == 1:
        ((key, index),) = members.items()
        if key in (TEXT, JSON) and isinstance(index, int) and 0 <= index < len(texts):
            return texts[index] if key == TEXT else json.loads(texts[index])
    return {key: _resolve(member, texts) for key, member in members.items()}


def _stable(text: str) -> str:
    """JSON text that every transport returns as it is; empty: HTTP would return it with other spaces or digits."""
    try:
        return text if dumps(json.loads(text)) == text else ""
    except ValueError:
        return ""


def _is_stable(event: Event) -> bool:
    fact = event.WhichOneof("fact")
    if fact == "tool_called":
        return bool(_stable(event.tool_called.input_json))
    parts = event.message_appended.parts if fact == "message_appended" else event.tool_returned.output_parts.parts
    return all(_stable(part.provider_item.item_json) for part in parts if part.WhichOneof("kind") == "provider_item")


def _loads(text: str) -> Any:
    if text[:1] not in ("{", "["):
        return None
    try:
        return json.loads(text)
    except ValueError:
        return None
