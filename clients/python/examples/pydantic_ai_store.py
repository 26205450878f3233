"""An agent of Pydantic AI that saves its conversation with compare-and-set, and forks it."""

import asyncio
import os
import sys

from pydantic_ai import Agent
from pydantic_ai.conversation import Conversation

from hansard import AsyncHansard
from hansard.pydantic_ai import HansardConversationStore


async def main(question: str) -> None:
    client = AsyncHansard.from_environment()
    store = HansardConversationStore(client)
    conversation = await store.load("ada-1") or Conversation(conversation_id="ada-1")
    result = await Agent(os.environ.get("PYDANTIC_AI_MODEL", "test")).run(question, conversation=conversation)
    await store.save(result, scope="ada")
    fork = await store.fork("ada-1", at=2)
    print(result.output)
    print(len(result.all_messages()), "messages,", len(fork.messages), "in the fork")
    await client.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
