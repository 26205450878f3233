// The Responses API with OpenAI's JavaScript library. Usage: responses.mjs BASE_URL KEY; `javascript.py` runs it.

import assert from 'node:assert/strict';

import OpenAI from 'openai';
import { zodTextFormat } from 'openai/helpers/zod';
import { z } from 'zod';

import { javascriptClient } from '../report.mjs';

const [baseURL, apiKey] = process.argv.slice(2);
const client = new OpenAI({ baseURL, apiKey });
const { works } = javascriptClient(import.meta.url, 'openai');
const create = (body) => client.responses.create({ model: 'demo', ...body });
const question = 'Where is my parcel?';
const answer = `echo: ${question}`;
const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false };
const tools = [{ type: 'function', name: 'weather', description: 'Tells the weather.', parameters, strict: true }];

async function all(list) {
  const found = [];
  for await (const entry of list) found.push(entry);
  return found;
}

/** What the library adds to a response. */
function withoutText({ output_text, ...response }) {
  assert.equal(typeof output_text, 'string');
  return response;
}

async function whole() {
  const response = await create({ input: question });
  assert.equal(response.output_text, answer);
  assert.equal(response.status, 'completed');
  assert.deepEqual(withoutText(await client.responses.retrieve(response.id)), withoutText(response));
  const [item] = await all(client.responses.inputItems.list(response.id));
  assert.equal(item.content[0].text, question);
  await client.responses.delete(response.id);
  await assert.rejects(client.responses.retrieve(response.id), { status: 404 });
  works('Responses', 'create, retrieve and delete', 'input items');
}

async function streamed() {
  const events = await all(await create({ input: question, stream: true }));
  assert.deepEqual(events.map((event) => event.sequence_number), events.map((_, number) => number));
  assert.equal(events[0].type, 'response.created');
  assert.equal(events.at(-1).type, 'response.completed');
  const text = events.filter(({ type }) => type === 'response.output_text.delta').map(({ delta }) => delta);
  assert.equal(text.join(''), answer);
  const { id } = events[0].response;
  const rest = await all(await client.responses.retrieve(id, { stream: true, starting_after: 3 }));
  assert.equal(rest[0].sequence_number, 4);
  assert.equal(rest.at(-1).type, 'response.completed');
  const helped = client.responses.stream({ model: 'demo', input: question });
  assert.equal((await helped.finalResponse()).output_text, answer);
  const again = client.responses.stream({ response_id: id, starting_after: 3 });
  assert.equal((await again.finalResponse()).output_text, answer);
  works('Responses', 'streamed', 'resumed streams');
}

async function histories() {
  const first = await create({ input: question });
  const second = await create({ input: 'How many messages?', previous_response_id: first.id });
  assert.equal(second.output_text, '3 messages');
  const { id: conversation } = await client.conversations.create();
  await create({ input: question, conversation });
  assert.equal((await create({ input: 'How many messages?', conversation })).output_text, '3 messages');
  assert.equal((await all(client.conversations.items.list(conversation))).length, 4);
  works('Responses', '`previous_response_id`', '`conversation`');
}

async function calls() {
  const asked = await create({ input: 'How is the weather in Oslo?', tools });
  const [call] = asked.output;
  assert.deepEqual([call.type, call.name, JSON.parse(call.arguments)], ['function_call', 'weather', { city: 'Oslo' }]);
  const input = [{ type: 'function_call_output', call_id: call.call_id, output: 'It is cold.' }];
  const told = await create({ input, previous_response_id: asked.id, tools });
  assert.equal(told.output_text, 'the tool says: It is cold.');
  const format = zodTextFormat(z.object({ city: z.string(), degrees: z.number().int() }), 'weather');
  const parsed = await client.responses.parse({ model: 'demo', input: 'How is Oslo?', text: { format } });
  assert.deepEqual(parsed.output_parsed, { city: 'Oslo', degrees: -3 });
  works('Responses', 'tools', 'output by a schema');
}

async function background() {
  let response = await create({ input: question, background: true });
  while (['queued', 'in_progress'].includes(response.status)) response = await client.responses.retrieve(response.id);
  assert.equal(response.output_text, answer);
  // The model waits before this word.
  const held = await create({ input: 'hold', background: true });
  assert.equal((await client.responses.cancel(held.id)).status, 'cancelled');
  works('Responses', 'background responses', 'cancel');
}

for (const check of [whole, streamed, histories, calls, background]) await check();
