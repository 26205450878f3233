// What a visitor sees and does in the panel, with a conversation of its own.

import assert from 'node:assert/strict';
import test from 'node:test';
import { Problem } from '../../assets/api.js';
import { createChat } from '../../assets/chat.js';
import { createPanel } from '../../assets/panel.js';
import { openStore } from '../../assets/store.js';
import { texts } from '../../assets/texts.js';
import { click, inputOf, nodesOf, press, type } from './dom.mjs';
import { gatewayOf, settle, streamOf } from './gateway.mjs';

let visitors = 0;

function panelOf(members = {}) {
  const gateway = gatewayOf();
  const store = openStore(`panel ${(visitors += 1)}`);
  const sent = [];
  let closed = 0;
  const onSent = (chatId, { id }) => sent.push([chatId, id]);
  const chat = createChat({ api: gateway.api, store, contextOf: () => ({}), onChange: () => panel?.update(), onAnswer() {}, onSent });
  const settings = { lang: 'en', mode: 'inline', heading: '', greeting: '', suggestions: ['One'], toolCalls: 'names', ...members };
  const panel = createPanel({ settings, texts, store, api: gateway.api, chat, tools: () => ({}), onClose: () => (closed += 1) });
  return { ...panel, ...gateway, chat, sent, closed: () => closed };
}

/** Sends are repeated after a failure: the text, the ids, and the input, which has a text of its own. */
async function check(send) {
  const panel = panelOf();
  type(panel.node, 'a draft');
  send(panel);
  const first = await panel.next('POST /api/chat');
  first.fail(new Problem('UNREACHABLE'));
  await settle();
  click(panel.node, texts.tryAgain);
  const second = await panel.next('POST /api/chat');
  assert.deepEqual(second.body, first.body);
  assert.equal(second.body.messages[0].parts[0].text, 'One');
  assert.equal(inputOf(panel.node).value, 'a draft');
  second.answer(streamOf());
  await settle();
  assert.deepEqual(panel.sent, [[first.body.id, first.body.messages[0].id]]);
}

test('a suggestion that failed is sent again', () => check(({ node }) => click(node, 'One')));

test('a message of the page that failed is sent again', () => check(({ send }) => send([{ type: 'text', text: 'One' }])));

test('a message of the input that failed is sent again', async () => {
  const panel = panelOf();
  type(panel.node, 'hello');
  nodesOf(panel.node).find(({ listeners }) => listeners.submit && listeners.paste).listeners.submit({ preventDefault() {} });
  const first = await panel.next('POST /api/chat');
  first.fail(new Problem('UNREACHABLE'));
  await settle();
  assert.equal(inputOf(panel.node).value, 'hello');
  click(panel.node, texts.tryAgain);
  assert.deepEqual((await panel.next('POST /api/chat')).body, first.body);
});

test('times are in the language of the page, or in that of the browser', async () => {
  const createdAt = '2026-01-02T13:04:00Z';
  for (const [lang, known] of [['en_US', 'en-US'], ['pt_BR', 'pt-BR'], ['de', 'de'], ['no language', undefined], ['', undefined]]) {
    const panel = panelOf({ lang });
    const opened = panel.chat.open('c');
    const message = { id: 'm', role: 'user', parts: [{ type: 'text', text: 'hello' }], createdAt };
    (await panel.next('GET /api/chats/c?limit=50')).answer({ version: 1, messages: [message], title: '', status: 'active' });
    await opened;
    await settle();
    const format = new Intl.DateTimeFormat(known, { dateStyle: 'medium', timeStyle: 'short' });
    assert.equal(nodesOf(panel.node).find(({ attributes }) => attributes.dateTime).textContent, format.format(new Date(createdAt)), lang);
  }
});

test('Escape closes the panel, but not while a candidate of an input method is chosen', () => {
  const { node, closed } = panelOf({ mode: 'floating' });
  press(node, 'Escape', { isComposing: true });
  press(node, 'Escape', { keyCode: 229 });
  assert.equal(closed(), 0);
  press(node, 'Escape', { keyCode: 27 });
  assert.equal(closed(), 1);
});
