"""What a checkpoint records, before its versions are known. No I/O."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, cast

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import Checkpoint, CheckpointMetadata, get_checkpoint_metadata
from langgraph.checkpoint.serde.base import SerializerProtocol

from hansard import _langgraph_names as names
from hansard._ids import uuid7
from hansard._langgraph_documents import put_events
from hansard._langgraph_messages import CHANNEL, is_message
from hansard._langgraph_records import CheckpointRecord, Typed, decode, encode
from hansard.types import Event

# Values with more characters in base64 have documents of their own. Each checkpoint repeats the others.
INLINE_CHARS_MAX = 2_048
# Bounds of one commit: the service allows 500 events, and 8 MB as deployed. The creation and `latest_events` have room beside.
EVENTS_MAX, BYTES_MAX = 498, 3 * 1024 * 1024


@dataclasses.dataclass
class Draft:
    """A checkpoint to record."""

    record: CheckpointRecord
    #: The documents of its large values, unless they are recorded already.
    value_events: list[Event]
    #: The messages that become the conversation's, if all of them are messages. `None`: they are a value as others.
    messages: list[BaseMessage] | None


def draft(
    serde: SerializerProtocol,
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    parent: CheckpointRecord | None,
) -> Draft:
    """The draft of a checkpoint. The messages of the root become the conversation's."""
    place = configurable(config)
    checkpoint_ns = place.get("checkpoint_ns") or ""
    values = dict(checkpoint["channel_values"])
    messages: list[BaseMessage] | None = None
    found: list[Any] | None = values.get(CHANNEL)
    if not checkpoint_ns and isinstance(found, list) and all(map(is_message, found[-1:])):
        messages = values.pop(CHANNEL)
    small, keys, events = _values(serde, checkpoint_ns, checkpoint, values, parent)
    full = get_checkpoint_metadata(config, metadata)
    bare = {**checkpoint, "channel_values": {}}
    record = CheckpointRecord(
        namespace=checkpoint_ns,
        checkpoint_id=checkpoint["id"],
        parent_id=place.get("checkpoint_id"),
        run_id=cast("Mapping[str, Any]", full).get("run_id"),
        checkpoint=encode(serde, bare),
        metadata=encode(serde, full),
        values=small,
        keys=keys,
        messages=None,
    )
    return Draft(record, events, messages)


def with_messages_as_value(serde: SerializerProtocol, draft: Draft) -> Draft:
    """A draft whose messages are a value as others: the conversation does not contain them."""
    if draft.messages is None:
        return draft
    record = draft.record
    key, events = _large(record.namespace, CHANNEL, encode(serde, draft.messages))
    keys = {**record.keys, CHANNEL: key}
    return Draft(dataclasses.replace(record, keys=keys), [*draft.value_events, *events], None)


def configurable(config: RunnableConfig) -> dict[str, Any]:
    """The place that a config names."""
    found: dict[str, Any] = config.get("configurable") or {}
    if not found.get("thread_id"):
        raise ValueError('the config has no thread: give {"configurable": {"thread_id": …}}')
    return found


def chunks(groups: Sequence[Sequence[Event]]) -> list[list[Event]]:
    """Events in commits. The events of a group are in one."""
    made: list[list[Event]] = [[]]
    size = 0
    for group in groups:
        group_size = sum(event.ByteSize() for event in group)
        if made[-1] and (len(made[-1]) + len(group) > EVENTS_MAX or size + group_size > BYTES_MAX):
            made.append([])
            size = 0
        made[-1].extend(group)
        size += group_size
    return made


def _values(
    serde: SerializerProtocol,
    checkpoint_ns: str,
    checkpoint: Checkpoint,
    values: Mapping[str, Any],
    parent: CheckpointRecord | None,
) -> tuple[dict[str, Typed], dict[str, str], list[Event]]:
    """The small values, the keys of the large ones, and the events that record them."""
    small: dict[str, Typed] = {}
    keys: dict[str, str] = {}
    events: list[Event] = []
    versions = checkpoint["channel_versions"]
    parent_versions: Mapping[str, Any] = decode(serde, parent.checkpoint)["channel_versions"] if parent else {}
    for channel, value in values.items():
        version = versions.get(channel)
        is_unchanged = version is not None and parent_versions.get(channel) == version
        if parent and is_unchanged and channel in parent.keys:
            keys[channel] = parent.keys[channel]
            continue
        typed = encode(serde, value)
        if len(typed[1]) <= INLINE_CHARS_MAX:
            small[channel] = typed
        else:
            keys[channel], made = _large(checkpoint_ns, channel, typed)
            events += made
    return small, keys, events


def _large(checkpoint_ns: str, channel: str, typed: Typed) -> tuple[str, list[Event]]:
    """The key of a new large value, and the events that record it."""
    key = uuid7()
    value = {"channel": channel, "typed": typed}
    return key, put_events(names.value(checkpoint_ns, key), value, f"the value of the channel {channel!r}")
