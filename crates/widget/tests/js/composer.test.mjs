// What becomes of the text of the input when a message is sent, is not accepted, or the conversation changes.

import assert from 'node:assert/strict';
import test from 'node:test';
import { createComposer } from '../../assets/composer.js';
import { openStore } from '../../assets/store.js';
import { texts } from '../../assets/texts.js';
import { click, inputOf, nodesOf, press, type } from './dom.mjs';
import { settle } from './gateway.mjs';

let visitors = 0;

/**
 * A composer in a conversation, and the messages that it has sent: `{text, files, draft, replaces, key, end(isAccepted)}`.
 * `read()` is the text of the input, and whether it edits a message.
 */
function composerOf() {
  const sends = [];
  const store = openStore(`visitor ${(visitors += 1)}`);
  let shown = 'c';
  const onSend = (parts, { draft, replaces, key }) => {
    const files = parts.filter(({ type }) => type === 'file').map(({ filename }) => filename);
    const text = parts.find(({ type }) => type === 'text')?.text;
    return new Promise((done) => sends.push({ text, files, draft, replaces, key, end: (isAccepted) => (done(isAccepted), settle()) }));
  };
  const composer = createComposer({ texts, store, onSend, onStop() {}, onRefusal() {}, chatId: () => shown });
  const show = (id) => composer.update({ id: (shown = id), phase: 'idle', status: 'active' });
  show('c');
  composer.accept({ types: ['text/plain'], bytesMax: 100, filesMax: 5 });
  const pick = nodesOf(composer.node).find((one) => one.attributes.multiple);
  const attach = async (name) => {
    pick.files = [new File(['content'], name)];
    pick.listeners.change();
    await settle();
  };
  const editing = nodesOf(composer.node).find(({ textContent }) => textContent.startsWith(texts.editing));
  const read = () => [inputOf(composer.node).value, !editing.hidden];
  return { ...composer, store, sends, show, attach, read };
}

const message = (id, text) => ({ id, role: 'user', parts: [{ type: 'text', text }] });
const send = ({ node, submit, sends }, text) => {
  type(node, text);
  submit();
  return sends.at(-1);
};
const stored = ({ store }) => JSON.parse(store.get('draft') ?? '{}');

test('a message that is not accepted is sent again under the same id', async () => {
  const composer = composerOf();
  const first = send(composer, 'one');
  await first.end(false);
  assert.deepEqual(composer.read(), ['one', false]);
  composer.submit();
  assert.deepEqual([composer.sends[1].text, composer.sends[1].draft.id], ['one', first.draft.id]);
});

test('a message that is not accepted comes before what was written meanwhile, and they are another message', async () => {
  const composer = composerOf();
  const first = send(composer, 'one');
  type(composer.node, 'two');
  await first.end(false);
  assert.deepEqual([composer.read(), stored(composer)], [['one\ntwo', false], { text: 'one\ntwo' }]);
  composer.submit();
  assert.equal(composer.sends[1].text, 'one\ntwo');
  assert.notEqual(composer.sends[1].draft.id, first.draft.id);
});

test('the files of a message that is not accepted come before those that were attached meanwhile', async () => {
  const composer = composerOf();
  await composer.attach('a.txt');
  const first = send(composer, 'one');
  await composer.attach('b.txt');
  await first.end(false);
  composer.submit();
  const { text, files, draft } = composer.sends[1];
  assert.deepEqual([text, files], ['one', ['a.txt', 'b.txt']]);
  assert.notEqual(draft.id, first.draft.id);
});

test('each message of a file alone has its own id', async () => {
  const composer = composerOf();
  await send(composer, 'one').end(true);
  await composer.attach('a.txt');
  composer.submit();
  assert.deepEqual(composer.sends[1].files, ['a.txt']);
  assert.notEqual(composer.sends[1].draft.id, composer.sends[0].draft.id);
});

test('an edit that is not accepted is continued, and what else was written follows it', async () => {
  const composer = composerOf();
  type(composer.node, 'kept');
  composer.edit(message('m', 'before'));
  const first = send(composer, 'after');
  assert.deepEqual(composer.read(), ['kept', false]);
  type(composer.node, 'kept too');
  await first.end(false);
  assert.deepEqual(composer.read(), ['after', true]);
  composer.submit();
  const { text, replaces, key } = composer.sends[1];
  assert.deepEqual([text, replaces, key], ['after', 'm', first.key]);
  assert.ok(key);
  await composer.sends[1].end(true);
  assert.deepEqual([composer.read(), stored(composer).text], [['kept too', false], 'kept too']);
});

test('an edit that has changed since it failed is another one', async () => {
  const composer = composerOf();
  composer.edit(message('m', 'before'));
  const first = send(composer, 'after');
  await first.end(false);
  assert.notEqual(send(composer, 'another').key, first.key);
});

test('a cancelled edit does not make the text another message', async () => {
  const composer = composerOf();
  const first = send(composer, 'one');
  await first.end(false);
  composer.edit(message('m', 'before'));
  click(composer.node, texts.cancel);
  composer.submit();
  assert.equal(composer.sends[1].draft.id, first.draft.id);
});

test('an edit ends when another conversation is shown', async () => {
  const composer = composerOf();
  type(composer.node, 'kept');
  await composer.attach('a.txt');
  composer.edit({ ...message('m', 'before'), parts: [...message('m', 'before').parts, { type: 'file', filename: 'old.txt', url: '' }] });
  composer.show('other');
  assert.deepEqual(composer.read(), ['kept', false]);
  composer.submit();
  const { text, files, replaces } = composer.sends[0];
  assert.deepEqual([text, files, replaces], ['kept', [], undefined]);
});

test('an edit goes on when the same conversation is loaded again', () => {
  const composer = composerOf();
  composer.edit(message('m', 'before'));
  composer.show('c');
  assert.deepEqual(composer.read(), ['before', true]);
});

test('a text that was not accepted is another message in another conversation, also after a reload', async () => {
  for (const other of ['other', undefined]) {
    const composer = composerOf();
    const first = send(composer, 'one');
    await first.end(false);
    composer.show(other);
    assert.deepEqual(stored(composer), { text: 'one' });
    composer.submit();
    assert.notEqual(composer.sends[1].draft.id, first.draft.id);
    assert.notEqual(composer.sends[1].draft.chat, 'c');
  }
});

test('an edit that fails after its conversation was left is a text of the next one', async () => {
  const composer = composerOf();
  composer.edit(message('m', 'before'));
  const first = send(composer, 'after');
  composer.show('other');
  await first.end(false);
  assert.deepEqual(composer.read(), ['after', false]);
  composer.submit();
  const { draft, replaces } = composer.sends[1];
  assert.deepEqual([draft.chat, replaces], ['other', undefined]);
});

test('the text of somebody who has signed out is not stored again', async () => {
  const composer = composerOf();
  const first = send(composer, 'secret');
  type(composer.node, 'secret');
  composer.store.clear();
  composer.node.isConnected = false;
  composer.show(undefined);
  await first.end(false);
  assert.deepEqual(stored(composer), {});
});

test('Enter sends, but not while a candidate of an input method is chosen', () => {
  const composer = composerOf();
  type(composer.node, 'かな');
  const input = inputOf(composer.node);
  for (const members of [{ isComposing: true }, { keyCode: 229 }]) {
    assert.equal(press(input, 'Enter', members), false);
    assert.equal(composer.sends.length, 0);
  }
  assert.equal(press(input, 'Enter', { keyCode: 13 }), true);
  assert.equal(composer.sends.length, 1);
});
