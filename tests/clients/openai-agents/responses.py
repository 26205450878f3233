"""Checks `openai-agents` and `@openai/agents` over the Responses API, in each of their three ways to keep a history: a session over
Conversations, a conversation of the server, and the id of the previous response. The session goes on after a restart of every process.

Usage: responses.py HANSARD. Needs the packages of requirements.txt; the JavaScript also `npm ci` in this folder.
"""

import asyncio
import os
import pathlib
import sys

os.environ["OPENAI_AGENTS_DISABLE_TRACING"] = "1"
FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.append(str(FOLDER.parent))

import runs  # noqa: E402
from agents import OpenAIResponsesModel  # noqa: E402
from agents.memory import OpenAIConversationsSession  # noqa: E402
from hansard_dev import AGENT, data_folder, gateway, node, secret_key  # noqa: E402
from openai import AsyncOpenAI, BadRequestError  # noqa: E402
from report import python_client  # noqa: E402
from scripted_model import MODEL, scripted_model  # noqa: E402

TURNS = 10
RESTART_AFTER = 5


def model(client):
    return OpenAIResponsesModel(model=AGENT, openai_client=client)


async def in_session(base_url, key, numbers, conversation=None):
    """Turns of a session; returns its conversation, which holds each item once."""
    async with AsyncOpenAI(base_url=base_url, api_key=key) as client:
        session = OpenAIConversationsSession(openai_client=client, conversation_id=conversation)
        await runs.turns(model(client), numbers, session)
        return session.session_id


async def on_server(base_url, key):
    """A conversation of the server, and chains of responses."""
    async with AsyncOpenAI(base_url=base_url, api_key=key) as client:
        conversation = (await client.conversations.create()).id
        for number in range(TURNS):
            await runs.turn(model(client), number, conversation_id=conversation)
        items = [item async for item in client.conversations.items.list(conversation, order="asc")]
        assert [item.type for item in items] == runs.TYPES * TURNS, items
        previous = None
        for number in range(TURNS):
            result = await runs.turn(model(client), number, previous_response_id=previous, auto_previous_response_id=True)
            previous = result.last_response_id
        assert previous, result


async def race(base_url, key, conversation):
    """Two runs on one conversation: a run that completed is recorded; another one was told that the conversation was locked."""
    async with AsyncOpenAI(base_url=base_url, api_key=key) as client:
        session = lambda: OpenAIConversationsSession(openai_client=client, conversation_id=conversation)
        before = len(await session().get_items())
        both = [runs.turn(model(client), number, session=session()) for number in (100, 102)]
        outcomes = await asyncio.gather(*both, return_exceptions=True)
        added = (await session().get_items())[before:]
    lost = [outcome for outcome in outcomes if isinstance(outcome, Exception)]
    assert all(isinstance(error, BadRequestError) and error.code == "conversation_locked" for error in lost), lost
    answers = [item for item in added if item["type"] == "message" and item["role"] == "assistant"]
    assert len(answers) == len(both) - len(lost), (added, lost)


def main(hansard):
    report = python_client("openai-agents")
    with scripted_model() as server, data_folder() as data:
        with gateway(hansard, data, server, MODEL) as (url, _, environment):
            base_url, key = url + "/openai/v1", secret_key(hansard, environment, "append", "read", "erase")
            conversation = asyncio.run(in_session(base_url, key, range(RESTART_AFTER)))
            asyncio.run(on_server(base_url, key))
            javascript = node(FOLDER / "responses.mjs", base_url, key, "0", str(RESTART_AFTER))
        with gateway(hansard, data, server, MODEL) as (url, _, _):
            base_url = url + "/openai/v1"
            asyncio.run(in_session(base_url, key, range(RESTART_AFTER, TURNS), conversation))
            asyncio.run(race(base_url, key, conversation))
            node(FOLDER / "responses.mjs", base_url, key, str(RESTART_AFTER), str(TURNS), *javascript)
    report.works("Responses", "runs with tools and a session, across a restart", "`conversation_id`", "`previous_response_id`", "races of runs")
    print(f"runs of openai-agents and @openai/agents over the Responses API work, {TURNS} turns with a restart after {RESTART_AFTER}")


if __name__ == "__main__":
    main(*sys.argv[1:])
