"""Checks the Conversations API with OpenAI's Python library; only base URL and key are set.

Usage: conversations.py HANSARD. Needs the packages of requirements.txt. Every answer is validated strictly against the library's types.
"""

import asyncio
import pathlib
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.request import Request, urlopen

from openai import AsyncOpenAI, BadRequestError, NotFoundError, OpenAI
from openai.types.conversations import (
    Conversation,
    ConversationDeletedResource,
    ConversationItem,
    ConversationItemList,
)
from strict import strict

sys.path.append(str(pathlib.Path(__file__).parents[1]))

from openai_gateway import openai_gateway  # noqa: E402
from report import python_client  # noqa: E402

WRITERS = 16


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


async def race(base_url, key):
    """Each of several writers is recorded, or is told that the conversation was locked."""
    async with AsyncOpenAI(base_url=base_url, api_key=key) as client:
        conversation = (await client.conversations.create()).id
        create = client.conversations.items.create
        writers = [create(conversation, items=[{"role": "user", "content": f"writer {n}"}]) for n in range(WRITERS)]
        outcomes = await asyncio.gather(*writers, return_exceptions=True)
        lost = [outcome for outcome in outcomes if isinstance(outcome, Exception)]
        assert all((error.code, error.param) == ("conversation_locked", "conversation") for error in lost), lost
        recorded = {item.content[0].text async for item in client.conversations.items.list(conversation, limit=100)}
    assert len(recorded) == WRITERS - len(lost), (recorded, lost)


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


def lost_answer(client, base_url, key):
    """The library repeats a request whose answer was lost; its items are recorded once."""
    LosesAnswers.target = base_url.removesuffix("/openai/v1")
    server = ThreadingHTTPServer(("127.0.0.1", 0), LosesAnswers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    conversation = client.conversations.create().id
    unreliable = OpenAI(base_url=f"http://127.0.0.1:{server.server_port}/openai/v1", api_key=key)
    made = unreliable.conversations.items.create(conversation, items=[{"role": "user", "content": "once"}])
    assert LosesAnswers.seen, "no answer was lost"
    assert list(client.conversations.items.list(conversation)) == made.data
    server.shutdown()


def main(hansard):
    report = python_client("openai")
    with openai_gateway(hansard) as (base_url, key):
        with OpenAI(base_url=base_url, api_key=key) as client:
            library(client)
            report.works("Conversations", "create, retrieve, update and delete", "items of 12 types", "pages of items")
            report.does_not("Conversations", "deletion of an item that is not the newest", "400 `ITEM_NOT_NEWEST`")
            lost_answer(client, base_url, key)
        asyncio.run(race(base_url, key))
        report.works("Conversations", "retries without a key", "races of writers")
    print("the Conversations API works with openai")


if __name__ == "__main__":
    main(*sys.argv[1:])
