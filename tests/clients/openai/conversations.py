"""Checks the Conversations API with the `openai` library and the sessions of `openai-agents` and `@openai/agents`, all unchanged:
only the base URL and the key are Hansard's. Every answer is validated strictly against the Python library's own types.

Usage: conversations.py HANSARD. Needs the packages of requirements.txt; the JavaScript session also `npm ci` in this folder.
"""

import asyncio
import functools
import os
import pathlib
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.request import Request, urlopen

os.environ["OPENAI_AGENTS_DISABLE_TRACING"] = "1"

from agents.memory import OpenAIConversationsSession  # noqa: E402
from openai import AsyncOpenAI, BadRequestError, NotFoundError, OpenAI  # noqa: E402
from openai.types.conversations import (  # noqa: E402
    Conversation,
    ConversationDeletedResource,
    ConversationItem,
    ConversationItemList,
)
from pydantic import TypeAdapter  # noqa: E402

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent))
from hansard_dev import data_folder, gateway  # noqa: E402

TURNS = 10


@functools.cache
def adapter(model):
    return TypeAdapter(model)


def strict(model, value):
    """The value, after its JSON is validated strictly against the type."""
    adapter(model).validate_json(value.to_json(exclude_unset=True), strict=True)
    return value


def items_strict(values):
    return [strict(ConversationItem, value) for value in values]


SENT = [
    {"role": "user", "content": "What is in the box?"},
    {"type": "message", "role": "system", "content": [{"type": "input_text", "text": "Be brief."}]},
    {"type": "message", "role": "user", "content": [
        {"type": "input_image", "image_url": "https://example.org/i.png", "detail": "auto"},
        {"type": "input_file", "file_data": "AAAA", "filename": "a.pdf"},
    ]},
    {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "s"}], "encrypted_content": "e"},
    {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{\"in\": \"box\"}"},
    {"type": "function_call_output", "call_id": "c", "output": "a cat"},
    {"type": "function_call", "call_id": "d", "name": "look", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "d", "output": [{"type": "input_text", "text": "a dog"}]},
    {"type": "function_call_output", "call_id": "nowhere", "output": "an orphan"},
    {"type": "custom_tool_call", "call_id": "e", "name": "shell", "input": "ls"},
    {"type": "custom_tool_call_output", "call_id": "e", "output": "box"},
    {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "q"}},
    {"type": "mcp_call", "id": "mcp_1", "arguments": "{}", "name": "n", "server_label": "s"},
    {"type": "mcp_list_tools", "id": "mcpl_1", "server_label": "s", "tools": []},
    {"type": "local_shell_call", "id": "lsh_1", "call_id": "f", "status": "completed",
     "action": {"type": "exec", "command": ["ls"], "env": {}}},
    {"type": "compaction", "encrypted_content": "e"},
    {"type": "message", "role": "assistant", "phase": "final_answer", "status": "completed", "content": [
        {"type": "output_text", "text": "A cat.", "annotations": [], "logprobs": []},
    ]},
]


def library(client):
    conversation = strict(Conversation, client.conversations.create(metadata={"topic": "boxes"}, items=SENT[:1]))
    assert strict(Conversation, client.conversations.retrieve(conversation.id)) == conversation
    changed = strict(Conversation, client.conversations.update(conversation.id, metadata={"a": "b"}))
    assert changed.metadata == {"a": "b"} and changed.created_at == conversation.created_at
    made = strict(ConversationItemList, client.conversations.items.create(conversation.id, items=SENT[1:]))
    items_strict(made.data)
    listed = items_strict(client.conversations.items.list(conversation.id, order="asc", limit=3))
    assert listed[1:] == made.data
    assert listed[::-1] == list(client.conversations.items.list(conversation.id, include=["reasoning.encrypted_content"]))
    for sent, item in zip(SENT, listed, strict=True):
        given = item.to_dict(exclude_unset=True)
        for name, value in sent.items():
            assert given[name] == value or name == "content" and isinstance(value, str), (name, given)
        one = client.conversations.items.retrieve(item.id, conversation_id=conversation.id)
        assert items_strict([one]) == [item]
    try:
        client.conversations.items.delete(listed[0].id, conversation_id=conversation.id)
        raise AssertionError("an old item was deleted")
    except BadRequestError as error:
        assert (error.code, error.param) == ("ITEM_NOT_NEWEST", "item_id"), error
    strict(Conversation, client.conversations.items.delete(listed[-1].id, conversation_id=conversation.id))
    assert list(client.conversations.items.list(conversation.id, order="asc", limit=100)) == listed[:-1]
    deleted = strict(ConversationDeletedResource, client.conversations.delete(conversation.id))
    assert deleted.deleted and deleted.id == conversation.id
    try:
        client.conversations.retrieve(conversation.id)
        raise AssertionError("an erased conversation was read")
    except NotFoundError as error:
        assert error.code == "CONVERSATION_NOT_FOUND", error


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


async def session(client):
    """Ten turns of a session, items that are popped, a second session on the same conversation, and a race."""
    memory = OpenAIConversationsSession(openai_client=client)
    expected = 0
    for number in range(TURNS):
        items = turn(number)
        await memory.add_items(items[:1])
        await memory.add_items(items[1:])
        expected += len(items)
        assert len(await memory.get_items()) == expected
    popped = await memory.pop_item()
    assert popped["content"][0]["text"] == f"answer {TURNS - 1}", popped
    for kind in ["function_call_output", "function_call", "message"]:
        assert (await memory.pop_item())["type"] == kind
    again = OpenAIConversationsSession(conversation_id=memory.session_id, openai_client=client)
    assert await again.get_items() == await memory.get_items()
    assert [item["type"] for item in await again.get_items(limit=2)] == ["function_call_output", "message"]
    # More items than the session sends in one request.
    many = [{"role": "user", "content": str(number)} for number in range(45)]
    await again.add_items(many)
    assert [item["content"][0]["text"] for item in await memory.get_items(limit=45)] == [str(n) for n in range(45)]
    await race(client, memory.session_id)
    await memory.clear_session()
    assert await memory.get_items() == []
    await memory.clear_session()


async def race(client, conversation):
    """Each of several writers is recorded, or is told that the conversation was locked."""
    create = client.conversations.items.create
    writers = [create(conversation, items=[{"role": "user", "content": f"writer {n}"}]) for n in range(16)]
    outcomes = await asyncio.gather(*writers, return_exceptions=True)
    lost = [outcome for outcome in outcomes if isinstance(outcome, Exception)]
    assert all((error.code, error.param) == ("conversation_locked", "conversation") for error in lost), lost
    page = [item async for item in client.conversations.items.list(conversation, limit=100)]
    recorded = {part.text for item in page if item.type == "message" for part in item.content if part.type != "refusal"}
    assert len([text for text in recorded if text.startswith("writer")]) == 16 - len(lost)


class LosesAnswers(BaseHTTPRequestHandler):
    """Passes requests on, and closes the connection instead of the first answer to each POST."""

    target, seen = "", set()

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        dropped = ("host", "accept-encoding", "connection")
        headers = {name: value for name, value in self.headers.items() if name.lower() not in dropped}
        answer = urlopen(Request(self.target + self.path, body, headers), timeout=30).read()
        if body not in self.seen:
            self.seen.add(body)
            self.close_connection = True
            return
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


def lost_answer(client, url, key):
    """The library repeats a request whose answer was lost; its items are recorded once."""
    LosesAnswers.target = url
    server = ThreadingHTTPServer(("127.0.0.1", 0), LosesAnswers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    conversation = client.conversations.create().id
    unreliable = OpenAI(base_url=f"http://127.0.0.1:{server.server_port}/openai/v1", api_key=key)
    made = unreliable.conversations.items.create(conversation, items=[{"role": "user", "content": "once"}])
    assert LosesAnswers.seen, "no answer was lost"
    assert list(client.conversations.items.list(conversation)) == made.data
    server.shutdown()


def secret_key(hansard, environment):
    command = [hansard, "token", "create", "--name", "openai", "--agent", "demo"]
    command += [part for scope in ("append", "read", "erase") for part in ("--scope", scope)]
    made = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    return made.stdout.strip()


async def with_session(url, key):
    async with AsyncOpenAI(base_url=url + "/openai/v1", api_key=key) as client:
        await session(client)


def javascript(url, key):
    """The same session in JavaScript, if its packages are installed."""
    if not (FOLDER / "node_modules").exists():
        print("skipped: the packages of the JavaScript session are not installed")
        return
    subprocess.run(["node", FOLDER / "session.mjs", url + "/openai/v1", key], check=True, timeout=60)


def main(hansard):
    with data_folder() as data, gateway(hansard, data) as (url, _, environment):
        key = secret_key(hansard, environment)
        with OpenAI(base_url=url + "/openai/v1", api_key=key) as client:
            library(client)
            lost_answer(client, url, key)
        asyncio.run(with_session(url, key))
        javascript(url, key)
    print("the Conversations API works with openai and openai-agents")


if __name__ == "__main__":
    main(*sys.argv[1:])
