"""Checks the session of `openai-agents` over the Conversations API: its items, and two of its writers at the same time.

`check.py` runs it.
"""

import asyncio

from agents.memory import OpenAIConversationsSession
from openai import AsyncOpenAI, BadRequestError

ROUNDS = 8


def turn(number):
    """What an agent adds in one turn."""
    call = f"call_{number}"
    return [
        {"role": "user", "content": f"question {number}"},
        {"type": "function_call", "call_id": call, "name": "look", "arguments": "{}", "status": "completed"},
        {"type": "function_call_output", "call_id": call, "output": f"result {number}"},
        {"type": "message", "role": "assistant", "status": "completed",
         "content": [{"type": "output_text", "text": f"answer {number}", "annotations": []}]},
    ]


async def turns(base_url, key, numbers, conversation=None):
    """Turns of a session; returns the conversation. It holds `numbers.stop` turns afterwards."""
    async with AsyncOpenAI(base_url=base_url, api_key=key) as client:
        memory = OpenAIConversationsSession(openai_client=client, conversation_id=conversation)
        for number in numbers:
            added = turn(number)
            await memory.add_items(added[:1])
            await memory.add_items(added[1:])
            items = await memory.get_items()
            assert [item["type"] for item in items] == [item.get("type", "message") for item in turn(0)] * (number + 1), items
            assert items[-2]["output"] == f"result {number}", items
        return memory.session_id


async def changes(base_url, key, conversation):
    """Items that are popped, a second session on the same conversation, more items than in one request, and a cleared session."""
    async with AsyncOpenAI(base_url=base_url, api_key=key) as client:
        memory = OpenAIConversationsSession(openai_client=client, conversation_id=conversation)
        popped = await memory.pop_item()
        assert popped["content"][0]["text"].startswith("answer "), popped
        for kind in ["function_call_output", "function_call", "message"]:
            assert (await memory.pop_item())["type"] == kind
        again = OpenAIConversationsSession(conversation_id=memory.session_id, openai_client=client)
        assert await again.get_items() == await memory.get_items()
        assert [item["type"] for item in await again.get_items(limit=2)] == ["function_call_output", "message"]
        many = [{"role": "user", "content": str(number)} for number in range(45)]
        await again.add_items(many)
        assert [item["content"][0]["text"] for item in await memory.get_items(limit=45)] == [str(n) for n in range(45)]
        await memory.clear_session()
        assert await memory.get_items() == []
        await memory.clear_session()


async def race(base_url, key):
    """Two sessions write to one conversation: a write is recorded whole, or its writer is told that the conversation was locked."""
    async with AsyncOpenAI(base_url=base_url, api_key=key) as client:
        first = OpenAIConversationsSession(openai_client=client)
        await first.get_items()
        second = OpenAIConversationsSession(conversation_id=first.session_id, openai_client=client)
        recorded = []
        for number in range(ROUNDS):
            written = await asyncio.gather(write(first, f"{number} first"), write(second, f"{number} second"))
            recorded += filter(None, written)
        texts = [item["content"][0]["text"] for item in await first.get_items()]
    assert texts[::2] == texts[1::2], texts
    assert sorted(texts[::2]) == sorted(recorded) and len(recorded) >= ROUNDS, (texts, recorded)


async def write(session, text):
    """Adds two items with the text; None: another writer was faster."""
    try:
        await session.add_items([{"role": "user", "content": text}] * 2)
    except BadRequestError as error:
        assert error.code == "conversation_locked", error
        return None
    return text
