"""Where the entries of conversations are. No I/O."""

from __future__ import annotations

from collections import OrderedDict

# Entries whose place is remembered, those that were read or written last.
ENTRIES_MAX = 20_000


class Places:
    """The conversation that has an entry, and the version of the entry's last event in a conversation."""

    def __init__(self) -> None:
        self._homes: dict[str, str] = {}
        self._versions: OrderedDict[tuple[str, str], int] = OrderedDict()

    def remember(self, home: str, entry_id: str, version: int) -> None:
        """Keeps the place of an entry, which never changes."""
        self._homes[entry_id] = home
        self._versions[home, entry_id] = version
        if len(self._versions) > ENTRIES_MAX:
            (_, forgotten), _ = self._versions.popitem(last=False)
            self._homes.pop(forgotten, None)

    def home_of(self, entry_id: str) -> str | None:
        """A conversation that has an entry. `None`: none is known."""
        return self._homes.get(entry_id)

    def version_in(self, home: str, entry_id: str) -> int | None:
        """The version of an entry's last event in a conversation. `None`: none is known."""
        return self._versions.get((home, entry_id))
