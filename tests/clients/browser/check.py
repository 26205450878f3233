"""examples/chat.html in a real headless Chromium, with `echo` and with a model that pauses until it is released.

Usage: check.py HANSARD [SCREENSHOTS]. Needs node and the packages of package-lock.json (npm ci --ignore-scripts).
The browser runs page.mjs, which requests gateways by lines on standard output.
"""

import contextlib
import http.server
import json
import pathlib
import subprocess
import sys
import tempfile
import threading

HERE = pathlib.Path(__file__).parent
sys.path.append(str(HERE.parent))

from hansard_dev import DEADLINE_S, data_folder, free_port, gateway  # noqa: E402
from report import Client  # noqa: E402

PAGE = HERE.parents[2] / "examples" / "chat.html"
# After this word the model pauses until it is released.
HOLD = "wait"


class Held(http.server.BaseHTTPRequestHandler):
    """`/v1/chat/completions` of a model that repeats the last message, and `/release`."""

    released = threading.Event()

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        if self.path == "/release":
            Held.released.set()
        else:
            # A stop of the answer also closes the connection.
            with contextlib.suppress(OSError):
                self.answer(json.loads(body)["messages"][-1]["content"])

    def answer(self, content):
        text = content if isinstance(content, str) else "".join(part["text"] for part in content)
        for word in ("held: " + text).split(" "):
            last = text.endswith(word)
            self.send(delta={"content": word if last else word + " "}, finish_reason=None)
            if word == HOLD:
                Held.released.wait(DEADLINE_S)
                Held.released.clear()
        self.send(delta={}, finish_reason="stop")
        self.wfile.write(b"data: [DONE]\n\n")

    def send(self, **choice):
        chunk = {"id": "a", "object": "chat.completion.chunk", "model": "held", "choices": [{"index": 0, **choice}]}
        self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
        self.wfile.flush()

    def log_message(self, *_):
        pass


def serve(browser, hansard, data, models):
    """Answers each line of page.mjs with the requested gateway, at one address; the previous gateway is stopped first."""
    port = free_port()
    with contextlib.ExitStack() as running:
        for line in browser.stdout:
            running.close()
            answer = {"release": models + "/release"}
            if line.strip() != "none":
                model = (f"openai_chat={models}/v1", "held") if line.strip() == "held" else ()
                url, who, _ = running.enter_context(gateway(hansard, data, *model, port_base=port))
                answer |= {"url": url, "key": who["x-api-key"]}
            print(json.dumps(answer), file=browser.stdin, flush=True)


def main(hansard, *screenshots):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Held)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with data_folder() as data, tempfile.TemporaryDirectory() as folder:
        command = ["node", str(HERE / "page.mjs"), str(PAGE), folder, *screenshots]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as browser:
            late = threading.Timer(DEADLINE_S, browser.kill)
            late.start()
            serve(browser, hansard, data, f"http://127.0.0.1:{server.server_port}")
            late.cancel()
    if browser.returncode != 0:
        sys.exit("the page failed")
    version = json.loads((HERE / "package.json").read_text())["dependencies"]["@sparticuz/chromium"]
    features = ["messages", "reloads", "a second tab", "resumed and stopped answers", "errors"]
    Client("Chromium with `examples/chat.html`", version).works("Chats", *features)
    print("the page sent messages, was reloaded, followed a second tab, resumed and stopped an answer, showed HTML as text, and its errors")


if __name__ == "__main__":
    main(*sys.argv[1:])
