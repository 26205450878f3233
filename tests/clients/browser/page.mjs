// examples/chat.html as a person meets it in a browser: turns, reloads, a stop, HTML in a message, a gateway that is gone.
// `node page.mjs page.html folder [screenshots]`, run by check.py: a line on standard output asks it for another gateway, and
// it answers with a line of JSON, `{url, key, release}`.

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

/** Waits until the log shows these lines, and whether an answer is still on its way. */
async function shows(page, lines, { answering = false } = {}) {
  const seen = () => ({
    lines: [...document.querySelectorAll('.message')].map(line => [line.classList[1], line.textContent]),
    canSend: !document.getElementById('send').disabled,
    canStop: !document.getElementById('stop').disabled,
  });
  const wanted = { lines, canSend: !answering, canStop: answering };
  const is = `JSON.stringify((${seen})()) === ${JSON.stringify(JSON.stringify(wanted))}`;
  // What is there instead says more than that time is up.
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
  // A link chooses neither where messages go nor whose agent answers.
  await page.goto(`${pathToFileURL(file)}#gateway=http://127.0.0.1:1&key=hp_of_a_stranger`);
  const values = () => page.$$eval('#gateway, #key', inputs => inputs.map(input => input.value));
  assert.deepEqual(await values(), ['', '']);
  await fill(page, '#gateway', url);
  await fill(page, '#key', key);
  await shows(page, []);
  const told = [['user', 'Where is my parcel?'], ['assistant', 'echo: Where is my parcel?']];
  await say(page, told[0][1]);
  await shows(page, told);
  told.push(['user', HTML], ['assistant', `echo: ${HTML}`]);
  await page.type('#text', HTML);
  await page.click('#send');
  await shows(page, told);
  await page.reload();
  await shows(page, told);
  const made = await page.$$eval('#log *', all => all.map(one => one.localName));
  assert.deepEqual(made, told.map(() => 'div'));
  assert.equal(await page.evaluate('window.ran'), undefined);
  return told;
}

async function gone(page, told) {
  await gateway('none');
  await say(page, 'Are you there?');
  const error = ['error', 'The gateway cannot be reached, or does not take this key from this page.'];
  await shows(page, [...told, error]);
  assert.equal(await page.$eval('#text', text => text.value), 'Are you there?');
  await picture(page, 'gone');
}

async function resumed(page, told, { url, release }) {
  await fill(page, '#gateway', url);
  await shows(page, told);
  await say(page, 'one wait two');
  told.push(['user', 'one wait two'], ['assistant', 'held: one wait ']);
  await shows(page, told, { answering: true });
  await picture(page, 'answering');
  await page.reload();
  await shows(page, told, { answering: true });
  await fetch(release, { method: 'POST' });
  told.push(['assistant', `${told.pop()[1]}two`]);
  await shows(page, told);
}

async function stopped(page, told) {
  await say(page, 'three wait four');
  told.push(['user', 'three wait four'], ['assistant', 'held: three wait ']);
  await shows(page, told, { answering: true });
  await page.click('#stop');
  // How the turn ended is still there after a reload.
  told.push(['note', 'Stopped.']);
  await shows(page, told);
  await page.reload();
  await shows(page, told);
  await say(page, 'five');
  told.push(['user', 'five'], ['assistant', 'held: five']);
  await shows(page, told);
  await picture(page, 'told');
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
  const told = await turns(page);
  await gone(page, told);
  const held = await gateway('held');
  await resumed(page, told, held);
  await stopped(page, told);
  await others(page);
  assert.deepEqual(faults, []);
} finally {
  await chromium.close();
  process.stdin.destroy();
}
