"""What needs no deployment: generated code, errors, retries, positions, messages."""

from __future__ import annotations

import asyncio
import importlib.util
import pathlib
import socket
import sys
import time
import uuid
from typing import Any

import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2

from hansard import (
    AsyncHansard,
    Conflict,
    DeadlineExceeded,
    Hansard,
    HansardError,
    InvalidRequest,
    NotFound,
    RateLimited,
    RetryPolicy,
    Unavailable,
    VersionConflict,
    events_of_messages,
    messages_of_events,
)
from hansard._ids import derived, time_of, uuid7
from hansard._positions import CONVERSATIONS_MAX, Positions
from hansard._problems import DETAILS_KEY, of_grpc, of_http
from hansard._pydantic_places import ENTRIES_MAX, Places
from hansard._transports.address import Address
from hansard._transports.event_lines import LINE_BYTES_MAX, EventLines
from hansard._transports.event_stream import EventStream
from hansard.items import ItemFormat
from hansard.types import RecordedEvent

FOLDER = pathlib.Path(__file__).resolve().parents[1]


def test_the_blocking_modules_are_generated_from_the_asynchronous_ones() -> None:
    sys.path.insert(0, str(FOLDER))
    import generate

    for source, target in generate.BLOCKING.items():
        assert (generate.PACKAGE / target).read_text("utf-8") == generate.blocking(source), "run `python generate.py sync`"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\ud83d", "a\ufffd"),
        ("\ude00b", "\ufffdb"),
        ("\ud83d\ude00", "\U0001f600"),
        ("\U0001f600 é", "\U0001f600 é"),
        ("\ude00\ud83d", "\ufffd\ufffd"),
    ],
)
def test_halves_of_surrogate_pairs_are_replaced(text: str, expected: str) -> None:
    call = {"id": text, "type": "function", "function": {"name": "look", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": [{"type": "text", "text": text}]},
        {"role": "assistant", "content": text, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": text, "content": text},
    ]
    events = events_of_messages(messages)
    assert events[0].message_appended.parts[0].text == expected
    assert events[1].message_appended.parts[0].text == expected
    assert events[2].tool_called.call_id == events[3].tool_returned.call_id == expected
    assert ItemFormat().events({"role": "user", "content": text})[0].message_appended.parts[0].text == expected


def status_trailers(*details: Any) -> dict[str, str | bytes]:
    status = status_pb2.Status(code=1)
    for detail in details:
        status.details.add().Pack(detail)
    return {DETAILS_KEY: status.SerializeToString()}


@pytest.mark.parametrize(
    ("code", "reason", "kind"),
    [
        (grpc.StatusCode.INVALID_ARGUMENT, "FIELD_MISSING", InvalidRequest),
        (grpc.StatusCode.NOT_FOUND, "CONVERSATION_NOT_FOUND", NotFound),
        (grpc.StatusCode.ABORTED, "VERSION_CONFLICT", VersionConflict),
        (grpc.StatusCode.ABORTED, "CONTENTION", Unavailable),
        (grpc.StatusCode.FAILED_PRECONDITION, "HAS_FORKS", Conflict),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, "QUOTA_EXCEEDED", RateLimited),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, "OVERLOADED", Unavailable),
        (grpc.StatusCode.DEADLINE_EXCEEDED, "", DeadlineExceeded),
        (grpc.StatusCode.INTERNAL, "", HansardError),
    ],
)
def test_errors_of_grpc(code: grpc.StatusCode, reason: str, kind: type[HansardError]) -> None:
    info = error_details_pb2.ErrorInfo(reason=reason, metadata={"current_version": "7"})
    violation = error_details_pb2.BadRequest.FieldViolation(field="events[0]")
    retry = error_details_pb2.RetryInfo()
    retry.retry_delay.FromMilliseconds(1500)
    trailers = status_trailers(info, error_details_pb2.BadRequest(field_violations=[violation]), retry)
    error = of_grpc(code, "text", trailers)
    assert type(error) is kind
    assert (error.reason, error.field, error.retry_after, error.metadata) == (reason, "events[0]", 1.5, {"current_version": "7"})
    assert type(of_grpc(code, "text", {})) is not VersionConflict


@pytest.mark.parametrize(
    ("status", "body", "kind", "retry_after"),
    [
        (409, b'{"code":"VERSION_CONFLICT","detail":"d","metadata":{"current_version":"7"}}', VersionConflict, None),
        (503, b'{"code":"OVERLOADED","detail":"d","retry_after_ms":250}', Unavailable, 0.25),
        (429, b"not of Hansard", RateLimited, 3.0),
        (502, b"[]", Unavailable, 3.0),
        (500, b"", HansardError, 3.0),
    ],
)
def test_errors_of_http(status: int, body: bytes, kind: type[HansardError], retry_after: float | None) -> None:
    headers = {} if body.startswith(b"{") else {"retry-after": "3"}
    error = of_http(status, body, headers)
    assert (type(error), error.retry_after) == (kind, retry_after)
    if isinstance(error, VersionConflict):
        assert error.current_version == 7


def test_retries_are_bounded() -> None:
    policy = RetryPolicy(attempts_max=4, delay=0.1, delay_max=0.3)
    lost = Unavailable("x")
    for attempt, longest in ((1, 0.1), (2, 0.2), (3, 0.3)):
        delay = policy.next_delay(lost, attempt, 10)
        assert delay is not None
        assert longest / 2 <= delay <= longest
    assert policy.next_delay(lost, 4, 10) is None
    assert policy.next_delay(Unavailable("x", retry_after=2), 1, 10) == 2
    assert policy.next_delay(RateLimited("x", retry_after=2), 1, 2) is None
    for final in (Conflict("x"), NotFound("x"), InvalidRequest("x"), HansardError("x")):
        assert policy.next_delay(final, 1, 10) is None


def test_positions_are_bounded() -> None:
    positions = Positions()
    positions.remember("c", "")
    assert positions.of("c") == ""
    for number in range(CONVERSATIONS_MAX + 1):
        positions.remember(f"c{number}", f"t{number}")
    assert (positions.of("c0"), positions.of("c1")) == ("", "t1")
    assert positions.latest() == [f"t{number}" for number in range(CONVERSATIONS_MAX - 7, CONVERSATIONS_MAX + 1)]


def test_ids() -> None:
    before = time.time()
    minted = [uuid7() for _ in range(1000)]
    assert len(set(minted)) == 1000
    assert {uuid.UUID(text).version for text in minted} == {7}
    assert all(before - 0.002 <= time_of(text) <= time.time() for text in minted)
    assert time_of("x") == time_of(str(uuid.uuid4())) == 0
    assert derived("a", "b") == derived("a", "b") != derived("ab", "")


def test_addresses() -> None:
    for url in ("grpc://h:1", "grpcs://h:1", "http://h", "https://h/base"):
        Address(url, "hsk_x")
    assert "hsk_x" not in repr(Address("grpc://h:1", "hsk_x"))
    for url, options in (("h:1", {}), ("ftp://h", {}), ("grpc:h", {}), ("http://h", {"writer_url": "grpc://h:1"})):
        with pytest.raises(ValueError, match="address"):
            Address(url, "hsk_x", **options)
    with pytest.raises(ValueError, match="token"):
        Address("grpc://h:1", "")


def test_messages_round_trip() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "s"},
        {"role": "developer", "content": "d"},
        {
            "role": "user",
            "content": [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "u"}}],
            "name": "ada",
        },
        {"role": "user", "content": [{"type": "file", "file": {"file_id": "f", "filename": "n"}}]},
        {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "x", "format": "wav"}}]},
        {"role": "assistant", "content": "b", "tool_calls": [call, {**call, "id": "c2"}]},
        {"role": "tool", "tool_call_id": "c1", "content": ""},
        {"role": "tool", "tool_call_id": "c2", "content": "r"},
        {"role": "assistant", "content": None, "refusal": "no"},
    ]
    events = events_of_messages(messages)
    assert messages_of_events([RecordedEvent(event=event) for event in events]) == messages
    with pytest.raises(ValueError, match="role"):
        events_of_messages([{"role": "narrator", "content": "x"}])


def test_live_streams_are_read_event_by_event() -> None:
    stream = EventStream()
    event = '{"version":1,"eventId":"e","commitId":"c","recordedAt":"2026-01-01T00:00:00Z","type":"FromTheFuture"}'
    text = f'retry: 5\n\n: comment\n\nid: 1\ndata: {event}\n\nevent: caught-up\ndata: {{"version":1}}\n\n'
    responses = list(stream.responses(text.encode()))
    assert [response.WhichOneof("item") for response in responses] == ["event", "caught_up"]
    assert responses[0].event.event.WhichOneof("fact") is None
    for code, kind in (("STREAM_TOO_OLD", Unavailable), ("CONVERSATION_ERASED", NotFound)):
        end = f'data: {{"version":2}}\n\nevent: end\ndata: {{"code":"{code}","detail":"d","after":1}}\n\n'
        ended = stream.responses(f"event: caught-up\n{end}".encode())
        assert next(ended).caught_up.version == 2
        with pytest.raises(kind):
            next(ended)


@pytest.mark.parametrize("size", range(1, 8))
def test_only_line_ends_of_event_streams_end_lines(size: int) -> None:
    text = "a\u2028b\u2029c\x85d\x0be\x0cf\x1cg\x1dh\x1ei\r\n\nk: \U0001f600\r\r\r\n\n\rl"
    stream = text.encode()
    lines = EventLines()
    found = [line for at in range(0, len(stream), size) for line in lines.add(stream[at : at + size])]
    # A line is returned with its end: the last one has none yet.
    assert found == ["a\u2028b\u2029c\x85d\x0be\x0cf\x1cg\x1dh\x1ei", "", "k: \U0001f600", "", "", "", ""]
    assert lines.add(b"") == []
    assert lines.add(b"\n") == ["l"]


def test_lines_of_event_streams_have_a_bound() -> None:
    lines = EventLines()
    half = b"x" * (LINE_BYTES_MAX // 2)
    assert lines.add(half) == lines.add(half) == []
    with pytest.raises(HansardError, match="the longest is 32 MiB"):
        lines.add(b"y\n")


def test_calls_are_spans_without_contents(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("opentelemetry.sdk")
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    from hansard._telemetry import span, trace_headers

    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)
    with span("write.v1.WriteService", "AppendEvents", "c-1"):
        assert trace_headers()["traceparent"].startswith("00-")
    assert trace_headers() == {}
    (made,) = exporter.get_finished_spans()
    assert made.name == "hansard.AppendEvents"
    assert dict(made.attributes or {}) == {
        "rpc.service": "hansard.write.v1.WriteService",
        "rpc.method": "AppendEvents",
        "conversation.id": "c-1",
    }


@pytest.mark.parametrize("scheme", ["grpc", "http"])
def test_a_server_that_never_answers_does_not_hold_a_call(scheme: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"{scheme}://127.0.0.1:{silent.getsockname()[1]}"
        with Hansard(url, "hsk_x", timeout=0.3) as client:
            begin = time.monotonic()
            # gRPC waits for the server's first frame, so that the connection itself is late.
            with pytest.raises(Unavailable):
                client.get_conversation("c-1")
            assert time.monotonic() - begin < 10

        async def ask() -> None:
            async with AsyncHansard(url, "hsk_x", timeout=0.3) as client:
                await client.get_conversation("c-1")

        begin = time.monotonic()
        with pytest.raises(Unavailable):
            asyncio.run(ask())
        assert time.monotonic() - begin < 10


def test_places_of_entries_are_bounded() -> None:
    places = Places()
    for number in range(ENTRIES_MAX + 1):
        places.remember("home", f"e{number}", number)
    assert (places.home_of("e0"), places.version_in("home", "e0")) == (None, None)
    assert (places.home_of("e1"), places.version_in("home", "e1")) == ("home", 1)


def test_http_without_its_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    for client in (Hansard, AsyncHansard):
        with pytest.raises(ImportError, match=r"hansard\[http\]"):
            client("http://h", "hsk_x")
