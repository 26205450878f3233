// A live conversation as a store: its history, then each new event, and the answer that is being written.

import type { Answer } from '../answer.js';
import type { RequestOptions } from '../http.js';
import type { WatchOptions } from '../live.js';
import type { Part, RecordedEvent } from '../types.js';

/** The newest events that are kept. */
const EVENTS_MAX = 1_000;

/** A conversation that can be watched: a `Chat` or a `Conversation`. Only a chat shows answers while they are written. */
export interface Watched {
  readonly id: string;
  get(query?: object, options?: RequestOptions): Promise<{ version: number }>;
  watch(options: WatchOptions): AsyncIterable<RecordedEvent>;
  resume?(query: { run?: string }, options?: RequestOptions): Promise<Answer | undefined>;
}

export interface LiveMessage {
  id: string;
  version: number;
  role: 'user' | 'assistant' | 'system' | 'developer';
  /** The texts of the parts. */
  text: string;
  parts: Part[];
}

export interface LiveConversation {
  /** `loading` until the history is complete, `live` while new events arrive, `lost` while it reconnects, `failed` at the end. */
  status: 'loading' | 'live' | 'lost' | 'failed';
  /** The newest events that readers see, in order: without those that a rewind hides. */
  events: readonly RecordedEvent[];
  /** Their messages. */
  messages: readonly LiveMessage[];
  /** The text so far of the answer that is being written. */
  answer: string | undefined;
  /** Why it failed. */
  error: unknown;
}

export interface LiveStore {
  subscribe(listener: () => void): () => void;
  getSnapshot(): LiveConversation;
}

export const LOADING: LiveConversation = { status: 'loading', events: [], messages: [], answer: undefined, error: undefined };

/** Reads while somebody listens. */
export function liveStore(source: Watched, eventsMax: number = EVENTS_MAX): LiveStore {
  const listeners = new Set<() => void>();
  let snapshot = LOADING;
  let reading: AbortController | undefined;
  const set = (changes: Partial<LiveConversation>) => {
    snapshot = { ...snapshot, ...changes };
    for (const listener of listeners) listener();
  };
  return {
    getSnapshot: () => snapshot,
    subscribe(listener) {
      listeners.add(listener);
      if (!reading) {
        reading = new AbortController();
        void read({ source, eventsMax, set, signal: reading.signal });
      }
      return () => {
        listeners.delete(listener);
        if (listeners.size > 0) return;
        reading?.abort();
        reading = undefined;
      };
    },
  };
}

interface Reading {
  source: Watched;
  eventsMax: number;
  set(changes: Partial<LiveConversation>): void;
  signal: AbortSignal;
}

async function read(reading: Reading): Promise<void> {
  const { source, eventsMax, signal } = reading;
  // After an abort nobody may hear of a reading that another one has replaced.
  const set: Reading['set'] = (changes) => signal.aborted || reading.set(changes);
  let events: RecordedEvent[] = [];
  let run: string | undefined;
  let isLive = false;
  const show = () => {
    set({ status: 'live', events, messages: events.flatMap(messageOf), ...(!run && { answer: undefined }) });
    if (run) void follow({ ...reading, set }, run, () => run);
  };
  const onCaughtUp = () => {
    isLive = true;
    show();
  };
  const onLost = () => {
    isLive = false;
    set({ status: 'lost' });
  };
  try {
    const { version } = await source.get({}, { signal });
    for await (const event of source.watch({ after: Math.max(0, version - eventsMax), signal, onCaughtUp, onLost })) {
      events = withEvent(events, event).slice(-eventsMax);
      const started = event.type === 'RunStarted' ? event.runId : undefined;
      if (started || event.type === 'RunFinished') run = started;
      if (isLive) show();
    }
  } catch (error) {
    set({ status: 'failed', answer: undefined, error });
  }
}

/** Shows the answer of a run until its end; the events have the whole answer afterwards. */
async function follow({ source, set, signal }: Reading, run: string, current: () => string | undefined): Promise<void> {
  if (!source.resume || followed.get(signal) === run) return;
  followed.set(signal, run);
  let text = '';
  try {
    const answer = await source.resume({ run }, { signal });
    for await (const chunk of answer ?? []) {
      if (chunk.type === 'text-delta') text += chunk.delta;
      if (current() !== run) return;
      if (chunk.type === 'text-delta') set({ answer: text });
    }
  } catch {
    // The record has the end of the run.
  }
}

/** The run that each reading follows. */
const followed = new WeakMap<AbortSignal, string>();

/** The events that readers see after another one. */
function withEvent(events: RecordedEvent[], event: RecordedEvent): RecordedEvent[] {
  if (event.type !== 'HistoryRewound') return [...events, event];
  return events.filter(({ version }) => version <= event.to);
}

function messageOf(event: RecordedEvent): LiveMessage[] {
  if (event.type !== 'MessageAppended') return [];
  const texts = event.parts.map((part) => (part.type === 'text' || part.type === 'refusal' ? part.text : ''));
  return [{ id: event.eventId, version: event.version, role: event.role as LiveMessage['role'], text: texts.join(''), parts: event.parts }];
}
