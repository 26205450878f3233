// Every journey of the widget. `node run.mjs HANSARD folder [screenshots]`, run by widget.py, which answers each line on standard
// output that is `start`, `start scripted`, `stop`, `model` or `release` with a line of JSON.

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { browser as launch } from '../chromium.mjs';
import * as access from './access.mjs';
import { site as serve } from './chat_page.mjs';
import * as cost from './cost.mjs';
import * as faults from './faults.mjs';
import * as history from './history.mjs';
import * as identity from './identity.mjs';
import * as tools from './tools.mjs';
import * as turns from './turns.mjs';

/** Sends a message until it is answered: the rate of an address is limited, and a chat has one run at a time. */
async function answered(url, request) {
  const end = Date.now() + 30_000;
  for (;;) {
    const answer = await fetch(url, request);
    const text = await answer.text();
    if (answer.ok) return;
    if (![409, 429].includes(answer.status) || Date.now() > end) throw new Error(`${url}: ${answer.status} ${text}`);
    const seconds = Number(answer.headers.get('retry-after') ?? 0);
    await new Promise(done => setTimeout(done, Math.max(seconds * 1000, 50)));
  }
}

const [hansard, folder, screenshots] = process.argv.slice(2);
const answers = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const only = process.env.JOURNEY;

async function ask(line) {
  console.log(line);
  return JSON.parse((await answers.next()).value);
}

const browser = await launch(folder);
const gateway = await ask('start scripted');
const gateways = [gateway.url];
const site = await serve(() => gateways.join(' '));
const world = {
  ...{ browser, site, gateway, gateways, hansard, ask },
  release: () => ask('release'),
  /** Runs a command of operators; returns its output. */
  command: async (...args) => {
    const environment = { ...process.env, ...gateway.environment };
    return (await promisify(execFile)(hansard, args, { env: environment })).stdout;
  },
  /** Sends messages in the page's conversation, without the widget. */
  api: async (chat, count) => {
    const stored = await chat.page.evaluate(() => Object.fromEntries(Object.entries(localStorage).map(([name, value]) => [name.split(' ').at(-1), value])));
    const headers = { 'x-api-key': gateway.key, 'x-session-id': stored.session, 'content-type': 'application/json' };
    for (let index = 0; index < count; index += 1) {
      const body = JSON.stringify({ content: `message ${index}` });
      await answered(`${gateway.url}/api/chats/${stored.chat}/messages`, { method: 'POST', headers, body });
    }
    return { headers, chat: stored.chat };
  },
  picture: async (chat, name) => screenshots && (await chat.page.screenshot({ path: join(screenshots, `${name}.png`) })),
};

try {
  const journeys = Object.entries({ ...turns, ...history, ...tools, ...identity, ...access, ...cost, ...faults });
  for (const [name, journey] of journeys.filter(([name]) => !only || only.split(',').includes(name))) {
    const begun = Date.now();
    const text = await journey(world);
    console.log(`widget: ${name} (${((Date.now() - begun) / 1000).toFixed(1)} s)${text ? `: ${text}` : ''}`);
  }
} finally {
  await browser.close();
  site.server.close();
  process.stdin.destroy();
}
