// The AI SDK: the transport of its chats, and the messages of back ends that run their own model.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';

import { HansardChatTransport, loadChat, saveChat } from '@hansard/client/ai';
import { AbstractChat, convertToModelMessages, simulateReadableStream, streamText, toUIMessageStream, validateUIMessages } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';

import { apiKey, hansardOf, proxyOf, until, url, words } from './fixture.mjs';

/** A chat as frameworks keep it. */
class State {
  status = 'ready';
  error = undefined;
  messages = [];
  pushMessage = (message) => {
    this.messages = [...this.messages, message];
  };
  popMessage = () => {
    this.messages = this.messages.slice(0, -1);
  };
  replaceMessage = (index, message) => {
    this.messages = this.messages.with(index, this.snapshot(message));
  };
  snapshot = (thing) => structuredClone(thing);
}

class Chat extends AbstractChat {}

function chatOf(transport, id = randomUUID()) {
  return new Chat({ id, state: new State(), transport, generateId: randomUUID });
}

const textOf = ({ parts }) => parts.filter(({ type }) => type === 'text').map(({ text }) => text).join('');
const texts = ({ messages }) => messages.map(textOf);

/** Checks that the chat equals the record. */
async function agrees(chat, transport) {
  assert.equal(chat.status, 'ready', `${chat.error}`);
  const recorded = await transport.chats.chat(chat.id).get();
  assert.deepEqual(texts(recorded), texts(chat));
  assert.equal(recorded.messages.at(-1).id, chat.messages.at(-1).id);
  assert.deepEqual(recorded.messages.at(-1).parts.map(({ type }) => type), chat.messages.at(-1).parts.map(({ type }) => type));
}

test('turns, regenerated answers and edited messages', async () => {
  const transport = new HansardChatTransport({ url, apiKey });
  const chat = chatOf(transport);
  assert.equal(await transport.reconnectToStream({ chatId: chat.id }), null);
  for (const text of ['one', 'two', 'three']) await chat.sendMessage({ text });
  assert.deepEqual(texts(chat), ['one', 'echo: one', 'two', 'echo: two', 'three', 'echo: three']);
  await agrees(chat, transport);
  assert.equal(await transport.reconnectToStream({ chatId: chat.id }), null);
  await chat.regenerate({ messageId: chat.messages[3].id });
  assert.deepEqual(texts(chat), ['one', 'echo: one', 'two', 'echo: two']);
  await agrees(chat, transport);
  await chat.sendMessage({ text: 'zwei', messageId: chat.messages[2].id });
  assert.deepEqual(texts(chat), ['one', 'echo: one', 'zwei', 'echo: zwei']);
  await agrees(chat, transport);
});

test('an answer continues over lost connections without the page', async (t) => {
  let cuts = 0;
  const proxy = await proxyOf(({ url: path }) => (/\/api\/chat(s|$)/.test(path) && !path.endsWith('/stop') && cuts++ < 4 ? { cut: 700 } : undefined));
  t.after(proxy.close);
  const transport = new HansardChatTransport({ url: proxy.url, apiKey });
  const chat = chatOf(transport);
  await chat.sendMessage({ text: words(400) });
  assert.equal(textOf(chat.messages.at(-1)), `echo: ${words(400)}`);
  await agrees(chat, transport);
  assert.ok(proxy.requests.filter(({ path }) => path.includes('/stream')).length >= 2);
});

test('a message that is sent again after a lost request is recorded once', async (t) => {
  const proxy = await proxyOf(({ url: path }, number) => (path === '/api/chat' && number < 3 ? { lose: true } : undefined));
  t.after(proxy.close);
  const transport = new HansardChatTransport({ url: proxy.url, apiKey, retries: 0 });
  const chat = chatOf(transport);
  await chat.sendMessage({ text: 'hello' });
  assert.equal(chat.status, 'error');
  // The page sends its last message again.
  while (chat.status === 'error') await chat.sendMessage();
  assert.deepEqual(texts(chat), ['hello', 'echo: hello']);
  await agrees(chat, transport);
});

test('a reader that leaves stops nothing; a page that comes back resumes; a stop is a command', async () => {
  const transport = new HansardChatTransport({ url, apiKey });
  const chat = chatOf(transport);
  const heard = (one, count) => until(() => one.messages.length === count && textOf(one.messages.at(-1)).includes('w3 '), 'a part of the answer');
  const asked = chat.sendMessage({ text: words(400) });
  await heard(chat, 2);
  await chat.stop();
  await asked;
  const page = chatOf(transport, chat.id);
  page.messages = (await transport.chats.chat(chat.id).get()).messages;
  await page.resumeStream();
  assert.equal(textOf(page.messages.at(-1)), `echo: ${words(400)}`);
  await agrees(page, transport);
  const long = page.sendMessage({ text: words(2_000) });
  await heard(page, 4);
  assert.equal(await transport.chats.chat(chat.id).stop(), true);
  await long;
  await agrees(page, transport);
});

test('the result of a tool of the page continues its message', async (t) => {
  let posts = 0;
  const proxy = await proxyOf(({ method, url: path }) => (method === 'POST' && path === '/api/chat' && posts++ === 3 ? { lose: true } : undefined));
  t.after(proxy.close);
  const transport = new HansardChatTransport({ url: proxy.url, apiKey });
  const chat = chatOf(transport);
  const answerCall = async () => {
    await chat.sendMessage({ text: 'How is the weather?' });
    const call = chat.messages.at(-1).parts.find(({ type }) => type === 'tool-weather');
    assert.deepEqual([call.state, call.input], ['input-available', { city: 'Oslo' }]);
    await chat.addToolOutput({ tool: 'weather', toolCallId: call.toolCallId, output: 'cold' });
    await chat.sendMessage();
  };
  await answerCall();
  assert.deepEqual(texts(chat), ['How is the weather?', 'the tool says: cold']);
  await agrees(chat, transport);
  // The answer is lost before its first part, and the call is not open any more: the page loads the messages, and resumes.
  await answerCall();
  assert.equal(chat.status, 'error');
  assert.ok(['RUN_ACTIVE', 'NOTHING_TO_ANSWER'].includes(chat.error.code), chat.error.code);
  // The id of a user's message is its key; other requests have a key of their own.
  const keys = proxy.requests.filter(({ path }) => path === '/api/chat').map(({ headers }) => headers['idempotency-key'] !== undefined);
  assert.deepEqual(keys.slice(0, 4), [false, true, false, true]);
  chat.messages = (await transport.chats.chat(chat.id).get()).messages;
  await chat.resumeStream();
  assert.deepEqual(texts(chat).slice(2), ['How is the weather?', 'the tool says: cold']);
});

const user = (id, ...parts) => ({ id, role: 'user', parts });
const text = (value) => ({ type: 'text', text: value });
const TOOL = { type: 'tool-weather', toolCallId: 'c1', state: 'output-available', input: { city: 'Oslo' }, output: 'cold' };
const MESSAGES = [
  user('u1', text('hello'), { type: 'file', mediaType: 'image/png', url: 'data:image/png;base64,AAAA', filename: 'a.png' }),
  {
    id: 'a1',
    role: 'assistant',
    metadata: { model: 'm', cost: 0.5 },
    parts: [
      { type: 'step-start' },
      { type: 'reasoning', text: 'hm', state: 'done' },
      text('Let me look.'),
      TOOL,
      { ...TOOL, type: 'dynamic-tool', toolName: 'look', toolCallId: 'c2', state: 'output-error', output: undefined, errorText: 'no' },
      { type: 'step-start' },
      { ...text('Cold.'), state: 'done' },
      { type: 'data-weather', id: 'd', data: { degrees: -3 } },
      { type: 'source-url', sourceId: 's', url: 'https://example.org' },
    ],
  },
  user('u2', text(''), text('half \ud800'), text('x'.repeat(300_000))),
  { id: 's1', role: 'system', parts: [text('Be brief.')] },
  { id: 'a2', role: 'assistant', parts: [{ ...TOOL, toolCallId: 'c3', state: 'input-available', output: undefined }] },
];
/** Without members that are undefined. */
const plain = (messages) => JSON.parse(JSON.stringify(messages));

test('saved messages come back equal, and only differences are recorded', async () => {
  const chat = { hansard: hansardOf(), chatId: randomUUID() };
  const save = (messages) => saveChat({ ...chat, messages });
  const version = async () => (await chat.hansard.conversation(chat.chatId).get()).version;
  assert.deepEqual(await loadChat(chat), []);
  for (let length = 1; length <= MESSAGES.length; length += 1) await save(MESSAGES.slice(0, length));
  assert.deepEqual(await loadChat(chat), plain(MESSAGES));
  const before = await version();
  await save(MESSAGES);
  assert.equal(await version(), before);
  // A result arrives, and the message changes.
  const changed = [...MESSAGES.slice(0, 4), { ...MESSAGES[4], parts: [{ ...TOOL, toolCallId: 'c3' }, text('Cold again.')] }];
  await save(changed);
  assert.deepEqual(await loadChat(chat), plain(changed));
  await save(changed.slice(0, 1));
  assert.deepEqual(await loadChat(chat), plain(changed.slice(0, 1)));
  await save([]);
  assert.deepEqual(await loadChat(chat), []);
});

test('saves of two processes lose no message of the later one', async () => {
  const chat = { hansard: hansardOf(), chatId: randomUUID() };
  const lists = Array.from({ length: 6 }, (_, count) => Array.from({ length: count + 1 }, (__, index) => user(`u${index}`, text(`${index}`))));
  await Promise.all(lists.map((messages) => saveChat({ ...chat, messages })));
  await saveChat({ ...chat, messages: lists.at(-1) });
  assert.deepEqual(await loadChat(chat), lists.at(-1));
  const many = Array.from({ length: 1_100 }, (_, index) => user(`u${index}`, text(`${index}`)));
  await saveChat({ ...chat, messages: many });
  assert.deepEqual(await loadChat(chat), many);
});

test('a back end answers with its own model, and its chat continues', async () => {
  const chat = { hansard: hansardOf(), chatId: randomUUID() };
  for (let turn = 0; turn < 3; turn += 1) {
    const messages = await validateUIMessages({ messages: [...(await loadChat(chat)), user(`u${turn}`, text(`question ${turn}`))] });
    const usage = { inputTokens: { total: 1, noCache: 1 }, outputTokens: { total: 1, text: 1 } };
    const chunks = [
      { type: 'stream-start', warnings: [] },
      { type: 'text-start', id: 't' },
      { type: 'text-delta', id: 't', delta: `answer ${messages.length}` },
      { type: 'text-end', id: 't' },
      { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage },
    ];
    const model = new MockLanguageModelV4({ doStream: async () => ({ stream: simulateReadableStream({ chunks }) }) });
    const result = streamText({ model, messages: await convertToModelMessages(messages) });
    let saved;
    const onEnd = ({ messages: all }) => (saved = saveChat({ ...chat, messages: all, conversation: { userId: 'ada' } }));
    const stream = toUIMessageStream({ stream: result.stream, originalMessages: messages, generateMessageId: randomUUID, onEnd });
    for await (const chunk of stream) assert.notEqual(chunk.type, 'error', JSON.stringify(chunk));
    await saved;
  }
  assert.deepEqual(texts({ messages: await loadChat(chat) }), ['question 0', 'answer 1', 'question 1', 'answer 3', 'question 2', 'answer 5']);
  const { body } = await chat.hansard.conversation(chat.chatId).context({ format: 'openai-chat' });
  assert.equal(body.messages.length, 6);
});

test('contexts have the texts, calls and results of saved messages', async () => {
  const chat = { hansard: hansardOf(), chatId: randomUUID() };
  await saveChat({ ...chat, messages: [user('u1', text('weather?')), { ...MESSAGES[1], parts: [text('Let me look.'), TOOL, text('Cold.')] }] });
  const { body } = await chat.hansard.conversation(chat.chatId).context({ format: 'openai-chat' });
  assert.deepEqual(body.messages.map(({ role, content }) => [role, content]), [
    ['user', 'weather?'],
    ['assistant', 'Let me look.'],
    ['tool', 'cold'],
    ['assistant', 'Cold.'],
  ]);
});
