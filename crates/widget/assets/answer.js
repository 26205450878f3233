// Follows the answer of a run to its end: over lost connections, stopped gateways and reloads.

import { Problem } from './api.js';
import { eventsOf } from './events.js';
import { emptyAnswer, withChunk } from './message.js';

const ATTEMPTS_MAX = 30;
const PAUSE_MS_MAX = 10_000;

export const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/**
 * Reads the stream of `run`, the first time from `response` if there is one, onto `message`. `onMessage` gets each state of the
 * answer; `isActive()` reads the conversation again and tells whether the run goes on; `onLoss` is told of a lost connection.
 */
export async function followAnswer({ api, path, run, response, message, onMessage, onLoss, isActive, signal }) {
  let last;
  for (let failures = 0; failures < ATTEMPTS_MAX && !signal.aborted; failures += 1) {
    try {
      const headers = last ? { 'last-event-id': last } : {};
      response ??= await api.request('GET', `${path}/stream?run=${run}`, { headers, signal });
      // A stream from the first part repeats the whole message.
      if (!message) message = emptyAnswer(run);
      for await (const event of response.status === 204 ? [] : eventsOf(response)) {
        failures = 0;
        last = event.id ?? last;
        if (event.data && event.data !== '[DONE]') onMessage((message = withChunk(message, JSON.parse(event.data))));
      }
      if (!(await isActive())) return;
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Problem && error.status >= 400 && error.status < 429) throw error;
      onLoss();
    }
    response = undefined;
    if (!last) message = undefined;
    await pause(Math.min(200 * 2 ** failures, PAUSE_MS_MAX));
  }
  if (!signal.aborted) throw new Problem('UNREACHABLE');
}
