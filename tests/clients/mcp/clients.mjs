// A request cycle by both TypeScript packages: over HTTP and over `hansard mcp`. `node clients.mjs HANSARD URL`; the token is in
// HANSARD_TOKEN.

import assert from 'node:assert/strict';
import * as modern from '@modelcontextprotocol/client';
import * as modernStdio from '@modelcontextprotocol/client/stdio';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const [hansard, url] = process.argv.slice(2);
const { HANSARD_TOKEN, HANSARD_MCP_URL } = process.env;
const requestInit = { headers: { authorization: `Bearer ${HANSARD_TOKEN}` } };
const program = { command: hansard, args: ['mcp'], env: { HANSARD_TOKEN, HANSARD_MCP_URL } };

async function cycle(name, client, transport) {
  await client.connect(transport);
  assert.equal((await client.listTools()).tools.length, 9);
  const call = async (tool, args) => {
    const result = await client.callTool({ name: tool, arguments: args });
    assert.notEqual(result.isError, true, JSON.stringify(result.content));
    return result.structuredContent ?? JSON.parse(result.content[0].text);
  };
  const { id } = await call('create_conversation', { user_id: name });
  await call('record_interaction', { conversation_id: id, user_message: 'q', assistant_response: 'a' });
  const history = await call('fetch_chat_history', { conversation_id: id });
  assert.deepEqual(history.messages.map(message => message.content), ['q', 'a']);
  assert.deepEqual((await call('list_conversations', { user_id: name })).map(one => one.id), [id]);
  const missing = await client.callTool({ name: 'get_conversation', arguments: { conversation_id: 'none' } });
  assert.ok(missing.isError && missing.content[0].text.startsWith('Error: Conversation none not found'));
  const read = await client.readResource({ uri: `hansard://conversations/${id}` });
  assert.equal(JSON.parse(read.contents[0].text).message_count, 2);
  await client.close();
  console.log(`${name}: ok`);
}

const who = { name: 'check', version: '1' };
await cycle('sdk http', new Client(who), new StreamableHTTPClientTransport(new URL(url), { requestInit }));
await cycle('sdk stdio', new Client(who), new StdioClientTransport(program));
for (const mode of ['legacy', 'auto']) {
  const client = () => new modern.Client(who, { versionNegotiation: { mode } });
  const http = new modern.StreamableHTTPClientTransport(new URL(url), { requestInit });
  await cycle(`client http ${mode}`, client(), http);
  await cycle(`client stdio ${mode}`, client(), new modernStdio.StdioClientTransport(program));
}
