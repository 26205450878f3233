// Follows what is recorded in a conversation: by other tabs, devices, people and gateways.

import { Problem } from './api.js';
import { pause } from './answer.js';
import { eventsOf } from './events.js';

const PAUSE_MS = 2_000;
const GONE = ['CONVERSATION_ERASED', 'CONVERSATION_NOT_FOUND'];

/** Calls `onEvent` with each event after a version, until the signal aborts. Fails when the conversation cannot be read any more. */
export async function watchChat({ api, path, after, onEvent, signal }) {
  for (let version = after; !signal.aborted; await pause(PAUSE_MS)) {
    try {
      const response = await api.request('GET', `${path}/events?after=${version}`, { signal });
      for await (const { id, event, data } of eventsOf(response)) {
        if (signal.aborted) return;
        if (event === 'end' && GONE.includes(JSON.parse(data).code)) throw new Problem('CONVERSATION_ERASED', { status: 404 });
        if (id) {
          version = id;
          onEvent(JSON.parse(data));
        }
      }
    } catch (error) {
      if (error instanceof Problem && error.status >= 400 && error.status < 429) throw error;
    }
  }
}
