// Usage, system and the switch of the tenant in a real headless Chromium.
// Usage: operations.mjs SETTINGS FOLDER [SCREENSHOTS]; SETTINGS is JSON of operations.py.

import assert from 'node:assert/strict';
import { journey, themes as bothThemes } from './journey.mjs';

const [, , text, folder, screenshots] = process.argv;
const settings = JSON.parse(text);
const { browser, violations, person } = await journey(folder);
const page = await person();
const themes = (name) => bothThemes(page, name, screenshots);
const press = (selector) => Promise.all([page.waitForNavigation(), page.click(selector)]);
const heading = () => page.$eval('h1', (h1) => h1.textContent);
const content = () => page.$eval('main', (main) => main.textContent);

await page.goto(settings.link);
await press('main button');

// Usage: charts in the colours of the theme, tables, and a range that is the URL.
await press('nav a[href="/dashboard/usage"]');
assert.equal(await heading(), 'Usage');
assert.ok((await page.$$('.chart svg')).length >= 4);
const shown = await content();
for (const part of ['Tokens by day', 'Tokens by model', 'script-model', 'completed', '12.50 USD']) assert.ok(shown.includes(part), part);
assert.equal(await page.$('main script'), null);
await themes('usage');
const accent = await page.$eval('.chart [fill="#0B5CAD"]', (bar) => getComputedStyle(bar).fill);
await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: 'dark' }]);
assert.notEqual(await page.$eval('.chart [fill="#0B5CAD"]', (bar) => getComputedStyle(bar).fill), accent);
await page.emulateMediaFeatures([]);
await page.$eval('#from', (field) => { field.value = '2001-01-01'; });
await page.$eval('#to', (field) => { field.value = '2001-01-31'; });
await press('.range button');
assert.match(page.url(), /from=2001-01-01&to=2001-01-31/);
assert.equal(await page.$eval('.empty h2', (title) => title.textContent), 'No usage');
await themes('usage-empty');

// System: the state, and the switch to another tenant.
await press('nav a[href="/dashboard/system"]');
assert.equal(await heading(), 'System');
const state = await content();
for (const part of ['record', 'projectors', 'search', 'conversations_v1', 'other']) assert.ok(state.includes(part), part);
await themes('system');
await press('tr:has(input[value="other"]) button');
assert.equal(await heading(), 'System');
assert.match(await page.$eval('.person', (shown) => shown.textContent), /operator of other/);
await page.goto(`${settings.url}/dashboard/audit`);
assert.match(await content(), /from another tenant/);
await page.goto(`${settings.url}/dashboard/usage`);
assert.ok((await content()).includes('No usage'));

assert.deepEqual(violations, []);
await browser.close();
console.log('usage, system and the switch of the tenant, without a serious accessibility problem or a violation of the policy');
