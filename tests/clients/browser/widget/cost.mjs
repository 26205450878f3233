// The tag that `hansard widget snippet` prints, on a page with nothing else: its cost, its integrity, its policy.

import assert from 'node:assert/strict';
import { gunzipSync } from 'node:zlib';
import { ChatPage, element, policy } from './chat_page.mjs';

const RUNS = 5;
const median = values => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];

export async function snippet({ browser, site, gateway, command, picture }) {
  const html = await command('widget', 'snippet', '--gateway', gateway.url, '--api-key', gateway.key);
  const chat = await ChatPage.open(browser, site.url(`${html}<button>Of the page</button>`));
  await chat.press('Open chat');
  await chat.say('hello');
  await chat.lines([['user', 'hello'], ['assistant', 'echo: hello']]);
  await picture(chat, 'widget-floating');
  await chat.end();
}

/** A file that somebody has changed on its way is not run. */
export async function integrity({ browser, site, gateway }) {
  const chat = await ChatPage.open(browser, site.url(element(gateway, { mode: 'floating' })));
  await chat.hasButton('Open chat');
  await chat.page.setRequestInterception(true);
  chat.page.on('request', request => {
    if (!request.url().endsWith('/chat.js')) return request.continue();
    const headers = { 'content-type': 'text/javascript', 'access-control-allow-origin': '*' };
    return request.respond({ status: 200, headers, body: 'window.ran = true; export const mount = () => {};' });
  });
  await chat.press('Open chat');
  await chat.hasButton('The chat cannot be loaded');
  assert.equal(await chat.page.evaluate('window.ran'), undefined);
  assert.deepEqual(await chat.page.evaluate(() => window.told), [['error', { code: 'NOT_LOADED' }]]);
  await chat.page.close();
}

/** Main thread and bytes of a page with the closed launcher, and then with the open chat. */
export async function startUp({ browser, site, gateway }) {
  const spent = { empty: [], closed: [], open: [] };
  const empty = site.url('');
  const page = site.url(element(gateway, { mode: 'floating' }));
  for (let run = 0; run < RUNS; run += 1) {
    for (const [name, address] of [['empty', empty], ['closed', page]]) {
      const chat = await ChatPage.open(browser, 'about:blank');
      const task = async () => (await chat.page.metrics()).TaskDuration * 1000;
      await chat.page.goto(address, { waitUntil: 'networkidle0' });
      spent[name].push(await task());
      if (name === 'closed') {
        const files = chat.requests.filter(request => request.includes('/widget/'));
        assert.deepEqual(files, [`GET ${gateway.url}/widget/1/hansard-chat.js`]);
        const before = await task();
        await chat.press('Open chat');
        await chat.ready();
        spent.open.push((await task()) - before);
      }
      await chat.page.close();
    }
  }
  const launcher = median(spent.closed) - median(spent.empty);
  return `main thread: launcher ${launcher.toFixed(0)} ms, opening ${median(spent.open).toFixed(0)} ms; ${await sizes(gateway)}`;
}

async function sizes({ url }) {
  const file = async (path, encoding) => Buffer.from(await (await fetch(`${url}/widget/1/${path}`, { headers: { 'accept-encoding': encoding } })).arrayBuffer());
  const loader = (await file('hansard-chat.js', 'identity')).toString();
  const { script, style } = JSON.parse(/const FILES = (.*);/.exec(loader)[1]);
  const compressed = [];
  for (const path of ['hansard-chat.js', script[0], style[0]]) {
    const response = await fetch(`${url}/widget/1/${path}`);
    assert.equal(response.headers.get('access-control-allow-origin'), '*');
    assert.equal(response.headers.get('content-encoding'), 'gzip');
    compressed.push(await lengthOf(`${url}/widget/1/${path}`));
  }
  assert.ok(compressed[0] < 5_000, `loader: ${compressed[0]} bytes`);
  const all = compressed.reduce((sum, bytes) => sum + bytes);
  assert.ok(all < 30_000, `all: ${all} bytes`);
  return `gzip: loader ${compressed[0]} bytes, all ${all} bytes`;
}

/** The bytes of a compressed answer, which `fetch` hides. */
async function lengthOf(url) {
  const { get } = await import('node:http');
  const body = await new Promise((done, failed) => {
    get(url, { headers: { 'accept-encoding': 'gzip' } }, response => {
      const pieces = [];
      response.on('data', piece => pieces.push(piece)).on('end', () => done(Buffer.concat(pieces))).on('error', failed);
    });
  });
  assert.ok(gunzipSync(body).length > body.length);
  return body.length;
}

/** Without the widget's lines, the policy of a page stops it: the lines are needed, and reported. */
export async function policies({ browser, site, gateway, gateways }) {
  assert.match(policy(gateway.url), /script-src \S+; connect-src \S+;/);
  const allowed = gateways.splice(0, gateways.length);
  const chat = await ChatPage.open(browser, site.url(element(gateway)));
  gateways.push(...allowed);
  assert.deepEqual(await chat.page.evaluate(() => window.violations), [`script-src-elem ${gateway.url}/widget/1/hansard-chat.js`]);
  await chat.page.close();
}
