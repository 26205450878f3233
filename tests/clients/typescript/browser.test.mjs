// The client in a real browser, as modules of a page of another origin. Skipped without `npm ci` in tests/clients/browser.

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

import { apiKey, url, words } from './fixture.mjs';

const MODULES = new URL('node_modules/', import.meta.url);
const skip = !existsSync(new URL('../browser/node_modules/puppeteer-core', import.meta.url)) && 'no browser is installed';
const PAGE = `<!doctype html><script type="importmap">{"imports": {
  "@hansard/client": "/@hansard/client/dist/index.js", "eventsource-parser": "/eventsource-parser/dist/index.js"
}}</script>`;

/** A site with the page and the modules. */
async function site() {
  const server = createServer(async ({ url: path }, response) => {
    if (path === '/') return response.setHeader('content-type', 'text/html').end(PAGE);
    const file = await readFile(new URL(`.${path}`, MODULES)).catch(() => undefined);
    return response.writeHead(file ? 200 : 404, { 'content-type': 'text/javascript' }).end(file);
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  return { url: `http://127.0.0.1:${server.address().port}/`, close: () => server.close() };
}

/** What the page does. */
async function used({ url: gateway, apiKey: key, text }) {
  const { HansardChat, isHansardError } = await import('@hansard/client');
  const sessions = [];
  const chats = new HansardChat({ url: gateway, apiKey: key, onSession: (session) => sessions.push(session) });
  const chat = await chats.createChat({ title: 'From a page' });
  const aborting = new AbortController();
  const types = [];
  const watching = (async () => {
    for await (const { type } of chat.watch({ signal: aborting.signal })) {
      types.push(type);
      if (type === 'RunFinished') aborting.abort();
    }
  })().catch(({ name }) => name);
  const answer = await (await chat.send(text)).text();
  const recorded = (await chat.get()).messages.at(-1).parts.find((part) => part.type === 'text').text;
  const missing = await chats.chat('missing').get().catch((error) => isHansardError(error, 'CONVERSATION_NOT_FOUND') && error.status);
  return { answer, recorded, missing, types, ended: await watching, sessions: sessions.length };
}

test('a page of another origin sends, streams, watches and reads errors', { skip }, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'hansard-'));
  const { browser } = await import('../browser/chromium.mjs');
  const [chromium, pages] = [await browser(folder), await site()];
  t.after(async () => {
    await chromium.close();
    pages.close();
    await rm(folder, { recursive: true, force: true });
  });
  const page = await chromium.newPage();
  await page.goto(pages.url);
  const text = words(100);
  assert.deepEqual(await page.evaluate(used, { url, apiKey, text }), {
    answer: `echo: ${text}`,
    recorded: `echo: ${text}`,
    missing: 404,
    types: ['ConversationCreated', 'MessageAppended', 'RunStarted', 'MessageAppended', 'RunFinished'],
    ended: 'AbortError',
    sessions: 1,
  });
});
