"""A real small model behind the gateway: two turns, a restart of every process, and a third turn with the first two in it.

Usage: check.py HANSARD. Needs the packages of requirements.txt (pip install --no-deps --require-hashes -r …).
What the model receives is seen by a proxy between it and the gateway.
"""

import contextlib
import http.client
import http.server
import json
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

HERE = pathlib.Path(__file__).parent
DEADLINE_S = 120
TURNS = ["My name is Ada. Say hello.", "What is two plus two?", "What is my name?"]


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def wait_for(what, attempt):
    end = time.monotonic() + DEADLINE_S
    while time.monotonic() < end:
        with contextlib.suppress(OSError, ValueError):
            found = attempt()
            if found:
                return found
        time.sleep(0.05)
    sys.exit(f"{what} did not come within {DEADLINE_S} s")


def ask(url, body=None, headers=None):
    data = None if body is None else json.dumps(body).encode()
    headers = {"content-type": "application/json", **(headers or {})}
    with urllib.request.urlopen(urllib.request.Request(url, data, headers), timeout=DEADLINE_S) as answer:
        return json.load(answer)


class Proxy(http.server.BaseHTTPRequestHandler):
    """Hands each request on to the model, and keeps what was asked."""

    seen = []
    model_port = 0

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        Proxy.seen.append(json.loads(body))
        model = http.client.HTTPConnection("127.0.0.1", Proxy.model_port, timeout=DEADLINE_S)
        model.request("POST", self.path, body, {"content-type": "application/json"})
        answer = model.getresponse()
        self.send_response(answer.status)
        self.send_header("content-type", answer.getheader("content-type", ""))
        self.end_headers()
        while piece := answer.read1():
            self.wfile.write(piece)
            self.wfile.flush()

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def running(command, **options):
    process = subprocess.Popen(command, **options)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()


@contextlib.contextmanager
def gateway(hansard, data, ports, model_url):
    command = [hansard, "dev", "--import", "none", "--data-dir", data, "--port-base", str(ports)]
    command += ["--model-server", f"openai_chat={model_url}", "--model", "smollm2"]
    with running(command, stdout=subprocess.PIPE, text=True) as process:
        told = ""
        for line in process.stdout:
            told += line
            if "Ctrl-C" in line:
                break
        key = re.search(r"API key (\S+)", told)
        url = re.search(r"(http://\S+) \(HTTP", told)
        if not key or not url:
            sys.exit("hansard dev did not start")
        threading.Thread(target=process.stdout.read, daemon=True).start()
        yield url[1], {"x-api-key": key[1], "x-session-id": "small-model"}


def main(hansard):
    Proxy.model_port = free_port()
    proxy = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    model_url = f"http://127.0.0.1:{proxy.server_port}/v1"
    ports = free_port() // 100 * 100
    serve = [sys.executable, str(HERE / "serve.py"), str(Proxy.model_port)]
    with tempfile.TemporaryDirectory() as data, running(serve, stderr=subprocess.DEVNULL):
        pathlib.Path(data).chmod(0o755)
        health = f"http://127.0.0.1:{Proxy.model_port}/health"
        wait_for("the model", lambda: ask(health).get("status") == "ok")
        answers = []
        with gateway(hansard, data + "/hansard", ports, model_url) as (url, who):
            session = ask(url + "/v1/chat/sessions", {}, who)["session_id"]
            for message in TURNS[:2]:
                said = ask(url + "/v1/chat", {"message": message, "session_id": session}, who)
                answers.append(said["response"])
        with gateway(hansard, data + "/hansard", ports, model_url) as (url, who):
            said = ask(url + "/v1/chat", {"message": TURNS[2], "session_id": session}, who)
            answers.append(said["response"])
    expected = [text for pair in zip(TURNS, answers) for text in pair][:-1]
    messages = [message for message in Proxy.seen[-1]["messages"] if message["role"] in ("user", "assistant")]
    received = [text_of(message["content"]) for message in messages]
    if received != expected or not all(answers):
        sys.exit(f"the model received {received!r}, not {expected!r}")
    print(f"the third turn reached the model with the first two in it; it answered {len(answers[2])} characters")


def text_of(content):
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


if __name__ == "__main__":
    main(*sys.argv[1:])
