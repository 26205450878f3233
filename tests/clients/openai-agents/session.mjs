// Ten turns of the session of @openai/agents over the Conversations API, with popped items and a cleared session.
// Usage: session.mjs BASE_URL KEY. Needs `npm ci`. `check.py` runs it.

import assert from 'node:assert/strict';

import { OpenAIConversationsSession } from '@openai/agents';
import OpenAI from 'openai';

import { javascriptClient } from '../report.mjs';

const TURNS = 10;
const [baseURL, apiKey] = process.argv.slice(2);
const client = new OpenAI({ baseURL, apiKey });
const session = new OpenAIConversationsSession({ client });

/** What an agent adds in one turn, in one request. */
function turn(number) {
  const callId = `call_${number}`;
  return [
    { type: 'message', role: 'user', content: `question ${number}` },
    { type: 'reasoning', id: `rs_${number}`, content: [{ type: 'input_text', text: 'thought' }] },
    { type: 'function_call', callId, name: 'look', arguments: '{}', status: 'completed' },
    { type: 'function_call_result', callId, name: 'look', output: `result ${number}`, status: 'completed' },
    {
      type: 'message',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text: `answer ${number}` }],
    },
  ];
}

const types = ['message', 'reasoning', 'function_call', 'function_call_result', 'message'];
for (let number = 0; number < TURNS; number += 1) {
  await session.addItems(turn(number));
  const items = await session.getItems();
  assert.equal(items.length, types.length * (number + 1));
  assert.deepEqual(items.slice(-types.length).map((item) => item.type), types);
}
const last = await session.getItems(5);
assert.equal(last[0].content[0].text, 'question 9');
assert.equal(last[1].id, 'rs_9');
for (const type of [...types].reverse()) {
  assert.equal((await session.popItem()).type, type);
}
assert.equal((await session.getItems()).length, types.length * (TURNS - 1));

// A second session on the same conversation.
const conversationId = await session.getSessionId();
const again = new OpenAIConversationsSession({ client, conversationId });
assert.deepEqual(await again.getItems(), await session.getItems());

// More items than OpenAI accepts in one request.
const many = Array.from({ length: 45 }, (_, number) => ({ type: 'message', role: 'user', content: `${number}` }));
await again.addItems(many);
assert.equal((await session.getItems(45))[44].content[0].text, '44');

await session.clearSession();
await assert.rejects(client.conversations.retrieve(conversationId), { status: 404 });
assert.deepEqual(await session.getItems(), []);
await session.clearSession();
javascriptClient(import.meta.url, '@openai/agents').works('Conversations', 'popped items and cleared sessions');
