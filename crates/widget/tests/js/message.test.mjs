// Messages: chunks of a stream make the message that the record has; open calls; files by their content; problems.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { acceptedOf, attach, typeOf } from '../../assets/attachments.js';
import { eventsOf } from '../../assets/events.js';
import { emptyAnswer, fromRecord, openCalls, textOf, withChunk } from '../../assets/message.js';
import { explain } from '../../assets/problems.js';
import { texts as german } from '../../assets/texts-de.js';
import { texts } from '../../assets/texts.js';

const fold = (chunks, message = emptyAnswer('r')) => chunks.reduce(withChunk, message);

test('chunks build a message', () => {
  const chunks = [
    { type: 'start', messageId: 'm' },
    { type: 'text-start', id: 'a' },
    { type: 'text-delta', id: 'a', delta: 'One' },
    { type: 'text-delta', id: 'a', delta: ' two' },
    { type: 'tool-input-start', toolCallId: 'c', toolName: 't' },
    { type: 'tool-input-available', toolCallId: 'c', toolName: 't', input: { a: 1 } },
    { type: 'tool-approval-request', toolCallId: 'c', approvalId: 'c' },
    { type: 'data-unknown', data: {} },
    { type: 'message-metadata', messageMetadata: { outcome: 'completed', errorText: null } },
  ];
  const message = fold(chunks);
  assert.equal(message.id, 'm');
  assert.equal(textOf(message), 'One two');
  assert.deepEqual(message.parts[1], { type: 'tool', toolName: 't', toolCallId: 'c', state: 'approval-requested', input: { a: 1 } });
  assert.deepEqual(openCalls(message).map(({ toolCallId }) => toolCallId), ['c']);
  const done = fold([{ type: 'tool-output-available', toolCallId: 'c', output: 5 }, { type: 'abort' }], message);
  assert.deepEqual(openCalls(done), []);
  assert.equal(done.metadata.outcome, 'stopped');
});

test('a chunk of something that is not there changes nothing', () => {
  const message = emptyAnswer('r');
  for (const chunk of [{ type: 'text-delta', id: 'x', delta: 'y' }, { type: 'tool-output-available', toolCallId: 'x' }, { type: 'toString' }, {}]) {
    assert.deepEqual(withChunk(message, chunk), message);
  }
});

test('recorded calls have the form of streamed ones', () => {
  const parts = [{ type: 'tool-get-time', toolCallId: 'c', state: 'input-available', input: {} }, { type: 'dynamic-tool', toolName: 'other', toolCallId: 'd' }, { type: 'text', text: 'x' }];
  const message = fromRecord({ id: 'm', role: 'assistant', parts });
  assert.deepEqual(message.parts.map(({ type, toolName }) => [type, toolName]), [['tool', 'get-time'], ['tool', 'other'], ['text', undefined]]);
});

test('events are read over any cuts', async () => {
  const text = 'id: r:1\ndata: {"a": "ü: b"}\n\n: comment\n\nevent: end\ndata:x\n\n';
  const bytes = new TextEncoder().encode(text);
  for (const size of [1, 2, 7, bytes.length]) {
    const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) => bytes.slice(index * size, (index + 1) * size));
    const found = [];
    for await (const event of eventsOf(new Response(ReadableStream.from(pieces)))) found.push(event);
    assert.deepEqual(found, [{ id: 'r:1', data: '{"a": "ü: b"}' }, { '': 'comment' }, { event: 'end', data: 'x' }]);
  }
});

test('the type of a file is read from its content', () => {
  const bytes = (...values) => Uint8Array.from(values);
  const cases = [
    [bytes(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a), 'image/png'],
    [bytes(0xff, 0xd8, 0xff, 0xe0), 'image/jpeg'],
    [new TextEncoder().encode('GIF89a'), 'image/gif'],
    [new TextEncoder().encode('RIFF....WEBP'), 'image/webp'],
    [new TextEncoder().encode('%PDF-1.7'), 'application/pdf'],
    [new TextEncoder().encode('Grüße\n\t'), 'text/plain'],
    [new TextEncoder().encode('<script>'), 'text/plain'],
    [bytes(0x4d, 0x5a, 0, 0), undefined],
    [bytes(0xff, 0xfe, 0x41), undefined],
  ];
  for (const [content, expected] of cases) assert.equal(typeOf(content), expected);
});

test('files are accepted by type, size and number', async () => {
  const file = (name, content) => new File([content], name);
  const accepted = { types: ['text/plain'], bytesMax: 360 * 1024, filesMax: 5 };
  const check = async (files, attached, expected, bounds) => {
    const { parts, refused } = await attach(files, attached, { ...accepted, ...bounds });
    assert.deepEqual([parts.map(({ filename }) => filename), refused && Object.values(refused)], expected);
    return parts;
  };
  const [part] = await check([file('a\u0000.txt', 'hello')], [], [['a.txt'], undefined]);
  assert.deepEqual(part, { type: 'file', mediaType: 'text/plain', filename: 'a.txt', url: 'data:text/plain;base64,aGVsbG8=' });
  await check([file('a.txt', '%PDF-1.7')], [], [[], ['FILE_TYPE_REFUSED']]);
  await check([file('a.txt', 'x'.repeat(360 * 1024))], [], [['a.txt'], undefined]);
  await check([file('a.txt', 'x'.repeat(360 * 1024 + 1))], [], [[], ['FILE_TOO_LARGE', 360]]);
  const large = 'x'.repeat(200 * 1024);
  await check([file('a.txt', large), file('b.txt', large)], [], [['a.txt'], ['FILES_TOO_LARGE', 360]]);
  await check([file('a.txt', 'x'.repeat(2049))], [], [[], ['FILE_TOO_LARGE', 2]], { bytesMax: 2048 });
  await check([file('a.txt', 'x'.repeat(2048)), file('b.txt', 'x')], [], [['a.txt'], ['TOO_MANY_FILES', 1]], { bytesMax: 2048, filesMax: 1 });
  const six = Array.from({ length: 6 }, (_, index) => file(`${index}.txt`, 'x'));
  await check(six, [], [['0.txt', '1.txt', '2.txt', '3.txt', '4.txt'], ['TOO_MANY_FILES', 5]]);
});

test('a page offers no more than the agent accepts', () => {
  const agent = { media_types: ['image/png', 'text/plain'], file_bytes_max: 7, files_max: 2 };
  const check = (settings, named, expected) => assert.deepEqual(acceptedOf(settings, named).types, expected);
  check(undefined, ['text/plain'], []);
  check(agent, undefined, ['image/png', 'text/plain']);
  check(agent, ['text/plain', 'application/pdf'], ['text/plain']);
  check(agent, [], []);
  assert.deepEqual(acceptedOf(agent, []), { types: [], bytesMax: 7, filesMax: 2 });
});

test('each fault has its text and its next step, in both languages', () => {
  assert.deepEqual(Object.keys(german), Object.keys(texts));
  assert.deepEqual(Object.keys(german.toolStates), Object.keys(texts.toolStates));
  const steps = { UNREACHABLE: 'retry', KEY_REJECTED: 'retry', SESSION_EXPIRED: 'fresh', USER_TOKEN_EXPIRED: 'retry', RATE_LIMITED: 'retry', CONVERSATION_NOT_FOUND: 'fresh', CONVERSATION_ARCHIVED: 'restore', SOMETHING_NEW: 'retry' };
  const found = Object.entries(steps).map(([code, action]) => {
    for (const language of [texts, german]) assert.equal(explain({ code }, language).action, action, code);
    return explain({ code }, texts).text;
  });
  assert.equal(new Set(found).size, found.length);
  assert.match(explain({ code: 'RATE_LIMITED', retryAfterS: 7 }, texts).text, /7 s/);
});
