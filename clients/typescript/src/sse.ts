// The server-sent events of a response.

import { createParser, type EventSourceMessage, type ParseError } from 'eventsource-parser';

import { HansardError } from './errors.js';

/** The gateway sends a comment every 15 s: a connection that is silent for longer is lost. */
const IDLE_MS_MAX = 45_000;
/** The gateway sends no event that is larger. */
const BUFFER_CHARS_MAX = 32 * 1024 * 1024;

/** Each event. Ends with the response; fails if the connection is lost, silent for too long, or aborted. */
export async function* serverSentEvents(response: Response, signal?: AbortSignal): AsyncGenerator<EventSourceMessage, void, undefined> {
  if (!response.body) return;
  const received: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (event) => received.push(event), onError: refuse, maxBufferSize: BUFFER_CHARS_MAX });
  const decoder = new TextDecoder();
  const reader = response.body.getReader();
  try {
    for (;;) {
      const { value, done } = await inTime(reader.read(), signal);
      if (done) return;
      parser.feed(decoder.decode(value, { stream: true }));
      yield* received.splice(0);
    }
  } finally {
    reader.cancel().catch(() => undefined); // It may be closed.
  }
}

function refuse(error: ParseError): void {
  if (error.type === 'max-buffer-size-exceeded') throw new HansardError('ANSWER_UNREADABLE', 'an event of the stream is too large', { cause: error });
}

function inTime<T>(read: Promise<T>, signal?: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal?.reason);
    const late = () => reject(new HansardError('TIMEOUT', 'the stream is silent'));
    const timer = setTimeout(late, IDLE_MS_MAX);
    if (signal?.aborted) abort();
    signal?.addEventListener('abort', abort, { once: true });
    read.then(resolve, reject).finally(() => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    });
  });
}
