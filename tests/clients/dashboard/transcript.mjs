// Transcript, context, live events and erasure in a real headless Chromium, and a conversation of 20,000 events, measured.
// Usage: transcript.mjs SETTINGS FOLDER [SCREENSHOTS]; SETTINGS is JSON of transcript.py.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { accessible as isAccessible, journey, themes as bothThemes } from './journey.mjs';

const [, , text, folder, screenshots] = process.argv;
const settings = JSON.parse(text);
const { browser, violations, person } = await journey(folder);
const page = await person();

/** Most milliseconds that a conversation of 20,000 events needs beyond those of a small one, and most bytes. */
const OPEN_MS = 1_000;
const MEMORY_BYTES = 100 * 1024 * 1024;
const conversation = (id) => `${settings.url}/dashboard/conversations/${id}`;
const press = (selector) => Promise.all([page.waitForNavigation(), page.click(selector)]);
const heading = () => page.$eval('h1', (h1) => h1.textContent);
const focused = () => page.evaluate(() => document.activeElement?.getAttribute('href') ?? document.activeElement?.id);
const accessible = (name) => isAccessible(page, name);
const themes = (name) => bothThemes(page, name, screenshots);

await page.goto(settings.link);
await press('main button');

// A hostile conversation: text, details of large documents, keys, search on the page.
await page.goto(conversation('hostile'));
assert.match(await heading(), /^<script>/);
assert.equal(await page.$('main img'), null);
await themes('transcript');
await page.keyboard.press('j');
assert.equal(await focused(), '/dashboard/conversations/hostile?at=2#v2');
await page.keyboard.press('/');
assert.equal(await focused(), 'page-search');
await page.keyboard.type('as before');
assert.equal(await page.$eval('#page-search-status', (status) => status.textContent), '1 found');
assert.equal(await page.$$eval('#events > :not([hidden])', (events) => events.length), 1);
await page.keyboard.press('Escape');
const html = await page.evaluate(() => document.documentElement.outerHTML.length);
assert.ok(html < 100_000, `${html} bytes of HTML`);
await page.goto(`${conversation('hostile')}/events/4`);
await themes('event');

// A link to an event of another page opens it there.
await page.goto(`${conversation('long')}#v42`);
await page.waitForFunction(() => location.search.includes('at=42') && document.querySelector('#v42:target'));
await page.goto(`${conversation('long')}?depth=raw`);
await accessible('raw events');

// Live: a new event appears without a reload.
await page.goto(conversation('hostile'));
const later = { type: 'MessageAppended', role: 'user', parts: [{ type: 'text', text: '<b>live</b>' }] };
const headers = { 'content-type': 'application/json', authorization: settings.authorization };
const appended = await fetch(`${settings.url}/v1/conversations/hostile/events`, {
  method: 'POST', headers, body: JSON.stringify({ events: [later] }),
});
assert.ok(appended.ok, await appended.text());
await page.waitForFunction(() => document.querySelector('#events')?.lastElementChild.textContent.includes('<b>live</b>'));
assert.equal(await page.$('#events b'), null);

// What the model read, another budget beside it, and the receipt verified by one click.
await page.goto(`${conversation('hostile')}/context`);
await themes('context');
await page.$eval('#budget', (input) => { input.closest('details').open = true; });
await page.type('#budget', '300');
await press('details[open] form button[type=submit]');
assert.equal(await page.$$eval('.columns > section', (columns) => columns.length), 3);
await accessible('two policies');
await page.$eval('#receipt', (field) => { field.closest('details').open = true; });
await press('form[action$="/verify"] button');
assert.match(await page.$eval('.notice', (notice) => notice.textContent), /^Equal/);

// 20,000 events.
const client = await page.createCDPSession();
const open = async (id) => {
  await page.goto('about:blank');
  const begun = performance.now();
  await page.goto(conversation(id), { waitUntil: 'load' });
  await page.waitForSelector('#events > li:last-child');
  return performance.now() - begun;
};
const median = (numbers) => Math.round(numbers.toSorted((one, other) => one - other)[Math.floor(numbers.length / 2)]);
/** A busy machine delays both conversations of a round. */
const rounds = [];
for (let round = 0; round < 5; round += 1) {
  const small = await open('hostile');
  rounds.push({ small, long: await open('long') });
}
await client.send('HeapProfiler.collectGarbage');
const { processInfo } = await (await browser.target().createCDPSession()).send('SystemInfo.getProcessInfo');
const renderers = processInfo.filter((process) => process.type === 'renderer');
/** Memory of its own that the largest process of a page has, without files that processes share. */
const memory = Math.max(...renderers.map((process) => {
  const status = readFileSync(`/proc/${process.id}/status`, 'utf8');
  return Number(/^RssAnon:\s+(\d+) kB/m.exec(status)[1]) * 1024;
}));
const nodes = (await page.metrics()).Nodes;
const longer = median(rounds.map(({ small, long }) => long - small));
assert.ok(longer <= OPEN_MS, `${longer} ms more for ${settings.events} events: ${JSON.stringify(rounds)}`);
assert.ok(memory <= MEMORY_BYTES, `${memory} bytes for ${settings.events} events`);

// Erasure: the preview, the typed id, the receipt.
await page.goto(conversation('hostile'));
await press('a.danger');
await themes('erase');
await page.type('#confirmation', 'hostil');
await press('.card button.danger');
assert.match(await page.$eval('.notice', (notice) => notice.textContent), /Nothing was erased/);
await page.type('#confirmation', 'hostile');
await press('.card button.danger');
assert.equal(await heading(), 'Erased');
await themes('erasure-receipt');
const gone = await page.goto(conversation('hostile'));
assert.equal(gone.status(), 404);

assert.deepEqual(violations, []);
await browser.close();
console.log(`${settings.events} events open in ${median(rounds.map(({ long }) => long))} ms, ${longer} ms longer than a small conversation (medians of 5), ${(memory / 2 ** 20).toFixed(1)} MB of memory, ${nodes} nodes; `
  + 'journeys, keys and live events work, with no serious accessibility problem and no violation of the policy');
