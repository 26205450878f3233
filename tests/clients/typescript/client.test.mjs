// Requests: errors by code, bounded retries that record once, position tokens and sessions.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';

import { HansardError, isHansardError } from '@hansard/client';

import { chatsOf, hansardOf, proxyOf } from './fixture.mjs';

const message = (text) => ({ messages: [{ role: 'user', content: text }] });

async function textsOf(conversation) {
  const texts = [];
  for await (const event of conversation.events({ kinds: 'MessageAppended' })) texts.push(event.parts[0].text);
  return texts;
}

test('a back end records, reads, and gets contexts', async () => {
  const conversation = await hansardOf().createConversation({ userId: 'ada', title: 'Parcel' });
  const commit = await conversation.append(message('Where is it?'));
  assert.equal(commit.version, 2);
  await conversation.append({ events: [{ type: 'MessageAppended', role: 'assistant', parts: [{ type: 'text', text: 'In Leeds.' }] }] });
  assert.deepEqual(await textsOf(conversation), ['Where is it?', 'In Leeds.']);
  const context = await conversation.context({ format: 'openai-chat' });
  assert.deepEqual(context.body.messages.map(({ content }) => content), ['Where is it?', 'In Leeds.']);
  await conversation.update({ title: 'Found' });
  assert.equal((await conversation.get()).title, 'Found');
  await conversation.erase();
  await assert.rejects(conversation.get(), { code: 'CONVERSATION_NOT_FOUND', status: 404 });
  await conversation.erase();
});

test('a bot keeps a history under its own key', async () => {
  const hansard = hansardOf();
  const history = hansard.history(`telegram:${randomUUID()}/a b`.replace(' ', '+'), { namespace: 'bots' });
  const [question, answer] = [{ role: 'user', content: 'Where is my parcel?' }, { role: 'assistant', content: 'It arrives tomorrow.' }];
  const loaded = await history.load([question]);
  assert.deepEqual([loaded.version, loaded.messages.length, loaded.warnings], [0, 1, []]);
  const recorded = await history.record([question, answer], { loadedVersion: loaded.version });
  assert.equal(recorded.appendedCount, 2);
  assert.equal((await history.record([question, answer])).appendedCount, 0);
  const texts = ({ messages }) => messages.map(({ parts }) => parts[0].text);
  assert.deepEqual(texts(await history.get()), [question.content, answer.content]);
  assert.deepEqual(texts(await history.get({ limit: 1 })), [answer.content]);
  assert.deepEqual(texts(await hansard.history(history.key).get()), []);
  await assert.rejects(hansard.history('a?b').get(), { code: 'FIELD_MALFORMED', field: 'key' });
});

test('pages of events are read in both directions', async () => {
  const conversation = await hansardOf().createConversation({ userId: 'ada' });
  const events = Array.from({ length: 500 }, (_, n) => ({ type: 'MessageAppended', role: 'user', parts: [{ type: 'text', text: `${n}` }] }));
  for (let commit = 0; commit < 2; commit += 1) await conversation.append({ events });
  for (const order of ['asc', 'desc']) {
    const versions = [];
    for await (const { version } of conversation.events({ order })) versions.push(version);
    const expected = Array.from({ length: 1001 }, (_, index) => index + 1);
    assert.deepEqual(versions, order === 'asc' ? expected : expected.reverse());
  }
});

test('errors have code, status, field and metadata', async () => {
  const conversation = await hansardOf().createConversation({ userId: 'ada' });
  const conflict = await conversation.append({ ...message('x'), expectedVersion: 7 }).catch((error) => error);
  assert.ok(conflict instanceof HansardError && isHansardError(conflict, 'VERSION_CONFLICT'));
  assert.equal(conflict.metadata.current_version, '1');
  assert.equal(isHansardError(conflict, 'RUN_ACTIVE'), false);
  await assert.rejects(conversation.append({ events: [{ type: 'HistoryRewound', to: 0 }] }), { code: 'FIELD_MISSING', status: 400, field: 'events[0].to' });
  await assert.rejects(hansardOf({ token: 'hsk_wrong' }).conversation('x').get(), { code: 'UNAUTHENTICATED', status: 401 });
});

test('a lost answer is retried with its key, and recorded once', async (t) => {
  const proxy = await proxyOf(({ method }, number) => (method === 'POST' && number % 3 !== 2 ? { lose: number % 2 === 0, refuse: number % 2 === 1 } : undefined));
  t.after(proxy.close);
  const conversation = await hansardOf({ url: proxy.url }).createConversation({ userId: 'ada' });
  for (let number = 0; number < 5; number += 1) await conversation.append(message(`${number}`));
  assert.deepEqual(await textsOf(conversation), ['0', '1', '2', '3', '4']);
  const keys = proxy.requests.filter(({ path }) => path.endsWith('/events')).map(({ headers }) => headers['idempotency-key']);
  assert.equal(new Set(keys).size, 5);
  assert.ok(keys.length > 5);
});

test('a key of the caller identifies a request of several processes', async () => {
  const conversation = await hansardOf().createConversation({ userId: 'ada' });
  const idempotencyKey = randomUUID();
  const first = await conversation.append(message('once'), { idempotencyKey });
  const again = await hansardOf().conversation(conversation.id).append(message('once'), { idempotencyKey });
  assert.deepEqual([first.replayed, again.replayed, again.version], [false, true, first.version]);
  await assert.rejects(conversation.append(message('other'), { idempotencyKey }), { code: 'IDEMPOTENCY_KEY_REUSED' });
});

test('retries are bounded, and wait as long as the gateway says', async (t) => {
  const refusing = await proxyOf(() => ({ refuse: true }));
  t.after(refusing.close);
  await assert.rejects(hansardOf({ url: refusing.url, retries: 2 }).conversation('x').get(), { code: 'UNREACHABLE', status: 0 });
  assert.equal(refusing.requests.length, 3);

  const full = await proxyOf((_, number) => (number === 0 ? { status: 503, headers: { 'retry-after': '1' } } : undefined));
  t.after(full.close);
  const began = performance.now();
  await assert.rejects(hansardOf({ url: full.url }).conversation('missing').get(), { code: 'CONVERSATION_NOT_FOUND' });
  assert.ok(performance.now() - began >= 1_000);
  assert.equal(full.requests.length, 2);

  for (const [seconds, attempts] of [['31', 1], ['0', 3]]) {
    const later = await proxyOf(() => ({ status: 429, headers: { 'retry-after': seconds } }));
    t.after(later.close);
    const error = await hansardOf({ url: later.url, retries: 2 }).conversation('x').get().catch((caught) => caught);
    assert.equal(error.retryAfterMs, Number(seconds) * 1000);
    assert.equal(later.requests.length, attempts);
  }
});

test('an attempt has a bound, and a signal ends a request', async (t) => {
  const silent = await proxyOf(() => ({ wait: true }));
  t.after(silent.close);
  await assert.rejects(hansardOf({ url: silent.url, retries: 1, timeoutMs: 1_000 }).conversation('x').get(), { code: 'TIMEOUT' });
  assert.equal(silent.requests.length, 2);
  const aborting = new AbortController();
  const asked = hansardOf({ url: silent.url }).conversation('x').get({ signal: aborting.signal });
  setImmediate(() => aborting.abort());
  await assert.rejects(asked, { name: 'AbortError' });
  await assert.rejects(hansardOf().conversation('x').get({ signal: aborting.signal }), { name: 'AbortError' });
});

test('reads send the positions of the writes of their conversation', async (t) => {
  const proxy = await proxyOf();
  t.after(proxy.close);
  const hansard = hansardOf({ url: proxy.url });
  const [first, second] = [await hansard.createConversation({ userId: 'ada' }), await hansard.createConversation({ userId: 'ada' })];
  const { positionToken } = await first.append(message('x'));
  await first.get();
  await second.get();
  const sent = proxy.requests.slice(-2).map(({ headers }) => headers['x-position-token'] ?? '');
  assert.ok(sent[0].split(',').includes(positionToken), sent[0]);
  assert.ok(!sent[1].split(',').includes(positionToken), sent[1]);
  // At most the newest 8 tokens are sent.
  for (let number = 0; number < 9; number += 1) await first.append(message('y'));
  await first.get({ positionToken });
  const tokens = proxy.requests.at(-1).headers['x-position-token'].split(',');
  assert.deepEqual([tokens.length, tokens.at(-1)], [8, positionToken]);
});

test('position tokens of another record are forgotten', async (t) => {
  const isOther = ({ method, headers }) => method === 'GET' && headers['x-position-token'];
  const proxy = await proxyOf((request) => (isOther(request) ? { status: 400, code: 'POSITION_TOKEN_OF_OTHER_RECORD' } : undefined));
  t.after(proxy.close);
  const conversation = await hansardOf({ url: proxy.url }).createConversation({ userId: 'ada' });
  assert.equal((await conversation.get()).id, conversation.id);
  assert.equal(proxy.requests.length, 3);
});

test('a session that cannot be created is tried as often as other requests', async (t) => {
  const proxy = await proxyOf(() => ({ status: 503, headers: { 'retry-after': '0' } }));
  t.after(proxy.close);
  await assert.rejects(chatsOf({ url: proxy.url, retries: 2 }).createChat(), { code: 'OVERLOADED' });
  assert.equal(proxy.requests.length, 3);
});

test('a frontend gets one session, sends it, and is told of it', async (t) => {
  const proxy = await proxyOf();
  t.after(proxy.close);
  const sessions = [];
  const chats = chatsOf({ url: proxy.url, onSession: (session) => sessions.push(session) });
  await Promise.all(Array.from({ length: 5 }, () => chats.createChat()));
  assert.equal(proxy.requests.filter(({ path }) => path === '/api/sessions').length, 1);
  assert.equal(sessions.length, 1);
  // The listing waits for the writes of this client.
  const listed = [];
  for await (const { id } of chats.chats({ limit: 2 })) listed.push(id);
  assert.equal(new Set(listed).size, 5);
  const again = chatsOf({ session: sessions[0] });
  assert.equal((await again.chat(listed[0]).get()).id, listed[0]);
  assert.equal(await again.session(), sessions[0]);
});

test('chats are changed, forked and erased', async () => {
  const chats = chatsOf();
  const chat = await chats.createChat({ title: 'T' });
  await (await chat.send('one')).text();
  const fork = await chat.fork({ title: 'F' });
  await (await fork.send('two')).text();
  const texts = async (one) => (await one.get()).messages.map(({ parts }) => parts.find(({ type }) => type === 'text').text);
  assert.deepEqual(await texts(fork), ['one', 'echo: one', 'two', 'echo: two']);
  assert.deepEqual(await texts(chat), ['one', 'echo: one']);
  assert.equal((await chat.update({ archived: true })).status, 'archived');
  await assert.rejects(chat.send('x'), { code: 'CONVERSATION_ARCHIVED' });
  await assert.rejects(chat.erase(), { code: 'HAS_FORKS' });
  await chat.erase({ forks: 'erase' });
  await assert.rejects(fork.get(), { code: 'CONVERSATION_NOT_FOUND' });
  await chat.erase();
});
