// Messages: sent, streamed, resumed, stopped, edited, regenerated; in two tabs; without a step of the reader's position.

import assert from 'node:assert/strict';
import { ChatPage, element } from './chat_page.mjs';

const HTML = '<img src=x onerror="window.ran = true"><script>window.ran = true</script>';
const MARKDOWN = `**bold** [site](https://site.example/) [bad](javascript:window.ran=1) ![pixel](https://img.example/p.png)\n\n\`\`\`js\n<b>\n\`\`\`\n`;

export async function messages({ browser, site, gateway }) {
  const chat = await ChatPage.open(browser, site.url(element(gateway, { greeting: 'Hello', suggestions: 'One | Two' })));
  await chat.press('One');
  const lines = [['user', 'One'], ['assistant', 'echo: One']];
  await chat.lines(lines);
  await chat.say(HTML);
  lines.push(['user', HTML], ['assistant', `echo: ${HTML}`]);
  await chat.lines(lines);
  await chat.ready();
  assert.equal(await chat.run((element, text) => element.send(text), MARKDOWN), true);
  await chat.until(({ lines: { length } }) => length, 6);
  await chat.hasButton('New answer');
  const made = () => chat.run(element => [...element.shadowRoot.querySelectorAll('.prose :is(strong, a, code, img, script)')].map(node => [node.localName, node.textContent, node.href ?? '', node.rel ?? '']));
  const rel = 'noopener noreferrer nofollow';
  const expected = [['strong', 'bold', '', ''], ['a', 'site', 'https://site.example/', rel], ['a', 'Image: pixel', 'https://img.example/p.png', rel], ['code', '<b>', '', '']];
  assert.deepEqual(await made(), expected);
  await chat.reload();
  await chat.until(({ lines: { length } }) => length, 6);
  assert.deepEqual(await made(), expected);
  assert.equal(await chat.page.evaluate('window.ran'), undefined);
  assert.deepEqual(chat.requests.filter(request => request.includes('img.example')), []);
  await chat.end();
}

export async function streaming({ browser, site, gateway, release, picture }) {
  const address = site.url(element(gateway));
  const chat = await ChatPage.open(browser, address);
  await chat.say('one hold two');
  const part = [['user', 'one hold two'], ['assistant', 'echo: one']];
  const stops = async page => {
    await page.lines(part);
    await page.until(({ buttons, status }) => [buttons.includes('Stop'), buttons.includes('Send'), status], [true, false, 'Answering…']);
  };
  await stops(chat);
  await picture(chat, 'widget-answering');
  await chat.reload();
  await stops(chat);
  const other = await ChatPage.open(browser, address, { context: chat.context });
  await stops(other);
  await release();
  const whole = [part[0], ['assistant', 'echo: one hold two']];
  for (const page of [other, chat]) {
    await page.page.bringToFront();
    await page.lines(whole);
    await page.until(({ status }) => status, 'echo: one hold two');
  }
  await other.page.bringToFront();
  await other.say('stop hold here');
  await chat.page.bringToFront();
  const cut = [...whole, ['user', 'stop hold here'], ['assistant', 'echo: stop']];
  await chat.lines(cut);
  await chat.page.keyboard.press('Tab');
  await chat.run(element => element.shadowRoot.querySelector('textarea').focus());
  await chat.page.keyboard.press('Escape');
  cut.push(['assistant', `${cut.pop()[1]}\nStopped.`]);
  for (const page of [chat, other]) {
    await page.page.bringToFront();
    await page.lines(cut);
    await page.ready();
  }
  await release();
  await other.end();
  await chat.end();
}

export async function changes({ browser, site, gateway }) {
  const chat = await ChatPage.open(browser, site.url(element(gateway)));
  await chat.say('first');
  await chat.lines([['user', 'first'], ['assistant', 'echo: first']]);
  await chat.say('second');
  const lines = [['user', 'first'], ['assistant', 'echo: first'], ['user', 'second'], ['assistant', 'echo: second']];
  await chat.lines(lines);
  await chat.press('New answer');
  await chat.until(() => chat.requests.filter(request => /^POST .*\/api\/chat$/.test(request)).length, 3);
  await chat.ready();
  await chat.lines(lines);
  await chat.type('kept');
  await chat.press('Edit: second');
  await chat.until(({ text }) => text, 'second');
  await chat.press('Cancel');
  await chat.until(({ text }) => text, 'kept');
  await chat.press('Edit: first');
  await chat.type(' changed');
  await chat.page.keyboard.press('Enter');
  const changed = [['user', 'first changed'], ['assistant', 'echo: first changed']];
  await chat.lines(changed);
  await chat.until(({ text }) => text, 'kept');
  await chat.reload();
  await chat.lines(changed);
  await chat.until(({ text }) => text, 'kept');
  await chat.end();
}

/** The reader's position: kept while an answer grows and when earlier messages are added; the number of nodes is bounded. */
export async function reading({ browser, site, gateway, release, api }) {
  const chat = await ChatPage.open(browser, site.url(element(gateway)));
  const many = Array.from({ length: 60 }, (_, index) => `\nline ${index}`).join('');
  await chat.ready();
  await chat.run((element, text) => void element.send(text), `begin${many} hold ${many}`);
  await chat.hasButton('Stop');
  const log = (work, ...values) => chat.run(`(element, ...values) => (${work})(element.shadowRoot.querySelector('.log'), ...values)`, ...values);
  const isAtEnd = () => log(node => node.scrollHeight - node.scrollTop - node.clientHeight < 2);
  await chat.until(({ lines }) => lines.at(-1)?.[1].endsWith('line 59'), true);
  assert.equal(await isAtEnd(), true);
  await log(node => (node.scrollTop = 100));
  await release();
  await chat.hasButton('Send');
  await chat.hasButton('Jump to latest');
  assert.equal(await log(node => node.scrollTop), 100);
  await chat.press('Jump to latest');
  assert.equal(await isAtEnd(), true);
  await chat.hasButton('Jump to latest', false);
  await api(chat, 58);
  await chat.reload();
  await chat.hasButtonAgain('Show earlier messages');
  const count = () => log(node => node.querySelectorAll('.message').length);
  assert.equal(await count(), 50);
  const first = () => log(node => node.querySelector('.message').getBoundingClientRect().top);
  await log(node => (node.scrollTop = 0));
  const before = await log(node => [...node.querySelectorAll('.message')].map(message => message.querySelector('.body').innerText)[0]);
  const top = await first();
  await chat.press('Show earlier messages');
  const end = Date.now() + 20_000;
  while ((await count()) !== 100 && Date.now() < end) {
    // The rate of the address may be used up.
    if ((await chat.seen()).buttons.includes('Try again')) await chat.press('Try again');
    await new Promise(done => setTimeout(done, 250));
  }
  assert.equal(await count(), 100);
  const moved = await log((node, text) => [...node.querySelectorAll('.message')].find(message => message.querySelector('.body').innerText === text).getBoundingClientRect().top, before);
  assert.ok(Math.abs(moved - top) < 3, `the first message moved from ${top} to ${moved}`);
  await chat.end();
}
