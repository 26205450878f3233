// The visitor's conversations: list, open, rename, restore, delete, and a new one.

import assert from 'node:assert/strict';
import { ChatPage, element } from './chat_page.mjs';

const rows = chat => chat.run(element => [...element.shadowRoot.querySelectorAll('.chats li')].map(node => (node.querySelector('.chat span') ?? node).innerText));

export async function conversations({ browser, site, gateway, api, picture }) {
  const chat = await ChatPage.open(browser, site.url(element(gateway)));
  await chat.say('about parcels');
  await chat.lines([['user', 'about parcels'], ['assistant', 'echo: about parcels']]);
  await chat.press('Conversations');
  await untilRows(chat, 1, ([name]) => /^Conversation of /.test(name));
  const [name] = await rows(chat);
  await chat.press(`Rename: ${name}`);
  await chat.page.keyboard.down('Control');
  await chat.page.keyboard.press('a');
  await chat.page.keyboard.up('Control');
  const title = '<b>Parcels</b>';
  await chat.page.keyboard.type(title);
  await chat.page.keyboard.press('Enter');
  await untilRows(chat, 1, found => found[0] === title);
  await chat.press('New conversation');
  await chat.lines([]);
  await chat.say('about invoices');
  await chat.lines([['user', 'about invoices'], ['assistant', 'echo: about invoices']]);
  await chat.ready();
  await archived(chat, gateway, api);
  await chat.press('Conversations');
  await untilRows(chat, 2, found => found[1] === title);
  await picture(chat, 'widget-history');
  const [other] = await rows(chat);
  await chat.press(`Delete: ${other}`);
  await chat.press('Cancel');
  await chat.press(`Delete: ${other}`);
  await chat.press('Delete');
  await untilRows(chat, 1, found => found[0] === title);
  await chat.run(element => element.shadowRoot.querySelector('.chat').click());
  await chat.lines([['user', 'about parcels'], ['assistant', 'echo: about parcels']]);
  await chat.press('Conversations');
  await untilRows(chat, 1, () => true);
  await chat.press(`Delete: ${title}`);
  await chat.press('Delete');
  await untilRows(chat, 0, () => true);
  await chat.press('Back to the conversation');
  await chat.lines([]);
  await chat.reload();
  await chat.ready();
  await chat.lines([]);
  await chat.end();
}

/** Somebody archives the conversation; the visitor restores it. */
async function archived(chat, gateway, api) {
  const { headers, chat: id } = await api(chat, 0);
  await fetch(`${gateway.url}/api/chats/${id}`, { method: 'PATCH', headers, body: JSON.stringify({ archived: true }) });
  await chat.problem(/archived/);
  await chat.press('Restore');
  await chat.problem(/^$/);
  await chat.say('again');
  await chat.until(({ lines }) => lines.at(-1), ['assistant', 'echo: again']);
  await chat.ready();
}

async function untilRows(chat, count, isIt) {
  let found;
  for (const end = Date.now() + 15_000; Date.now() < end; ) {
    found = await rows(chat);
    if (found.length === count && isIt(found)) return;
    await new Promise(done => setTimeout(done, 50));
  }
  assert.fail(`rows: ${JSON.stringify(found)}, ${JSON.stringify(await chat.seen())}`);
}

/** The visitor's own conversations are searched; where the agent has no search, there is no field for it. */
export async function search({ browser, site, gateway, command }) {
  const chat = await ChatPage.open(browser, site.url(element(gateway)));
  await chat.say('Where is the <b>turquoise</b> parcel?');
  await chat.until(({ lines: { length } }) => length, 2);
  await chat.press('New conversation');
  await chat.press('Conversations');
  await chat.hasButton('Search conversations');
  const words = async text => {
    await chat.run(element => element.shadowRoot.querySelector('input[type=search]').focus());
    await chat.page.keyboard.type(text);
    await chat.page.keyboard.press('Enter');
  };
  const found = () => chat.run(element => [...element.shadowRoot.querySelectorAll('.chats li')].map(node => [...node.querySelectorAll('mark')].map(({ textContent }) => textContent)));
  await words('turquoise');
  for (const end = Date.now() + 15_000; !(await found()).some(([word]) => word === 'turquoise'); await chat.press('Search conversations')) {
    assert.ok(Date.now() < end, JSON.stringify(await found()));
  }
  await chat.isAccessible('search');
  await chat.run(element => element.shadowRoot.querySelector('.chat').click());
  await chat.until(({ lines }) => lines[0]?.[1], 'Where is the <b>turquoise</b> parcel?');
  await command('agent', 'set', 'demo', '--search', 'off');
  await chat.reload();
  await chat.press('Conversations');
  await untilRows(chat, 1, () => true);
  await chat.hasButton('Search conversations', false);
  await command('agent', 'set', 'demo', '--search', 'on');
  await chat.end();
}
