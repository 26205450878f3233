// The events of a conversation: the history after a version, then each new event, once and in order, over lost connections.

import { HansardError, isHansardError } from './errors.js';
import { retryDelayMs, type Http, type RequestOptions } from './http.js';
import { backoffMs, pause } from './pause.js';
import { serverSentEvents } from './sse.js';
import type { RecordedEvent } from './types.js';

/** How often in a row a stream is opened again without receiving anything. */
const FAILURES_MAX = 30;
/** Ends that are final; after every other one the stream is opened again. */
const FINAL_ENDS: string[] = ['CONVERSATION_ERASED', 'CONVERSATION_NOT_FOUND'];

export interface WatchOptions extends RequestOptions {
  /** Only events after this version; absent: from the first. */
  after?: number;
  /** Called when the history up to this version was received; again after a lost connection. */
  onCaughtUp?(version: number): void;
  /** Called when a connection is lost; the stream is opened again. */
  onLost?(error: unknown): void;
}

export interface LiveSource {
  http: Http;
  /** The path of the stream. */
  path: string;
  scope: string;
}

/** The events. Fails when the conversation cannot be read any more, or when the signal aborts. */
export async function* liveEvents(source: LiveSource, options: WatchOptions): AsyncGenerator<RecordedEvent, void, undefined> {
  const { signal, onLost } = options;
  let after = options.after ?? 0;
  let lost: unknown;
  for (let failures = 0; failures < FAILURES_MAX; failures += 1) {
    lost = undefined;
    try {
      for await (const event of connection(source, after, options)) {
        failures = 0;
        if (event.version <= after) continue;
        after = event.version;
        yield event;
      }
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof HansardError && !isTemporary(error)) throw error;
      lost = error;
    }
    if (!isHansardError(lost, 'STREAM_TOO_OLD')) onLost?.(lost);
    await pause(backoffMs(failures), signal);
  }
  throw new HansardError('STREAM_LOST', 'the stream of events was lost: open it again', { cause: lost });
}

async function* connection({ http, path, scope }: LiveSource, after: number, options: WatchOptions): AsyncGenerator<RecordedEvent, void, undefined> {
  const { onCaughtUp, signal, positionToken } = options;
  const response = await http.open({ method: 'GET', path, query: { after }, scope, options: { signal, positionToken } });
  for await (const { event, data } of serverSentEvents(response, signal)) {
    const body: unknown = JSON.parse(data);
    if (event === 'caught-up') onCaughtUp?.((body as { version: number }).version);
    else if (event === 'end') throw endOf(body as { code: string; detail: string });
    else yield body as RecordedEvent;
  }
}

/** The status is that of an answer: none of the ends is one. */
const endOf = ({ code, detail }: { code: string; detail: string }) => new HansardError(code, detail);

function isTemporary(error: HansardError): boolean {
  const isEnd = error.status === 0 && !FINAL_ENDS.includes(error.code);
  return isEnd || retryDelayMs(error, 0) !== undefined;
}
