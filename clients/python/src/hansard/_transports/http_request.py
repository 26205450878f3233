"""A request of the HTTP API."""

from __future__ import annotations

import dataclasses
from urllib.parse import quote

POSITION, AGENT, KEY = "x-position-token", "x-agent-id", "idempotency-key"


@dataclasses.dataclass
class HttpRequest:
    """A request: its method, its path, and what it carries."""

    method: str
    path: str
    headers: dict[str, str] = dataclasses.field(default_factory=dict[str, str])
    query: dict[str, str] = dataclasses.field(default_factory=dict[str, str])
    body: str | None = None

    @property
    def target(self) -> str:
        """The path with the query."""
        query = "&".join(f"{name}={quote(value, safe='')}" for name, value in self.query.items() if value)
        return f"{self.path}?{query}" if query else self.path
