// Tools that the page runs, approvals, files, and what the page gives to a conversation.

import assert from 'node:assert/strict';
import { ChatPage, element } from './chat_page.mjs';
import { file } from './files.mjs';

async function settings({ command }, tool) {
  const path = file('settings.json', JSON.stringify({ model: { server: 'dev', model: 'scripted' }, tools: tool ? [tool] : [] }));
  await command('agent', 'set', 'demo', '--settings-file', path);
}

const WEATHER = { toolName: 'weather', description: 'Weather.', inputSchemaJson: '{"type": "object"}' };

export async function pageTools(world) {
  await settings(world, WEATHER);
  const chat = await ChatPage.open(world.browser, world.site.url(element(world.gateway, { 'tool-calls': 'details' })));
  await chat.run(element => {
    element.tools = { weather: async ({ city }) => ({ city, degrees: -3 }) };
  });
  await chat.say('The weather?');
  await chat.until(({ lines }) => lines.at(-1)?.[1].endsWith('the tool says: {"city":"Oslo","degrees":-3}'), true);
  await chat.until(({ lines }) => lines.at(-1)[1].startsWith('Tool weather: done'), true);
  await chat.run(element => {
    element.tools = { weather: () => { throw new Error('<b>no</b>'); } };
  });
  await chat.say('And the weather now?');
  await chat.until(({ lines }) => [lines.length, lines.at(-1)?.[1]], [4, 'Tool weather: failed\nthe tool says: Error: <b>no</b>']);
  await chat.end();
}

export async function approvals(world) {
  await settings(world, { ...WEATHER, needsApproval: true });
  const address = world.site.url(element(world.gateway, { 'tool-calls': 'hidden' }));
  const chat = await ChatPage.open(world.browser, address);
  await chat.run(element => {
    element.tools = { weather: () => 'sunny' };
  });
  await chat.say('The weather?');
  await chat.hasButton('Approve');
  await chat.isAccessible('a call that waits for approval');
  await world.picture(chat, 'widget-approval');
  await chat.press('Approve');
  await chat.lines([['user', 'The weather?'], ['assistant', 'the tool says: sunny']]);
  await chat.say('The weather again?');
  await chat.press('Refuse');
  await chat.until(({ lines }) => [lines.length, /^the tool says: .*(denied|refused|rejected)/i.test(lines.at(-1)?.[1])], [4, true]);
  await world.command('agent', 'set', 'demo', '--approvers', 'administrator');
  await chat.say('The weather once more?');
  await chat.press('Refuse');
  await chat.problem(/Somebody else must decide/);
  await settings(world);
  await chat.end();
}

export async function attachments({ browser, site, gateway, api }) {
  const chat = await ChatPage.open(browser, site.url(element(gateway, { attachments: 'text/plain' })));
  await chat.ready();
  const input = await chat.page.evaluateHandle(() => document.querySelector('hansard-chat').shadowRoot.querySelector('input[type=file]'));
  await input.uploadFile(file('notes.txt', 'Grüße'));
  await chat.hasButton('Remove: notes.txt');
  await input.uploadFile(file('picture.txt', '%PDF-1.7'));
  await chat.problem(/type cannot be attached/);
  await input.uploadFile(file('large.txt', 'x'.repeat(400_000)));
  await chat.problem(/360 kB/);
  await chat.say('See the file');
  await chat.until(({ lines }) => [lines[0]?.[1], lines.length], ['See the file\nnotes.txt', 2]);
  const { headers, chat: id } = await api(chat, 0);
  const recorded = await (await fetch(`${gateway.url}/api/chats/${id}`, { headers })).json();
  const expected = { type: 'file', mediaType: 'text/plain', filename: 'notes.txt', url: 'data:text/plain;base64,R3LDvMOfZQ==' };
  assert.deepEqual(recorded.messages[0].parts[1], expected);
  await chat.end();
}

export async function context({ browser, site, gateway, api }) {
  const contextOf = async attributes => {
    const chat = await ChatPage.open(browser, site.url(element(gateway, attributes)));
    await chat.run(element => element.setContext({ plan: 'gold' }));
    await chat.say('hello');
    await chat.hasButton('New answer');
    const { headers, chat: id } = await api(chat, 0);
    const { context } = await (await fetch(`${gateway.url}/api/chats/${id}`, { headers })).json();
    const told = await chat.page.evaluate(() => window.told.map(([name, detail]) => [name, detail.text]));
    assert.deepEqual(told.slice(0, 2), [['message', 'hello'], ['answer', 'echo: hello']]);
    await chat.end();
    return context;
  };
  const all = await contextOf({});
  assert.deepEqual(Object.keys(all).sort(), ['customMetadata', 'locale', 'pageUrl', 'timezone']);
  assert.deepEqual(all.customMetadata, { plan: 'gold' });
  assert.deepEqual(await contextOf({ 'send-context': 'timezone' }), { timezone: all.timezone, customMetadata: { plan: 'gold' } });
}
