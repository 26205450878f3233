"""The backends that are compared: for each framework its adapter of Hansard, and the Postgres backend of the framework."""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Callable, Sequence
from typing import Any

from stack import Stack

NEWEST = 20


@dataclasses.dataclass(frozen=True)
class Backend:
    """An empty conversation of a framework. The calls are functions or coroutine functions."""

    fill: Callable[[Sequence[str]], Any]
    append: Callable[[str], Any]
    newest: Callable[[], Any]
    read: Callable[[], Any]
    #: `None`: it is not a conversation of Hansard.
    conversation_id: str | None = None


class OpenAiAgents:
    """`HansardSession` and `SQLAlchemySession` with asyncpg."""

    package = "openai-agents"
    peer = "SQLAlchemySession"

    def __init__(self, stack: Stack) -> None:
        from sqlalchemy.ext.asyncio import create_async_engine

        self.client = stack.asynchronous()
        self.engine = create_async_engine(stack.postgres_url.replace("postgres://", "postgresql+asyncpg://"))

    def hansard(self) -> Backend:
        from hansard.agents import HansardSession

        session = HansardSession(str(uuid.uuid4()), self.client)
        return self._backend(session, session.conversation_id)

    def postgres(self) -> Backend:
        from agents.extensions.memory import SQLAlchemySession

        return self._backend(SQLAlchemySession(str(uuid.uuid4()), engine=self.engine, create_tables=True), None)

    def _backend(self, session: Any, conversation_id: str | None) -> Backend:
        def items(texts: Sequence[str]) -> list[dict[str, str]]:
            return [{"role": "user", "content": text} for text in texts]

        return Backend(
            fill=lambda texts: session.add_items(items(texts)),
            append=lambda text: session.add_items(items([text])),
            newest=lambda: session.get_items(NEWEST),
            read=lambda: session.get_items(),
            conversation_id=conversation_id,
        )

    async def aclose(self) -> None:
        await self.client.close()
        await self.engine.dispose()


class PydanticAi:
    """`HansardConversationStore`. Pydantic AI has no store in Postgres."""

    package = "pydantic-ai-slim"
    peer = None

    def __init__(self, stack: Stack) -> None:
        from hansard.pydantic_ai import HansardConversationStore

        self.client = stack.asynchronous()
        self.store = HansardConversationStore(self.client)

    def hansard(self) -> Backend:
        from pydantic_ai.conversation import Conversation
        from pydantic_ai.messages import ModelRequest, UserPromptPart

        conversation = Conversation(conversation_id=str(uuid.uuid4()))
        name = conversation.conversation_id

        async def save(texts: Sequence[str]) -> None:
            conversation.messages.extend(ModelRequest(parts=[UserPromptPart(text)]) for text in texts)
            await self.store.save(conversation)

        async def load(limit: int | None) -> Sequence[Any]:
            loaded = await self.store.load(name, limit=limit)
            assert loaded is not None
            return loaded.messages

        async def fill(texts: Sequence[str]) -> None:
            for start in range(0, len(texts), 200):
                await save(texts[start : start + 200])

        return Backend(
            fill=fill,
            append=lambda text: save([text]),
            newest=lambda: load(NEWEST),
            read=lambda: load(None),
            conversation_id=self.store.hansard_id(name),
        )

    async def aclose(self) -> None:
        await self.client.close()


class LangChain:
    """`HansardChatMessageHistory` and `PostgresChatMessageHistory` of `langchain-postgres`, which reads all messages always."""

    package = "langchain-core"
    peer = "PostgresChatMessageHistory"

    def __init__(self, stack: Stack) -> None:
        import psycopg
        from langchain_postgres import PostgresChatMessageHistory

        self.client = stack.blocking()
        self.connection = psycopg.connect(stack.postgres_url)
        PostgresChatMessageHistory.create_tables(self.connection, "chat_history")

    def hansard(self) -> Backend:
        from hansard.langchain import HansardChatMessageHistory

        history = HansardChatMessageHistory(str(uuid.uuid4()), self.client)
        newest = HansardChatMessageHistory(history.session_id, self.client, history_size=NEWEST)
        backend = self._backend(history, history.conversation_id)
        return dataclasses.replace(backend, newest=lambda: newest.messages)

    def postgres(self) -> Backend:
        from langchain_postgres import PostgresChatMessageHistory

        return self._backend(PostgresChatMessageHistory("chat_history", str(uuid.uuid4()), sync_connection=self.connection), None)

    def _backend(self, history: Any, conversation_id: str | None) -> Backend:
        from langchain_core.messages import HumanMessage

        return Backend(
            fill=lambda texts: history.add_messages([HumanMessage(text) for text in texts]),
            append=lambda text: history.add_messages([HumanMessage(text)]),
            newest=lambda: history.messages[-NEWEST:],
            read=lambda: history.messages,
            conversation_id=conversation_id,
        )

    async def aclose(self) -> None:
        self.client.close()
        self.connection.close()


class LlamaIndex:
    """`HansardChatStore` and `PostgresChatStore`, which reads all messages always."""

    package = "llama-index-core"
    peer = "PostgresChatStore"

    def __init__(self, stack: Stack) -> None:
        from llama_index.storage.chat_store.postgres import PostgresChatStore

        from hansard.llama_index import HansardChatStore

        self.client = stack.blocking()
        self.store = HansardChatStore(self.client)
        self.peer_store = PostgresChatStore.from_uri(stack.postgres_url.replace("postgres://", "postgresql://"))

    def hansard(self) -> Backend:
        key = str(uuid.uuid4())
        backend = self._backend(self.store, key, self.store.conversation_id(key))
        return dataclasses.replace(backend, newest=lambda: self.store.get_messages(key, NEWEST))

    def postgres(self) -> Backend:
        return self._backend(self.peer_store, str(uuid.uuid4()), None)

    def _backend(self, store: Any, key: str, conversation_id: str | None) -> Backend:
        from llama_index.core.llms import ChatMessage

        return Backend(
            fill=lambda texts: store.set_messages(key, [ChatMessage(role="user", content=text) for text in texts]),
            append=lambda text: store.add_message(key, ChatMessage(role="user", content=text)),
            newest=lambda: store.get_messages(key)[-NEWEST:],
            read=lambda: store.get_messages(key),
            conversation_id=conversation_id,
        )

    async def aclose(self) -> None:
        self.client.close()


FRAMEWORKS = {framework.package: framework for framework in (OpenAiAgents, PydanticAi, LangChain, LlamaIndex)}
