"""A small model, and a proxy before it that stores requests and answers."""

import contextlib
import http.client
import http.server
import json
import pathlib
import subprocess
import sys
import threading

HERE = pathlib.Path(__file__).parent
sys.path.append(str(HERE.parent))

import hansard_dev  # noqa: E402
from hansard_dev import DEADLINE_S, ask, free_port, running, wait_for  # noqa: E402

MODEL = "smollm2"


@contextlib.contextmanager
def gateway(hansard, data, model_url):
    with hansard_dev.gateway(hansard, data, f"openai_chat={model_url}", MODEL) as started:
        yield started


def text_of(content):
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def streamed_text(stream):
    """The whole text of a stream of chat completions."""
    events = [line[len("data: "):] for line in stream.decode().splitlines() if line.startswith("data: {")]
    choices = [choice for event in events for choice in json.loads(event).get("choices", [])]
    return "".join(choice["delta"].get("content") or "" for choice in choices)


class Proxy(http.server.BaseHTTPRequestHandler):
    """Forwards each request to the model, and stores its messages and its answer."""

    # The messages of each request, and the text of its answer.
    seen = []
    model_port = 0

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        model = http.client.HTTPConnection("127.0.0.1", Proxy.model_port, timeout=DEADLINE_S)
        model.request("POST", self.path, body, {"content-type": "application/json"})
        answer = model.getresponse()
        self.send_response(answer.status)
        self.send_header("content-type", answer.getheader("content-type", ""))
        self.end_headers()
        stream = b""
        # A stop of the answer closes the connection; then the model stops, too.
        with contextlib.closing(answer), contextlib.suppress(OSError):
            while piece := answer.read1():
                stream += piece
                self.wfile.write(piece)
                self.wfile.flush()
        messages = [(message["role"], text_of(message["content"])) for message in json.loads(body)["messages"]]
        Proxy.seen.append((messages, streamed_text(stream)))

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def model():
    """A small model behind the proxy; yields the URL of its API."""
    Proxy.model_port = free_port()
    proxy = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    serve = [sys.executable, str(HERE / "serve.py"), str(Proxy.model_port)]
    with running(serve, stderr=subprocess.DEVNULL):
        health = f"http://127.0.0.1:{Proxy.model_port}/health"
        wait_for("the model", lambda: ask(health).get("status") == "ok")
        yield f"http://127.0.0.1:{proxy.server_port}/v1"
