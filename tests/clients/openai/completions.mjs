// Models and chat completions with OpenAI's JavaScript library. Usage: completions.mjs BASE_URL KEY; `javascript.py` runs it.

import assert from 'node:assert/strict';

import OpenAI from 'openai';
import { zodResponseFormat } from 'openai/helpers/zod';
import { z } from 'zod';

import { javascriptClient } from '../report.mjs';

const [baseURL, apiKey] = process.argv.slice(2);
const client = new OpenAI({ baseURL, apiKey });
const { works, doesNot } = javascriptClient(import.meta.url, 'openai');
const create = (body) => client.chat.completions.create({ model: 'demo', ...body });
const messages = [{ role: 'user', content: 'Where is my parcel?' }];
const question = [{ role: 'user', content: 'How is the weather in Oslo?' }];
const answer = 'echo: Where is my parcel?';

async function models() {
  const listed = [];
  for await (const model of client.models.list()) listed.push(model);
  assert.deepEqual(listed.map(({ id, object }) => [id, object]), [['demo', 'model']]);
  assert.deepEqual(await client.models.retrieve('demo'), listed[0]);
  works('Models', 'list', 'retrieve');
}

async function completions() {
  const whole = await create({ messages });
  assert.equal(whole.choices[0].message.content, answer);
  assert.equal(whole.object, 'chat.completion');
  let text = '';
  let usage;
  for await (const chunk of await create({ messages, stream: true, stream_options: { include_usage: true } })) {
    assert.equal(chunk.object, 'chat.completion.chunk');
    text += chunk.choices[0]?.delta.content ?? '';
    usage = chunk.usage ?? usage;
  }
  assert.equal(text, answer);
  assert.deepEqual(usage, whole.usage);
  const helped = client.chat.completions.stream({ model: 'demo', messages });
  assert.equal((await helped.finalMessage()).content, answer);
  works('Chat Completions', 'whole', 'streamed', 'usage');
  const Weather = z.object({ city: z.string(), degrees: z.number().int() });
  const response_format = zodResponseFormat(Weather, 'weather');
  const parsed = await client.chat.completions.parse({ model: 'demo', messages: question, response_format });
  assert.deepEqual(parsed.choices[0].message.parsed, { city: 'Oslo', degrees: -3 });
  works('Chat Completions', 'output by a schema');
}

/** The library runs the tool and sends its result, with whole answers and with streams. */
async function tools() {
  const asked = [];
  const weather = weatherTool(asked);
  for (const stream of [false, true]) {
    const runner = client.chat.completions.runTools({ model: 'demo', messages: question, tools: [weather], stream });
    assert.equal(await runner.finalContent(), 'the tool says: Oslo is cold.');
  }
  assert.deepEqual(asked, [{ city: 'Oslo' }, { city: 'Oslo' }]);
  works('Chat Completions', 'tools');
}

function weatherTool(asked) {
  const call = ({ city }) => {
    asked.push({ city });
    return `${city} is cold.`;
  };
  const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
  const definition = { name: 'weather', description: 'Tells the weather.', parameters, function: call, parse: JSON.parse };
  return { type: 'function', function: definition };
}

async function errors() {
  const unknown = create({ model: 'gpt-4o', messages });
  await assert.rejects(unknown, { status: 404, code: 'AGENT_NOT_FOUND', param: 'model', constructor: OpenAI.NotFoundError });
  const stranger = new OpenAI({ baseURL, apiKey: 'hsk_unknown' });
  await assert.rejects(stranger.models.list(), { status: 401, constructor: OpenAI.AuthenticationError });
  works('Chat Completions', 'errors as exceptions');
  await assert.rejects(create({ messages, n: 2 }), { status: 400, code: 'FIELD_UNSUPPORTED', param: 'n' });
  doesNot('Chat Completions', 'several answers (`n`)', '400 `FIELD_UNSUPPORTED`');
}

for (const check of [models, completions, tools, errors]) await check();
