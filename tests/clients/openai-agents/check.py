"""Checks `openai-agents` and `@openai/agents`: sessions over the Conversations API and runs over Chat Completions, ten turns each, with a
restart of every process in between.

Usage: check.py HANSARD. Needs the packages of requirements.txt; the JavaScript also `npm ci` in this folder.
"""

import asyncio
import os
import pathlib
import sys

os.environ["OPENAI_AGENTS_DISABLE_TRACING"] = "1"
FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.append(str(FOLDER.parent))

import runs  # noqa: E402
import sessions  # noqa: E402
from agents import OpenAIChatCompletionsModel, SQLiteSession, UserError  # noqa: E402
from agents.memory import OpenAIConversationsSession  # noqa: E402
from hansard_dev import AGENT, data_folder, gateway, node, secret_key  # noqa: E402
from openai import AsyncOpenAI  # noqa: E402
from report import python_client  # noqa: E402
from scripted_model import MODEL, scripted_model  # noqa: E402

TURNS = 10
RESTART_AFTER = 5


async def completions(base_url, key, numbers, local):
    """Runs over Chat Completions with a session of the program."""
    async with AsyncOpenAI(base_url=base_url, api_key=key) as client:
        await runs.turns(OpenAIChatCompletionsModel(model=AGENT, openai_client=client), numbers, local)


async def both(base_url, key, report):
    """The library cannot read its own session with its model of Chat Completions: it removes ids, and then misses them."""
    async with AsyncOpenAI(base_url=base_url, api_key=key) as client:
        model = OpenAIChatCompletionsModel(model=AGENT, openai_client=client)
        session = OpenAIConversationsSession(openai_client=client)
        await runs.turn(model, 0, session=session)
        try:
            await runs.turn(model, 1, session=session)
        except UserError as error:
            assert "Unhandled item type" in str(error), error
            report.does_not("Chat Completions", "a second turn with a session of Conversations", "the library fails before the request")
            return
    raise AssertionError("the library reads its own session: make the runs with it")


def main(hansard):
    report, local = python_client("openai-agents"), SQLiteSession("local")
    with scripted_model() as server, data_folder() as data:
        with gateway(hansard, data, server, MODEL) as (url, _, environment):
            base_url, key = url + "/openai/v1", secret_key(hansard, environment, "append", "read", "erase")
            before, after = range(RESTART_AFTER), range(RESTART_AFTER, TURNS)
            conversation = asyncio.run(sessions.turns(base_url, key, before))
            asyncio.run(completions(base_url, key, before, local))
            asyncio.run(both(base_url, key, report))
            node(FOLDER / "session.mjs", base_url, key)
            javascript = node(FOLDER / "runs.mjs", base_url, key, "0", str(RESTART_AFTER))
        with gateway(hansard, data, server, MODEL) as (url, _, _):
            base_url = url + "/openai/v1"
            asyncio.run(sessions.turns(base_url, key, after, conversation))
            asyncio.run(completions(base_url, key, after, local))
            report.works("Conversations", "sessions across a restart")
            report.works("Chat Completions", "runs with tools, streamed too")
            asyncio.run(sessions.changes(base_url, key, conversation))
            asyncio.run(sessions.race(base_url, key))
            report.works("Conversations", "popped items and cleared sessions", "races of sessions")
            node(FOLDER / "runs.mjs", base_url, key, str(RESTART_AFTER), str(TURNS), *javascript)
    print(f"sessions and runs of openai-agents and @openai/agents work, across a restart after {RESTART_AFTER} of {TURNS} turns")


if __name__ == "__main__":
    main(*sys.argv[1:])
