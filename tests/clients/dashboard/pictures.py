"""Pictures of eight pages of the dashboard, light and dark, in a real headless Chromium.

Usage: pictures.py HANSARD [FOLDER]. docs/pictures has the pictures of `pictures.py HANSARD docs/pictures`; without a folder they
are only made. Needs the packages as check.py.
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
from hansard_dev import AGENT, DEADLINE_S, ask, data_folder, gateway, secret_key, wait_for  # noqa: E402

SUBJECTS = ["Parcel to Lisbon", "Invoice for March", "Return of a lamp", "Wrong size delivered", "Change of address", "Gift card"]
USERS = ["ada", "grace", "alan"]


def message(role, text):
    return {"type": "MessageAppended", "role": role, "parts": [{"type": "text", "text": text}]}


def call(number, tool, given, output):
    called = {"type": "ToolCalled", "callId": f"call-{number}", "toolName": tool, "input": given}
    return [called, {"type": "ToolReturned", "callId": f"call-{number}", "output": output}]


def parcel():
    events = [message("user", "Hello, where is my parcel 4711? It should have arrived on Monday.")]
    events += call(1, "find_parcel", {"parcel": 4711}, {"parcel": 4711, "status": "in transit", "place": "Madrid", "expected": "2026-11-26"})
    events += [message("assistant", "Your parcel is in Madrid and is expected on **26 November**. Shall I send you a message when it arrives?")]
    events += [message("user", "Yes, please. And can I change the address?")]
    events += call(2, "can_redirect", {"parcel": 4711}, {"allowed": True, "until": "2026-11-25T12:00:00Z"})
    events += [message("assistant", "You can change it until 25 November, 12:00. Which address should I use?")]
    return events


def record(url, service, conversation, owner, title, events):
    body = {"agentId": AGENT, "userId": owner, "id": conversation, "title": title}
    ask(f"{url}/v1/conversations", body, service)
    ask(f"{url}/v1/conversations/{conversation}/events", {"events": events}, service)


def conversations(url, visitor, service):
    for number in range(12):
        subject = SUBJECTS[number % len(SUBJECTS)]
        turns = [message("user", f"I have a question about this: {subject}."), message("assistant", "I am happy to help. What is the number of your order?")]
        record(url, service, f"order-{number}", USERS[number % len(USERS)], subject, turns * (1 + number % 4))
    for question in ("When do you open?", "Do you deliver to Porto?"):
        chat = ask(f"{url}/api/chats", {"title": question}, visitor)["id"]
        body = json.dumps({"content": question}).encode()
        headers = {"content-type": "application/json", **visitor}
        with urllib.request.urlopen(urllib.request.Request(f"{url}/api/chats/{chat}/messages", body, headers)) as answer:
            answer.read()
    record(url, service, "parcel", "ada", "Parcel 4711", parcel())
    found = f"{url}/v1/search?agentId={AGENT}&q=4711"
    wait_for("the search", lambda: ask(found, headers=service)["results"])


def main(hansard, target=None):
    with data_folder() as data, tempfile.TemporaryDirectory() as folder, gateway(hansard, data) as (url, visitor, environment):
        service = {"authorization": "Bearer " + secret_key(hansard, environment, "append", "read")}
        conversations(url, visitor, service)
        settings = {"url": url, "link": link(hansard, environment, url), "agent": AGENT, "target": target or folder}
        command = ["node", str(HERE / "pictures.mjs"), json.dumps(settings), folder]
        made = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=DEADLINE_S)
    print(made.stdout.strip())


if __name__ == "__main__":
    main(*sys.argv[1:])
