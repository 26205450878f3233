// Requests to the gateway: credentials, position tokens, idempotency keys, bounded retries, and every failure as a HansardError.

import { errorOf, HansardError } from './errors.js';
import { backoffMs, pause } from './pause.js';
import { Positions } from './positions.js';

const TIMEOUT_MS = 30_000;
const RETRIES = 5;
/** A longer `Retry-After` is the caller's: the error is thrown at once. */
const RETRY_AFTER_MS_MAX = 30_000;
/** Answers that another attempt can change. */
const RETRIED_STATUSES = [408, 429, 500, 502, 503, 504];
const RETRIED_CODES: string[] = ['UNREACHABLE', 'TIMEOUT', 'CONTENTION'];
const FINAL_CODES: string[] = ['MODEL_NOT_CONFIGURED', 'RUN_FAILED', 'DATA_CORRUPT'];

/** Options of every client. */
export interface ClientOptions {
  /** The gateway, such as `https://chat.shop.example`. */
  url: string;
  /** Replaces `fetch`. */
  fetch?: typeof globalThis.fetch;
  /** The time for one attempt, of a stream until its first byte; 30 s if absent. */
  timeoutMs?: number;
  /** How often a failed request is tried again; 5 if absent. */
  retries?: number;
}

/** Options of every request. */
export interface RequestOptions {
  /** Ends the request; of a stream also its reading. It does not stop a run: that is `stop()`. */
  signal?: AbortSignal | undefined;
  /** A UUID that identifies the request in all of its retries, also of another process. One is made for each call if it is absent. */
  idempotencyKey?: string | undefined;
  /** The token of a commit of another client: the read includes that commit. */
  positionToken?: string | undefined;
}

export type Query = Record<string, string | number | boolean | undefined>;

export interface Call {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  path: string;
  query?: Query;
  body?: unknown;
  headers?: Record<string, string>;
  /** Whose position tokens are sent and kept, such as a conversation. */
  scope: string;
  options?: RequestOptions | undefined;
  /** Whether the idempotency key is the server's choice if the caller has none. */
  hasOwnKey?: boolean;
}

/** What differs between clients. */
export interface Access {
  credentials(): Promise<Record<string, string>>;
  newKey(): string;
  /** Looks at every answer. */
  received?(response: Response): void;
  /** Whether another attempt has other credentials. */
  mended?(error: HansardError): Promise<boolean>;
}

export class Http {
  readonly #options: ClientOptions;
  readonly #access: Access;
  readonly #positions = new Positions();
  readonly #base: string;

  constructor(options: ClientOptions, access: Access) {
    this.#options = options;
    this.#access = access;
    this.#base = options.url.replace(/\/+$/, '');
  }

  /** A new idempotency key. */
  newKey(): string {
    return this.#access.newKey();
  }

  /** The JSON of a successful answer; undefined if it has no content. */
  json<T>(call: Call): Promise<T> {
    return this.#retried(call, async (response) => {
      if (response.status === 204) return undefined as T;
      const body = await response.text();
      try {
        return JSON.parse(body) as T;
      } catch (cause) {
        throw new HansardError('ANSWER_UNREADABLE', `${call.path} did not answer JSON: check the url`, { status: response.status, cause });
      }
    });
  }

  /** A successful answer whose body is not read yet. */
  open(call: Call): Promise<Response> {
    return this.#retried(call, async (response) => response);
  }

  async #retried<T>(call: Call, read: (response: Response) => Promise<T>): Promise<T> {
    const signal = call.options?.signal;
    const retries = this.#options.retries ?? RETRIES;
    const key = call.method === 'GET' || call.hasOwnKey ? undefined : this.#access.newKey();
    let isMended = false;
    for (let failures = 0; ; ) {
      // Their requests have retries of their own.
      const credentials = await this.#access.credentials();
      try {
        return await this.#attempt(call, this.#headers(call, credentials, key), read);
      } catch (error) {
        signal?.throwIfAborted();
        if (!(error instanceof HansardError)) throw error;
        if (!isMended && (isMended = await this.#isMended(call, error))) continue;
        const delay = retryDelayMs(error, failures);
        if (delay === undefined || failures >= retries) throw error;
        failures += 1;
        await pause(delay, signal);
      }
    }
  }

  async #attempt<T>(call: Call, headers: Record<string, string>, read: (response: Response) => Promise<T>): Promise<T> {
    const { signal } = call.options ?? {};
    signal?.throwIfAborted();
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), this.#options.timeoutMs ?? TIMEOUT_MS);
    try {
      const response = await (this.#options.fetch ?? globalThis.fetch)(this.#base + call.path + search(call.query), {
        method: call.method,
        headers,
        signal: signal ? AbortSignal.any([signal, late.signal]) : late.signal,
        ...(call.body !== undefined && { body: JSON.stringify(call.body) }),
      });
      this.#access.received?.(response);
      if (!response.ok) throw await errorOf(response);
      if (call.method !== 'GET') this.#positions.add(call.scope, response.headers.get('x-position-token'));
      return await read(response);
    } catch (cause) {
      if (cause instanceof HansardError || signal?.aborted) throw cause;
      if (late.signal.aborted) throw new HansardError('TIMEOUT', 'the gateway did not answer in time', { cause });
      throw new HansardError('UNREACHABLE', 'the gateway cannot be reached: check url, network, and the origins of the key', { cause });
    } finally {
      clearTimeout(timer);
    }
  }

  #headers(call: Call, credentials: Record<string, string>, key: string | undefined): Record<string, string> {
    const { idempotencyKey = key, positionToken } = call.options ?? {};
    const positions = this.#positions.header(call.scope, positionToken);
    return {
      ...credentials,
      ...(call.body !== undefined && { 'content-type': 'application/json' }),
      ...(idempotencyKey && call.method !== 'GET' && { 'idempotency-key': idempotencyKey }),
      ...(positions && { 'x-position-token': positions }),
      ...call.headers,
    };
  }

  async #isMended(call: Call, error: HansardError): Promise<boolean> {
    if (error.code === 'POSITION_TOKEN_OF_OTHER_RECORD' && this.#positions.header(call.scope)) {
      this.#positions.forget(call.scope);
      return true;
    }
    return (await this.#access.mended?.(error)) ?? false;
  }
}

/** The delay before another attempt; undefined: none makes sense. */
export function retryDelayMs(error: HansardError, failures: number): number | undefined {
  const { code, status, retryAfterMs } = error;
  if (FINAL_CODES.includes(code)) return undefined;
  if (!RETRIED_STATUSES.includes(status) && !RETRIED_CODES.includes(code)) return undefined;
  if (retryAfterMs === undefined) return backoffMs(failures);
  return retryAfterMs <= RETRY_AFTER_MS_MAX ? Math.max(retryAfterMs, backoffMs(failures)) : undefined;
}

/** A segment of a path. */
export const segment = (id: string): string => encodeURIComponent(id);

function search(query: Query | undefined): string {
  const pairs = Object.entries(query ?? {}).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]));
  return pairs.length > 0 ? `?${new URLSearchParams(pairs)}` : '';
}
