// Measures the first paint of the conversation list, plain, sorted and filtered. Usage: list_speed.mjs SETTINGS FOLDER;
// SETTINGS is JSON of list_speed.py.

import assert from 'node:assert/strict';
import { browser as start } from '../browser/chromium.mjs';

const [, , text, folder] = process.argv;
const settings = JSON.parse(text);
const FIRST_PAINT_MS_MAX = 300;
const LOADS = 11;
const PAGE_ROWS = 50;
const LOOK_MS = 500;
const INDEXED_MS_MAX = 600_000;

const browser = await start(folder);
const page = await browser.newPage();
await page.setViewport({ width: 1280, height: 800 });

async function open(query) {
  await page.goto(`${settings.url}/dashboard?q=${encodeURIComponent(query)}`, { waitUntil: 'load' });
  const painted = () => performance.getEntriesByName('first-contentful-paint')[0]?.startTime;
  return (await page.waitForFunction(painted)).jsonValue();
}

/** Waits until the last conversation is listed. */
async function indexed() {
  const end = Date.now() + INDEXED_MS_MAX;
  const last = settings.conversations - 1;
  for (;;) {
    await open(`owner:user${last % settings.owners}`);
    if ((await page.$eval('main', (main) => main.textContent)).includes(`Parcel ${last}`)) return;
    assert.ok(Date.now() < end, `conversation ${last} is not listed`);
    await new Promise((done) => setTimeout(done, LOOK_MS));
  }
}

async function measure(name, query, expected) {
  const paints = [];
  for (let load = 0; load < LOADS; load += 1) paints.push(await open(query));
  const rows = await page.$$eval('[data-row]', (links) => links.length);
  assert.equal(rows, expected, `${name}: ${rows} rows`);
  // The first load fills caches.
  const sorted = paints.slice(1).sort((a, b) => a - b);
  const [median, worst] = [sorted[Math.floor(sorted.length / 2)], sorted.at(-1)];
  console.log(`${name}: first paint ${median.toFixed(0)} ms, at most ${worst.toFixed(0)} ms, of ${LOADS - 1} loads; ${rows} rows`);
  assert.ok(median < FIRST_PAINT_MS_MAX, `${name}: ${median} ms`);
}

try {
  await page.goto(settings.link);
  await Promise.all([page.waitForNavigation(), page.click('main button')]);
  await indexed();
  console.log(`${settings.conversations} conversations`);
  await measure('newest first', '', PAGE_ROWS);
  await measure('of one owner', 'owner:user42', Math.floor(settings.conversations / settings.owners));
  await measure('failed, of which there are none', 'outcome:failed', 0);
} finally {
  await browser.close();
}
