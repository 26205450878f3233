"""The commits that record a checkpoint. No I/O."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from hansard import _langgraph_names as names
from hansard._langgraph_documents import put_events
from hansard._langgraph_draft import Draft, chunks
from hansard._langgraph_log import Recorded
from hansard._langgraph_messages import Change, ranges_after
from hansard._langgraph_records import CREATED, HIDDEN, NONE, RUN_ID, VISIBLE, CheckpointRecord, Latest, Range
from hansard.types import Event, HistoryRewound


@dataclasses.dataclass(frozen=True)
class LastCommit:
    """The commit that makes a checkpoint known."""

    events: list[Event]
    record: CheckpointRecord
    #: `None`: a later checkpoint remains the latest one.
    latest: Latest | None


@dataclasses.dataclass(frozen=True)
class MessageCommits:
    """The commits of a checkpoint with new messages: one, unless they are too large for it."""

    draft: Draft
    change: Change
    latest: Latest
    #: The events of each new message.
    groups: Sequence[Sequence[Event]]

    def events(self) -> tuple[list[list[Event]], list[Event]]:
        """The events of the messages: those of the commits before the last one, and those of the last one."""
        to_version = self.change.rewind_to
        rewind = [] if to_version is None else [Event(history_rewound=HistoryRewound(to_version=to_version))]
        # The versions are not known yet, and do not change the number of events.
        last_group = last_commit(self.draft, self.latest, self.change.kept, CREATED).events
        *earlier, last = chunks([rewind, *self.groups, last_group])
        return earlier, last[: len(last) - len(last_group)]

    def unfinished(self) -> Latest:
        """What the first of several commits records. If the last one is missing, the next checkpoint rewinds."""
        return dataclasses.replace(self.latest, tail=self.change.end, after_tail=VISIBLE)

    def last(self, versions: Sequence[int], body: Sequence[Event], version: int) -> LastCommit:
        """The last commit. `versions` are those of all events of the messages; `version` is that before it."""
        own = self._own(versions)
        recorded = (own[0], own[-1]) if own else None
        latest = self.latest
        if recorded is not None:
            latest = dataclasses.replace(latest, tail=recorded[1], after_tail=NONE)
        elif self.change.rewind_to is not None:
            latest = dataclasses.replace(latest, tail=self.change.end, after_tail=HIDDEN)
        ranges = ranges_after(self.change, self.latest, recorded)
        made = last_commit(self.draft, latest, ranges, version + len(body))
        return dataclasses.replace(made, events=[*body, *made.events])

    def recorded(self, versions: Sequence[int]) -> tuple[Range, list[Recorded]] | None:
        """The new messages with their versions, and the range in which there are no others. `None`: there are none."""
        own = self._own(versions)
        if not own:
            return None
        is_next = self.change.rewind_to is None and self.latest.after_tail == NONE
        made: list[Recorded] = []
        start = 0
        for message, group in zip(self.change.new, self.groups, strict=True):
            made.append((own[start], own[start + len(group) - 1], message))
            start += len(group)
        return (self.latest.tail + 1 if is_next else own[0], own[-1]), made

    def _own(self, versions: Sequence[int]) -> Sequence[int]:
        return versions if self.change.rewind_to is None else versions[1:]


def last_commit(draft: Draft, latest: Latest | None, messages: Sequence[Range] | None, version: int) -> LastCommit:
    """The commit of a checkpoint after a version of the conversation."""
    record = dataclasses.replace(draft.record, messages=messages)
    name, index = names.checkpoint(record.namespace, record.checkpoint_id), {RUN_ID: record.run_id}
    events = [*draft.value_events, *put_events(name, record.value(), f"the checkpoint {record.checkpoint_id}", index)]
    if latest is None:
        return LastCommit(events, record, None)
    made = dataclasses.replace(latest, checkpoint_id=record.checkpoint_id, checkpoint_version=version + len(events))
    return LastCommit([*events, *latest_events(record.namespace, made)], record, made)


def latest_events(checkpoint_ns: str, latest: Latest) -> list[Event]:
    """The events that record the latest checkpoint of a namespace."""
    return put_events(names.latest(checkpoint_ns), latest.value(), "the latest checkpoint")
