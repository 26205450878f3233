"""The adapters as the fault tests use them: one conversation of each framework. Blocking ones run in threads."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Any, Protocol

from faults import Attempts, Writes, with_writes

from hansard import AsyncHansard, Hansard, RetryPolicy


@dataclasses.dataclass(frozen=True)
class Connection:
    """How an adapter reaches a deployment."""

    url: str
    token: str
    agent_id: str
    retries: RetryPolicy
    writes: Writes = dataclasses.field(default_factory=Attempts)

    def asynchronous(self) -> AsyncHansard:
        return with_writes(AsyncHansard(self.url, self.token, **self._options()), self.writes)

    def blocking(self) -> Hansard:
        return with_writes(Hansard(self.url, self.token, **self._options()), self.writes)

    def _options(self) -> dict[str, Any]:
        return {"agent_id": self.agent_id, "retries": self.retries, "timeout": 120}


class Memory(Protocol):
    """A conversation of a framework."""

    #: What the framework raises when a recorded call is repeated. `None`: it does not compare, and adds the messages again.
    conflict: type[Exception] | None

    @staticmethod
    def turn(number: int) -> list[Any]:
        """A question, a tool call, its result and an answer, as messages of the framework."""
        ...

    async def add(self, messages: list[Any]) -> None: ...

    async def remove_last(self) -> Any:
        """Removes the newest message, and returns it. `None`: the framework has no such call."""
        ...

    async def read(self) -> list[Any]: ...

    async def close(self) -> None: ...


class OpenAiAgents:
    module = "agents"
    conflict = None

    def __init__(self, connection: Connection, name: str) -> None:
        from hansard.agents import HansardSession

        self.client = connection.asynchronous()
        self.session = HansardSession(name, self.client)

    @staticmethod
    def turn(number: int) -> list[Any]:
        call = f"call_{number}"
        return [
            {"role": "user", "content": f"question {number}"},
            {"type": "function_call", "call_id": call, "name": "look", "arguments": f'{{"parcel":{number}}}'},
            {"type": "function_call_output", "call_id": call, "output": f"Leeds {number}"},
            {"role": "assistant", "content": f"answer {number}"},
        ]

    async def add(self, messages: list[Any]) -> None:
        await self.session.add_items(messages)

    async def remove_last(self) -> Any:
        return await self.session.pop_item()

    async def read(self) -> list[Any]:
        return await self.session.get_items()

    async def close(self) -> None:
        await self.client.close()


class PydanticAi:
    module = "pydantic_ai"

    def __init__(self, connection: Connection, name: str) -> None:
        from pydantic_ai.conversation import Conversation
        from pydantic_ai.conversation_store import ConversationConflict

        from hansard.pydantic_ai import HansardConversationStore

        self.client = connection.asynchronous()
        self.store = HansardConversationStore(self.client)
        self.conversation = Conversation(conversation_id=name)
        self.conflict = ConversationConflict

    @staticmethod
    def turn(number: int) -> list[Any]:
        from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart

        call = f"call_{number}"
        return [
            ModelRequest(parts=[UserPromptPart(content=f"question {number}")]),
            ModelResponse(parts=[ToolCallPart("look", {"parcel": number}, call)]),
            ModelRequest(parts=[ToolReturnPart("look", f"Leeds {number}", call)]),
            ModelResponse(parts=[TextPart(content=f"answer {number}")]),
        ]

    async def add(self, messages: list[Any]) -> None:
        # A caller who repeats a failed save has added the messages already.
        if self.conversation.messages[-len(messages) :] != messages:
            self.conversation.messages.extend(messages)
        await self.store.save(self.conversation)

    async def remove_last(self) -> Any:
        return None

    async def read(self) -> list[Any]:
        loaded = await self.store.load(self.conversation.conversation_id)
        return loaded.messages if loaded else []

    async def close(self) -> None:
        await self.client.close()


class LangChain:
    module = "langchain_core"
    conflict = None

    def __init__(self, connection: Connection, name: str) -> None:
        from hansard.langchain import HansardChatMessageHistory

        self.client = connection.blocking()
        self.history = HansardChatMessageHistory(name, self.client)

    @staticmethod
    def turn(number: int) -> list[Any]:
        from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

        call = {"name": "look", "args": {"parcel": number}, "id": f"call_{number}", "type": "tool_call"}
        return [
            HumanMessage(f"question {number}"),
            AIMessage("", tool_calls=[call]),
            ToolMessage(f"Leeds {number}", tool_call_id=call["id"]),
            AIMessage(f"answer {number}"),
        ]

    async def add(self, messages: list[Any]) -> None:
        await asyncio.to_thread(self.history.add_messages, messages)

    async def remove_last(self) -> Any:
        return None

    async def read(self) -> list[Any]:
        return await asyncio.to_thread(lambda: self.history.messages)

    async def close(self) -> None:
        self.client.close()


class LlamaIndex:
    module = "llama_index.core"
    conflict = None

    def __init__(self, connection: Connection, name: str) -> None:
        from hansard.llama_index import HansardChatStore

        self.client = connection.blocking()
        self.store, self.key = HansardChatStore(self.client), name

    @staticmethod
    def turn(number: int) -> list[Any]:
        from llama_index.core.llms import ChatMessage

        call = {
            "id": f"call_{number}",
            "type": "function",
            "function": {"name": "look", "arguments": f'{{"parcel":{number}}}'},
        }
        return [
            ChatMessage(role="user", content=f"question {number}"),
            ChatMessage(role="assistant", content="", additional_kwargs={"tool_calls": [call]}),
            ChatMessage(role="tool", content=f"Leeds {number}", additional_kwargs={"tool_call_id": call["id"]}),
            ChatMessage(role="assistant", content=f"answer {number}"),
        ]

    async def add(self, messages: list[Any]) -> None:
        for message in messages:
            await asyncio.to_thread(self.store.add_message, self.key, message)

    async def remove_last(self) -> Any:
        return await asyncio.to_thread(self.store.delete_last_message, self.key)

    async def read(self) -> list[Any]:
        return await asyncio.to_thread(self.store.get_messages, self.key)

    async def close(self) -> None:
        self.client.close()


ADAPTERS = [OpenAiAgents, PydanticAi, LangChain, LlamaIndex]
