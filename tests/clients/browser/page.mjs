// examples/chat.html in a browser: turns, reloads, a second tab, a stop, HTML in a message, a stopped gateway.
// `node page.mjs page.html folder [screenshots]`, run by check.py: a line on standard output requests another gateway; the
// answer is a line of JSON, `{url, key, release}`.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { browser } from './chromium.mjs';

const DEADLINE_MS = 30_000;
const HTML = '<img src=x onerror="window.ran = true"><script>window.ran = true</script>';
const [file, folder, screenshots] = process.argv.slice(2);
const answers = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

async function gateway(kind) {
  console.log(kind);
  return JSON.parse((await answers.next()).value);
}

/** Waits until the log shows these lines, and the buttons of an answer in progress or not. */
async function shows(page, lines, { answering = false } = {}) {
  const seen = () => ({
    lines: [...document.querySelectorAll('.message')].map(line => [line.classList[1], line.textContent]),
    canSend: !document.getElementById('send').disabled,
    canStop: !document.getElementById('stop').disabled,
  });
  const wanted = { lines, canSend: !answering, canStop: answering };
  const is = `JSON.stringify((${seen})()) === ${JSON.stringify(JSON.stringify(wanted))}`;
  // On a timeout, the difference is a better message than the timeout.
  await page.waitForFunction(is).catch(async () => assert.deepEqual(await page.evaluate(seen), wanted));
}

async function fill(page, field, value) {
  if (!(await page.$eval('#setup', setup => setup.open))) await page.click('summary');
  await page.$eval(field, input => input.select());
  await page.type(field, value);
  await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')]);
}

async function say(page, text) {
  await page.type('#text', text);
  await page.keyboard.press('Enter');
}

async function picture(page, name) {
  if (screenshots) await page.screenshot({ path: join(screenshots, `${name}.png`) });
}

async function turns(page) {
  const { url, key } = await gateway('echo');
  // A link can set neither the gateway nor the key.
  await page.goto(`${pathToFileURL(file)}#gateway=http://127.0.0.1:1&key=hp_of_a_stranger`);
  const values = () => page.$$eval('#gateway, #key', inputs => inputs.map(input => input.value));
  assert.deepEqual(await values(), ['', '']);
  await fill(page, '#gateway', url);
  await fill(page, '#key', key);
  await shows(page, []);
  const expected = [['user', 'Where is my parcel?'], ['assistant', 'echo: Where is my parcel?']];
  await say(page, expected[0][1]);
  await shows(page, expected);
  expected.push(['user', HTML], ['assistant', `echo: ${HTML}`]);
  await page.type('#text', HTML);
  await page.click('#send');
  await shows(page, expected);
  await page.reload();
  await shows(page, expected);
  const made = await page.$$eval('#log *', all => all.map(one => one.localName));
  assert.deepEqual(made, expected.map(() => 'div'));
  assert.equal(await page.evaluate('window.ran'), undefined);
  return expected;
}

/** A second tab of the same visitor shows what the first one says, and the reverse. */
async function tabs(page, expected) {
  const other = await page.browser().newPage();
  other.setDefaultTimeout(DEADLINE_MS);
  await other.goto(page.url());
  await shows(other, expected);
  for (const [from, text] of [[page, 'From the first tab.'], [other, 'From the second tab.'], [page, 'Again.']]) {
    await from.bringToFront();
    await say(from, text);
    expected.push(['user', text], ['assistant', `echo: ${text}`]);
    await shows(page, expected);
    await shows(other, expected);
  }
  await other.close();
  await page.bringToFront();
}

async function gone(page, expected) {
  await gateway('none');
  await say(page, 'Are you there?');
  const error = ['error', 'The gateway cannot be reached, or does not take this key from this page.'];
  await shows(page, [...expected, error]);
  assert.equal(await page.$eval('#text', text => text.value), 'Are you there?');
  await picture(page, 'gone');
}

async function resumed(page, expected, { url, release }) {
  await fill(page, '#gateway', url);
  await shows(page, expected);
  await say(page, 'one wait two');
  expected.push(['user', 'one wait two'], ['assistant', 'held: one wait ']);
  await shows(page, expected, { answering: true });
  await picture(page, 'answering');
  await page.reload();
  await shows(page, expected, { answering: true });
  await fetch(release, { method: 'POST' });
  expected.push(['assistant', `${expected.pop()[1]}two`]);
  await shows(page, expected);
}

async function stopped(page, expected) {
  await say(page, 'three wait four');
  expected.push(['user', 'three wait four'], ['assistant', 'held: three wait ']);
  await shows(page, expected, { answering: true });
  await page.click('#stop');
  // The outcome of the turn is still shown after a reload.
  expected.push(['note', 'Stopped.']);
  await shows(page, expected);
  await page.reload();
  await shows(page, expected);
  await say(page, 'five');
  expected.push(['user', 'five'], ['assistant', 'held: five']);
  await shows(page, expected);
  await picture(page, 'stopped');
}

async function others(page) {
  await page.click('#fresh');
  await shows(page, []);
  await fill(page, '#key', 'hp_of_nobody');
  await say(page, 'Who am I?');
  await shows(page, [['error', 'The gateway cannot be reached, or does not take this key from this page.']]);
}

const chromium = await browser(folder);
try {
  const page = await chromium.newPage();
  page.setDefaultTimeout(DEADLINE_MS);
  const faults = [];
  page.on('pageerror', fault => faults.push(fault.message));
  const expected = await turns(page);
  await tabs(page, expected);
  await gone(page, expected);
  const held = await gateway('held');
  await resumed(page, expected, held);
  await stopped(page, expected);
  await others(page);
  assert.deepEqual(faults, []);
} finally {
  await chromium.close();
  process.stdin.destroy();
}
