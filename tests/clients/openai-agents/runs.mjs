// Runs of an agent of @openai/agents with a tool: its model over Chat Completions, its session over Conversations.
// Usage: runs.mjs BASE_URL KEY FIRST END [CONVERSATION]: the turns from FIRST to before END. Prints the conversation.

import assert from 'node:assert/strict';

import { Agent, OpenAIChatCompletionsModel, OpenAIConversationsSession, run, tool } from '@openai/agents';
import OpenAI from 'openai';
import { z } from 'zod';

import { javascriptClient } from '../report.mjs';

const [baseURL, apiKey, first, end, conversationId] = process.argv.slice(2);
const client = new OpenAI({ baseURL, apiKey });
const weather = tool({
  name: 'weather',
  description: 'Tells the weather.',
  parameters: z.object({ city: z.string() }),
  execute: async ({ city }) => `${city} is cold.`,
});
const agent = new Agent({ name: 'guide', tools: [weather], model: new OpenAIChatCompletionsModel(client, 'demo') });
const session = new OpenAIConversationsSession({ client, conversationId });
for (let number = Number(first); number < Number(end); number += 1) {
  const stream = number % 2 === 1;
  const result = await run(agent, `The weather, turn ${number}?`, { session, stream });
  if (stream) {
    let events = 0;
    for await (const event of result) events += Boolean(event);
    await result.completed;
    assert.ok(events > 0);
  }
  assert.equal(result.finalOutput, 'the tool says: Oslo is cold.');
}
const items = await session.getItems();
const types = ['message', 'function_call', 'function_call_result', 'message'];
assert.deepEqual(items.map((item) => item.type), Array.from({ length: Number(end) }, () => types).flat());
assert.deepEqual(
  items.filter((_, index) => index % types.length === 0).map((item) => item.content[0].text),
  Array.from({ length: Number(end) }, (_, number) => `The weather, turn ${number}?`),
);
const { works } = javascriptClient(import.meta.url, '@openai/agents');
works('Chat Completions', 'runs with tools, streamed too');
if (conversationId) works('Conversations', 'sessions across a restart');
console.log(await session.getSessionId());
