"""The chat widget in a real headless Chromium, with a real small model: a question, its stream, a stop, a reload, a new answer.

Usage: small_model.py HANSARD. Needs node, the packages of package-lock.json (npm ci --ignore-scripts) and those of
../small-model/requirements.txt. The browser runs widget/small_model.mjs.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
sys.path.append(str(HERE.parent))
sys.path.append(str(HERE.parent / "small-model"))

import fixture  # noqa: E402
from hansard_dev import data_folder  # noqa: E402
from report import Client  # noqa: E402

DEADLINE_S = 240


def main(hansard):
    with fixture.model() as model_url, data_folder() as data, tempfile.TemporaryDirectory() as folder:
        with fixture.gateway(hansard, data, model_url) as (url, who, _):
            command = ["node", str(HERE / "widget" / "small_model.mjs"), url, who["x-api-key"], folder]
            subprocess.run(command, check=True, timeout=DEADLINE_S)
    version = json.loads((HERE / "package.json").read_text())["dependencies"]["@sparticuz/chromium"]
    Client("Chromium with `<hansard-chat>`", version).works("Chats", "answers of a real small model")


if __name__ == "__main__":
    main(*sys.argv[1:])
