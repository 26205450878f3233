"""The first paint of the conversation list in a real headless Chromium, with 100,000 conversations of one tenant.

Usage: list_speed.py HANSARD [CONVERSATIONS]. Needs a release build, and the packages as check.py. Not part of the quick checks:
the import takes minutes.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
sys.path.append(str(HERE.parent))
sys.path.append(str(HERE))

from check import link  # noqa: E402
from hansard_dev import AGENT, data_folder, gateway, secret_key  # noqa: E402

CONVERSATIONS = 100_000
OWNERS = 5_000
IMPORT_S_MAX = 1_800


def lines(count):
    for number in range(count):
        messages = [{"role": "user", "content": f"Where is parcel {number}?"}, {"role": "assistant", "content": f"Parcel {number} is in Berlin."}]
        yield json.dumps({"id": str(number), "user": f"user{number % OWNERS}", "title": f"Parcel {number}", "messages": messages})


def import_conversations(hansard, environment, file, count):
    with open(file, "w") as out:
        out.writelines(line + "\n" for line in lines(count))
    token = secret_key(hansard, environment, "append")
    command = [hansard, "import", str(file), "--agent", AGENT]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True, env={**environment, "HANSARD_TOKEN": token}, timeout=IMPORT_S_MAX)


def main(hansard, count=CONVERSATIONS):
    with data_folder() as data, tempfile.TemporaryDirectory() as folder, gateway(hansard, data) as (url, _, environment):
        import_conversations(hansard, environment, pathlib.Path(folder) / "conversations.jsonl", int(count))
        settings = {"url": url, "link": link(hansard, environment, url), "conversations": int(count), "owners": OWNERS}
        command = ["node", str(HERE / "list_speed.mjs"), json.dumps(settings), folder]
        print(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=IMPORT_S_MAX).stdout.strip())


if __name__ == "__main__":
    main(*sys.argv[1:])
