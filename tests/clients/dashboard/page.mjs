// The dashboard in a real headless Chromium: keys, accessibility rules, the Content-Security-Policy, pages without scripts, and
// signing in with links and at a provider.
// Usage: page.mjs SETTINGS FOLDER [SCREENSHOTS]; SETTINGS is JSON of check.py.

import assert from 'node:assert/strict';
import { accessible, journey, themes as bothThemes } from './journey.mjs';

const [, , text, folder, screenshots] = process.argv;
const settings = JSON.parse(text);
const { browser, violations, person } = await journey(folder);
const themes = (page, name) => bothThemes(page, name, screenshots);
const press = (page, selector) => Promise.all([page.waitForNavigation(), page.click(selector)]);
const heading = (page) => page.$eval('h1', (h1) => h1.textContent);
const focused = (page) => page.evaluate(() => document.activeElement?.getAttribute('href') ?? document.activeElement?.id);

// A one-time link.
const page = await person();
await page.goto(settings.link);
await themes(page, 'sign-in-link');
await press(page, 'main button');
assert.equal(await heading(page), 'Conversations');
const [cookie] = (await page.cookies()).filter((one) => one.name === '__Host-hansard.dashboard');
assert.ok(cookie.httpOnly && cookie.secure && cookie.sameSite === 'Lax', JSON.stringify(cookie));
assert.equal(await page.evaluate(() => document.cookie), '');
await themes(page, 'conversations');

// Keys.
const rows = await page.$$eval('[data-row]', (links) => links.map((link) => link.getAttribute('href')));
assert.ok(rows.length >= 3, `${rows.length} rows`);
await page.keyboard.press('j');
assert.equal(await focused(page), rows[0]);
await page.keyboard.press('j');
await page.keyboard.press('j');
await page.keyboard.press('k');
assert.equal(await focused(page), rows[1]);
await page.keyboard.press('Escape');
assert.ok(await page.evaluate(() => document.activeElement === document.body));
await page.keyboard.press('?');
assert.ok(await page.$eval('#keys', (dialog) => dialog.open));
await accessible(page, 'keys');
await page.keyboard.press('Escape');
assert.ok(!await page.$eval('#keys', (dialog) => dialog.open));
await page.keyboard.press('/');
assert.equal(await focused(page), 'filter');
await page.keyboard.type('colour:red');
await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')]);
assert.match(await page.$eval('#filter-error', (error) => error.textContent), /colour/);
assert.equal(await page.$eval('#filter', (input) => input.value), 'colour:red');
await themes(page, 'conversations-wrong-filter');
await page.goto(`${settings.url}/dashboard?q=agent%3Anone`);
assert.equal(await page.$eval('.empty h2', (title) => title.textContent), 'No conversation matches');
await themes(page, 'conversations-empty');

// The audit log, an unknown page, and the sign-out.
await page.goto(`${settings.url}/dashboard/audit`);
assert.match(await page.$eval('table', (table) => table.textContent), /signed_in/);
await themes(page, 'audit-log');
const missing = await page.goto(`${settings.url}/dashboard/nowhere`);
assert.equal(missing.status(), 404);
await themes(page, 'problem');
await page.goto(`${settings.url}/dashboard`);
await press(page, '.person button');
assert.equal(await heading(page), 'Sign in');
await page.goto(settings.link);
assert.equal(await heading(page), 'Your session has ended');

// Without scripts.
const plain = await person();
await plain.setJavaScriptEnabled(false);
await plain.goto(settings.plain_link);
await press(plain, 'main button');
assert.equal(await heading(plain), 'Conversations');
await plain.type('#filter', 'status:archived');
await press(plain, '.filter button');
assert.match(plain.url(), /q=status%3Aarchived/);

/** Signs in at the provider; returns the title of the page that follows. */
async function signIn(visitor, name, url = `${settings.provider_url}/dashboard/audit`) {
  await visitor.goto(url);
  assert.equal(await heading(visitor), 'Sign in');
  await press(visitor, 'main a.primary');
  await visitor.type('input[name=login]', name);
  await visitor.type('input[name=password]', 'any');
  await press(visitor, 'button[type=submit]');
  await press(visitor, 'button[type=submit]');
  return heading(visitor);
}

// At a provider: the page that was requested, the name in the audit log, and no token in the browser.
const ada = await person();
assert.equal(await signIn(ada, 'ada.admins'), 'Audit log');
assert.match(await ada.$eval('table', (table) => table.textContent), /ada\.admins@example\.org.*provider/s);
const names = (await ada.cookies()).map((one) => one.name).filter((name) => name.startsWith('__Host-hansard'));
assert.deepEqual(names, ['__Host-hansard.dashboard']);
const viewer = await person();
assert.equal(await signIn(viewer, 'bob.support'), 'Your role does not allow this');
const nobody = await person();
assert.equal(await signIn(nobody, 'eve'), 'Your role does not allow this');
assert.match(await nobody.$eval('main', (main) => main.textContent), /NO_DASHBOARD_ACCESS/);
const several = await person();
assert.equal(await signIn(several, 'kim.admins.others'), 'Choose a tenant');
await themes(several, 'choose-tenant');
await press(several, 'main li:last-child button');
assert.equal(await heading(several), 'Conversations');
assert.match(await several.$eval('.person', (shown) => shown.textContent), /viewer of other/);
// An answer of another sign-in is rejected.
const forged = await person();
await forged.goto(`${settings.provider_url}/dashboard/sign-in/callback?code=a&state=b`);
assert.equal(await heading(forged), 'Your session has ended');

assert.deepEqual(violations, []);
await browser.close();
console.log('signed in with links and at a provider, used keys, and found no serious accessibility problem and no violation of the policy');
