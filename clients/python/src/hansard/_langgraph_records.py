"""Checkpoints, their pending writes and the latest checkpoint of a namespace as JSON values. No I/O."""

from __future__ import annotations

import base64
import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from langgraph.checkpoint.base import WRITES_IDX_MAP
from langgraph.checkpoint.serde.base import SerializerProtocol

if TYPE_CHECKING:
    from typing_extensions import Self

# A value as the serializer returns it: its type, and its bytes in base64.
Typed = list[str]
# A range of versions, both ends included.
Range = tuple[int, int]
# The version of a conversation's creation.
CREATED = 1
# The member of a checkpoint by which searches find the checkpoints of a run.
RUN_ID = "run_id"
# The messages that were recorded after those of the latest checkpoint: none; some that a rewind hides; some that are still read.
NONE, HIDDEN, VISIBLE = "none", "hidden", "visible"


@dataclasses.dataclass(frozen=True)
class CheckpointRecord:
    """A checkpoint without its large values."""

    namespace: str
    checkpoint_id: str
    parent_id: str | None
    run_id: str | None
    #: The checkpoint without values.
    checkpoint: Typed
    metadata: Typed
    #: The small values by channel.
    values: Mapping[str, Typed]
    #: The keys of the documents of large values by channel.
    keys: Mapping[str, str]
    #: The versions of the messages in the conversation. `None`: the checkpoint has none there.
    messages: Sequence[Range] | None

    def value(self) -> dict[str, Any]:
        """The JSON value of its document."""
        return dict(vars(self))

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> Self:
        """The record of a JSON value."""
        fields = dict(value)
        if fields["messages"] is not None:
            fields["messages"] = [(first, last) for first, last in fields["messages"]]
        return cls(**fields)


@dataclasses.dataclass(frozen=True)
class Latest:
    """The latest checkpoint of a namespace. That of the root also describes the history of the conversation."""

    #: `None`: the first one is being recorded.
    checkpoint_id: str | None
    #: The version of the checkpoint's document.
    checkpoint_version: int
    #: The version of the last event of its messages.
    tail: int = CREATED
    #: The messages after that version.
    after_tail: str = NONE
    #: The version of this document. 0: there is none.
    version: int = 0

    def value(self) -> dict[str, Any]:
        """The JSON value of its document."""
        return {name: value for name, value in vars(self).items() if name != "version"}

    @classmethod
    def of(cls, value: Mapping[str, Any], version: int) -> Self:
        """The one of a JSON value."""
        return cls(**value, version=version)


# What a namespace without checkpoints has.
NO_LATEST = Latest(None, 0)


def encode(serde: SerializerProtocol, value: Any) -> Typed:
    """A value, serialized."""
    kind, data = serde.dumps_typed(value)
    return [kind, base64.b64encode(data).decode()]


def decode(serde: SerializerProtocol, typed: Sequence[str]) -> Any:
    """The value of its serialized form."""
    kind, text = typed
    return serde.loads_typed((kind, base64.b64decode(text)))


def writes_value(serde: SerializerProtocol, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str) -> dict[str, Any]:
    """The JSON value of the writes of one call."""
    entries = [
        [WRITES_IDX_MAP.get(channel, index), channel, *encode(serde, value)] for index, (channel, value) in enumerate(writes)
    ]
    return {"task_id": task_id, "task_path": task_path, "writes": entries}


def pending_writes(serde: SerializerProtocol, values: Iterable[Mapping[str, Any]]) -> list[tuple[str, str, Any]]:
    """The writes of calls, the oldest call first, in the order in which LangGraph applies them.

    A later call does not change earlier writes, unless all its writes are special ones, such as errors and interrupts.
    """
    found: dict[tuple[str, int], tuple[str, list[Any]]] = {}
    for value in values:
        writes = cast("list[list[Any]]", value["writes"])
        replaces = all(channel in WRITES_IDX_MAP for _, channel, *_ in writes)
        for index, *rest in writes:
            place = (str(value["task_id"]), int(index))
            if replaces or place not in found:
                found[place] = (str(value["task_path"]), rest)
    ordered = sorted((path, task_id, index, rest) for (task_id, index), (path, rest) in found.items())
    return [(task_id, channel, decode(serde, typed)) for _, task_id, _, (channel, *typed) in ordered]
