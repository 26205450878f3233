"""The positions of a client's writes: a read that sends one includes that write."""

from __future__ import annotations

import threading
from collections import OrderedDict

# The conversations whose position is kept, those with the latest writes.
CONVERSATIONS_MAX = 4096
# The writes whose position is kept until a search has included it, the latest ones.
UNREAD_MAX = 4096
# The service accepts this number of tokens in a search.
SEARCH_TOKENS_MAX = 8


class Positions:
    """The latest position token of each conversation. Threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tokens: OrderedDict[str, str] = OrderedDict()

    def remember(self, conversation_id: str, token: str) -> None:
        """Keeps the token of a write."""
        if not token:
            return
        with self._lock:
            self._tokens[conversation_id] = token
            self._tokens.move_to_end(conversation_id)
            if len(self._tokens) > CONVERSATIONS_MAX:
                self._tokens.popitem(last=False)

    def of(self, conversation_id: str) -> str:
        """The token of the latest write; empty: there was none."""
        with self._lock:
            return self._tokens.get(conversation_id, "")

    def latest(self) -> list[str]:
        """The tokens of the latest writes of all conversations."""
        with self._lock:
            return list(self._tokens.values())[-SEARCH_TOKENS_MAX:]


class UnreadPositions:
    """The positions of writes that no search has included. Threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tokens: OrderedDict[str, None] = OrderedDict()

    def remember(self, token: str) -> None:
        """Keeps the token of a write."""
        if not token:
            return
        with self._lock:
            self._tokens[token] = None
            if len(self._tokens) > UNREAD_MAX:
                self._tokens.popitem(last=False)

    def tokens(self) -> list[str]:
        """The tokens, the oldest first."""
        with self._lock:
            return list(self._tokens)

    def forget(self, tokens: list[str]) -> None:
        """Drops tokens that a search has included: the rows contain those writes from now on."""
        with self._lock:
            for token in tokens:
                self._tokens.pop(token, None)
