"""Checks the command line client `llm`: a model with the gateway's base URL and key is all that it is given.

Usage: check.py HANSARD. Needs the packages of requirements.txt (pip install --require-hashes -r …).
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).parents[1]))

from hansard_dev import AGENT, DEADLINE_S  # noqa: E402
from openai_gateway import openai_gateway  # noqa: E402
from report import python_client  # noqa: E402
from scripted_model import FORMATTED  # noqa: E402

TOOL = "def weather(city: str) -> str:\n    '''Tells the weather.'''\n    return city + ' is cold.'\n"
# Streamed, and whole.
WAYS = ([], ["--no-stream"])
ANSWER = "the tool says: Oslo is cold."


def settings(folder, base_url, key):
    """The files of the client: models and keys. JSON is YAML too."""
    model = {"model_id": "hansard", "model_name": AGENT, "api_base": base_url, "api_key_name": "hansard"}
    model |= {"supports_tools": True, "supports_schema": True}
    pathlib.Path(folder, "extra-openai-models.yaml").write_text(json.dumps([model]))
    pathlib.Path(folder, "keys.json").write_text(json.dumps({"hansard": key}))


def llm(folder, *arguments, **options):
    """What the client prints."""
    command = [sys.executable, "-m", "llm", *arguments]
    # Plugins that other checks have installed are not loaded.
    environment = {**os.environ, "LLM_USER_PATH": folder, "LLM_LOAD_PLUGINS": ""}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=DEADLINE_S, **options)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.strip()


def prompts(folder):
    """A prompt, streamed and whole, its continuation, and a chat."""
    assert "hansard" in llm(folder, "models"), "the model is not listed"
    for options in WAYS:
        assert llm(folder, "-m", "hansard", *options, "-s", "You repeat.", "-o", "temperature", "0.5", "one") == "echo: one"
    assert llm(folder, "-c", "two") == "echo: two"
    last = json.loads(llm(folder, "logs", "--json", "-n", "1"))[0]
    assert (last["response"], last["output_tokens"] > 0) == ("echo: two", True), last
    assert "echo: three" in llm(folder, "chat", "-m", "hansard", input="three\nquit\n")


def tools(folder):
    """Both ways: the client runs the function, and the model reads its result."""
    for options in WAYS:
        assert llm(folder, "-m", "hansard", *options, "--functions", TOOL, "How is the weather in Oslo?") == ANSWER


def schema(folder):
    assert json.loads(llm(folder, "-m", "hansard", "--schema", "city, degrees int", "How is Oslo?")) == FORMATTED


def main(hansard):
    report = python_client("llm")
    with openai_gateway(hansard) as (base_url, key), tempfile.TemporaryDirectory() as folder:
        settings(folder, base_url, key)
        prompts(folder)
        report.works("Chat Completions", "prompts, streamed and whole", "continued conversations", "chats")
        tools(folder)
        report.works("Chat Completions", "tools")
        schema(folder)
        report.works("Chat Completions", "output by a schema")
    print("llm: prompts, chats, tools and schemas")


if __name__ == "__main__":
    main(*sys.argv[1:])
