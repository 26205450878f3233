"""The transcript and the context of a conversation in a real headless Chromium: journeys, and 20,000 events measured.

Usage: transcript.py HANSARD [SCREENSHOTS]. As check.py.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import urllib.request

HERE = pathlib.Path(__file__).parent
sys.path.append(str(HERE.parent))
sys.path.append(str(HERE))

from check import link  # noqa: E402
from hansard_dev import DEADLINE_S, data_folder, gateway, secret_key  # noqa: E402

EVENTS = 20_000
EVENTS_OF_REQUEST = 500
SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(1)>"


def post(url, body, who):
    headers = {"content-type": "application/json", **who}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def record(url, who, conversation, events):
    for start in range(0, len(events), EVENTS_OF_REQUEST):
        part = events[start : start + EVENTS_OF_REQUEST]
        post(f"{url}/v1/conversations/{conversation}/events", {"events": part}, who)


def message(role, text):
    return {"type": "MessageAppended", "role": role, "parts": [{"type": "text", "text": text}]}


def conversations(url, service):
    """A long conversation, a hostile one, and one with tools."""
    for conversation in ("long", "hostile"):
        post(f"{url}/v1/conversations", {"agentId": "demo", "userId": "ada", "id": conversation, "title": SCRIPT}, service)
    turns = [message("user" if number % 2 == 0 else "assistant", f"message {number} " + "x" * 400) for number in range(EVENTS - 1)]
    record(url, service, "long", turns)
    big = json.dumps({"rows": ["y" * 100] * 4_000, SCRIPT: SCRIPT})
    events = [
        message("user", SCRIPT),
        {"type": "ToolCalled", "callId": "a", "toolName": "search", "input": {"query": SCRIPT}},
        {"type": "ToolReturned", "callId": "a", "output": json.loads(big)},
        message("assistant", SCRIPT),
        message("user", "And now?"),
        message("assistant", "As before."),
    ]
    record(url, service, "hostile", events)


def main(hansard, *screenshots):
    with data_folder() as data, tempfile.TemporaryDirectory() as folder, gateway(hansard, data) as (url, _, environment):
        service = {"authorization": "Bearer " + secret_key(hansard, environment, "append", "read")}
        conversations(url, service)
        settings = {"url": url, "link": link(hansard, environment, url), "events": EVENTS, "authorization": service["authorization"]}
        command = ["node", str(HERE / "transcript.mjs"), json.dumps(settings), folder, *screenshots]
        checked = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=2 * DEADLINE_S)
    print(checked.stdout.strip())


if __name__ == "__main__":
    main(*sys.argv[1:])
