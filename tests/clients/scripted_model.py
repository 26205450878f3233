"""A model server that speaks Chat Completions and answers by a script, so that checks know the answer.

It calls a tool if the last message asks for weather, or if the request requires a call. It answers the results of tools, a required
format and how many messages it read, and otherwise repeats the last message. Before the word `hold` it waits until it is released.
"""

import contextlib
import http.server
import json
import threading

MODEL = "scripted"
# The arguments of every call, and the answer in a required format.
ARGUMENTS = {"city": "Oslo"}
FORMATTED = {"city": "Oslo", "degrees": -3}
COUNT = "How many messages?"
HOLD = "hold"
HOLD_S = 60
released = threading.Event()


def release():
    """Continues the answers that wait."""
    released.set()
    released.clear()


def text_of(content):
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content)
    return content or ""


def required_tool(request):
    """The name of the tool to call; None: the answer is a text."""
    names = [tool["function"]["name"] for tool in request.get("tools", []) if tool["type"] == "function"]
    choice = request.get("tool_choice", "auto")
    if not names or choice == "none":
        return None
    if isinstance(choice, dict):
        return choice.get("function", {}).get("name", names[0])
    last = request["messages"][-1]
    asks = last["role"] == "user" and "weather" in text_of(last.get("content")).lower()
    return names[0] if asks or choice == "required" else None


def text_answer(request):
    if request.get("response_format", {}).get("type") in ("json_schema", "json_object"):
        return json.dumps(FORMATTED)
    last = request["messages"][-1]
    content = text_of(last.get("content"))
    if content == COUNT:
        return f"{len(request['messages'])} messages"
    return f"the tool says: {content}" if last["role"] == "tool" else f"echo: {content}"


def deltas(request):
    """The deltas of the answer, and its finish reason."""
    name = required_tool(request)
    if name is None:
        words = text_answer(request).split(" ")
        return [{"content": word if index == 0 else " " + word} for index, word in enumerate(words)], "stop"
    call_id = f"call_{len(request['messages'])}"
    arguments = json.dumps(ARGUMENTS)
    first = {"index": 0, "id": call_id, "type": "function", "function": {"name": name, "arguments": arguments[:4]}}
    second = {"index": 0, "function": {"arguments": arguments[4:]}}
    return [{"tool_calls": [first]}, {"tool_calls": [second]}], "tool_calls"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        # A reader may stop early.
        with contextlib.suppress(OSError):
            self.answer(*deltas(request))

    def answer(self, parts, finish_reason):
        self.send(choices=[{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}])
        for delta in parts:
            if delta.get("content", "").strip() == HOLD:
                released.wait(HOLD_S)
            self.send(choices=[{"index": 0, "delta": delta, "finish_reason": None}])
        self.send(choices=[{"index": 0, "delta": {}, "finish_reason": finish_reason}])
        self.send(choices=[], usage={"prompt_tokens": 7, "completion_tokens": len(parts), "total_tokens": 7 + len(parts)})
        self.wfile.write(b"data: [DONE]\n\n")

    def send(self, **members):
        chunk = {"id": "a", "object": "chat.completion.chunk", "created": 1, "model": MODEL, **members}
        self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def scripted_model(handler=Handler):
    """Yields the server as `hansard dev` names it: KIND=URL."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"openai_chat=http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
