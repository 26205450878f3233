"""The settings of the dashboard in a real headless Chromium: forms by keys, live previews of policies, keys and webhooks.

Usage: settings.py HANSARD [SCREENSHOTS]. As check.py.
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
from hansard_dev import DEADLINE_S, data_folder, gateway, secret_key  # noqa: E402
from transcript import SCRIPT, message, post, record  # noqa: E402


def conversation(url, service):
    """A conversation of the demo agent for previews, with script in its texts."""
    post(f"{url}/v1/conversations", {"agentId": "demo", "userId": "ada", "id": "preview", "title": SCRIPT}, service)
    record(url, service, "preview", [message("user", SCRIPT), message("assistant", "In Leeds."), message("user", "And now?")])


def main(hansard, *screenshots):
    with data_folder() as data, tempfile.TemporaryDirectory() as folder, gateway(hansard, data) as (url, _, environment):
        conversation(url, {"authorization": "Bearer " + secret_key(hansard, environment, "append", "read")})
        links = [link(hansard, environment, url) for _ in range(2)]
        settings = {"url": url, "link": links[0], "plain_link": links[1], "script": SCRIPT}
        command = ["node", str(HERE / "settings.mjs"), json.dumps(settings), folder, *screenshots]
        checked = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=2 * DEADLINE_S)
    print(checked.stdout.strip())


if __name__ == "__main__":
    main(*sys.argv[1:])
