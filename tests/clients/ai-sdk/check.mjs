// Feeds our streams to the AI SDK's own clients and compares their messages with those of our pages.
// `node check.mjs cases.json`; the cases are written by crates/runs/tests/ai_sdk.rs.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

import { javascriptClient } from '../report.mjs';

const API = 'http://127.0.0.1/api/chat';

/** The part of a message that both must agree on. */
function comparable(message, { over = false } = {}) {
  const copy = JSON.parse(JSON.stringify(message));
  for (const part of copy.parts) {
    if (part.type === 'reasoning') delete part.id; // the client's own
    if (part.state === 'input-streaming') delete part.input; // guessed from the text so far
    // No chunk of both releases contains the decision of an approval: only its request is compared.
    if (part.approval) part.approval = { id: part.approval.id };
    if (!['approval-requested', 'output-denied'].includes(part.state)) delete part.approval;
  }
  if (over) {
    // A page drops interrupted calls, and steps without other parts.
    copy.parts = copy.parts.filter(part => part.state !== 'input-streaming');
    if (copy.parts.at(-1)?.type === 'step-start') copy.parts.pop();
  }
  return copy;
}

function transport(sdk, body) {
  const fetch = async () => new Response(body, { headers: { 'content-type': 'text/event-stream' } });
  return new sdk.DefaultChatTransport({ api: API, fetch });
}

/** The message and the errors of a stream. */
async function read(sdk, body, message) {
  const stream = await transport(sdk, body).sendMessages({ chatId: 'c', messages: [], trigger: 'submit-message' });
  const errors = [];
  let last = message;
  const start = message && structuredClone(message);
  for await (const state of sdk.readUIMessageStream({ message: start, stream, onError: e => errors.push(e.message) })) {
    last = state;
  }
  return { last, errors };
}

async function checkCuts(sdk, example) {
  const known = example.before.at(-1);
  const start = known.role === 'assistant' ? known : undefined;
  let body = example.opening;
  for (const [index, cut] of example.cuts.entries()) {
    body += cut.frames;
    const over = index + 1 === example.cuts.length;
    const { last, errors } = await read(sdk, over ? body + example.done : body, start);
    const failed = over && ['failed', 'abandoned'].includes(example.outcome);
    assert.equal(errors.length, failed ? 1 : 0, `errors: ${errors}`);
    if (failed) assert.match(errors[0], /^(An error occurred|The (model|answer) .*)\.$/);
    const made = comparable(last, { over });
    if (cut.shown === null) assert.deepEqual(made.parts, []);
    else assert.deepEqual(made, comparable(cut.shown, { over }));
  }
}

/** A page as frameworks keep it. */
class State {
  status = 'ready';
  error = undefined;
  constructor(messages) {
    this.messages = structuredClone(messages);
  }
  pushMessage = message => {
    this.messages = [...this.messages, message];
  };
  popMessage = () => {
    this.messages = this.messages.slice(0, -1);
  };
  replaceMessage = (index, message) => {
    this.messages = this.messages.with(index, this.snapshot(message));
  };
  snapshot = thing => structuredClone(thing);
}

/** Whether a page shows the message: one without parts only where its run has ended. */
function shown({ parts, metadata }) {
  return parts.length > 0 || Boolean(metadata);
}

async function checkChat(sdk, example, messages, start, ask) {
  class Chat extends sdk.AbstractChat {}
  const body = start + example.cuts.map(cut => cut.frames).join('') + example.done;
  const chat = new Chat({ id: 'c', state: new State(messages), transport: transport(sdk, body) });
  await ask(chat);
  assert.equal(chat.status, ['failed', 'abandoned'].includes(example.outcome) ? 'error' : 'ready', `${chat.error}`);
  const made = chat.messages.map(message => comparable(message, { over: true })).filter(shown);
  assert.deepEqual(made, example.after.map(message => comparable(message, { over: true })));
}

const cases = JSON.parse(readFileSync(process.argv[2]));
for (const release of ['ai6', 'ai7']) {
  const sdk = await import(release);
  let cuts = 0;
  for (const example of cases) {
    await checkCuts(sdk, example);
    cuts += example.cuts.length;
    await checkChat(sdk, example, example.before, example.opening, chat => chat.sendMessage());
    for (const shown of [example.before, example.during]) {
      await checkChat(sdk, example, shown, example.replayed, chat => chat.resumeStream());
    }
  }
  javascriptClient(import.meta.url, 'ai', release).works('Chats', 'every part of a stream');
  console.log(`${release}: ${cases.length} runs, ${cuts} cuts`);
}
