// The Conversations API with OpenAI's JavaScript library. Usage: conversations.mjs BASE_URL KEY; `javascript.py` runs it.

import assert from 'node:assert/strict';

import OpenAI from 'openai';

import { javascriptClient } from '../report.mjs';

const WRITERS = 8;
const [baseURL, apiKey] = process.argv.slice(2);
const client = new OpenAI({ baseURL, apiKey });
const { works, doesNot } = javascriptClient(import.meta.url, 'openai');
const { conversations } = client;
const user = (content) => ({ role: 'user', content });
const sent = [
  user('What is in the box?'),
  { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 's' }], encrypted_content: 'e' },
  { type: 'function_call', call_id: 'c', name: 'look', arguments: '{}' },
  { type: 'function_call_output', call_id: 'c', output: 'a cat' },
  { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'A cat.', annotations: [] }] },
];

async function all(id, query) {
  const items = [];
  for await (const item of conversations.items.list(id, query)) items.push(item);
  return items;
}

async function library() {
  const made = await conversations.create({ items: sent.slice(0, 1), metadata: { topic: 'boxes' } });
  assert.deepEqual(await conversations.retrieve(made.id), made);
  const changed = await conversations.update(made.id, { metadata: { a: 'b' } });
  assert.deepEqual(changed, { ...made, metadata: { a: 'b' } });
  const added = await conversations.items.create(made.id, { items: sent.slice(1) });
  const listed = await all(made.id, { order: 'asc', limit: 2 });
  assert.deepEqual(listed.map(({ type }) => type), sent.map(({ type }) => type ?? 'message'));
  assert.deepEqual(listed.slice(1), added.data);
  assert.deepEqual(await all(made.id), [...listed].reverse());
  const { id: conversation_id } = made;
  for (const item of listed) assert.deepEqual(await conversations.items.retrieve(item.id, { conversation_id }), item);
  const old = conversations.items.delete(listed[0].id, { conversation_id });
  await assert.rejects(old, { status: 400, code: 'ITEM_NOT_NEWEST', param: 'item_id' });
  assert.equal((await conversations.items.delete(listed.at(-1).id, { conversation_id })).id, made.id);
  assert.deepEqual(await all(made.id, { order: 'asc' }), listed.slice(0, -1));
  const deleted = await conversations.delete(made.id);
  assert.deepEqual(deleted, { id: made.id, object: 'conversation.deleted', deleted: true });
  await assert.rejects(conversations.retrieve(made.id), { status: 404, code: 'CONVERSATION_NOT_FOUND' });
  works('Conversations', 'create, retrieve, update and delete', 'pages of items');
  doesNot('Conversations', 'deletion of an item that is not the newest', '400 `ITEM_NOT_NEWEST`');
}

/** Each of several writers is recorded, or is told that the conversation was locked. */
async function race() {
  const { id } = await conversations.create();
  const writers = Array.from({ length: WRITERS }, (_, n) => conversations.items.create(id, { items: [user(`writer ${n}`)] }));
  const outcomes = await Promise.allSettled(writers);
  const lost = outcomes.filter(({ status }) => status === 'rejected');
  for (const { reason } of lost) assert.deepEqual([reason.code, reason.param], ['conversation_locked', 'conversation']);
  assert.equal((await all(id)).length, WRITERS - lost.length);
  works('Conversations', 'races of writers');
}

await library();
await race();
