// The answer of a run: its chunks, once and in order, over lost connections and stopped gateways.

import { HansardError } from './errors.js';
import { retryDelayMs, type Call, type Http, type RequestOptions } from './http.js';
import { backoffMs, pause } from './pause.js';
import { serverSentEvents } from './sse.js';

/** How often in a row a stream is opened again without receiving anything new: with the pauses, some four minutes. */
const FAILURES_MAX = 30;
const DONE = '[DONE]';
/** The last chunk of a run is one of these. */
const LAST_CHUNKS = ['finish', 'abort', 'error'];

/** A chunk of the AI SDK's UI message stream, version 1. */
export type AnswerChunk =
  | { type: 'start'; messageId: string }
  | { type: 'start-step' | 'finish-step' | 'abort' }
  | { type: 'text-start' | 'text-end' | 'reasoning-start' | 'reasoning-end'; id: string }
  | { type: 'text-delta' | 'reasoning-delta'; id: string; delta: string }
  | { type: 'file'; url: string; mediaType: string }
  | { type: 'tool-input-start'; toolCallId: string; toolName: string }
  | { type: 'tool-input-delta'; toolCallId: string; inputTextDelta: string }
  | { type: 'tool-input-available'; toolCallId: string; toolName: string; input: unknown }
  | { type: 'tool-approval-request'; approvalId: string; toolCallId: string }
  | { type: 'tool-output-available'; toolCallId: string; output: unknown }
  | { type: 'tool-output-error'; toolCallId: string; errorText: string }
  | { type: 'tool-output-denied'; toolCallId: string }
  | { type: 'message-metadata'; messageMetadata: { outcome?: string; errorText?: string } }
  | { type: 'finish'; finishReason: 'stop' | 'length' | 'content-filter' | 'tool-calls' | 'other' }
  | { type: 'error'; errorText: string }
  | { type: `data-${string}`; id?: string; data: unknown };

/** How a stream is opened again. */
interface AnswerSource {
  http: Http;
  /** The request that opened it: sent again, with the same key, it has the same answer. */
  call: Call;
  /** The path of the chat, such as `/api/chats/ID`. */
  chat: string;
}

/** The answer of a request; undefined: no run is active. */
export async function openAnswer(http: Http, chat: string, request: Call): Promise<Answer | undefined> {
  const isRead = request.method === 'GET' || request.hasOwnKey;
  const call = isRead ? request : { ...request, options: { idempotencyKey: http.newKey(), ...defined(request.options) } };
  const response = await http.open(call);
  if (response.status === 204) return undefined;
  if (response.headers.get('content-type')?.startsWith('text/event-stream')) return new Answer(response, { http, call, chat });
  throw new HansardError('ANSWER_UNREADABLE', 'the gateway did not answer with a stream: check the url', { status: response.status });
}

const defined = (options: RequestOptions = {}): RequestOptions =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));

/** The answer of a run. It is written also if nobody reads it, and can be read once; `chat.resume()` reads it again. */
export class Answer implements AsyncIterable<AnswerChunk> {
  readonly #source: AnswerSource;
  #response: Response | undefined;
  /** The run. */
  readonly runId: string;

  constructor(response: Response, source: AnswerSource) {
    this.#response = response;
    this.#source = source;
    this.runId = response.headers.get('x-run-id') ?? '';
  }

  /** The whole text. An answer that failed has the text until then; its `error` chunk is in the stream. */
  async text(): Promise<string> {
    let text = '';
    for await (const chunk of this) if (chunk.type === 'text-delta') text += chunk.delta;
    return text;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<AnswerChunk, void, undefined> {
    const first = this.#response;
    if (!first) throw new HansardError('STREAM_LOST', 'an answer can be read once: use chat.resume()');
    this.#response = undefined;
    yield* chunksOf(first, this.runId, this.#source);
  }
}

async function* chunksOf(first: Response, run: string, source: AnswerSource): AsyncGenerator<AnswerChunk, void, undefined> {
  const signal = source.call.options?.signal;
  let response: Response | undefined = first;
  let last: string | undefined;
  let isOver = false;
  for (let failures = 0; failures < FAILURES_MAX; failures += 1) {
    try {
      response ??= await reopened(run, last, source);
      // The end of the stream follows the last chunk when the answer is recorded: then a read contains it.
      for await (const { id, chunks } of partsOf(response, signal)) {
        yield* chunks;
        failures = 0;
        last = id;
        isOver = chunks.some(({ type }) => LAST_CHUNKS.includes(type));
      }
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof HansardError && retryDelayMs(error, failures) === undefined) throw error;
    }
    if (isOver) return;
    response = undefined;
    await pause(backoffMs(failures), signal);
  }
  throw new HansardError('STREAM_LOST', 'the stream was lost: load the messages again');
}

/**
 * The stream after the last part. Before the first part it is opened by the same request as before: that of a page that has the
 * earlier message must not have it again.
 */
async function reopened(run: string, last: string | undefined, { http, call, chat }: AnswerSource): Promise<Response> {
  const read = { method: 'GET', path: `${chat}/stream`, query: { run }, scope: call.scope, options: { signal: call.options?.signal } } as const;
  const isRepeated = last === undefined && call.method !== 'GET';
  const response = await http.open(isRepeated ? call : { ...read, ...(last !== undefined && { headers: { 'last-event-id': last } }) });
  if (response.status === 204) {
    throw new HansardError('STREAM_LOST', 'the answer is not streamed any more: load the messages again', { status: 204 });
  }
  return response;
}

/**
 * The chunks of each part. Only the last chunk of a part has an id. Chunks without an id at the end are those of a gateway that
 * shuts down: they are no part of the run, and left out, because the stream continues at another gateway.
 */
async function* partsOf(response: Response, signal?: AbortSignal): AsyncGenerator<{ id: string; chunks: AnswerChunk[] }, void, undefined> {
  let chunks: AnswerChunk[] = [];
  for await (const { id, data } of serverSentEvents(response, signal)) {
    if (data === DONE) return;
    chunks.push(JSON.parse(data) as AnswerChunk);
    if (id === undefined) continue;
    yield { id, chunks };
    chunks = [];
  }
}
