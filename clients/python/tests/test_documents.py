"""Documents of frameworks as events and back, with generated items."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from hansard._documents import METADATA_BYTES_MAX, pack, unpack
from hansard.items import ItemFormat
from hansard.types import RecordedEvent

SEEDS = 20
ITEMS_PER_SEED = 300
KEYS = ["type", "role", "content", "text", "call_id", "name", "arguments", "output", "id", "status", "annotations", "$text", "x"]
TEXTS = [
    "message",
    "user",
    "assistant",
    "function_call",
    "function_call_output",
    "input_text",
    "output_text",
    "input_image",
    "{}",
]
LONG = "Where is the parcel that I sent a week ago?"


def value(numbers: random.Random, depth: int) -> Any:
    """A JSON value of the words of items."""
    kind = numbers.randrange(9 if depth else 6)
    if kind == 0:
        return numbers.choice([None, True, False, 0, 1, -1, 1.5, 10**20, 1e300])
    if kind < 4:
        return numbers.choice(TEXTS)
    if kind < 6:
        return numbers.choice(["", LONG, LONG + "\x00é\U0001f600", '{"a": 1.0}', '["' + LONG + '"]', "NaN"])
    if kind == 6:
        return [value(numbers, depth - 1) for _ in range(numbers.randrange(4))]
    return {numbers.choice(KEYS): value(numbers, depth - 1) for _ in range(numbers.randrange(5))}


def item(numbers: random.Random) -> dict[str, Any]:
    """An item, often nearly one of OpenAI's."""
    kind = numbers.choice(["message", "function_call", "function_call_output", "reasoning"])
    made: dict[str, Any] = {
        "type": kind,
        "role": numbers.choice(["user", "assistant", "system"]),
        "content": numbers.choice(
            [LONG, [{"type": "input_text", "text": LONG}, {"type": "output_text", "text": LONG, "annotations": []}]]
        ),
        "call_id": "c1",
        "name": "look",
        "arguments": numbers.choice(["{}", '{"text":"' + LONG + '"}', '{"text": "' + LONG + '"}']),
        "output": numbers.choice([LONG, "", [{"type": "input_text", "text": LONG}]]),
    }
    for name in list(made):
        if numbers.random() < 0.3:
            del made[name]
    for _ in range(numbers.randrange(3)):
        made[numbers.choice(KEYS)] = value(numbers, 3)
    return made


def stored(documents: list[Any]) -> list[RecordedEvent]:
    """The events of documents, as a service returns them."""
    events = [event for document in documents for event in pack(ItemFormat(), document)]
    copies = [type(event).FromString(event.SerializeToString()) for event in events]
    return [RecordedEvent(version=version, event=event) for version, event in enumerate(copies, 2)]


@pytest.mark.parametrize("seed", range(SEEDS))
def test_generated_items_come_back_exactly(seed: int) -> None:
    numbers = random.Random(seed)
    documents = [item(numbers) for _ in range(ITEMS_PER_SEED)]
    events = stored(documents)
    read = [document.value for document in unpack(ItemFormat(), events)]
    assert [json.dumps(one) for one in read] == [json.dumps(one) for one in documents]
    kinds = {event.event.WhichOneof("fact") for event in events}
    assert kinds == {"message_appended", "tool_called", "tool_returned"}
    assert all(len(event.event.metadata_json.encode()) <= METADATA_BYTES_MAX for event in events)


def test_a_text_is_recorded_once() -> None:
    text = LONG * 2000
    (event,) = stored([{"id": "msg_1", "role": "user", "content": [{"type": "input_text", "text": text, "x": 1}]}])
    assert event.event.ByteSize() < len(text) + 500


def test_the_bound_of_metadata() -> None:
    def metadata(size: int) -> str:
        (event,) = stored([{"role": "user", "content": "x", "more": "m" * size}])
        return event.event.metadata_json

    overhead = len(metadata(1)) - 1
    assert len(metadata(METADATA_BYTES_MAX - overhead)) == METADATA_BYTES_MAX
    assert metadata(METADATA_BYTES_MAX - overhead + 1) == ""
