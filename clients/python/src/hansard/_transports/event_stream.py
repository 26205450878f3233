"""Server-sent events of a live stream, as responses of a watch. No I/O."""

from __future__ import annotations

import json
from collections.abc import Iterator

from hansard._proto.hansard.read.v1 import read_pb2 as read
from hansard._transports.event_json import event_of_json
from hansard._transports.event_lines import EventLines
from hansard.errors import HansardError, NotFound, Unavailable

# Ends after which the conversation is gone. Other streams are opened again.
GONE = ("CONVERSATION_ERASED", "CONVERSATION_NOT_FOUND")


class EventStream:
    """Collects the lines of an event."""

    def __init__(self) -> None:
        self._lines = EventLines()
        self._kind = ""
        self._data: list[str] = []

    def responses(self, chunk: bytes) -> Iterator[read.WatchConversationResponse]:
        """The responses of the events that end in a chunk. Raises the error of the event `end`."""
        for line in self._lines.add(chunk):
            response = self._add_line(line)
            if response is not None:
                yield response

    def _add_line(self, line: str) -> read.WatchConversationResponse | None:
        if line:
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if name == "event":
                self._kind = value
            elif name == "data":
                self._data.append(value)
            return None
        kind, data = self._kind, "\n".join(self._data)
        self._kind, self._data = "", []
        if not data:
            return None
        body = json.loads(data)
        if kind == "end":
            raise _end(body["code"], body["detail"])
        if kind == "caught-up":
            return read.WatchConversationResponse(caught_up=read.CaughtUp(version=body["version"]))
        return read.WatchConversationResponse(event=event_of_json(body))


def _end(code: str, detail: str) -> HansardError:
    return (NotFound if code in GONE else Unavailable)(detail, reason=code)
