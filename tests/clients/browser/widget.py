"""The chat widget in a real headless Chromium, with `echo` and with a scripted model.

Usage: widget.py HANSARD [SCREENSHOTS]. Needs node and the packages of package-lock.json (npm ci --ignore-scripts).
The browser runs widget/run.mjs. Each of its lines is a request: `start`, `start scripted`, `stop`, `model` or `release`.
"""

import contextlib
import json
import pathlib
import subprocess
import sys
import tempfile
import threading

HERE = pathlib.Path(__file__).parent
sys.path.append(str(HERE.parent))

import scripted_model  # noqa: E402
from hansard_dev import data_folder, free_port, gateway  # noqa: E402
from report import Client  # noqa: E402

DEADLINE_S = 280


def start(running, hansard, data, port, model):
    """Starts a gateway at the same address each time; returns what the browser needs of it."""
    running.close()
    url, who, environment = running.enter_context(gateway(hansard, data, *model, port_base=port))
    names = {name: value for name, value in environment.items() if name.startswith("HANSARD_")}
    return {"url": url, "key": who["x-api-key"], "environment": names}


def serve(browser, hansard, data, model):
    port = free_port()
    with contextlib.ExitStack() as running:
        for line in browser.stdout:
            answer = {}
            match line.split():
                case ["start", "scripted"]:
                    answer = start(running, hansard, data, port, (model, scripted_model.MODEL))
                case ["start"]:
                    answer = start(running, hansard, data, port, ())
                case ["stop"]:
                    running.close()
                case ["model"]:
                    answer = {"url": model.partition("=")[2]}
                case ["release"]:
                    scripted_model.release()
                case _:
                    print(line, end="")
                    continue
            print(json.dumps(answer), file=browser.stdin, flush=True)


def main(hansard, *screenshots):
    with scripted_model.scripted_model() as model, data_folder() as data, tempfile.TemporaryDirectory() as folder:
        command = ["node", str(HERE / "widget" / "run.mjs"), str(pathlib.Path(hansard).resolve()), folder, *screenshots]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as browser:
            late = threading.Timer(DEADLINE_S, browser.kill)
            late.start()
            serve(browser, hansard, data, model)
            late.cancel()
    if browser.returncode != 0:
        sys.exit("the widget failed")
    version = json.loads((HERE / "package.json").read_text())["dependencies"]["@sparticuz/chromium"]
    features = ["streamed, resumed and stopped answers", "edits", "history", "search", "tools", "attachments", "faults", "users", "keyboard and screen readers"]
    Client("Chromium with `<hansard-chat>`", version).works("Chats", *features)


if __name__ == "__main__":
    main(*sys.argv[1:])
