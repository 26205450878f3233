"""A request cycle by the Python client and by fastmcp: over HTTP and over `hansard mcp`, in both revisions."""

import json

import fastmcp
import mcp
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client

TOOLS = {
    "fetch_chat_history", "record_interaction", "create_conversation", "get_conversation", "list_conversations",
    "search_conversations", "get_context", "fork_conversation", "export_conversation",
}


async def cycle(name, call, tools, resources, read):
    """Creates a conversation, records, reads and lists; `call` returns structured content and whether it failed."""
    assert {tool.name for tool in await tools()} == TOOLS
    created, _ = await call("create_conversation", {"user_id": name, "title": "t"})
    conversation = {"conversation_id": created["id"]}
    texts = {"user_message": "What about OAuth?", "assistant_response": "A framework."}
    await call("record_interaction", {**conversation, **texts, "metadata": '{"tokens": 1}'})
    history, _ = await call("fetch_chat_history", {**conversation, "limit": 1})
    assert [one["content"] for one in history["messages"]] == ["A framework."], history
    listed, _ = await call("list_conversations", {"user_id": name})
    assert [one["id"] for one in listed] == [created["id"]], listed
    _, failed = await call("get_conversation", {"conversation_id": "none"})
    assert failed
    uri = f"hansard://conversations/{created['id']}"
    assert uri in [str(one.uri) for one in await resources()]
    assert "A framework." in (await read(uri))[0].text
    print(f"{name}: ok")


def parsed(result, is_error):
    """Structured content, or the text of a list for clients of the earlier revision."""
    if is_error:
        return result.content[0].text, True
    if result.structured_content is not None:
        return result.structured_content, False
    return json.loads(result.content[0].text), False


async def official(name, server, mode):
    async with mcp.Client(server, mode=mode) as client:
        async def call(tool, arguments):
            result = await client.call_tool(tool, arguments)
            return parsed(result, result.is_error)

        async def tools():
            return (await client.list_tools()).tools

        async def resources():
            return (await client.list_resources()).resources

        async def read(uri):
            return (await client.read_resource(uri)).contents

        await cycle(name, call, tools, resources, read)


async def of_fastmcp(name, transport, mode):
    async with fastmcp.Client(transport, mode=mode) as client:
        async def call(tool, arguments):
            result = await client.call_tool(tool, arguments, raise_on_error=False)
            return parsed(result, result.is_error)

        await cycle(name, call, client.list_tools, client.list_resources, client.read_resource)


async def check(hansard, url, token):
    headers = {"authorization": f"Bearer {token}"}
    environment = {"HANSARD_TOKEN": token, "HANSARD_MCP_URL": url}
    for mode in ("auto", "legacy"):
        async with create_mcp_http_client(headers=headers) as http:
            await official(f"mcp http {mode}", streamable_http_client(url, http_client=http), mode)
        stdio = StdioServerParameters(command=hansard, args=["mcp"], env=environment)
        await official(f"mcp stdio {mode}", stdio, mode)
        await of_fastmcp(f"fastmcp http {mode}", StreamableHttpTransport(url, headers=headers), mode)
        await of_fastmcp(f"fastmcp stdio {mode}", StdioTransport(hansard, ["mcp"], env=environment), mode)
