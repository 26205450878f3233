"""The work of the peers: conversations, to which pairs of messages are appended and whose newest messages are read."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Protocol

# Messages of a conversation that is read, and the messages that a conversation has before the next one is begun.
MESSAGES = 100
# Messages that a read returns.
NEWEST = 20
TEXT_BYTES = 350
FILLER = "Where is my parcel, and when does it arrive at the new address? " * 6

# `role` and `content`.
Message = dict[str, str]


class Conversation(Protocol):
    """A conversation of a peer. The first append creates it."""

    async def append(self, messages: Sequence[Message]) -> None:
        """Appends messages. They are on disk when it returns."""

    async def read(self) -> list[str]:
        """Returns the contents of the newest messages, oldest first."""


# A new conversation, by its name.
Conversations = Callable[[str], Conversation]


@dataclasses.dataclass(frozen=True)
class Database:
    """The Postgres database of the peers, and the schema of one peer."""

    url: str
    schema: str
    #: The size of a pool: one connection for each caller.
    connections: int

    @property
    def settings(self) -> dict[str, str]:
        """The settings of each connection."""
        return {"search_path": self.schema, "synchronous_commit": "on"}

    @property
    def options(self) -> str:
        """The same settings as an option of libpq."""
        return " ".join(f"-c {name}={value}" for name, value in self.settings.items())

    @property
    def sqlalchemy_url(self) -> str:
        """The URL for SQLAlchemy with asyncpg."""
        return "postgresql+asyncpg://" + self.url.split("://", 1)[1]


def pair(turn: int) -> list[Message]:
    """The user's message and the assistant's answer of a turn, counted from 0."""
    return [{"role": role, "content": f"{role} {turn}: {FILLER}"[:TEXT_BYTES]} for role in ("user", "assistant")]
