"""The commit of a save of Pydantic AI's conversation: entries, rewinds between branches, and the record. No I/O."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp
from pydantic import TypeAdapter
from pydantic_ai.conversation_store import ConversationRecord

from hansard._json import dumps
from hansard.types import Event, ForkPoint, HistoryRewound, SystemNoted

# The topic of the notes that contain records.
TOPIC = "pydantic_ai.record"

_RECORD = TypeAdapter(ConversationRecord)


def rewound(version: int) -> Event:
    """A rewind to a version."""
    return Event(history_rewound=HistoryRewound(to_version=version))


def deleted() -> Event:
    """The note of a deleted conversation."""
    return Event(system_noted=SystemNoted(topic=TOPIC, text="null"))


@dataclasses.dataclass(frozen=True)
class StoredRecord:
    """A record, and the versions of the entries that it names: its head and its branches."""

    record: ConversationRecord
    versions: Mapping[str, int]

    def event(self) -> Event:
        """The note of the record."""
        stored = {"record": _RECORD.dump_python(self.record, mode="json"), "versions": dict(self.versions)}
        return Event(system_noted=SystemNoted(topic=TOPIC, text=dumps(stored)))

    @classmethod
    def parse(cls, text: str) -> StoredRecord | None:
        """The record of a note. `None`: the conversation is deleted."""
        stored: dict[str, Any] | None = json.loads(text)
        return None if stored is None else cls(_RECORD.validate_python(stored["record"]), stored["versions"])


class Save:
    """Collects the events of a commit, and the versions that they get."""

    def __init__(self, version: int | None, fork: ForkPoint | None, tip: str | None) -> None:
        """`version` of the conversation; `None`: the commit creates it. `tip`: the entry that its history ends with."""
        self.version = version
        self.fork = fork
        self.tip = tip
        self.events: list[Event] = []
        #: The version of the last event of each new entry, and of the entry that a fork leaves from.
        self.versions: dict[str, int] = {tip: fork.version} if fork and tip else {}
        # A creation is the first event of its commit.
        self._before = version if version is not None else 1 + (fork.version if fork else 0)

    def add(self, entry_id: str, events: list[Event]) -> None:
        """Adds an entry after the tip."""
        self.events.extend(events)
        self.tip = entry_id
        self.versions[entry_id] = self._before + len(self.events)

    def rewind(self, entry_id: str | None, version: int) -> None:
        """Continues after another entry, which ends at a version."""
        self.events.append(rewound(version))
        self.tip = entry_id

    def finish(self, stored: StoredRecord) -> None:
        """Adds the record. Listings sort by the time of the save."""
        self.events.append(stored.event())
        saved_at = Timestamp()
        saved_at.FromDatetime(stored.record.updated_at)
        for event in self.events:
            event.occurred_at.CopyFrom(saved_at)
