"""Sessions of the OpenAI Agents SDK. Needs `hansard[agents]`.

session = HansardSession("ada-1", AsyncHansard("grpc://127.0.0.1:7302", token))
result = await Runner.run(agent, "Where is my parcel?", session=session)
"""

from __future__ import annotations

from typing import Any

from agents.items import TResponseInputItem
from agents.memory.session_settings import SessionSettings, coerce_session_settings, resolve_session_limit
from agents.run_context import RunContextWrapper

from hansard._async_client import AsyncHansard
from hansard._async_document_log import AsyncDocumentLog
from hansard._ids import derived
from hansard.items import ItemFormat


class HansardSession:
    """A session whose items are a conversation: the same one in every process with the same agent, owner and session id.

    Items come back exactly as they were added. `pop_item` and `clear_session` are rewinds: the record keeps what they remove
    until the conversation is erased, and the session can be used again. After `AsyncHansard.erase(session.conversation_id)`,
    it cannot.
    """

    def __init__(
        self,
        session_id: str,
        client: AsyncHansard,
        *,
        user_id: str | None = None,
        conversation_id: str | None = None,
        session_settings: SessionSettings | dict[str, Any] | None = None,
    ) -> None:
        """`user_id` owns the conversation; without one, the session does. `conversation_id` continues a known conversation."""
        self.session_id = session_id
        self.session_settings: SessionSettings | None
        self.session_settings = coerce_session_settings(session_settings or {})
        self.conversation_id = conversation_id or derived("agents", client.agent_id, user_id or "", session_id)
        owner_session = None if user_id is not None else session_id
        self._log = AsyncDocumentLog(client, ItemFormat(), self.conversation_id, user_id=user_id, session_id=owner_session)

    async def get_items(
        self, limit: int | None = None, *, wrapper: RunContextWrapper[Any] | None = None
    ) -> list[TResponseInputItem]:
        """Returns the newest items, oldest first; all of them without a limit."""
        limit = resolve_session_limit(limit, self.session_settings)
        if limit is not None and limit <= 0:
            return []
        return [document.value for document in await self._log.documents(limit)]

    async def add_items(self, items: list[TResponseInputItem], *, wrapper: RunContextWrapper[Any] | None = None) -> None:
        """Appends items. Up to 499 are one commit: all of them or none."""
        await self._log.append(items)

    async def pop_item(self, *, wrapper: RunContextWrapper[Any] | None = None) -> TResponseInputItem | None:
        """Removes the newest item, and returns it."""
        document = await self._log.pop()
        return None if document is None else document.value

    async def clear_session(self, *, wrapper: RunContextWrapper[Any] | None = None) -> None:
        """Removes all items."""
        await self._log.clear()
