// Runs of an agent of @openai/agents with a tool over the Responses API, in each of its ways to keep a history.
// Usage: responses.mjs BASE_URL KEY FIRST END [CONVERSATION]: the turns from FIRST to before END. Prints the session's conversation.

import assert from 'node:assert/strict';

import { Agent, OpenAIConversationsSession, OpenAIResponsesModel, run, tool } from '@openai/agents';
import OpenAI from 'openai';
import { z } from 'zod';

import { javascriptClient } from '../report.mjs';

const [baseURL, apiKey, first, end, conversation] = process.argv.slice(2);
const client = new OpenAI({ baseURL, apiKey });
const weather = tool({
  name: 'weather',
  description: 'Tells the weather.',
  parameters: z.object({ city: z.string() }),
  execute: async ({ city }) => `${city} is cold.`,
});
const agent = new Agent({ name: 'guide', tools: [weather], model: new OpenAIResponsesModel(client, 'demo') });

/** One turn, every other one streamed. */
async function turn(number, options) {
  const stream = number % 2 === 1;
  const result = await run(agent, `The weather, turn ${number}?`, { ...options, stream });
  if (stream) {
    let events = 0;
    for await (const event of result) events += Boolean(event);
    await result.completed;
    assert.ok(events > 0);
  }
  assert.equal(result.finalOutput, 'the tool says: Oslo is cold.');
  return result;
}

const session = new OpenAIConversationsSession({ client, conversationId: conversation });
for (let number = Number(first); number < Number(end); number += 1) await turn(number, { session });
const types = ['message', 'function_call', 'function_call_result', 'message'];
const items = await session.getItems();
assert.deepEqual(items.map((item) => item.type), Array.from({ length: Number(end) }, () => types).flat());

const { id: conversationId } = await client.conversations.create();
let previousResponseId;
for (let number = Number(first); number < Number(end); number += 1) {
  await turn(number, { conversationId });
  previousResponseId = (await turn(number, { previousResponseId })).lastResponseId;
}
const { works } = javascriptClient(import.meta.url, '@openai/agents');
works('Responses', '`conversationId`', '`previousResponseId`');
if (conversation) works('Responses', 'runs with tools and a session, across a restart');
console.log(await session.getSessionId());
