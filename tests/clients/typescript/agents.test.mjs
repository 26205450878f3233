// The session of @openai/agents: items verbatim and in order, pops, transactions, and runs of an agent with a tool.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Agent, MemorySession, run, tool } from '@openai/agents';
import { assistantMessage, functionCall, ScriptedModel } from '@openai/agents/testing';
import { HansardSession } from '@hansard/client/agents';
import { z } from 'zod';

import { hansardOf, proxyOf } from './fixture.mjs';

process.env.OPENAI_AGENTS_DISABLE_TRACING = '1';

const user = (content) => ({ role: 'user', content });
const result = (callId, output) => ({ type: 'function_call_result', callId, name: 'f', output, status: 'completed' });
const call = (callId, text) => ({ type: 'function_call', callId, name: 'f', arguments: text, status: 'completed' });
const assistant = (...content) => ({ type: 'message', role: 'assistant', status: 'completed', content });

const ITEMS = [
  user('hello'),
  {
    type: 'message',
    role: 'user',
    content: [
      { type: 'input_text', text: 'x', providerData: { a: 1 } },
      { type: 'input_image', image: 'data:image/png;base64,AAAA', detail: 'high' },
      { type: 'input_image', image: { id: 'file_1' } },
      { type: 'input_text', text: '' },
    ],
  },
  { type: 'reasoning', id: 'rs_1', content: [{ type: 'input_text', text: 'thought' }] },
  // Arguments keep their spelling.
  { ...call('c1', '{ "a": 1.0 }'), id: 'fc_1', providerData: { x: [null, true] } },
  call('c2', '{"a":1}'),
  call('c2', 'not json'),
  result('c1', { type: 'text', text: 'ok' }),
  result('c1', 'a second result'),
  result('c9', [{ type: 'input_text', text: 'without a call' }]),
  result('c8', { type: 'image', image: { data: new Uint8Array([1, 2, 255]), mediaType: 'image/png' } }),
  assistant({ type: 'output_text', text: 'a\u0000b' }, { type: 'refusal', refusal: 'no' }),
  assistant(),
  assistant({ type: 'output_text', text: '' }),
  user('half \ud800 of a character'),
  { ...user('y'), providerData: { nul: '\u0000' } },
  user('z'.repeat(200_000)),
  { ...user('big'), providerData: { big: 'b'.repeat(70_000) } },
  call('c3', JSON.stringify({ file: 'c'.repeat(100_000) })),
  { type: 'message', role: 'system', content: 'Zeile 😀' },
  { type: 'hosted_tool_call', name: 'web', arguments: 'x', status: 'completed', output: 'y' },
  { type: 'unknown', providerData: { n: 1e300, deep: { list: [[]] } } },
];

test('items come back equal and in order, and are popped from the end', async () => {
  const session = new HansardSession({ hansard: hansardOf() });
  assert.deepEqual([await session.getItems(), await session.popItem()], [[], undefined]);
  await session.clearSession();
  await session.addItems(ITEMS);
  assert.deepEqual(await session.getItems(), ITEMS);
  for (const limit of [0, 1, 3, ITEMS.length, 100]) assert.deepEqual(await session.getItems(limit), limit ? ITEMS.slice(-limit) : []);
  const other = new HansardSession({ hansard: hansardOf(), id: await session.getSessionId() });
  assert.deepEqual(await other.getItems(), ITEMS);
  for (const [index, item] of [...ITEMS.entries()].reverse()) {
    assert.deepEqual(await other.popItem(), item);
    assert.equal((await session.getItems()).length, index);
  }
  await session.addItems([user('again')]);
  assert.deepEqual(await other.getItems(), [user('again')]);
  await other.clearSession();
  assert.deepEqual(await session.getItems(), []);
});

test('contexts have the texts, calls and results of items', async () => {
  const session = new HansardSession({ hansard: hansardOf() });
  const items = [user('weather?'), call('c1', '{"city":"Oslo"}'), result('c1', { type: 'text', text: 'cold' }), assistant({ type: 'output_text', text: 'Cold.' })];
  await session.addItems(items);
  const { body } = await session.conversation.context({ format: 'openai-chat' });
  assert.deepEqual(body.messages.map(({ role, content, tool_calls: calls }) => [role, content ?? calls[0].function.arguments]), [
    ['user', 'weather?'],
    ['assistant', '{"city":"Oslo"}'],
    ['tool', 'cold'],
    ['assistant', 'Cold.'],
  ]);
  // What another client records are items too.
  await session.conversation.append({ messages: [{ role: 'user', content: 'thanks' }, { role: 'assistant', content: 'You are welcome.' }] });
  const last = await session.getItems(2);
  assert.deepEqual(last, [{ type: 'message', ...user('thanks') }, assistant({ type: 'output_text', text: 'You are welcome.' })]);
});

test('more items than a commit or a page has', async () => {
  const session = new HansardSession({ hansard: hansardOf() });
  const items = Array.from({ length: 1_201 }, (_, number) => user(`${number}`));
  await session.addItems(items);
  assert.deepEqual(await session.getItems(), items);
  assert.deepEqual(await session.getItems(700), items.slice(-700));
  await session.applyHistoryTransaction({ operationId: 'a', transaction: { type: 'append_items', items: items.slice(0, 500) } });
  const many = { type: 'append_items', items: items.slice(0, 501) };
  await assert.rejects(session.applyHistoryTransaction({ operationId: 'b', transaction: many }), { code: 'TOO_MANY_EVENTS' });
  assert.equal((await session.getItems()).length, 1_701);
});

test('items of more bytes than a commit or an event has', async () => {
  const session = new HansardSession({ hansard: hansardOf() });
  const items = Array.from({ length: 30 }, (_, number) => user(`${number} ${'x'.repeat(300_000)}`));
  await session.addItems(items);
  assert.deepEqual(await session.getItems(), items);
  await assert.rejects(session.addItems([user('x'.repeat(512 * 1024 + 1))]), { code: 'EVENT_TOO_LARGE', field: 'events[0]' });
  assert.equal((await session.getItems()).length, 30);
});

test('many results without a call are recorded whole', async () => {
  const session = new HansardSession({ hansard: hansardOf() });
  const items = Array.from({ length: 30 }, (_, number) => [user(`${number}`), result(`c${number}`, 'x')]).flat();
  await session.addItems(items);
  assert.deepEqual(await session.getItems(), items);
});

/** Both must do the same with each transaction. */
async function transactionsOf(session) {
  const outcomes = [];
  const apply = async (operationId, transaction) => {
    const outcome = await Promise.resolve(session.applyHistoryTransaction({ operationId, transaction })).then(() => 'ok', () => 'failed');
    outcomes.push(outcome, (await session.getItems()).length);
  };
  const append = (...items) => ({ type: 'append_items', items });
  const replace = (expectedSuffix, ...replacement) => ({ type: 'replace_suffix', expectedSuffix, replacement });
  await apply('first', append(user('a'), call('c', '{}'), result('c', 'x')));
  await apply('first', append(user('a'), call('c', '{}'), result('c', 'x')));
  await apply('first', append(user('b')));
  await apply('late', append(result('none', 'x')));
  await apply('late', append(result('none', 'x')));
  await apply('wrong', replace([user('z')], user('y')));
  await apply('too many', replace(Array.from({ length: 9 }, () => user('a')), user('y')));
  await apply('replaced', replace([call('c', '{}'), result('c', 'x'), result('none', 'x')], call('d', '{}'), user('y')));
  await apply('replaced', replace([call('c', '{}'), result('c', 'x'), result('none', 'x')], call('d', '{}'), user('y')));
  await apply('wrong', replace([user('y')], user('w')));
  await apply('removed', replace([user('w')]));
  await apply('removed', replace([user('w')]));
  await apply('removed', replace([user('w')], user('v')));
  await apply('none expected', replace([], user('u')));
  await apply('none expected', replace([], user('u')));
  await apply(' ', append(user('a')));
  return [outcomes, await session.getItems()];
}

test('transactions are atomic and idempotent, as those of the memory session', async () => {
  const expected = await transactionsOf(new MemorySession());
  assert.ok(expected[0].includes('failed'));
  assert.deepEqual(await transactionsOf(new HansardSession({ hansard: hansardOf() })), expected);
});

test('a repeated operation of another process changes nothing', async (t) => {
  const proxy = await proxyOf(({ method, url: path }) => (method === 'POST' && path.endsWith('/events') ? { lose: true } : undefined));
  t.after(proxy.close);
  const session = new HansardSession({ hansard: hansardOf() });
  await session.addItems([user('a')]);
  const id = await session.getSessionId();
  const lossy = new HansardSession({ hansard: hansardOf({ url: proxy.url, retries: 0 }), id });
  const transactions = [
    { operationId: '1', transaction: { type: 'append_items', items: [result('none', 'x'), user('b')] } },
    { operationId: '2', transaction: { type: 'replace_suffix', expectedSuffix: [user('b')], replacement: [user('c')] } },
  ];
  for (const transaction of transactions) {
    await lossy.applyHistoryTransaction(transaction).catch(({ code }) => assert.equal(code, 'UNREACHABLE'));
    await session.applyHistoryTransaction(transaction);
  }
  assert.deepEqual(await session.getItems(), [user('a'), result('none', 'x'), user('c')]);
});

test('sessions of several writers lose and double nothing', async () => {
  const first = new HansardSession({ hansard: hansardOf() });
  await first.addItems([user('start')]);
  const second = new HansardSession({ hansard: hansardOf(), id: await first.getSessionId() });
  const writes = [first, second].flatMap((session, writer) => Array.from({ length: 20 }, (_, number) => session.addItems([user(`${writer} ${number}`)])));
  await Promise.all(writes);
  const contents = (await first.getItems()).slice(1).map(({ content }) => content);
  assert.equal(new Set(contents).size, 40);
  assert.equal(contents.length, 40);
  const popped = await Promise.all(Array.from({ length: 6 }, (_, number) => [first, second][number % 2].popItem()));
  assert.equal(new Set(popped.map(({ content }) => content)).size, 6);
  assert.equal((await second.getItems()).length, 35);
});

test('runs of an agent with a tool continue their session, also streamed', async () => {
  const weather = tool({
    name: 'weather',
    description: 'Returns the weather.',
    parameters: z.object({ city: z.string() }),
    execute: async ({ city }) => `${city} is cold.`,
  });
  const hansard = hansardOf();
  const id = (await hansard.createConversation({ userId: 'ada' })).id;
  const items = [];
  for (let turn = 0; turn < 4; turn += 1) {
    const model = new ScriptedModel([[functionCall('weather', { city: 'Oslo' }, { callId: `call_${turn}` })], [assistantMessage(`Cold ${turn}.`)]]);
    const agent = new Agent({ name: 'guide', tools: [weather], model });
    // Each turn has a session of its own, as in another process.
    const session = new HansardSession({ hansard, id });
    const stream = turn % 2 === 1;
    const answer = await run(agent, `turn ${turn}?`, { session, stream });
    if (stream) await answer.completed;
    assert.equal(answer.finalOutput, `Cold ${turn}.`);
    // The model has read all earlier items, and the new ones.
    assert.equal(model.lastCall.request.input.length, 4 * turn + 3);
    items.push(...(await session.getItems(4)));
  }
  const session = new HansardSession({ hansard, id });
  assert.deepEqual(await session.getItems(), items);
  const types = ['message', 'function_call', 'function_call_result', 'message'];
  assert.deepEqual(items.map(({ type }) => type), Array.from({ length: 4 }, () => types).flat());
});
