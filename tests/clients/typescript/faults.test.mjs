// Killed gateways and writers: streams continue without a gap or a repeat, and items are recorded once.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { HansardSession } from '@hansard/client/agents';

import { chatsOf, hansardOf, until, words } from './fixture.mjs';
import { gatewayRole, writerRole } from './roles.mjs';

const KILLS = 3;

const user = (content) => ({ role: 'user', content });

// Each test kills processes of its own.
describe('killed processes', { concurrency: true }, () => {
  test('a stream continues when its gateway is killed and started again', async (t) => {
    const gateway = await gatewayRole();
    t.after(gateway.kill);
    await gateway.start();
    const writing = chatsOf();
    const chat = await writing.createChat();
    const count = 900;
    // The gateway of `hansard dev` runs the answer, and this one streams it.
    const { runId } = await chat.send(words(count));
    const reading = chatsOf({ url: gateway.url, session: await writing.session() });
    const answer = await reading.chat(chat.id).resume({ run: runId });
    const chunks = [];
    let [text, kills, restarted] = ['', 0, undefined];
    for await (const chunk of answer) {
      chunks.push(chunk);
      if (chunk.type === 'text-delta') text += chunk.delta;
      if (kills >= KILLS || !text.includes(`w${100 * (kills + 1)} `)) continue;
      kills += 1;
      await restarted;
      await gateway.kill();
      restarted = gateway.start();
    }
    await restarted;
    assert.equal(kills, KILLS);
    assert.equal(text, `echo: ${words(count)}`);
    const whole = [];
    for await (const chunk of await chat.resume({ run: runId })) whole.push(chunk);
    assert.deepEqual(chunks, whole);
  });

  test('the answer of a killed gateway ends, and keeps its text', async (t) => {
    const gateway = await gatewayRole();
    t.after(gateway.kill);
    await gateway.start();
    const chats = chatsOf({ url: gateway.url });
    const chat = await chats.createChat();
    let [text, last, restarted] = ['', '', undefined];
    for await (const chunk of await chat.send(words(3_000))) {
      last = chunk.type;
      if (chunk.type === 'text-delta') text += chunk.delta;
      if (restarted || !text.includes('w20 ')) continue;
      await gateway.kill();
      restarted = gateway.start();
    }
    await restarted;
    assert.equal(last, 'error');
    assert.ok(`echo: ${words(3_000)}`.startsWith(text) && text.includes('w20 '), text);
    const { messages } = await chat.get();
    assert.equal(messages.at(-1).parts.find(({ type }) => type === 'text').text, text);
  });

  test('live events continue when their gateway is killed and started again', async (t) => {
    const gateway = await gatewayRole();
    t.after(gateway.kill);
    await gateway.start();
    const conversation = await hansardOf().createConversation({ userId: 'ada' });
    const aborting = new AbortController();
    const versions = [];
    const watching = (async () => {
      for await (const { version } of hansardOf({ url: gateway.url }).conversation(conversation.id).watch({ signal: aborting.signal })) versions.push(version);
    })();
    watching.catch(() => undefined);
    for (let kill = 0; kill < KILLS; kill += 1) {
      const last = (await conversation.append({ messages: [user('before')] })).version;
      await until(() => versions.at(-1) === last, 'an event before the kill');
      await gateway.kill();
      await conversation.append({ messages: [user('meanwhile')] });
      await gateway.start();
    }
    await until(() => versions.length === 1 + 2 * KILLS, 'all events');
    aborting.abort();
    assert.deepEqual(versions, Array.from({ length: 1 + 2 * KILLS }, (_, index) => index + 1));
  });

  test('a session loses and doubles nothing when writer and gateway are killed', async (t) => {
    const writer = await writerRole();
    const gateway = await gatewayRole(writer.url);
    t.after(() => Promise.all([writer.kill(), gateway.kill()]));
    await writer.start();
    await gateway.start();
    const session = new HansardSession({ hansard: hansardOf({ url: gateway.url, retries: 20 }) });
    await session.addItems([user('first')]);
    const items = Array.from({ length: 300 }, (_, number) => user(`${number}`));
    let [added, kills] = [0, 0];
    const adding = (async () => {
      for (const item of items) {
        if (added % 3 < 2) await session.addItems([item]);
        else await session.applyHistoryTransaction({ operationId: `${added}`, transaction: { type: 'append_items', items: [item] } });
        added += 1;
      }
    })();
    // Each is killed while items are added, and stays away for a moment.
    for (const role of [writer, gateway, writer, writer, gateway]) {
      const before = added;
      await until(() => added >= before + 20, 'more items');
      await role.kill();
      kills += 1;
      await role.start();
    }
    await adding;
    assert.equal(kills, 5);
    const recorded = await new HansardSession({ hansard: hansardOf(), id: await session.getSessionId() }).getItems();
    assert.deepEqual(recorded, [user('first'), ...items]);
    console.log(`${items.length} items, ${kills} kills: ${recorded.length - 1} recorded, each once`);
  });
});
