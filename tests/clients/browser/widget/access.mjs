// Accessibility: axe in each state, the keyboard alone, small and enlarged pages, right to left, German, dark, forced colours.

import assert from 'node:assert/strict';
import { acceptFiles } from './agent.mjs';
import { ChatPage, element } from './chat_page.mjs';

const RICH = '# Title\n\n- one\n- two\n\n> quote\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```js\nlet a = 1;\n```\n[link](https://x.example/)';

export async function axe(world) {
  const { browser, site, gateway, release, picture } = world;
  await acceptFiles(world, 'text/plain');
  for (const theme of ['light', 'dark']) {
    const attributes = { theme, mode: 'floating', greeting: 'Hello', suggestions: 'One | Two' };
    const chat = await ChatPage.open(browser, site.url(element(gateway, attributes)));
    await chat.hasButton('Open chat');
    await chat.isAccessible(`${theme}: launcher`);
    await chat.press('Open chat');
    await chat.ready();
    await chat.isAccessible(`${theme}: empty`);
    await chat.run((element, text) => element.send(text), RICH);
    await chat.hasButton('New answer');
    await chat.isAccessible(`${theme}: messages`);
    await picture(chat, `widget-${theme}`);
    await chat.say('a hold b');
    await chat.until(({ lines }) => lines.at(-1)[1], 'echo: a');
    await chat.isAccessible(`${theme}: answering`);
    await release();
    await chat.press('Conversations');
    await chat.until(({ buttons }) => buttons.some(name => name.startsWith('Rename: ')), true);
    await chat.isAccessible(`${theme}: history`);
    await chat.page.keyboard.press('Escape');
    await chat.run(element => {
      element.texts = { heading: 'Ask us' };
      element.setAttribute('api-key', 'hp_of_nobody');
    });
    await chat.press('Open chat').catch(() => {});
    await chat.run(element => element.open());
    await chat.say('hello');
    await chat.problem(/key is not accepted/);
    await chat.isAccessible(`${theme}: problem`);
    await chat.end();
  }
}

/** No pointer: open, send, read, stop, close. */
export async function keyboard({ browser, site, gateway, release }) {
  const chat = await ChatPage.open(browser, site.url(element(gateway, { mode: 'floating' })));
  const { keyboard } = chat.page;
  const focus = expected => chat.until(() => true, true).then(async () => {
    const end = Date.now() + 10_000;
    while ((await chat.focused()) !== expected && Date.now() < end) await new Promise(done => setTimeout(done, 50));
    assert.equal(await chat.focused(), expected);
  });
  await chat.hasButton('Open chat');
  await keyboard.press('Tab');
  await focus('Open chat');
  await keyboard.press('Enter');
  await focus('Message');
  await keyboard.type('one hold two');
  await keyboard.press('Enter');
  await chat.hasButton('Stop');
  await focus('Message');
  await keyboard.press('F6');
  await focus('Conversation');
  await keyboard.press('Escape');
  await chat.until(({ lines }) => lines.at(-1), ['assistant', 'echo: one\nStopped.']);
  await release();
  await keyboard.press('Tab');
  await focus('Copy');
  await keyboard.press('F6');
  await focus('Message');
  await keyboard.down('Shift');
  await keyboard.press('Enter');
  await keyboard.up('Shift');
  await keyboard.type('line');
  await chat.until(({ text }) => text, '\nline');
  await keyboard.press('Escape');
  await focus('Open chat');
  const told = await chat.page.evaluate(() => window.told.map(([name]) => name));
  assert.deepEqual(told.filter(name => ['open', 'close'].includes(name)), ['open', 'close']);
  await keyboard.press('Enter');
  await chat.until(({ text }) => text, '\nline');
  await chat.end();
}

export async function layouts({ browser, site, gateway, picture }) {
  const client = async (chat, features) => (await chat.page.createCDPSession()).send('Emulation.setEmulatedMedia', { features });
  const isWide = chat => chat.page.evaluate(() => {
    const panel = document.querySelector('hansard-chat').shadowRoot.querySelector('.panel');
    const log = panel.querySelector('.log');
    return [document.documentElement.scrollWidth > innerWidth, panel.scrollWidth > panel.clientWidth, log.scrollWidth > log.clientWidth];
  });
  const long = `${'unbroken'.repeat(40)}\n\n\`\`\`\n${'code '.repeat(60)}\n\`\`\``;
  // 320 px is also a page of 640 px at 200%.
  for (const [mode, query] of [['floating', {}], ['page', { dir: 'rtl', lang: 'ar' }], ['inline', { lang: 'de' }]]) {
    const address = site.url(element(gateway, { mode, heading: 'A long heading of a shop with many words' }), query);
    const chat = await ChatPage.open(browser, address, { size: { width: 320, height: 640 } });
    await chat.run(element => element.open());
    await chat.ready();
    await chat.run((element, text) => element.send(text), long);
    await chat.hasButton(query.lang === 'de' ? 'Neue Antwort' : 'New answer');
    assert.deepEqual(await isWide(chat), [false, false, false], mode);
    await chat.isAccessible(`320 px, ${mode}`);
    await picture(chat, `widget-320-${mode}`);
    if (query.dir) {
      const sides = await chat.run(element => [...element.shadowRoot.querySelectorAll('.message')].map(node => Math.round(node.getBoundingClientRect().left - node.parentElement.getBoundingClientRect().left)));
      assert.equal(sides[0], 0, 'the visitor is on the left where text runs to the left');
      assert.deepEqual(await chat.run(element => [...element.shadowRoot.querySelectorAll('pre')].map(node => getComputedStyle(node).direction)), ['ltr']);
    }
    await client(chat, [{ name: 'forced-colors', value: 'active' }, { name: 'prefers-reduced-motion', value: 'reduce' }]);
    await chat.isAccessible(`forced colours, ${mode}`);
    const border = await chat.run(element => getComputedStyle(element.shadowRoot.querySelector('.message')).borderTopColor);
    assert.notEqual(border, 'rgba(0, 0, 0, 0)', 'messages have an edge in forced colours');
    await chat.end();
  }
}

/** An answer that comes while the chat is closed. */
export async function unread({ browser, site, gateway, release }) {
  const chat = await ChatPage.open(browser, site.url(element(gateway, { mode: 'floating' })));
  await chat.press('Open chat');
  await chat.say('one hold two');
  // The model waits for its release from here on.
  await chat.lines([['user', 'one hold two'], ['assistant', 'echo: one']]);
  await chat.press('Close chat');
  await release();
  await chat.hasButton('Open chat (new messages)');
  await chat.isAccessible('unread');
  await chat.reload();
  await chat.hasButton('Open chat (new messages)');
  await chat.press('Open chat (new messages)');
  await chat.lines([['user', 'one hold two'], ['assistant', 'echo: one hold two']]);
  await chat.press('Close chat');
  await chat.hasButton('Open chat');
  await chat.end();
}
