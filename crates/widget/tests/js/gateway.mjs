// A gateway whose requests a test answers, one by one.

import assert from 'node:assert/strict';
import { after } from 'node:test';

const DEADLINE_MS = 5_000;

/**
 * `next(name)` resolves to the first open request with this method and path: `{body, headers, answer(value), fail(error)}`.
 * `requests()` are the names of the open ones.
 */
export function gatewayOf() {
  const asked = [];
  const request = (method, path, { body, headers, signal } = {}) =>
    new Promise((answer, fail) => {
      asked.push({ name: `${method} ${path}`, body, headers, answer, fail });
      signal?.addEventListener('abort', () => fail(signal.reason));
    });
  const next = async (name) => {
    await until(() => asked.some((one) => one.name === name));
    return asked.splice(asked.findIndex((one) => one.name === name), 1)[0];
  };
  return { api: { request, json: request }, next, requests: () => asked.map(({ name }) => name) };
}

/** A stream of these events, which stays open until its `end()` or the end of the test. */
export function streamOf(...events) {
  let end;
  const body = new ReadableStream({
    start(stream) {
      for (const event of events) stream.enqueue(new TextEncoder().encode(event));
      end = () => {
        end = () => {};
        stream.close();
      };
    },
  });
  // A reader of an open stream waits with a timer, which would keep the process.
  after(() => end());
  return Object.assign(new Response(body, { headers: { 'x-run-id': 'run' } }), { end: () => end() });
}

/** Waits for a condition. */
export async function until(isTrue) {
  for (const end = Date.now() + DEADLINE_MS; !isTrue(); await new Promise(setImmediate)) assert.ok(Date.now() < end, `${isTrue}`);
}

/** Lets everything run that waits for nothing else. */
export async function settle() {
  for (let round = 0; round < 10; round += 1) await new Promise(setImmediate);
}
