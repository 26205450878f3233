// Real transports of the AI SDK with a real gateway: turns, an interrupted and resumed answer, a stop, an idle chat, regenerated
// answers and edited messages.
// `node talk.mjs http://host:port api-key`; run by tests/tests/http/chat/clients.rs.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';

import { javascriptClient } from '../report.mjs';

const [base, key] = process.argv.slice(2);

/** A session that the gateway issues. */
async function issued() {
  const headers = { 'x-api-key': key, 'content-type': 'application/json' };
  const answer = await fetch(`${base}/api/sessions`, { method: 'POST', headers, body: '{}' });
  return (await answer.json()).sessionId;
}

/** A page with its own session, over the SDK's transport. */
async function page(sdk) {
  const headers = { 'x-api-key': key, 'x-session-id': await issued() };
  const transport = new sdk.DefaultChatTransport({ api: `${base}/api/chat`, headers });
  const get = async path => (await fetch(base + path, { headers })).json();
  const post = async path => (await fetch(base + path, { headers, method: 'POST' })).status;
  return { id: randomUUID(), transport, get, post };
}

/** A chat as frameworks keep it. */
class State {
  status = 'ready';
  error = undefined;
  messages = [];
  pushMessage = message => {
    this.messages = [...this.messages, message];
  };
  popMessage = () => {
    this.messages = this.messages.slice(0, -1);
  };
  replaceMessage = (index, message) => {
    this.messages = this.messages.with(index, this.snapshot(message));
  };
  snapshot = thing => structuredClone(thing);
}

function chatOf(sdk, { id, transport }) {
  class Chat extends sdk.AbstractChat {}
  return new Chat({ id, state: new State(), transport, generateId: randomUUID });
}

const text = message => message.parts.filter(({ type }) => type === 'text').map(part => part.text).join('');

/** Waits until the answer contains a word. */
async function heard(chat, word) {
  const has = message => message?.role === 'assistant' && text(message).includes(word);
  while (!has(chat.messages.at(-1))) await new Promise(setImmediate);
}

/** The recorded messages after the end of the current answer. */
async function recorded(here) {
  for (;;) {
    const chat = await here.get(`/api/chats/${here.id}`);
    if (!chat.activeRunId) return chat.messages;
  }
}

/** Checks that the chat equals the record, including the id of the last answer. */
async function agrees(chat, here) {
  const messages = await recorded(here);
  assert.deepEqual(messages.map(text), chat.messages.map(text));
  assert.equal(messages.at(-1).id, chat.messages.at(-1).id);
  assert.deepEqual(messages.at(-1).parts.map(({ type }) => type), chat.messages.at(-1).parts.map(({ type }) => type));
}

async function turns(sdk) {
  const here = await page(sdk);
  const chat = chatOf(sdk, here);
  for (const content of ['hello there', 'and again']) {
    await chat.sendMessage({ text: content });
    assert.equal(chat.status, 'ready', `${chat.error}`);
    assert.equal(text(chat.messages.at(-1)), `echo: ${content}`);
  }
  await agrees(chat, here);
  assert.equal(await here.transport.reconnectToStream({ chatId: here.id }), null);
}

async function interrupted(sdk) {
  const here = await page(sdk);
  const chat = chatOf(sdk, here);
  const content = Array.from({ length: 40 }, (_, word) => `w${word}`).join(' ');
  const first = chat.sendMessage({ text: content });
  await heard(chat, 'w3');
  // Closes the page's connection; the answer continues.
  await chat.stop();
  await first;
  assert.notEqual(text(chat.messages.at(-1)), `echo: ${content}`);
  await chat.resumeStream();
  assert.equal(chat.status, 'ready', `${chat.error}`);
  assert.equal(text(chat.messages.at(-1)), `echo: ${content}`);
  await agrees(chat, here);
}

async function stopped(sdk) {
  const here = await page(sdk);
  const chat = chatOf(sdk, here);
  const content = Array.from({ length: 400 }, (_, word) => `w${word}`).join(' ');
  const asked = chat.sendMessage({ text: content });
  await heard(chat, 'w3');
  assert.equal(await here.post(`/api/chat/${here.id}/stop`), 202);
  await asked;
  await agrees(chat, here);
  assert.equal(await here.post(`/api/chat/${here.id}/stop`), 204);
}

async function changed(sdk) {
  const here = await page(sdk);
  const chat = chatOf(sdk, here);
  for (const content of ['one', 'two', 'three']) await chat.sendMessage({ text: content });
  const texts = () => chat.messages.map(text);
  // Regenerates the last answer.
  const last = chat.messages.at(-1).id;
  await chat.regenerate();
  assert.equal(chat.status, 'ready', `${chat.error}`);
  assert.notEqual(chat.messages.at(-1).id, last);
  assert.deepEqual(texts(), ['one', 'echo: one', 'two', 'echo: two', 'three', 'echo: three']);
  await agrees(chat, here);
  // Regenerates an earlier answer, and then edits the message before it twice.
  await chat.regenerate({ messageId: chat.messages[3].id });
  assert.deepEqual(texts(), ['one', 'echo: one', 'two', 'echo: two']);
  await agrees(chat, here);
  for (const content of ['zwei', 'deux']) {
    await chat.sendMessage({ text: content, messageId: chat.messages[2].id });
    assert.equal(chat.status, 'ready', `${chat.error}`);
    assert.deepEqual(texts(), ['one', 'echo: one', content, `echo: ${content}`]);
    await agrees(chat, here);
  }
  await chat.sendMessage({ text: 'three' });
  await agrees(chat, here);
  // A reloaded page has the record's ids.
  const loaded = chatOf(sdk, here);
  loaded.messages = await recorded(here);
  await loaded.sendMessage({ text: 'uno', messageId: loaded.messages[0].id });
  assert.equal(loaded.status, 'ready', `${loaded.error}`);
  assert.deepEqual(loaded.messages.map(text), ['uno', 'echo: uno']);
  await agrees(loaded, here);
}

for (const release of ['ai6', 'ai7']) {
  const sdk = await import(release);
  for (const check of [turns, interrupted, stopped, changed]) await check(sdk);
  const features = ['turns', 'resumed and stopped answers', 'regenerated answers', 'edited messages'];
  javascriptClient(import.meta.url, 'ai', release).works('Chats', ...features);
  console.log(`${release}: ok`);
}
