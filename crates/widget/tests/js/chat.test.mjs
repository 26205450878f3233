// Which answers of the gateway change the state of a conversation, in the order in which they arrive.

import assert from 'node:assert/strict';
import test from 'node:test';
import { createChat } from '../../assets/chat.js';

const event = 'id: 2\ndata: {"version": 2}\n\n';
const page = (version, messages) => ({ version, messages, title: '', status: 'active' });
const until = async (isTrue) => {
  while (!isTrue()) await new Promise(setImmediate);
};

test('messages that were read before a message was sent do not replace it', async () => {
  const reads = [];
  const api = {
    json: () => new Promise((done) => reads.push(done)),
    request: (method) => (method === 'GET' ? Promise.resolve(new Response(event)) : new Promise(() => {})),
  };
  const store = { set() {} };
  const chat = createChat({ api, store, contextOf: () => ({}), onChange() {}, onAnswer() {} });
  const opened = chat.open('c');
  reads.shift()(page(1, []));
  await opened;
  // An event of another tab is read while the visitor sends a message.
  chat.watch(true);
  await until(() => reads.length === 1);
  chat.send([{ type: 'text', text: 'hello' }]);
  reads.shift()(page(2, []));
  await new Promise(setImmediate);
  assert.equal(chat.state.pending.parts[0].text, 'hello');
  assert.equal(chat.state.phase, 'sending');
  chat.end();
});
