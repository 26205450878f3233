"""Usage, system and the switch of the tenant in a real headless Chromium.

Usage: operations.py HANSARD [SCREENSHOTS]. As check.py; a second gateway on the same servers has prices of models.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
sys.path.append(str(HERE.parent))
sys.path.append(str(HERE))

from check import conversations, gateway_with, link, stores_of  # noqa: E402
from hansard_dev import DEADLINE_S, ask, data_folder, gateway, secret_key, wait_for  # noqa: E402
from transcript import message, post  # noqa: E402

PRICES = '[[http.dashboard.prices]]\nmodel = "script-model"\ninput = "1"\noutput = "2.5"\n'


def usage(url, service):
    """A message of a model that read five million tokens and wrote three million."""
    post(f"{url}/v1/conversations", {"agentId": "demo", "userId": "ada", "id": "paid"}, service)
    tokens = {"inputTokens": 5_000_000, "outputTokens": 3_000_000, "cachedTokens": 0, "reasoningTokens": 0}
    answer = {**message("assistant", "An answer."), "model": "script-model", "usage": tokens}
    post(f"{url}/v1/conversations/paid/events", {"events": [answer]}, service)


def main(hansard, *screenshots):
    with data_folder() as data, tempfile.TemporaryDirectory() as folder, gateway(hansard, data) as (url, who, environment):
        service = {"authorization": "Bearer " + secret_key(hansard, environment, "append", "read")}
        conversations(url, who)
        usage(url, service)
        create = [hansard, "tenant", "create", "other"]
        subprocess.run(create, stdout=subprocess.DEVNULL, check=True, env=environment)
        config = pathlib.Path(data) / "prices.toml"
        config.write_text(PRICES)
        with gateway_with(hansard, data, environment, stores_of(environment), config) as priced_url:
            wait_for("the second gateway", lambda: ask(priced_url + "/v1/limits"))
            settings = {"url": priced_url, "link": link(hansard, environment, priced_url)}
            command = ["node", str(HERE / "operations.mjs"), json.dumps(settings), folder, *screenshots]
            checked = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=2 * DEADLINE_S)
    print(checked.stdout.strip())


if __name__ == "__main__":
    main(*sys.argv[1:])
