"""An agent of the OpenAI Agents SDK that remembers a conversation, also in another process."""

import asyncio
import os
import sys

from agents import Agent, Runner

from hansard import AsyncHansard
from hansard.agents import HansardSession


async def main(question: str) -> None:
    client = AsyncHansard.from_environment()
    session = HansardSession("ada-1", client)
    agent = Agent(name="Support", model=os.environ.get("MODEL"))
    result = await Runner.run(agent, question, session=session)
    print(result.final_output)
    print(len(await session.get_items()), "items")
    await client.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
