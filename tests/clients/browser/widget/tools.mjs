// Tools that the page runs, approvals, files, and what the page gives to a conversation, as far as the agent's owner allows it.

import assert from 'node:assert/strict';
import { acceptFiles, recordContext, settings, showTools } from './agent.mjs';
import { ChatPage, element } from './chat_page.mjs';
import { file } from './files.mjs';

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

/** A tool with a webhook, which fails: the owner decides what a page shows of its calls. */
export async function toolDetails(world) {
  await settings(world, { ...WEATHER, webhookUrl: 'https://tools.invalid/weather' });
  for (const [detail, theme, expected] of [['full', 'light', [1, true]], ['full', 'dark', [1, true]], ['names', 'light', [0, true]], ['names', 'dark', [0, true]], ['hidden', 'dark', [0, false]]]) {
    await showTools(world, detail);
    const chat = await ChatPage.open(world.browser, world.site.url(element(world.gateway, { theme, 'tool-calls': 'details' })));
    await chat.say('The weather?');
    await chat.until(({ lines }) => [lines.length, /the tool says/.test(lines.at(-1)?.[1])], [2, true]);
    await chat.hasButton('New answer');
    const shown = () => chat.run(element => [element.shadowRoot.querySelectorAll('details').length, element.shadowRoot.querySelector('.message.assistant .body').innerText.includes('Tool weather: failed')]);
    assert.deepEqual(await shown(), expected, detail);
    await chat.isAccessible(`tool calls: ${detail}, ${theme}`);
    await chat.reload();
    await chat.hasButton('New answer');
    assert.deepEqual(await shown(), expected, `${detail}, after a reload`);
    await chat.end();
  }
  await settings(world);
}

export async function attachments(world) {
  const { browser, site, gateway, api } = world;
  const open = (attributes = {}) => ChatPage.open(browser, site.url(element(gateway, attributes)));
  await acceptFiles(world, 'text/plain', 'image/png');
  for (const theme of ['light', 'dark']) {
    const chat = await open({ theme });
    await chat.hasButton('Attach files');
    await chat.isAccessible(`files, ${theme}`);
    await chat.end();
  }
  const narrow = await open({ attachments: 'application/pdf' });
  await narrow.ready();
  await narrow.say('hello');
  await narrow.hasButton('New answer');
  await narrow.hasButton('Attach files', false);
  await narrow.end();
  const chat = await open({ attachments: 'text/plain application/pdf' });
  await chat.hasButton('Attach files');
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
  // The owner changes the settings while the page is open.
  const typed = await chat.page.evaluateHandle(() => document.querySelector('hansard-chat').shadowRoot.querySelector('input[type=file]'));
  await typed.uploadFile(file('notes.txt', 'more'));
  await chat.hasButton('Remove: notes.txt');
  await acceptFiles(world, 'none');
  await chat.say('One more');
  await chat.problem(/type cannot be attached/);
  await chat.until(({ text, buttons }) => [text, buttons.includes('Remove: notes.txt')], ['One more', true]);
  await chat.reload();
  await chat.ready();
  await chat.hasButton('Attach files', false);
  await chat.end();
  await settings(world);
}

export async function context(world) {
  const { browser, site, gateway, api } = world;
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
  await recordContext(world, ['timezone', 'custom-metadata'], ['timezone', 'customMetadata']);
  assert.deepEqual(await contextOf({}), { timezone: all.timezone, customMetadata: { plan: 'gold' } });
  await recordContext(world, ['none'], []);
  assert.equal(await contextOf({}), undefined);
  await settings(world);
}
