// The hook: the history, new events, and answers while they are written.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { useConversation } from '@hansard/client/react';
import { createElement, StrictMode } from 'react';
import { act, create } from 'react-test-renderer';

import { chatsOf, hansardOf, proxyOf, until, words } from './fixture.mjs';

globalThis.IS_REACT_ACT_ENVIRONMENT = true;

/** Renders the hook; `seen` has each state. */
async function shown(t, sourceOf, options) {
  const seen = [];
  const Page = () => {
    seen.push(useConversation(sourceOf(), options));
    return null;
  };
  let page;
  await act(async () => {
    page = create(createElement(StrictMode, null, createElement(Page)));
  });
  const unmount = () => act(async () => page.unmount());
  t.after(unmount);
  const state = () => seen.at(-1);
  /** Waits for a state. */
  const reaches = (condition, what) => act(async () => until(() => condition(state()), what));
  return { seen, state, reaches, unmount };
}

const texts = ({ messages }) => messages.map(({ role, text }) => `${role}: ${text}`);

test('the history, then new messages, answers and rewinds', async (t) => {
  const chats = chatsOf();
  const chat = await chats.createChat();
  await (await chat.send('one')).text();
  const { seen, state, reaches } = await shown(t, () => chats.chat(chat.id));
  await reaches(({ status }) => status === 'live', 'the history');
  assert.equal(seen[0].status, 'loading');
  assert.deepEqual(texts(state()), ['user: one', 'assistant: echo: one']);

  const answered = chatsOf({ session: await chats.session() }).chat(chat.id).send(words(400));
  await reaches(({ answer }) => answer?.includes('w20 '), 'a part of the answer');
  await (await answered).text();
  await reaches(({ messages, answer }) => messages.length === 4 && answer === undefined, 'the whole answer');
  assert.equal(state().messages.at(-1).text, `echo: ${words(400)}`);
  const parts = seen.flatMap(({ answer }) => (answer === undefined ? [] : [answer]));
  assert.ok(parts.every((part) => `echo: ${words(400)}`.startsWith(part)));

  await hansardOf().conversation(chat.id).append({ events: [{ type: 'HistoryRewound', to: 1 }] });
  await reaches(({ messages }) => messages.length === 0, 'the rewind');
  assert.deepEqual(state().events.map(({ type }) => type), ['ConversationCreated']);
});

test('only the newest events are kept', async (t) => {
  const conversation = await hansardOf().createConversation({ userId: 'ada' });
  const event = (text) => ({ type: 'MessageAppended', role: 'user', parts: [{ type: 'text', text }] });
  await conversation.append({ events: Array.from({ length: 30 }, (_, number) => event(`${number}`)) });
  const { state, reaches } = await shown(t, () => hansardOf().conversation(conversation.id), { eventsMax: 10 });
  await reaches(({ status }) => status === 'live', 'the history');
  assert.deepEqual(state().messages.map(({ text }) => text), Array.from({ length: 10 }, (_, index) => `${20 + index}`));
  await conversation.append({ events: [event('30')] });
  await reaches(({ messages }) => messages.at(-1).text === '30', 'the new event');
  assert.equal(state().events.length, 10);
});

test('it ends with the component, and says why it fails', async (t) => {
  const proxy = await proxyOf();
  t.after(proxy.close);
  const conversation = await hansardOf().createConversation({ userId: 'ada' });
  const { reaches, unmount } = await shown(t, () => hansardOf({ url: proxy.url }).conversation(conversation.id));
  await reaches(({ status }) => status === 'live', 'the history');
  assert.equal(proxy.open.size, 1);
  await unmount();
  await until(() => proxy.open.size === 0, 'the end of the connection');

  const missing = await shown(t, () => hansardOf().conversation('missing'));
  await missing.reaches(({ status }) => status === 'failed', 'the failure');
  assert.equal(missing.state().error.code, 'CONVERSATION_NOT_FOUND');
});
