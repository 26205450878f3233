// Random items of @openai/agents and random messages of the AI SDK come back equal. SEED repeats a run.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { HansardSession } from '@hansard/client/agents';
import { loadChat, saveChat } from '@hansard/client/ai';

import { hansardOf } from './fixture.mjs';
import { below, members, one, optional, random, seed, some, text } from './random.mjs';

const ITEMS = 400;
const SAVES = 30;
const shared = () => ({ ...optional('providerData', members), ...optional('id', text) });
const status = () => one('completed', 'in_progress', 'incomplete');

const entry = () => ({
  ...one(
    { type: 'input_text', text: text() },
    { type: 'output_text', text: text() },
    { type: 'refusal', refusal: text() },
    { type: 'input_image', image: one('https://example.org/a.png', 'data:image/png;base64,AA', text(), { id: text() }) },
    { type: 'input_file', file: one(text(), { url: text() }), filename: text() },
    { type: 'audio', audio: text(), transcript: null },
    { type: 'input_text', text: null },
  ),
  ...optional('providerData', members),
});
const callId = () => one('c1', 'c2', 'c3', text());
const output = () => one(text(), { type: 'text', text: text() }, some(entry), { type: 'text', text: null }, null, { type: 'image', image: new Uint8Array([below(256), 0]) });
const item = () =>
  one(
    () => ({ ...shared(), ...optional('type', () => 'message'), role: one('user', 'assistant', 'system', 'critic'), content: one(text(), some(entry), null) }),
    () => ({ ...shared(), type: 'message', role: 'assistant', status: status(), content: some(entry) }),
    () => ({ ...shared(), type: 'function_call', callId: callId(), name: one('f', 'g', text()), arguments: one('{}', '{ "a":1}', text()), status: status() }),
    () => ({ ...shared(), type: 'function_call_result', callId: callId(), name: one('f', 'g', text()), output: output(), status: status() }),
    () => ({ ...shared(), type: one('reasoning', 'hosted_tool_call', text()), content: some(entry), ...members() }),
  )();

test(`${ITEMS} random items (SEED=${seed})`, async () => {
  const session = new HansardSession({ hansard: hansardOf() });
  const items = [];
  while (items.length < ITEMS) {
    const added = Array.from({ length: 1 + below(30) }, item);
    await session.addItems(added);
    items.push(...added);
    while (random() < 0.3) assert.deepEqual(await session.popItem(), items.pop());
  }
  const stored = await session.getItems();
  for (const [index, expected] of items.entries()) assert.deepEqual(stored[index], expected, `item ${index}`);
  assert.equal(stored.length, items.length);
  // A context can be made of them.
  await session.conversation.context({ format: 'openai-responses' });
});

let calls = 0;
const called = (state) => ({ toolCallId: `call_${calls++}`, state, input: members(), ...optional('callProviderMetadata', members) });
const part = () =>
  one(
    () => ({ type: 'text', text: text(), ...optional('state', () => 'done') }),
    () => ({ type: 'reasoning', text: text(), ...optional('providerMetadata', members) }),
    () => ({ type: 'file', url: one('data:image/png;base64,AA', 'https://example.org/a.pdf', text()), mediaType: one('image/png', 'application/pdf', text()), ...optional('filename', text) }),
    () => ({ type: 'step-start' }),
    () => ({ type: 'data-x', data: members() }),
    () => ({ type: `tool-${one('f', 'g')}`, ...called('output-available'), output: one(text(), members(), null, 3) }),
    () => ({ type: 'dynamic-tool', toolName: 'h', ...called('output-error'), errorText: text() }),
    () => ({ type: 'tool-f', ...called(one('input-available', 'input-streaming', 'approval-requested')) }),
  )();
const message = (_, index) => ({ id: one(`m${index}`, text()), role: one('user', 'assistant', 'system'), parts: some(part), ...optional('metadata', members) });

test(`${SAVES} saves of random messages (SEED=${seed})`, async () => {
  const chat = { hansard: hansardOf(), chatId: `random-${seed}-${Date.now()}` };
  let messages = [];
  for (let save = 0; save < SAVES; save += 1) {
    messages = [...messages.slice(0, messages.length - below(3)), ...Array.from({ length: below(5) }, message)];
    await saveChat({ ...chat, messages });
    assert.deepEqual(await loadChat(chat), messages, `save ${save}`);
  }
  await chat.hansard.conversation(chat.chatId).context({ format: 'openai-chat' });
});
