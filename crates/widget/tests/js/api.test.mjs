// What becomes of sessions that the gateway does not accept any more.

import assert from 'node:assert/strict';
import test from 'node:test';
import { createApi } from '../../assets/api.js';
import { openStore } from '../../assets/store.js';

globalThis.navigator ??= {}; // As in an insecure context: without locks.

/** A gateway that accepts the sessions that it has issued, and what was asked of it. */
function gatewayOf() {
  const issued = [];
  const requests = [];
  globalThis.fetch = async (url, { method, headers }) => {
    const { pathname } = new URL(url);
    requests.push(`${method} ${pathname}`);
    if (pathname === '/api/sessions') {
      issued.push(`session-${issued.length}`);
      return Response.json({ sessionId: issued.at(-1) });
    }
    return issued.includes(headers['x-session-id']) ? Response.json({}) : Response.json({ code: 'SESSION_INVALID' }, { status: 401 });
  };
  return requests;
}

const apiOf = (store) => createApi({ gateway: 'http://gateway.test', key: 'key', store, identity: { token: () => undefined } });
const code = (promise) => promise.then(() => 'OK', (problem) => problem.code);

test('every request of a conversation fails after its session has expired, until another one is begun', async () => {
  const requests = gatewayOf();
  const store = openStore('expired');
  store.set('session', 'of nobody');
  store.set('chat', 'c');
  const api = apiOf(store);
  // A read in the background finds it out first.
  assert.equal(await code(api.json('GET', '/api/chats/c')), 'SESSION_INVALID');
  assert.equal(await code(api.request('POST', '/api/chat', { body: {} })), 'SESSION_EXPIRED');
  assert.deepEqual(requests, ['GET /api/chats/c']);
  store.remove('chat');
  assert.equal(await code(api.request('POST', '/api/chat', { body: {} })), 'OK');
  assert.deepEqual(requests.slice(1), ['POST /api/sessions', 'POST /api/chat']);
});

test('a visitor without a conversation gets another session at once', async () => {
  const requests = gatewayOf();
  const store = openStore('empty');
  store.set('session', 'of nobody');
  assert.equal(await code(apiOf(store).request('POST', '/api/chat', { body: {} })), 'OK');
  assert.deepEqual(requests, ['POST /api/chat', 'POST /api/sessions', 'POST /api/chat']);
});
