"""Mixed calls of tools per second over HTTP, with their latency: a stateless agent's cycle of reads and writes.

Usage: load.py HANSARD [SECONDS [CALLS_PER_SECOND]]. Starts `hansard dev`. The connections share a few tokens, as the rate of a token is
limited, and each has an address of its own. A build without optimisation measures little.
"""

import asyncio
import json
import pathlib
import random
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from hansard_dev import data_folder, gateway  # noqa: E402

from access import service_token  # noqa: E402

CONNECTIONS = 40
# Below the default limit of a token, 500 requests per second, at 1,000 calls per second.
TOKENS = 4
# How often each tool is called, of 100 calls.
MIX = {"fetch_chat_history": 50, "record_interaction": 30, "get_conversation": 14, "list_conversations": 5, "create_conversation": 1}


class Connection:
    """One connection over HTTP/1.1, from its own loopback address."""

    def __init__(self, address, port, token):
        self.head = (
            f"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nauthorization: Bearer {token}\r\n"
            "content-type: application/json\r\naccept: application/json, text/event-stream\r\n"
            "mcp-protocol-version: 2025-11-25\r\ncontent-length: "
        )
        self.address, self.port = address, port

    async def open(self):
        local = (self.address, 0)
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port, local_addr=local)

    async def call(self, tool, arguments):
        params = {"name": tool, "arguments": arguments}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        self.writer.write(f"{self.head}{len(body)}\r\n\r\n{body}".encode())
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(head.split("content-length: ")[1].split("\r\n")[0])
        answer = json.loads(await self.reader.readexactly(length))
        if " 200 " not in head.split("\r\n")[0] or answer["result"].get("isError"):
            sys.exit(f"{tool}: {head.splitlines()[0]} {answer}")
        return json.loads(answer["result"]["content"][0]["text"])


async def agent(number, connection, pace, end, latencies):
    await connection.open()
    user = f"user-{number}"
    conversation = (await connection.call("create_conversation", {"user_id": user}))["id"]
    tools = random.Random(number)
    due = time.perf_counter() + tools.random() / pace
    while due < end:
        await asyncio.sleep(max(0, due - time.perf_counter()))
        tool = tools.choices(list(MIX), list(MIX.values()))[0]
        arguments = {"user_id": user} if tool in ("list_conversations", "create_conversation") else {"conversation_id": conversation}
        if tool == "record_interaction":
            arguments |= {"user_message": "What about OAuth?", "assistant_response": "OAuth 2.0 is an authorization framework."}
        await connection.call(tool, arguments)
        # From when the call was due: a late start counts.
        latencies.setdefault(tool, []).append(time.perf_counter() - due)
        due += 1 / pace


async def measure(port, tokens, seconds, rate):
    latencies = {}
    began = time.perf_counter()
    connections = [Connection(f"127.0.1.{number + 1}", port, tokens[number % TOKENS]) for number in range(CONNECTIONS)]
    agents = [agent(n, one, rate / CONNECTIONS, began + seconds, latencies) for n, one in enumerate(connections)]
    await asyncio.gather(*agents)
    took = time.perf_counter() - began
    total = sorted(value for values in latencies.values() for value in values)
    print(f"{len(total) / took:.0f} calls/s of {rate} in {took:.1f} s over {CONNECTIONS} connections")
    for name, values in [("all", total), *sorted((tool, sorted(values)) for tool, values in latencies.items())]:
        at = lambda share: values[min(len(values) - 1, int(len(values) * share))] * 1000
        print(f"{name}: {len(values)} calls, p50 {at(0.5):.1f} ms, p99 {at(0.99):.1f} ms")


def main(hansard, seconds="20", rate="1000"):
    hansard = str(pathlib.Path(hansard).resolve())
    with data_folder() as data, gateway(hansard, data) as (base, _, environment):
        tokens = [service_token(hansard, environment) for _ in range(TOKENS)]
        asyncio.run(measure(int(base.rsplit(":", 1)[1]), tokens, float(seconds), float(rate)))


if __name__ == "__main__":
    main(*sys.argv[1:])
