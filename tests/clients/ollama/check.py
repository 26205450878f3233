"""Checks requests to Ollama with the types of Ollama's Python client, and answers with the same types.

Usage: check.py HANSARD. Needs the packages of requirements.txt (pip install --require-hashes -r …).
A turn with a thought, a call of a tool and an answer goes through the gateway to a server with those types;
then contexts of an imported history, from the command line, are read with the same types.
"""

import base64
import http.server
import json
import pathlib
import subprocess
import sys
import tempfile
import threading

from ollama._types import ChatRequest, ChatResponse, Message

sys.path.append(str(pathlib.Path(__file__).parents[1]))

from hansard_dev import SERVER, ask, data_folder, gateway, wait_for  # noqa: E402
from report import python_client  # noqa: E402

MODEL = "qwen3"
OUTPUT = {"celsius": -3}
# Fields of the server's API that the client's types do not have.
SERVERS_OWN = {"request": {"truncate"}, "message": {"tool_call_id"}, "call": {"id"}}
PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
HISTORY = [
    {"role": "system", "content": "You help."},
    {"role": "user", "content": [
        {"type": "text", "text": "Where is this?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64," + PICTURE}},
    ]},
    {"role": "assistant", "content": None, "tool_calls": [
        {"id": "c/1", "type": "function", "function": {"name": "look", "arguments": "{\"at\": \"sky\"}"}},
        {"id": "c/2", "type": "function", "function": {"name": "look", "arguments": "[1]"}},
    ]},
    {"role": "tool", "tool_call_id": "c/1", "content": "{\"stars\": 7}"},
    {"role": "user", "content": "Go on without the other."},
    {"role": "assistant", "content": "In the north."},
]


def without(names, value):
    return {name: field for name, field in value.items() if name not in names}


def check_message(message):
    """The client's type accepts the message, and drops only fields of the server's API that it does not have."""
    known = without(SERVERS_OWN["message"] | {"images"}, message)
    if "tool_calls" in known:
        known["tool_calls"] = [without(SERVERS_OWN["call"], call) for call in known["tool_calls"]]
    read = Message.model_validate(known).model_dump(exclude_none=True)
    if read != known:
        sys.exit(f"a message is {known!r}, and Ollama's client reads {read!r}")
    for picture in message.get("images", []):
        base64.b64decode(picture, validate=True)


def check_request(body):
    known = without(SERVERS_OWN["request"], body)
    read = ChatRequest.model_validate(known).model_dump(exclude_none=True)
    if read != known:
        sys.exit(f"the request is {known!r}, and Ollama's client reads {read!r}")
    for message in body["messages"]:
        check_message(message)
    return body


class Ollama(http.server.BaseHTTPRequestHandler):
    """Ollama's `/api/chat`, and the tool that its model calls."""

    asked = []

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path == "/api/chat":
            Ollama.asked.append(body)
            has_result = any(message["role"] == "tool" for message in body["messages"])
            pieces = ANSWER if has_result else CALL
            answer = "".join(piece.model_dump_json(exclude_none=True) + "\n" for piece in pieces)
        else:
            answer = json.dumps(OUTPUT)
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.end_headers()
        self.wfile.write(answer.encode())

    def log_message(self, *_):
        pass


def piece(**fields):
    return ChatResponse(model=MODEL, message=Message(role="assistant", **fields), done=False)


def last():
    end = {"done": True, "done_reason": "stop", "prompt_eval_count": 40, "eval_count": 9}
    return ChatResponse(model=MODEL, message=Message(role="assistant", content=""), **end)


WEATHER = Message.ToolCall(function=Message.ToolCall.Function(name="weather", arguments={"city": "Oslo"}))
CALL = [piece(content="", thinking="I must "), piece(content="", thinking="look."), piece(content="", tool_calls=[WEATHER]), last()]
ANSWER = [piece(content="It is "), piece(content="cold."), last()]


def settings(server_url):
    schema = {"type": "object", "properties": {"city": {"type": "string", "description": "The city."}}, "required": ["city"]}
    tool = {"toolName": "weather", "description": "Tells the weather.", "webhookUrl": server_url + "/weather"}
    model = {"server": SERVER, "model": MODEL, "outputTokensMax": 64, "temperature": 0.5}
    return {"identityMode": "IDENTITY_MODE_OPEN", "model": model, "tools": [{**tool, "inputSchemaJson": json.dumps(schema)}]}


def run(hansard, operator, *arguments):
    ended = subprocess.run([hansard, *arguments], env=operator, check=True, capture_output=True)
    return ended.stdout


def check_turn(url, who):
    chat = ask(url + "/v1/chat/sessions", {}, who)["session_id"]
    answer = ask(url + "/v1/chat", {"message": "The weather in Oslo?", "session_id": chat}, who)
    if answer["response"] != "It is cold." or answer["usage"]["output_tokens"] != 18:
        sys.exit(f"the turn ended with {answer!r}")
    first, second = (check_request(body) for body in Ollama.asked)
    if first["tools"][0]["function"]["name"] != "weather" or first["options"]["num_predict"] != 64:
        sys.exit(f"the first request is {first!r}")
    call, result = second["messages"][-2:]
    expected = ("look.", "weather", {"city": "Oslo"}, "weather", OUTPUT)
    function = call["tool_calls"][0]["function"]
    actual = (call["thinking"][-5:], function["name"], function["arguments"], result["tool_name"], json.loads(result["content"]))
    if actual != expected:
        sys.exit(f"the second request ends with {call!r}, {result!r}")
    return chat


def check_context(hansard, operator, chat):
    body = json.loads(run(hansard, operator, "context", chat, "--format", "ollama"))
    return len(check_request({"model": MODEL, **body})["messages"])


def imported(hansard, operator, folder):
    file = pathlib.Path(folder, "history.jsonl")
    file.write_text(json.dumps({"id": "telling", "session": "check", "messages": HISTORY}))
    run(hansard, operator, "import", str(file))


def listed(url, who):
    """Both chats, when they are listed."""
    chats = ask(url + "/api/chats", None, who)["conversations"]
    return chats if len(chats) == 2 else None


def main(hansard):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Ollama)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url_of_server = f"http://127.0.0.1:{server.server_port}"
    with data_folder() as data, gateway(hansard, data, f"ollama={url_of_server}", MODEL) as (url, who, operator):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "settings.json")
            file.write_text(json.dumps(settings(url_of_server)))
            run(hansard, operator, "agent", "set", "demo", "--settings-file", str(file))
            imported(hansard, operator, folder)
        # The imported chat belongs to a session with a chosen id.
        who["x-session-id"] = "check"
        count = check_context(hansard, operator, check_turn(url, who))
        chats = wait_for("the list of chats", lambda: listed(url, who))
        count += sum(check_context(hansard, operator, chat["id"]) for chat in chats)
    python_client("ollama").works("Model server", "requests and contexts of its types", "thoughts, tools and answers")
    print(f"2 requests and {count} messages of contexts are of Ollama's types; its answers were read")


if __name__ == "__main__":
    main(*sys.argv[1:])
