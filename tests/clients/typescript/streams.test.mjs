// Streams over lost connections: every chunk and every event once, and in order.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { chatsOf, hansardOf, proxyOf, until, words } from './fixture.mjs';

async function chunksOf(answer) {
  const chunks = [];
  for await (const chunk of answer) chunks.push(chunk);
  return chunks;
}

const textOf = (chunks) => chunks.flatMap((chunk) => (chunk.type === 'text-delta' ? [chunk.delta] : [])).join('');

test('an answer is the same wherever its stream is cut', async (t) => {
  // The text alone has more bytes.
  const cuts = [1, 100, 300, 301, 500, 700, 900, 1_100, 1_300, 1_500, 1_700];
  const results = await Promise.all(cuts.map(async (cut) => {
    // Each connection is cut, the later ones after more bytes, so that every stream has an end.
    const proxy = await proxyOf(({ url }, number) => (/messages|stream/.test(url) ? { cut: cut + 200 * number } : undefined));
    t.after(proxy.close);
    const chat = await chatsOf({ url: proxy.url }).createChat();
    const answer = await chat.send(words(400));
    const cutChunks = await chunksOf(answer);
    assert.equal(textOf(cutChunks), `echo: ${words(400)}`);
    const resumed = proxy.requests.filter(({ path }) => path.includes('/stream'));
    const recorded = await chat.get();
    assert.equal(recorded.activeRunId ?? undefined, undefined);
    assert.equal(recorded.messages.at(-1).parts.find(({ type }) => type === 'text').text, textOf(cutChunks));
    const again = await chat.resume({ run: answer.runId });
    return { cut, resumes: resumed.length, cutChunks, whole: again && (await chunksOf(again)) };
  }));
  for (const { cut, cutChunks, whole } of results) assert.deepEqual(cutChunks, whole, `cut after ${cut} bytes`);
  assert.ok(results.every(({ resumes }) => resumes > 0), JSON.stringify(results.map(({ resumes }) => resumes)));
});

test('an answer continues after its reader has gone, and is stopped by a command', async () => {
  const chat = await chatsOf().createChat();
  const aborting = new AbortController();
  const answer = await chat.send(words(400), { signal: aborting.signal });
  await assert.rejects(async () => {
    for await (const chunk of answer) if (chunk.type === 'text-delta') aborting.abort();
  }, { name: 'AbortError' });
  await assert.rejects(answer.text(), { code: 'STREAM_LOST' });
  const resumed = await chat.resume();
  assert.equal(await resumed.text(), `echo: ${words(400)}`);
  assert.equal(await chat.resume(), undefined);

  const long = await chat.send(words(2_000));
  const chunks = [];
  for await (const chunk of long) {
    chunks.push(chunk);
    if (chunks.length === 10) assert.equal(await chat.stop(), true);
  }
  assert.equal(chunks.at(-1).type, 'abort');
  assert.ok(textOf(chunks).length < words(2_000).length);
  assert.equal((await chat.get()).messages.at(-1).parts.find(({ type }) => type === 'text').text, textOf(chunks));
  assert.equal(await chat.stop(), false);
});

test('results of calls are sent once, and their answer is the same wherever it is cut', async (t) => {
  const fates = [undefined, { lose: true }, { cut: 1 }, { cut: 90 }, { cut: 300 }];
  let posts = 0;
  const proxy = await proxyOf(({ url }) => (/messages/.test(url) ? fates[posts++] : undefined));
  t.after(proxy.close);
  const chat = await chatsOf({ url: proxy.url }).createChat();
  const called = await chunksOf(await chat.send('How is the weather?'));
  const { toolCallId, input } = called.find(({ type }) => type === 'tool-input-available');
  assert.deepEqual(input, { city: 'Oslo' });
  const chunks = await chunksOf(await chat.send({ toolResults: [{ toolCallId, output: 'cold' }] }));
  assert.equal(textOf(chunks), 'the tool says: cold');
  assert.equal(chunks.filter(({ type }) => type === 'start').length, 1);
  assert.ok(posts >= 4, `${posts} requests`);
  const { messages } = await chat.get();
  assert.equal(messages.length, 2);
  assert.equal(messages[1].parts.filter(({ type }) => type === 'tool-weather').length, 1);
});

test('a run that is not streamed any more says so', async (t) => {
  const chat = await chatsOf().createChat();
  assert.equal(await chat.resume({ run: crypto.randomUUID() }), undefined);
  const proxy = await proxyOf(({ url, headers }, number) => {
    if (url.includes('/messages')) return { cut: 400 + 200 * number };
    return headers['last-event-id'] ? { status: 204 } : undefined;
  });
  t.after(proxy.close);
  const cut = await chatsOf({ url: proxy.url }).createChat();
  await assert.rejects(async () => chunksOf(await cut.send(words(400))), { code: 'STREAM_LOST' });
});

test('events come once and in order, over lost connections', async (t) => {
  const proxy = await proxyOf(({ url }) => (url.includes('/events/stream') ? { cut: 4_000 } : undefined));
  t.after(proxy.close);
  const hansard = hansardOf({ url: proxy.url });
  const conversation = await hansard.createConversation({ userId: 'ada' });
  const event = (text) => ({ type: 'MessageAppended', role: 'user', parts: [{ type: 'text', text }] });
  await conversation.append({ events: Array.from({ length: 30 }, (_, n) => event(`${n}`)) });
  const [aborting, versions, caughtUp, lost] = [new AbortController(), [], [], []];
  const watching = (async () => {
    const options = { signal: aborting.signal, onCaughtUp: (version) => caughtUp.push(version), onLost: (error) => lost.push(error) };
    for await (const { version } of conversation.watch(options)) versions.push(version);
  })();
  watching.catch(() => undefined);
  await until(() => versions.length >= 31, 'the history');
  for (let number = 0; number < 30; number += 1) await conversation.append({ events: [event(`live ${number}`)] });
  await until(() => versions.length >= 61, 'the new events');
  aborting.abort();
  await assert.rejects(watching, { name: 'AbortError' });
  assert.deepEqual(versions, Array.from({ length: 61 }, (_, index) => index + 1));
  assert.ok(caughtUp[0] >= 31, `${caughtUp}`);
  assert.ok(lost.length >= 3, `${lost.length} lost connections`);
  await until(() => proxy.open.size === 0, 'the end of the connection');
});

test('a stream of events starts after a version, and ends with its conversation', async () => {
  const conversation = await hansardOf().createConversation({ userId: 'ada' });
  await conversation.append({ messages: [{ role: 'user', content: 'x' }] });
  const seen = [];
  const watching = (async () => {
    for await (const { version } of conversation.watch({ after: 1 })) {
      seen.push(version);
      if (version === 2) await conversation.erase();
    }
  })();
  await assert.rejects(watching, ({ code }) => ['CONVERSATION_ERASED', 'CONVERSATION_NOT_FOUND'].includes(code));
  assert.equal(seen[0], 2);
  await assert.rejects(hansardOf().conversation('missing').watch().next(), { code: 'CONVERSATION_NOT_FOUND' });
});
