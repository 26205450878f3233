// The AI SDK with its provider for OpenAI: Responses, which is the default, and Chat Completions.
// Usage: check.mjs BASE_URL KEY API, with `responses` or `completions`. `check.py` runs it.

import assert from 'node:assert/strict';

import { createOpenAI } from '@ai-sdk/openai';
import { generateText, Output, stepCountIs, streamText, tool } from 'ai';
import { z } from 'zod';

import { javascriptClient } from '../report.mjs';

const [baseURL, apiKey, api] = process.argv.slice(2);
const openai = createOpenAI({ baseURL, apiKey });
const model = api === 'responses' ? openai('demo') : openai.chat('demo');
const column = { responses: 'Responses', completions: 'Chat Completions' }[api];
const { works } = javascriptClient(import.meta.url, '@ai-sdk/openai');
const question = { role: 'user', content: 'Where is my parcel?' };
const count = { role: 'user', content: 'How many messages?' };
const answer = 'echo: Where is my parcel?';

/** The second turn sends the first answer; over Responses as a reference to its item. */
async function turns() {
  const first = await generateText({ model, messages: [question] });
  assert.equal(first.text, answer);
  assert.equal(first.finishReason, 'stop');
  assert.ok(first.usage.totalTokens > 0);
  const second = await generateText({ model, messages: [question, ...first.response.messages, count] });
  assert.equal(second.text, '3 messages');
  works(column, 'turns', 'usage', ...(api === 'responses' ? ['references to items'] : []));
}

async function streamed() {
  const errors = [];
  const result = streamText({ model, messages: [question], onError: ({ error }) => errors.push(error) });
  let text = '';
  for await (const part of result.textStream) text += part;
  assert.deepEqual(errors, []);
  assert.equal(text, answer);
  works(column, 'streamed');
}

async function tools() {
  const weather = tool({
    description: 'Tells the weather.',
    inputSchema: z.object({ city: z.string() }),
    execute: async ({ city }) => `${city} is cold.`,
  });
  const options = { model, prompt: 'How is the weather in Oslo?', tools: { weather }, stopWhen: stepCountIs(3) };
  const whole = await generateText(options);
  assert.equal(whole.steps.length, 2);
  assert.match(whole.text, /^the tool says: .*Oslo is cold/);
  const result = streamText(options);
  assert.match(await result.text, /^the tool says: .*Oslo is cold/);
  works(column, 'tools');
}

async function structured() {
  const schema = z.object({ city: z.string(), degrees: z.number() });
  const result = await generateText({ model, prompt: 'How is Oslo?', output: Output.object({ schema }) });
  assert.deepEqual(result.output, { city: 'Oslo', degrees: -3 });
  works(column, 'output by a schema');
}

/** The SDK sends earlier messages of the user again, next to the conversation. */
async function conversation() {
  const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
  const made = await fetch(`${baseURL}/conversations`, { method: 'POST', headers, body: '{}' });
  const { id } = await made.json();
  const providerOptions = { openai: { conversation: id } };
  const first = await generateText({ model, messages: [question], providerOptions });
  const messages = [question, ...first.response.messages, count];
  assert.equal((await generateText({ model, messages, providerOptions })).text, '3 messages');
  const { data } = await (await fetch(`${baseURL}/conversations/${id}/items?order=asc`, { headers })).json();
  assert.deepEqual(data.map((item) => item.content[0].text), [question.content, answer, count.content, '3 messages']);
  works(column, '`conversation`');
}

for (const check of [turns, streamed, tools, structured, ...(api === 'responses' ? [conversation] : [])]) await check();
