"""A plugin of pytest that runs the tests which `openai-agents` ships for its own session with `HansardSession`.

Tests of SQLite itself (its files, threads, locks and rows) are left out; all others run unmodified.
"""

from __future__ import annotations

import os

import agents
import pytest

from hansard import AsyncHansard
from hansard.agents import HansardSession

# Parts of names of tests that are about SQLite.
SQLITE_ONLY = (
    "await_mutation",
    "worker_thread",
    "retired_connections",
    "closed_rejects",
    "corrupt",
    "file_lock",
    "failed_add_items",
    "failed_clear_session",
    "failed_pop_item",
    "rollback",
    "close_retries",
    "post_commit_cancellation",
)


class Session(HansardSession):
    """A session with the arguments of `SQLiteSession`. The database of a test is a part of the session's name."""

    client = AsyncHansard.from_environment()

    def __init__(self, session_id, db_path=":memory:", session_settings=None):
        owner = f"{db_path} {os.environ['PYTEST_CURRENT_TEST']}"
        super().__init__(session_id, self.client, user_id=owner[:250], session_settings=session_settings)

    def close(self) -> None:
        """Nothing: the tests share the client."""


agents.SQLiteSession = agents.memory.SQLiteSession = Session


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    kept = [item for item in items if not any(part in item.name for part in SQLITE_ONLY)]
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept
