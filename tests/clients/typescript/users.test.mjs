// Users: tokens that expire, and the chats of a session before its visitor has signed in. Searches of users and back ends.

import assert from 'node:assert/strict';
import { createHmac, randomUUID } from 'node:crypto';
import { test } from 'node:test';

import { chatsOf, hansardOf, until } from './fixture.mjs';

const encoded = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');

function tokenOf(sub, seconds = 600) {
  const now = Math.floor(Date.now() / 1000);
  const body = `${encoded({ alg: 'HS256', typ: 'JWT', kid: 'check' })}.${encoded({ sub, iat: now - 600, exp: now + seconds })}`;
  return `${body}.${createHmac('sha256', process.env.CHECK_USER_SECRET).update(body).digest('base64url')}`;
}

async function idsOf(chats) {
  const ids = [];
  for await (const { id } of chats.chats()) ids.push(id);
  return ids.sort();
}

test('a user takes over the chats of a session', async () => {
  const visitor = chatsOf();
  const ids = [(await visitor.createChat()).id, (await visitor.createChat()).id].sort();
  const user = chatsOf({ session: await visitor.session(), userToken: tokenOf(randomUUID()) });
  assert.deepEqual(await idsOf(user), []);
  assert.equal(await user.claimSession(), 2);
  assert.deepEqual(await idsOf(user), ids);
  await assert.rejects(visitor.chat(ids[0]).get(), { code: 'CONVERSATION_NOT_FOUND' });
  assert.equal(await user.claimSession(), 0);
});

test('an expired token is asked for again, once', async () => {
  const name = randomUUID();
  const tokens = [tokenOf(name, -300), tokenOf(name)];
  const chats = chatsOf({ userToken: () => (tokens.length > 1 ? tokens.shift() : tokens[0]) });
  const chat = await chats.createChat();
  assert.deepEqual((await chat.get()).owner, { userId: name });
  let asked = 0;
  const expired = chatsOf({ userToken: () => (asked++, tokenOf(name, -300)) });
  await assert.rejects(expired.chat(chat.id).get(), { code: 'USER_TOKEN_EXPIRED', status: 401 });
  assert.equal(asked, 2);
});

test('users and back ends search', async () => {
  const word = `parcel${randomUUID().slice(0, 8)}`;
  const chats = chatsOf();
  const chat = await chats.createChat();
  await (await chat.send(`Where is my ${word}?`)).text();
  await chat.update({ metadata: { topic: 'parcels' } });
  assert.deepEqual((await chat.get()).metadata, { topic: 'parcels' });
  const found = async (client) => (await client.search({ q: word })).results.map(({ conversationId }) => conversationId);
  await until(async () => (await found(chats)).includes(chat.id), 'a result for the user');
  await until(async () => (await found(hansardOf())).includes(chat.id), 'a result for the back end');
  assert.deepEqual(await found(chatsOf()), []);
});
