// The settings of the dashboard in a real headless Chromium.
// Usage: settings.mjs SETTINGS FOLDER [SCREENSHOTS]; SETTINGS is JSON of settings.py.

import assert from 'node:assert/strict';
import { accessible, journey, themes as bothThemes } from './journey.mjs';

const [, , text, folder, screenshots] = process.argv;
const settings = JSON.parse(text);
const { browser, violations, person } = await journey(folder);
const page = await person();

const SETTINGS = `${settings.url}/dashboard/settings`;
const AGENT = `${SETTINGS}/agents/demo`;
const themes = (name) => bothThemes(page, name, screenshots);
const press = (selector, on = page) => Promise.all([on.waitForNavigation(), on.click(selector)]);
const heading = () => page.$eval('h1', (h1) => h1.textContent);
const notice = (on = page) => on.$eval('.notice', (one) => one.textContent);
const active = () => page.evaluate(() => document.activeElement?.id || document.activeElement?.getAttribute('href'));

/** Replaces the text of a field, as a person does. */
async function type(selector, value, on = page) {
  await on.focus(selector);
  await on.keyboard.down('Control');
  await on.keyboard.press('a');
  await on.keyboard.up('Control');
  await on.keyboard.press('Backspace');
  await on.type(selector, value);
}

await page.goto(settings.link);
await press('main button');

// By keys only: the list, the agent, one setting, saved.
await page.goto(SETTINGS);
await themes('settings');
await page.keyboard.press('j');
assert.equal(await active(), '/dashboard/settings/agents/demo');
await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')]);
assert.equal(await heading(), 'Settings of demo');
await themes('settings-agent');
for (let presses = 0; await active() !== 'model-steps_max'; presses += 1) {
  assert.ok(presses < 40, 'the field is not reached by the Tab key');
  await page.keyboard.press('Tab');
}
await page.keyboard.type('7');
await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')]);
assert.equal(await notice(), 'Saved: model.');
assert.equal(await page.$eval('#model-steps_max', (input) => input.value), '7');

// An error is at its field, and what was typed stays.
await type('#tools', '[\n {]');
await press('button.primary');
assert.match(await page.$eval('#tools-error', (error) => error.textContent), /^line 2, column 3: /);
assert.equal(await page.$eval('#tools', (area) => area.value), '[\n {]');
await themes('settings-errors');

// A policy: the preview follows, errors have a position, the text stays, and it is saved.
await page.goto(`${AGENT}/policy`);
await type('#conversation', 'preview');
await page.waitForSelector('#preview .columns');
assert.equal(await page.$('#preview img'), null);
await themes('settings-policy');
await type('#policy', '{\n "instructions": 7}');
await page.waitForFunction(() => document.querySelector('#preview .notice.bad')?.textContent.includes('Line 2, column'));
assert.equal(await page.$eval('#policy', (area) => area.getAttribute('aria-invalid')), 'true');
await accessible(page, 'settings-policy, wrong');
await type('#policy', '{"instructions": "Answer in rhymes."}');
await page.waitForFunction(() => document.querySelector('#draft-1, #draft-0') !== null
  && document.querySelector('#preview').textContent.includes('Answer in rhymes.'));
assert.equal(await active(), 'policy');
await press('button.primary');
assert.match(await notice(), /^Saved/);

// API keys: the secret is shown once; the next key, and the end of the first.
await page.goto(`${AGENT}/keys`);
await type('#name', settings.script);
await type('#origins-new', 'https://shop.example');
await press('section form button.primary');
const secret = await page.$eval('#secret', (code) => code.textContent);
assert.match(secret, /^hp_/);
await themes('settings-keys');
await page.goto(`${AGENT}/keys`);
assert.ok(!(await page.content()).includes(secret));
const key = await page.$$eval('main h2', (all) => all.map((one) => one.textContent).find((one) => one.includes('<script>')).slice(0, 16));
const form = (action) => `form[action$="/keys/${key}/${action}"]`;
const open = (action) => page.$eval(form(action), (one) => { one.closest('details').open = true; });
await open('rotate');
await press(`${form('rotate')} button`);
assert.match(await notice(), new RegExp(`which replaces ${key}`));
await open('revoke');
await page.type(`#confirm-${key}`, 'not this one');
await press(`${form('revoke')} button`);
assert.match(await notice(), /Nothing was revoked/);
await open('revoke');
await page.type(`#confirm-${key}`, key);
await press(`${form('revoke')} button`);
assert.equal(await page.$(form('revoke')), null);

// Signing keys and webhooks.
await page.goto(`${SETTINGS}/signing-keys`);
await page.type('#id', 'next');
await press('button.primary');
assert.match(await page.$eval('#secret', (code) => code.textContent), /^hk_/);
await themes('settings-signing-keys');
await page.type('#confirmation', 'next');
await press('button.danger');
assert.match(await page.$eval('table', (table) => table.textContent), /next.*users/);
await page.goto(`${AGENT}/webhooks`);
await press('section form button');
assert.match(await page.$eval('#secret', (code) => code.textContent), /^whsec_/);
await themes('settings-webhooks');

// Without scripts, the preview is behind its button.
const plain = await person();
await plain.setJavaScriptEnabled(false);
await plain.goto(settings.plain_link);
await press('main button', plain);
await plain.goto(`${AGENT}/policy`);
await type('#policy', '{"instructions": "In prose."}', plain);
await type('#conversation', 'preview', plain);
await press('button[formaction]', plain);
assert.match(await plain.$eval('#preview', (preview) => preview.textContent), /By this policy/);
assert.equal(await plain.$eval('#policy', (area) => area.value), '{"instructions": "In prose."}');

assert.deepEqual(violations, []);
await browser.close();
console.log('settings, policies and keys were changed, one form by keys only, with no serious accessibility problem and no violation of the policy');
