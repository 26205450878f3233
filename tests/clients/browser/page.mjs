// examples/chat.html in a browser: turns, reloads, a second tab, a stop, HTML in a message, a stopped gateway.
// `node page.mjs page.html folder [screenshots]`, run by check.py: a line on standard output requests another gateway; the
// answer is a line of JSON, `{url, key, release}`.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { browser } from './chromium.mjs';
import { ChatPage } from './widget/chat_page.mjs';

const HTML = '<img src=x onerror="window.ran = true"><script>window.ran = true</script>';
const [file, folder, screenshots] = process.argv.slice(2);
const answers = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

async function gateway(kind) {
  console.log(kind);
  return JSON.parse((await answers.next()).value);
}

async function fill(chat, url, key) {
  for (const [name, value] of [['gateway', url], ['key', key]]) {
    await chat.page.$eval(`[name=${name}]`, input => input.select());
    await chat.page.type(`[name=${name}]`, value);
  }
  await Promise.all([chat.page.waitForNavigation(), chat.page.keyboard.press('Enter')]);
}

/** Waits until the messages are shown, and the button of an answer in progress or not. */
async function shows(chat, lines, button = 'Send') {
  await chat.lines(lines);
  await chat.hasButton(button);
}

async function picture(chat, name) {
  if (screenshots) await chat.page.screenshot({ path: join(screenshots, `${name}.png`) });
}

async function turns(chat, { url, key }) {
  const values = () => chat.page.$$eval('#setup input', inputs => inputs.map(input => input.value));
  assert.deepEqual(await values(), ['', '']);
  await fill(chat, url, key);
  await shows(chat, []);
  const expected = [['user', 'Where is my parcel?'], ['assistant', 'echo: Where is my parcel?']];
  await chat.say(expected[0][1]);
  await shows(chat, expected);
  expected.push(['user', HTML], ['assistant', `echo: ${HTML}`]);
  await chat.type(HTML);
  await chat.press('Send');
  await shows(chat, expected);
  await chat.reload();
  await shows(chat, expected);
  assert.equal(await chat.page.evaluate('window.ran'), undefined);
  return expected;
}

/** A second tab of the same visitor shows what the first one says, and the reverse. */
async function tabs(chat, expected) {
  const other = await ChatPage.open(chat.page.browser(), chat.page.url(), { context: chat.context });
  await shows(other, expected);
  for (const [from, to, text] of [[chat, other, 'From the first tab.'], [other, chat, 'From the second tab.'], [chat, other, 'Again.']]) {
    await from.page.bringToFront();
    await from.say(text);
    expected.push(['user', text], ['assistant', `echo: ${text}`]);
    await shows(from, expected);
    await to.page.bringToFront();
    await shows(to, expected);
  }
  await other.end();
  await chat.page.bringToFront();
}

/** The gateway stops, and comes back at the same address: the text is kept, and sent by a click. */
async function gone(chat, expected) {
  await gateway('none');
  await chat.say('Are you there?');
  await chat.problem(/cannot be reached/);
  await chat.until(({ text }) => text, 'Are you there?');
  await shows(chat, expected);
  await picture(chat, 'gone');
  const { release } = await gateway('held');
  await chat.press('Try again');
  expected.push(['user', 'Are you there?'], ['assistant', 'held: Are you there?']);
  await shows(chat, expected);
  return release;
}

async function resumed(chat, expected, release) {
  await chat.say('one wait two');
  expected.push(['user', 'one wait two'], ['assistant', 'held: one wait']);
  await shows(chat, expected, 'Stop');
  await picture(chat, 'answering');
  await chat.reload();
  await shows(chat, expected, 'Stop');
  await fetch(release, { method: 'POST' });
  expected.push(['assistant', `${expected.pop()[1]} two`]);
  await shows(chat, expected);
}

async function stopped(chat, expected) {
  await chat.say('three wait four');
  expected.push(['user', 'three wait four'], ['assistant', 'held: three wait']);
  await shows(chat, expected, 'Stop');
  await chat.press('Stop');
  // The outcome of the turn is still shown after a reload.
  expected.push(['assistant', `${expected.pop()[1]}\nStopped.`]);
  await shows(chat, expected);
  await chat.reload();
  await shows(chat, expected);
  await chat.say('five');
  expected.push(['user', 'five'], ['assistant', 'held: five']);
  await shows(chat, expected);
  await picture(chat, 'stopped');
}

async function others(chat, { url }) {
  await chat.press('New conversation');
  await shows(chat, []);
  await fill(chat, url, 'hp_of_nobody');
  await chat.say('Who am I?');
  await chat.problem(/key is not accepted/);
}

const chromium = await browser(folder);
try {
  const started = await gateway('echo');
  // A link can set neither the gateway nor the key.
  const chat = await ChatPage.open(chromium, `${pathToFileURL(file)}#gateway=http://127.0.0.1:1&key=hp_of_a_stranger`);
  const expected = await turns(chat, started);
  await tabs(chat, expected);
  const release = await gone(chat, expected);
  await resumed(chat, expected, release);
  await stopped(chat, expected);
  await others(chat, started);
  await chat.end();
} finally {
  await chromium.close();
  process.stdin.destroy();
}
