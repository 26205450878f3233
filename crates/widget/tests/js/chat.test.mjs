// Which answers of the gateway change the state of a conversation, in the order in which they arrive.

import assert from 'node:assert/strict';
import test from 'node:test';
import { Problem } from '../../assets/api.js';
import { createChat } from '../../assets/chat.js';
import { gatewayOf, settle, streamOf, until } from './gateway.mjs';

const event = 'id: 2\ndata: {"version": 2}\n\n';
const page = (version, messages) => ({ version, messages, title: '', status: 'active' });

test('messages that were read before a message was sent do not replace it', async () => {
  const reads = [];
  const api = {
    json: () => new Promise((done) => reads.push(done)),
    request: (method) => (method === 'GET' ? Promise.resolve(new Response(event)) : new Promise(() => {})),
  };
  const store = { set() {} };
  const chat = createChat({ api, store, contextOf: () => ({}), onChange() {}, onAnswer() {} });
  const opened = chat.open('c');
  reads.shift()(page(1, []));
  await opened;
  // An event of another tab is read while the visitor sends a message.
  chat.watch(true);
  await until(() => reads.length === 1);
  chat.send([{ type: 'text', text: 'hello' }]);
  reads.shift()(page(2, []));
  await new Promise(setImmediate);
  assert.equal(chat.state.pending.parts[0].text, 'hello');
  assert.equal(chat.state.phase, 'sending');
  chat.end();
});

const user = (text) => [{ type: 'text', text }];
const recorded = (id, role, text) => ({ id, role, parts: user(text) });

/** A chat, its gateway, and what it has stored and told. */
function chatOf() {
  const gateway = gatewayOf();
  const stored = new Map();
  const sent = [];
  const store = { set: (name, value) => stored.set(name, value), remove: (name) => stored.delete(name) };
  const chat = createChat({ api: gateway.api, store, contextOf: () => ({}), onChange() {}, onAnswer() {}, onSent: (chatId, { id }) => sent.push([chatId, id]) });
  const open = async (id, messages = []) => {
    const opened = chat.open(id);
    (await gateway.next(`GET /api/chats/${id}?limit=50`)).answer(page(1, messages));
    await opened;
  };
  return { ...gateway, chat, stored, sent, open };
}

/** An open conversation in which another tab has changed something; returns the read that follows. */
async function changed({ chat, next, open }, id) {
  await open(id);
  chat.watch(true);
  (await next(`GET /api/chats/${id}/events?after=1`)).answer(streamOf(event));
  return next(`GET /api/chats/${id}?limit=50`);
}

test('a message that is accepted after its conversation was left changes nothing of the next one', async () => {
  const { chat, next, stored, sent, open } = chatOf();
  const isSent = chat.send(user('hello'), { draft: { id: 'm', chat: 'first' } });
  const request = await next('POST /api/chat');
  await open('second');
  request.answer(streamOf());
  assert.equal(await isSent, true);
  assert.deepEqual([chat.state.id, chat.state.phase, stored.get('chat')], ['second', 'idle', 'second']);
  assert.deepEqual(sent, [['first', 'm']]);
});

test('another answer that is accepted after its conversation was left changes nothing of the next one', async () => {
  const { chat, next, open } = chatOf();
  const messages = [recorded('q', 'user', 'question'), recorded('a', 'assistant', 'answer')];
  await open('first', messages);
  const isSent = chat.regenerate('a');
  const request = await next('POST /api/chat');
  await open('second', [recorded('b', 'user', 'other')]);
  request.answer(streamOf());
  await isSent;
  assert.deepEqual(chat.state.messages.map(({ id }) => id), ['b']);
});

test('a conversation that was left while it was read is neither shown nor stored', async () => {
  const { chat, next, stored } = chatOf();
  const opened = chat.open('first');
  const read = await next('GET /api/chats/first?limit=50');
  chat.open('second');
  read.answer(page(1, []));
  await opened;
  assert.deepEqual([chat.state.id, chat.state.phase, stored.get('chat')], ['second', 'loading', undefined]);
});

test('nothing is read after the conversation was left in an answer of another tab', async () => {
  const world = chatOf();
  const { chat, next } = world;
  (await changed(world, 'c')).answer({ ...page(2, []), activeRunId: 'r' });
  await next('GET /api/chats/c/stream?run=r');
  chat.fresh();
  await settle();
  assert.deepEqual(world.requests(), []);
  assert.deepEqual([chat.state.phase, chat.state.problem], ['idle', undefined]);
});

test('nothing is read after the conversation was left in an answer of this tab', async () => {
  const { chat, next, requests } = chatOf();
  chat.send(user('hello'), { draft: { id: 'm', chat: 'c' } });
  const stream = streamOf();
  (await next('POST /api/chat')).answer(stream);
  await until(() => chat.state.phase === 'answering');
  chat.fresh();
  stream.end();
  await settle();
  assert.deepEqual(requests(), []);
});

test('a read that fails after its conversation was left is no problem of the next one', async () => {
  const world = chatOf();
  const read = await changed(world, 'c');
  world.chat.fresh();
  read.fail(new Problem('CONVERSATION_NOT_FOUND', { status: 404 }));
  await settle();
  assert.equal(world.chat.state.problem, undefined);
});

test('what fails or arrives after its conversation was left changes nothing of the next one', async () => {
  const { chat, next, open } = chatOf();
  const leave = async (message) => {
    const opened = chat.open('second');
    (await next('GET /api/chats/second?limit=50')).answer({ ...page(1, [message]), nextBefore: 7 });
    await opened;
  };
  for (const end of [(read) => read.answer(page(1, [recorded('old', 'user', 'old')])), (read) => read.fail(new Problem('INTERNAL'))]) {
    await open('first');
    chat.state.nextBefore = 7;
    chat.loadEarlier();
    const read = await next('GET /api/chats/first?limit=50&before=7');
    await leave(recorded('b', 'user', 'other'));
    end(read);
    await settle();
    assert.deepEqual([chat.state.messages.map(({ id }) => id), chat.state.problem], [['b'], undefined]);
  }
});

test('a stop that fails after its conversation was left changes nothing of the next one', async () => {
  const { chat, next, open } = chatOf();
  const answering = async (id) => {
    await open(id);
    chat.send(user('hello'));
    (await next('POST /api/chat')).answer(streamOf());
    await until(() => chat.state.phase === 'answering');
    chat.stop();
    return next(`POST /api/chats/${id}/stop`);
  };
  const stop = await answering('first');
  await answering('second');
  stop.fail(new Problem('INTERNAL'));
  await settle();
  assert.deepEqual([chat.state.phase, chat.state.problem], ['stopping', undefined]);
});

test('changes of a conversation are read while one of the conversation before is not answered', async () => {
  const world = chatOf();
  await changed(world, 'first');
  (await changed(world, 'second')).answer(page(2, [recorded('b', 'user', 'other')]));
  await until(() => world.chat.state.version === 2);
  assert.deepEqual(world.chat.state.messages.map(({ id }) => id), ['b']);
});

test('an answer of another tab that cannot be followed leaves the conversation ready', async () => {
  const world = chatOf();
  const { chat, next } = world;
  (await changed(world, 'c')).answer({ ...page(2, []), activeRunId: 'r' });
  (await next('GET /api/chats/c/stream?run=r')).fail(new Problem('FORBIDDEN', { status: 403 }));
  await until(() => chat.state.problem);
  assert.deepEqual([chat.state.phase, chat.state.live, chat.state.problem.code], ['idle', undefined, 'FORBIDDEN']);
});

test('a read that fails does not end an answer that has begun meanwhile', async () => {
  const world = chatOf();
  const { chat, next } = world;
  const read = await changed(world, 'c');
  chat.send(user('hello'));
  (await next('POST /api/chat')).answer(streamOf());
  await until(() => chat.state.phase === 'answering');
  read.fail(new Problem('FORBIDDEN', { status: 403 }));
  await until(() => chat.state.problem);
  assert.equal(chat.state.phase, 'answering');
});

test('a retry has the same id, and waits while another answer is being written', async () => {
  const { chat, next, requests, open } = chatOf();
  await open('c');
  chat.send(user('hello'));
  const first = await next('POST /api/chat');
  first.fail(new Problem('RUN_ACTIVE', { status: 409 }));
  (await next('GET /api/chats/c?limit=50')).answer({ ...page(2, []), activeRunId: 'r' });
  const stream = streamOf();
  (await next('GET /api/chats/c/stream?run=r')).answer(stream);
  const retry = () => {
    const { problem } = chat.state;
    chat.dismiss();
    problem.retry();
  };
  retry();
  assert.deepEqual([chat.state.problem?.code, requests()], ['RUN_ACTIVE', []]);
  stream.end();
  (await next('GET /api/chats/c?limit=50')).answer(page(3, []));
  (await next('GET /api/chats/c?limit=50')).answer(page(3, []));
  await until(() => chat.state.phase === 'idle');
  retry();
  assert.deepEqual((await next('POST /api/chat')).body, first.body);
});
