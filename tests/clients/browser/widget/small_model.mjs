// One journey with a real small model, whose answers nobody knows before. `node small_model.mjs GATEWAY KEY folder`, run by
// small_model.py.

import assert from 'node:assert/strict';
import { browser as launch } from '../chromium.mjs';
import { ChatPage, element, site as serve } from './chat_page.mjs';

const QUESTION = 'Tell me a long story about a fox and a river.';
const [url, key, folder] = process.argv.slice(2);

/** The answer that is recorded last, without the note of its outcome. */
async function recorded(chat) {
  const stored = await chat.page.evaluate(() => Object.fromEntries(Object.entries(localStorage).map(([name, value]) => [name.split(' ').at(-1), value])));
  const headers = { 'x-api-key': key, 'x-session-id': stored.session };
  const { messages } = await (await fetch(`${url}/api/chats/${stored.chat}`, { headers })).json();
  const { role, parts, metadata } = messages.at(-1);
  return { role, count: messages.length, outcome: metadata?.outcome, text: parts.map(({ text }) => text ?? '').join('') };
}

/** What the page shows of the last answer. */
const shown = chat => chat.run(element => [...element.shadowRoot.querySelectorAll('.message.assistant .prose')].at(-1)?.innerText ?? '');

async function grows(chat) {
  const end = Date.now() + 45_000;
  const lengths = new Set();
  while (lengths.size < 3 && Date.now() < end) {
    const { length } = await shown(chat);
    if (length) lengths.add(length);
    await new Promise(done => setTimeout(done, 20));
  }
  assert.ok(lengths.size >= 3, 'the answer grows while it is streamed');
}

async function journey(chat) {
  await chat.say(QUESTION);
  await chat.hasButton('Stop');
  await grows(chat);
  await chat.press('Stop');
  await chat.hasButton('Send');
  await chat.until(({ lines }) => /Stopped\.$/.test(lines.at(-1)?.[1]), true);
  const stopped = await recorded(chat);
  assert.deepEqual([stopped.role, stopped.count, stopped.outcome], ['assistant', 2, 'stopped']);
  const text = await shown(chat);
  await chat.reload();
  await chat.until(({ lines }) => [lines.length, lines[0]?.[1], /Stopped\.$/.test(lines.at(-1)?.[1])], [2, QUESTION, true]);
  assert.equal(await shown(chat), text);
  await chat.press('New answer');
  await chat.hasButton('Stop');
  await chat.reload();
  await chat.hasButton('New answer');
  const { role, count, outcome, text: answer } = await recorded(chat);
  assert.deepEqual([role, count, outcome], ['assistant', 2, 'completed']);
  assert.ok(answer.length > 0);
  await chat.until(({ lines: { length } }) => length, 2);
  assert.ok(await shown(chat));
  console.log(`a small model: stopped after ${stopped.text.length} characters, then a new answer of ${answer.length}`);
}

const browser = await launch(folder);
const site = await serve(() => url);
try {
  const chat = await ChatPage.open(browser, site.url(element({ url, key })));
  await journey(chat);
  await chat.end();
} finally {
  await browser.close();
  site.server.close();
}
