"""The parts of the LangGraph saver without I/O, at their bounds."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("langgraph.checkpoint.base")

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from hansard import _langgraph_cache as cache
from hansard import _langgraph_names as names
from hansard._documents import pack, unpack
from hansard._langgraph_cache import ThreadCache, ThreadCaches
from hansard._langgraph_documents import PART_CHARS_MAX, PARTS_MAX, ValueTooLarge, joined, put_events
from hansard._langgraph_draft import EVENTS_MAX, chunks
from hansard._langgraph_log import MessageLog
from hansard._langgraph_messages import RANGES_MAX, StateMessageFormat, change, document_of, message_of, ranges_after
from hansard._langgraph_pending import DOCUMENTS_MAX, DROPPED_MAX, PendingWrites
from hansard._langgraph_records import CREATED, HIDDEN, NONE, VISIBLE, CheckpointRecord, Latest, pending_writes, writes_value
from hansard.types import CommitResult, DocumentPut, Event, RecordedEvent

SERDE = JsonPlusSerializer()
NAME = (("langgraph", "values", "a"), "k")


@pytest.mark.parametrize(
    ("text", "is_kept"),
    [
        ("a", True),
        ("child:1", True),
        ("x" * 200, True),
        ("x" * 201, False),
        ("", False),
        ("~a", False),
        ("a#1", False),
        ("a\0", False),
    ],
)
def test_labels(text: str, is_kept: bool) -> None:
    made = names.label(text)
    assert (made == text) == is_kept
    assert made and len(made.encode()) <= 200 and "\0" not in made


def put_values(events: list[Event]) -> dict[str, Any]:
    return {event.document_put.key: json.loads(event.document_put.value_json) for event in events}


@pytest.mark.parametrize(
    ("chars", "parts"), [(0, 1), (PART_CHARS_MAX, 1), (PART_CHARS_MAX + 1, 2), (PARTS_MAX * PART_CHARS_MAX, PARTS_MAX)]
)
def test_values_are_split(chars: int, parts: int) -> None:
    value = {"x": "é" * max(chars - len('{"x":""}'), 0)}
    events = put_events(NAME, value, "a value", {"run_id": "r"})
    assert len(events) == parts
    # Every part has room in an event of 512 KiB.
    assert max(event.ByteSize() for event in events) < 512 * 1024
    by_key = put_values(events)
    assert joined([by_key["k"], *(by_key[f"k#{index}"] for index in range(1, parts))]) == value
    assert events[-1].document_put.key == "k"


def test_a_value_of_more_parts_is_rejected() -> None:
    value = {"x": "x" * (PARTS_MAX * PART_CHARS_MAX - len('{"x":""}') + 1)}
    with pytest.raises(ValueTooLarge, match="a value has 25165825 characters, more than 25165824"):
        put_events(NAME, value, "a value")


def events(count: int, chars: int = 1) -> list[Event]:
    return [Event(document_put=DocumentPut(key="k", value_json="x" * chars)) for _ in range(count)]


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ([], [0]),
        ([events(EVENTS_MAX)], [EVENTS_MAX]),
        ([events(EVENTS_MAX), events(1)], [EVENTS_MAX, 1]),
        ([events(1)] * (EVENTS_MAX + 1), [EVENTS_MAX, 1]),
        ([events(6, 512 * 1024 - 64), events(1, 512)], [6, 1]),
        ([events(6, 512 * 1024 - 64), []], [6]),
    ],
)
def test_commits_are_bounded(groups: list[list[Event]], expected: list[int]) -> None:
    assert [len(chunk) for chunk in chunks(groups)] == expected


def log_of(*messages: tuple[int, int, Any]) -> MessageLog:
    log = MessageLog()
    log.add((2, messages[-1][1] if messages else 2), messages)
    return log


A, B, C, D = (HumanMessage(text, id=text) for text in "abcd")
CALL = AIMessage("call", id="call", tool_calls=[{"name": "look", "args": {}, "id": "c1", "type": "tool_call"}])
RESULT = ToolMessage("result", tool_call_id="c1", id="result")
# Documents are between the messages.
LOG = log_of((2, 2, A), (5, 6, B), (9, 9, C))
CALLED = log_of((2, 2, A), (3, 4, CALL), (5, 5, RESULT))


@pytest.mark.parametrize(
    ("log", "messages", "tail", "kept", "new", "rewind_to"),
    [
        # Appended; unchanged; equal, but not the same objects.
        (LOG, [A, B, C, D], 9, [(2, 9)], [D], None),
        (LOG, [A, B, C], 9, [(2, 9)], [], None),
        (LOG, [one.model_copy() for one in (A, B, C)] + [D], 9, [(2, 9)], [D], None),
        # Removed at the beginning, in the middle, at the end.
        (LOG, [B, C, D], 9, [(5, 9)], [D], None),
        (LOG, [A, C, D], 9, [(2, 2), (9, 9)], [D], None),
        (LOG, [A, B, D], 9, [(2, 6)], [D], 6),
        (LOG, [], 9, [], [], 1),
        # Changed, moved, repeated.
        (LOG, [A, B.model_copy(update={"content": "b2"}), C], 9, [(2, 2)], ["b2", C], 2),
        (LOG, [B, A, C], 9, [], [B, A, C], 1),
        (LOG, [A, C, B], 9, [(2, 2)], [C, B], 2),
        # Another checkpoint is the latest one; the last commit is missing.
        (LOG, [A, B, C, D], 20, [(2, 9)], [D], 9),
        (LOG, [A, B, C, D], (9, VISIBLE), [(2, 9)], [D], 9),
        # A rewind does not open calls again.
        (CALLED, [A, CALL], 5, [(2, 2)], [CALL], 2),
        (CALLED, [A, CALL, RESULT], 7, [(2, 5)], [], 5),
        (CALLED, [A, CALL, RESULT, D], 5, [(2, 5)], [D], None),
    ],
)
def test_changes(log: MessageLog, messages: Any, tail: Any, kept: Any, new: list[Any], rewind_to: int | None) -> None:
    tail, after = tail if isinstance(tail, tuple) else (tail, NONE)
    ranges = [(2, 9)] if log is LOG else [(2, 5)]
    made = change(log, ranges, messages, Latest("1", 1, tail, after))
    assert made.kept == kept and made.rewind_to == rewind_to and made.end == (kept[-1][1] if kept else CREATED)
    assert [one.content for one in made.new] == [one if isinstance(one, str) else one.content for one in new]


def test_ranges_are_bounded() -> None:
    messages = [HumanMessage(str(number), id=str(number)) for number in range(RANGES_MAX + 1)]
    log = log_of(*((2 + 2 * index, 2 + 2 * index, message) for index, message in enumerate(messages)))
    ranges = [(2 + 2 * index, 2 + 2 * index) for index in range(RANGES_MAX + 1)]
    for count, is_kept in ((RANGES_MAX, True), (RANGES_MAX + 1, False)):
        made = change(log, ranges[:count], messages[:count], Latest("1", 1, ranges[count - 1][1]))
        assert (made.kept == ranges[:count], made.rewind_to) == ((True, None) if is_kept else (False, CREATED))
        assert len(made.new) == (0 if is_kept else count)


def test_ranges_continue_only_without_messages_between() -> None:
    for after_tail, expected in ((NONE, [(2, 12)]), (HIDDEN, [(2, 9), (12, 12)])):
        latest = Latest("1", 1, 9, after_tail)
        assert ranges_after(change(LOG, [(2, 9)], [A, B, C, D], latest), latest, (12, 12)) == expected
    latest = Latest("1", 1, 20)
    assert ranges_after(change(LOG, [(2, 9)], [A, B, C, D], latest), latest, (22, 22)) == [(2, 9), (22, 22)]


def test_the_log_knows_its_versions() -> None:
    log = MessageLog()
    assert log.missing([(2, 9)]) == [(2, 9)]
    log.add((5, 7), [(5, 5, A)])
    assert log.missing([(2, 9)]) == [(2, 4), (8, 9)] and log.missing([(5, 7)]) == []
    log.add((2, 6), [(2, 3, B), (5, 5, C)])
    log.add((8, 9), [])
    assert log.missing([(2, 9)]) == [] and log.messages([(2, 9)]) == [B, A] and log.messages([(5, 9)]) == [A]
    assert len(log) == 2


class Strange(AIMessage):
    """A message of a graph's own class."""


class Cipher:
    """A cipher whose results differ each time."""

    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        key = secrets.randbelow(255) + 1
        return "test", bytes([key, *(byte ^ key for byte in plaintext)])

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
        return bytes(byte ^ ciphertext[0] for byte in ciphertext[1:])


@pytest.mark.parametrize(
    "message",
    [
        HumanMessage("a longer text", id="a"),
        CALL,
        RESULT,
        AIMessage("", id="x"),
        AIMessage([{"type": "reasoning", "reasoning": "x" * 50}, {"type": "text", "text": "done"}], id="x"),
        ToolMessage("x" * 40, tool_call_id="c", artifact={"set": {1}, "bytes": b"\x00"}),
        HumanMessage("x" * 40, additional_kwargs={"tuple": (1, 2), 3: float("nan")}),
        Strange("of its own"),
    ],
)
@pytest.mark.parametrize("serde", [SERDE, EncryptedSerializer(Cipher(), SERDE)])
def test_messages_come_back_as_serialized(message: Any, serde: Any) -> None:
    packed = pack(StateMessageFormat(), document_of(serde, message))
    recorded = [RecordedEvent(version=index + 2, event=event) for index, event in enumerate(packed)]
    (document,) = unpack(StateMessageFormat(), recorded)
    found = message_of(serde, document.value)
    assert SERDE.dumps_typed(found) == SERDE.dumps_typed(SERDE.loads_typed(SERDE.dumps_typed(message)))
    # What a model reads is in the events, unless it is encrypted.
    recorded_text = packed[0].SerializeToString().decode("utf-8", "replace")
    assert not message.text or (message.text in recorded_text) == (serde is SERDE)


def writes_of(*calls: tuple[str, str, list[tuple[str, Any]]]) -> list[tuple[str, str, Any]]:
    return pending_writes(SERDE, [writes_value(SERDE, writes, task, path) for task, path, writes in calls])


def test_pending_writes_are_merged_and_sorted() -> None:
    first, again = [("a", 1), ("b", 2)], [("a", 3), ("b", 4), ("c", 5)]
    assert writes_of(("t1", "~b", first), ("t2", "~a", [("a", 0)]), ("t1", "~b", again)) == [
        ("t2", "a", 0),
        ("t1", "a", 1),
        ("t1", "b", 2),
        ("t1", "c", 5),
    ]
    # Special writes replace, unless another write is beside them.
    resumed = [("t", "", [("__resume__", 1)]), ("t", "", [("__resume__", 2)])]
    assert writes_of(*resumed) == [("t", "__resume__", 2)]
    assert writes_of(*resumed, ("t", "", [("__resume__", 3), ("a", 4)])) == [("t", "__resume__", 2), ("t", "a", 4)]


def test_pending_writes_that_a_process_knows_are_bounded() -> None:
    pending = PendingWrites()
    for number in range(DOCUMENTS_MAX):
        pending.complete(("w", str(number // 4)), {f"k{number}": (number, {"n": number})})
    assert pending.values(("w", "0")) == [{"n": number} for number in range(4)]
    pending.add(("w", "early"), {"k": (1, {"n": 1})})
    # The one that was used last stays; the others are read again.
    assert pending.values(("w", "0")) is not None and pending.values(("w", "1")) is None
    for number in range(DOCUMENTS_MAX // 4):
        pending.add(("w", f"next-{number}"), {str(index): (index, {}) for index in range(4)})
    # A part of the writes of `early` is forgotten: it never seems to be complete.
    pending.begin(("w", "early"))
    assert pending.values(("w", "early")) is None


def test_checkpoints_with_dropped_writes_are_bounded() -> None:
    pending = PendingWrites()
    for number in range(DROPPED_MAX):
        pending.add(("w", str(number)), {})
    pending.clear()
    pending.begin(("w", "new"))
    pending.begin(("w", "0"))
    assert pending.values(("w", "new")) == [] and pending.values(("w", "0")) is None
    pending.add(("w", "one more"), {})
    pending.clear()
    pending.begin(("w", "new"))
    assert pending.values(("w", "new")) is None


def commit(first: int, last: int) -> CommitResult:
    return CommitResult(first_version=first, version=last)


@pytest.mark.parametrize("forget", [lambda known: known.moved(9), lambda known: known.forget()])
def test_writes_before_their_checkpoint_are_not_lost(forget: Callable[[ThreadCache], None]) -> None:
    """LangGraph records the writes of a step while the checkpoint before it waits for the creation of the conversation."""
    known, record = ThreadCache("c", 0), CheckpointRecord("", "1", None, None, A, A, {}, {}, None)
    known.created(commit(1, 1))
    writes = names.writes("", "1")
    known.wrote(commit(2, 2), writes, {"k": (2, {"n": 1})})
    forget(known)
    known.add_latest("", Latest("0", 3, version=8), known.facts("").epoch)
    known.begin(record, 10, known.facts(""))
    assert known.record(names.checkpoint("", "1")) is record
    assert known.writes(writes) is None
    known.add_writes(writes, {"k": (2, {"n": 1})}, known.facts("").epoch)
    assert known.writes(writes) == [{"n": 1}]


def test_a_version_is_known_if_all_before_it_are() -> None:
    known = ThreadCache("c", 0)
    known.add_latest("", Latest("1", 3, version=4), 0)
    known.committed(commit(6, 7))
    assert known.facts("").version == 4
    known.committed(commit(5, 5))
    assert known.facts("").version == 7 and known.facts("").latest == Latest("1", 3, version=4)
    known.moved(7)
    assert known.facts("").latest is not None
    known.moved(8)
    assert known.facts("") == (1, 8, None)
    # A read of an earlier epoch is not kept.
    known.add_latest("", Latest("2", 3, version=4), 0)
    assert known.facts("").latest is None


def test_threads_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "THREADS_MAX", 2)
    caches = ThreadCaches()
    made = {name: caches.get(name, lambda: ThreadCache("c", 0)) for name in "ab"}
    assert caches.get("a", lambda: ThreadCache("new", 0)) is made["a"]
    caches.get("c", lambda: ThreadCache("c", 0))
    assert caches.get("a", lambda: ThreadCache("new", 0)) is made["a"]
    assert caches.get("b", lambda: ThreadCache("new", 0)) is not made["b"]


@pytest.mark.parametrize(("messages", "chars", "is_kept"), [(3, 0, True), (4, 0, False), (0, 100, True), (0, 101, False)])
def test_messages_and_values_of_threads_are_bounded(
    monkeypatch: pytest.MonkeyPatch, messages: int, chars: int, is_kept: bool
) -> None:
    monkeypatch.setattr(cache, "MESSAGES_MAX", 3)
    monkeypatch.setattr(cache, "CHARS_MAX", 100)
    caches = ThreadCaches()
    old, last = (caches.get(name, lambda: ThreadCache("c", 0)) for name in ("old", "last"))
    last.with_log(lambda log: log.add((1, 4), [(index, index, A) for index in range(1, messages + 1)]))
    last.add_value(NAME, ["msgpack", "x" * chars])
    for _ in range(cache.USES_BETWEEN_COUNTS):
        assert caches.get("last", lambda: ThreadCache("new", 0)) is last
    # The thread in use is kept in any case.
    assert (caches.get("old", lambda: ThreadCache("new", 0)) is old) == is_kept


def test_large_checkpoints_and_values_of_a_thread_are_not_kept() -> None:
    known = ThreadCache("c", 0)
    for chars, is_kept in ((100, True), (cache.RECORD_CHARS_MAX, False)):
        record = CheckpointRecord("", "1", None, None, ["msgpack", "x" * chars], ["msgpack", ""], {}, {}, None)
        known.add_record(names.checkpoint("", "1"), record, 5, 0)
        assert (known.record(names.checkpoint("", "1")) is record) == is_kept
    for key in "ab":
        known.add_value((("v",), key), ["msgpack", "x" * cache.VALUE_CHARS_MAX])
    assert known.value((("v",), "a")) is None and known.value((("v",), "b")) is not None
