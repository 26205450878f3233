"""The history that is still read, from pages of recorded events, newest first. No I/O."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from hansard.types import EventKind, RecordedEvent


class Rewinds:
    """Collects events. After a rewind, the versions between its target and itself are skipped."""

    #: The kinds of events that a history needs.
    KINDS: ClassVar[list[EventKind]] = [
        EventKind.EVENT_KIND_MESSAGE_APPENDED,
        EventKind.EVENT_KIND_TOOL_CALLED,
        EventKind.EVENT_KIND_TOOL_RETURNED,
        EventKind.EVENT_KIND_HISTORY_REWOUND,
    ]

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._newest_first: list[RecordedEvent] = []
        self._to_version: int | None = None

    def add_page(self, events: Iterable[RecordedEvent]) -> int | None:
        """Adds a page. Returns the version that the next page starts with, if a rewind leads out of this page."""
        jump: int | None = None
        for event in events:
            if self.is_complete or (self._to_version is not None and event.version > self._to_version):
                continue
            jump = None
            if event.event.WhichOneof("fact") == "history_rewound":
                jump = self._to_version = event.event.history_rewound.to_version
            else:
                self._newest_first.append(event)
        return jump

    @property
    def is_complete(self) -> bool:
        """Whether there are as many events as asked for."""
        return self._limit is not None and len(self._newest_first) >= self._limit

    def oldest_first(self) -> list[RecordedEvent]:
        """The events."""
        return self._newest_first[::-1]
